/* foreign_words.c: words of SQL that the language does not have, and what stands for them here. */
#include <string.h>
#include <strings.h>
#include "pipec.h"

static const struct {
    const char *word, *help;
    bool is_function;
} words[] = {
    {"asc", "a stream has no order: rows come as they arrive", false},
    {"cross", "there is no join: `unnest ARRAY as x` makes a row an element", false},
    {"delete", "a stream only grows: `where` drops rows", false},
    {"desc", "a stream has no order: rows come as they arrive", false},
    {"distinct",
     "`count_distinct(x)` counts values; `dedup by KEY within 1h` keeps one row a key", false},
    {"fetch", "a stream has no end, so no first rows; a window's best is `max_by(value, by)`", false},
    {"filter", "write `count_if(CONDITION)`, or `sum(case when CONDITION then x else 0 end)`",
     false},
    {"full", "there is no join: send both kinds of rows through one stream and aggregate", false},
    {"having", "filter the results in a next stream: `stream NAME from THIS where …`", false},
    {"ilike", "write `lower(x) like 'pattern'`", false},
    {"inner", "there is no join: send both kinds of rows through one stream and aggregate", false},
    {"insert", "`sink NAME from STREAM to …` writes rows", false},
    {"interval", "a duration is a number with its unit: 30s, 5m, 1h, 1d", false},
    {"join", "there is no join: send both kinds of rows through one stream and aggregate", false},
    {"limit", "a stream has no end, so no first rows; a window's best is `max_by(value, by)`",
     false},
    {"order", "a stream has no order; `order by` is a clause of a ClickHouse sink", false},
    {"outer", "there is no join: send both kinds of rows through one stream and aggregate", false},
    {"over", "write a stream with `window …`, `group by` and `aggregate`", false},
    {"qualify", "filter the results in a next stream: `stream NAME from THIS where …`", false},
    {"returning", "`select` names the columns of a stream", false},
    {"union", "write `stream NAME from a, b`: several inputs are united", false},
    {"using", "there is no join: send both kinds of rows through one stream and aggregate", false},
    {"with", "name each step: `stream NAME from OTHER …`", false},

    {"array_agg", "a row of a window has single values: `first`, `last`, `count_distinct`", true},
    {"ceiling", "write `ceil(x)`", true},
    {"char_length", "write `length(x)`", true},
    {"collect_list", "a row of a window has single values: `first`, `last`, `count_distinct`", true},
    {"convert", "write `cast(value as type)`", true},
    {"countif", "write `count_if(CONDITION)`", true},
    {"date", "write `cast(x as date)`", true},
    {"date_add", "write `time + 1h`", true},
    {"date_diff", "write `a - b`: a duration", true},
    {"datediff", "write `a - b`: a duration", true},
    {"day", "write `date_part('day', x)`", true},
    {"dense_rank", "a window's best is `max_by(value, by)`; rows have no rank", true},
    {"exists", "there are no subqueries: what another stream knows must be in the row", true},
    {"extract", "write `date_part('hour', x)`", true},
    {"first_value", "write `first(x)` in a window", true},
    {"format", "write `a || b`, or `format_timestamp(time, format)`", true},
    {"from_unixtime", "write `cast(x * 1000 as timestamp_ms)`", true},
    {"hour", "write `date_part('hour', x)`", true},
    {"if", "write `case when CONDITION then a else b end`", true},
    {"ifnull", "write `coalesce(x, y)`", true},
    {"iif", "write `case when CONDITION then a else b end`", true},
    {"instr", "write `contains(text, part)`", true},
    {"isnull", "write `x is null`, or `coalesce(x, y)`", true},
    {"json_extract", "write `json_value(text, 'path')`", true},
    {"lag", "rows do not see each other; a window has `first` and `last`", true},
    {"last_value", "write `last(x)` in a window", true},
    {"lcase", "write `lower(x)`", true},
    {"lead", "rows do not see each other; a window has `first` and `last`", true},
    {"len", "write `length(x)`", true},
    {"md5", "write `sha256(x)` or `hash64(x)`", true},
    {"median", "write `approx_quantile(x, 0.5)` in a window", true},
    {"minute", "write `date_part('minute', x)`", true},
    {"mod", "write `a % b`", true},
    {"month", "write `date_part('month', x)`", true},
    {"nvl", "write `coalesce(x, y)`", true},
    {"percentile", "write `approx_quantile(x, 0.9)` in a window", true},
    {"position", "write `contains(text, part)`", true},
    {"power", "write the product: `x * x`", true},
    {"quantile", "write `approx_quantile(x, 0.9)` in a window", true},
    {"rank", "a window's best is `max_by(value, by)`; rows have no rank", true},
    {"regexp_like", "write `x matches 'pattern'`", true},
    {"row_number", "`dedup by KEY within 1h` keeps one row a key; rows have no number", true},
    {"safe_cast", "write `try(cast(value as type), null)`", true},
    {"sqrt", "there is no square root", true},
    {"str_to_date", "write `cast(parse_timestamp(x, '%Y-%m-%d') as date)`", true},
    {"string_agg", "a row of a window has single values: `first`, `last`, `count_distinct`", true},
    {"strpos", "write `contains(text, part)`", true},
    {"substr", "write `substring(text, from, count)`", true},
    {"sumif", "write `sum(case when CONDITION then x else 0 end)`", true},
    {"timestampdiff", "write `a - b`: a duration", true},
    {"to_char", "write `format_timestamp(time, format)`, or `cast(x as string)`", true},
    {"to_date", "write `cast(parse_timestamp(x, '%Y-%m-%d') as date)`", true},
    {"to_timestamp", "write `parse_timestamp(x, '%Y-%m-%d %H:%M:%S')`", true},
    {"trunc", "write `cast(x as int64)`, which rounds, or `floor(x)`", true},
    {"try_cast", "write `try(cast(value as type), null)`", true},
    {"ucase", "write `upper(x)`", true},
    {"unix_timestamp", "write `cast(x as int64)`: the milliseconds of a time", true},
    {"year", "write `date_part('year', x)`", true},
};

const char *foreign_word_help(const char *text, size_t size, bool functions)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].is_function == functions && strlen(words[i].word) == size &&
            strncasecmp(words[i].word, text, size) == 0)
            return words[i].help;
    return NULL;
}
