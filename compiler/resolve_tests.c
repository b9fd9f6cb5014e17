/* resolve_tests.c: the rows of `test` statements against the columns they are rows of. */
#include <string.h>
#include "resolve.h"

static const struct stream *find_stream(const struct program *program, const char *name)
{
    for (size_t i = 0; i < program->streams.count; i++)
        if (strcmp(program->streams.items[i]->name.text, name) == 0)
            return program->streams.items[i];
    return NULL;
}

static const struct stream *stream_of_test(struct program *program, struct name name)
{
    const struct stream *stream = find_stream(program, name.text);
    if (stream)
        return stream;
    struct diag *diag =
        diag_error(program, PC2004, name.span, "there is no stream `%s`", name.text);
    if (!diag_is_shown(diag))
        return NULL;
    const char **names = arena_alloc(program->arena, (program->streams.count + 1) * sizeof *names);
    for (size_t i = 0; i < program->streams.count; i++)
        names[i] = program->streams.items[i]->name.text;
    const char *meant = nearest_name(name.text, names, program->streams.count);
    if (meant)
        diag_help(diag, "did you mean `%s`?", meant);
    return NULL;
}

/* Names of a row: each once, each a column, each value of its type. */
static bool check_values(struct program *program, const struct constant *row,
                         const struct record_type *columns, const char *row_of)
{
    bool good = true;
    for (size_t i = 0; i < row->names.count; i++) {
        const struct name *name = &row->names.items[i];
        for (size_t j = 0; j < i; j++)
            if (row->names.items[j].text == name->text) {
                diag_error(program, PC2011, name->span, "`%s` is given twice", name->text);
                good = false;
            }
        int index = field_index(columns, name->text);
        if (index < 0) {
            report_unknown_column(program, *name, columns, row_of);
            good = false;
            continue;
        }
        const struct field *field = &columns->fields[index];
        good &= check_constant(program, row->items.items[i], field->type, field->nullable,
                               arena_printf(program->arena, "`%s`", name->text));
    }
    return good;
}

static bool has_name(const struct constant *row, const char *name)
{
    for (size_t i = 0; i < row->names.count; i++)
        if (strcmp(row->names.items[i].text, name) == 0)
            return true;
    return false;
}

/* Rows of one `given` that lack the same columns, and their message. */
struct lacking {
    const char *columns;
    struct diag *diag;
};
typedef VEC(struct lacking) lacking_list;

/* Columns that are not written are null, have a default, or are the event time. */
static void check_complete(struct program *program, const struct constant *row,
                           const struct source_def *source, lacking_list *said)
{
    bool plain = source->event_time && !source->event_time_added;
    const struct field *first = NULL;
    const char *columns = "", *help = "";
    for (size_t i = 0; i < source->payload->field_count; i++) {
        const struct field *field = &source->payload->fields[i];
        if (field->nullable || field->has_default || has_name(row, field->name) ||
            (plain && i == source->event_time_column))
            continue;
        columns = arena_printf(program->arena, "%s%s`%s`", columns, first ? ", " : "", field->name);
        help = arena_printf(program->arena, "%s%s%s: …", help, first ? ", " : "", field->name);
        first = first ? first : field;
    }
    if (!first)
        return;
    for (size_t i = 0; i < said->count; i++)
        if (strcmp(said->items[i].columns, columns) == 0) {
            diag_also(said->items[i].diag, row->span, "and this one");
            return;
        }
    struct diag *diag = diag_error(program, PC2028, row->span, "this row lacks %s", columns);
    if (strchr(columns, ','))
        diag_help(diag, "none of them may be null or has a default: write `%s`", help);
    else
        diag_help(diag, "it is %s and has no default: write `%s`", type_name(program, first->type),
                  help);
    if (diag_is_shown(diag))
        vec_push(program->arena, said, ((struct lacking){columns, diag}));
}

static void check_given(struct program *program, const struct test_given *given)
{
    const struct stream *stream = stream_of_test(program, given->source);
    if (!stream)
        return;
    if (stream->kind != STREAM_SOURCE) {
        struct diag *diag =
            diag_error(program, PC2026, given->source.span,
                       "rows are given to a source, and `%s` is none", stream->name.text);
        diag_also(diag, stream->span, "defined here");
        return;
    }
    const struct source_def *source = stream->source;
    lacking_list said = {0};
    for (size_t i = 0; i < given->rows.count; i++) {
        const struct given *row = &given->rows.items[i];
        check_duration(program, row->at_ms, true, row->span, "`at`");
        int64_t limit = source->is_kafka ? source->partitions : 1000;
        if (row->has_partition && (row->partition < 0 || row->partition >= limit))
            diag_error(program, PC2035, row->span, "`%s` has partitions 0 to %lld",
                       stream->name.text, (long long)limit - 1);
        if (row->kind != GIVEN_ROW || !source->payload)
            continue;
        if (check_values(program, row->row, source->payload, stream->name.text))
            check_complete(program, row->row, source, &said);
    }
}

static void check_same_columns(struct program *program, const struct constant *first,
                               const struct constant *row)
{
    const char *odd = NULL;
    bool lacks = false;
    for (size_t i = 0; !odd && i < row->names.count; i++)
        if (!has_name(first, row->names.items[i].text))
            odd = row->names.items[i].text;
    for (size_t i = 0; !odd && i < first->names.count; i++)
        if (!has_name(row, first->names.items[i].text)) {
            odd = first->names.items[i].text;
            lacks = true;
        }
    if (!odd)
        return;
    struct diag *diag = diag_error(program, PC2027, row->span,
                                   lacks ? "this row lacks `%s`, which the first has"
                                         : "this row has `%s`, which the first lacks",
                                   odd);
    diag_also(diag, first->span, "the first row");
    diag_help(diag, "rows are compared on the columns that are written: write the same in each");
}

static void check_expectation(struct program *program, const struct expectation *expect)
{
    const struct stream *stream = stream_of_test(program, expect->stream);
    if (!stream || !stream->row)
        return;
    for (size_t i = 0; i < expect->rows.count; i++) {
        const struct constant *row = expect->rows.items[i];
        check_values(program, row, stream->row, stream->name.text);
        if (i > 0)
            check_same_columns(program, expect->rows.items[0], row);
        else if (row->names.count == 0)
            diag_error(program, PC2027, row->span, "an expected row names at least one column");
    }
}

void check_tests(struct program *program)
{
    for (size_t i = 0; i < program->tests.count; i++) {
        const struct statement *test = program->tests.items[i];
        for (size_t j = 0; j < i; j++) {
            const struct statement *other = program->tests.items[j];
            if (other->text_bytes != test->text_bytes ||
                memcmp(other->text, test->text, test->text_bytes) != 0)
                continue;
            struct diag *diag =
                diag_error(program, PC2003, test->span, "two tests have the same title");
            diag_also(diag, other->span, "the other");
            break;
        }
        for (size_t j = 0; j < test->givens.count; j++)
            check_given(program, &test->givens.items[j]);
        for (size_t j = 0; j < test->expects.count; j++)
            check_expectation(program, &test->expects.items[j]);
    }
}
