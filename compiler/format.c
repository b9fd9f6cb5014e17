/*
 * format.c: `pipec fmt`. The program is parsed for its structure and lexed again for its tokens and
 * comments; the tokens are written back, each statement broken into lines as format_marks.c says,
 * lines that are too long at their outermost `or`, `and`, comma, operator.
 */
#include <limits.h>
#include <string.h>
#include "format.h"

bool piece_is(const struct piece *piece, const char *text)
{
    return strlen(text) == piece->size && memcmp(piece->text, text, piece->size) == 0;
}

static bool piece_is_any(const struct piece *piece, const char *const *texts)
{
    for (; *texts; texts++)
        if (piece_is(piece, *texts))
            return true;
    return false;
}

size_t layout_find(const struct layout *layout, uint32_t offset)
{
    size_t low = 0, high = layout->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (layout->pieces[middle].begin < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- Tokens and comments ---- */

static unsigned count_columns(const char *text, size_t size)
{
    unsigned columns = 0;
    for (size_t i = 0; i < size; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

static unsigned count_lines(const char *text, uint32_t from, uint32_t to)
{
    unsigned lines = 0;
    for (; from < to; from++)
        lines += text[from] == '\n';
    return lines;
}

static struct comment comment_of(const struct source *source, struct span span)
{
    struct comment comment = {source->text + span.begin, span.end - span.begin, false};
    while (comment.size && strchr(" \t\r", comment.text[comment.size - 1]))
        comment.size--;
    return comment;
}

/* Behind a comma or semicolon the comment of the token before it reads better, and the line is not
 * torn. */
static void move_comments(struct layout *layout)
{
    for (size_t i = 0; i + 1 < layout->count; i++) {
        struct piece *piece = &layout->pieces[i], *next = &layout->pieces[i + 1];
        if (piece->after.text && (piece_is(next, ",") || piece_is(next, ";")) &&
            !next->after.text && next->before.count == 0) {
            next->after = piece->after;
            piece->after.text = NULL;
        }
    }
}

static void read_pieces(struct layout *layout, const struct source *source)
{
    struct arena *arena = layout->program->arena;
    token_list tokens = {0};
    lex_tokens(layout->program, source, &tokens);
    layout->pieces = arena_alloc(arena, (tokens.count + 1) * sizeof *layout->pieces);
    uint32_t end = 0;
    bool after_token = false;
    for (size_t i = 0; i <= tokens.count; i++) {
        struct piece *piece = &layout->pieces[layout->count];
        struct span span = i < tokens.count ? tokens.items[i].span
                                            : (struct span){source, (uint32_t)source->size,
                                                            (uint32_t)source->size};
        unsigned lines = count_lines(source->text, end, span.begin);
        bool is_comment = i < tokens.count && tokens.items[i].is_comment;
        end = span.end;
        if (is_comment && after_token && lines == 0) {
            piece[-1].after = comment_of(source, span);
            after_token = false;
            continue;
        }
        if (piece->before.count == 0)
            piece->blank_before = lines > 1;
        else
            piece->blank_after_comments = lines > 1;
        if (is_comment) {
            struct comment comment = comment_of(source, span);
            comment.blank_before = piece->before.count > 0 && lines > 1;
            vec_push(arena, &piece->before, comment);
            after_token = false;
            continue;
        }
        piece->text = source->text + span.begin;
        piece->size = span.end - span.begin;
        piece->columns = count_columns(piece->text, piece->size);
        piece->begin = span.begin;
        after_token = true;
        layout->count += i < tokens.count;
    }
    move_comments(layout);
}

/* ---- Spaces ---- */

/* A word that is a keyword with nothing of a function about it. */
static bool is_plain_keyword(const struct piece *piece)
{
    const struct keyword *keyword = keyword_find(piece->text, piece->size);
    return keyword && keyword->status == RESERVED && !piece_is(piece, "cast") &&
           !piece_is(piece, "try");
}

static bool is_word(const struct piece *piece)
{
    char first = piece->text[0];
    return first == '"' || first == '_' || ((first | 32) >= 'a' && (first | 32) <= 'z');
}

static bool has_space(const struct piece *left, const struct piece *right)
{
    static const char *const close[] = {",", ";", ")", "]", ".", ":", "..", NULL};
    static const char *const open[] = {"(", "[", ".", "..", NULL};
    if (piece_is(left, "-") && piece_is(right, "-"))
        return true;
    if (piece_is_any(right, close) || piece_is_any(left, open) || left->is_unary)
        return false;
    if (piece_is(right, "("))
        return right->spaced || !is_word(left) || is_plain_keyword(left);
    return true;
}

unsigned layout_columns(const struct layout *layout, size_t from, size_t to)
{
    unsigned columns = 0;
    for (size_t i = from; i < to; i++) {
        const struct piece *piece = &layout->pieces[i];
        if ((i > from && piece->before.count) || (i + 1 < to && piece->after.text))
            return UINT_MAX;
        columns += piece->columns;
        if (i > from)
            columns += has_space(piece - 1, piece) + piece->pad;
        if (columns > FORMAT_MAX_COLUMNS)
            break;
    }
    return columns;
}

/* Depths, and which minus is unary. */
static void measure(struct layout *layout, const struct statement *statement, size_t from,
                    size_t to)
{
    static const char *const open[] = {"(", "[", "case", NULL};
    static const char *const close[] = {")", "]", "end", NULL};
    unsigned depth = 0;
    for (size_t i = from; i < to; i++) {
        struct piece *piece = &layout->pieces[i];
        piece->depth = depth;
        depth += piece_is_any(piece, open);
        depth -= depth > 0 && piece_is_any(piece, close);
        if (!piece_is(piece, "-"))
            continue;
        const struct piece *left = &layout->pieces[i - 1];
        char last = left->text[left->size - 1];
        bool after_operand = last == ')' || last == ']' || last == '\'' ||
                             (last >= '0' && last <= '9') || is_word(left);
        const struct keyword *keyword = keyword_find(left->text, left->size);
        if (keyword && keyword->status == RESERVED)
            after_operand = piece_is(left, "end") || piece_is(left, "true") ||
                            piece_is(left, "false") || piece_is(left, "null");
        /* Digits with a unit end in a letter; in traffic there are no sums, only signs. */
        after_operand = after_operand || (left->text[0] >= '0' && left->text[0] <= '9');
        piece->is_unary = !after_operand || statement->kind == STATEMENT_TRAFFIC;
    }
}

/* ---- Lines ---- */

/* Whether the `and` at `at` belongs to a `between`. */
static bool is_between_and(const struct layout *layout, size_t at)
{
    unsigned depth = layout->pieces[at].depth;
    for (size_t i = at; i-- > 0 && layout->pieces[i].depth >= depth;) {
        if (layout->pieces[i].depth > depth)
            continue;
        if (piece_is(&layout->pieces[i], "between"))
            return true;
        if (piece_is(&layout->pieces[i], "and") || piece_is(&layout->pieces[i], "or"))
            return false;
    }
    return false;
}

/* How good a place for a line break is before the piece `at`; 0: only if there is no other, -1:
 * never. */
static int break_rank(const struct layout *layout, size_t at)
{
    static const char *const of_case[] = {"when", "else", "end", NULL};
    static const char *const sums[] = {"||", "+", "-", NULL};
    static const char *const factors[] = {"*", "/", "%", "=", "<>", "<", ">", "<=", ">=", NULL};
    const struct piece *piece = &layout->pieces[at];
    if (piece_is(piece, "or") || piece_is_any(piece, of_case))
        return 5;
    if (piece_is(piece, "and"))
        return is_between_and(layout, at) ? 0 : 4;
    if (piece_is(piece - 1, ","))
        return 3;
    if (piece_is_any(piece, sums) && !piece->is_unary)
        return 2;
    if (piece_is_any(piece, factors))
        return 1;
    return has_space(piece - 1, piece) || piece_is(piece - 1, "(") ? 0 : -1;
}

/* The end of the line that starts at `from`: the best break at which it fits into `room` columns.
 */
static size_t choose_break(const struct layout *layout, size_t from, size_t to, unsigned room)
{
    size_t best = to;
    int best_rank = -1;
    unsigned best_depth = 0, columns = layout->pieces[from].columns;
    for (size_t i = from + 1; i < to; i++) {
        const struct piece *piece = &layout->pieces[i];
        if (columns > room && best_rank >= 0)
            break;
        int rank = break_rank(layout, i);
        bool first = best_rank < 0;
        bool better =
            rank > 0 && best_rank > 0
                ? piece->depth < best_depth || (piece->depth == best_depth && rank >= best_rank)
                : rank >= best_rank;
        if (rank >= 0 && (first || better)) {
            best = i;
            best_rank = rank;
            best_depth = piece->depth;
        }
        columns += has_space(piece - 1, piece) + piece->pad + piece->columns;
    }
    return best;
}

static void write_spaces(struct text *out, unsigned count)
{
    text_printf(out, "%*s", (int)count, "");
}

static void write_comment(struct text *out, struct comment comment)
{
    text_add(out, comment.text, comment.size);
}

static void write_comments_before(struct text *out, const struct piece *piece, unsigned indent)
{
    for (size_t i = 0; i < piece->before.count; i++) {
        write_spaces(out, indent);
        write_comment(out, piece->before.items[i]);
        text_puts(out, "\n");
    }
}

/* One line without its end; a comment may stand behind its last piece only. */
static void write_line(const struct layout *layout, struct text *out, size_t from, size_t to,
                       unsigned indent)
{
    write_spaces(out, indent);
    for (size_t i = from; i < to; i++) {
        const struct piece *piece = &layout->pieces[i];
        if (i > from)
            write_spaces(out, has_space(piece - 1, piece) + piece->pad);
        text_add(out, piece->text, piece->size);
    }
    if (layout->pieces[to - 1].after.text) {
        text_puts(out, "  ");
        write_comment(out, layout->pieces[to - 1].after);
    }
    text_puts(out, "\n");
}

/* The pieces between two marks: one line, or more where comments or the width force it. */
static void write_unit(const struct layout *layout, struct text *out, size_t from, size_t to)
{
    unsigned indent = layout->pieces[from].indent, at_indent = indent;
    size_t torn = from; /* the next place at which a comment forces a new line */
    for (size_t at = from; at < to;) {
        if (torn == at)
            torn++;
        while (torn < to && !layout->pieces[torn - 1].after.text &&
               layout->pieces[torn].before.count == 0)
            torn++;
        size_t end = torn;
        if (layout_columns(layout, at, end) > FORMAT_MAX_COLUMNS - at_indent)
            end = choose_break(layout, at, end, FORMAT_MAX_COLUMNS - at_indent);
        if (at > from || indent > 0)
            write_comments_before(out, &layout->pieces[at], at_indent);
        write_line(layout, out, at, end, at_indent);
        at = end;
        at_indent = indent + FORMAT_CONTINUATION;
    }
}

/* Decides the soft marks: what fits stays on the line. */
static void settle_marks(struct layout *layout, size_t from, size_t to)
{
    size_t line = from;
    for (size_t i = from + 1; i < to; i++) {
        struct piece *piece = &layout->pieces[i];
        if (piece->mark == MARK_SOFT) {
            size_t end = i + 1;
            while (end < to && layout->pieces[end].mark == MARK_NONE)
                end++;
            unsigned room = FORMAT_MAX_COLUMNS - layout->pieces[line].indent;
            piece->mark = layout_columns(layout, line, end) <= room ? MARK_NONE : MARK_HARD;
        }
        if (piece->mark == MARK_HARD)
            line = i;
    }
}

static void write_statement(struct layout *layout, struct text *out,
                            const struct statement *statement, size_t from, size_t to)
{
    measure(layout, statement, from, to);
    layout_mark(layout, statement, from, to);
    settle_marks(layout, from, to);
    for (size_t at = from; at < to;) {
        size_t end = at + 1;
        while (end < to && layout->pieces[end].mark != MARK_HARD)
            end++;
        write_unit(layout, out, at, end);
        at = end;
    }
}

/* Comments before a statement, or at the end of the file, with the blank lines between them. */
static void write_leading(const struct piece *piece, struct text *out)
{
    for (size_t i = 0; i < piece->before.count; i++) {
        if (piece->before.items[i].blank_before)
            text_puts(out, "\n");
        write_comment(out, piece->before.items[i]);
        text_puts(out, "\n");
    }
}

static bool has_lines(const struct text *text)
{
    const char *end = text->data ? memchr(text->data, '\n', text->size) : NULL;
    return end && end + 1 < text->data + text->size;
}

static void write_program(struct layout *layout, const statement_list *statements, size_t first,
                          struct text *out)
{
    bool last_has_lines = false;
    for (size_t i = first; i < statements->count; i++) {
        const struct statement *statement = statements->items[i];
        size_t from = layout_find(layout, statement->span.begin);
        size_t to = layout_find(layout, statement->span.end);
        const struct piece *piece = &layout->pieces[from];
        struct text lines = {0};
        write_statement(layout, &lines, statement, from, to);
        bool many_lines = has_lines(&lines);
        if (out->size && (piece->blank_before || last_has_lines || many_lines))
            text_puts(out, "\n");
        write_leading(piece, out);
        if (piece->before.count && piece->blank_after_comments)
            text_puts(out, "\n");
        text_add(out, lines.data, lines.size);
        text_free(&lines);
        last_has_lines = many_lines;
    }
    const struct piece *end = &layout->pieces[layout->count];
    if (end->before.count && out->size && (end->blank_before || last_has_lines))
        text_puts(out, "\n");
    write_leading(end, out);
}

bool format_program(struct program *program, const struct source *source, struct text *out)
{
    size_t first = 0;
    bool is_parsed = program->source == source && program->statements.count > 0;
    if (!is_parsed) {
        first = program->statements.count;
        unsigned errors = diag_error_count(program);
        parse(program, source);
        if (diag_error_count(program) > errors)
            return false;
    }
    struct layout layout = {.program = program};
    read_pieces(&layout, source);
    write_program(&layout, &program->statements, first, out);
    text_puts(out, ""); /* NUL-terminated also if there is nothing */
    return true;
}
