/*
 * compiler_checked.c: what comes out of checking: rows, nulls, exchanges, and what every checked
 * expression keeps to.
 */
#include <glob.h>
#include "checked_programs.h"

static const struct stream *stream_of(const struct program *program, const char *name)
{
    for (size_t i = 0; i < program->streams.count; i++)
        if (strcmp(program->streams.items[i]->name.text, name) == 0)
            return program->streams.items[i];
    fail_msg("no stream %s", name);
    return NULL;
}

/* "k string, n int64 null" */
static void assert_row(struct program *program, const char *stream, const char *wanted)
{
    char text[1024] = "";
    const struct record_type *row = stream_of(program, stream)->row;
    for (size_t i = 0; i < row->field_count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s %s%s", i ? ", " : "", row->fields[i].name,
                 type_name(program, row->fields[i].type), row->fields[i].nullable ? " null" : "");
    }
    assert_string_equal(text, wanted);
}

static void test_rows(void **state)
{
    (void)state;
    struct program *program = checked(
        SOURCE
        "stream a from s where n is not null select k, n, t, at - us as w, i + n as m, "
        "d * i as p, 5 as five rejects to bad;"
        "stream c from a window tumbling 10s group by k, t aggregate count() as events, "
        "sum(n) as total, avg(m) as mean, min(t) as low, sum(p) as money late to behind emit "
        "on update every 1s rejects to bad;"
        "sink r from c to clickhouse table 'a.b' at least once;"
        "sink q from behind to stdout at least once;",
        NULL);
    assert_int_equal(diag_error_count(program), 0);
    assert_row(program, "a",
               "k string, n int64, t string null, w duration, m int64, p decimal(20,2)"
               ", five int64");
    assert_row(program, "c",
               "window_start timestamp_ms, window_end timestamp_ms, k string, t string"
               " null, events int64, total int64, mean float64, low string null, "
               "money decimal(38,2), revision int32");
    assert_row(program, "behind",
               "k string, n int64, t string null, w duration, m int64, p "
               "decimal(20,2), five int64, late_for string, window_end "
               "timestamp_ms, watermark timestamp_ms");
    assert_row(program, "bad",
               "reason string, rule string, detail string null, topic string null, "
               "partition int32 null, offset int64 null, kafka_time timestamp_ms "
               "null, key bytes null, payload bytes null");
    const struct stream *c = stream_of(program, "c");
    assert_true(c->is_windowed && c->sends_corrections);
    assert_int_equal(program->sinks.items[1]->order_count, 3);
    program_free(program);
}

static void test_exchanges(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool exchange;
    } cases[] = {
        {"stream a from s dedup by user, id within 1h rejects to bad;", false},
        {"stream a from s dedup by id within 1h rejects to bad;", true},
        {"stream c from s select user as who, id, at; stream a from c dedup by who within 1h "
         "rejects to bad;",
         false},
        {"stream c from s select upper(user) as user, id; stream a from c dedup by user within 1h "
         "rejects to bad;",
         true},
        {"stream c from s where score > 1; stream e from s where score < 0; stream f from c, e;"
         "stream a from f dedup by user within 1h rejects to bad;",
         true},
        {"stream c from s dedup by id within 1h rejects to bad; stream a from c dedup by id, user "
         "within 1h rejects to bad;",
         false},
        {"stream c from s window tumbling 1s group by user, kind aggregate count() as n drop late "
         "emit on close; stream a from c window tumbling 1m group by user aggregate max(n) as n "
         "emit on close;",
         false},
        {"stream c from s window tumbling 1s group by country, kind aggregate count() as n drop "
         "late emit on close; stream a from c window tumbling 1m group by country aggregate max(n) "
         "as n emit on close;",
         true},
        {"stream a from s window tumbling 1s aggregate count() as n drop late emit on close;",
         true},
        {"stream c from s divert score > 1 to e; stream a from e dedup by user within 1h rejects "
         "to bad; sink q from c to kafka topic 'q' exactly once;",
         false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[2048];
        snprintf(text, sizeof text, "%s%s sink r from a to stdout at least once;", EVENTS,
                 cases[i].text);
        struct program *program = checked(text, NULL);
        if (diag_error_count(program) > 0)
            diag_print(program, stderr, false);
        assert_int_equal(diag_error_count(program), 0);
        const struct stream *a = stream_of(program, "a");
        const struct step *step = &a->steps[a->step_count - 1];
        if (needs_exchange(step) != cases[i].exchange || step->exchange != cases[i].exchange)
            fail_msg("%s", cases[i].text);
        program_free(program);
    }
}

/* --- what holds for every checked expression --- */

static bool takes_unequal_types(const struct expr *expr)
{
    enum type_kind a = expr->left->type->kind, b = expr->right->type->kind;
    return a == TYPE_DURATION || b == TYPE_DURATION ||
           (expr->op == OP_MUL && a == TYPE_DECIMAL && b == TYPE_DECIMAL);
}

static void walk(const struct expr *expr)
{
    if (!expr)
        return;
    assert_non_null(expr->type);
    assert_true(expr->type->kind != TYPE_POISON && expr->type->kind != TYPE_NULL);
    if (expr->kind == EXPR_BINARY && !takes_unequal_types(expr))
        assert_true(type_equal(expr->left->type, expr->right->type));
    if (expr->kind == EXPR_BETWEEN) {
        assert_true(type_equal(expr->left->type, expr->low->type));
        assert_true(type_equal(expr->left->type, expr->high->type));
    }
    if (expr->kind == EXPR_CONVERT)
        assert_true(type_widens(expr->left->type, expr->type));
    if (expr->kind == EXPR_CALL)
        assert_non_null(expr->function);
    if (expr->kind == EXPR_TRY && !expr->right->fallible)
        assert_false(expr->fallible);
    for (size_t i = 0; i < expr->args.count; i++) {
        walk(expr->args.items[i]);
        if (expr->kind == EXPR_IN)
            assert_true(type_equal(expr->left->type, expr->args.items[i]->type));
    }
    for (size_t i = 0; i < expr->whens.count; i++) {
        walk(expr->whens.items[i].when);
        walk(expr->whens.items[i].then);
        assert_true(type_equal(expr->whens.items[i].then->type, expr->type));
    }
    walk(expr->left), walk(expr->right), walk(expr->low), walk(expr->high);
    walk(expr->subject), walk(expr->otherwise);
}

static void walk_stream(const struct stream *stream)
{
    assert_non_null(stream->row);
    const struct record_type *row = stream->input_row;
    for (size_t i = 0; i < stream->step_count; i++) {
        const struct step *step = &stream->steps[i];
        assert_ptr_equal(step->input, row);
        row = step->row;
        assert_non_null(row);
        walk(step->expr);
        if (step->kind == STEP_SELECT)
            assert_int_equal(step->assigns.count, row->field_count);
        for (size_t j = 0; j < step->assigns.count; j++) {
            walk(step->assigns.items[j].expr);
            assert_true(type_equal(step->assigns.items[j].expr->type, row->fields[j].type));
            assert_int_equal(step->assigns.items[j].expr->nullable, row->fields[j].nullable);
        }
        for (size_t j = 0; j < step->aggregate_count; j++) {
            walk(step->aggregates[j].arg);
            walk(step->aggregates[j].by);
        }
        for (size_t j = 0; j < step->key_count; j++)
            assert_true(step->key_columns[j] < step->input->field_count);
    }
    if (stream->kind == STREAM_NORMAL)
        assert_ptr_equal(stream->row, row);
    for (size_t i = 0; i < stream->partition_count; i++)
        assert_true(stream->partition_columns[i] < stream->row->field_count);
}

static void walk_programs(const char *pattern, size_t at_least)
{
    glob_t found;
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= at_least);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct program *program = checked(NULL, found.gl_pathv[i]);
        if (diag_error_count(program) > 0) {
            diag_print(program, stderr, false);
            fail_msg("%s", found.gl_pathv[i]);
        }
        for (size_t j = 0; j < program->streams.count; j++)
            walk_stream(program->streams.items[j]);
        program_free(program);
    }
    globfree(&found);
}

static void test_every_golden_program(void **state)
{
    (void)state;
    walk_programs("tests/golden/plan/*.pipe", 35);
    walk_programs("pipelines/*.pipe", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_exchanges),
        cmocka_unit_test(test_every_golden_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
