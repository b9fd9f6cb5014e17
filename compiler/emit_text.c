/* emit_text.c: how generated text looks: indents, wrapped lines, comments, literals. */
#define _GNU_SOURCE /* vasprintf */
#include "emit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct text *emit_to(struct emitter *e, enum section section)
{
    struct text *before = e->out;
    e->out = &e->sections[section];
    return before;
}

static void put_indent(struct text *out, size_t columns)
{
    for (size_t i = 0; i < columns; i++)
        text_add(out, " ", 1);
}

/* Where a line that is too long may be broken, as clang-format does it: behind a comma, `&&` or
 * `||`, before `?` or
 * `:`, outside of literals and as high in the nesting as possible. */
struct break_point {
    size_t at;     /* of the blank that goes; 0: nowhere */
    size_t column; /* of the continuation, from the start of the line: behind the innermost open
                      parenthesis */
};

static bool may_break(const char *line, size_t i)
{
    if (line[i] != ' ' || i < 2)
        return false;
    bool behind = line[i - 1] == ',' || strncmp(line + i - 2, "&&", 2) == 0 ||
                  strncmp(line + i - 2, "||", 2) == 0;
    return behind || strncmp(line + i, " ? ", 3) == 0 || strncmp(line + i, " : ", 3) == 0;
}

static struct break_point break_of(const char *line, size_t size, size_t room)
{
    struct break_point best = {0};
    size_t open[64];
    unsigned depth = 0, best_depth = UINT32_MAX;
    for (size_t i = 0; i < size && i < room; i++) {
        char c = line[i];
        if (c == '"' || c == '\'') {
            for (i++; i < size && line[i] != c; i++)
                i += line[i] == '\\';
            continue;
        }
        if (strchr("([{", c) != NULL && depth < 64)
            open[depth++] = i + 1;
        else if (strchr(")]}", c) != NULL && depth > 0)
            depth--;
        if (may_break(line, i) && depth <= best_depth) {
            best = (struct break_point){i, depth > 0 ? open[depth - 1] : 0};
            best_depth = depth;
        }
    }
    return best;
}

/* One line. Continuation lines stand under what their parenthesis encloses, or are indented once
 * more. */
void text_wrapped(struct text *out, int level, const char *line)
{
    size_t indent = (size_t)level * EMIT_INDENT, base = indent;
    for (size_t size = strlen(line); size > 0;) {
        size_t room = EMIT_COLUMNS > indent + 20 ? EMIT_COLUMNS - indent : 20;
        struct break_point point = {0};
        if (size > room)
            point = break_of(line, size, room);
        put_indent(out, indent);
        text_add(out, line, point.at > 0 ? point.at : size);
        text_add(out, "\n", 1);
        if (point.at == 0)
            return;
        line += point.at + 1;
        size -= point.at + 1;
        if (point.column > 0 && indent + point.column < EMIT_COLUMNS / 2 + 16)
            indent += point.column;
        else if (indent == base)
            indent = base + EMIT_INDENT;
    }
}

void emit(struct emitter *e, int level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0)
        out_of_memory();
    va_end(args);
    for (char *line = text, *end; line != NULL; line = end) {
        end = strchr(line, '\n');
        if (end != NULL)
            *end++ = '\0';
        if (*line == '\0')
            text_add(e->out, "\n", 1);
        else
            text_wrapped(e->out, level, line);
    }
    free(text);
}

void emit_blank(struct emitter *e)
{
    text_add(e->out, "\n", 1);
}

/* Bytes of a character that reorders text (U+200E, U+200F, U+202A … U+202E, U+2066 … U+2069) at the
 * begin of `text`, or 0. The C would show as something else, and -Wbidi-chars refuses it. */
static size_t bidi_size(const char *text, size_t size)
{
    if (size < 3 || text[0] != '\xe2' || (text[1] != '\x80' && text[1] != '\x81'))
        return 0;
    unsigned last = (unsigned char)text[2];
    bool mark = text[1] == '\x80' && (last == 0x8e || last == 0x8f);
    bool embedding = text[1] == '\x80' && last >= 0xaa && last <= 0xae;
    bool isolate = text[1] == '\x81' && last >= 0xa6 && last <= 0xa9;
    return mark || embedding || isolate ? 3 : 0;
}

/* The bytes of a comment, made harmless: no end or begin of a comment, no trigraph, no control. */
static void add_comment_text(struct text *out, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        unsigned char byte = (unsigned char)*c;
        size_t bidi = bidi_size(c, strnlen(c, 3));
        if (bidi > 0) {
            text_add(out, " ", 1);
            c += bidi - 1;
            continue;
        }
        text_add(out, byte < 0x20 || byte == 0x7f ? " " : c, 1);
        if ((c[0] == '*' && c[1] == '/') || (c[0] == '/' && c[1] == '*') ||
            (c[0] == '?' && c[1] == '?'))
            text_add(out, " ", 1);
    }
}

void emit_comment(struct emitter *e, int level, const char *text)
{
    struct text clean = {0};
    add_comment_text(&clean, text);
    size_t indent = (size_t)level * EMIT_INDENT;
    size_t room = EMIT_COLUMNS - 6 - indent;
    const char *at = clean.data == NULL ? "" : clean.data;
    put_indent(e->out, indent);
    text_puts(e->out, "/* ");
    while (strlen(at) > room) {
        size_t cut = room;
        while (cut > 0 && at[cut] != ' ')
            cut--;
        if (cut == 0)
            cut = strcspn(at, " ");
        if (at[cut] == '\0')
            break;
        text_add(e->out, at, cut);
        text_add(e->out, "\n", 1);
        put_indent(e->out, indent);
        text_puts(e->out, " * ");
        at += cut + 1;
    }
    text_printf(e->out, "%s */\n", at);
    text_free(&clean);
}

/* The text of a span on one line: runs of blanks become one, comments go. */
const char *emit_span_text(struct emitter *e, struct span span)
{
    if (span.source == NULL)
        return "";
    struct text out = {0};
    const char *text = span.source->text;
    char quote = '\0';
    for (uint32_t i = span.begin; i < span.end; i++) {
        char c = text[i];
        if (quote == '\0' && c == '-' && i + 1 < span.end && text[i + 1] == '-') {
            while (i < span.end && text[i] != '\n')
                i++;
            c = ' ';
        }
        if (quote != '\0' ? c == quote : c == '\'' || c == '"')
            quote = quote != '\0' ? '\0' : c;
        bool blank = quote == '\0' && (c == ' ' || c == '\t' || c == '\n' || c == '\r');
        if (!blank)
            text_add(&out, &c, 1);
        else if (out.size > 0 && out.data[out.size - 1] != ' ')
            text_add(&out, " ", 1);
    }
    while (out.size > 0 && (out.data[out.size - 1] == ' ' || out.data[out.size - 1] == ';'))
        out.size--;
    const char *copy = arena_strndup(e->arena, out.data, out.size);
    text_free(&out);
    return copy;
}

const char *emit_place(struct emitter *e, struct span span)
{
    if (span.source == NULL || span.source != e->program->source)
        return "";
    size_t low = 0, high = e->line_starts.count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (e->line_starts.items[middle] <= span.begin)
            low = middle;
        else
            high = middle;
    }
    return arena_printf(e->arena, "%s:%zu", e->file, low + 1);
}

/* What a clause says and where: `where price > 0 (shop.pipe:7)`. */
const char *clause_comment(struct emitter *e, struct span span, const char *note)
{
    const char *place = emit_place(e, span), *text = emit_span_text(e, span);
    return arena_printf(e->arena, "%s%s%s%s%s%s%s", text,
                        *text != '\0' && *place != '\0' ? " " : "", *place != '\0' ? "(" : "",
                        place, *place != '\0' ? ")" : "", note != NULL ? ". " : "",
                        note != NULL ? note : "");
}

static void add_escaped(struct text *out, const char *bytes, size_t size)
{
    size_t bidi_end = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)bytes[i];
        size_t bidi = bidi_size(bytes + i, size - i);
        bidi_end = bidi > 0 ? i + bidi : bidi_end;
        if (c == '"' || c == '\\')
            text_printf(out, "\\%c", c);
        else if (c == '?' && i > 0 && bytes[i - 1] == '?')
            text_puts(out, "\\?"); /* no trigraphs */
        else if (c == '\n')
            text_puts(out, "\\n");
        else if (c == '\t')
            text_puts(out, "\\t");
        else if (c < 0x20 || c == 0x7f || i < bidi_end)
            text_printf(out, "\\%03o", c);
        else
            text_add(out, bytes + i, 1);
    }
}

const char *c_string(struct emitter *e, const char *bytes, size_t size_bytes)
{
    struct text out = {0};
    text_puts(&out, "\"");
    add_escaped(&out, bytes, size_bytes);
    text_puts(&out, "\"");
    const char *copy = arena_strndup(e->arena, out.data, out.size);
    text_free(&out);
    return copy;
}

const char *c_string_z(struct emitter *e, const char *cstr)
{
    return cstr == NULL ? "NULL" : c_string(e, cstr, strlen(cstr));
}

const char *c_str(struct emitter *e, const char *bytes, size_t size_bytes)
{
    return arena_printf(e->arena, "PIPE_STR(%s)", c_string(e, bytes, size_bytes));
}

/* The size of the next piece of a long literal: up to a line end, or about a line as it is escaped,
 * behind a comma or blank if there is one, never inside a character. */
static size_t piece_size(const char *text, size_t room)
{
    size_t size = 0, good = 0;
    for (size_t width = 0; text[size] != '\0' && text[size] != '\n'; size++) {
        bool bidi = bidi_size(text + size, strnlen(text + size, 3)) > 0;
        width += bidi ? 10 : strchr("\"\\", text[size]) != NULL ? 2 : 1; /* 12 of its 3 bytes */
        if (width > room)
            break;
        if (width > room / 2 && (text[size] == ',' || text[size] == ' '))
            good = size + 1;
    }
    if (text[size] == '\0' || text[size] == '\n')
        return size + (text[size] == '\n');
    if (good > 0)
        return good;
    while (size > 1 && ((unsigned char)text[size] & 0xc0) == 0x80)
        size--;
    return size;
}

void emit_long_string(struct emitter *e, int level, const char *text, const char *tail)
{
    size_t indent = (size_t)level * EMIT_INDENT;
    if (*text == '\0')
        emit(e, level, "\"\"%s", tail);
    while (*text != '\0') {
        size_t size = piece_size(text, EMIT_COLUMNS - indent - 12);
        put_indent(e->out, indent);
        text_puts(e->out, "\"");
        add_escaped(e->out, text, size);
        text += size;
        text_printf(e->out, "\"%s\n", *text == '\0' ? tail : "");
    }
}

const char *c_int64(struct emitter *e, int64_t value)
{
    if (value == INT64_MIN)
        return "INT64_MIN";
    if (value >= INT32_MIN && value <= INT32_MAX)
        return arena_printf(e->arena, "%" PRId64, value);
    return arena_printf(e->arena, "INT64_C(%" PRId64 ")", value);
}

const char *c_duration(struct emitter *e, int64_t ms)
{
    static const struct {
        const char *macro;
        int64_t ms;
    } units[] = {{"PIPE_DAYS", 86400000},
                 {"PIPE_HOURS", 3600000},
                 {"PIPE_MINUTES", 60000},
                 {"PIPE_SECONDS", 1000}};
    if (ms == 0)
        return "0";
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (ms % units[i].ms == 0)
            return arena_printf(e->arena, "%s(%" PRId64 ")", units[i].macro, ms / units[i].ms);
    return arena_printf(e->arena, "PIPE_MS(%" PRId64 ")", ms);
}

const char *c_bool(bool value)
{
    return value ? "true" : "false";
}

const char *percent_ppm(struct emitter *e, struct literal_number percent)
{
    __int128 value = percent.digits * 10000;
    for (unsigned i = 0; i < percent.scale; i++)
        value = i + 1 == percent.scale ? (value + 5) / 10 : value / 10;
    return arena_printf(e->arena, "%" PRId64, (int64_t)value);
}
