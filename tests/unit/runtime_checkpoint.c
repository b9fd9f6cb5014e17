/*
 * Checkpoints: uploads that copy only what is new, restoring from what fits best, damage, and
 * deletion. With a real RocksDB and files.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../runtime/checkpoint_internal.h"
#include "../../runtime/state_transfer.h"
#include "scratch_dir.h"

/* ---- Processes: an engine, as far as checkpoints see it ---- */

static char place[100]; /* of all */

struct process {
    struct pipe_plan plan;
    struct pipe_log log;
    struct pipe_run_options options;
    struct checkpoint_hooks hooks;
    struct pipe_engine engine;
    struct engine_task task;
    char dir[100], url[120];
    unsigned served, serves; /* after `serves` calls the task has gone; 0: never */
};

static struct process *served;

static bool serve(struct engine_task *task)
{
    (void)task;
    served->served++;
    return served->serves == 0 || served->served < served->serves;
}

static struct pipe_objects *open_place(void *context)
{
    return pipe_objects_open(context);
}

/* in_turn: without a thread. */
static void start(struct process *process, const char *name, bool in_turn)
{
    bool created;
    char error[512] = "";
    *process =
        (struct process){.plan = {.name = "toy", .hash = "abc"}, .options = {.checkpoint_ms = 100}};
    snprintf(process->log.incarnation, sizeof process->log.incarnation, "log1");
    snprintf(process->dir, sizeof process->dir, "%s/%s", dir, name);
    snprintf(process->url, sizeof process->url, "file://%s", place);
    mkdir(process->dir, 0777);
    process->hooks = (struct checkpoint_hooks){open_place, process->url, 1000000, 1000000};
    process->options.checkpoints = process->url;
    if (in_turn)
        process->options.checkpoint_hooks = &process->hooks;
    process->engine = (struct pipe_engine){.plan = &process->plan,
                                           .options = &process->options,
                                           .log = &process->log,
                                           .dir = process->dir};
    process->task.task.engine = &process->engine;
    process->engine.store = pipe_store_open(process->dir, false, &created, error, sizeof error);
    if (process->engine.store == NULL)
        fail_msg("%s", error);
    pipe_store_identify(process->engine.store, "abc", "log1");
    if (!checkpoints_open(&process->engine))
        fail_msg("%s", process->engine.error);
}

static void stop(struct process *process)
{
    checkpoints_close(&process->engine);
    pipe_store_close(process->engine.store);
}

/* A state that is one entry a number, as long as they come. */
struct numbers {
    unsigned from, to;
    uint64_t sum;
};

static void numbers_save(void *state, const struct pipe_state_writer *writer)
{
    const struct numbers *numbers = state;
    char key[16], value[100];
    for (unsigned i = numbers->from; i < numbers->to; i++) {
        snprintf(key, sizeof key, "%08u", i);
        memset(value, 'a' + (int)(i % 26), sizeof value);
        writer->put(writer->context, key, 8, value, sizeof value);
    }
}

static bool numbers_load(void *state, const void *key, size_t key_bytes, const void *value,
                         size_t value_bytes)
{
    struct numbers *numbers = state;
    unsigned number;
    char text[9] = {0};
    memcpy(text, key, key_bytes == 8 ? 8 : 0);
    if (sscanf(text, "%u", &number) != 1 || value_bytes != 100 ||
        *(const char *)value != (char)('a' + number % 26))
        return false;
    numbers->sum += number;
    return true;
}

static const struct pipe_state_ops numbers_ops = {.save = numbers_save, .load = numbers_load};

/* Numbers of [from, to) into stage 1 of a partition, which is as of `to` then. */
static void save(struct process *process, int32_t partition, unsigned from, unsigned to)
{
    struct numbers numbers = {from, to, 0};
    struct pipe_store_position position = {.offset = to, .seq = to / 1000};
    pipe_store_begin(process->engine.store);
    pipe_store_save_state(process->engine.store, 1, partition, 0, &numbers_ops, &numbers);
    pipe_store_save_position(process->engine.store, 1, partition, &position);
    assert_true(pipe_store_end(process->engine.store));
    process->engine.commits++;
}

static void expect_state(struct process *process, int32_t partition, unsigned to)
{
    struct numbers numbers = {0};
    struct pipe_store_position position;
    bool found;
    uint64_t entries;
    assert_true(pipe_store_load_position(process->engine.store, 1, partition, &position, &found));
    assert_true(found == (to > 0));
    if (!pipe_store_load_state(process->engine.store, 1, partition, 0, &numbers_ops, &numbers,
                               &entries))
        fail_msg("%s", pipe_store_error(process->engine.store));
    assert_int_equal(entries, to);
    assert_int_equal(numbers.sum, (uint64_t)to * (to > 0 ? to - 1 : 0) / 2);
    assert_true(to == 0 || (position.offset == to && position.seq == to / 1000));
}

/* A checkpoint of what is saved, now; waits for the worker. */
static void upload(struct process *process)
{
    process->engine.checkpoints->last_begin_us = INT64_MIN / 2;
    assert_true(checkpoints_due(&process->engine));
    checkpoints_saved(&process->engine);
    while (!checkpoint_is_idle(process->engine.checkpoints))
        usleep(1000);
    checkpoints_turn(&process->engine);
}

static struct checkpoint_figures figures(const struct process *process)
{
    struct checkpoint_figures out;
    checkpoints_figures(&process->engine, &out);
    return out;
}

/* From checkpoints, for a task committed at `committed` (negative: never). */
static struct checkpoint_restored restore(struct process *process, int32_t partition,
                                          int64_t committed)
{
    struct checkpoint_restored out;
    struct pipe_store_position stored;
    struct checkpoint_wish wish = {.has_committed = committed >= 0};
    process->task.task.stage_index = 1;
    process->task.task.partition = partition;
    assert_true(
        pipe_store_load_position(process->engine.store, 1, partition, &stored, &wish.has_stored));
    if (wish.has_stored)
        wish.stored = (struct engine_position){.offset = stored.offset, .seq = stored.seq};
    wish.committed = (struct engine_position){.offset = committed, .seq = 1000000};
    served = process;
    bool ok = checkpoints_restore(&process->engine, &process->task, &wish, serve, &out);
    assert_false(process->engine.failed);
    checkpoints_recovered(&process->engine);
    if (!ok)
        out = (struct checkpoint_restored){.from = "gone"};
    return out;
}

/* How many objects there are whose names hold `part`; the last of them is written to `path`. */
static unsigned count_objects(const char *part, char path[300])
{
    char command[300];
    unsigned count = 0;
    snprintf(command, sizeof command, "find %s -type f -path '*%s*' | sort", place, part);
    FILE *found = popen(command, "r");
    while (fgets(path, 300, found) != NULL) {
        path[strcspn(path, "\n")] = '\0';
        count++;
    }
    pclose(found);
    return count;
}

static void run_command(const char *format, ...)
{
    char command[700];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    assert_int_equal(system(command), 0);
}

static int make_place(void **state)
{
    pipe_message_level(PIPE_ERROR);
    if (make_dir(state) != 0)
        return 1;
    snprintf(place, sizeof place, "%s/shared", dir);
    return mkdir(place, 0777);
}

/* ---- Uploading and restoring ---- */

static void moves_a_task(void **state)
{
    struct process a, b;
    char path[300];
    (void)state;
    start(&a, "a", true);
    save(&a, 0, 0, 3000);
    save(&a, 1, 0, 50);
    upload(&a);
    assert_int_equal(figures(&a).uploaded, 1);
    assert_int_equal(count_objects("/manifests/", path), 1);
    uint64_t first = figures(&a).uploaded_bytes;
    save(&a, 0, 3000, 3010);
    upload(&a);
    assert_int_equal(count_objects("/manifests/", path), 2);
    /* The big table is there already. */
    assert_true(figures(&a).uploaded_bytes - first < 100000 && first > 300000);
    start(&b, "b", true);
    save(&b, 0, 0, 20); /* older, and of fewer entries */
    struct checkpoint_restored found = restore(&b, 0, 3010);
    assert_true(found.restored && found.position.offset == 3010 && found.entries == 3010);
    expect_state(&b, 0, 3010);
    expect_state(&b, 1, 0);
    found = restore(&b, 0, 3010);
    assert_false(found.restored); /* what is here reaches as far */
    assert_int_equal(figures(&b).restored_tasks, 1);
    stop(&a);
    stop(&b);
}

static void key_comes_with_the_task(void **state)
{
    struct process a, b, c;
    struct pipe_hash_key of_a, of_b, of_task;
    (void)state;
    start(&a, "a", true);
    start(&b, "b", true);
    start(&c, "c", true);
    of_a = pipe_store_hash_key(a.engine.store);
    of_b = pipe_store_hash_key(b.engine.store);
    assert_memory_not_equal(&of_a, &of_b, sizeof of_a);
    assert_string_equal(pipe_store_version(b.engine.store), PIPE_STATE_VERSION);
    save(&a, 0, 0, 10);
    upload(&a);
    assert_true(restore(&b, 0, 10).restored);
    assert_true(pipe_store_task_key(b.engine.store, 1, 0, &of_task));
    assert_memory_equal(&of_a, &of_task, sizeof of_a);
    assert_true(pipe_store_task_key(b.engine.store, 1, 1, &of_task));
    assert_memory_equal(&of_b, &of_task, sizeof of_b);
    assert_string_equal(pipe_store_version(b.engine.store), PIPE_STATE_VERSION_ADOPTED);
    save(&b, 0, 10, 20);
    upload(&b);
    assert_true(restore(&c, 0, 20).restored); /* from hand to hand */
    assert_true(pipe_store_task_key(c.engine.store, 1, 0, &of_task));
    assert_memory_equal(&of_a, &of_task, sizeof of_a);
    expect_state(&c, 0, 20);
    stop(&b);
    start(&b, "b", true);
    assert_string_equal(pipe_store_version(b.engine.store), PIPE_STATE_VERSION_ADOPTED);
    assert_true(pipe_store_task_key(b.engine.store, 1, 0, &of_task));
    assert_memory_equal(&of_a, &of_task, sizeof of_a);
    stop(&a);
    stop(&b);
    stop(&c);
}

static void says_what_is_ahead(void **state)
{
    struct process a, b;
    (void)state;
    start(&a, "a", true);
    start(&b, "b", true);
    save(&a, 0, 0, 100);
    upload(&a);
    struct checkpoint_restored found = restore(&b, 0, 99);
    assert_true(found.ahead && !found.restored && found.position.offset == 100);
    found = restore(&b, 0, -1);
    assert_true(found.ahead && !found.restored);
    found = restore(&b, 2, -1);
    assert_false(found.ahead || found.restored);
    expect_state(&b, 0, 0);
    stop(&a);
    stop(&b);
}

static void other_identities_are_not_used(void **state)
{
    struct process a, b;
    (void)state;
    start(&a, "a", true);
    save(&a, 0, 0, 100);
    upload(&a);
    start(&b, "b", true);
    snprintf(b.engine.checkpoints->secrets, 17, "0011223344556677");
    struct checkpoint_restored found = restore(&b, 0, 100);
    assert_false(found.restored || found.ahead);
    stop(&b);
    start(&b, "c", true);
    snprintf(b.engine.checkpoints->place, 100, "toy/abd-log1"); /* another plan */
    found = restore(&b, 0, 100);
    assert_false(found.restored || found.ahead);
    stop(&b);
    run_command("mv %s/toy/abc-log1 %s/toy/abc-log2", place, place); /* a topic made anew */
    start(&b, "d", true);
    found = restore(&b, 0, 100);
    assert_false(found.restored || found.ahead);
    snprintf(b.engine.checkpoints->place, 100, "toy/abc-log2");
    snprintf(b.engine.checkpoints->incarnation, 40, "log2");
    found = restore(&b, 0, 100);
    assert_false(found.restored || found.ahead);
    stop(&a);
    stop(&b);
}

/* Each file of the newest checkpoint damaged in turn: the one before it is used. */
static void damage_is_found(void **state)
{
    static const char *const damages[] = {
        "truncate -s -1", "truncate -s 0", "rm",
        "python3 -c 'import sys; f = open(sys.argv[1], \"r+b\"); b = bytearray(f.read()); "
        "b[len(b) // 2] ^= 4; f.seek(0); f.write(b)'"};
    struct process a, b;
    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        char path[300], name[16];
        snprintf(name, sizeof name, "a%u", i);
        start(&a, name, true);
        save(&a, 0, 0, 100);
        upload(&a);
        run_command("find %s -type f | sort > %s/before", place, dir);
        save(&a, 0, 100, 200);
        upload(&a);
        /* A file that only the second one has. */
        run_command("find %s -type f -path '*/%s/*' | sort | comm -13 %s/before - | tail -1 "
                    "> %s/only",
                    place, i % 2 == 0 ? "files" : "manifests", dir, dir);
        FILE *only = fopen("/dev/null", "r");
        char list[120];
        snprintf(list, sizeof list, "%s/only", dir);
        fclose(only);
        only = fopen(list, "r");
        assert_non_null(fgets(path, sizeof path, only));
        fclose(only);
        path[strcspn(path, "\n")] = '\0';
        run_command("%s %s", damages[i / 2], path);
        snprintf(name, sizeof name, "b%u", i);
        start(&b, name, true);
        struct checkpoint_restored found = restore(&b, 0, 200);
        assert_true(found.restored && found.position.offset == 100);
        expect_state(&b, 0, 100);
        stop(&b);
        run_command("rm -r %s/toy", place);
        start(&b, "none", true);
        found = restore(&b, 0, 200);
        assert_false(found.restored || found.ahead);
        stop(&b);
        stop(&a);
    }
}

static void goes_on_without_a_place(void **state)
{
    struct process a;
    char path[300];
    (void)state;
    start(&a, "a", true);
    save(&a, 0, 0, 100);
    run_command("mv %s %s.away", place, place);
    upload(&a);
    assert_int_equal(figures(&a).failed, 1);
    assert_int_equal(access(place, F_OK), -1); /* it is not made in the place of a mount */
    assert_false(restore(&a, 0, 200).restored);
    upload(&a);
    run_command("mv %s.away %s", place, place);
    upload(&a);
    assert_int_equal(figures(&a).failed, 2);
    assert_int_equal(figures(&a).uploaded, 1);
    assert_int_equal(count_objects("/manifests/", path), 1);
    snprintf(path, sizeof path, "%s/checkpoint", a.dir);
    assert_int_equal(access(path, F_OK), -1);
    stop(&a);
}

static void partition_goes_while_copying(void **state)
{
    struct process a, b;
    (void)state;
    start(&a, "a", true);
    save(&a, 0, 0, 100000); /* several batches */
    upload(&a);
    start(&b, "b", true);
    save(&b, 0, 0, 10);
    b.serves = 2;
    assert_string_equal(restore(&b, 0, 100000).from, "gone");
    stop(&b); /* as it is after a crash, too */
    start(&b, "b", true);
    expect_state(&b, 0, 0);
    assert_true(restore(&b, 0, 100000).restored);
    expect_state(&b, 0, 100000);
    stop(&b);
    start(&b, "b", true);
    expect_state(&b, 0, 100000);
    stop(&a);
    stop(&b);
}

/* While a task is copied another is saved, and the process dies: what was saved is there, and
 * nothing of the copy, which was not logged. */
static bool save_and_die(struct engine_task *task)
{
    struct process *process = served;
    (void)task;
    if (process->served++ == 2) {
        save(process, 1, 0, 10);
        _exit(0);
    }
    return true;
}

static void copy_until_death(void)
{
    struct process b;
    struct checkpoint_wish wish = {.has_committed = true};
    struct checkpoint_restored out;
    start(&b, "b", true);
    save(&b, 0, 0, 10);
    wish.committed = (struct engine_position){.offset = 200000, .seq = 1000000};
    b.task.task.stage_index = 1;
    served = &b;
    checkpoints_restore(&b.engine, &b.task, &wish, save_and_die, &out);
    _exit(1); /* it lives */
}

static void dies_while_copying(void **state)
{
    struct process a, b;
    int status;
    (void)state;
    start(&a, "a", true);
    save(&a, 0, 0, 200000);
    upload(&a);
    pid_t child = fork();
    if (child == 0) { /* a program of its own: RocksDB's threads do not come along */
        execl("/proc/self/exe", "runtime_checkpoint", dir, (char *)NULL);
        _exit(2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    start(&b, "b", true); /* else: the state has lost saves */
    expect_state(&b, 1, 10);
    expect_state(&b, 0, 0);
    assert_true(restore(&b, 0, 200000).restored);
    expect_state(&b, 0, 200000);
    stop(&a);
    stop(&b);
}

/* ---- Deletion ---- */

static void deletes_what_nobody_needs(void **state)
{
    struct process a, b;
    char path[300];
    (void)state;
    start(&a, "a", true);
    a.engine.checkpoints->grace_ms = a.engine.checkpoints->foreign_grace_ms = -1;
    for (unsigned i = 0; i < 6; i++) {
        save(&a, 0, i * 100, i * 100 + 100);
        upload(&a);
    }
    assert_int_equal(figures(&a).failed, 0);
    assert_int_equal(count_objects("/manifests/", path), 2);
    start(&b, "b", true);
    b.engine.checkpoints->grace_ms = -1; /* but not that of others */
    assert_true(restore(&b, 0, 600).restored);
    for (unsigned i = 0; i < 3; i++) {
        save(&b, 0, 600 + i * 100, 700 + i * 100);
        upload(&b);
    }
    assert_int_equal(count_objects("/manifests/", path), 4);
    save(&b, 0, 900, 1000);
    b.engine.checkpoints->foreign_grace_ms = -1;
    upload(&b);
    assert_int_equal(count_objects("/manifests/", path), 2);
    /* What is left is what can be restored from. */
    stop(&a);
    start(&a, "c", true);
    struct checkpoint_restored found = restore(&a, 0, 950);
    assert_true(found.ahead); /* but it may be used at its own position: */
    found = restore(&a, 0, 1000);
    assert_true(found.restored && found.position.offset == 1000);
    stop(&a);
    stop(&b);
}

static void grace_protects_what_is_not_named_yet(void **state)
{
    struct process a;
    char path[300];
    (void)state;
    start(&a, "a", true);
    for (unsigned i = 0; i < 5; i++) {
        save(&a, 0, i * 100, i * 100 + 100);
        upload(&a);
    }
    assert_int_equal(count_objects("/manifests/", path), 5);
    stop(&a);
}

/* The files of a manifest that can't be read just now are not taken for files of none. */
static const struct pipe_objects_ops *files_ops;
static struct pipe_objects *files_objects;

static bool get_no_manifest(struct pipe_objects *objects, const char *name, const char *path,
                            uint64_t most_bytes, const struct pipe_objects_turn *turn)
{
    bool fails = strstr(name, "/manifests/") != NULL;
    snprintf(objects->error, sizeof objects->error, "no answer");
    return !fails && files_ops->get(files_objects, name, path, most_bytes, turn);
}

static void unread_manifests_protect_their_files(void **state)
{
    struct process a, b;
    struct pipe_objects_ops ops;
    char path[300];
    (void)state;
    start(&a, "a", true);
    save(&a, 0, 0, 100);
    upload(&a);
    stop(&a);
    start(&b, "b", true);
    b.engine.checkpoints->grace_ms = b.engine.checkpoints->foreign_grace_ms = -1;
    files_objects = b.engine.checkpoints->objects;
    files_ops = files_objects->ops;
    ops = *files_ops;
    ops.get = get_no_manifest;
    files_objects->ops = &ops;
    unsigned before = count_objects("/files/", path);
    assert_true(checkpoint_refresh(b.engine.checkpoints));
    assert_true(checkpoint_collect(b.engine.checkpoints, "", INT64_MAX / 2));
    assert_int_equal(count_objects("/files/", path), before);
    files_objects->ops = files_ops;
    assert_true(checkpoint_refresh(b.engine.checkpoints));
    assert_true(checkpoint_collect(b.engine.checkpoints, "", INT64_MAX / 2));
    assert_int_equal(count_objects("/files/", path), before); /* it is needed */
    run_command("find %s -path '*/manifests/*' -type f -delete", place);
    assert_true(checkpoint_refresh(b.engine.checkpoints));
    assert_true(checkpoint_collect(b.engine.checkpoints, "", INT64_MAX / 2));
    assert_int_equal(count_objects("/files/", path), 0);
    stop(&b);
}

static void sends_again_what_was_lost(void **state)
{
    struct process a, b;
    char path[300];
    (void)state;
    start(&a, "a", true);
    save(&a, 0, 0, 3000);
    upload(&a);
    run_command("find %s -path '*/files/*' -type f -delete", place);
    save(&a, 0, 3000, 3010);
    upload(&a);
    assert_true(count_objects("/files/", path) >= 3);
    start(&b, "b", true);
    assert_true(restore(&b, 0, 3010).restored);
    expect_state(&b, 0, 3010);
    stop(&a);
    stop(&b);
}

/* ---- With the worker's thread ---- */

static void works_in_a_thread(void **state)
{
    struct process a, b;
    (void)state;
    start(&a, "a", false);
    for (unsigned i = 0; i < 5; i++) {
        save(&a, 0, i * 100, i * 100 + 100);
        upload(&a);
    }
    assert_int_equal(figures(&a).uploaded, 5);
    save(&a, 0, 500, 200000);
    a.engine.checkpoints->last_begin_us = INT64_MIN / 2;
    checkpoints_saved(&a.engine); /* under way: restoring comes first */
    start(&b, "b", false);
    struct checkpoint_restored found = restore(&b, 0, 200000);
    assert_true(found.restored && found.position.offset >= 500);
    found = restore(&a, 3, 10);
    assert_false(found.restored || found.ahead);
    save(&a, 1, 0, 10);
    upload(&a);
    assert_int_equal(figures(&a).failed, 0);
    found = restore(&b, 0, 200000);
    expect_state(&b, 0, 200000);
    stop(&b);
    save(&a, 0, 200000, 200010);
    a.engine.checkpoints->last_begin_us = INT64_MIN / 2;
    checkpoints_saved(&a.engine);
    stop(&a); /* in the middle of it */
}

/* ---- A storage that hangs ---- */

static int gate[2]; /* a byte in it lets one call go on */

static bool hanging_list(struct pipe_objects *objects, const char *prefix,
                         bool (*each)(void *context, const struct pipe_object *object),
                         void *context)
{
    char byte;
    (void)prefix;
    (void)each;
    (void)context;
    snprintf(objects->error, sizeof objects->error, "it hung");
    return read(gate[0], &byte, 1) < 0;
}

static void nobody_waits_for_a_storage_that_hangs(void **state)
{
    static const struct pipe_objects_ops ops = {.list = hanging_list};
    struct pipe_objects hanging = {.ops = &ops}, *working;
    struct process a;
    (void)state;
    assert_int_equal(pipe(gate), 0);
    start(&a, "a", false);
    working = a.engine.checkpoints->objects;
    a.engine.checkpoints->objects = &hanging;
    save(&a, 0, 0, 100);
    a.engine.checkpoints->last_begin_us = INT64_MIN / 2;
    checkpoints_saved(&a.engine);
    for (unsigned i = 0; i < 3; i++) { /* the pipeline goes on meanwhile, without checkpoints */
        save(&a, 0, 100 + i, 101 + i);
        assert_false(checkpoints_due(&a.engine));
        checkpoints_saved(&a.engine);
        checkpoints_turn(&a.engine);
    }
    a.serves = 5; /* the partition goes while its task waits */
    assert_string_equal(restore(&a, 1, 100).from, "gone");
    assert_int_equal(a.served, 5);
    assert_int_equal(write(gate[1], "x", 1), 1);
    while (!checkpoint_is_idle(a.engine.checkpoints))
        usleep(1000);
    checkpoints_turn(&a.engine);
    assert_int_equal(figures(&a).failed, 0); /* it was put off */
    a.engine.checkpoints->objects = working;
    upload(&a);
    assert_int_equal(figures(&a).uploaded, 1);
    stop(&a);
    close(gate[0]);
    close(gate[1]);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        snprintf(dir, sizeof dir, "%s", argv[1]);
        snprintf(place, sizeof place, "%s/shared", dir);
        copy_until_death();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(moves_a_task, make_place, remove_dir),
        cmocka_unit_test_setup_teardown(key_comes_with_the_task, make_place, remove_dir),
        cmocka_unit_test_setup_teardown(says_what_is_ahead, make_place, remove_dir),
        cmocka_unit_test_setup_teardown(other_identities_are_not_used, make_place, remove_dir),
        cmocka_unit_test_setup_teardown(damage_is_found, make_place, remove_dir),
        cmocka_unit_test_setup_teardown(goes_on_without_a_place, make_place, remove_dir),
        cmocka_unit_test_setup_teardown(partition_goes_while_copying, make_place, remove_dir),
        cmocka_unit_test_setup_teardown(dies_while_copying, make_place, remove_dir),
        cmocka_unit_test_setup_teardown(deletes_what_nobody_needs, make_place, remove_dir),
        cmocka_unit_test_setup_teardown(grace_protects_what_is_not_named_yet, make_place,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(unread_manifests_protect_their_files, make_place,
                                        remove_dir),
        cmocka_unit_test_setup_teardown(sends_again_what_was_lost, make_place, remove_dir),
        cmocka_unit_test_setup_teardown(works_in_a_thread, make_place, remove_dir),
        cmocka_unit_test_setup_teardown(nobody_waits_for_a_storage_that_hangs, make_place,
                                        remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
