/*
 * runtime_aggregates.c: every accumulator: results against plain computations, the same bytes in
 * whatever order and grouping values come, save and load, malformed state.
 */
#include <float.h>
#include <math.h>

#include "runtime_operators.h"

/* --- All aggregates alike -------------------------------------------------------------------- */

struct value {
    int64_t number;
    double real;
    char text[40];
    size_t text_size;
    struct pipe_position at;
};

union any {
    struct pipe_count count;
    struct pipe_sum_int sum_int;
    struct pipe_avg_int avg_int;
    struct pipe_sum_decimal sum_decimal;
    struct pipe_avg_decimal avg_decimal;
    struct pipe_sum_float sum_float;
    struct pipe_avg_float avg_float;
    struct pipe_min_int min_int;
    struct pipe_max_int max_int;
    struct pipe_min_float min_float;
    struct pipe_max_float max_float;
    struct pipe_min_decimal min_decimal;
    struct pipe_max_decimal max_decimal;
    struct pipe_min_bytes min_bytes;
    struct pipe_max_bytes max_bytes;
    struct pipe_first first;
    struct pipe_last last;
    struct pipe_min_by min_by;
    struct pipe_max_by max_by;
    struct pipe_count_distinct count_distinct;
    struct pipe_approx_count_distinct approx_count_distinct;
    struct pipe_approx_quantile approx_quantile;
};

struct kind {
    const char *name;
    void (*init)(union any *acc);
    void (*update)(union any *acc, const struct value *value);
    void (*merge)(union any *into, const union any *from);
    void (*save)(const union any *acc, struct pipe_buf *out);
    bool (*load)(union any *acc, struct pipe_reader *in);
    void (*drop)(union any *acc);
};

static struct pipe_str text_of(const struct value *value)
{
    return pipe_str_of(value->text, value->text_size);
}

#define KIND(aggregate, statement)                                                                 \
    static void aggregate##_init(union any *acc)                                                   \
    {                                                                                              \
        pipe_##aggregate##_init(&acc->aggregate);                                                  \
    }                                                                                              \
    static void aggregate##_update(union any *any, const struct value *v)                          \
    {                                                                                              \
        struct pipe_##aggregate *acc = &any->aggregate;                                            \
        (void)v;                                                                                   \
        statement;                                                                                 \
    }                                                                                              \
    static void aggregate##_merge(union any *into, const union any *from)                          \
    {                                                                                              \
        pipe_##aggregate##_merge(&into->aggregate, &from->aggregate);                              \
    }                                                                                              \
    static void aggregate##_save(const union any *acc, struct pipe_buf *out)                       \
    {                                                                                              \
        pipe_##aggregate##_save(&acc->aggregate, out);                                             \
    }                                                                                              \
    static bool aggregate##_load(union any *acc, struct pipe_reader *in)                           \
    {                                                                                              \
        return pipe_##aggregate##_load(&acc->aggregate, in);                                       \
    }                                                                                              \
    static void aggregate##_drop(union any *acc)                                                   \
    {                                                                                              \
        pipe_##aggregate##_drop(&acc->aggregate);                                                  \
    }
#define KIND_ROW(aggregate)                                                                        \
    {                                                                                              \
#aggregate, aggregate##_init, aggregate##_update, aggregate##_merge, aggregate##_save,     \
            aggregate##_load, aggregate##_drop                                                     \
    }

static pipe_decimal decimal_of(const struct value *v)
{
    return (pipe_decimal)v->number * 1000000007;
}

static void add_first(struct pipe_first *acc, const struct value *v)
{
    if (pipe_first_wants(acc, &v->at))
        pipe_first_update(acc, &v->at, text_of(v));
}

static void add_last(struct pipe_last *acc, const struct value *v)
{
    if (pipe_last_wants(acc, &v->at))
        pipe_last_update(acc, &v->at, text_of(v));
}

static void add_min_by(struct pipe_min_by *acc, const struct value *v)
{
    uint8_t key[PIPE_ORDER_MAX];
    struct pipe_str k = pipe_str_of(key, pipe_order_int(key, v->number % 20));
    if (pipe_min_by_wants(acc, k, &v->at))
        pipe_min_by_update(acc, k, &v->at, text_of(v));
}

static void add_max_by(struct pipe_max_by *acc, const struct value *v)
{
    uint8_t key[PIPE_ORDER_MAX];
    struct pipe_str k = pipe_str_of(key, pipe_order_float(key, v->real));
    if (pipe_max_by_wants(acc, k, &v->at))
        pipe_max_by_update(acc, k, &v->at, text_of(v));
}

KIND(count, pipe_count_update(acc))
KIND(sum_int, pipe_sum_int_update(acc, v->number))
KIND(avg_int, pipe_avg_int_update(acc, v->number))
KIND(sum_decimal, pipe_sum_decimal_update(acc, decimal_of(v)))
KIND(avg_decimal, pipe_avg_decimal_update(acc, decimal_of(v)))
KIND(sum_float, pipe_sum_float_update(acc, v->real))
KIND(avg_float, pipe_avg_float_update(acc, v->real))
KIND(min_int, pipe_min_int_update(acc, v->number))
KIND(max_int, pipe_max_int_update(acc, v->number))
KIND(min_float, pipe_min_float_update(acc, v->real))
KIND(max_float, pipe_max_float_update(acc, v->real))
KIND(min_decimal, pipe_min_decimal_update(acc, decimal_of(v)))
KIND(max_decimal, pipe_max_decimal_update(acc, decimal_of(v)))
KIND(min_bytes, pipe_min_bytes_update(acc, text_of(v)))
KIND(max_bytes, pipe_max_bytes_update(acc, text_of(v)))
KIND(first, add_first(acc, v))
KIND(last, add_last(acc, v))
KIND(min_by, add_min_by(acc, v))
KIND(max_by, add_max_by(acc, v))
KIND(count_distinct, pipe_count_distinct_update(acc, text_of(v)))
KIND(approx_count_distinct, pipe_approx_count_distinct_update(acc, text_of(v)))
KIND(approx_quantile, pipe_approx_quantile_update(acc, v->real))

static const struct kind kinds[] = {
    KIND_ROW(count),           KIND_ROW(sum_int),        KIND_ROW(avg_int),
    KIND_ROW(sum_decimal),     KIND_ROW(avg_decimal),    KIND_ROW(sum_float),
    KIND_ROW(avg_float),       KIND_ROW(min_int),        KIND_ROW(max_int),
    KIND_ROW(min_float),       KIND_ROW(max_float),      KIND_ROW(min_decimal),
    KIND_ROW(max_decimal),     KIND_ROW(min_bytes),      KIND_ROW(max_bytes),
    KIND_ROW(first),           KIND_ROW(last),           KIND_ROW(min_by),
    KIND_ROW(max_by),          KIND_ROW(count_distinct), KIND_ROW(approx_count_distinct),
    KIND_ROW(approx_quantile),
};
#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

/* Any finite double, or one of a usual size, or a zero of either sign. */
static double random_double(struct dice *dice)
{
    uint64_t bits = dice_next(dice);
    double value;
    switch (dice_roll(dice, 4)) {
    case 0:
        return dice_roll(dice, 2) == 0 ? 0.0 : -0.0;
    case 1:
        memcpy(&value, &bits, sizeof value);
        return isfinite(value) ? value : 5e-324;
    default:
        return ldexp((double)(bits >> 12) - 0x1p51, (int)dice_roll(dice, 40) - 80);
    }
}

static void random_value(struct dice *dice, struct value *value, int64_t range)
{
    memset(value, 0, sizeof *value);
    value->number = dice_roll(dice, 2 * range) - range;
    value->real = random_double(dice);
    value->text_size =
        (size_t)snprintf(value->text, sizeof value->text, "%lld%s", (long long)value->number,
                         value->number % 3 == 0 ? " and a longer text" : "");
    value->at.event_time = dice_roll(dice, 10);
    value->at.source = (uint32_t)dice_roll(dice, 2);
    value->at.partition = (int32_t)dice_roll(dice, 3);
    value->at.offset = dice_roll(dice, 5); /* equal positions happen, as after an unnest */
}

static void round_trip(const struct kind *kind, union any *acc)
{
    struct pipe_buf buf = {0};
    struct pipe_reader in;
    kind->save(acc, &buf);
    kind->drop(acc);
    kind->init(acc);
    pipe_reader_init(&in, buf.data, buf.size, NULL);
    assert_true(kind->load(acc, &in));
    assert_ptr_equal(in.at, in.end);
    pipe_buf_free(&buf);
}

static void shuffle(struct dice *dice, struct value *values, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t k = (size_t)dice_roll(dice, (int64_t)i);
        struct value swap = values[i - 1];
        values[i - 1] = values[k];
        values[k] = swap;
    }
}

/* Sums up in a random order and grouping, with moves, saves and loads on the way. */
static void sum_up(const struct kind *kind, struct dice *dice, struct value *values, size_t count,
                   struct pipe_buf *out)
{
    union any parts[8];
    for (size_t p = 0; p < 8; p++)
        kind->init(&parts[p]);
    shuffle(dice, values, count);
    for (size_t i = 0; i < count; i++)
        kind->update(&parts[dice_roll(dice, 8)], &values[i]);
    round_trip(kind, &parts[dice_roll(dice, 8)]);
    for (size_t left = 8; left > 1; left--) {
        size_t a = (size_t)dice_roll(dice, (int64_t)left), b = left - 1;
        if (a == b)
            a = 0;
        kind->merge(&parts[a], &parts[b]);
        kind->drop(&parts[b]);
        if (dice_roll(dice, 3) == 0)
            round_trip(kind, &parts[a]);
    }
    out->size = 0;
    kind->save(&parts[0], out);
    kind->drop(&parts[0]);
}

static void test_any_order(void **state)
{
    (void)state;
    static struct value values[6000];
    struct dice dice = {11};
    for (size_t k = 0; k < KIND_COUNT; k++) {
        for (size_t count = 0; count <= 6000; count = count * 5 + 1) {
            struct pipe_buf first = {0}, other = {0};
            for (size_t i = 0; i < count; i++)
                random_value(&dice, &values[i], 3000);
            sum_up(&kinds[k], &dice, values, count, &first);
            for (unsigned i = 0; i < 4; i++) {
                sum_up(&kinds[k], &dice, values, count, &other);
                if (first.size != other.size || memcmp(first.data, other.data, first.size) != 0)
                    fail_msg("%s of %zu values depends on their order", kinds[k].name, count);
            }
            pipe_buf_free(&first);
            pipe_buf_free(&other);
        }
    }
}

/* Every cut is refused, every change is refused or taken, without harm. */
static void test_malformed(void **state)
{
    (void)state;
    struct dice dice = {12};
    for (size_t k = 0; k < KIND_COUNT; k++) {
        struct pipe_buf buf = {0};
        union any acc;
        kinds[k].init(&acc);
        for (size_t i = 0; i < 50; i++) {
            struct value value;
            random_value(&dice, &value, 1000);
            kinds[k].update(&acc, &value);
        }
        kinds[k].save(&acc, &buf);
        kinds[k].drop(&acc);
        for (size_t i = 0; i < 3000; i++) {
            size_t size = i < buf.size ? i : buf.size;
            uint8_t *bytes = store_copy(buf.data, size);
            struct pipe_reader in;
            if (i >= buf.size)
                bytes[dice_roll(&dice, (int64_t)size)] = (uint8_t)dice_next(&dice);
            pipe_reader_init(&in, bytes, size, NULL);
            kinds[k].init(&acc);
            bool loaded = kinds[k].load(&acc, &in);
            assert_true(i >= buf.size || !loaded);
            kinds[k].drop(&acc);
            free(bytes);
        }
        pipe_buf_free(&buf);
    }
}

/* --- Results --------------------------------------------------------------------------------- */

static void test_integers(void **state)
{
    (void)state;
    struct pipe_sum_int sum;
    struct pipe_avg_int avg;
    struct pipe_min_int least;
    int64_t out;
    double mean;
    bool is_null;
    pipe_sum_int_init(&sum);
    pipe_avg_int_init(&avg);
    pipe_min_int_init(&least);
    assert_true(pipe_sum_int_finish(&sum, &out, &is_null) && is_null && out == 0);
    assert_true(pipe_avg_int_finish(&avg, &mean, &is_null) && is_null);
    assert_true(pipe_min_int_finish(&least, &out, &is_null) && is_null);
    pipe_sum_int_update(&sum, INT64_MAX);
    pipe_sum_int_update(&sum, 1);
    assert_false(pipe_sum_int_finish(&sum, &out, &is_null));
    pipe_sum_int_update(&sum, -1); /* the range is judged at the end */
    assert_true(pipe_sum_int_finish(&sum, &out, &is_null) && !is_null && out == INT64_MAX);
    pipe_avg_int_update(&avg, INT64_MAX);
    pipe_avg_int_update(&avg, INT64_MAX);
    pipe_avg_int_update(&avg, -4);
    assert_true(pipe_avg_int_finish(&avg, &mean, &is_null));
    assert_true(mean == 6148914691236517204.0);
    pipe_min_int_update(&least, 5);
    pipe_min_int_update(&least, -5);
    assert_true(pipe_min_int_finish(&least, &out, &is_null) && !is_null && out == -5);
}

static void test_decimals(void **state)
{
    (void)state;
    struct pipe_sum_decimal sum;
    struct pipe_avg_decimal avg;
    pipe_decimal out, top = pipe_powers_of_ten[38] - 1;
    double mean;
    pipe_sum_decimal_init(&sum);
    pipe_avg_decimal_init(&avg);
    for (int i = 0; i < 1000; i++)
        pipe_sum_decimal_update(&sum, top);
    assert_false(pipe_sum_decimal_finish(&sum, &out, NULL));
    for (int i = 0; i < 999; i++)
        pipe_sum_decimal_update(&sum, -top);
    assert_true(pipe_sum_decimal_finish(&sum, &out, NULL));
    assert_true(out == top);
    pipe_avg_decimal_update(&avg, 10);
    pipe_avg_decimal_update(&avg, 10);
    pipe_avg_decimal_update(&avg, 11);
    assert_true(pipe_avg_decimal_finish(&avg, 2, &mean, NULL));
    assert_true(mean == 31.0 / 300.0);
}

static double float_sum(const double *values, size_t count, bool average, bool *in_range)
{
    struct pipe_avg_float acc;
    double out = NAN;
    bool is_null;
    pipe_avg_float_init(&acc);
    for (size_t i = 0; i < count; i++)
        pipe_avg_float_update(&acc, values[i]);
    *in_range = average ? pipe_avg_float_finish(&acc, &out, &is_null)
                        : pipe_sum_float_finish(&acc.sum, &out, &is_null);
    assert_int_equal(is_null, count == 0);
    pipe_avg_float_drop(&acc);
    return out;
}

static void test_float_edges(void **state)
{
    (void)state;
    static const struct {
        double values[4];
        size_t count;
        bool average, in_range;
        double expected;
    } cases[] = {
        {{1e100, 1, -1e100}, 3, false, true, 1},
        {{0.1, 0.2}, 2, false, true, 0.30000000000000004},
        {{0.1, 0.1, 0.1, 0.7}, 4, false, true, 1.0},
        {{DBL_MAX, DBL_MAX, -DBL_MAX}, 3, false, true, DBL_MAX},
        {{DBL_MAX, DBL_MAX}, 2, false, false, 0},
        {{DBL_MAX, DBL_MAX}, 2, true, true, DBL_MAX},
        {{-DBL_MAX, -DBL_MAX, 0x1p970}, 3, false, false, 0},
        {{DBL_MAX, 0x1p969}, 2, false, true, DBL_MAX}, /* less than half a unit more */
        {{DBL_MAX, 0x1p970}, 2, false, false, 0},      /* half a unit: to even, beyond the range */
        {{5e-324, 5e-324, -5e-324}, 3, false, true, 5e-324},
        {{5e-324, 0}, 2, true, true, 0}, /* half of the least: to even */
        {{5e-324, 5e-324, 0}, 3, true, true, 5e-324},
        {{1, 0x1p-53}, 2, false, true, 1}, /* a tie */
        {{1, 0x1p-53, 5e-324}, 3, false, true, 1 + DBL_EPSILON},
        {{1, 0x1p-53, -5e-324}, 3, false, true, 1},
        {{0x1p-1022, -5e-324}, 2, false, true, 0x1p-1022 - 5e-324},
        {{-0.0, -0.0}, 2, false, true, 0},
        {{1e300, -1e300}, 2, false, true, 0},
        {{0x1p62, 0x1p62, 0x1p62, 0x1p-70}, 4, false, true, 0x1.8p63},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool in_range;
        double got = float_sum(cases[i].values, cases[i].count, cases[i].average, &in_range);
        if (in_range != cases[i].in_range || got != cases[i].expected || (got == 0 && signbit(got)))
            fail_msg("case %zu: %a in range %d, not %a", i, got, in_range, cases[i].expected);
    }
}

#ifdef __SIZEOF_FLOAT128__
__extension__ typedef __float128 quad;

/* Where 113 bits hold the sum exactly, rounding it to double is the answer. */
static void test_float_sums(void **state)
{
    (void)state;
    struct dice dice = {13};
    for (int round = 0; round < 20000; round++) {
        double values[16];
        quad exact = 0;
        int low = (int)dice_roll(&dice, 1900) - 1050;
        size_t count = 1 + (size_t)dice_roll(&dice, 16);
        for (size_t i = 0; i < count; i++) {
            int64_t mantissa = (int64_t)(dice_next(&dice) >> 11) - (1ll << 52);
            values[i] = ldexp((double)mantissa, low + (int)dice_roll(&dice, 50) - 30);
            exact += (quad)values[i];
        }
        bool in_range;
        double got = float_sum(values, count, false, &in_range);
        assert_true(in_range && got == (double)exact);
        got = float_sum(values, count, true, &in_range);
        assert_true(in_range && got == (double)(exact / (quad)count));
    }
}
#else
static void test_float_sums(void **state)
{
    (void)state;
}
#endif

static void test_order_keys(void **state)
{
    (void)state;
    struct dice dice = {14};
    for (int i = 0; i < 10000; i++) {
        uint8_t a[PIPE_ORDER_MAX], b[PIPE_ORDER_MAX];
        int64_t x = (int64_t)dice_next(&dice) >> dice_roll(&dice, 64), y = -x + dice_roll(&dice, 3);
        double f = random_double(&dice), g = random_double(&dice);
        pipe_decimal d = (pipe_decimal)x * (y >> 4 | 1), e = d - dice_roll(&dice, 2);
        pipe_order_int(a, x);
        pipe_order_int(b, y);
        assert_int_equal(memcmp(a, b, 8) < 0, x < y);
        pipe_order_float(a, f);
        pipe_order_float(b, g);
        assert_int_equal(memcmp(a, b, 8) < 0, f < g);
        assert_int_equal(memcmp(a, b, 8) == 0, f == g);
        pipe_order_decimal(a, d);
        pipe_order_decimal(b, e);
        assert_int_equal(memcmp(a, b, 16) > 0, d > e);
    }
}

static void test_first_last_by(void **state)
{
    (void)state;
    struct value values[3];
    union any first, last, least;
    struct pipe_str out;
    bool is_null;
    struct dice dice = {15};
    for (size_t i = 0; i < 3; i++) {
        random_value(&dice, &values[i], 10);
        values[i].at = (struct pipe_position){.event_time = i == 2, .offset = 10 - (int64_t)i};
        values[i].number = i == 2 ? 4 : 3;
        values[i].text_size = (size_t)snprintf(values[i].text, 40, "%c", 'a' + (int)i);
    }
    first_init(&first);
    last_init(&last);
    min_by_init(&least);
    pipe_first_finish(&first.first, &out, &is_null);
    assert_true(is_null && out.size == 0);
    for (size_t i = 0; i < 3; i++) {
        first_update(&first, &values[i]);
        last_update(&last, &values[i]);
        min_by_update(&least, &values[i]);
    }
    pipe_first_finish(&first.first, &out, &is_null);
    assert_true(!is_null && pipe_str_equal(out, PIPE_STR("b")));
    pipe_last_finish(&last.last, &out, NULL);
    assert_true(pipe_str_equal(out, PIPE_STR("c")));
    pipe_min_by_finish(&least.min_by, &out, NULL);
    assert_true(pipe_str_equal(out, PIPE_STR("b")));
    first_drop(&first);
    last_drop(&last);
    min_by_drop(&least);
}

static void test_distinct(void **state)
{
    (void)state;
    struct pipe_count_distinct exact;
    struct pipe_approx_count_distinct approx;
    int64_t n, estimate;
    double worst = 0;
    pipe_count_distinct_init(&exact);
    pipe_approx_count_distinct_init(&approx);
    for (uint64_t i = 0; i < 300000; i++) {
        uint64_t value = i - i % 3; /* each three times */
        pipe_count_distinct_update(&exact, pipe_str_of(&value, sizeof value));
        pipe_approx_count_distinct_update(&approx, pipe_str_of(&value, sizeof value));
        if (i % 997 != 0)
            continue;
        pipe_count_distinct_finish(&exact, &n, NULL);
        assert_int_equal(n, i / 3 + 1);
        pipe_approx_count_distinct_finish(&approx, &estimate, NULL);
        double error = fabs((double)estimate / (double)n - 1);
        worst = error > worst ? error : worst;
    }
    assert_true(worst < 0.03); /* the standard error is 0.008 */
    pipe_count_distinct_drop(&exact);
    pipe_approx_count_distinct_drop(&approx);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void test_quantiles(void **state)
{
    (void)state;
    enum { N = 20000 };
    static double values[N];
    struct dice dice = {16};
    for (int round = 0; round < 6; round++) {
        struct pipe_approx_quantile acc;
        pipe_approx_quantile_init(&acc);
        for (int i = 0; i < N; i++) {
            double unit = (double)(dice_next(&dice) >> 11) * 0x1p-53;
            values[i] = round < 2    ? exp(unit * 40 - 20) - (round == 1 ? 1 : 0)
                        : round == 2 ? -floor(unit * 1000)
                        : round == 3 ? random_double(&dice)
                        : round == 4 ? floor(unit * 50)
                                     : 42;
            pipe_approx_quantile_update(&acc, values[i]);
        }
        qsort(values, N, sizeof values[0], compare_doubles);
        for (int i = 0; i <= 100; i++) {
            double q = i / 100.0, got, want = values[(size_t)(q * (N - 1))];
            assert_true(pipe_approx_quantile_finish(&acc, q, &got, NULL));
            if (!(fabs(got - want) <= 0.01 * fabs(want)))
                fail_msg("round %d, quantile %g: %g, not %g", round, q, got, want);
        }
        pipe_approx_quantile_drop(&acc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_order),   cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_integers),    cmocka_unit_test(test_decimals),
        cmocka_unit_test(test_float_edges), cmocka_unit_test(test_float_sums),
        cmocka_unit_test(test_order_keys),  cmocka_unit_test(test_first_last_by),
        cmocka_unit_test(test_distinct),    cmocka_unit_test(test_quantiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
