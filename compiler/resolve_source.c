/* resolve_source.c: contracts and sources. */
#include <string.h>
#include "resolve.h"

enum { DEFAULT_IDLE_MS = 30000, DEFAULT_AHEAD_MS = 300000, MAX_PARTITIONS = 100000 };

/* --- contracts --- */

void resolve_contract(struct resolver *resolver, struct contract *contract,
                      const struct statement *statement)
{
    struct program *program = resolver->program;
    check_once(program, statement);
    contract->compatibility = COMPATIBLE_FULL;
    const struct clause *compatible = clause_find(statement, CLAUSE_COMPATIBLE);
    if (compatible) {
        static const char *const names[] = {"none", "backward", "forward", "full"};
        for (int i = 0; i < 4; i++)
            if (strcmp(compatible->name.text, names[i]) == 0)
                contract->compatibility = (enum compatibility)i;
        contract->transitive = compatible->flag;
    }
    const struct clause *from = clause_find(statement, CLAUSE_CONTRACT_FROM);
    const struct clause *accepts = clause_find(statement, CLAUSE_ACCEPTS);
    size_t older = accepts ? accepts->strings.count : 0;
    contract->versions = arena_alloc(program->arena, (older + 1) * sizeof *contract->versions);
    struct schema *reader = from ? schema_load(program, from->text, from->text_span) : NULL;
    bool complete = reader != NULL;
    if (reader)
        contract->versions[contract->version_count++] = reader;
    for (size_t i = 0; i < older; i++) {
        const struct name *path = &accepts->strings.items[i];
        struct schema *schema = schema_load(program, path->text, path->span);
        complete &= schema != NULL;
        if (schema && reader)
            contract->versions[contract->version_count++] = schema;
    }
    if (complete && older > 0 && !contract_check(program, contract, accepts->word))
        contract->version_count = 0; /* what reads it would stumble over the same fault */
}

/* --- clauses that only some sources have --- */

static void report_clause(struct program *program, const struct clause *clause, const char *why,
                          const char *help)
{
    struct diag *diag = diag_error(program, PC5111, clause->word, "`%s` has no meaning here: %s",
                                   clause_word(clause->kind), why);
    diag_help(diag, "%s", help);
}

/* Columns are not superfluous in another format: they are said elsewhere. */
static const char *help_csv_clause(const struct clause *clause, const struct source_def *source)
{
    if (clause->kind != CLAUSE_COLUMNS)
        return source->is_kafka ? "remove it" : "remove it, or write `format csv`";
    if (source->format == FORMAT_TEXT)
        return "remove it: the one column of `format text` is `line string`";
    if (source->format == FORMAT_BYTES)
        return "remove it: the one column of `format bytes` is `payload bytes`";
    return source->is_kafka
               ? "write `contract NAME` instead, and a statement `contract NAME from 'x.avsc';`"
               : "write `contract NAME` instead, and a statement `contract NAME from 'x.avsc';`, "
                 "or `format csv`";
}

/* `ahead` keeps records of the far future from moving time. A file's clock is its own event times,
 * so there the program says what is too far. */
static void report_files_have_no(struct program *program, const struct statement *statement,
                                 const struct clause *clause)
{
    struct diag *diag =
        diag_error(program, PC5109, clause->word, "files have no `%s`", clause_word(clause->kind));
    const struct clause *time = clause_find(statement, CLAUSE_EVENT_TIME);
    if (clause->kind == CLAUSE_IDLE || !time || !time->expr) {
        diag_note(diag, "it needs the clock of a broker; at the end of a file its time moves on by "
                        "itself");
        diag_help(diag, "remove the clause");
        return;
    }
    bool is_long = time->expr->span.end - time->expr->span.begin > 60;
    const char *text = is_long ? "TIME" : span_text(program, time->expr->span);
    diag_note(diag, "it needs the clock of a broker, and a file may be read years later");
    diag_help(diag,
              "write what is too far into the event time, which then is null and refused: `event "
              "time case when %s < '2027-01-01T00:00:00Z' then %s end as %s`",
              text, text, time->as.text ? span_text(program, time->as.span) : "event_time");
}

static void check_source_clauses(struct program *program, const struct statement *statement,
                                 const struct source_def *source)
{
    for (size_t i = 0; i < statement->clauses.count; i++) {
        const struct clause *clause = &statement->clauses.items[i];
        if (!source->is_kafka && (clause->kind == CLAUSE_IDLE || clause->kind == CLAUSE_AHEAD)) {
            report_files_have_no(program, statement, clause);
        } else if (!source->is_kafka &&
                   (clause->kind == CLAUSE_PARTITIONS || clause->kind == CLAUSE_DROP_TOMBSTONES)) {
            report_clause(program, clause, "this source reads files",
                          "remove it: each file is a partition, and no record is without value");
        } else if (source->format != FORMAT_CSV && source->format != FORMAT_NONE &&
                   (clause->kind == CLAUSE_HEADER || clause->kind == CLAUSE_COLUMNS)) {
            report_clause(program, clause, "only csv has it", help_csv_clause(clause, source));
        }
    }
}

/* --- kafka or file --- */

bool topic_name_is_good(const char *name, size_t size)
{
    if (size == 0 || size > 249 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        strncmp(name, "pipec.", 6) == 0)
        return false;
    for (size_t i = 0; i < size; i++)
        if (name[i] == '\0' ||
            !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", name[i]))
            return false;
    return true;
}

bool check_topic(struct program *program, const struct clause *clause)
{
    if (topic_name_is_good(clause->text, clause->text_bytes))
        return true;
    struct diag *diag = diag_error(program, PC5113, clause->text_span, "%s can't name a topic",
                                   span_text(program, clause->text_span));
    diag_help(diag, "1 to 249 of the characters a-z A-Z 0-9 . _ -; `pipec.` at the start is taken");
    return false;
}

uint32_t check_partitions(struct program *program, const struct clause *clause)
{
    if (clause->integer >= 1 && clause->integer <= MAX_PARTITIONS)
        return (uint32_t)clause->integer;
    diag_error(program, PC5102, clause->span, "a topic has 1 to %d partitions", MAX_PARTITIONS);
    return 1;
}

static void resolve_origin(struct program *program, const struct statement *statement,
                           struct source_def *source)
{
    const struct clause *kafka = clause_find(statement, CLAUSE_FROM_KAFKA);
    const struct clause *file = clause_find(statement, CLAUSE_FROM_FILE);
    const struct clause *partitions = clause_find(statement, CLAUSE_PARTITIONS);
    source->is_kafka = kafka != NULL || !file;
    if (!kafka && !file) {
        struct diag *diag =
            diag_error(program, PC2008, statement->name.span,
                       "source `%s` does not say where it reads from", statement->name.text);
        diag_help(diag, "write `from kafka topic '…' partitions 6` or `from file '…'`");
        return;
    }
    if (file) {
        source->path = file->text;
        if (file->text_bytes == 0)
            diag_error(program, PC5113, file->text_span, "the file has no name");
        return;
    }
    source->topic = kafka->text;
    check_topic(program, kafka);
    source->partitions = partitions ? check_partitions(program, partitions) : 1;
    if (!partitions) {
        struct diag *diag = diag_error(program, PC5102, kafka->span,
                                       "the number of partitions of `%s` is missing", kafka->text);
        diag_note(diag, "it is part of the plan: state and exchanges are laid out by it");
        diag_help(diag, "write `partitions 6` behind it");
    }
}

/* --- format and columns --- */

static const char *format_word(enum format format)
{
    static const char *const words[] = {
        [FORMAT_NONE] = "none",   [FORMAT_AVRO] = "avro",      [FORMAT_JSON] = "json",
        [FORMAT_JSONL] = "jsonl", [FORMAT_CSV] = "csv",        [FORMAT_TEXT] = "text",
        [FORMAT_BYTES] = "bytes", [FORMAT_PARQUET] = "parquet"};
    return words[format];
}

static void resolve_format(struct program *program, const struct statement *statement,
                           struct source_def *source)
{
    const struct clause *clause = clause_find(statement, CLAUSE_FORMAT);
    unsigned kafka = 1u << FORMAT_AVRO | 1u << FORMAT_JSON | 1u << FORMAT_TEXT | 1u << FORMAT_BYTES;
    unsigned file = 1u << FORMAT_CSV | 1u << FORMAT_JSONL | 1u << FORMAT_AVRO | 1u << FORMAT_TEXT;
    if (!clause) {
        source->format = source->is_kafka ? FORMAT_AVRO : FORMAT_NONE;
        if (source->is_kafka)
            return;
        struct diag *diag =
            diag_error(program, PC5103, statement->name.span,
                       "source `%s` does not say the format of its files", statement->name.text);
        diag_help(diag,
                  "write `format csv header`, `format jsonl`, `format avro` or `format text`");
        return;
    }
    source->format = clause->format;
    source->header = clause_find(statement, CLAUSE_HEADER) != NULL;
    if ((source->is_kafka ? kafka : file) & 1u << clause->format)
        return;
    struct diag *diag =
        diag_error(program, PC5103, clause->span, "%s are not read as `%s`",
                   source->is_kafka ? "topics" : "files", format_word(clause->format));
    diag_help(diag, source->is_kafka ? "write `format avro`, `json`, `text` or `bytes`"
                                     : "write `format csv`, `jsonl`, `avro` or `text`");
    source->format = FORMAT_NONE;
}

static const struct record_type *single_column(struct program *program, const char *name,
                                               const char *column, enum type_kind kind)
{
    struct record_type *row = row_new(program, name, 1);
    row->fields[row->field_count++] =
        (struct field){.name = intern_cstr(program, column), .type = type_simple(kind)};
    return row;
}

static const struct record_type *declared_columns(struct program *program, const char *name,
                                                  const struct clause *clause)
{
    struct record_type *row = row_new(program, name, clause->columns.count);
    bool good = clause->columns.count <= MAX_COLUMNS;
    if (!good) {
        diag_error(program, PC2035, clause->word, "a row has at most %d columns", MAX_COLUMNS);
        return NULL;
    }
    for (size_t i = 0; i < clause->columns.count; i++) {
        const struct column_decl *column = &clause->columns.items[i];
        const struct type *type =
            type_from_name(program, column->type, column->arg_count, column->args);
        if (!type)
            type = type_simple(TYPE_POISON);
        struct field field = {.name = column->name.text,
                              .type = type,
                              .nullable = column->nullable,
                              .span = column->name.span};
        good &= row_add(program, row, field);
    }
    return good ? row : NULL;
}

static bool same_columns(const struct record_type *a, const struct record_type *b)
{
    if (a->field_count != b->field_count)
        return false;
    for (size_t i = 0; i < a->field_count; i++)
        if (strcmp(a->fields[i].name, b->fields[i].name) != 0)
            return false;
    return true;
}

/* Text says nothing of the version that it was written by: what is found by name or position only,
 * cannot be found where a version has it elsewhere. */
static void check_accepted(struct program *program, const struct source_def *source,
                           const struct clause *clause)
{
    const struct contract *contract = source->contract;
    const struct schema *newest = contract->versions[0];
    for (size_t i = 1; source->format != FORMAT_AVRO && i < contract->version_count; i++) {
        const struct schema *version = contract->versions[i];
        const char *format = format_word(source->format);
        const struct resolve_field *renamed =
            renamed_field(contract_resolve(program, version, newest));
        struct diag *diag;
        if (source->format == FORMAT_CSV && !source->header &&
            !same_columns(version->record, newest->record)) {
            diag =
                diag_lint(program, W5002, clause->span,
                          "rows of version `%s` cannot be read from these files", version->label);
            diag_note(diag, "without `header` columns are found by position, and it has others "
                            "than the newest");
            diag_help(diag, "write `format csv header`, or name a contract without this version");
        } else if (renamed) {
            diag = diag_lint(program, W5002, clause->span,
                             "`%s` of version `%s` cannot be read from %s", renamed->writer->name,
                             version->label, format);
            diag_note(diag, "%s is read by names, and the field is `%s` now: aliases are for avro",
                      format, renamed->reader->name);
            diag_help(diag, "keep the name, or name a contract without this version");
        } else {
            continue;
        }
        return;
    }
}

static const struct record_type *
contract_columns(struct resolver *resolver, struct source_def *source, const struct clause *clause)
{
    struct program *program = resolver->program;
    struct contract *contract = contract_named(resolver, clause->name);
    if (!contract)
        return NULL;
    contract->used = true;
    if (contract->version_count == 0)
        return NULL;
    source->contract = contract;
    const struct record_type *row = contract->versions[0]->record;
    for (size_t i = 0; source->format == FORMAT_CSV && i < row->field_count; i++) {
        if (!type_is_nested(row->fields[i].type))
            continue;
        struct diag *diag =
            diag_error(program, PC5106, clause->span, "csv has no place for `%s`, which is %s",
                       row->fields[i].name, type_name(program, row->fields[i].type));
        diag_help(diag, "read it as `jsonl` or `avro`, or as text and take it apart");
        return NULL;
    }
    if (source->format != FORMAT_NONE)
        check_accepted(program, source, clause);
    return row;
}

static void report_missing_contract(struct program *program, const struct statement *statement,
                                    enum format format)
{
    struct diag *diag = diag_error(program, PC5104, statement->name.span,
                                   "source `%s` does not say its columns", statement->name.text);
    if (format == FORMAT_CSV)
        diag_help(diag, "write `columns (name type, …)` or `contract NAME`");
    else
        diag_help(diag, "write `contract NAME`, and a statement `contract NAME from 'x.avsc';`");
}

static const struct record_type *resolve_payload(struct resolver *resolver,
                                                 const struct statement *statement,
                                                 struct source_def *source)
{
    struct program *program = resolver->program;
    const struct clause *contract = clause_find(statement, CLAUSE_CONTRACT);
    const struct clause *columns = clause_find(statement, CLAUSE_COLUMNS);
    const char *name = statement->name.text;
    bool plain = source->format == FORMAT_TEXT || source->format == FORMAT_BYTES;
    if (plain && contract) {
        struct diag *diag = diag_error(program, PC5105, contract->span,
                                       "`format %s` has no contract", format_word(source->format));
        diag_help(diag, "its one column is `%s`",
                  source->format == FORMAT_TEXT ? "line string" : "payload bytes");
    }
    if (source->format == FORMAT_TEXT)
        return single_column(program, name, "line", TYPE_STRING);
    if (source->format == FORMAT_BYTES)
        return single_column(program, name, "payload", TYPE_BYTES);
    if (contract && columns && source->format == FORMAT_CSV) {
        struct diag *diag =
            diag_error(program, PC5105, columns->word, "the columns are given twice");
        diag_also(diag, contract->word, "by the contract");
        diag_help(diag, "keep one of the two");
        return NULL;
    }
    if (contract)
        return contract_columns(resolver, source, contract);
    if (columns && source->format == FORMAT_CSV)
        return declared_columns(program, name, columns);
    if (source->format != FORMAT_NONE && !columns)
        report_missing_contract(program, statement, source->format);
    return NULL;
}

/* --- event time --- */

static void report_event_time_name(struct program *program, const struct clause *clause)
{
    struct diag *diag = diag_error(program, PC5108, clause->expr->span,
                                   "an event time that is computed needs a name");
    diag_help(diag, "write `event time %s as occurred_at`", span_text(program, clause->expr->span));
}

/* The stream's row: the payload with an event time that is never null. */
static const struct record_type *row_with_time(struct program *program, struct source_def *source,
                                               const struct clause *clause, const char *name)
{
    const struct record_type *payload = source->payload;
    struct record_type *row = row_new(program, name, payload->field_count + 1);
    row->full_name = payload->full_name;
    row->field_count = payload->field_count;
    memcpy(row->fields, payload->fields, payload->field_count * sizeof *row->fields);
    if (clause->as.text) {
        source->event_time_added = true;
        source->event_time_column = (uint32_t)row->field_count;
        row_add(program, row,
                (struct field){
                    .name = clause->as.text, .type = clause->expr->type, .span = clause->as.span});
    } else if (source->event_time_column != UINT32_MAX) {
        row->fields[source->event_time_column].nullable = false;
    }
    return row;
}

static void resolve_event_time(struct program *program, struct stream *stream,
                               const struct clause *clause, struct scope *scope)
{
    struct source_def *source = stream->source;
    struct clause *written = (struct clause *)clause; /* the tree is typed in place */
    check_expr(scope, &written->expr);
    const struct expr *expr = clause->expr;
    if (is_poison(expr))
        return;
    if (!type_is_instant(expr->type)) {
        struct diag *diag = diag_error(program, PC5107, expr->span,
                                       "the event time must be timestamp_ms or timestamp_us, and "
                                       "this is %s",
                                       type_name(program, expr->type));
        const char *text = span_text(program, expr->span);
        if (expr->type->kind == TYPE_STRING)
            diag_help(diag, "write `parse_timestamp(%s, '%%Y-%%m-%%d %%H:%%M:%%S') as event_time`",
                      text);
        else if (!type_is_nested(expr->type) && expr->type->kind != TYPE_BOOL)
            diag_help(diag, "write `cast(%s as timestamp_ms) as event_time`", text);
        return;
    }
    bool is_path = expr->kind == EXPR_PATH;
    source->event_time_is_kafka_time = is_path && expr->root == ROOT_KAFKA_TIME;
    source->event_time_column = UINT32_MAX;
    if (is_path && expr->root == ROOT_COLUMN && expr->steps.count == 1 && !clause->as.text)
        source->event_time_column = expr->steps.items[0];
    else if (!clause->as.text && !source->event_time_is_kafka_time) {
        report_event_time_name(program, clause);
        return;
    }
    source->event_time = clause->expr;
    stream->has_event_time = true;
    stream->event_time_type = expr->type;
    stream->row = row_with_time(program, source, clause, stream->name.text);
}

static void resolve_time(struct program *program, struct stream *stream, struct scope *scope)
{
    static const enum clause_kind dependent[] = {CLAUSE_WATERMARK, CLAUSE_IDLE, CLAUSE_AHEAD};
    const struct statement *statement = stream->statement;
    struct source_def *source = stream->source;
    const struct clause *clause = clause_find(statement, CLAUSE_EVENT_TIME);
    if (clause && scope->row)
        resolve_event_time(program, stream, clause, scope);
    for (size_t i = 0; i < 3; i++) {
        const struct clause *other = clause_find(statement, dependent[i]);
        bool zero = other && other->kind == CLAUSE_WATERMARK;
        if (other)
            check_duration(program, other->duration_ms, zero, other->span,
                           clause_word(other->kind));
        if (!other || clause)
            continue;
        struct diag *diag = diag_error(program, PC4003, other->word, "`%s` needs an event time",
                                       clause_word(other->kind));
        diag_help(diag, "write `event time COLUMN`");
        stream->info->failed = true; /* who needs the event time says no more */
        break;
    }
    const struct clause *watermark = clause_find(statement, CLAUSE_WATERMARK);
    const struct clause *idle = clause_find(statement, CLAUSE_IDLE);
    const struct clause *ahead = clause_find(statement, CLAUSE_AHEAD);
    stream->has_watermark = watermark != NULL;
    source->watermark_ms = watermark ? watermark->duration_ms : 0;
    source->idle_ms = idle ? idle->duration_ms : source->is_kafka ? DEFAULT_IDLE_MS : 0;
    source->idle_advance = idle && idle->flag;
    source->ahead_ms = ahead ? ahead->duration_ms : source->is_kafka ? DEFAULT_AHEAD_MS : 0;
}

/* --- key, rejects --- */

static void resolve_key(struct program *program, struct stream *stream)
{
    struct source_def *source = stream->source;
    const struct clause *clause = clause_find(stream->statement, CLAUSE_KEY);
    if (clause && source->payload &&
        columns_named(program, source->payload, stream->name.text, &clause->names,
                      &source->key_columns, &source->key_count)) {
        for (size_t i = 0; i < source->key_count; i++) {
            const struct type *type = source->payload->fields[source->key_columns[i]].type;
            if (type_is_key(type) || type->kind == TYPE_POISON)
                continue;
            struct diag *diag = diag_error(program, PC5114, clause->names.items[i].span,
                                           "%s can't be part of a key", type_name(program, type));
            diag_help(diag, "a key is made of single values that are no floats");
        }
        stream->partition_known = source->key_count > 0;
        stream->partition_columns = source->key_columns;
        stream->partition_count = source->key_count;
    }
    if (source->is_kafka && source->partitions == 1) {
        stream->partition_known = true;
        stream->partition_count = 0;
    }
}

/* Bytes of a topic that nobody reads into are taken as they come. */
static bool can_refuse(const struct stream *stream)
{
    const struct source_def *source = stream->source;
    return source->format != FORMAT_BYTES || source->event_time || source->key_count > 0 ||
           !source->drop_tombstones;
}

static void check_rejects(struct resolver *resolver, struct stream *stream)
{
    struct program *program = resolver->program;
    if (can_refuse(stream) == (stream->rejects != NULL))
        return;
    if (stream->rejects) {
        struct diag *diag =
            diag_lint(program, W2004, clause_find(stream->statement, CLAUSE_REJECTS)->span,
                      "nothing in `%s` can be refused", stream->name.text);
        diag_help(diag, "remove `rejects to`");
        return;
    }
    if (clause_find(stream->statement, CLAUSE_REJECTS)) /* its name was refused */
        return;
    struct diag *diag =
        diag_error(program, PC5110, stream->span,
                   "records of `%s` can be refused, and nothing takes them", stream->name.text);
    diag_note(diag, "a record that can't be read is never lost in silence");
    struct rejects_proposal rejects = propose_rejects(resolver);
    diag_help(diag, "write `rejects to %s`%s", rejects.name, rejects.sink);
}

void resolve_source(struct resolver *resolver, struct stream *stream)
{
    struct program *program = resolver->program;
    const struct statement *statement = stream->statement;
    struct source_def *source = arena_alloc(program->arena, sizeof *source);
    stream->source = source;
    check_once(program, statement);
    resolve_origin(program, statement, source);
    resolve_format(program, statement, source);
    check_source_clauses(program, statement, source);
    source->drop_tombstones = clause_find(statement, CLAUSE_DROP_TOMBSTONES) != NULL;
    source->event_time_column = UINT32_MAX;
    source->payload = resolve_payload(resolver, statement, source);
    source->rejects = stream->rejects;
    stream->row = source->payload;
    stream->has_source_record = source->is_kafka;
    stream->info->allows_kafka = source->is_kafka;
    stream->info->kafka_refusal = arena_printf(
        program->arena, "`%s` reads files, which have no Kafka record", stream->name.text);
    struct scope scope = {.program = program,
                          .row = source->payload,
                          .row_of = stream->name.text,
                          .allows_kafka = source->is_kafka,
                          .kafka_refusal = stream->info->kafka_refusal};
    resolve_time(program, stream, &scope);
    stream->kafka_columns = scope.uses_kafka;
    resolve_key(program, stream);
    check_rejects(resolver, stream);
}
