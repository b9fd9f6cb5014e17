/* csv.c: cutting CSV into records and fields (row.h). */
#include "row.h"

#include <stdlib.h>

enum { FIELD_START, UNQUOTED, QUOTED, AFTER_QUOTE, AFTER_QUOTE_CR };

static const char bare_quote[] = "a quote stands inside an unquoted field";
static const char text_behind[] = "text stands behind a closing quote";

static const uint8_t byte_order_mark[] = {0xEF, 0xBB, 0xBF};

void pipe_csv_init(struct pipe_csv_splitter *s, size_t max_record_bytes)
{
    *s = (struct pipe_csv_splitter){.max_record_bytes = max_record_bytes};
}

void pipe_csv_free(struct pipe_csv_splitter *s)
{
    pipe_buf_free(&s->carry);
    pipe_buf_free(&s->unescaped);
    free(s->fields);
    pipe_csv_init(s, s->max_record_bytes);
}

void pipe_csv_feed(struct pipe_csv_splitter *s, const void *data, size_t size_bytes)
{
    s->at = data;
    s->end = s->at + size_bytes;
}

void pipe_csv_finish(struct pipe_csv_splitter *s)
{
    s->finished = true;
}

static void move_to(struct pipe_csv_splitter *s, const uint8_t *to)
{
    s->offset += (uint64_t)(to - s->at);
    s->at = to;
}

/* Passes over a byte-order mark at the very beginning; its bytes go to carry if it turns out to be
 * none. */
static void skip_byte_order_mark(struct pipe_csv_splitter *s)
{
    if (s->bom_bytes >= sizeof byte_order_mark)
        return;
    while (s->at < s->end && s->bom_bytes < sizeof byte_order_mark &&
           *s->at == byte_order_mark[s->bom_bytes]) {
        s->bom_bytes++;
        move_to(s, s->at + 1);
    }
    if (s->bom_bytes == sizeof byte_order_mark) {
        s->record_begin = s->offset;
    } else if (s->at < s->end || s->finished) {
        pipe_buf_add(&s->carry, byte_order_mark, s->bom_bytes);
        s->raw_bytes = s->bom_bytes;
        s->state = s->bom_bytes > 0 ? UNQUOTED : FIELD_START;
        s->bom_bytes = sizeof byte_order_mark;
    }
}

static uint8_t step(struct pipe_csv_splitter *s, uint8_t c)
{
    switch (s->state) {
    case QUOTED:
        return c == '"' ? AFTER_QUOTE : QUOTED;
    case AFTER_QUOTE:
        if (c == '"')
            return QUOTED;
        if (c == '\r')
            return AFTER_QUOTE_CR;
        if (c != ',')
            s->cause = text_behind;
        break;
    case AFTER_QUOTE_CR:
        s->cause = text_behind;
        break;
    default:
        if (c == '"' && s->state == FIELD_START)
            return QUOTED;
        if (c == '"')
            s->cause = bare_quote;
    }
    return c == ',' ? FIELD_START : UNQUOTED;
}

/* Runs over the text up to the line end of this record, which it returns; NULL: it is not before
 * end. */
static const uint8_t *find_line_end(struct pipe_csv_splitter *s, const uint8_t *at,
                                    const uint8_t *end)
{
    while (at < end) {
        if (s->state == QUOTED) {
            at = memchr(at, '"', (size_t)(end - at));
            if (at == NULL)
                return NULL;
            s->quotes = true;
        } else if (s->state <= UNQUOTED) {
            const uint8_t *line_end = memchr(at, '\n', (size_t)(end - at));
            const uint8_t *behind = line_end != NULL ? line_end : end;
            const uint8_t *quote = memchr(at, '"', (size_t)(behind - at));
            const uint8_t *stop = quote != NULL ? quote : behind;
            if (stop > at)
                s->state = stop[-1] == ',' ? FIELD_START : UNQUOTED;
            if (quote == NULL)
                return line_end;
            at = quote;
            s->quotes = true;
        } else if (*at == '\n') {
            return at;
        }
        s->state = step(s, *at++);
    }
    return NULL;
}

static void add_field(struct pipe_csv_splitter *s, size_t count, struct pipe_str text, bool quoted)
{
    if (count == s->field_capacity) {
        s->field_capacity = count < 16 ? 16 : count * 2;
        s->fields = pipe_realloc(s->fields, s->field_capacity * sizeof *s->fields);
    }
    s->fields[count] = (struct pipe_csv_field){text, quoted};
}

/* Behind an opening quote: the field's text; *at moves to the character behind the closing quote.
 */
static struct pipe_str take_quoted(struct pipe_csv_splitter *s, const char **at, const char *end)
{
    const char *begin = *at, *quote = memchr(begin, '"', (size_t)(end - begin));
    if (quote + 1 >= end || quote[1] != '"') {
        *at = quote + 1;
        return pipe_str_of(begin, (size_t)(quote - begin));
    }
    size_t unescaped_at = s->unescaped.size; /* room for all was reserved: it does not move */
    for (;;) {
        pipe_buf_add(&s->unescaped, begin, (size_t)(quote - begin));
        if (quote + 1 >= end || quote[1] != '"')
            break;
        pipe_buf_add_byte(&s->unescaped, '"');
        begin = quote + 2;
        quote = memchr(begin, '"', (size_t)(end - begin));
    }
    *at = quote + 1;
    return pipe_str_of(s->unescaped.data + unescaped_at, s->unescaped.size - unescaped_at);
}

/* The text is known to be well formed. */
static size_t split_fields(struct pipe_csv_splitter *s, struct pipe_str text)
{
    const char *at = text.data, *end = text.data + text.size;
    size_t count = 0;
    s->unescaped.size = 0;
    if (s->quotes)
        pipe_buf_reserve(&s->unescaped, text.size);
    for (;;) {
        bool quoted = at < end && *at == '"';
        if (quoted) {
            at++;
            add_field(s, count++, take_quoted(s, &at, end), true);
        } else {
            const char *comma = at < end ? memchr(at, ',', (size_t)(end - at)) : NULL;
            const char *behind = comma != NULL ? comma : end;
            add_field(s, count++, pipe_str_of(at, (size_t)(behind - at)), false);
            at = behind;
        }
        if (at == end)
            return count;
        at++; /* the comma */
    }
}

/* Of a file in UTF-16 they are everywhere. In quotes a NUL is what a sink has written. */
static bool has_bare_nul(const struct pipe_csv_splitter *s, struct pipe_str text)
{
    bool quoted = false;
    if (text.size == 0 || memchr(text.data, '\0', text.size) == NULL)
        return false;
    for (size_t i = 0; s->quotes && i < text.size; i++) {
        quoted = quoted != (text.data[i] == '"');
        if (text.data[i] == '\0' && !quoted)
            return true;
    }
    return !s->quotes;
}

static void make_record(struct pipe_csv_splitter *s, struct pipe_str text, bool had_line_end,
                        struct pipe_csv_record *record)
{
    if (had_line_end && !s->too_long && text.size > 0 && text.data[text.size - 1] == '\r')
        text.size--;
    if (s->too_long || text.size > s->max_record_bytes) {
        text.size = text.size < s->max_record_bytes ? text.size : s->max_record_bytes;
        s->cause = "the record is longer than a record may be";
    } else if (s->cause == NULL && s->state == QUOTED) {
        s->cause = "a quoted field is not closed";
    } else if (s->cause == NULL && s->state == AFTER_QUOTE_CR && !had_line_end) {
        s->cause = text_behind;
    } else if (s->cause == NULL && has_bare_nul(s, text)) {
        s->cause = "a NUL byte stands in the record outside of quotes";
    }
    *record = (struct pipe_csv_record){
        .text = text, .cause = s->cause, .begin = s->record_begin, .end = s->offset};
    if (s->cause == NULL) {
        record->field_count = split_fields(s, text);
        record->fields = s->fields;
    }
    s->cause = NULL;
    s->state = FIELD_START;
    s->quotes = s->too_long = false;
    s->record_begin = s->offset;
    s->raw_bytes = 0;
}

/* Keeps a part of an unfinished record, as far as it is within the bound. */
static void keep(struct pipe_csv_splitter *s, const uint8_t *begin, const uint8_t *end)
{
    size_t size = (size_t)(end - begin), room = s->max_record_bytes + 1 - s->carry.size;
    pipe_buf_add(&s->carry, begin, size < room ? size : room);
    s->raw_bytes += size;
}

bool pipe_csv_next(struct pipe_csv_splitter *s, struct pipe_csv_record *record)
{
    if (s->carry_used)
        s->carry.size = 0;
    s->carry_used = false;
    skip_byte_order_mark(s);
    const uint8_t *begin = s->at, *behind = begin, *line_end = NULL;
    if (!s->too_long && begin < s->end) {
        /* A CR before the line end is not part of the record, so one byte more may come. */
        size_t room = s->max_record_bytes + 1 - s->raw_bytes, left = (size_t)(s->end - begin);
        behind = begin + (left <= room ? left : room + 1);
        line_end = find_line_end(s, begin, behind);
        s->too_long = line_end == NULL && left > room;
    }
    if (s->too_long && behind < s->end)
        line_end = memchr(behind, '\n', (size_t)(s->end - behind));
    if (line_end == NULL && !(s->finished && s->raw_bytes + (size_t)(s->end - begin) > 0)) {
        keep(s, begin, s->end);
        move_to(s, s->end);
        return false;
    }
    const uint8_t *text_end = line_end != NULL ? line_end : s->end;
    struct pipe_str text = pipe_str_of(begin, (size_t)(text_end - begin));
    if (s->carry.size > 0) {
        keep(s, begin, text_end);
        text = pipe_str_of(s->carry.data, s->carry.size);
        s->carry_used = true;
    }
    move_to(s, line_end != NULL ? line_end + 1 : s->end);
    make_record(s, text, line_end != NULL, record);
    return true;
}
