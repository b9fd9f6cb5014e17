/* json_read.c: a strict scanner of JSON text (json_read.h), json_value, and checking (json.h). */
#include "json_read.h"

#include "functions.h"
#include "json.h"

#include <stdlib.h>

bool json_fail(struct json_scan *scan, const char *cause)
{
    if (scan->cause == NULL)
        scan->cause = cause;
    return false;
}

void json_skip_space(struct json_scan *scan)
{
    while (scan->at < scan->end &&
           (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\n' || *scan->at == '\r'))
        scan->at++;
}

char json_peek(struct json_scan *scan)
{
    json_skip_space(scan);
    return scan->at < scan->end ? *scan->at : '\0';
}

bool json_take(struct json_scan *scan, char c)
{
    if (json_peek(scan) != c || scan->at == scan->end)
        return false;
    scan->at++;
    return true;
}

/* The four digits of `\uXXXX`, or -1. */
static int32_t hex4(const char *at, const char *end)
{
    int32_t value = 0;
    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        unsigned c = (uint8_t)at[i], lower = c | 0x20;
        if (c >= '0' && c <= '9')
            value = value * 16 + (int32_t)(c - '0');
        else if (lower >= 'a' && lower <= 'f')
            value = value * 16 + (int32_t)(lower - 'a' + 10);
        else
            return -1;
    }
    return value;
}

/* Behind `\u`: a code point, taking the second half of a pair too; -1: none. */
static int32_t escaped_code_point(const char **at, const char *end)
{
    int32_t high = hex4(*at, end);
    if (high < 0 || (high >= 0xDC00 && high <= 0xDFFF))
        return -1;
    *at += 4;
    if (high < 0xD800 || high > 0xDBFF)
        return high;
    if (end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
        return -1;
    int32_t low = hex4(*at + 2, end);
    if (low < 0xDC00 || low > 0xDFFF)
        return -1;
    *at += 6;
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

bool json_scan_string(struct json_scan *scan, struct json_text *out)
{
    if (!json_take(scan, '"'))
        return json_fail(scan, "a string was expected");
    const char *begin = scan->at, *at = begin, *end = scan->end;
    out->escaped = false;
    for (;;) {
        uint64_t word = 0;
        for (; end - at >= 8; at += 8) {
            memcpy(&word, at, 8);
            if (pipe_json_escapes_in(word))
                break;
        }
        while (at < end && *at != '"' && *at != '\\' && (uint8_t)*at >= 0x20)
            at++;
        scan->at = at;
        if (at == end)
            return json_fail(scan, "a string is not closed");
        if (*at == '"')
            break;
        if (*at != '\\')
            return json_fail(scan, "a control character stands in a string");
        out->escaped = true;
        at++;
        if (at < end && *at == 'u') {
            at++;
            if (escaped_code_point(&at, end) < 0)
                return json_fail(scan, "a \\u escape is wrong, or half of a surrogate pair");
        } else if (at < end && *at != '\0' && strchr("\"\\/bfnrt", *at) != NULL) {
            at++;
        } else {
            return json_fail(scan, "an escape is unknown");
        }
    }
    out->raw = pipe_str_of(begin, (size_t)(at - begin));
    scan->at = at + 1;
    return true;
}

size_t json_unescape(struct pipe_str raw, char *to)
{
    static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
    const char *at = raw.data, *end = raw.data + raw.size;
    size_t size = 0;
    while (at < end) {
        if (*at != '\\') {
            to[size++] = *at++;
            continue;
        }
        char c = at[1];
        at += 2;
        if (c == 'u') {
            size += pipe_utf8_put(to + size, (uint32_t)escaped_code_point(&at, end));
            continue;
        }
        const char *letter = strchr(letters, c);
        to[size++] = letter != NULL ? meant[letter - letters] : c;
    }
    return size;
}

bool json_text_value(struct json_text text, struct pipe_arena *arena, struct pipe_str *out)
{
    if (!text.escaped) {
        *out = text.raw;
        return true;
    }
    char *value = pipe_arena_alloc(arena, text.raw.size);
    if (value == NULL)
        return false;
    *out = pipe_str_of(value, json_unescape(text.raw, value));
    return true;
}

static bool take_digits(struct json_scan *scan)
{
    const char *begin = scan->at;
    while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
        scan->at++;
    return scan->at > begin;
}

static bool take_char(struct json_scan *scan, char c)
{
    bool here = scan->at < scan->end && *scan->at == c;
    scan->at += here;
    return here;
}

bool json_scan_number(struct json_scan *scan, struct pipe_str *out)
{
    json_skip_space(scan);
    const char *begin = scan->at;
    take_char(scan, '-');
    bool zero = scan->at < scan->end && *scan->at == '0';
    if (zero)
        scan->at++;
    else if (!take_digits(scan))
        return json_fail(scan, "a number was expected");
    if (take_char(scan, '.') && !take_digits(scan))
        return json_fail(scan, "digits are missing behind the point of a number");
    if (take_char(scan, 'e') || take_char(scan, 'E')) {
        if (!take_char(scan, '+'))
            take_char(scan, '-');
        if (!take_digits(scan))
            return json_fail(scan, "digits are missing in the exponent of a number");
    }
    if (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
        return json_fail(scan, "a number begins with 0");
    *out = pipe_str_of(begin, (size_t)(scan->at - begin));
    return true;
}

bool json_scan_word(struct json_scan *scan, struct pipe_str word)
{
    json_skip_space(scan);
    if ((size_t)(scan->end - scan->at) < word.size || memcmp(scan->at, word.data, word.size) != 0)
        return false;
    scan->at += word.size;
    return true;
}

bool json_another(struct json_scan *scan, char close, bool *first)
{
    if (json_take(scan, close))
        return false;
    if (!*first && !json_take(scan, ','))
        return json_fail(scan, scan->at == scan->end ? "the text ends early" : "',' was expected");
    *first = false;
    return true;
}

static bool scan_nested(struct json_scan *scan, char open)
{
    bool first = true, object = open == '{';
    struct json_text name;
    if (++scan->depth > PIPE_MAX_DEPTH)
        return json_fail(scan, "nested too deep");
    scan->at++;
    while (json_another(scan, object ? '}' : ']', &first)) {
        if (object && !json_scan_string(scan, &name))
            return false;
        if (object && !json_take(scan, ':'))
            return json_fail(scan, "':' was expected");
        if (!json_scan_value(scan, NULL))
            return false;
    }
    scan->depth--;
    return scan->cause == NULL;
}

bool json_scan_value(struct json_scan *scan, struct pipe_str *out)
{
    struct json_text text;
    struct pipe_str number;
    char c = json_peek(scan);
    const char *begin = scan->at;
    bool good;
    if (scan->at == scan->end)
        good = json_fail(scan, "the text ends early");
    else if (c == '{' || c == '[')
        good = scan_nested(scan, c);
    else if (c == '"')
        good = json_scan_string(scan, &text);
    else if (c == '-' || (c >= '0' && c <= '9'))
        good = json_scan_number(scan, &number);
    else
        good = json_scan_word(scan, PIPE_STR("true")) || json_scan_word(scan, PIPE_STR("false")) ||
               json_scan_word(scan, PIPE_STR("null")) || json_fail(scan, "not a JSON value");
    if (good && out != NULL)
        *out = pipe_str_of(begin, (size_t)(scan->at - begin));
    return good;
}

bool pipe_json_check(struct pipe_str text)
{
    struct json_scan scan = {text.data, text.data + text.size, NULL, 0};
    if (!json_scan_value(&scan, NULL))
        return false;
    json_skip_space(&scan);
    return scan.at == scan.end;
}

/* --- Names given twice --------------------------------------------------------------------------
 */

static struct pipe_str *name_slot(struct pipe_str *slots, uint32_t capacity, struct pipe_str name)
{
    uint32_t at = (uint32_t)pipe_hash64(name.data, name.size, 0) & (capacity - 1);
    while (slots[at].data != NULL && !pipe_str_equal(slots[at], name))
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

enum json_name_verdict json_name_add(struct json_names *names, struct pipe_arena *arena,
                                     struct pipe_str name)
{
    if (name.data == NULL)
        name.data = "";
    if (names->count * 2 >= names->capacity) {
        uint32_t capacity = names->capacity == 0 ? 16 : names->capacity * 2;
        struct pipe_str *slots = pipe_arena_zalloc(arena, capacity * sizeof *slots);
        if (slots == NULL)
            return JSON_NAME_NO_MEMORY;
        for (uint32_t i = 0; i < names->capacity; i++) {
            if (names->slots[i].data != NULL)
                *name_slot(slots, capacity, names->slots[i]) = names->slots[i];
        }
        names->slots = slots;
        names->capacity = capacity;
    }
    struct pipe_str *slot = name_slot(names->slots, names->capacity, name);
    if (slot->data != NULL)
        return JSON_NAME_TWICE;
    *slot = name;
    names->count++;
    return JSON_NAME_NEW;
}

/* --- json_value ---------------------------------------------------------------------------------
 */

struct json_step {
    bool is_index;
    struct pipe_str name;
    int64_t index;
};

/* Takes the next step of a path; false at its end, or, with *bad, where it is wrong. */
static bool next_step(struct pipe_str path, size_t *at, struct json_step *step, bool *bad)
{
    size_t i = *at;
    if (i == path.size)
        return false;
    if (path.data[i] == '[') {
        const char *close = memchr(path.data + i, ']', path.size - i);
        size_t size = close != NULL ? (size_t)(close - path.data) - i - 1 : 0;
        step->is_index = true;
        *bad = size == 0 || path.data[i + 1] == '-' ||
               !pipe_i64_read(pipe_str_of(path.data + i + 1, size), false, &step->index);
        *at = i + size + 2;
        return !*bad;
    }
    if (i > 0 && path.data[i] == '.')
        i++;
    else
        *bad = i > 0;
    size_t begin = i;
    while (i < path.size && path.data[i] != '.' && path.data[i] != '[')
        i++;
    *bad = *bad || i == begin;
    step->is_index = false;
    step->name = pipe_str_of(path.data + begin, i - begin);
    *at = i;
    return !*bad;
}

bool pipe_json_path_check(struct pipe_str path, struct pipe_error *error)
{
    struct json_step step;
    bool bad = false;
    size_t at = 0;
    while (next_step(path, &at, &step, &bad))
        continue;
    if (bad)
        return pipe_fail(error, "", "%s is no path; one is written like a.b[0].c",
                         pipe_quote(path.data, path.size).text);
    return true;
}

static bool name_is(struct json_text text, struct pipe_str name)
{
    if (!text.escaped)
        return pipe_str_equal(text.raw, name);
    if (text.raw.size / 6 > name.size || text.raw.size < name.size)
        return false; /* an escape is at most 6 bytes long for one byte of text */
    char *value = pipe_malloc(text.raw.size);
    bool same = pipe_str_equal(pipe_str_of(value, json_unescape(text.raw, value)), name);
    free(value);
    return same;
}

/* Moves on to the element that the step names. The text is known to be good JSON. */
static bool follow(struct json_scan *scan, const struct json_step *step)
{
    bool first = true;
    struct json_text name;
    if (!json_take(scan, step->is_index ? '[' : '{'))
        return false;
    for (int64_t i = 0; json_another(scan, step->is_index ? ']' : '}', &first); i++) {
        if (step->is_index && i == step->index)
            return true;
        if (!step->is_index) {
            if (!json_scan_string(scan, &name) || !json_take(scan, ':'))
                return false;
            if (name_is(name, step->name))
                return true;
        }
        if (!json_scan_value(scan, NULL))
            return false;
    }
    return false;
}

bool pipe_fn_json_value(struct pipe_arena *arena, struct pipe_str s, struct pipe_str path,
                        struct pipe_str *out)
{
    struct json_scan scan = {s.data, s.data + s.size, NULL, 0};
    struct json_step step;
    struct json_text text;
    struct pipe_str value;
    bool bad = false;
    size_t at = 0;
    if (!pipe_json_check(s))
        return false;
    while (next_step(path, &at, &step, &bad)) {
        if (!follow(&scan, &step))
            return false;
    }
    char c = json_peek(&scan);
    if (bad || c == '{' || c == '[' || c == 'n')
        return false;
    if (c == '"') {
        if (!json_scan_string(&scan, &text))
            return false;
        value = text.raw;
        if (text.escaped) {
            char *plain = pipe_arena_more(arena, text.raw.size);
            value = pipe_str_of(plain, json_unescape(text.raw, plain));
        }
    } else if (!json_scan_value(&scan, &value)) {
        return false;
    }
    *out = value;
    return true;
}
