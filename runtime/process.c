/* process.c: see process.h. */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

void pipe_hold_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY); /* the lowest free one: fd */
    }
}

void pipe_end_alone(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set(&told))
        pause();
}

double pipe_process_cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}
