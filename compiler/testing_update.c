/*
 * testing_update.c: `pipec test --update`: the rows that came out, written into the expectations
 * that failed. Only values, rows and `nothing` are replaced, so comments and the rest stay as they
 * are; a file that was in the canonical layout is in it afterwards.
 */
#include "command.h"
#include "testing.h"

#include <stdlib.h>
#include <string.h>

struct edit {
    uint32_t begin, end;
    const char *text;
};

struct update {
    struct program *program;
    const char *source;
    VEC(struct edit) edits;
};

static void add_edit(struct update *update, uint32_t begin, uint32_t end, const char *text)
{
    vec_push(update->program->arena, &update->edits, ((struct edit){begin, end, text}));
}

/* ---- rows ---- */

static void refuse_row(const struct test_expect *expect, const char *row)
{
    complain("a row of `%s` can't be written as constants and was left out: %s",
             expect->stream->name.text, row);
}

/* Replaces the values of a row that differ. */
static void replace_values(struct update *update, const struct test_expect *expect,
                           struct row_pair pair)
{
    struct program *program = update->program;
    const struct constant *row = expect->expectation->rows.items[pair.expected];
    const struct cells *old = &expect->expected.items[pair.expected];
    const struct cells *now = &expect->actual[0].items[pair.actual];
    bool writable;
    const char *text = test_row_text(program, expect, now, &writable);
    if (!writable) {
        refuse_row(expect, text);
        return;
    }
    for (size_t c = 0; c < expect->column_count; c++) {
        const struct field *field = &expect->stream->row->fields[expect->columns[c]];
        const struct constant *value = test_value(row, field->name);
        struct text out = {0};
        if (strcmp(old->texts[c], now->texts[c]) == 0)
            continue;
        test_constant(program, now->texts[c], field->type, value, &out);
        add_edit(update, value->span.begin, value->span.end,
                 arena_strndup(program->arena, out.data, out.size));
        text_free(&out);
    }
}

/* A row goes with the line it stands on, unless a comment before it would take what follows. */
static void remove_row(struct update *update, struct span row)
{
    uint32_t begin = row.begin, line;
    while (begin > 0 && strchr(" \t", update->source[begin - 1]) != NULL)
        begin--;
    if (begin > 0 && update->source[begin - 1] == '\n') {
        for (line = begin - 1; line > 0 && update->source[line - 1] != '\n';)
            line--;
        const char *comment = strstr(update->source + line, "--");
        if (comment == NULL || comment >= update->source + begin || update->source[row.end] == '\n')
            begin--;
    }
    add_edit(update, begin, row.end, "");
}

static const char *row_indent(const struct update *update, struct span row)
{
    uint32_t begin = row.begin;
    while (begin > 0 && update->source[begin - 1] == ' ')
        begin--;
    if (begin > 0 && update->source[begin - 1] != '\n')
        return "    ";
    return arena_strndup(update->program->arena, update->source + begin, row.begin - begin);
}

/* The rows that nothing stood for, behind the last one or in the place of `nothing`. */
static void add_rows(struct update *update, const struct test_expect *expect, const size_t *rows,
                     size_t count)
{
    const struct expectation *expectation = expect->expectation;
    struct span at = expectation->span;
    const char *indent = "    ";
    struct text out = {0};
    if (!expectation->nothing) {
        at = expectation->rows.items[expectation->rows.count - 1]->span;
        indent = row_indent(update, expectation->rows.items[0]->span);
    }
    for (size_t i = 0; i < count; i++) {
        bool writable;
        const char *text =
            test_row_text(update->program, expect, &expect->actual[0].items[rows[i]], &writable);
        if (writable)
            text_printf(&out, "\n%s%s", indent, text);
        else
            refuse_row(expect, text);
    }
    uint32_t begin = at.end - (expectation->nothing ? (uint32_t)strlen("nothing") : 0);
    while (expectation->nothing && strchr(" \t\r\n", update->source[begin - 1]) != NULL)
        begin--;
    if (out.size > 0)
        add_edit(update, begin, at.end, arena_strndup(update->program->arena, out.data, out.size));
    text_free(&out);
}

static void update_expect(struct update *update, const struct test_expect *expect)
{
    struct difference difference = {0};
    const struct expectation *expectation = expect->expectation;
    test_difference(update->program, expect, 0, &difference);
    size_t missing = difference.missing.count, unexpected = difference.unexpected.count;
    size_t both = missing < unexpected ? missing : unexpected;
    for (size_t i = 0; i < difference.pairs.count; i++)
        replace_values(update, expect, difference.pairs.items[i]);
    for (size_t i = 0; i < both; i++)
        replace_values(
            update, expect,
            (struct row_pair){difference.missing.items[i], difference.unexpected.items[i]});
    bool none_left = unexpected == both && missing == expectation->rows.count && missing > both;
    for (size_t i = both; i < missing; i++) {
        struct span row = expectation->rows.items[difference.missing.items[i]]->span;
        if (none_left && i == both)
            add_edit(update, row.begin, row.end, "nothing");
        else
            remove_row(update, row);
    }
    if (unexpected > both)
        add_rows(update, expect, difference.unexpected.items + both, unexpected - both);
}

/* ---- the text ---- */

static int compare_edits(const void *a, const void *b)
{
    const struct edit *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void apply_edits(struct update *update, struct text *out)
{
    const struct source *source = update->program->source;
    uint32_t at = 0;
    qsort(update->edits.items, update->edits.count, sizeof *update->edits.items, compare_edits);
    for (size_t i = 0; i < update->edits.count; i++) {
        const struct edit *edit = &update->edits.items[i];
        text_add(out, source->text + at, edit->begin - at);
        text_puts(out, edit->text);
        at = edit->end;
    }
    text_add(out, source->text + at, source->size - at);
}

/* The canonical layout of a text; false: it does not parse. */
static bool canonical(const struct source *like, const char *text, size_t size, struct text *out)
{
    struct program *program = program_new(".");
    const struct source *source = source_from_text(program, like->path, text, size);
    bool good = source != NULL && format_program(program, source, out);
    program_free(program);
    return good;
}

/* ---- the lines that changed ---- */

struct lines {
    VEC(struct text) items; /* borrowed */
};

static void split_lines(struct arena *arena, const char *text, size_t size, struct lines *lines)
{
    while (size > 0) {
        const char *end = memchr(text, '\n', size);
        size_t length = end != NULL ? (size_t)(end - text) : size;
        vec_push(arena, &lines->items, ((struct text){(char *)text, length, 0}));
        size_t step = length + (end != NULL);
        text += step;
        size -= step;
    }
}

static bool same_line(const struct text *a, const struct text *b)
{
    return a->size == b->size && memcmp(a->data, b->data, a->size) == 0;
}

static void print_lines(char sign, const struct lines *lines, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        printf("%c%.*s\n", sign, (int)lines->items.items[i].size, lines->items.items[i].data);
}

/* Hunks by the next pair of equal lines, at most WINDOW lines away on either side. */
static void print_changes(struct arena *arena, const struct source *before,
                          const struct text *after)
{
    enum { WINDOW = 200 };
    struct lines old = {0}, new = {0};
    split_lines(arena, before->text, before->size, &old);
    split_lines(arena, after->data, after->size, &new);
    size_t i = 0, j = 0, old_count = old.items.count, new_count = new.items.count;
    while (i < old_count || j < new_count) {
        if (i < old_count && j < new_count && same_line(&old.items.items[i], &new.items.items[j])) {
            i++;
            j++;
            continue;
        }
        size_t a = old_count, b = new_count;
        for (size_t sum = 1; sum < 2 * WINDOW && a == old_count && b == new_count; sum++)
            for (size_t di = 0; di <= sum; di++) {
                size_t dj = sum - di;
                if (i + di >= old_count || j + dj >= new_count ||
                    !same_line(&old.items.items[i + di], &new.items.items[j + dj]))
                    continue;
                a = i + di;
                b = j + dj;
                break;
            }
        printf("%s:%zu\n", before->path, i + 1);
        print_lines('-', &old, i, a);
        print_lines('+', &new, j, b);
        i = a;
        j = b;
    }
}

bool test_update(struct program *program, test_runs *runs, struct text *out)
{
    struct update update = {.program = program, .source = program->source->text};
    const struct source *source = program->source;
    for (size_t r = 0; r < runs->count; r++) {
        struct test_run *run = &runs->items[r];
        size_t edits = update.edits.count;
        for (size_t i = 0; run->errors[0] == NULL && i < run->expects.count; i++)
            update_expect(&update, &run->expects.items[i]);
        run->updated = update.edits.count > edits;
    }
    if (update.edits.count == 0)
        return false;
    struct text edited = {0}, laid_out = {0};
    apply_edits(&update, &edited);
    bool was_canonical = canonical(source, source->text, source->size, &laid_out) &&
                         laid_out.size == source->size &&
                         memcmp(laid_out.data, source->text, source->size) == 0;
    laid_out.size = 0;
    bool good = canonical(source, edited.data, edited.size, &laid_out);
    if (!good)
        complain("`%s` was not changed: the new rows would not parse; this is a fault of pipec",
                 source->path);
    else
        *out = was_canonical ? laid_out : edited;
    text_free(good && was_canonical ? &edited : &laid_out);
    if (!good)
        text_free(&edited);
    else
        print_changes(program->arena, source, out);
    return good;
}
