/*
 * syntax_slips.c: what is written out of habit from other languages, and the text that stands for
 * it here, by where it was found: the same word can mean two things.
 */
#include <string.h>
#include <strings.h>
#include "syntax.h"

/* NULL: any. `#` in a help stands for what was found, as written. Of `expected` all joined by `&`
 * must be able to stand there, but for one behind `!`, which must not. */
struct slip {
    const char *before;   /* the token in front of it, as written */
    const char *found;    /* as written, or its name in parser.y */
    const char *expected; /* could stand there: says which clause or statement this is */
    const char *help;
};

static const char NOT_NULL[] = "a column is not null unless `null` stands behind its type";
static const char NO_DEFAULT[] = "columns have no default: let a `select` make one, "
                                 "`coalesce(x, 0) as x`; fields of a contract can have one";
static const char SEPARATOR[] =
    "csv is separated by commas; of other files take each line apart: `format text`, and "
    "`split_part(line, ';', 1) as x` in a `select`";
static const char PACKED[] = "files are read as they are: unpack them first, or have a pipe do it, "
                             "with `from file '-'`";
static const char WINDOWS[] =
    "write `window tumbling 1h`, `window hopping 1h every 5m` or `window session gap 30m`";
static const char WATERMARK[] =
    "write `watermark 1m`: how far behind the greatest event time records may come";
static const char EMIT[] = "write `emit on close`, `emit on final` or `emit on update every 1m`";
static const char HOP[] = "write `hopping 1h every 5m`: first the size, then the distance";
static const char FROM[] = "behind the name stands `from …`, and clauses follow it";
static const char STREAM[] = "rows made of others are a stream: `stream NAME from INPUT …;`";
static const char MATCHES[] = "write `x matches 'regex'`";
static const char NO_POWER[] = "there is no power: write the product, `x * x`";
static const char NULL_BEHIND[] = "write `null` behind the type";
static const char NO_SUBQUERY[] =
    "there are no subqueries: what another stream knows must be in the row";
static const char NAMELESS[] = "a statement has a name, in front of `from`";

static const struct slip slips[] = {
    /* columns of a source */
    {NULL, "not", "null", NOT_NULL},
    {NULL, "required", "null", NOT_NULL},
    {NULL, "nullable", "null", NULL_BEHIND},
    {NULL, "optional", "null", NULL_BEHIND},
    {NULL, "?", "null", NULL_BEHIND},
    {NULL, "default", "null", NO_DEFAULT},

    /* sources */
    {NULL, "delimiter", "watermark", SEPARATOR},
    {NULL, "delimited", "watermark", SEPARATOR},
    {NULL, "separator", "watermark", SEPARATOR},
    {NULL, "sep", "watermark", SEPARATOR},
    {"format", "tsv", NULL, SEPARATOR},
    {NULL, "gzip", "watermark", PACKED},
    {NULL, "zstd", "watermark", PACKED},
    {NULL, "compressed", "watermark", PACKED},
    {NULL, "compression", "watermark", PACKED},
    {NULL, "with", "watermark", "clauses stand one behind the other, without `with`"},
    {NULL, "event_time", "watermark", "write `event time COLUMN`"},
    {NULL, "timestamp", "watermark", "write `event time COLUMN`"},
    {NULL, "lateness", "watermark", WATERMARK},
    {"watermark", "a name", "a duration", WATERMARK},
    {"watermark", "at", "a duration", WATERMARK},
    {"watermark", "for", "a duration", WATERMARK},
    {"watermark", "of", "a duration", WATERMARK},
    {"from", "stdin", "file", "standard input is `from file '-'`"},
    {"from", "text in quotes", "file", "write `from file #`, or `from kafka topic #`"},
    {"from", "a name", "file", "write `from file 'path'`, or `from kafka topic 'name'`"},
    {"format", "text in quotes", NULL, "a format stands without quotes: `format csv`"},

    /* sinks */
    {"to", "text in quotes", "stdout", "write `to file # format jsonl`, or `to kafka topic #`"},
    {"to", "console", "stdout", "write `to stdout`"},
    {"to", "print", "stdout", "write `to stdout`"},
    {"to", "csv", "stdout", "write `to file 'path' format #`"},
    {"to", "json", "stdout", "write `to file 'path' format jsonl`"},
    {"to", "jsonl", "stdout", "write `to file 'path' format #`"},
    {"to", "avro", "stdout", "write `to file 'path' format #`"},
    {"to", "parquet", "stdout", "write `to file 'path' format #`"},
    {NULL, "header", "exactly", "remove it: written csv has a header"},
    {NULL, "to", "from", "a sink names its stream first: `sink NAME from STREAM to …`"},
    {NULL, "exactly_once", "exactly", "write `exactly once`"},
    {NULL, "at_least_once", "exactly", "write `at least once`"},
    {"exactly", "-", "once", "write `exactly once`"},
    {"at", "-", "least", "write `at least once`"},

    /* statements */
    {"sink", "from", "a name", NAMELESS},
    {"source", "from", "a name", NAMELESS},
    {"stream", "from", "a name", NAMELESS},
    {"contract", "from", "a name", NAMELESS},
    {NULL, "as", "from", FROM},
    {NULL, "=", "from", FROM},
    {NULL, "table", "pipeline", STREAM},
    {NULL, "view", "pipeline", STREAM},
    {NULL, "{", NULL, "there are no braces: a statement ends with `;`"},

    /* windows */
    {"window", "a duration", "tumbling", WINDOWS},
    {"window", "a name", "tumbling", WINDOWS},
    {NULL, "tumbling", "window", WINDOWS},
    {NULL, "hopping", "window", WINDOWS},
    {"tumbling", "a name", "a duration", "write `tumbling 1h`"},
    {"tumbling", "at", "a duration", "write `tumbling 1h`"},
    {"tumbling", "(", NULL, "write `tumbling 1h`, without parentheses"},
    {"hopping", "(", NULL, HOP},
    {"hopping", "every", NULL, HOP},
    {"session", "a duration", "gap", "write `session gap #`"},
    {"update", NULL, "every", "write `update every 1m`: how often, in event time"},
    {"commit", NULL, "every", "write `commit every 1s`"},
    {NULL, "by", "every", HOP},
    {NULL, "advance", "every", HOP},
    {NULL, "group", "every", HOP},
    {NULL, "partition", "group", "write `group by COLUMN`"},
    {"emit", NULL, "on", EMIT},
    {"on", "a name", "close", EMIT},
    {"on", "window", "close", EMIT},
    {"late", "drop", "to", "write `drop late`"},
    {NULL, "ignore", "late", "write `drop late`"},
    {NULL, "allow", "late", "write `lateness 5m`"},
    {NULL, "allowed", "late", "write `lateness 5m`"},

    /* other clauses */
    {NULL, NULL, "within&','", "write `within 1h`: how long a key is remembered"},
    {"except", "a name", "'('", "write `* except (#)`"},
    {NULL, "exclude", "except", "write `* except (COLUMN)`"},
    {"by", "(", "a name", "names stand there without parentheses"},
    {NULL, NULL, "else&!when&!end", "write `else 'reason'` behind the condition"},
    {"else", "a name", "text in quotes", "a reason is text: '#'"},

    /* expressions */
    {"(", "select", NULL, NO_SUBQUERY},
    {"in", "[", "'('", "write `in ('a', 'b')`"},
    {"not", "null", "in", "write `is not null`"},
    {NULL, "isnull", "is", "write `is null`"},
    {NULL, "notnull", "is", "write `is not null`"},
    {"is", NULL, "null", "`is` goes with `null` only: write `=`"},
    {"*", "*", NULL, NO_POWER},
    {NULL, "^", "'*'", NO_POWER},
    {NULL, ".", "an expression", "write the zero: `0.5`"},
    {NULL, "+", "an expression", "a number has no `+`"},
    {NULL, "~", "matches", MATCHES},
    {NULL, "regexp", "matches", MATCHES},
    {NULL, "rlike", "matches", MATCHES},
    {NULL, "similar", "matches", MATCHES},
    {NULL, "from", "')'", "arguments are separated by commas"},
    {NULL, ",", "as&!';'", "write `cast(value as type)`"},
    {"timestamp", "text in quotes", "'='", "text becomes what it meets: write # alone"},
    {"date", "text in quotes", "'='", "text becomes what it meets: write # alone"},
};

static bool is_written(struct span at, const char *text)
{
    size_t size = at.end - at.begin;
    return at.source != NULL && strlen(text) == size &&
           strncasecmp(at.source->text + at.begin, text, size) == 0;
}

static bool has_name(const char *name, size_t size, const char *const *expected, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(expected[i], name, size) == 0 && expected[i][size] == '\0')
            return true;
    return false;
}

/* Where a name can stand, so can every free keyword, as a name: that says nothing. */
static bool is_expected(const char *name, size_t size, const char *const *expected, size_t count)
{
    static const char any_name[] = "a name";
    const struct keyword *keyword = keyword_find(name, size);
    if (keyword && keyword->status == FREE && has_name(any_name, strlen(any_name), expected, count))
        return false;
    bool is_expression = size == strlen("an expression") && memcmp(name, "an expr", 7) == 0;
    return is_expression ? has_name("cast", 4, expected, count)
                         : has_name(name, size, expected, count);
}

static bool can_stand(const char *names, const char *const *expected, size_t count)
{
    for (;;) {
        bool must_not = *names == '!';
        names += must_not;
        size_t size = strcspn(names, "&");
        if (is_expected(names, size, expected, count) == must_not)
            return false;
        if (names[size] == '\0')
            return true;
        names += size + 1;
    }
}

/* The help with `#` replaced by what was found. */
static const char *filled(struct program *program, const char *help, struct span at)
{
    const char *gap = strchr(help, '#');
    if (gap == NULL)
        return help;
    return arena_printf(program->arena, "%.*s%.*s%s", (int)(gap - help), help,
                        (int)(at.end - at.begin), at.source->text + at.begin,
                        filled(program, gap + 1, at));
}

const char *slip_help(const struct syntax *s, const char *found, struct span at,
                      const char *const *expected, size_t expected_count)
{
    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++) {
        const struct slip *slip = &slips[i];
        if ((slip->before == NULL || is_written(s->before_last, slip->before)) &&
            (slip->found == NULL || strcmp(slip->found, found) == 0 ||
             is_written(at, slip->found)) &&
            (slip->expected == NULL || can_stand(slip->expected, expected, expected_count)))
            return filled(s->program, slip->help, at);
    }
    return NULL;
}
