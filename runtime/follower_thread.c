/*
 * follower_thread.c: a thread that drives a follower, and what others may ask of it meanwhile.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"
#include "follower.h"

#define WAIT_MS 50
#define NAP_US 5000     /* embedded: until there may be records again */
#define STOP_US 5000000 /* what is under way at the end of a run that was stopped */
#define PUBLISH_US 200000
#define ORDER_CHECK_US 10000

enum order { ORDER_RUN, ORDER_COME_TO_END, ORDER_STOP };

struct pipe_follower_thread {
    pthread_t thread;
    struct pipe_follower *follower; /* the thread's, until it is over */
    const struct pipe_plan *plan;
    void (*failed)(void);
    atomic_int order;
    atomic_bool over;
    bool is_failed, fenced;
    char error[768];
    pthread_mutex_t lock;
    struct pipe_follower_figures *figures; /* by sink; with the lock */
};

static void publish(struct pipe_follower_thread *thread)
{
    for (uint32_t i = 0; i < thread->plan->sink_count; i++) {
        struct pipe_follower_figures figures;
        if (thread->plan->sinks[i].kind != PIPE_SINK_CLICKHOUSE)
            continue;
        pipe_follower_look(thread->follower, i, &figures);
        pthread_mutex_lock(&thread->lock);
        thread->figures[i] = figures;
        pthread_mutex_unlock(&thread->lock);
    }
}

/* Whether the order is carried out. */
static bool is_done(struct pipe_follower_thread *thread, int order, int64_t stopped_us)
{
    if (order == ORDER_COME_TO_END)
        return pipe_follower_at_end(thread->follower);
    return order == ORDER_STOP && (pipe_follower_is_quiet(thread->follower) ||
                                   engine_monotonic_us() - stopped_us >= STOP_US);
}

static void fail(struct pipe_follower_thread *thread)
{
    thread->is_failed = true;
    thread->fenced = pipe_follower_fenced(thread->follower);
    snprintf(thread->error, sizeof thread->error, "%s", pipe_follower_error(thread->follower));
    thread->failed();
}

static void *run(void *argument)
{
    struct pipe_follower_thread *thread = argument;
    int64_t stopped_us = 0, published_us = 0, wait_ms = 0;
    int before = ORDER_RUN;
    for (;;) {
        int order = atomic_load(&thread->order);
        if (order != before) {
            pipe_follower_flush(thread->follower, order == ORDER_STOP);
            stopped_us = engine_monotonic_us();
            before = order;
        }
        enum pipe_follower_state state = pipe_follower_step(thread->follower, wait_ms);
        if (state == PIPE_FOLLOWER_FAILED) {
            fail(thread);
            break;
        }
        if (is_done(thread, order, stopped_us))
            break;
        if (engine_monotonic_us() - published_us >= PUBLISH_US) {
            publish(thread);
            published_us = engine_monotonic_us();
        }
        wait_ms = state == PIPE_FOLLOWER_IDLE ? WAIT_MS : 0;
        if (state == PIPE_FOLLOWER_IDLE && !pipe_follower_waits(thread->follower))
            engine_sleep_us(NAP_US);
    }
    publish(thread);
    atomic_store(&thread->over, true);
    return NULL;
}

struct pipe_follower_thread *pipe_follower_start(struct pipe_follower *follower,
                                                 const struct pipe_plan *plan, void (*failed)(void))
{
    struct pipe_follower_thread *thread = pipe_calloc(1, sizeof *thread);
    sigset_t all, before;
    thread->follower = follower;
    thread->plan = plan;
    thread->failed = failed;
    thread->figures = pipe_calloc(plan->sink_count + 1, sizeof *thread->figures);
    pthread_mutex_init(&thread->lock, NULL);
    publish(thread);
    sigfillset(&all); /* signals are for the main thread, which they wake */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread->thread, NULL, run, thread) != 0)
        pipe_out_of_memory();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return thread;
}

bool pipe_follower_is_over(struct pipe_follower_thread *thread)
{
    return atomic_load(&thread->over);
}

static bool find_halted(struct pipe_follower_thread *thread, char *error, size_t error_bytes)
{
    for (uint32_t i = 0; i < thread->plan->sink_count; i++) {
        if (!thread->figures[i].halted)
            continue;
        snprintf(error, error_bytes, "sink %s: %s", thread->plan->sinks[i].name,
                 thread->figures[i].error);
        return true;
    }
    return false;
}

bool pipe_follower_finish(struct pipe_follower_thread *thread, bool until_end,
                          const volatile sig_atomic_t *stop, char *error, size_t error_bytes)
{
    atomic_store(&thread->order, until_end ? ORDER_COME_TO_END : ORDER_STOP);
    while (!atomic_load(&thread->over)) {
        if (until_end && *stop)
            atomic_store(&thread->order, ORDER_STOP);
        engine_sleep_us(ORDER_CHECK_US);
    }
    pthread_join(thread->thread, NULL);
    pipe_follower_close(thread->follower);
    thread->follower = NULL;
    if (thread->is_failed) {
        snprintf(error, error_bytes, "%s", thread->error);
        return false;
    }
    return !until_end || !find_halted(thread, error, error_bytes);
}

bool pipe_follower_was_fenced(const struct pipe_follower_thread *thread)
{
    return thread->fenced;
}

void pipe_follower_figures(struct pipe_follower_thread *thread, uint32_t sink,
                           struct pipe_follower_figures *figures)
{
    pthread_mutex_lock(&thread->lock);
    *figures = thread->figures[sink];
    pthread_mutex_unlock(&thread->lock);
}

void pipe_follower_free(struct pipe_follower_thread *thread)
{
    if (thread == NULL)
        return;
    pthread_mutex_destroy(&thread->lock);
    free(thread->figures);
    free(thread);
}
