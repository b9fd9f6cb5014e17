/*
 * command.h: what the command line asks for, and the commands.
 *
 * A command returns the exit code: 0 ok, 1 errors in the program or its surroundings, 2 usage,
 * 4 a fault of pipec.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include "pipec.h"
#include "plan.h"

enum { SOURCE_MAX_BYTES = 1024 * 1024 };

struct options {
    const char *const *files; /* what stands behind the command */
    size_t file_count;
    const char *root;         /* "." by default */
    const char *generated;    /* where the C goes: "generated" */
    const char *program_path; /* of build; NULL: build/NAME */
    bool json_diagnostics;
    bool check_only;       /* fmt --check */
    bool update, verbose;  /* test */
    const char *only_test; /* test: its title; NULL: all */
    enum explain_format format;
    enum explain_stage stage;
    double rate_per_second; /* 0: unknown */
};

/* The whole of pipec: reads the arguments, runs the command, returns the exit code. */
int command_line(int argc, char **argv);

int command_compile(const struct options *options);
int command_build(const struct options *options);
int command_explain(const struct options *options);
int command_check(const struct options *options);
int command_fmt(const struct options *options);
int command_contracts(const struct options *options);
int command_test(const struct options *options);
/* Runs the tests of a checked program (testing.c): 0, or 1 after what failed was printed. */
int test_program(struct program *program, const struct options *options);
int command_help(const char *topic); /* a code, a command, a word; NULL: the overview */
/* command_help.c: */
void print_overview(void);
bool print_command_help(const char *command); /* false: there is no such command */
/* language_help.c: a word of the language; false: it is none that begins something. */
bool print_word_help(const char *word);

/* Replaces the content of a file by a rename in its directory; false after a message. */
bool replace_file(struct arena *arena, const char *path, const struct text *text);

/* Compiles the generated C of a program to `program_path` (build_program.c). */
/* `quick`: without optimisation and warnings, for a program that runs once. */
int build_program(const char *c_path, const char *program_path, bool quick);

/* "pipec: …" and a line end on stderr. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Of a file that cannot be written, by errno `error`: one line, and what helps. */
void tell_file_error(const char *doing, const char *path, int error);
/* Whether all that was printed to stdout has arrived; false after a message. */
bool flush_stdout(void);

#endif
