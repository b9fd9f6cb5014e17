/* resolve_sink.c: sinks: the target, its clauses and defaults, and the guarantee. */
#include <string.h>
#include "resolve.h"
#include "resolve_sink.h"

#define BIT(kind) ((uint64_t)1 << (kind))

static const uint64_t any_sink = BIT(CLAUSE_EXACTLY_ONCE) | BIT(CLAUSE_AT_LEAST_ONCE) |
                                 BIT(CLAUSE_CONTRACT) | BIT(CLAUSE_APPEND_REVISIONS);

static const struct {
    const char *word;
    uint64_t clauses;
    unsigned formats;
    enum format format;
} targets[] = {
    [SINK_KAFKA] = {"a topic",
                    BIT(CLAUSE_TO_KAFKA) | BIT(CLAUSE_KEY) | BIT(CLAUSE_PARTITIONS) |
                        BIT(CLAUSE_FORMAT) | BIT(CLAUSE_UPSERT),
                    1u << FORMAT_JSON | 1u << FORMAT_AVRO, FORMAT_JSON},
    [SINK_CLICKHOUSE] = {"a ClickHouse table",
                         BIT(CLAUSE_TO_CLICKHOUSE) | BIT(CLAUSE_ORDER) | BIT(CLAUSE_PARTITION_BY) |
                             BIT(CLAUSE_ROLLUP) | BIT(CLAUSE_COMMIT) | BIT(CLAUSE_UPSERT),
                         0, FORMAT_NONE},
    [SINK_ICEBERG] = {"an Iceberg table",
                      BIT(CLAUSE_TO_ICEBERG) | BIT(CLAUSE_PARTITION_BY) | BIT(CLAUSE_SORT) |
                          BIT(CLAUSE_TARGET) | BIT(CLAUSE_COMMIT),
                      0, FORMAT_NONE},
    [SINK_FILE] = {"a file", BIT(CLAUSE_TO_FILE) | BIT(CLAUSE_FORMAT) | BIT(CLAUSE_COMMIT),
                   1u << FORMAT_JSONL | 1u << FORMAT_CSV | 1u << FORMAT_AVRO | 1u << FORMAT_PARQUET,
                   FORMAT_NONE},
    [SINK_STDOUT] = {"standard output", BIT(CLAUSE_TO_STDOUT) | BIT(CLAUSE_FORMAT),
                     1u << FORMAT_JSONL | 1u << FORMAT_CSV, FORMAT_JSONL},
};

/* --- target --- */

static const struct clause *target_clause(const struct statement *statement, enum sink_kind *kind)
{
    static const enum clause_kind to[] = {
        [SINK_KAFKA] = CLAUSE_TO_KAFKA,     [SINK_CLICKHOUSE] = CLAUSE_TO_CLICKHOUSE,
        [SINK_ICEBERG] = CLAUSE_TO_ICEBERG, [SINK_FILE] = CLAUSE_TO_FILE,
        [SINK_STDOUT] = CLAUSE_TO_STDOUT,
    };
    for (size_t i = 0; i < statement->clauses.count; i++)
        for (size_t k = 0; k < sizeof to / sizeof *to; k++)
            if (statement->clauses.items[i].kind == to[k]) {
                *kind = (enum sink_kind)k;
                return &statement->clauses.items[i];
            }
    return NULL;
}

bool check_table(struct program *program, const char *text, size_t size, struct span span)
{
    unsigned dots = 0;
    bool good = size > 0 && text[0] != '.' && text[size - 1] != '.';
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        dots += c == '.';
        good &= c == '.' || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                (c >= 'A' && c <= 'Z');
    }
    if (good && dots == 1)
        return true;
    struct diag *diag =
        diag_error(program, PC5206, span, "%s can't name a table", span_text(program, span));
    diag_help(diag, "write database and table, of letters, digits and _: 'shop.events'");
    return false;
}

static bool resolve_target(struct program *program, struct sink *sink)
{
    const struct statement *statement = sink->statement;
    const struct clause *clause = target_clause(statement, &sink->kind);
    if (!clause) {
        struct diag *diag =
            diag_error(program, PC2008, statement->name.span,
                       "sink `%s` does not say where it writes to", statement->name.text);
        diag_help(diag, "write `to kafka topic '…'`, `to clickhouse table '…'`, `to iceberg table "
                        "'…'`, `to file '…'` or `to stdout`");
        return false;
    }
    sink->target = sink->kind == SINK_STDOUT ? NULL : clause->text;
    if (sink->kind == SINK_KAFKA)
        check_topic(program, clause);
    if (sink->kind == SINK_CLICKHOUSE || sink->kind == SINK_ICEBERG)
        check_table(program, clause->text, clause->text_bytes, clause->text_span);
    if (sink->kind == SINK_FILE && clause->text_bytes == 0)
        diag_error(program, PC5206, clause->text_span, "the file has no name");
    for (size_t i = 0; i < statement->clauses.count; i++) {
        const struct clause *other = &statement->clauses.items[i];
        if ((any_sink | targets[sink->kind].clauses) & BIT(other->kind))
            continue;
        if (strcmp(clause_word(other->kind), "to") == 0) /* a second target: said already */
            continue;
        struct diag *diag = diag_error(program, PC5201, other->word, "%s has no `%s`",
                                       targets[sink->kind].word, clause_word(other->kind));
        diag_also(diag, clause->word, "the target");
        diag_help(diag, "remove the clause");
    }
    return true;
}

/* --- format and contract --- */

static const char *format_list(struct program *program, unsigned formats)
{
    static const char *const words[] = {
        [FORMAT_AVRO] = "avro",      [FORMAT_JSON] = "json", [FORMAT_JSONL] = "jsonl",
        [FORMAT_CSV] = "csv",        [FORMAT_TEXT] = "text", [FORMAT_BYTES] = "bytes",
        [FORMAT_PARQUET] = "parquet"};
    const char *list = "";
    for (unsigned i = FORMAT_AVRO; i <= FORMAT_PARQUET; i++)
        if (formats & 1u << i)
            list =
                arena_printf(program->arena, "%s%s`format %s`", list, *list ? ", " : "", words[i]);
    return list;
}

static void resolve_format(struct program *program, struct sink *sink)
{
    const struct clause *clause = clause_find(sink->statement, CLAUSE_FORMAT);
    unsigned formats = targets[sink->kind].formats;
    sink->format = clause ? clause->format : targets[sink->kind].format;
    if (formats == 0 || formats & 1u << sink->format)
        return;
    struct diag *diag =
        clause ? diag_error(program, PC5205, clause->span, "%s is not written in this format",
                            targets[sink->kind].word)
               : diag_error(program, PC5205, sink->span, "sink `%s` does not say its format",
                            sink->name.text);
    diag_help(diag, "write %s", format_list(program, formats));
    sink->format = FORMAT_NONE;
}

static void check_csv(struct program *program, const struct sink *sink)
{
    const struct record_type *row = sink->from->row;
    for (size_t i = 0; sink->format == FORMAT_CSV && i < row->field_count; i++) {
        if (!type_is_nested(row->fields[i].type))
            continue;
        struct diag *diag =
            diag_error(program, PC5216, sink->span, "csv has no place for `%s`, which is %s",
                       row->fields[i].name, type_name(program, row->fields[i].type));
        diag_help(diag, "write `format jsonl`, or leave the column out with `select`");
        return;
    }
}

static void report_contract(struct program *program, const struct sink *sink, struct span at,
                            const char *note)
{
    struct diag *diag = diag_error(program, PC5213, at, "the rows of `%s` are not of this contract",
                                   sink->from->name.text);
    diag_note(diag, "%s", note);
    diag_help(diag, "make the columns those of the contract with `select`");
}

static void check_contract(struct program *program, const struct sink *sink, struct span at)
{
    const struct record_type *row = sink->from->row;
    const struct record_type *record = sink->contract->versions[0]->record;
    for (size_t i = 0; i < row->field_count; i++) {
        const struct field *column = &row->fields[i];
        int index = field_index(record, column->name);
        const char *name = column->name, *note = NULL;
        if (index < 0) {
            note = arena_printf(program->arena, "it has no field `%s`", name);
        } else {
            const struct field *field = &record->fields[index];
            if (!type_equal(column->type, field->type) && !type_widens(column->type, field->type))
                note =
                    arena_printf(program->arena, "`%s` is %s here and %s there", name,
                                 type_name(program, column->type), type_name(program, field->type));
            else if (column->nullable && !field->nullable)
                note = arena_printf(program->arena, "`%s` may be null here, and not there", name);
        }
        if (note) {
            report_contract(program, sink, at, note);
            return;
        }
    }
    for (size_t i = 0; i < record->field_count; i++)
        if (field_index(row, record->fields[i].name) < 0) {
            report_contract(program, sink, at,
                            arena_printf(program->arena, "its field `%s` is missing here",
                                         record->fields[i].name));
            return;
        }
}

static bool is_avro_text(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return *name && (*name < '0' || *name > '9') && name[strspn(name, letters)] == '\0';
}

static void derive_schema(struct program *program, struct sink *sink)
{
    const struct record_type *row = sink->from->row;
    sink->avro_schema = schema_derive(program, sink->name.text, row);
    if (sink->avro_schema)
        return;
    const char *name = is_avro_text(sink->name.text) ? NULL : sink->name.text;
    for (size_t i = 0; !name && i < row->field_count; i++)
        if (!is_avro_text(row->fields[i].name))
            name = row->fields[i].name;
    struct diag *diag =
        name ? diag_error(program, PC5219, sink->span, "`%s` is no name in Avro", name)
             : diag_error(program, PC5219, sink->span, "the rows of `%s` have no Avro schema",
                          sink->from->name.text);
    diag_note(diag, "Avro names are letters, digits and `_`, and begin with no digit");
    diag_help(diag, name == sink->name.text ? "give the sink another name"
                                            : "give it another name with `select`");
}

static void resolve_schema(struct resolver *resolver, struct sink *sink)
{
    struct program *program = resolver->program;
    const struct clause *clause = clause_find(sink->statement, CLAUSE_CONTRACT);
    if (clause) {
        struct contract *contract = contract_named(resolver, clause->name);
        if (!contract)
            return;
        contract->used = true;
        if (contract->version_count == 0)
            return;
        sink->contract = contract;
        check_contract(program, sink, clause->span);
    }
    bool poisoned = false;
    for (size_t i = 0; i < sink->from->row->field_count; i++)
        poisoned |= sink->from->row->fields[i].type->kind == TYPE_POISON;
    if (sink->format == FORMAT_AVRO && !sink->contract && !poisoned)
        derive_schema(program, sink);
}

/* --- key and partitions --- */

static void check_key_column(struct program *program, const struct name *name,
                             const struct field *field)
{
    if (type_is_key(field->type) || field->type->kind == TYPE_POISON)
        return;
    struct diag *diag = diag_error(program, PC5114, name->span, "%s can't be part of a key",
                                   type_name(program, field->type));
    diag_help(diag, "a key is made of single values that are no floats");
}

bool sink_columns(struct program *program, const struct sink *sink, const name_list *names,
                  uint32_t **columns, size_t *count, bool as_key)
{
    const struct record_type *row = sink->from->row;
    if (!columns_named(program, row, sink->from->name.text, names, columns, count))
        return false;
    for (size_t i = 0; as_key && i < *count; i++)
        check_key_column(program, &names->items[i], &row->fields[(*columns)[i]]);
    return true;
}

static void resolve_kafka(struct program *program, struct sink *sink)
{
    const struct clause *key = clause_find(sink->statement, CLAUSE_KEY);
    const struct clause *partitions = clause_find(sink->statement, CLAUSE_PARTITIONS);
    const struct clause *to = clause_find(sink->statement, CLAUSE_TO_KAFKA);
    stream_list roots = {0};
    root_sources(program, sink->from, &roots);
    for (size_t i = 0; i < roots.count; i++)
        if (roots.items[i]->source && roots.items[i]->source->partitions > sink->partitions)
            sink->partitions = roots.items[i]->source->partitions;
    if (partitions) {
        sink->partitions = check_partitions(program, partitions);
    } else if (sink->partitions == 0) {
        struct diag *diag = diag_error(program, PC5215, to->span,
                                       "the number of partitions of `%s` is missing", sink->target);
        diag_note(diag, "files have no fixed number to take over");
        diag_help(diag, "write `partitions 4`");
    }
    if (key) {
        sink_columns(program, sink, &key->names, &sink->key_columns, &sink->key_count, true);
        return;
    }
    if (clause_find(sink->statement, CLAUSE_UPSERT))
        return;
    sink->source_key = sink->from->has_source_record;
    if (sink->source_key)
        return;
    struct diag *diag =
        diag_error(program, PC5204, sink->span, "sink `%s` needs a `key`", sink->name.text);
    diag_note(diag, "its rows come from a file, a window or an exchange, so there is no record "
                    "whose key they could keep");
    diag_help(diag, "write `key COLUMN`: the rows of a key stay in order");
}

/* --- guarantee and pace --- */

static void resolve_guarantee(struct program *program, struct sink *sink)
{
    const struct clause *exactly = clause_find(sink->statement, CLAUSE_EXACTLY_ONCE);
    const struct clause *least = clause_find(sink->statement, CLAUSE_AT_LEAST_ONCE);
    sink->exactly_once = exactly != NULL;
    if (!exactly && !least) {
        struct diag *diag = diag_error(program, PC5202, sink->span,
                                       "sink `%s` does not say its guarantee", sink->name.text);
        diag_help(diag, sink->kind == SINK_STDOUT ? "write `at least once`"
                                                  : "write `exactly once` or `at least once`");
        return;
    }
    if (!exactly)
        return;
    if (sink->kind == SINK_STDOUT) {
        struct diag *diag =
            diag_error(program, PC5203, exactly->span, "standard output can't be `exactly once`");
        diag_note(diag, "what was printed can't be taken back");
        diag_help(diag, "write `at least once`");
        return;
    }
    stream_list roots = {0};
    root_sources(program, sink->from, &roots);
    for (size_t i = 0; i < roots.count; i++) {
        const struct source_def *source = roots.items[i]->source;
        if (!source || !source->path || strcmp(source->path, "-") != 0)
            continue;
        struct diag *diag = diag_error(program, PC5203, exactly->span,
                                       "what comes from standard input can't be `exactly once`");
        diag_also(diag, roots.items[i]->span, "it reads `'-'`");
        diag_note(diag, "it can't be read again after a failure");
        diag_help(diag, "write `at least once`, or read a file");
        return;
    }
}

bool check_commit_size(struct program *program, const struct clause *clause)
{
    if (clause->size_bytes >= 1024)
        return true;
    struct diag *diag = diag_error(program, PC4012, clause->span, "a commit takes at least 1KiB");
    diag_help(diag, "write for example `commit every 100ms or 16MiB`");
    return false;
}

static void resolve_pace(struct program *program, struct sink *sink)
{
    const struct clause *clause = clause_find(sink->statement, CLAUSE_COMMIT);
    bool lake =
        sink->kind == SINK_ICEBERG || (sink->kind == SINK_FILE && sink->format == FORMAT_PARQUET);
    sink->commit_ms = program->commit_ms;
    sink->commit_bytes = program->commit_bytes;
    if (sink->kind == SINK_CLICKHOUSE) {
        sink->commit_ms = 1000;
        sink->commit_bytes = 16 << 20;
    } else if (lake) {
        sink->commit_ms = 60000;
        sink->commit_bytes = 128 << 20;
    }
    if (!clause)
        return;
    if (sink->kind == SINK_FILE && !lake && sink->format != FORMAT_NONE) {
        struct diag *diag =
            diag_error(program, PC5201, clause->word, "this file follows the pace of the pipeline");
        diag_help(diag, "write `commit every …` behind the pipeline's name, or `format parquet`");
        return;
    }
    if (check_duration(program, clause->duration_ms, false, clause->span, "commit"))
        sink->commit_ms = clause->duration_ms;
    if (clause->has_size && check_commit_size(program, clause))
        sink->commit_bytes = clause->size_bytes;
}

void resolve_sink(struct resolver *resolver, struct sink *sink)
{
    struct program *program = resolver->program;
    const struct statement *statement = sink->statement;
    check_once(program, statement);
    sink->from = stream_named(resolver, statement->from.items[0]);
    sink->version_column = -1;
    if (sink->from)
        vec_push(program->arena, &sink->from->sinks, sink);
    if (!resolve_target(program, sink))
        return;
    resolve_format(program, sink);
    resolve_pace(program, sink);
    if (!sink->from)
        return;
    resolve_guarantee(program, sink);
    if (!sink->from->row)
        return;
    check_csv(program, sink);
    resolve_schema(resolver, sink);
    resolve_revisions(program, sink);
    resolve_upsert(program, sink);
    if (sink->kind == SINK_KAFKA)
        resolve_kafka(program, sink);
    if (sink->kind == SINK_CLICKHOUSE || sink->kind == SINK_ICEBERG)
        resolve_table(program, sink);
}
