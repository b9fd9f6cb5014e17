/*
 * fail_nth.h: what the parts of the library share. Which calls fail is told at its begin, in
 * fail_nth.c. Any thread of the program.
 */
#ifndef FAIL_NTH_H
#define FAIL_NTH_H

#include <stdbool.h>

enum class { NONE, ALLOC, LIB_ALLOC, FILES, DB_FILES, DB, NET, HTTP };

/* What can go wrong with a call. */
enum {
    ASKS = 1,   /* EIO, ENOMEM */
    MAKES = 2,  /* EIO, ENOSPC */
    WAITS = 4,  /* EINTR */
    MOVES = 8,  /* a number of bytes: short */
    TELLS = 16, /* done, and yet an error */
    TALKS = 32  /* with another process: ECONNRESET */
};

#define HIDDEN __attribute__((visibility("hidden")))

/* Counts a call of one of these kinds; whether it is to fail: errno is set then. */
HIDDEN bool fails(enum class class, int kinds, const char *function, const void *caller);
/* Whether a call that fails is to be done all the same. */
HIDDEN bool fails_after(void);
/* What the program would have called without the library. */
HIDDEN void *real_symbol(const char *name);

#define CALLER __builtin_return_address(0)
#define FAILS(class, kinds, name) fails(class, kinds, #name, CALLER)
#define REAL(name)                                                                                 \
    ({                                                                                             \
        static __typeof__(&name) real_##name;                                                      \
        if (real_##name == NULL)                                                                   \
            real_##name = (__typeof__(&name))real_symbol(#name);                                   \
        real_##name;                                                                               \
    })

#endif
