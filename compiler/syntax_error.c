/*
 * syntax_error.c: what a syntax error says: what was found as written, what could stand there, and
 * a help for the common slips. Tokens are known here by their names in parser.y ("select", "';'",
 * "a name").
 */
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include "syntax.h"
#include "parser.h"

#define MOST_EXPECTED 512
#define MOST_WORDS 5 /* of clauses or statements; more become a group */

struct expected {
    const char *names[MOST_EXPECTED];
    size_t count;
};

static bool is_any(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

static bool expects(const struct expected *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->names[i], name) == 0)
            return true;
    return false;
}

static size_t count_any(const struct expected *set, const char *const *names)
{
    size_t count = 0;
    for (size_t i = 0; i < set->count; i++)
        count += is_any(set->names[i], names);
    return count;
}

static void remove_any(struct expected *set, const char *const *names)
{
    size_t kept = 0;
    for (size_t i = 0; i < set->count; i++)
        if (!is_any(set->names[i], names))
            set->names[kept++] = set->names[i];
    set->count = kept;
}

static const struct keyword *keyword_named(const char *name)
{
    return keyword_find(name, strlen(name));
}

/* Removes the free keywords where a name can stand: they stand there as names. */
static void remove_free_words(struct expected *set)
{
    size_t kept = 0;
    for (size_t i = 0; i < set->count; i++) {
        const struct keyword *keyword = keyword_named(set->names[i]);
        if (!keyword || keyword->status == RESERVED)
            set->names[kept++] = set->names[i];
    }
    set->count = kept;
}

/* Removes the words of `role` if there are more than MOST_WORDS of them; whether it did. */
static bool remove_role(struct expected *set, enum keyword_role role)
{
    struct expected rest = {.count = 0};
    for (size_t i = 0; i < set->count; i++) {
        const struct keyword *keyword = keyword_named(set->names[i]);
        if (!keyword || !(keyword->role & role))
            rest.names[rest.count++] = set->names[i];
    }
    if (set->count - rest.count <= MOST_WORDS)
        return false;
    *set = rest;
    return true;
}

static const char *const EXPRESSION_STARTS[] = {
    "an integer", "a decimal", "text in quotes", "a duration", "a size", "true", "false",  "null",
    "cast",       "try",       "case",           "not",        "'-'",    "'('",  "a name", NULL};
static const char *const CONSTANT_STARTS[] = {"an integer", "a decimal", "text in quotes",
                                              "a duration", "a size",    "true",
                                              "false",      "null",      "'-'",
                                              "'('",        "'['",       NULL};
static const char *const LISTED_CONSTANTS[] = {
    "an integer", "a decimal", "text in quotes", "a duration", "a size", "'-'", NULL};
static const char *const NUMBERS[] = {"an integer", "a decimal", NULL};
static const char *const OPERATORS[] = {
    "'='", "'<>'", "'<'", "'>'", "'<='",    "'>='", "'+'",  "'-'",     "'*'", "'/'", "'%'", "'||'",
    "and", "or",   "is",  "not", "between", "in",   "like", "matches", "'.'", "'('", NULL};
static const char *const COMPARISONS[] = {"'='", "'<>'",    "'<'", "'>'",  "'<='",    "'>='", "is",
                                          "not", "between", "in",  "like", "matches", NULL};

static void add_phrase(struct text *list, const char *phrase)
{
    if (list->size)
        text_puts(list, ", ");
    text_puts(list, phrase);
}

/* Puts the group of values that is expected in front, if there is one, and takes its members out.
 */
static void add_value_group(struct expected *set, struct text *list)
{
    if (expects(set, "cast")) {
        remove_free_words(set);
        remove_any(set, EXPRESSION_STARTS);
        add_phrase(list, "an expression");
    } else if (expects(set, "'['") && expects(set, "text in quotes")) {
        remove_any(set, CONSTANT_STARTS);
        add_phrase(list, "a constant");
    } else if (count_any(set, LISTED_CONSTANTS) == 6) {
        remove_any(set, LISTED_CONSTANTS);
        add_phrase(list, "a number, text in quotes, a duration, a size");
    } else if (count_any(set, NUMBERS) == 2) {
        remove_any(set, NUMBERS);
        add_phrase(list, "a number");
    }
}

static void add_operator_group(struct expected *set, struct text *list)
{
    size_t count = count_any(set, OPERATORS);
    if (count < 3 && !(expects(set, "and") && expects(set, "or")))
        return;
    /* Behind `between a`, the `and` of the between must come: it is more than just an operator. */
    bool and_is_due = expects(set, "and") && !expects(set, "or");
    remove_any(set, OPERATORS);
    add_phrase(list, "an operator");
    if (and_is_due)
        add_phrase(list, "and");
}

static char *describe(struct program *program, const struct expected *all)
{
    struct expected set = *all;
    struct text list = {0};
    bool symbols_follow = false;
    if (expects(&set, "a name"))
        remove_free_words(&set);
    add_value_group(&set, &list);
    add_operator_group(&set, &list);
    if (expects(&set, "pipeline") && remove_role(&set, STATEMENT)) {
        add_phrase(&list, "a statement");
        set.count = 0;
    }
    bool clauses = remove_role(&set, CLAUSE);
    for (size_t i = 0; i < set.count; i++) {
        if (set.names[i][0] == '\'')
            symbols_follow = true;
        else
            add_phrase(&list, set.names[i]);
    }
    if (clauses)
        add_phrase(&list, "another clause");
    bool ends = expects(&set, "';'");
    for (size_t i = 0; symbols_follow && i < set.count; i++)
        if (set.names[i][0] == '\'' && strcmp(set.names[i], "';'") != 0)
            add_phrase(&list, set.names[i]);
    if (ends)
        add_phrase(&list, "';'");
    char *description = arena_printf(program->arena, "%s", list.data ? list.data : "nothing");
    text_free(&list);
    return description;
}

/* ---- Helps ---- */

static const struct {
    const char *written, *help;
} FOREIGN[] = {
    {"==", "equality is one `=`"},
    {"!=", "inequality is `<>`"},
    {"&&", "write `and`"},
    {"!", "write `not`"},
    {"//", "a comment starts with `--`"},
    {"/*", "a comment starts with `--` and ends with the line: write `--` in front of each"},
    {"::", "a conversion is `cast(value as type)`"},
    {"->", "a field of a record is `record.field`; of JSON text, `json_value(text, 'path')`"},
    {"=>", "in a row, `:` stands between column and value; `>=` is greater or equal"},
};

static const char SHORTEST[] = "the shortest unit of a duration is ms";
static const char LONGEST[] = "months and years have no fixed length: write days, like `30d`";
#define WEEK_MS (7 * INT64_C(86400000))

static const struct {
    const char *written, *unit;
    int64_t ms;
} UNITS[] = {
    {"ms", "ms", 1},         {"msec", "ms", 1},       {"millis", "ms", 1},
    {"s", "s", 1000},        {"sec", "s", 1000},      {"secs", "s", 1000},
    {"second", "s", 1000},   {"seconds", "s", 1000},  {"m", "m", 60000},
    {"min", "m", 60000},     {"mins", "m", 60000},    {"minute", "m", 60000},
    {"minutes", "m", 60000}, {"h", "h", 3600000},     {"hr", "h", 3600000},
    {"hour", "h", 3600000},  {"hours", "h", 3600000}, {"d", "d", 86400000},
    {"day", "d", 86400000},  {"days", "d", 86400000}, {"w", "d", WEEK_MS},
    {"week", "d", WEEK_MS},  {"weeks", "d", WEEK_MS}, {"b", "B", 0},
    {"kb", "KiB", 0},        {"k", "KiB", 0},         {"kib", "KiB", 0},
    {"mb", "MiB", 0},        {"mib", "MiB", 0},       {"gb", "GiB", 0},
    {"g", "GiB", 0},         {"gib", "GiB", 0},
};

/* The place of a unit in UNITS, upper case as lower case; -1: none. */
static int find_unit(const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof UNITS / sizeof UNITS[0]; i++)
        if (strlen(UNITS[i].written) == size && strncasecmp(UNITS[i].written, text, size) == 0)
            return (int)i;
    return -1;
}

/* Why a unit that other languages have can't be written; NULL: it is not known. */
static const char *unit_without_duration(const char *text, size_t size)
{
    static const struct {
        const char *written, *help;
    } units[] = {
        {"us", SHORTEST},    {"usec", SHORTEST}, {"micros", SHORTEST}, {"ns", SHORTEST},
        {"nanos", SHORTEST}, {"mo", LONGEST},    {"mon", LONGEST},     {"month", LONGEST},
        {"months", LONGEST}, {"q", LONGEST},     {"quarter", LONGEST}, {"y", LONGEST},
        {"yr", LONGEST},     {"year", LONGEST},  {"years", LONGEST},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].written) == size && strncasecmp(units[i].written, text, size) == 0)
            return units[i].help;
    return NULL;
}

/* The same as "1h30m" or "1.5s" with one unit; NULL if that can't be said. */
static const char *one_duration(struct program *program, const char *text, size_t size)
{
    double total_ms = 0;
    for (size_t i = 0; i < size;) {
        double amount = 0, place = 1;
        for (; i < size && strchr("0123456789_.", text[i]); i++) {
            if (text[i] == '.')
                place = 0.1;
            else if (text[i] != '_' && place == 1)
                amount = amount * 10 + (text[i] - '0');
            else if (text[i] != '_') {
                amount += place * (text[i] - '0');
                place /= 10;
            }
        }
        size_t from = i;
        while (i < size && !strchr("0123456789_.", text[i]))
            i++;
        int unit = find_unit(text + from, i - from);
        if (unit < 0 || UNITS[unit].ms == 0)
            return NULL;
        total_ms += amount * (double)UNITS[unit].ms;
        if (total_ms > (double)SYNTAX_MAX_DURATION_MS)
            return NULL;
    }
    int64_t ms = (int64_t)(total_ms + 0.5);
    static const struct {
        int64_t ms;
        const char *unit;
    } steps[] = {{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}};
    for (size_t i = 0; ms > 0 && i < sizeof steps / sizeof steps[0]; i++)
        if (ms % steps[i].ms == 0)
            return arena_printf(program->arena, "%lld%s", (long long)(ms / steps[i].ms),
                                steps[i].unit);
    return NULL;
}

static void help_unit(struct program *program, struct diag *diag, struct span at)
{
    const char *text = at.source->text + at.begin;
    size_t size = at.end - at.begin, digits = strspn(text, "0123456789_");
    if (digits > size)
        digits = size;
    int unit = find_unit(text + digits, size - digits);
    const char *duration = one_duration(program, text, size);
    const char *other = unit_without_duration(text + digits, size - digits);
    if (other)
        diag_help(diag, "%s", other);
    else if (unit >= 0 && UNITS[unit].ms == 0)
        diag_help(diag, "write `%.*s%s`; the units of sizes are B, KiB, MiB, GiB", (int)digits,
                  text, UNITS[unit].unit);
    else if (duration)
        diag_help(diag, "write `%s`; a duration is an integer and one of ms, s, m, h, d", duration);
    else if (digits < size && (text[digits] == 'e' || text[digits] == 'E'))
        diag_help(diag, "numbers have no exponent: write all digits, `_` may group them");
    else if (size > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        diag_help(diag, "numbers are decimal: there is no hexadecimal");
    else
        diag_help(diag,
                  "units are ms, s, m, h, d and B, KiB, MiB, GiB; a name that starts with a digit "
                  "is written in double quotes");
}

static void help_foreign(struct diag *diag, const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof FOREIGN / sizeof FOREIGN[0]; i++)
        if (strlen(FOREIGN[i].written) == size && memcmp(FOREIGN[i].written, text, size) == 0)
            diag_help(diag, "%s", FOREIGN[i].help);
}

/* The keyword nearest to a name that was found, of those expected. */
static const char *nearest_word(struct program *program, const struct expected *set,
                                const char *text, size_t size)
{
    const char *candidates[MOST_EXPECTED];
    size_t count = 0;
    bool name_is_expected = expects(set, "a name");
    for (size_t i = 0; i < set->count; i++) {
        const struct keyword *keyword = keyword_named(set->names[i]);
        if (keyword && !(name_is_expected && keyword->status == FREE))
            candidates[count++] = keyword->word;
    }
    return nearest_name(arena_strndup(program->arena, text, size), candidates, count);
}

/* A number where a duration is expected: with the unit behind a space, if there is one. */
static void help_duration(struct program *program, struct diag *diag, struct span at)
{
    const char *text = at.source->text + at.begin, *behind = at.source->text + at.end;
    size_t size = at.end - at.begin, word = 0;
    behind += strspn(behind, " \t");
    while ((behind[word] | 32) >= 'a' && (behind[word] | 32) <= 'z')
        word++;
    const char *other = unit_without_duration(behind, word);
    const char *joined =
        arena_printf(program->arena, "%.*s%.*s", (int)size, text, (int)word, behind);
    const char *duration =
        find_unit(behind, word) < 0 ? NULL : one_duration(program, joined, strlen(joined));
    if (other)
        diag_help(diag, "%s", other);
    else if (duration)
        diag_help(diag, "a duration is one word: `%s`", duration);
    else
        diag_help(diag, "a duration has a unit, one of ms, s, m, h, d: `%.*ss`", (int)size, text);
}

/* What stands where a duration is expected is one in quotes. */
static bool is_quoted_duration(struct program *program, const char *text, size_t size)
{
    return size > 3 && text[0] == '\'' && strchr("0123456789", text[1]) &&
           one_duration(program, arena_strndup(program->arena, text + 1, size - 2), size - 2);
}

static bool is_first_in_line(struct span at)
{
    uint32_t i = at.begin;
    while (i > 0 && (at.source->text[i - 1] == ' ' || at.source->text[i - 1] == '\t'))
        i--;
    return i == 0 || at.source->text[i - 1] == '\n';
}

/* A `-` or `.` right behind a name, where nothing is computed. */
static bool is_in_name(const struct syntax *s, const char *found, struct span at)
{
    return (strcmp(found, "'-'") == 0 || strcmp(found, "'.'") == 0) &&
           s->before_last_token == NAME && s->before_last.end == at.begin;
}

/* The one word that can stand there, if a value or name was found that may stand behind it. */
static const char *word_due(const char *found, const struct expected *set)
{
    static const char *const values[] = {"a name", "text in quotes", "a duration", "an integer",
                                         NULL};
    return set->count == 1 && is_any(found, values) && keyword_named(set->names[0]) ? set->names[0]
                                                                                    : NULL;
}

/* A name on the line of what it is to name, without `as`. */
static bool lacks_as(const char *found, struct span at, const struct expected *set)
{
    return strcmp(found, "a name") == 0 && expects(set, "as") && expects(set, "','") &&
           !is_first_in_line(at);
}

/* Helps that depend on which token was found where. */
static void help_slip(struct syntax *s, struct diag *diag, const char *found, struct span at,
                      const struct expected *set)
{
    const char *text = at.source->text + at.begin;
    size_t size = at.end - at.begin;
    const struct keyword *keyword = keyword_named(found);
    const struct span before = s->before_last;
    bool after_string = before.end == at.begin && before.end > before.begin &&
                        at.source->text[before.end - 1] == '\'';
    bool is_value = strcmp(found, "an integer") == 0 || strcmp(found, "a decimal") == 0;
    if (after_string && at.begin < at.end && (at.source->text[at.begin] | 32) >= 'a' &&
        (at.source->text[at.begin] | 32) <= 'z')
        diag_help(diag, "a quote inside text is written twice: '%.*s''%.*s'",
                  (int)(before.end - before.begin - 2), at.source->text + before.begin + 1,
                  (int)size, text);
    else if (is_any(found, COMPARISONS) && expects(set, "and") && expects(set, "or"))
        diag_help(diag, "comparisons do not chain; join them with `and`");
    else if (keyword && (keyword->role & CLAUSE) && is_first_in_line(at) && expects(set, "cast"))
        diag_help(diag, "the expression in front of `%s` is not complete", found);
    else if (keyword && keyword->status == RESERVED && expects(set, "a name"))
        diag_help(diag, "`%s` is a keyword; as a name it is written \"%s\"", found, found);
    else if (keyword && (keyword->role & STATEMENT) && expects(set, "';'"))
        diag_help(diag, "a statement ends with `;`");
    else if (is_value && expects(set, "a duration"))
        help_duration(s->program, diag, at);
    else if (expects(set, "a duration") && is_quoted_duration(s->program, text, size))
        diag_help(diag, "a duration stands without quotes: `%s`",
                  one_duration(s->program, text + 1, size - 2));
    else if (is_value && expects(set, "a size"))
        diag_help(diag, "a size has a unit, one of B, KiB, MiB, GiB: `%.*sMiB`", (int)size, text);
    else if (text[0] == '"' && expects(set, "text in quotes") && !expects(set, "a name"))
        diag_help(diag, "text stands in single quotes: '%.*s'", (int)size - 2, text + 1);
    else if (strcmp(found, "text in quotes") == 0 && expects(set, "a name"))
        diag_help(diag, "a name stands bare, or in double quotes");
    else if (strcmp(found, "'*'") == 0 && s->before_last_token == '(')
        diag_help(diag, "`count()` counts rows");
    else if (is_in_name(s, found, at))
        diag_help(diag,
                  "a name with other than letters, digits and `_` is written in double quotes");
    else if (strcmp(found, "'['") == 0 && expects(set, "'.'"))
        diag_help(diag, "an element of an array is `get(array, index)`, the first has index 0");
    else if (expects(set, "pipeline") && (text[0] | 32) >= 'a' && (text[0] | 32) <= 'z')
        diag_help(diag, "a statement starts with pipeline, contract, source, stream, sink, slo, "
                        "traffic, test or evolve");
}

static void help_stray(struct diag *diag, const char *text, size_t size)
{
    static const char *const quotes[] = {"\u2018", "\u2019", "\u201c", "\u201d", "`"};
    for (size_t i = 0; i < sizeof quotes / sizeof quotes[0]; i++)
        if (strlen(quotes[i]) == size && memcmp(quotes[i], text, size) == 0) {
            diag_help(diag,
                      "text stands in straight single quotes, names in straight double quotes");
            return;
        }
    if ((unsigned char)text[0] >= 0x80)
        diag_help(diag, "a name with other than ASCII letters, digits and `_` is written in double "
                        "quotes");
    else if (text[0] == '#')
        diag_help(diag, "a comment starts with `--`");
}

static const char *foreign_help(struct span at)
{
    return at.source == NULL
               ? NULL
               : foreign_word_help(at.source->text + at.begin, at.end - at.begin, false);
}

/* A word of SQL that the language does not have, where it is found or just before. */
static bool help_foreign_word(struct syntax *s, struct diag *diag, const char *found,
                              struct span at, const struct expected *set)
{
    const struct keyword *keyword = keyword_named(found);
    bool is_word = strcmp(found, "a name") == 0 || keyword != NULL;
    const char *help = is_word ? foreign_help(at) : NULL;
    bool ends = strcmp(found, "';'") == 0 || strcmp(found, "end of the file") == 0;
    if (help == NULL && !ends && !(keyword && keyword->status == RESERVED))
        help = foreign_help(s->before_last);
    if (help == NULL && strcmp(found, "'('") == 0 && expects(set, "','") && !expects(set, "'('") &&
        expects(set, "aggregate"))
        help = "columns stand here: compute it with `select … as NAME` in a stream before";
    if (help != NULL)
        diag_help(diag, "%s", help);
    return help != NULL;
}

static void add_help(struct syntax *s, struct diag *diag, const char *found, struct span at,
                     const struct expected *set)
{
    const char *text = at.source->text + at.begin;
    size_t size = at.end - at.begin;
    const char *slip = slip_help(s, found, at, set->names, set->count);
    if (strcmp(found, "bad unit") == 0) {
        help_unit(s->program, diag, at);
    } else if (strcmp(found, "operator of another language") == 0) {
        help_foreign(diag, text, size);
    } else if (slip != NULL) {
        diag_help(diag, "%s", slip);
    } else if (strcmp(found, "stray character") == 0) {
        help_stray(diag, text, size);
    } else if (strcmp(found, "keyword in upper case") == 0) {
        char lower[16] = "";
        for (size_t i = 0; i < size && i < sizeof lower - 1; i++)
            lower[i] = (char)(text[i] | 32);
        diag_help(diag,
                  "keywords are written in lower case: `%s`; as a name it is written \"%.*s\"",
                  lower, (int)size, text);
    } else if (!help_foreign_word(s, diag, found, at, set)) {
        const char *nearest = strcmp(found, "a name") == 0 && text[0] != '"'
                                  ? nearest_word(s->program, set, text, size)
                                  : NULL;
        const char *due = word_due(found, set);
        if (lacks_as(found, at, set))
            diag_help(diag, "a name stands behind `as`: `as %.*s`", (int)size, text);
        else if (nearest)
            diag_help(diag, "did you mean `%s`?", nearest);
        else if (due)
            diag_help(diag, "write `%s %.*s`", due, (int)size, text);
        else
            help_slip(s, diag, found, at, set);
    }
}

/* A bracket that should have been closed before what was found: its opening is shown. */
static void show_opening(const struct syntax *s, struct diag *diag, const char *found,
                         const struct expected *set)
{
    if (s->open_count == 0)
        return;
    const struct keyword *keyword = keyword_named(found);
    bool is_end = strcmp(found, "';'") == 0 || strcmp(found, "end of the file") == 0 ||
                  (keyword && keyword->role != OTHER);
    char kind = s->open[s->open_count - 1].kind;
    struct span opening = s->open[s->open_count - 1].span;
    if (!is_end || opening.begin == s->last.begin)
        return;
    if (kind == '(' && expects(set, "')'"))
        diag_also(diag, opening, "this `(` is not closed");
    else if (kind == '[' && expects(set, "']'"))
        diag_also(diag, opening, "this `[` is not closed");
    else if (kind == 'c' && (expects(set, "end") || expects(set, "when") || expects(set, "then")))
        diag_also(diag, opening, "this `case` has no `end`");
}

/* ---- Reports ---- */

static enum code code_of(const char *found)
{
    if (strcmp(found, "bad unit") == 0)
        return PC1002;
    if (strcmp(found, "operator of another language") == 0)
        return PC1003;
    if (strcmp(found, "keyword in upper case") == 0)
        return PC1004;
    if (strncmp(found, "unclosed", strlen("unclosed")) == 0)
        return PC1005;
    if (strcmp(found, "stray character") == 0)
        return PC1006;
    return PC1001;
}

/* The text at `at` as a message shows it: cut when long, bytes that can't be shown in hexadecimal.
 */
static const char *shown(struct program *program, struct span at)
{
    enum { MOST_SHOWN = 40 };
    const char *text = at.source->text + at.begin;
    size_t size = at.end - at.begin, kept = size;
    if (size > MOST_SHOWN) {
        kept = MOST_SHOWN;
        while (kept > 0 && ((unsigned char)text[kept] & 0xc0) == 0x80)
            kept--;
    }
    unsigned char first = (unsigned char)text[0];
    if (size == 1 && (first < 0x20 || first >= 0x7f))
        return arena_printf(program->arena, "byte 0x%02x", first);
    return arena_printf(program->arena, "`%.*s%s`", (int)kept, text, kept < size ? "…" : "");
}

void syntax_error(struct syntax *s, const char *found, struct span at, const char *const *expected,
                  size_t expected_count)
{
    if (s->quiet)
        return;
    struct expected set = {.count = 0};
    for (size_t i = 0; i < expected_count && i < MOST_EXPECTED; i++)
        set.names[set.count++] = expected[i];
    enum code code = code_of(found);
    struct diag *diag;
    if (diag_is_full(s->program)) {
        diag_error(s->program, code, at, "unexpected %s", found);
        s->quiet = s->last_token != ';';
        return;
    }
    if (code == PC1005) {
        bool is_name = strcmp(found, "unclosed name") == 0;
        diag = diag_error(s->program, code, at, "this %s is not closed", is_name ? "name" : "text");
        diag_help(diag, "%s ends with %s on the line on which it starts",
                  is_name ? "a name in quotes" : "text", is_name ? "`\"`" : "`'`");
    } else {
        const char *what = strcmp(found, "end of the file") == 0 ? found : shown(s->program, at);
        diag = diag_error(s->program, code, at, "unexpected %s; expected %s", what,
                          describe(s->program, &set));
        add_help(s, diag, found, at, &set);
    }
    show_opening(s, diag, found, &set);
    s->quiet = s->last_token != ';';
}

struct diag *lexical_error(struct syntax *s, enum code code, struct span at, const char *format,
                           ...)
{
    if (s->quiet)
        return NULL;
    char message[256];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    struct diag *diag = diag_error(s->program, code, at, "%s", message);
    return diag;
}
