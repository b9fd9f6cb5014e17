/*
 * reconcile.c: `NAME reconcile`: whether a run directory, or Kafka, holds exactly what it should
 * (semantics.md §7). Nothing there is changed; the lock of a directory keeps a run out meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "clickhouse.h"
#include "reconcile.h"
#include "regular_file.h"
#include "system_calls.h"

#define NAP_US 2000
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
        fprintf(stderr, "\r\033[K%s reconcile: %s, %" PRIu64 " record%s", r->plan->name, r->doing,
                r->work_done, PIPE_PLURAL(r->work_done));
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

/* Without writing to the lock file: nobody else may run, others may reconcile. It is made again if
 * somebody has deleted it. */
static bool lock_directory(struct reconcile *r)
{
    struct pipe_engine *engine = r->engine;
    char path[4200], log[4200];
    snprintf(log, sizeof log, "%s/log", engine->dir);
    if (access(log, F_OK) != 0)
        return reconcile_fail(r, PIPE_EXIT_DATA, "%s is not the directory of a run: %s: %s",
                              engine->dir, log, strerror(errno));
    snprintf(path, sizeof path, "%s/lock", engine->dir);
    engine->lock_fd = pipe_open_regular(path);
    if (engine->lock_fd < 0 && errno == ENOENT)
        engine->lock_fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0666);
    if (engine->lock_fd < 0)
        return reconcile_fail(
            r, PIPE_EXIT_DATA, "%s can't be opened: %s%s", path, pipe_regular_reason(errno),
            errno == ENOTSUP ? "; delete it, while no run uses the directory" : "");
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

/* What --max-record was; one that is given here comes first. */
static bool take_record_limit(struct reconcile *r)
{
    struct pipe_buf limits = {0};
    bool found = false;
    int64_t limit = 1 << 20;
    if (r->run.max_record_bytes != 0)
        return true;
    bool ok = r->kafka || r->engine->log->ops->get(r->engine->log, RECORD_LIMITS, &limits, &found);
    pipe_buf_add_byte(&limits, '\0');
    char *text = (char *)limits.data, *blank = found ? strchr(text, ' ') : NULL;
    if (!ok) {
        reconcile_fail(r, PIPE_EXIT_DATA, "%s", r->engine->log->error);
    } else if (blank != NULL && blank[1] != '\0') {
        ok = reconcile_fail(r, PIPE_EXIT_USAGE,
                            "the runs in %s had --max-record %sone after the other; name the one "
                            "that holds for all its records with --max-record",
                            r->engine->dir, text);
    } else if (blank != NULL) {
        *blank = '\0';
        ok = (pipe_parse_count(text, 1, UINT32_MAX, &limit)) ||
             reconcile_fail(r, PIPE_EXIT_DATA, "the log is damaged: metadata %s is malformed",
                            RECORD_LIMITS);
    }
    r->run.max_record_bytes = (uint32_t)limit;
    pipe_buf_free(&limits);
    return ok;
}

static bool open_directory(struct reconcile *r)
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
    return engine->log->ops->list(engine->log, "output/", add_output_path, r) ||
           reconcile_fail(r, PIPE_EXIT_DATA, "%s", engine->log->error);
}

/* On Kafka tables are on a server, embedded where the run has brought them. */
static bool open_tables(struct reconcile *r)
{
    struct pipe_log *log = r->engine->log;
    struct pipe_buf place = {0};
    char error[512] = "";
    bool found, any = false;
    for (uint32_t i = 0; i < r->plan->sink_count; i++)
        any = any || r->plan->sinks[i].table != NULL;
    if (!any)
        return true;
    if (!log->ops->get(log, "tables", &place, &found))
        return reconcile_fail(r, PIPE_EXIT_DATA, "%s", log->error);
    r->on_server = r->kafka || (found && pipe_str_equal(pipe_str_of(place.data, place.size),
                                                        PIPE_STR("server")));
    pipe_buf_free(&place);
    if (r->on_server && !r->options->without_tables)
        r->clickhouse = pipe_clickhouse_open(error, sizeof error);
    return error[0] == '\0' || reconcile_fail(r, PIPE_EXIT_USAGE, "%s", error);
}

static bool open_run(struct reconcile *r)
{
    struct pipe_engine *engine = r->engine;
    if ((r->kafka ? !reconcile_open_kafka(r) : !open_directory(r)) || !take_record_limit(r) ||
        !open_tables(r))
        return false;
    if (!engine_setup(engine) || !engine_load_secrets(engine) || !engine_load_schema_ids(engine))
        return false;
    if (r->plan->start != NULL)
        r->plan->start();
    for (uint32_t i = 0; i < r->plan->sink_count; i++) {
        struct engine_sink *sink = &engine->sinks[i];
        if (!sink->is_topic && !sink->followed && sink->def->kind != PIPE_SINK_STDOUT)
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
    r->first = pipe_calloc(engine->task_count + 1, sizeof *r->first);
    r->undrained = pipe_calloc(engine->task_count + 1, sizeof *r->undrained);
    for (uint32_t t = 0; ok && t < engine->task_count; t++) {
        char name[64];
        struct pipe_log_position of = engine_task_position(&engine->tasks[t], name, sizeof name);
        struct pipe_log_committed found = {.value = &value};
        ok = engine->log->ops->get_position(engine->log, &of, &found);
        r->has_committed[t] = found.found;
        r->first[t] = r->kafka ? found.first : 0;
        r->undrained[t] = ok && r->kafka && found.first < r->ends[of.at.topic][of.at.partition];
        if (ok && r->has_committed[t] &&
            !engine_decode_task(r->plan, pipe_str_of(value.data, value.size), &r->committed[t],
                                &r->counters[t * streams]))
            ok = reconcile_fail(r, PIPE_EXIT_DATA, "the log is damaged: metadata %s is malformed",
                                name);
        if (ok && r->kafka && found.found && r->committed[t].position.offset != found.offset)
            ok = reconcile_fail(r, PIPE_EXIT_STATE,
                                "the offset of %s is %" PRId64 ", but %" PRId64
                                " was committed: somebody has set the group's offsets",
                                name, found.offset, r->committed[t].position.offset);
    }
    pipe_buf_free(&value);
    return ok || reconcile_fail(r, PIPE_EXIT_DATA, "%s", engine->log->error);
}

enum pipe_log_state reconcile_read(struct reconcile *r, struct pipe_log_reader *reader,
                                   uint32_t topic, int32_t partition, uint32_t max_records,
                                   struct pipe_record **records, uint32_t *count)
{
    int64_t end = r->ends != NULL ? r->ends[topic][partition] : INT64_MAX;
    for (;;) {
        enum pipe_log_state state =
            r->engine->log->ops->read(reader, max_records, end, records, count);
        if (state != PIPE_LOG_WAIT)
            return state;
        engine_sleep_us(NAP_US);
    }
}

/* ---- All of it ---- */

static bool scan_all(struct reconcile *r, bool sinks, bool only_different)
{
    for (uint32_t i = 0; i < r->layer_count; i++) {
        struct reconcile_layer *layer = &r->layers[i];
        bool is_sink = layer->kind == RECONCILE_SINK || layer->kind == RECONCILE_TABLE;
        if (is_sink != sinks || (only_different && reconcile_layer_equal(layer)))
            continue;
        if (layer->kind == RECONCILE_RAW     ? !reconcile_raw(r, layer)
            : layer->kind == RECONCILE_TABLE ? !reconcile_scan_table(r, layer)
                                             : !reconcile_scan(r, layer))
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
            if (r->layers[i].kind != RECONCILE_RAW && r->layers[i].kind != RECONCILE_TABLE &&
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
    if (!open_run(r) || (r->kafka && !reconcile_freeze(r)) || !read_positions(r) ||
        !reconcile_make_layers(r) || !reconcile_read_marks(r) || !reconcile_find_ledgers(r))
        return false;
    reconcile_make_markers(r);
    begin(r, "reading the input");
    if (!scan_all(r, false, false))
        return false;
    begin(r, "running every task again");
    if (!reconcile_rerun(r))
        return false;
    begin(r, "reading the output");
    if (!scan_all(r, true, false) || !reconcile_check_rollups(r))
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
    r.kafka = options.dir == NULL;
    r.place = options.dir;
    r.run.embedded = options.dir;
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write() */
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
    free(r.ledgers);
    free(r.first);
    free(r.undrained);
    free(r.has_ledger);
    free(r.ledger_totals);
    free(r.checks);
    free(r.windows);
    free(r.left_out);
    reconcile_close_kafka(&r);
    if (r.clickhouse != NULL)
        pipe_clickhouse_close(r.clickhouse);
    engine_close(r.engine);
    pipe_options_free(&r.run);
    return code;
}
