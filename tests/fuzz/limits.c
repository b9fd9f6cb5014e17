/*
 * limits.c: in each fuzz target, when it is done, and how long an input may take. It is done after
 * FUZZ_SECONDS_EACH on the clock, and once it has had a quarter as much time of a processor, which
 * comes later where many programs want one. An input that takes 10 seconds of a processor is a
 * finding: that is the same beside other programs as alone, unlike the fuzzer's own limit.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { INPUT_MS = 10000 };

static timer_t input_timer;
static timer_t processor_timer;
static int64_t processor_ms; /* what the target is to have at least */

int __real_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The signal, so much later by the timer's clock; 0: not at all. */
static void set(timer_t timer, int64_t ms)
{
    struct itimerspec after = {
        .it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000},
    };
    if (timer_settime(timer, 0, &after, NULL) != 0)
        abort();
}

static timer_t make(clockid_t clock, int number)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
    if (timer_create(clock, &event, &timer) != 0)
        abort();
    return timer;
}

/* The time on the clock is over. SIGUSR1 to the fuzzer: finish this input, exit with 0. */
static void time_over(int number)
{
    struct timespec used;
    (void)number;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0)
        abort();
    int64_t left = processor_ms - (used.tv_sec * INT64_C(1000) + used.tv_nsec / 1000000);
    if (left > 0)
        set(processor_timer, left);
    else if (raise(SIGUSR1) != 0)
        abort();
}

static void too_long(int number)
{
    static const char text[] = "ERROR: an input takes 10 s of a processor\n";
    (void)number;
    if (write(STDERR_FILENO, text, sizeof text - 1) >= 0)
        abort(); /* the fuzzer keeps the input */
    _exit(1);
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    if (sigaction(number, &action, NULL) != 0)
        abort();
}

__attribute__((constructor)) static void begin(void)
{
    const char *seconds = getenv("FUZZ_SECONDS_EACH");
    handle(SIGUSR2, too_long);
    input_timer = make(CLOCK_PROCESS_CPUTIME_ID, SIGUSR2);
    if (seconds == NULL)
        return;
    handle(SIGALRM, time_over);
    processor_ms = atol(seconds) * 1000 / 4;
    processor_timer = make(CLOCK_PROCESS_CPUTIME_ID, SIGUSR1);
    set(make(CLOCK_MONOTONIC, SIGALRM), atol(seconds) * 1000);
}

int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    set(input_timer, INPUT_MS);
    int result = __real_LLVMFuzzerTestOneInput(data, size);
    set(input_timer, 0);
    return result;
}
