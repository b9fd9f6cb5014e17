/*
 * limits.c: in each fuzz target, limits by the time of the processors, which are the same beside
 * other programs as alone; the fuzzer's own go by the clock. After FUZZ_CPU_SECONDS of them the
 * target is done, and an input that takes 10 is a finding.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { INPUT_SECONDS = 10 };

static timer_t input_timer;

int __real_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The signal, once the process has used so many seconds from now on; 0: not at all. */
static void set(timer_t timer, long seconds)
{
    struct itimerspec after = {.it_value.tv_sec = seconds};
    if (timer_settime(timer, 0, &after, NULL) != 0)
        abort();
}

static timer_t make(int number)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
    if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) != 0)
        abort();
    return timer;
}

static void too_long(int number)
{
    static const char text[] = "ERROR: an input takes 10 s of a processor\n";
    (void)number;
    if (write(STDERR_FILENO, text, sizeof text - 1) >= 0)
        abort(); /* the fuzzer keeps the input */
    _exit(1);
}

__attribute__((constructor)) static void begin(void)
{
    const char *seconds = getenv("FUZZ_CPU_SECONDS");
    struct sigaction action = {.sa_handler = too_long};
    if (sigaction(SIGUSR2, &action, NULL) != 0)
        abort();
    input_timer = make(SIGUSR2);
    if (seconds != NULL)
        set(make(SIGUSR1), atol(seconds)); /* the fuzzer: finish this input, exit with 0 */
}

int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    set(input_timer, INPUT_SECONDS);
    int result = __real_LLVMFuzzerTestOneInput(data, size);
    set(input_timer, 0);
    return result;
}
