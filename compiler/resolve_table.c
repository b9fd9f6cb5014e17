/* resolve_table.c: tables: order, partitions, rollups, corrections, upserts; sinks together. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include "resolve_sink.h"

enum { DEFAULT_TARGET_BYTES = 256 << 20 };

/* --- corrections and upserts --- */

void resolve_revisions(struct program *program, struct sink *sink)
{
    const struct clause *append = clause_find(sink->statement, CLAUSE_APPEND_REVISIONS);
    bool keeps_last = sink->kind == SINK_CLICKHOUSE || sink->kind == SINK_KAFKA;
    sink->append_revisions = append != NULL;
    if (append && !sink->from->sends_corrections) {
        struct diag *diag = diag_error(program, PC5209, append->span, "`%s` sends no corrections",
                                       sink->from->name.text);
        diag_help(diag, "remove `append revisions`");
    }
    if (append || !sink->from->sends_corrections || keeps_last)
        return;
    struct diag *diag = diag_error(program, PC5208, sink->span,
                                   "`%s` sends corrections, and this sink can't replace rows",
                                   sink->from->name.text);
    diag_help(diag, "write `append revisions` to keep them all, or `emit on final` in `%s`",
              sink->from->name.text);
}

static bool upsert_is_possible(struct program *program, const struct sink *sink,
                               const struct clause *clause)
{
    if (sink->from->sends_corrections) {
        struct diag *diag = diag_error(program, PC5211, clause->word,
                                       "corrections already keep the last row of a window");
        diag_help(diag, "remove `upsert by`");
        return false;
    }
    const struct clause *key = clause_find(sink->statement, CLAUSE_KEY);
    if (sink->kind == SINK_KAFKA && key) {
        struct diag *diag =
            diag_error(program, PC5211, key->word, "the key of an upsert topic is its `upsert by`");
        diag_also(diag, clause->word, "here");
        diag_help(diag, "remove `key`");
        return false;
    }
    return true;
}

static void resolve_version(struct program *program, struct sink *sink, const struct clause *clause)
{
    const struct record_type *row = sink->from->row;
    if (sink->kind == SINK_KAFKA && clause->as.text) {
        struct diag *diag = diag_error(program, PC5210, clause->as.span,
                                       "a topic keeps the last row of a key, whatever its version");
        diag_help(diag, "remove `version %s`", clause->as.text);
        return;
    }
    if (sink->kind != SINK_CLICKHOUSE)
        return;
    if (!clause->as.text) {
        struct diag *diag =
            diag_error(program, PC5210, clause->span, "an upsert into ClickHouse needs a version");
        diag_help(diag, "write `version COLUMN`: the row with the greatest one is kept");
        return;
    }
    int index = field_index(row, clause->as.text);
    if (index < 0) {
        report_unknown_column(program, clause->as, row, sink->from->name.text);
        return;
    }
    const struct field *field = &row->fields[index];
    bool good = type_is_integer(field->type) || type_is_instant(field->type);
    if ((!good || field->nullable) && field->type->kind != TYPE_POISON)
        diag_error(program, PC5210, clause->as.span,
                   "a version is an integer or an instant that is never null, and this is %s%s",
                   type_name(program, field->type), field->nullable ? ", nullable" : "");
    sink->version_column = index;
}

void resolve_upsert(struct program *program, struct sink *sink)
{
    struct clause *clause = (struct clause *)clause_find(sink->statement, CLAUSE_UPSERT);
    if (!clause || (sink->kind != SINK_CLICKHOUSE && sink->kind != SINK_KAFKA) ||
        !upsert_is_possible(program, sink, clause))
        return;
    const struct record_type *row = sink->from->row;
    sink_columns(program, sink, &clause->names, &sink->upsert_columns, &sink->upsert_count, true);
    for (size_t i = 0; i < sink->upsert_count; i++) {
        if (!row->fields[sink->upsert_columns[i]].nullable)
            continue;
        const struct name *name = &clause->names.items[i];
        struct diag *diag =
            diag_error(program, PC4018, name->span,
                       "`%s` may be null, and all nulls would be one key", name->text);
        diag_help(diag, "write `require %s is not null else '%s_missing'` in a stream before it",
                  name->text, name->text);
    }
    resolve_version(program, sink, clause);
    if (sink->kind == SINK_KAFKA) {
        sink->key_columns = sink->upsert_columns;
        sink->key_count = sink->upsert_count;
    }
    if (!clause->expr)
        return;
    struct scope scope = {.program = program,
                          .row = row,
                          .row_of = sink->from->name.text,
                          .facts = sink->from->info->facts,
                          .kafka_refusal = "a sink sees the columns of its stream only"};
    check_decision(&scope, &clause->expr, "delete when");
    if (!is_poison(clause->expr) && clause->expr->fallible)
        diag_error(program, PC3101, fallible_part(clause->expr)->span,
                   "`delete when` must not fail: wrap it in `try(…, false)`");
    sink->delete_when = clause->expr;
}

/* --- transforms --- */

static const char *transform_misfit(const struct transform *transform, const struct type *type)
{
    const char *name = transform->function.text;
    bool instant = type_is_instant(type);
    bool calendar =
        strcmp(name, "day") == 0 || strcmp(name, "month") == 0 || strcmp(name, "year") == 0;
    if (calendar)
        return instant || type->kind == TYPE_DATE ? NULL : "an instant or a date";
    if (strcmp(name, "minute") == 0 || strcmp(name, "hour") == 0)
        return instant ? NULL : "an instant";
    if (strcmp(name, "bucket") == 0)
        return type_is_key(type) && type->kind != TYPE_BOOL ? NULL : "a single value, no float";
    bool cuttable = type_is_integer(type) || type->kind == TYPE_STRING ||
                    type->kind == TYPE_BYTES || type->kind == TYPE_DECIMAL;
    return cuttable ? NULL : "an integer, decimal or string";
}

static void check_transform(struct program *program, const struct sink *sink,
                            const struct transform *transform)
{
    static const char *const names[] = {"minute", "hour",   "day",     "month",
                                        "year",   "bucket", "truncate"};
    const struct record_type *row = sink->from->row;
    int index = field_index(row, transform->column.text);
    if (index < 0) {
        report_unknown_column(program, transform->column, row, sink->from->name.text);
        return;
    }
    const struct type *type = row->fields[index].type;
    const char *name = transform->function.text;
    if (!name) {
        if (!type_is_key(type) && type->kind != TYPE_POISON)
            diag_error(program, PC5214, transform->span, "tables can't be divided by %s",
                       type_name(program, type));
        return;
    }
    bool known = false;
    for (size_t i = 0; i < 7; i++)
        known |= strcmp(names[i], name) == 0;
    if (!known) {
        struct diag *diag = diag_error(program, PC5214, transform->function.span,
                                       "there is no transform `%s`", name);
        const char *meant = nearest_name(name, names, 7);
        if (meant)
            diag_help(diag, "did you mean `%s`?", meant);
        else
            diag_help(diag, "there are minute, hour, day, month, year, bucket, truncate");
        return;
    }
    bool counts = strcmp(name, "bucket") == 0 || strcmp(name, "truncate") == 0;
    if (counts != transform->has_argument ||
        (counts && (transform->argument < 1 || transform->argument > INT32_MAX))) {
        struct diag *diag = diag_error(program, PC5214, transform->span, "`%s` takes %s", name,
                                       counts ? "a number above 0 and a column" : "only a column");
        diag_help(diag, counts ? "write `%s(16, %s)`" : "write `%s(%s)`", name,
                  transform->column.text);
        return;
    }
    const char *takes = type->kind == TYPE_POISON ? NULL : transform_misfit(transform, type);
    if (takes)
        diag_error(program, PC5214, transform->span, "`%s` takes %s, and `%s` is %s", name, takes,
                   transform->column.text, type_name(program, type));
}

static const transform_list *check_transforms(struct program *program, const struct sink *sink,
                                              const transform_list *transforms)
{
    for (size_t i = 0; i < transforms->count; i++)
        check_transform(program, sink, &transforms->items[i]);
    return transforms;
}

/* --- rollups --- */

static void check_rollup_argument(struct program *program, const struct aggregate *aggregate)
{
    const struct expr *arg = aggregate->arg;
    bool order = aggregate->kind == AGG_FIRST || aggregate->kind == AGG_LAST;
    if (order) {
        struct diag *diag =
            diag_error(program, PC5218, aggregate->span, "a rollup has no order of events");
        diag_help(diag, "write `min_by(x, time)` or `max_by(x, time)`");
        return;
    }
    if (!arg || (arg->kind == EXPR_PATH && arg->steps.count == 1 &&
                 (!aggregate->by || aggregate->by->kind == EXPR_PATH)))
        return;
    struct diag *diag =
        diag_error(program, PC5218, arg->span, "a rollup aggregates columns as they are");
    diag_help(diag, "compute it in the stream before the sink: `select *, … as x`");
}

/* The columns of a rollup: transforms by function or column, then the aggregates. */
static void check_rollup_names(struct program *program, const struct rollup *rollup)
{
    struct record_type *row =
        row_new(program, rollup->table, rollup->transforms->count + rollup->aggregate_count);
    for (size_t i = 0; i < rollup->transforms->count; i++) {
        const struct transform *transform = &rollup->transforms->items[i];
        const char *function = transform->function.text;
        row_add(program, row,
                (struct field){.name = function ? function : transform->column.text,
                               .type = type_simple(TYPE_NULL),
                               .span = transform->span});
    }
    for (size_t i = 0; i < rollup->aggregate_count; i++)
        row_add(program, row,
                (struct field){.name = rollup->aggregates[i].name,
                               .type = rollup->aggregates[i].type,
                               .span = rollup->aggregates[i].span});
}

static void resolve_rollup(struct program *program, struct sink *sink, const struct clause *clause,
                           struct rollup *rollup)
{
    struct scope scope = {.program = program,
                          .row = sink->from->row,
                          .row_of = sink->from->name.text,
                          .kafka_refusal = "a sink sees the columns of its stream only"};
    check_table(program, clause->text, clause->text_bytes, clause->text_span);
    rollup->table = clause->text;
    rollup->transforms = check_transforms(program, sink, &clause->transforms);
    rollup->aggregates =
        arena_alloc(program->arena, (clause->items.count + 1) * sizeof *rollup->aggregates);
    for (size_t i = 0; i < clause->items.count; i++) {
        struct aggregate *aggregate = &rollup->aggregates[rollup->aggregate_count];
        if (!check_aggregate(&scope, &clause->items.items[i], aggregate))
            continue;
        check_rollup_argument(program, aggregate);
        rollup->aggregate_count++;
    }
    check_rollup_names(program, rollup);
    if (!sink->from->sends_corrections && sink->upsert_count == 0)
        return;
    struct diag *diag = diag_error(program, PC5212, clause->word,
                                   "a rollup would count rows that are replaced later");
    diag_help(diag, "compute it as a window of the pipeline, or use a sink without %s",
              sink->upsert_count > 0 ? "`upsert by`" : "corrections");
}

/* --- tables --- */

static void default_order(struct program *program, struct sink *sink)
{
    const struct stream *from = sink->from;
    if (!from->is_windowed)
        return;
    int start = field_index(from->row, "window_start");
    if (start < 0)
        return;
    const struct stream *window = from;
    while (window->input_count == 1 &&
           (window->step_count == 0 || window->steps[window->step_count - 1].kind != STEP_WINDOW))
        window = window->inputs[0];
    if (window->step_count == 0)
        return;
    const struct step *step = &window->steps[window->step_count - 1];
    sink->order_columns =
        arena_alloc(program->arena, (step->key_count + 1) * sizeof *sink->order_columns);
    for (size_t i = 0; step->kind == STEP_WINDOW && i < step->key_count; i++) {
        int index = field_index(from->row, step->input->fields[step->key_columns[i]].name);
        if (index >= 0)
            sink->order_columns[sink->order_count++] = (uint32_t)index;
    }
    sink->order_columns[sink->order_count++] = (uint32_t)start;
}

/* No control characters, which would break lists of columns; and no hidden column of the server. */
static bool server_takes(const char *name)
{
    static const char *const hidden[] = {
        "_block_number", "_block_offset",      "_data_version",
        "_database",     "_disk_name",         "_distance",
        "_part",         "_part_data_version", "_part_granule_offset",
        "_part_index",   "_part_offset",       "_part_starting_offset",
        "_part_uuid",    "_partition_id",      "_partition_value",
        "_row_exists",   "_sample_factor",     "_shard_num",
        "_table"};
    for (const char *c = name; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == '\x7f')
            return false;
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (strcmp(hidden[i], name) == 0)
            return false;
    return true;
}

/* Quoted; a control character as `?`. */
static const char *shown_name(struct program *program, const char *name)
{
    char *shown = arena_strndup(program->arena, name, strlen(name));
    for (char *c = shown; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == '\x7f')
            *c = '?';
    return arena_printf(program->arena, "`%s`", shown);
}

static void check_column_names(struct program *program, const struct sink *sink)
{
    const struct record_type *row = sink->from->row;
    for (size_t i = 0; i < row->field_count; i++)
        if (strncmp(row->fields[i].name, "_pipe_", 6) == 0) {
            struct diag *diag =
                diag_error(program, PC5217, sink->span, "the table would have a column `%s`",
                           row->fields[i].name);
            diag_note(diag, "names that begin with _pipe_ are the connector's own");
            diag_help(diag, "give it another name with `select`");
        } else if (sink->kind == SINK_CLICKHOUSE && !server_takes(row->fields[i].name)) {
            struct diag *diag =
                diag_error(program, PC5217, sink->span, "the table can't have a column %s",
                           shown_name(program, row->fields[i].name));
            diag_note(diag, "ClickHouse has hidden columns of such names, and names are one line");
            diag_help(diag, "give it another name with `select`");
        }
}

void resolve_table(struct program *program, struct sink *sink)
{
    const struct statement *statement = sink->statement;
    const struct clause *order = clause_find(statement, CLAUSE_ORDER);
    const struct clause *sort = clause_find(statement, CLAUSE_SORT);
    const struct clause *partition = clause_find(statement, CLAUSE_PARTITION_BY);
    const struct clause *target = clause_find(statement, CLAUSE_TARGET);
    check_column_names(program, sink);
    if (order && sink->kind == SINK_CLICKHOUSE)
        sink_columns(program, sink, &order->names, &sink->order_columns, &sink->order_count, true);
    else if (sink->kind == SINK_CLICKHOUSE)
        default_order(program, sink);
    if (sort && sink->kind == SINK_ICEBERG)
        sink_columns(program, sink, &sort->names, &sink->sort_columns, &sink->sort_count, true);
    if (partition)
        sink->partition_by = check_transforms(program, sink, &partition->transforms);
    if (sink->kind == SINK_ICEBERG)
        sink->target_bytes = target ? target->size_bytes : DEFAULT_TARGET_BYTES;
    if (target && target->size_bytes < 1 << 20)
        diag_error(program, PC4012, target->span, "the target must be at least 1MiB");
    size_t rollups = 0;
    for (size_t i = 0; i < statement->clauses.count; i++)
        rollups += statement->clauses.items[i].kind == CLAUSE_ROLLUP;
    if (sink->kind != SINK_CLICKHOUSE || rollups == 0)
        return;
    sink->rollups = arena_alloc(program->arena, rollups * sizeof *sink->rollups);
    for (size_t i = 0; i < statement->clauses.count; i++)
        if (statement->clauses.items[i].kind == CLAUSE_ROLLUP)
            resolve_rollup(program, sink, &statement->clauses.items[i],
                           &sink->rollups[sink->rollup_count++]);
}

/* --- sinks together --- */

/* "./a//b" as "a/b": the texts of two paths to one file become equal. */
static const char *plain_path(struct program *program, const char *path)
{
    char *out = arena_strndup(program->arena, path, strlen(path)), *to = out;
    for (const char *at = path; *at;) {
        bool starts = to == out ? at == path : to[-1] == '/';
        if (starts && at[0] == '.' && at[1] == '/') {
            for (at += 2; *at == '/'; at++)
                ;
            continue;
        }
        if (*at == '/' && to > out && to[-1] == '/') {
            at++;
            continue;
        }
        *to++ = *at++;
    }
    *to = '\0';
    return out;
}

/* By index: plain paths of file sinks, and patterns of sources that read files; else NULL. */
struct places {
    const char **sinks, **patterns;
};

static void find_places(struct program *program, struct places *places)
{
    size_t sinks = program->sinks.count, streams = program->streams.count;
    places->sinks = arena_alloc(program->arena, (sinks + 1) * sizeof *places->sinks);
    places->patterns = arena_alloc(program->arena, (streams + 1) * sizeof *places->patterns);
    for (size_t i = 0; i < sinks; i++) {
        const struct sink *sink = program->sinks.items[i];
        if (sink->kind == SINK_FILE && sink->target)
            places->sinks[i] = plain_path(program, sink->target);
    }
    for (size_t i = 0; i < streams; i++) {
        const struct stream *stream = program->streams.items[i];
        if (stream->kind == STREAM_SOURCE && stream->source && stream->source->path)
            places->patterns[i] = plain_path(program, stream->source->path);
    }
}

/* Something that a sink writes: a file, a table, its own or a roll-up's. */
struct written {
    enum sink_kind kind;
    const char *place;
    size_t sink;
};
typedef VEC(struct written) written_list;

static int compare_written(const void *a, const void *b)
{
    const struct written *one = a, *other = b;
    if (one->kind != other->kind)
        return one->kind < other->kind ? -1 : 1;
    int order = strcmp(one->place, other->place);
    return order != 0 ? order : (one->sink > other->sink) - (one->sink < other->sink);
}

static void report_two_sinks(struct program *program, const struct sink *first,
                             const struct sink *second, const char *place)
{
    struct diag *diag =
        second->kind == SINK_STDOUT
            ? diag_error(program, PC5207, second->span, "standard output is written by two sinks")
            : diag_error(program, PC5207, second->span, "'%s' is written by two sinks",
                         second->kind == SINK_FILE ? second->target : place);
    diag_also(diag, first->span, "the other");
    diag_note(diag, "what one has written could not be told from what the other has");
    diag_help(diag, "unite the streams (`stream both from a, b;`) or write to two places");
}

/* Sorted: what two sinks write stands side by side. */
static void check_places(struct program *program, const struct places *places)
{
    written_list all = {0};
    for (size_t i = 0; i < program->sinks.count; i++) {
        const struct sink *sink = program->sinks.items[i];
        const char *target = places->sinks[i] ? places->sinks[i] : sink->target;
        bool is_shared = sink->kind == SINK_KAFKA || sink->kind == SINK_STDOUT;
        if (target && !is_shared)
            vec_push(program->arena, &all, ((struct written){sink->kind, target, i}));
        for (size_t k = 0; sink->kind == SINK_CLICKHOUSE && k < sink->rollup_count; k++)
            vec_push(program->arena, &all,
                     ((struct written){sink->kind, sink->rollups[k].table, i}));
    }
    if (all.count > 1)
        qsort(all.items, all.count, sizeof *all.items, compare_written);
    size_t first = 0;
    for (size_t i = 1; i < all.count; i++) {
        struct written *a = &all.items[first], *b = &all.items[i];
        if (a->kind != b->kind || strcmp(a->place, b->place) != 0)
            first = i;
        else if (a->sink != b->sink)
            report_two_sinks(program, program->sinks.items[a->sink], program->sinks.items[b->sink],
                             b->place);
    }
}

/* Lines of JSON say themselves what they are: several sinks may print them. */
static void check_stdout(struct program *program)
{
    const struct sink *first = NULL, *first_other = NULL;
    for (size_t i = 0; i < program->sinks.count; i++) {
        const struct sink *sink = program->sinks.items[i];
        if (sink->kind != SINK_STDOUT)
            continue;
        const struct sink *clash = sink->format == FORMAT_JSONL ? first_other : first;
        if (clash)
            report_two_sinks(program, clash, sink, NULL);
        if (!first)
            first = sink;
        if (!first_other && sink->format != FORMAT_JSONL)
            first_other = sink;
    }
}

/* Whether a file of that path is one of those that the source's pattern names. */
static bool takes_file(const char *pattern, const char *path)
{
    size_t fixed = strcspn(pattern, "*?[\\");
    return strncmp(pattern, path, fixed) == 0 &&
           (strcmp(pattern, path) == 0 || fnmatch(pattern, path, FNM_PATHNAME | FNM_PERIOD) == 0);
}

static void check_loop(struct program *program, const struct places *places, size_t at)
{
    const struct sink *sink = program->sinks.items[at];
    bool topic = sink->kind == SINK_KAFKA;
    for (size_t i = 0; i < program->streams.count; i++) {
        const struct stream *stream = program->streams.items[i];
        if (stream->kind != STREAM_SOURCE || !stream->source)
            continue;
        const char *read = topic ? stream->source->topic : stream->source->path;
        if (!read || (topic ? strcmp(read, sink->target) != 0
                            : !takes_file(places->patterns[i], places->sinks[at])))
            continue;
        struct diag *diag =
            diag_error(program, PC5112, sink->span, "%s '%s' is both read and written",
                       topic ? "topic" : "file", sink->target);
        if (strcmp(read, sink->target) != 0)
            diag_note(diag, "a file of that name would be one of '%s'", read);
        diag_also(diag, stream->span, "read here");
        diag_help(diag, "write to another: this pipeline would feed itself");
    }
}

void check_sinks_together(struct resolver *resolver)
{
    struct program *program = resolver->program;
    struct places places;
    find_places(program, &places);
    check_places(program, &places);
    check_stdout(program);
    for (size_t i = 0; i < program->sinks.count && !diag_is_full(program); i++) {
        const struct sink *sink = program->sinks.items[i];
        if ((sink->kind == SINK_KAFKA || sink->kind == SINK_FILE) && sink->target)
            check_loop(program, &places, i);
    }
}
