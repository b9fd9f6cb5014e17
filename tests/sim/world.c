/* world.c: see sim.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "sim.h"

#define STACK_BYTES (1u << 20)

struct sim_world sim;

struct sim_instance {
    char name[32];
    ucontext_t context;
    void (*body)(void *);
    void *argument;
    void *stack;
    enum sim_end end; /* why it gave the processor back */
    int64_t wakes_us;
    bool paused;
    struct pipe_engine *counting; /* whose rejects are counted: a global of the runtime */
};

void __real_engine_count_rejects_in(struct pipe_engine *engine);
void __wrap_engine_count_rejects_in(struct pipe_engine *engine);

/* AddressSanitizer has to know which stack is in use. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
static const void *outside_stack;
static size_t outside_bytes;
static void unpoison(void *stack) /* another one was there before, and was left in the middle */
{
    __asan_unpoison_memory_region(stack, STACK_BYTES);
}
static void enter(void *stack)
{
    __sanitizer_start_switch_fiber(NULL, stack, STACK_BYTES);
}
static void entered(void)
{
    __sanitizer_finish_switch_fiber(NULL, &outside_stack, &outside_bytes);
}
static void leave(void)
{
    __sanitizer_start_switch_fiber(NULL, outside_stack, outside_bytes);
}
static void left(void)
{
    __sanitizer_finish_switch_fiber(NULL, NULL, NULL);
}
#else
#define unpoison(stack) ((void)0)
#define enter(stack) ((void)0)
#define entered() ((void)0)
#define leave() ((void)0)
#define left() ((void)0)
#endif

static ucontext_t outside; /* who runs the instances */

/* ---- Random numbers: SplitMix64 ---- */

uint64_t sim_random(void)
{
    uint64_t z = sim.random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint32_t sim_below(uint32_t n)
{
    return (uint32_t)((sim_random() >> 32) * n >> 32);
}

bool sim_chance(uint32_t in_100000)
{
    return in_100000 > 0 && sim_below(100000) < in_100000;
}

int64_t sim_between(int64_t least, int64_t most)
{
    return least + (int64_t)(sim_random() % (uint64_t)(most - least + 1));
}

/* ---- Trace and failures ---- */

void sim_trace(const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    const char *who = sim.running != NULL ? sim.running->name : "-";
    uint64_t part[4] = {sim.trace_hash, (uint64_t)sim.now_us, pipe_hash64(who, strlen(who), 0),
                        pipe_hash64(line, strlen(line), 0)};
    sim.trace_hash = pipe_hash64(part, sizeof part, sim.seed);
    if (sim.trace)
        fprintf(sim.out, "%12.6f %-8s %s\n", (double)sim.now_us / 1e6, who, line);
}

void sim_fail(const char *format, ...)
{
    FILE *to = sim.out != NULL ? sim.out : stdout;
    va_list args;
    fprintf(to, "seed %llu (%s): ", (unsigned long long)sim.seed,
            sim.what != NULL ? sim.what : "?");
    va_start(args, format);
    vfprintf(to, format, args);
    va_end(args);
    fprintf(to, "\n  replay: make sim SEED=%llu TRACE=1\n", (unsigned long long)sim.seed);
    fflush(to);
    _exit(1);
}

/* ---- Time ---- */

void sim_pass(int64_t us)
{
    sim.now_us += us;
    if (sim.now_us >= sim.stop_at_us && !engine_stop_requested && sim.running != NULL) {
        sim_trace("SIGTERM");
        engine_stop_requested = 1;
    }
}

void sim_take_time(void)
{
    sim_pass(sim_chance(sim.odds.slow) ? sim_between(1000000, 15000000)
                                       : sim_between(5, 100 + sim.odds.call_us));
}

/* ---- Instances ---- */

static void begin(void)
{
    struct sim_instance *self = sim.running;
    entered();
    self->body(self->argument);
    self->end = SIM_RETURNED;
    leave();
    setcontext(&outside);
}

struct sim_instance *sim_instance_new(const char *name, void (*body)(void *), void *argument)
{
    struct sim_instance *instance = pipe_calloc(1, sizeof *instance);
    snprintf(instance->name, sizeof instance->name, "%s", name);
    instance->body = body;
    instance->argument = argument;
    instance->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (instance->stack == MAP_FAILED || getcontext(&instance->context) != 0)
        sim_fail("no stack for an instance");
    unpoison(instance->stack);
    instance->context.uc_stack.ss_sp = instance->stack;
    instance->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&instance->context, begin, 0);
    return instance;
}

enum sim_end sim_instance_run(struct sim_instance *instance)
{
    sim.running = instance;
    __real_engine_count_rejects_in(instance->counting);
    enter(instance->stack);
    swapcontext(&outside, &instance->context);
    left();
    sim.running = NULL;
    enum sim_end end = instance->end;
    if (end != SIM_YIELDED)
        munmap(instance->stack, STACK_BYTES);
    return end;
}

static void leave_for(int64_t us, bool paused)
{
    struct sim_instance *self = sim.running;
    self->paused = paused;
    self->wakes_us = sim.now_us + us;
    self->end = SIM_YIELDED;
    leave();
    swapcontext(&self->context, &outside);
    entered();
}

void sim_hold_up(uint32_t in_100000)
{
    if (sim.running == NULL || !sim.grouped || !sim_chance(in_100000))
        return;
    int64_t us = sim_between(2000000, 40000000);
    sim_trace("paused for %.3f s", (double)us / 1e6);
    leave_for(us, true);
}

void sim_sleep(int64_t us)
{
    if (sim.running == NULL || !sim.grouped) {
        sim_pass(us);
        return;
    }
    leave_for(us, false);
    sim_hold_up(sim.odds.pause);
}

int64_t sim_instance_wakes(const struct sim_instance *instance)
{
    return instance->wakes_us;
}

bool sim_instance_paused(const struct sim_instance *instance)
{
    return instance->paused;
}

/* pipe_reject_fill knows no engine: the runtime counts in the one that was named last. */
void __wrap_engine_count_rejects_in(struct pipe_engine *engine)
{
    if (sim.running != NULL)
        sim.running->counting = engine;
    __real_engine_count_rejects_in(engine);
}

/* ---- Crashes ---- */

void sim_crash(const char *where)
{
    struct sim_instance *self = sim.running;
    bool power = sim_chance(40000);
    sim_trace("CRASH at %s%s", where, power ? ", power cut" : "");
    sim.crashes_left--;
    sim.crashes++;
    sim_stores_crash(self, power);
    sim_files_crash(self, power);
    self->end = SIM_CRASHED;
    leave();
    setcontext(&outside);
    abort();
}

void sim_point(const char *name)
{
    if (sim.running == NULL)
        return;
    if (sim.crashes_left > 0 && sim_chance(sim.odds.crash))
        sim_crash(name);
}
