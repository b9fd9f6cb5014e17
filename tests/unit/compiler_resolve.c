/* compiler_resolve.c: which code a mistake in a program gets, and that what is right gets none. */
#include "checked_programs.h"

static char *messages(const struct program *program)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    diag_print(program, stream, false);
    fclose(stream);
    return text;
}

/* The codes of a program's messages, "PC3001 W2001 ", in order of their places. */
static void codes_of(const struct program *program, char *codes, size_t size)
{
    char *text = messages(program);
    codes[0] = '\0';
    for (const char *at = text; (at = strchr(at, '[')); at++) {
        bool head = (at - text >= 5 && strncmp(at - 5, "error", 5) == 0) ||
                    (at - text >= 7 && strncmp(at - 7, "warning", 7) == 0);
        const char *end = strchr(at, ']');
        if (!head || !end)
            continue;
        size_t used = strlen(codes);
        snprintf(codes + used, size - used, "%.*s ", (int)(end - at - 1), at + 1);
    }
    free(text);
}

struct rule {
    const char *text, *codes;
};

static void check_rules(const struct rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char codes[256];
        struct program *program = checked(rules[i].text, NULL);
        codes_of(program, codes, sizeof codes);
        if (strcmp(codes, rules[i].codes) != 0) {
            char *text = messages(program);
            print_error("%s\n", text);
            free(text);
            fail_msg("case %zu: `%s` instead of `%s` for\n%s", i, codes, rules[i].codes,
                     rules[i].text);
        }
        program_free(program);
    }
}
#define RULES(rules) check_rules((rules), sizeof(rules) / sizeof *(rules))

#define WHERE(e) SOURCE "stream a from s where " e ";" SUNK
#define SELECT(e) SOURCE "stream a from s select " e " as v;" SUNK
#define REJECTING(e) SOURCE "stream a from s select " e " as v rejects to bad;" SUNK

static void test_nulls(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {WHERE("n > 1"), "PC3104 "},
        {WHERE("n is not null and n > 1"), ""},
        {WHERE("n > 1 and n is not null"), "PC3104 "},
        {WHERE("n is null or n > 1"), ""},
        {WHERE("n is null and n > 1"), "PC3104 "},
        {WHERE("not (n is null) and n > 1"), ""},
        {WHERE("not (n is null or t is null) and n > 1 and t <> ''"), ""},
        {WHERE("(n is not null and i > 1 or n is not null and i < 0) and n > 1"), ""},
        {WHERE("(n is not null or i > 1) and n > 1"), "PC3104 "},
        {WHERE("coalesce(n > 1, false)"), ""},
        {WHERE("b"), "PC3104 "},
        {WHERE("b is not null and b"), ""},
        {WHERE("case when n is null then true else n > 1 end"), ""},
        {WHERE("case when n is null then false when n > 1 then true else n < 0 end"), ""},
        {WHERE("case when n > 1 then true else false end"), "PC3104 "},
        {WHERE("case when i > 1 then true end"), "PC3104 "},
        {WHERE("case t when 'x' then true else false end"), ""},
        {WHERE("t in ('a', 'b')"), "PC3104 "},
        {WHERE("n = null"), "PC3012 "},
        {WHERE("nullif(k, 'x') = 'y'"), "PC3104 "},
        {SOURCE "stream a from s where n is not null where n > 1;" SUNK, ""},
        {SOURCE "stream a from s require n is not null else 'x' rejects to bad;"
                "stream c from a where n > 1; sink r from c to stdout at least once;",
         ""},
        {SOURCE "stream a from s divert n is null to c where n > 1;" SUNK
                "sink r from c to stdout at least once;",
         ""},
        {SOURCE "stream a from s divert n is not null to c;"
                "stream e from c where n > 1; sink r from e to stdout at least once;",
         ""},
        {SOURCE "stream a from s where n is not null select n as m, k;"
                "stream c from a where m > 1; sink r from c to stdout at least once;",
         ""},
        {CHANGES "stream a from s where after is not null and after.total > 0;" SUNK, ""},
        {CHANGES "stream a from s where after.total > 0;" SUNK, "PC3104 "},
        {CHANGES "stream a from s where after.total is not null and after.name <> '';" SUNK, ""},
        {CHANGES "stream a from s where after is not null select after as row, key;"
                 "stream c from a where row.total > 0; sink r from c to stdout at least once;",
         ""},
        {CHANGES "stream c from s divert after is not null to e; stream a from e where after.total "
                 "> 0; sink q from c to stdout at least once;" SUNK,
         ""},
        {CHANGES
         "stream c from s divert op = 'x' to e divert after is not null to e; stream a from "
         "e where after.total > 0; sink q from c to stdout at least once;" SUNK,
         "PC3104 "},
        {ORDERS "stream a from s where address.zip is not null select *, note as n;"
                "stream c from a where address.zip <> '' and address.city <> '';"
                "sink r from c to stdout at least once;",
         ""},
        {SELECT("null"), "PC3013 "},
        {SELECT("case when i > 1 then null else null end"), "PC3013 "},
        {SELECT("coalesce(null, n)"), ""},
    };
    RULES(rules);
}

static void test_types(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {SELECT("i > n"), ""},
        {SELECT("i > 5000000000"), ""},
        {SELECT("x > 1"), ""},
        {SELECT("x > i"), "PC3001 "},
        {SELECT("d > 1.005"), ""},
        {SELECT("d > x"), "PC3001 "},
        {SELECT("d = n"), ""},
        {SELECT("k = 1"), "PC3001 "},
        {SELECT("at > us"), ""},
        {SELECT("at > '2026-01-01T00:00:00Z'"), ""},
        {SELECT("at > '2026-01-01'"), "PC3010 "},
        {SELECT("day = '2026-01-31'"), ""},
        {SELECT("day = '2026-02-31'"), "PC3010 "},
        {SELECT("u = '00000000-0000-0000-0000-00000000000A'"), ""},
        {SELECT("u = 'x'"), "PC3010 "},
        {SELECT("b < true"), "PC3002 "},
        {SELECT("k || i"), "PC3002 "},
        {SELECT("k || 'x' || cast(i as string)"), ""},
        {SELECT("k + 'x'"), "PC3002 "},
        {SELECT("k between 'a' and 'b'"), ""},
        {SELECT("i between 1 and 'x'"), "PC3001 "},
        {SELECT("i in (1, 2, -3)"), ""},
        {SELECT("i in (1, 'x')"), "PC3001 "},
        {SELECT("d in (1, 2.5)"), ""},
        {SELECT("i like 'x'"), "PC3005 "},
        {SELECT("k matches '('"), "PC3014 "},
        {SELECT("not i"), "PC3002 "},
        {SELECT("i and b"), "PC3002 "},
        {SELECT("-k"), "PC3002 "},
        {SELECT("d / 2"), "PC3020 "},
        {SELECT("d + 1"), ""},
        {SELECT("d * d"), ""},
        {SELECT("-x"), ""},
        {SELECT("i % 12"), ""},
        {SELECT("i / 12"), ""},
        {SELECT("i / 0"), "PC3024 "},
        {SELECT("2 * 3 + 4"), ""},
        {SELECT("at - us"), ""},
        {SELECT("at + at"), "PC3001 "},
        {SELECT("w / 2"), ""},
        {SELECT("w / 10s"), ""},
        {SELECT("day + w"), "PC3001 "},
        {SELECT("cast(i as bool)"), "PC3009 "},
        {SELECT("cast('7' as int32) + 0.5"), ""},
        {SELECT("cast('x' as int32)"), "PC3010 "},
        {SELECT("cast('1e5' as float64)"), ""},
        {SELECT("cast('1e999' as float64)"), "PC3010 "},
        {SELECT("cast(300 as decimal(2,0))"), "PC3010 "},
        {SELECT("cast(null as date)"), ""},
        {SELECT("cast(i as int)"), "PC3007 "},
        {SELECT("cast(k as decimal(2,3))"), "PC3008 "},
        {SELECT("case when i > 1 then 1 else 'x' end"), "PC3001 "},
        {SELECT("case k when 1 then 2 end"), "PC3001 "},
        {SELECT("try(i, 'x')"), "PC3001 "},
        {ORDERS "stream a from s where status = 'PAID' and status in ('NEW', 'SHIPPED');" SUNK, ""},
        {ORDERS "stream a from s where status > 'PAID';" SUNK, "PC3002 "},
        {ORDERS "stream a from s where status in ('NEW', 'OLD');" SUNK, "PC3011 "},
        {ORDERS "stream a from s where total.x = 1;" SUNK, "PC2021 "},
        {ORDERS "stream a from s where tags.x = 'y';" SUNK, "PC2021 "},
        {ORDERS "stream a from s where items = tags;" SUNK, "PC3001 "},
        {ORDERS "stream a from s select items[0] as x;" SUNK, "PC1001 "},
    };
    RULES(rules);
}

static void test_fallible(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {SELECT("i + 1"), "PC3101 "},
        {REJECTING("i + 1"), ""},
        {SELECT("try(i + 1, 0)"), ""},
        {SELECT("try(i + 1, i + 2)"), "PC3101 "},
        {SELECT("i / i"), "PC3101 "},
        {SELECT("i / -1"), "PC3101 "},
        {SELECT("i % -1"), ""},
        {SELECT("x + 1"), "PC3101 "},
        {SELECT("abs(i)"), "PC3101 "},
        {SELECT("abs(d)"), ""},
        {SELECT("cast(n as int32)"), "PC3101 "},
        {SELECT("cast(i as int64)"), ""},
        {SELECT("cast(i as decimal(9,0))"), "PC3101 "},
        {SELECT("cast(i as decimal(10,0))"), ""},
        {SELECT("cast(k as int64)"), "PC3101 "},
        {SELECT("cast(n as timestamp_ms)"), "PC3101 "},
        {SELECT("cast(at as int64)"), ""},
        {SELECT("parse_timestamp(k, '%Y-%m-%d')"), "PC3101 "},
        {SELECT("at + 1h"), "PC3101 "},
        {SELECT("w + 1h"), "PC3101 "},
        {SELECT("coalesce(n, i + 1)"), "PC3101 "},
        {SELECT("cast(d as decimal(20,2)) * cast(d as decimal(20,2))"), "PC3101 "},
        {SELECT("cast(d as decimal(20,20)) * cast(d as decimal(20,20))"), "PC3008 "},
        {REJECTING("i"), "W2004 "},
        {SOURCE "stream a from s where i + 1 > 2;" SUNK, "PC3101 "},
    };
    RULES(rules);
}

static void test_functions(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {SELECT("substring(k, 1)"), ""},
        {SELECT("substring(k)"), "PC3004 "},
        {SELECT("upper(u)"), "PC3005 "},
        {SELECT("length(i)"), "PC3005 "},
        {SELECT("regexp_extract(k, '(a)(b)', 2)"), ""},
        {SELECT("regexp_extract(k, '(a)', 2)"), "PC3006 "},
        {SELECT("regexp_extract(k, k, 0)"), "PC3006 "},
        {SELECT("regexp_replace(k, '(a)', '\\1x')"), ""},
        {SELECT("regexp_replace(k, 'a', '\\1x')"), "PC3014 "},
        {SELECT("greatest(i, n, 3)"), ""},
        {SELECT("greatest(b)"), "PC3005 "},
        {SELECT("round(d)"), ""},
        {SELECT("round(k)"), "PC3005 "},
        {SELECT("date_trunc('week', day)"), ""},
        {SELECT("date_trunc('hour', day)"), "PC3015 "},
        {SELECT("date_part('dow', at)"), ""},
        {SELECT("date_part('week', at)"), "PC3015 "},
        {SELECT("format_timestamp(at, '%d.%m.%Y %H:%M:%S.%f %z %b %%')"), ""},
        {SELECT("format_timestamp(at, '%q')"), "PC3015 "},
        {SELECT("format_timestamp(at, '%')"), "PC3015 "},
        {SELECT("try(parse_timestamp(k, '%H:%M'), at)"), "PC3015 "},
        {SELECT("json_value(k, 'a.b[0].c')"), ""},
        {SELECT("json_value(k, '[0][1].a')"), ""},
        {SELECT("json_value(k, 'a..b')"), "PC3015 "},
        {SELECT("json_value(k, 'a[x]')"), "PC3015 "},
        {SELECT("json_value(k, '')"), "PC3015 "},
        {SELECT("hmac_sha256(k, 'email')"), ""},
        {SELECT("hmac_sha256(k, 'e-mail')"), "PC3015 "},
        {SELECT("get(k, 1)"), "PC3005 "},
        {SELECT("now()"), "PC3018 "},
        {SELECT("random()"), "PC3018 "},
        {SELECT("uuid()"), "PC3018 "},
        {SELECT("lowr(k)"), "PC3003 "},
        {SELECT("count()"), "PC3016 "},
        {SELECT("kafka_time"), "PC3022 "},
        {SELECT("kafka_time()"), "PC3003 "},
        {EVENTS "stream a from s select kafka_time, kafka_offset, kafka_partition, kafka_key;" SUNK,
         ""},
        {EVENTS "stream a from bad select kafka_offset as o;" SUNK, "PC3022 "},
        {EVENTS "stream a from bad select kafka_time;" SUNK, "W2001 "},
        {ORDERS "stream a from s select get(items, 0) as first, get(tags, 'x') as x;" SUNK, ""},
        {ORDERS "stream a from s select get(tags, 0) as x;" SUNK, "PC3005 "},
    };
    RULES(rules);
}

#define WINDOW(kind, rest) SOURCE "stream a from s window " kind " " rest ";" SUNK
#define COUNTS "aggregate count() as c "
#define TAIL COUNTS "drop late emit on close"

static void test_windows(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {WINDOW("tumbling 10s", TAIL), ""},
        {WINDOW("tumbling 10s", COUNTS "emit on close"), "PC4005 "},
        {WINDOW("tumbling 10s", COUNTS "drop late"), "PC4007 "},
        {WINDOW("tumbling 10s", "drop late emit on close"), "PC4002 "},
        {WINDOW("tumbling 0s", TAIL), "PC4012 "},
        {WINDOW("tumbling 10s offset 10s", TAIL), "PC4013 "},
        {WINDOW("hopping 10s every 4s offset 3s", TAIL), ""},
        {WINDOW("hopping 10s every 11s", TAIL), "PC4011 "},
        {WINDOW("hopping 10s every 0s", TAIL), "PC4012 "},
        {WINDOW("hopping 10s every 1ms", TAIL), ""},
        {WINDOW("hopping 10001ms every 1ms", TAIL), "PC4012 "},
        {WINDOW("hopping 36500d every 1ms", TAIL), "PC4012 "},
        {WINDOW("hopping 36500d every 315360s", TAIL), ""},
        {WINDOW("hopping 36500d every 315359999ms", TAIL), "PC4012 "},
        {WINDOW("session gap 10s", "group by k " TAIL), ""},
        {WINDOW("session gap 10s max 1m", "group by k " TAIL), ""},
        {WINDOW("session gap 10s max 1m", "group by u " TAIL), "PC4010 "},
        {WINDOW("session gap 10s max 1s", "group by k " TAIL), "PC4021 "},
        {WINDOW("session gap 10s", COUNTS "drop late emit on update every 1s"), "PC4008 "},
        {WINDOW("session gap 10s", COUNTS "lateness 1s drop late emit on close"), "PC4009 "},
        {WINDOW("session gap 10s", COUNTS "lateness 1s drop late emit on final"), ""},
        {WINDOW("session gap 10s", COUNTS "lateness 0s drop late emit on close"), ""},
        {WINDOW("tumbling 10s", COUNTS "lateness 1s drop late emit on close"), "PC5208 "},
        {WINDOW("tumbling 10s", "group by x " TAIL), "PC4017 "},
        {WINDOW("tumbling 10s", "group by t " TAIL), ""},
        {WINDOW("tumbling 10s", "group by k, k " TAIL), "PC2011 "},
        {WINDOW("tumbling 10s", "group by z " TAIL), "PC2006 "},
        {WINDOW("tumbling 10s", "aggregate count() as k drop late emit on close"), ""},
        {WINDOW("tumbling 10s", "group by k aggregate count() as k drop late emit on close"),
         "PC2011 "},
        {WINDOW("tumbling 10s", "aggregate count() as window_end drop late emit on close"),
         "PC2011 "},
        {WINDOW("tumbling 10s", "aggregate sum(i) as v drop late emit on close"), "W4001 "},
        {WINDOW("tumbling 10s", "aggregate sum(i) as v drop late emit on close rejects to bad"),
         ""},
        {WINDOW("tumbling 10s", "aggregate sum(i + 1) as v drop late emit on close"), "PC3101 "},
        {WINDOW("tumbling 10s", "aggregate sum(k) as v drop late emit on close"), "PC3005 "},
        {WINDOW("tumbling 10s", "aggregate count() drop late emit on close"), "PC2012 "},
        {WINDOW("tumbling 10s", "aggregate i as v drop late emit on close"), "PC3017 "},
        {WINDOW("tumbling 10s", "aggregate medain(i) as v drop late emit on close"), "PC3003 "},
        {WINDOW("tumbling 10s", "aggregate approx_quantile(i, 2) as v drop late emit on close"),
         "PC3006 "},
        {WINDOW("tumbling 10s", "aggregate count_distinct(x) as v drop late emit on close"),
         "PC3005 "},
        {SOURCE "stream a from s aggregate count() as c;" SUNK, "PC4001 "},
        {SOURCE "stream a from s group by k;" SUNK, "PC4022 "},
        {SOURCE "stream a from s dedup by k within 1h rejects to bad;" SUNK, ""},
        {SOURCE "stream a from s dedup by k within 1h;" SUNK, "PC2034 "},
        {SOURCE "stream a from s dedup by n within 1h rejects to bad;" SUNK, "PC4018 "},
        {SOURCE "stream a from s require n is not null else 'x' dedup by n within 1h rejects to "
                "bad;" SUNK,
         ""},
        {SOURCE "stream a from s dedup by x within 1h rejects to bad;" SUNK, "PC4017 "},
        {SOURCE "stream e from s dedup by k within 4s rejects to bad; stream a from e window "
                "tumbling 1s " TAIL ";" SUNK,
         "PC4014 "},
        {SOURCE "stream e from s dedup by k within 6s rejects to bad; stream f from e where i > 1;"
                "stream a from f window tumbling 1s " COUNTS
                "lateness 2s drop late emit on final;" SUNK,
         "PC4014 "},
        {SOURCE "stream e from s dedup by k within 7s rejects to bad; stream a from e window "
                "tumbling 1s " COUNTS "lateness 2s drop late emit on final;" SUNK,
         ""},
    };
    RULES(rules);
}

#define CORRECTED                                                                                  \
    EVENTS "stream c from s window tumbling 10s group by country aggregate count() as n lateness " \
           "1m drop late emit on close;\n"

static void test_corrections(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {CORRECTED "sink r from c to kafka topic 'x' key country exactly once;", ""},
        {CORRECTED "sink r from c to clickhouse table 'a.b' exactly once;", ""},
        {CORRECTED "sink r from c to iceberg table 'a.b' exactly once;", "PC5208 "},
        {CORRECTED "sink r from c to iceberg table 'a.b' append revisions exactly once;", ""},
        {CORRECTED "stream e from c where n > 1; sink r from e to kafka topic 'x' key country "
                   "exactly once;",
         "PC4015 "},
        {CORRECTED "stream e from c select window_start, country, revision, n; sink r from e to "
                   "kafka topic 'x' key country exactly once;",
         ""},
        {CORRECTED "stream e from c select window_start, country as land, revision, n; sink r "
                   "from e to kafka topic 'x' key land exactly once;",
         "PC4016 "},
        {CORRECTED "stream e from c select * except (revision); sink r from e to kafka topic 'x' "
                   "key country exactly once;",
         "PC4016 "},
        {CORRECTED "stream e from c select *, n + 1 as m; sink r from e to kafka topic 'x' key "
                   "country exactly once;",
         "PC3101 "},
        {CORRECTED "sink r from c to clickhouse table 'a.b' rollup 'a.c' by country aggregate "
                   "count() as n exactly once;",
         "PC5212 "},
        {EVENTS "sink r from s to stdout append revisions at least once;", "PC5209 "},
    };
    RULES(rules);
}

static void test_structure(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {SOURCE "sink r from s to stdout at least once;", ""},
        {"", "PC2001 "},
        {SOURCE "pipeline q; sink r from s to stdout at least once;", "PC2002 "},
        {SOURCE "stream s from s;" SUNK, "PC2003 PC2004 "},
        {SOURCE "stream a from z; stream c from z;" SUNK, "PC2004 "},
        {SOURCE "stream a from a;" SUNK, "PC2010 "},
        {SOURCE "stream a from c; stream c from e; stream e from a;" SUNK, "PC2010 "},
        {SOURCE "stream a from bad select reason rejects to bad;" SUNK, "PC2010 "},
        {SOURCE "stream a from s divert i > 1 to c; stream e from c, a divert i > 2 to c;"
                "sink r from e to stdout at least once;",
         "PC2010 "},
        {SOURCE "stream a from s, s;" SUNK, "PC2014 "},
        {SOURCE "stream a from s select k, *;" SUNK, "PC2011 "},
        {SOURCE "stream a from s select *, upper(k) as k;" SUNK, ""},
        {SOURCE "stream a from s select * except (z);" SUNK, "PC2006 "},
        {SOURCE
         "stream c from s select k, i; stream e from s select i, k; stream a from c, e;" SUNK,
         ""},
        {SOURCE "stream c from s select k, i; stream e from s select k, n as i; stream a from c, "
                "e;" SUNK,
         "PC2014 "},
        {SOURCE "stream a from s select k where i > 1;" SUNK, "PC2009 "},
        {SOURCE "stream a from s rejects to bad require i > 1 else 'x';" SUNK, ""},
        {SOURCE "stream a from s require i > 1 else '' rejects to bad;" SUNK, "PC2020 "},
        {SOURCE "stream a from s require i > 1 else 'no_value' rejects to bad;" SUNK, "PC2020 "},
        {SOURCE "stream a from s divert i > 1 to c;" SUNK, "PC2015 "},
        {SOURCE "stream a from s divert i > 1 to bad;" SUNK, "PC2016 "},
        {SOURCE "stream c from s divert i > 1 to e; stream a from c select k divert i > 2 to e;"
                "sink q from e to stdout at least once;" SUNK,
         "PC2009 "},
        {SOURCE "stream a from bad where reason = 'x' divert rule = 's' to c select reason; sink r "
                "from c to stdout at least once;" SUNK,
         "W2001 "},
        {SOURCE "stream c from e divert i > 1 to o; stream e from s select k, i divert i > 2 to f;"
                "sink q from c to stdout at least once; sink r from o to stdout at least once;"
                "sink t from f to stdout at least once;",
         "PC2009 "},
        {SOURCE "stream c from e divert i > 1 to o; stream e from g divert i > 2 to o;"
                "stream g from s select k, i; sink q from c to stdout at least once;"
                "sink r from o to stdout at least once;",
         ""},
        {SOURCE "stream c from e divert i > 1 to o; stream e from g select i; stream g from s "
                "divert i > 2 to o; sink q from c to stdout at least once;"
                "sink r from o to stdout at least once;",
         "PC2016 "},
        {SOURCE "stream a from bad require reason = 'x' else 'y' rejects to bad;" SUNK, "PC2010 "},
        {SOURCE "stream a from bad require reason = 'x' else 'y' rejects to worse;" SUNK
                "sink w from worse to stdout at least once;",
         "PC2017 "},
        {SOURCE "stream c from bad where reason = 'x'; stream a from c dedup by reason within 1h "
                "rejects to worse;" SUNK "sink w from worse to stdout at least once;",
         "PC2017 "},
        {SOURCE "slo nobody fresh within 1s for 99 percent of 1d;", "PC2004 "},
        {SOURCE "slo bad_rows fresh within 1ms for 99 percent of 1d;", "PC4020 "},
        {SOURCE "slo bad_rows fresh within 1s for 100 percent of 1d;", "PC2035 "},
        {SOURCE "stream a from s where x > 1;", "W2001 "},
    };
    RULES(rules);
}

static void test_sources_and_sinks(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {EVENTS "sink r from s to kafka topic 'x' exactly once;", ""},
        {EVENTS "sink r from s to kafka topic 'e' exactly once;", "PC5112 "},
        {EVENTS "sink r from s to kafka topic 'x' partitions 0 exactly once;", "PC5102 "},
        {EVENTS "sink r from s to kafka topic 'x' format csv exactly once;", "PC5205 "},
        {EVENTS "sink r from s to kafka topic 'x' key score exactly once;", "PC5114 "},
        {EVENTS
         "stream a from s dedup by id within 1h rejects to bad; sink r from a to kafka topic "
         "'x' exactly once;",
         "PC5204 "},
        {EVENTS
         "stream a from s dedup by id, user within 1h rejects to bad; sink r from a to kafka "
         "topic 'x' exactly once;",
         ""},
        {EVENTS "sink r from s to file 'x' format csv commit every 1s exactly once;", "PC5201 "},
        {EVENTS "sink r from s to file 'x' format parquet commit every 1s exactly once;", ""},
        {EVENTS "sink r from s to file 'x' exactly once;", "PC5205 "},
        {EVENTS "sink r from s to stdout exactly once;", "PC5203 "},
        {EVENTS "sink r from s to clickhouse table 'a.b' upsert by user version at exactly once;",
         ""},
        {EVENTS
         "sink r from s to clickhouse table 'a.b' upsert by user version score exactly once;",
         "PC5210 "},
        {EVENTS "sink r from s to clickhouse table 'a.b' upsert by user version amount exactly "
                "once;",
         "PC5210 "},
        {EVENTS "sink r from s to kafka topic 'x' upsert by user version at exactly once;",
         "PC5210 "},
        {EVENTS "sink r from s to kafka topic 'x' upsert by user delete when amount > 1 exactly "
                "once;",
         "PC3104 "},
        {EVENTS "sink r from s to iceberg table 'a.b' upsert by user exactly once;", "PC5201 "},
        {EVENTS "sink r from s to iceberg table 'a.b' partition by fortnight(at) exactly once;",
         "PC5214 "},
        {EVENTS "sink r from s to iceberg table 'a.b' partition by bucket(user) exactly once;",
         "PC5214 "},
        {EVENTS "sink r from s to clickhouse table 'a.b' rollup 'a.c' by user aggregate sum(score) "
                "as s exactly once; sink q from s to clickhouse table 'a.c' exactly once;",
         "PC5207 "},
        {"pipeline p; source s from file '-' format text rejects to bad; sink r from s to file 'x' "
         "format jsonl exactly once; sink q from bad to stdout at least once;",
         "PC5203 "},
        {"pipeline p; source s from file 'x' format jsonl rejects to bad; sink r from s to stdout "
         "at least once; sink q from bad to stdout at least once;",
         "PC5104 "},
        {"pipeline p; source s from kafka topic 'x' partitions 1 format bytes rejects to bad; sink "
         "r from s to stdout at least once; sink q from bad to stdout at least once;",
         ""},
        {"pipeline p; source s from kafka topic 'x' partitions 1 format bytes drop tombstones; "
         "sink r from s to stdout at least once;",
         ""},
        {"pipeline p; source s from kafka topic 'x' partitions 1 format bytes drop tombstones "
         "event time kafka_time; sink r from s to stdout at least once;",
         "PC5110 "},
        {"pipeline p; source s from kafka topic 'x' format bytes drop tombstones; sink r from s to "
         "stdout at least once;",
         "PC5102 "},
        {"pipeline p; source s from file 'x' format csv columns (a string, a int32) rejects to bad;"
         "sink r from s to stdout at least once; sink q from bad to stdout at least once;",
         "PC2011 "},
        {"pipeline p; source s from file 'x' format csv columns (a string) event time a rejects to "
         "bad; sink r from s to stdout at least once; sink q from bad to stdout at least once;",
         "PC5107 "},
    };
    RULES(rules);
}

static void test_traffic_and_tests(void **state)
{
    (void)state;
#define FILLED                                                                                     \
    "traffic z into s field id unique field user text 1..9 field kind pick 'a' field country "     \
    "pick 'DE' 2, 'FR' field score uniform 0.0..1.0 "
#define SUNK_EVENTS EVENTS "sink r from s to kafka topic 'x' exactly once;"
    static const struct rule rules[] = {
        {SUNK_EVENTS FILLED ";", ""},
        {SUNK_EVENTS "traffic z into bad field id unique;", "PC2026 "},
        {SUNK_EVENTS FILLED "field amount uniform 9..1;", "PC2031 "},
        {SUNK_EVENTS FILLED "field amount uniform 1.5..2;", "PC2029 "},
        {SUNK_EVENTS FILLED "field amount uniform 1..2 null 10 percent;", ""},
        {SUNK_EVENTS FILLED "field amount uniform 1..2 null 101 percent;", "PC2035 "},
        {SUNK_EVENTS FILLED "field amount uniform 1..2 per session;", "PC2031 "},
        {SUNK_EVENTS FILLED "field at uniform 1..2;", "PC2007 "},
        {SUNK_EVENTS FILLED "field id unique;", "PC2007 "},
        {SUNK_EVENTS FILLED "field z unique;", "PC2006 "},
        {SUNK_EVENTS FILLED "fault value country 5 1 percent;", "PC2029 "},
        {SUNK_EVENTS FILLED "fault late 1 percent by 1s..2s;", "W2005 "},
        {SUNK_EVENTS FILLED "fault late 1 percent by 10s..6s;", "PC2035 "},
        {SUNK_EVENTS FILLED "fault out of order 1 percent up to 6s;", "W2005 "},
        {SUNK_EVENTS FILLED "fault ahead 1 percent by 1m..1h;", "W2005 "},
        {SUNK_EVENTS
         "traffic z into s field id unique field user session field kind pick 'a' field "
         "country pick 'a' field score uniform 0..1;",
         "PC2031 "},
        {SUNK_EVENTS "traffic z into s steps kind 'a' to end 1 field id unique field user unique "
                     "field country pick 'a' field score uniform 0..1;",
         "PC2033 "},
        {SUNK_EVENTS "test 'x' given s at 1s (id: 'a', user: 'u', kind: 'k', country: 'c', score: "
                     "1) expect s (id: 'a', at: 1s);",
         ""},
        {SUNK_EVENTS "test 'x' given s at 1s (id: 'a', user: 'u', kind: 'k', country: 'c') expect "
                     "s nothing;",
         "PC2028 "},
        {SUNK_EVENTS "test 'x' given s at 1s partition 4 'raw' expect s nothing;", "PC2035 "},
        {SUNK_EVENTS
         "test 'x' given s at 1s 'raw' at 2s nothing expect bad (reason: 'undecodable', "
         "payload: 'cmF3');",
         ""},
        {SUNK_EVENTS "test 'x' given s at 1s 'raw' expect bad (payload: 'raw');", "PC2029 "},
        {SUNK_EVENTS "test 'x' given s at 1s 'raw' expect bad (reason: 'a') (rule: 'b');",
         "PC2027 "},
        {SUNK_EVENTS "test 'x' given t at 1s 'raw' expect bad nothing;", "PC2004 "},
    };
    RULES(rules);
}

#define WIDE                                                                                       \
    "pipeline p; contract wide from 'tests/golden/contracts/wide.avsc';\n"                         \
    "source s from kafka topic 'w' partitions 1 contract wide event time at rejects to bad;\n"     \
    "sink bad_rows from bad to stdout at least once; sink r from s to stdout at least once;\n"
#define EXPECT(value) WIDE "test 'x' given s at 0s nothing expect s (" value ");"
#define PLACED(value)                                                                              \
    ORDERS "sink r from s to stdout at least once;"                                                \
           "test 'x' given s at 0s nothing expect s (" value ");"

static void test_constants(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {EXPECT("flag: true, small: -5, big: 64KiB, ratio: 1, weight: -0.5"), ""},
        {EXPECT("flag: 1"), "PC2029 "},
        {EXPECT("small: 2147483648"), "PC2029 "},
        {EXPECT("small: 1.5"), "PC2029 "},
        {EXPECT("small: 4GiB"), "PC2029 "},
        {EXPECT("big: 9223372036854775808"), "PC2029 "},
        {EXPECT("price: 12.50, text: 'a', day: '2026-01-31', maybe: null"), ""},
        {EXPECT("price: '-12.50', day: 20000"), ""},
        {EXPECT("price: '12.505'"), "PC2029 "},
        {EXPECT("price: '1.2.3'"), "PC2029 "},
        {EXPECT("price: 12345678901"), "PC2029 "},
        {EXPECT("day: '2026-02-30'"), "PC2029 "},
        {EXPECT("text: null"), "PC2029 "},
        {EXPECT("text: 5"), "PC2029 "},
        {EXPECT("at: 5s, uid: '00000000-0000-0000-0000-00000000000A'"), ""},
        {EXPECT("at: '2026-01-31T10:00:00.000001Z'"), ""},
        {EXPECT("at: '2026-01-31 at ten'"), "PC2029 "},
        {EXPECT("uid: '00000000-0000-0000-0000-00000000000'"), "PC2029 "},
        {EXPECT("uid: '00000000-0000-0000-0000+00000000000A'"), "PC2029 "},
        {EXPECT("size: 'M', raw: 'AAE=', digest: 'AAAAAAAAAAAAAAAAAAAAAA=='"), ""},
        {EXPECT("size: 'XL'"), "PC2029 "},
        {EXPECT("raw: 'AAE'"), "PC2029 "},
        {EXPECT("raw: 'A*E='"), "PC2029 "},
        {EXPECT("digest: 'AAE='"), "PC2029 "},
        {EXPECT("labels: ['a', 'b'], data: '{}'"), ""},
        {EXPECT("labels: ['a', 5]"), "PC2029 "},
        {EXPECT("labels: 'a'"), "PC2029 "},
        {EXPECT("text: 'a', text: 'b'"), "PC2011 "},
        {PLACED("tags: (a: 'x'), address: (city: 'Kiel'), items: [(sku: 'a', qty: 1, price: 2)]"),
         ""},
        {PLACED("tags: (a: 1)"), "PC2029 "},
        {PLACED("tags: ['a']"), "PC2029 "},
        {PLACED("address: (zip: '24103')"), "PC2028 "},
        {PLACED("address: (city: 'Kiel', land: 'SH')"), "PC2006 "},
        {PLACED("address: (city: 'Kiel', city: 'Ulm')"), "PC2011 "},
        {PLACED("address: null, status: 'PAID'"), ""},
        {PLACED("address: 'Kiel'"), "PC2029 "},
    };
    RULES(rules);
}

static void test_literal_casts(void **state)
{
    (void)state;
    static const struct rule rules[] = {
        {SELECT("cast('true' as bool) and cast('false' as bool)"), ""},
        {SELECT("cast('yes' as bool)"), "PC3010 "},
        {SELECT("cast('+12.50' as decimal(4,2))"), ""},
        {SELECT("cast('12.505' as decimal(4,2))"), "PC3010 "},
        {SELECT("cast('12.5' as int32)"), "PC3010 "},
        {SELECT("cast('3000000000' as int32)"), "PC3010 "},
        {SELECT("cast(-12.5 as string) || cast(0.05 as string) || cast(7 as string)"), ""},
        {SELECT("cast(1.5 as int64)"), "PC3101 "},
        {SELECT("cast(1.55 as decimal(3,1))"), "PC3101 "},
        {SELECT("cast(1.5 as float32) + cast(1.5 as float64)"), "PC3101 "},
        {SELECT("cast(0 as timestamp_ms) < at"), ""},
        {SELECT("cast(0 as timestamp_us) < at"), ""},
        {SELECT("cast(999999999999999999 as timestamp_ms)"), "PC3010 "},
        {SELECT("cast(20000 as date) = day"), ""},
        {SELECT("cast(9999999 as date)"), "PC3010 "},
        {SELECT("cast('2026-01-31' as date) = day"), ""},
        {SELECT("cast('00000000-0000-0000-0000-000000000000' as uuid) = u"), ""},
        {SELECT("cast('abc' as bytes)"), ""},
        {SELECT("cast(x as decimal(10,2))"), "PC3101 "},
        {SELECT("cast(x as bool)"), "PC3009 "},
        {SELECT("cast(d as int32)"), "PC3101 "},
        {SELECT("cast(d as date)"), "PC3009 "},
        {SELECT("cast(i as timestamp_ms)"), ""},
        {SELECT("cast(i as date)"), "PC3101 "},
        {SELECT("cast(w as int64)"), ""},
        {SELECT("cast(w as string)"), "PC3009 "},
        {SELECT("cast(at as date) = day and cast(day as timestamp_us) < us"), ""},
        {SELECT("cast(u as string) || cast(b as string)"), ""},
        {SELECT("cast(u as bytes)"), "PC3009 "},
        {SELECT("cast(k as duration)"), "PC3009 "},
    };
    RULES(rules);
}

/* As many streams behind a source as the limit says, and one more. */
static void test_depth(void **state)
{
    (void)state;
    for (int count = 1000; count <= 1001; count++) {
        char *text = NULL, codes[256];
        size_t size = 0;
        FILE *stream = open_memstream(&text, &size);
        assert_non_null(stream);
        fputs("pipeline p;\nsource t0 from file 'x' format csv columns (a int64) rejects to bad;\n",
              stream);
        for (int i = 1; i <= count; i++)
            fprintf(stream, "stream t%d from t%d where a > %d;\n", i, i - 1, i);
        fprintf(stream, "sink k from t%d to file 'k' format jsonl exactly once;\n", count);
        fputs("sink l from bad to file 'l' format jsonl exactly once;\n", stream);
        assert_int_equal(fclose(stream), 0);
        struct program *program = checked(text, NULL);
        codes_of(program, codes, sizeof codes);
        assert_string_equal(codes, count == 1000 ? "" : "PC2035 ");
        program_free(program);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nulls),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_fallible),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_corrections),
        cmocka_unit_test(test_structure),
        cmocka_unit_test(test_sources_and_sinks),
        cmocka_unit_test(test_traffic_and_tests),
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_literal_casts),
        cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
