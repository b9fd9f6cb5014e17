/*
 * reconcile.c: `NAME reconcile DIR`: whether a run directory holds exactly what it should
 * (semantics.md §7). Nothing in DIR is changed; the lock keeps a run out meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "reconcile.h"
#include "system_calls.h"

#define LINE_EVERY_US 5000000   /* plain lines */
#define REWRITE_EVERY_US 200000 /* the line of a terminal */

bool reconcile_fail(struct reconcile *r, int exit_code, const char *format, ...)
{
    char text[700];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return engine_fail(r->engine, exit_code, "%s", text);
}

/* ---- Progress ---- */

void reconcile_progress(struct reconcile *r, uint64_t records)
{
    enum pipe_progress when = r->options->run.progress;
    r->work_done += records;
    if (when == PIPE_PROGRESS_NEVER || r->work_done / 4096 == r->work_told)
        return;
    r->work_told = r->work_done / 4096;
    bool terminal = isatty(STDERR_FILENO) == 1;
    int64_t now_us = engine_monotonic_us();
    if (now_us - r->last_report_us < (terminal ? REWRITE_EVERY_US : LINE_EVERY_US))
        return;
    r->last_report_us = now_us;
    if (terminal)
        fprintf(stderr, "\r\033[K%s reconcile: %s, %" PRIu64 " records", r->plan->name, r->doing,
                r->work_done);
    else
        pipe_message(PIPE_INFO, "progress", "doing=\"%s\" records=%" PRIu64, r->doing,
                     r->work_done);
    r->told = terminal;
}

static void begin(struct reconcile *r, const char *doing)
{
    r->doing = doing;
    r->work_done = r->work_told = 0;
    r->last_report_us = engine_monotonic_us();
}

/* ---- Opening ---- */

/* Without writing to the lock file: nobody else may run, others may reconcile. */
static bool lock_directory(struct reconcile *r)
{
    struct pipe_engine *engine = r->engine;
    char path[4200];
    snprintf(path, sizeof path, "%s/lock", engine->dir);
    engine->lock_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (engine->lock_fd < 0)
        return reconcile_fail(r, PIPE_EXIT_DATA, "%s is not the directory of a run: %s: %s",
                              engine->dir, path, strerror(errno));
    if (pipe_flock(engine->lock_fd, LOCK_SH | LOCK_NB) == 0)
        return true;
    if (errno != EWOULDBLOCK)
        return reconcile_fail(r, PIPE_EXIT_DATA, "%s can't be locked: %s", path, strerror(errno));
    return reconcile_fail(r, PIPE_EXIT_DATA,
                          "%s is in use by another process; stop that first (what is compared "
                          "must stand still)",
                          engine->dir);
}

static bool check_identity(struct reconcile *r)
{
    struct pipe_log *log = r->engine->log;
    struct pipe_buf value = {0};
    bool found;
    bool ok = log->ops->get(log, "plan", &value, &found);
    if (ok && !found)
        ok = reconcile_fail(r, PIPE_EXIT_DATA, "nothing was ever committed in %s", r->engine->dir);
    ok = ok && engine_check_plan(r->engine);
    if (ok && log->ops->get(log, "outputs", &value, &found) && found)
        r->outputs_discarded = value.size == 9 && memcmp(value.data, "discarded", 9) == 0;
    pipe_buf_free(&value);
    return ok || reconcile_fail(r, PIPE_EXIT_DATA, "%s", log->error);
}

/* A table of the directory, which may have been moved since. */
static bool is_own_table(const char *sink, struct pipe_str path)
{
    char end[300];
    int size = snprintf(end, sizeof end, "/tables/%.250s.jsonl", sink);
    return path.size >= (size_t)size &&
           memcmp(path.data + path.size - (size_t)size, end, (size_t)size) == 0;
}

/* Sinks wrote where the run was told to; what --path says here comes first. */
static bool add_output_path(void *context, const char *name, struct pipe_str value)
{
    struct reconcile *r = context;
    struct pipe_run_options *run = &r->run;
    struct pipe_reader reader;
    struct pipe_str path = {0};
    int64_t length;
    name += strlen("output/");
    pipe_reader_init(&reader, value.data, value.size, NULL);
    if (!pipe_avro_long(&reader, &length) || !pipe_avro_bytes(&reader, &path) ||
        is_own_table(name, path))
        return true;
    for (uint32_t i = 0; i < run->path_count; i++) {
        if (strcmp(run->paths[i].name, name) == 0)
            return true;
    }
    size_t name_bytes = strlen(name) + 1;
    char *both = pipe_malloc(name_bytes + path.size + 1);
    memcpy(both, name, name_bytes);
    memcpy(both + name_bytes, path.data, path.size);
    both[name_bytes + path.size] = '\0';
    run->paths = pipe_realloc(run->paths, (run->path_count + 1) * sizeof *run->paths);
    run->paths[run->path_count++] = (struct pipe_path_option){both, both + name_bytes};
    return true;
}

static bool open_run(struct reconcile *r)
{
    struct pipe_engine *engine = r->engine;
    char error[512];
    if (!lock_directory(r))
        return false;
    engine->log = pipe_log_embedded_open(engine->dir, true, error, sizeof error);
    if (engine->log == NULL)
        return reconcile_fail(r, errno == EMEDIUMTYPE ? PIPE_EXIT_STATE : PIPE_EXIT_DATA, "%s",
                              error);
    if (!check_identity(r))
        return false;
    r->run.no_output = r->outputs_discarded;
    if (!engine->log->ops->list(engine->log, "output/", add_output_path, r))
        return reconcile_fail(r, PIPE_EXIT_DATA, "%s", engine->log->error);
    if (!engine_setup(engine) || !engine_load_secrets(engine) || !engine_load_schema_ids(engine))
        return false;
    if (r->plan->start != NULL)
        r->plan->start();
    for (uint32_t i = 0; i < r->plan->sink_count; i++) {
        struct engine_sink *sink = &engine->sinks[i];
        if (!sink->is_topic && sink->def->kind != PIPE_SINK_STDOUT)
            sink->path = engine_output_path(engine, sink->def);
    }
    return pipe_spill_store_open(&r->spills, NULL) ||
           reconcile_fail(r, PIPE_EXIT_DATA, "%s", r->spills.error);
}

static bool read_positions(struct reconcile *r)
{
    struct pipe_engine *engine = r->engine;
    struct pipe_buf value = {0};
    size_t streams = r->plan->stream_count + 1;
    bool ok = true;
    r->committed = pipe_calloc(engine->task_count + 1, sizeof *r->committed);
    r->has_committed = pipe_calloc(engine->task_count + 1, sizeof *r->has_committed);
    r->counters = pipe_calloc(engine->task_count * streams + 1, sizeof *r->counters);
    for (uint32_t t = 0; ok && t < engine->task_count; t++) {
        char name[64];
        struct pipe_log_position of = engine_task_position(&engine->tasks[t], name, sizeof name);
        struct pipe_log_committed found = {.value = &value};
        ok = engine->log->ops->get_position(engine->log, &of, &found);
        r->has_committed[t] = found.found;
        if (ok && r->has_committed[t] &&
            !engine_decode_task(r->plan, pipe_str_of(value.data, value.size), &r->committed[t],
                                &r->counters[t * streams]))
            ok = reconcile_fail(r, PIPE_EXIT_DATA, "the log is damaged: metadata %s is malformed",
                                name);
    }
    pipe_buf_free(&value);
    return ok || reconcile_fail(r, PIPE_EXIT_DATA, "%s", engine->log->error);
}

/* ---- Ledgers ---- */

/* What `run --traffic` has committed of the generator. */
static bool committed_ledger(struct reconcile *r, uint32_t traffic)
{
    struct pipe_log *log = r->engine->log;
    uint32_t source = r->plan->traffics[traffic].source;
    struct pipe_ledger_head *head = &r->heads[source];
    struct pipe_buf value = {0};
    struct pipe_reader reader;
    char name[160];
    bool found;
    int64_t fed, seed;
    snprintf(name, sizeof name, "feeder/%s", r->plan->traffics[traffic].name);
    bool ok = log->ops->get(log, name, &value, &found);
    if (!ok)
        reconcile_fail(r, PIPE_EXIT_DATA, "%s", log->error);
    if (ok && found && !r->has_ledger[source]) {
        pipe_reader_init(&reader, value.data, value.size, NULL);
        ok = pipe_avro_long(&reader, &fed) && pipe_avro_long(&reader, &head->options.count) &&
             pipe_avro_long(&reader, &head->options.rate_per_second) &&
             pipe_avro_long(&reader, &seed) && pipe_avro_long(&reader, &head->options.start_ms) &&
             pipe_feeder_get_stops(&reader, &head->options);
        if (!ok)
            reconcile_fail(r, PIPE_EXIT_DATA, "the log is damaged: metadata %s is malformed", name);
        head->traffic = traffic;
        head->partitions = r->engine->sources[source].partitions;
        head->options.seed = ok ? (uint64_t)seed : 0;
        head->position = ok ? (uint64_t)fed : 0;
        r->has_ledger[source] = ok;
    }
    pipe_buf_free(&value);
    return ok;
}

/* --ledger: what `traffic --ledger` wrote of the files that were read, or an earlier --ledger-out.
 */
static bool given_ledger(struct reconcile *r)
{
    const char *path = r->options->ledger;
    struct pipe_ledger_head head;
    char line[4096], error[400];
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return reconcile_fail(r, PIPE_EXIT_DATA, "%s can't be opened: %s", path, strerror(errno));
    bool read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    if (!read || !pipe_ledger_read_head(r->plan, pipe_str_of(line, strlen(line)), &head, error,
                                        sizeof error))
        return reconcile_fail(r, PIPE_EXIT_DATA, "%s: %s", path,
                              read ? error : "it is empty; a ledger begins with its head");
    uint32_t source = r->plan->traffics[head.traffic].source;
    const struct pipe_ledger_head *have = &r->heads[source];
    if (head.partitions != r->engine->sources[source].partitions)
        return reconcile_fail(r, PIPE_EXIT_DATA, "%s: it is of %u partitions, but %s has %u", path,
                              head.partitions, r->plan->sources[source].name,
                              r->engine->sources[source].partitions);
    if (r->has_ledger[source] &&
        (head.traffic != have->traffic || head.options.seed != have->options.seed ||
         head.options.start_ms != have->options.start_ms ||
         head.options.count != have->options.count || head.position != have->position ||
         head.options.rate_per_second != have->options.rate_per_second))
        return reconcile_fail(r, PIPE_EXIT_DATA,
                              "%s: it is of seed %" PRIu64 ", count %" PRId64 ", rate %" PRId64
                              ", position %" PRIu64 ", but committed in %s are seed %" PRIu64
                              ", count %" PRId64 ", rate %" PRId64 ", position %" PRIu64,
                              path, head.options.seed, head.options.count,
                              head.options.rate_per_second, head.position, r->engine->dir,
                              have->options.seed, have->options.count,
                              have->options.rate_per_second, have->position);
    r->heads[source] = head;
    r->has_ledger[source] = true;
    r->given_source = (int32_t)source;
    return true;
}

static bool find_ledgers(struct reconcile *r)
{
    const struct pipe_plan *plan = r->plan;
    r->heads = pipe_calloc(plan->source_count + 1, sizeof *r->heads);
    r->has_ledger = pipe_calloc(plan->source_count + 1, sizeof *r->has_ledger);
    r->ledger_totals = pipe_calloc(plan->source_count + 1, sizeof *r->ledger_totals);
    r->given_source = -1;
    for (uint32_t i = 0; i < plan->traffic_count; i++) {
        if (!committed_ledger(r, i))
            return false;
    }
    if (r->options->ledger != NULL && !given_ledger(r))
        return false;
    bool any = false;
    for (uint32_t i = 0; i < plan->source_count; i++)
        any = any || r->has_ledger[i];
    return any || r->options->ledger_out == NULL ||
           reconcile_fail(r, PIPE_EXIT_DATA,
                          "--ledger-out: the input of %s is not from `run --traffic`, so there is "
                          "no ledger of it; `%s traffic --ledger FILE` writes one beside files",
                          r->engine->dir, plan->name);
}

/* ---- All of it ---- */

static bool scan_all(struct reconcile *r, bool sinks, bool only_different)
{
    for (uint32_t i = 0; i < r->layer_count; i++) {
        struct reconcile_layer *layer = &r->layers[i];
        if ((layer->kind == RECONCILE_SINK) != sinks ||
            (only_different && reconcile_layer_equal(layer)))
            continue;
        if (layer->kind == RECONCILE_RAW ? !reconcile_raw(r, layer) : !reconcile_scan(r, layer))
            return false;
    }
    return true;
}

static bool check_revisions(struct reconcile *r)
{
    for (uint32_t i = 0; i < r->layer_count; i++) {
        if (!reconcile_check_revisions(r, &r->layers[i]))
            return false;
    }
    return true;
}

static bool merge_all(struct reconcile *r)
{
    for (uint32_t i = 0; i < r->layer_count; i++) {
        if (r->layers[i].merges && !reconcile_merge_partials(r, &r->layers[i]))
            return false;
    }
    return true;
}

static bool any_missing(const struct reconcile *r)
{
    for (uint32_t i = 0; i < r->layer_count; i++) {
        for (uint32_t p = 0; p < r->layers[i].part_count; p++) {
            if (r->layers[i].kind != RECONCILE_RAW &&
                r->layers[i].parts[p]->comparison->missing > 0)
                return true;
        }
    }
    return false;
}

static bool reconcile(struct reconcile *r)
{
    bool equal = true;
    begin(r, "opening");
    if (!open_run(r) || !read_positions(r) || !reconcile_make_layers(r) || !find_ledgers(r))
        return false;
    reconcile_make_markers(r);
    begin(r, "reading the input");
    if (!scan_all(r, false, false))
        return false;
    begin(r, "running every task again");
    if (!reconcile_rerun(r))
        return false;
    begin(r, "reading the output");
    if (!scan_all(r, true, false))
        return false;
    begin(r, "comparing");
    if (!merge_all(r) || !check_revisions(r) || !reconcile_compare(r) || !reconcile_check_totals(r))
        return false;
    r->compared = true;
    for (uint32_t i = 0; i < r->layer_count; i++)
        equal = equal && reconcile_layer_equal(&r->layers[i]);
    if (equal)
        return true;
    r->finding = true;
    begin(r, "looking for the rows that differ");
    return scan_all(r, false, true) && scan_all(r, true, true) &&
           (!any_missing(r) || reconcile_rerun(r)) && merge_all(r);
}

static void handle_signals(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

int pipe_reconcile_main(const struct pipe_plan *plan, int argc, char **argv)
{
    struct reconcile_options options;
    int code = reconcile_read_options(plan, argc, argv, &options);
    if (code != 0) {
        pipe_options_free(&options.run);
        return code < 0 ? PIPE_EXIT_OK : code;
    }
    struct reconcile r = {
        .plan = plan, .options = &options, .run = options.run, .spills = {.fd = -1}};
    r.run.embedded = options.dir;
    handle_signals();
    r.engine = engine_new(plan, &r.run);
    r.engine->reconciles = true;
    bool ok = reconcile(&r);
    if (r.told)
        fprintf(stderr, "\r\033[K");
    if (!ok)
        fprintf(stderr, "%s reconcile: %s\n", plan->name, r.engine->error);
    code = ok ? PIPE_EXIT_OK : r.engine->exit_code;
    if (!reconcile_report(&r, stdout))
        code = code == PIPE_EXIT_OK ? PIPE_EXIT_DATA : code;
    reconcile_free_markers(&r);
    reconcile_free_layers(&r);
    pipe_spill_store_close(&r.spills);
    if (r.frames != NULL)
        fclose(r.frames);
    free(r.committed);
    free(r.has_committed);
    free(r.counters);
    free(r.heads);
    free(r.has_ledger);
    free(r.ledger_totals);
    free(r.checks);
    free(r.windows);
    engine_close(r.engine);
    pipe_options_free(&r.run);
    return code;
}
