/*
 * diagnostics.c: messages are collected here and printed at the end, sorted by place.
 *
 * What a message quotes is untrusted: controls and bidirectional overrides never reach the
 * terminal, long lines are cut to a window around the caret, and long messages are cut at their
 * end.
 */
#include "pipec.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHOWN_MAX = 20, /* errors, and as many lints */
    MESSAGE_MAX_BYTES = 2000,
    EXTRAS_MAX = 12, /* notes, helps and secondary spans of one message */
    TAB_COLUMNS = 4,
    LINE_COLUMNS = 120, /* of a source line that are shown */
    SUGGEST_MAX_BYTES = 64,
};

enum extra_kind { EXTRA_ALSO, EXTRA_NOTE, EXTRA_HELP };

struct extra {
    enum extra_kind kind;
    struct span at; /* ALSO */
    const char *text;
};

struct diag {
    struct program *program;
    bool muted; /* not shown: beyond the limit, or said before */
    bool is_lint;
    const char *head; /* of one that is no error of the program; else NULL */
    enum code code;
    struct span at;
    const char *message, *label;
    struct extra extras[EXTRAS_MAX];
    size_t extra_count;
};

struct diags {
    VEC(struct diag *) shown;
    unsigned error_count, lint_count; /* with those that are not shown */
    unsigned shown_errors, shown_lints;
    struct diag muted;
};

static const struct {
    const char *name, *title;
} codes[CODE_COUNT] = {
#define CODE(code, title) {#code, title},
#include "codes.def"
#undef CODE
};

const char *code_name(enum code code)
{
    return codes[code].name;
}

const char *code_title(enum code code)
{
    return codes[code].title;
}

/* Controls, line and paragraph separators, and what reorders text on a terminal. */
static bool is_unsafe(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069) || c == 0x2028 || c == 0x2029 || c == 0x200e ||
           c == 0x200f || c == 0xfeff;
}

static const char *format_safely(struct program *program, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    if (size < 0)
        out_of_memory();
    char *raw = malloc((size_t)size + 1);
    if (raw == NULL)
        out_of_memory();
    vsnprintf(raw, (size_t)size + 1, format, again);
    va_end(again);

    struct text safe = {0};
    text_puts(&safe, "");
    for (size_t i = 0; i < (size_t)size;) {
        uint32_t c = 0;
        size_t step = utf8_sequence(raw + i, (size_t)size - i, &c);
        if (safe.size > MESSAGE_MAX_BYTES) {
            text_puts(&safe, "…");
            break;
        }
        if (step == 0 || is_unsafe(c))
            text_puts(&safe, "\uFFFD");
        else
            text_add(&safe, raw + i, step);
        i += step == 0 ? 1 : step;
    }
    const char *copy = arena_strndup(program->arena, safe.data, safe.size);
    text_free(&safe);
    free(raw);
    return copy;
}

static struct diags *diags_of(struct program *program)
{
    if (program->diags == NULL)
        program->diags = arena_alloc(program->arena, sizeof *program->diags);
    return program->diags;
}

static bool said_before(const struct diags *diags, enum code code, struct span at,
                        const char *message)
{
    for (size_t i = 0; i < diags->shown.count; i++) {
        const struct diag *d = diags->shown.items[i];
        if (d->code == code && d->at.source == at.source && d->at.begin == at.begin &&
            strcmp(d->message, message) == 0)
            return true;
    }
    return false;
}

struct diag *diag_unshown(struct program *program)
{
    struct diags *diags = diags_of(program);
    diags->muted = (struct diag){.program = program, .muted = true};
    return &diags->muted;
}

static struct diag *diag_new(struct program *program, bool is_lint, enum code code, struct span at,
                             const char *format, va_list args)
{
    struct diags *diags = diags_of(program);
    unsigned *total = is_lint ? &diags->lint_count : &diags->error_count;
    unsigned *shown = is_lint ? &diags->shown_lints : &diags->shown_errors;
    if (*shown >= SHOWN_MAX) {
        ++*total;
        return diag_unshown(program);
    }
    const char *message = format_safely(program, format, args);
    if (said_before(diags, code, at, message))
        return diag_unshown(program);
    struct diag *diag = arena_alloc(program->arena, sizeof *diag);
    *diag = (struct diag){
        .program = program, .is_lint = is_lint, .code = code, .at = at, .message = message};
    ++*total;
    ++*shown;
    vec_push(program->arena, &diags->shown, diag);
    return diag;
}

struct diag *diag_error(struct program *program, enum code code, struct span at, const char *format,
                        ...)
{
    va_list args;
    va_start(args, format);
    struct diag *diag = diag_new(program, false, code, at, format, args);
    va_end(args);
    return diag;
}

struct diag *diag_lint(struct program *program, enum code code, struct span at, const char *format,
                       ...)
{
    va_list args;
    va_start(args, format);
    struct diag *diag = diag_new(program, true, code, at, format, args);
    va_end(args);
    return diag;
}

struct diag *diag_detached(struct program *program, const char *head, struct span at,
                           const char *format, ...)
{
    struct diag *diag = arena_alloc(program->arena, sizeof *diag);
    va_list args;
    va_start(args, format);
    *diag = (struct diag){.program = program, .head = head, .at = at};
    diag->message = format_safely(program, format, args);
    va_end(args);
    return diag;
}

void diag_label(struct diag *diag, const char *format, ...)
{
    if (diag->muted)
        return;
    va_list args;
    va_start(args, format);
    diag->label = format_safely(diag->program, format, args);
    va_end(args);
}

static void add_extra(struct diag *diag, enum extra_kind kind, struct span at, const char *format,
                      va_list args)
{
    if (diag->muted || diag->extra_count == EXTRAS_MAX)
        return;
    diag->extras[diag->extra_count++] =
        (struct extra){.kind = kind, .at = at, .text = format_safely(diag->program, format, args)};
}

void diag_also(struct diag *diag, struct span at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_extra(diag, EXTRA_ALSO, at, format, args);
    va_end(args);
}

void diag_note(struct diag *diag, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_extra(diag, EXTRA_NOTE, (struct span){0}, format, args);
    va_end(args);
}

void diag_help(struct diag *diag, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_extra(diag, EXTRA_HELP, (struct span){0}, format, args);
    va_end(args);
}

bool diag_is_shown(const struct diag *diag)
{
    return !diag->muted;
}

bool diag_is_full(const struct program *program)
{
    return program->diags != NULL && program->diags->shown_errors >= SHOWN_MAX;
}

unsigned diag_error_count(const struct program *program)
{
    return program->diags == NULL ? 0 : program->diags->error_count;
}

/* Text form: a snippet is one source line with one row of marks below. */

struct snippet {
    struct span at;
    unsigned line;
    bool is_primary;
    const char *label;
};

static unsigned columns_of(uint32_t c, unsigned at_column)
{
    if (c == '\t')
        return TAB_COLUMNS - at_column % TAB_COLUMNS;
    bool zero =
        (c >= 0x300 && c <= 0x36f) || (c >= 0x200b && c <= 0x200d) || (c >= 0xfe00 && c <= 0xfe0f);
    bool wide = (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
                (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
                (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
                (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1f64f) ||
                (c >= 0x1f900 && c <= 0x1f9ff) || (c >= 0x20000 && c <= 0x3fffd);
    return zero ? 0 : wide ? 2 : 1;
}

/* One line made fit to print: its marks stand at columns [mark_begin, mark_end). */
struct shown_line {
    struct text text;
    unsigned mark_begin, mark_end;
};

/* The bytes of the line around span.begin; at most `window` bytes to each side of it. */
static void cut_line(struct span span, size_t window, size_t *begin, size_t *end)
{
    const char *text = span.source->text;
    size_t at = span.begin < span.source->size ? span.begin : span.source->size;
    size_t first = at;
    while (first > 0 && text[first - 1] != '\n' && at - first < window)
        first--;
    while (first < at && ((unsigned char)text[first] & 0xc0) == 0x80)
        first++;
    size_t last = at;
    while (last < span.source->size && text[last] != '\n' && last - at < window)
        last++;
    while (last > at && last < span.source->size && ((unsigned char)text[last] & 0xc0) == 0x80)
        last--;
    *begin = first;
    *end = last > at && text[last - 1] == '\r' ? last - 1 : last;
}

static void show_range(struct span span, size_t begin, size_t end, struct shown_line *out)
{
    const char *text = span.source->text;
    unsigned column = 0;
    bool cut_left = begin > 0 && text[begin - 1] != '\n';
    bool cut_right = end < span.source->size && text[end] != '\n' && text[end] != '\r';
    text_puts(&out->text, cut_left ? "…" : "");
    column += cut_left;
    out->mark_begin = column;
    for (size_t i = begin; i < end;) {
        uint32_t c = 0;
        size_t step = utf8_sequence(text + i, span.source->size - i, &c);
        if (i <= span.begin)
            out->mark_begin = column;
        unsigned columns = step == 0 ? 1 : columns_of(c, column);
        if (step > 0 && c == '\t')
            text_printf(&out->text, "%*s", (int)columns, "");
        else if (step == 0 || is_unsafe(c))
            text_puts(&out->text, "\uFFFD");
        else
            text_add(&out->text, text + i, step);
        column += columns;
        i += step == 0 ? 1 : step;
        if (i <= span.end)
            out->mark_end = column;
    }
    if (span.begin >= end)
        out->mark_begin = column; /* behind the last character */
    text_puts(&out->text, cut_right ? "…" : "");
    if (out->mark_end <= out->mark_begin)
        out->mark_end = out->mark_begin + 1;
}

static void show_line(struct span span, struct shown_line *out)
{
    size_t begin, end;
    cut_line(span, SIZE_MAX, &begin, &end);
    if (end - begin > LINE_COLUMNS)
        cut_line(span, LINE_COLUMNS / 2, &begin, &end);
    show_range(span, begin, end, out);
}

static int digits_of(unsigned number)
{
    int digits = 1;
    for (; number >= 10; number /= 10)
        digits++;
    return digits;
}

static void print_repeated(FILE *to, const char *what, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        fputs(what, to);
}

static void print_snippet(FILE *to, int gutter, const struct snippet *snippet, bool repeat_line)
{
    struct shown_line line = {0};
    show_line(snippet->at, &line);
    while (line.text.size > 0 && line.text.data[line.text.size - 1] == ' ' &&
           line.text.size > line.mark_end)
        line.text.data[--line.text.size] = '\0';
    if (repeat_line)
        fprintf(to, line.text.size > 0 ? "%*u | %s\n" : "%*u |%s\n", gutter, snippet->line,
                line.text.data);
    fprintf(to, "%*s | ", gutter, "");
    print_repeated(to, " ", line.mark_begin);
    print_repeated(to, snippet->is_primary ? "^" : "-", line.mark_end - line.mark_begin);
    if (snippet->label != NULL)
        fprintf(to, " %s", snippet->label);
    fputc('\n', to);
    text_free(&line.text);
}

static int compare_snippets(const void *a, const void *b)
{
    const struct snippet *x = a, *y = b;
    if (x->at.begin != y->at.begin)
        return x->at.begin < y->at.begin ? -1 : 1;
    return (int)y->is_primary - (int)x->is_primary;
}

/* The snippets of one file, in the order of their lines, under one arrow. */
static void print_file(FILE *to, int gutter, struct snippet *snippets, size_t count, bool is_first)
{
    unsigned line = 0, column = 0;
    span_position(snippets[0].at, &line, &column);
    fprintf(to, "%*s%s %s:%u:%u\n", gutter, "",
            is_first ? "-->" : ":::", snippets[0].at.source->path, line, column);
    fprintf(to, "%*s |\n", gutter, "");
    qsort(snippets, count, sizeof *snippets, compare_snippets);
    for (size_t i = 0; i < count; i++) {
        bool repeat_line = i == 0 || snippets[i].line != snippets[i - 1].line;
        if (i > 0 && snippets[i].line > snippets[i - 1].line + 1)
            fprintf(to, "%*s\n", gutter + 2, "...");
        print_snippet(to, gutter, &snippets[i], repeat_line);
    }
}

static size_t collect_snippets(const struct diag *diag, struct snippet *out)
{
    size_t count = 0;
    unsigned column;
    if (diag->at.source != NULL)
        out[count++] = (struct snippet){diag->at, 0, true, diag->label};
    for (size_t i = 0; i < diag->extra_count; i++)
        if (diag->extras[i].kind == EXTRA_ALSO && diag->extras[i].at.source != NULL)
            out[count++] = (struct snippet){diag->extras[i].at, 0, false, diag->extras[i].text};
    for (size_t i = 0; i < count; i++)
        span_position(out[i].at, &out[i].line, &column);
    return count;
}

static void print_text(const struct diag *diag, FILE *to)
{
    if (diag->head != NULL)
        fprintf(to, "%s: %s\n", diag->head, diag->message);
    else
        fprintf(to, "%s[%s]: %s\n", diag->is_lint ? "warning" : "error", code_name(diag->code),
                diag->message);
    struct snippet snippets[EXTRAS_MAX + 1];
    size_t left = collect_snippets(diag, snippets);
    int gutter = 1;
    for (size_t i = 0; i < left; i++)
        if (digits_of(snippets[i].line) > gutter)
            gutter = digits_of(snippets[i].line);
    bool has_place = left > 0;
    for (struct snippet *next = snippets; left > 0;) {
        /* Those in the file of `next` come to the front, the others keep their order. */
        size_t same = 1;
        for (size_t i = 1; i < left; i++) {
            if (next[i].at.source != next[0].at.source)
                continue;
            struct snippet moved = next[i];
            memmove(next + same + 1, next + same, (i - same) * sizeof *next);
            next[same++] = moved;
        }
        print_file(to, gutter, next, same, next == snippets);
        next += same;
        left -= same;
    }
    bool separated = false;
    for (size_t i = 0; i < diag->extra_count; i++) {
        const struct extra *extra = &diag->extras[i];
        if (extra->kind == EXTRA_ALSO && extra->at.source != NULL)
            continue;
        if (has_place && !separated)
            fprintf(to, "%*s |\n", gutter, "");
        separated = true;
        fprintf(to, "%*s = %s: %s\n", gutter, "", extra->kind == EXTRA_HELP ? "help" : "note",
                extra->text);
    }
}

/* JSON form: one object a line. */

static void json_text(FILE *to, const char *text)
{
    fputc('"', to);
    size_t left = strlen(text);
    while (left > 0) {
        uint32_t c = 0;
        size_t step = utf8_sequence(text, left, &c);
        if (step == 0) /* a path can hold any byte */
            fputs("\uFFFD", to);
        else if (c == '"' || c == '\\')
            fprintf(to, "\\%c", (char)c);
        else if (c < 0x20)
            fprintf(to, "\\u%04x", (unsigned)c);
        else
            fwrite(text, 1, step, to);
        text += step == 0 ? 1 : step;
        left -= step == 0 ? 1 : step;
    }
    fputc('"', to);
}

static void json_place(FILE *to, struct span at)
{
    if (at.source == NULL)
        return;
    unsigned line, column, end_line, end_column;
    span_position(at, &line, &column);
    span_position((struct span){at.source, at.end, at.end}, &end_line, &end_column);
    fputs(",\"path\":", to);
    json_text(to, at.source->path);
    fprintf(to, ",\"line\":%u,\"column\":%u,\"end_line\":%u,\"end_column\":%u", line, column,
            end_line, end_column);
}

static void json_extras(const struct diag *diag, FILE *to, enum extra_kind kind, const char *name)
{
    bool first = true;
    fprintf(to, ",\"%s\":[", name);
    for (size_t i = 0; i < diag->extra_count; i++) {
        const struct extra *extra = &diag->extras[i];
        if (extra->kind != kind)
            continue;
        fputs(first ? "" : ",", to);
        first = false;
        if (kind != EXTRA_ALSO) {
            json_text(to, extra->text);
            continue;
        }
        fputs("{\"message\":", to);
        json_text(to, extra->text);
        json_place(to, extra->at);
        fputc('}', to);
    }
    fputc(']', to);
}

static void print_json(const struct diag *diag, FILE *to)
{
    if (diag->head != NULL) {
        fputs("{\"severity\":\"failure\",\"head\":", to);
        json_text(to, diag->head);
        fputs(",\"message\":", to);
    } else {
        fprintf(to, "{\"severity\":\"%s\",\"code\":\"%s\",\"message\":",
                diag->is_lint ? "warning" : "error", code_name(diag->code));
    }
    json_text(to, diag->message);
    json_place(to, diag->at);
    if (diag->label != NULL) {
        fputs(",\"label\":", to);
        json_text(to, diag->label);
    }
    json_extras(diag, to, EXTRA_ALSO, "also");
    json_extras(diag, to, EXTRA_NOTE, "notes");
    json_extras(diag, to, EXTRA_HELP, "help");
    fputs("}\n", to);
}

void diag_print_one(const struct diag *diag, FILE *to, bool json)
{
    if (json)
        print_json(diag, to);
    else
        print_text(diag, to);
}

static int compare_places(const struct program *program, const struct diag *a, const struct diag *b)
{
    const struct source *x = a->at.source, *y = b->at.source;
    if (x != y) {
        if (x == NULL || y == NULL)
            return x == NULL ? 1 : -1;                    /* those without a place come last */
        if (x == program->source || y == program->source) /* what it stands on comes first */
            return x == program->source ? 1 : -1;
        int order = strcmp(x->path, y->path);
        if (order != 0)
            return order;
    }
    if (a->at.begin != b->at.begin)
        return a->at.begin < b->at.begin ? -1 : 1;
    return 0;
}

static void print_hidden(FILE *to, bool json, unsigned hidden, const char *what, bool separate)
{
    if (hidden == 0)
        return;
    if (json)
        fprintf(to,
                "{\"severity\":\"note\",\"message\":\"%u more %s%s not shown\",\"hidden\":%u}\n",
                hidden, what, hidden == 1 ? " is" : "s are", hidden);
    else
        fprintf(to, "%s%u more %s%s not shown\n", separate ? "\n" : "", hidden, what,
                hidden == 1 ? " is" : "s are");
}

void diag_print(const struct program *program, FILE *to, bool json)
{
    const struct diags *diags = program->diags;
    if (diags == NULL)
        return;
    struct diag *sorted[2 * SHOWN_MAX];
    size_t count = 0;
    for (size_t i = 0; i < diags->shown.count; i++) {
        struct diag *diag = diags->shown.items[i];
        size_t at = count++;
        for (; at > 0 && compare_places(program, diag, sorted[at - 1]) < 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = diag;
    }
    for (size_t i = 0; i < count; i++) {
        if (json) {
            print_json(sorted[i], to);
            continue;
        }
        fputs(i > 0 ? "\n" : "", to);
        print_text(sorted[i], to);
    }
    unsigned hidden_errors = diags->error_count - diags->shown_errors;
    print_hidden(to, json, hidden_errors, "error", true);
    print_hidden(to, json, diags->lint_count - diags->shown_lints, "warning", hidden_errors == 0);
}

/* Names alike. */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Damerau-Levenshtein (optimal string alignment) in three rows; case differences cost nothing. */
static size_t distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t rows[3][SUGGEST_MAX_BYTES + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= b_size; j++)
        last[j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        now[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            bool same = lower(a[i - 1]) == lower(b[j - 1]);
            size_t best = last[j - 1] + !same;
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]) && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
        size_t *oldest = before;
        before = last;
        last = now;
        now = oldest;
    }
    return last[b_size];
}

const char *nearest_name(const char *name, const char *const *candidates, size_t count)
{
    size_t size = strlen(name);
    size_t limit = (size < 3 ? 3 : size) / 3;
    size_t best = limit + 1;
    const char *nearest = NULL;
    if (size == 0 || size > SUGGEST_MAX_BYTES)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t other = strlen(candidates[i]);
        if (other > SUGGEST_MAX_BYTES || other > size + limit || size > other + limit ||
            strcmp(name, candidates[i]) == 0)
            continue;
        size_t steps = distance(name, size, candidates[i], other);
        /* A name of one or two letters is not suggested for one that shares none with it. */
        if (steps >= best || (steps >= size && steps > 0))
            continue;
        best = steps;
        nearest = candidates[i];
    }
    return nearest;
}
