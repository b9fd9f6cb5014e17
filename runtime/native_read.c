/*
 * native_read.c: blocks back into JSON rows (native.h).
 *
 * A block is taken in steps: numbers, names, and the parts of its columns, each of which goes on
 * where the last piece of bytes ended. Only when a block is whole are its values looked at, row by
 * row. Its memory grows with the bytes that came, never with a number that it claims.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "native_internal.h"

#define NAME_BYTES_MAX 4096u /* of a column, or of its type */

enum step_kind {
    STEP_COLUMNS, /* numbers at the head of a block */
    STEP_ROWS,
    STEP_NAME, /* of a column */
    STEP_TYPE,
    STEP_VERSION, /* of a dictionary */
    STEP_NULLS,
    STEP_FIXED,
    STEP_TEXTS,
    STEP_ENDS,
    STEP_FLAGS, /* of a dictionary, and what follows it */
    STEP_KEY_COUNT,
    STEP_KEYS,
    STEP_INDEX_COUNT,
    STEP_INDEXES
};

struct step {
    enum step_kind kind;
    struct native_column *column; /* NULL: the block's */
    uint32_t table_column;
};

struct pipe_native_reader {
    struct native_table table;
    struct step *steps;
    uint32_t step_count, step;
    uint64_t block_rows;
    size_t block_bytes; /* that came, of the block in hand */
    uint64_t rows;      /* in blocks before */
    bool started;       /* the step in hand has begun */
    /* of the step in hand */
    uint64_t left;      /* values, bytes */
    uint64_t number;    /* as far as it came */
    uint32_t number_at; /* bits or bytes of it that came */
    bool in_text;       /* STEP_TEXTS, STEP_KEYS: behind the length */
    uint64_t text_left;
    struct pipe_buf text; /* of a name or key */
    struct pipe_buf json; /* of the row */
    char *error;
    size_t error_bytes;
    bool failed;
};

struct piece {
    const uint8_t *at, *end;
};

static bool fail(struct pipe_native_reader *reader, const char *format, ...) PIPE_PRINTF(2, 3);
static bool fail(struct pipe_native_reader *reader, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(reader->error, reader->error_bytes, "%s, behind %" PRIu64 " rows: %s",
             reader->table.def->name, reader->rows, text);
    reader->failed = true;
    return false;
}

static int name_size(const struct native_column *column)
{
    return (int)column->name.size;
}

/* ---- Steps ---- */

static void add_step(struct pipe_native_reader *reader, enum step_kind kind,
                     struct native_column *column, uint32_t table_column)
{
    reader->steps = pipe_realloc(reader->steps, (reader->step_count + 1) * sizeof *reader->steps);
    reader->steps[reader->step_count++] = (struct step){kind, column, table_column};
}

static void add_versions(struct pipe_native_reader *reader, struct native_column *column,
                         uint32_t index)
{
    if (column->kind == NATIVE_LOW)
        add_step(reader, STEP_VERSION, column, index);
    for (uint32_t i = 0; i < column->child_count; i++)
        add_versions(reader, &column->children[i], index);
}

static void add_values(struct pipe_native_reader *reader, struct native_column *column,
                       uint32_t index)
{
    switch (column->kind) {
    case NATIVE_FIXED:
    case NATIVE_STRING:
        if (column->nullable)
            add_step(reader, STEP_NULLS, column, index);
        add_step(reader, column->kind == NATIVE_FIXED ? STEP_FIXED : STEP_TEXTS, column, index);
        break;
    case NATIVE_LOW:
        for (int kind = STEP_FLAGS; kind <= STEP_INDEXES; kind++)
            add_step(reader, (enum step_kind)kind, column, index);
        break;
    case NATIVE_LIST:
        add_step(reader, STEP_ENDS, column, index);
        break;
    case NATIVE_TUPLE:
        if (column->child_count == 0)
            add_step(reader, STEP_FIXED, column, index);
        break;
    }
    for (uint32_t i = 0; i < column->child_count; i++)
        add_values(reader, &column->children[i], index);
}

struct pipe_native_reader *pipe_native_reader_new(const struct pipe_table_def *table,
                                                  const struct pipe_row_type *row)
{
    struct pipe_native_reader *reader = pipe_calloc(1, sizeof *reader);
    native_table_init(&reader->table, table, row);
    add_step(reader, STEP_COLUMNS, NULL, 0);
    add_step(reader, STEP_ROWS, NULL, 0);
    for (uint32_t i = 0; i < reader->table.column_count; i++) {
        add_step(reader, STEP_NAME, NULL, i);
        add_step(reader, STEP_TYPE, NULL, i);
        add_versions(reader, &reader->table.columns[i], i);
        add_values(reader, &reader->table.columns[i], i);
    }
    return reader;
}

void pipe_native_reader_free(struct pipe_native_reader *reader)
{
    if (reader == NULL)
        return;
    native_table_free(&reader->table);
    pipe_buf_free(&reader->text);
    pipe_buf_free(&reader->json);
    free(reader->steps);
    free(reader);
}

bool pipe_native_ends(const struct pipe_native_reader *reader)
{
    return !reader->failed && reader->step == 0 && reader->number_at == 0;
}

/* ---- Bytes ---- */

/* A number of seven bits a byte; false: more of it is to come, or it is too large (failed). */
static bool take_length(struct pipe_native_reader *reader, struct piece *piece, uint64_t *value)
{
    while (piece->at < piece->end) {
        uint8_t byte = *piece->at++;
        if (reader->number_at == 63 && byte > 1)
            return fail(reader, "a length is beyond 64 bits");
        reader->number |= (uint64_t)(byte & 0x7F) << reader->number_at;
        reader->number_at += 7;
        if (byte & 0x80)
            continue;
        *value = reader->number;
        reader->number = reader->number_at = 0;
        return true;
    }
    return false;
}

static bool take_u64(struct pipe_native_reader *reader, struct piece *piece, uint64_t *value)
{
    while (piece->at < piece->end) {
        reader->number |= (uint64_t)*piece->at++ << (8 * reader->number_at++);
        if (reader->number_at < 8)
            continue;
        *value = reader->number;
        reader->number = reader->number_at = 0;
        return true;
    }
    return false;
}

/* What came of *left bytes; true: all of them did. */
static bool take_bytes(struct pipe_buf *to, struct piece *piece, uint64_t *left)
{
    size_t here = (size_t)(piece->end - piece->at);
    size_t size = *left < here ? (size_t)*left : here;
    pipe_buf_add(to, piece->at, size);
    piece->at += size;
    *left -= size;
    return *left == 0;
}

/* A name or key, now that all of it came. */
static struct pipe_str text_of(const struct pipe_native_reader *reader)
{
    return reader->text.size > 0 ? pipe_str_of(reader->text.data, reader->text.size) : PIPE_STR("");
}

/* ---- The head of a column ---- */

/* As the server writes a type it may quote other names than we do. */
static bool same_text(struct pipe_str a, const char *b)
{
    size_t i = 0;
    for (;;) {
        while (i < a.size && a.data[i] == '`')
            i++;
        while (*b == '`')
            b++;
        if (i == a.size || *b == '\0')
            return i == a.size && *b == '\0';
        if (a.data[i++] != *b++)
            return false;
    }
}

static bool take_name(struct pipe_native_reader *reader, const struct step *step,
                      struct piece *piece)
{
    const struct pipe_table_column *column = &reader->table.def->columns[step->table_column];
    if (!reader->in_text) {
        if (!take_length(reader, piece, &reader->text_left))
            return false;
        if (reader->text_left > NAME_BYTES_MAX)
            return fail(reader, "the name or type of column %s has %" PRIu64 " bytes", column->name,
                        reader->text_left);
        reader->text.size = 0;
        reader->in_text = true;
    }
    if (!take_bytes(&reader->text, piece, &reader->text_left))
        return false;
    reader->in_text = false;
    struct pipe_str text = text_of(reader);
    const char *want = step->kind == STEP_NAME ? column->name : column->type;
    if (step->kind == STEP_NAME
            ? text.size == strlen(want) && memcmp(text.data, want, text.size) == 0
            : same_text(text, want))
        return true;
    return fail(reader, "column %u is %s, expected was %s%s%s", step->table_column + 1,
                pipe_quote(text.data, text.size).text, want, step->kind == STEP_TYPE ? " of " : "",
                step->kind == STEP_TYPE ? column->name : "");
}

static bool take_head(struct pipe_native_reader *reader, const struct step *step,
                      struct piece *piece)
{
    uint64_t value;
    if (step->kind == STEP_NAME || step->kind == STEP_TYPE)
        return take_name(reader, step, piece);
    if (!take_length(reader, piece, &value))
        return false;
    if (step->kind == STEP_COLUMNS && value != reader->table.column_count)
        return fail(reader, "a block has %" PRIu64 " columns, expected were %u", value,
                    reader->table.column_count);
    if (step->kind == STEP_ROWS && value > NATIVE_ROWS_MAX)
        return fail(reader, "a block has %" PRIu64 " rows, at most %u are read", value,
                    NATIVE_ROWS_MAX);
    if (step->kind == STEP_ROWS)
        reader->block_rows = value;
    return true;
}

/* ---- The values of a column ---- */

static uint64_t last_end(const struct native_column *list)
{
    uint64_t end = 0;
    if (list->data.size > 0)
        memcpy(&end, list->data.data + list->data.size - sizeof end, sizeof end);
    return end;
}

static uint64_t rows_of(const struct pipe_native_reader *reader, const struct native_column *column)
{
    for (; column->parent != NULL; column = column->parent) {
        if (column->parent->kind == NATIVE_LIST)
            return last_end(column->parent);
    }
    return reader->block_rows;
}

static bool take_texts(struct pipe_native_reader *reader, struct native_column *column,
                       struct piece *piece)
{
    while (reader->left > 0) {
        if (!reader->in_text && !take_length(reader, piece, &reader->text_left))
            return false;
        reader->in_text = true;
        if (!take_bytes(&column->data, piece, &reader->text_left))
            return false;
        reader->in_text = false;
        uint64_t end = column->data.size;
        pipe_buf_add(&column->ends, &end, sizeof end);
        reader->left--;
    }
    return true;
}

static bool take_ends(struct pipe_native_reader *reader, struct native_column *column,
                      struct piece *piece)
{
    uint64_t before = last_end(column), end;
    for (; reader->left > 0; reader->left--) {
        if (!take_u64(reader, piece, &end))
            return false;
        if (end < before || end - before > PIPE_MAX_ELEMENTS)
            return fail(reader,
                        "the elements of column %.*s end at %" PRIu64 " and then at %" PRIu64,
                        name_size(column), column->name.data, before, end);
        pipe_buf_add(&column->data, &end, sizeof end);
        before = end;
    }
    return true;
}

static bool add_key(struct pipe_native_reader *reader, struct native_column *column)
{
    uint32_t number = (uint32_t)(column->keys.size / sizeof number), symbol = 0;
    const struct pipe_type *type = column->type;
    struct pipe_str text = text_of(reader);
    if (column->nullable && number == 0)
        symbol = UINT32_MAX; /* stands for null, whatever it says */
    else
        while (symbol < type->symbol_count &&
               !pipe_str_equal(text,
                               pipe_str_of(type->symbols[symbol], strlen(type->symbols[symbol]))))
            symbol++;
    if (symbol == type->symbol_count && text.size > 0) /* "": the default, which no row may have */
        return fail(reader, "column %.*s has %s, which is no symbol of it", name_size(column),
                    column->name.data, pipe_quote(text.data, text.size).text);
    pipe_buf_add(&column->keys, &symbol, sizeof symbol);
    return true;
}

static bool take_keys(struct pipe_native_reader *reader, struct native_column *column,
                      struct piece *piece)
{
    for (; reader->left > 0; reader->left--) {
        if (!reader->in_text) {
            if (!take_length(reader, piece, &reader->text_left))
                return false;
            if (reader->text_left > NAME_BYTES_MAX)
                return fail(reader, "a symbol of column %.*s has %" PRIu64 " bytes",
                            name_size(column), column->name.data, reader->text_left);
            reader->text.size = 0;
            reader->in_text = true;
        }
        if (!take_bytes(&reader->text, piece, &reader->text_left))
            return false;
        reader->in_text = false;
        if (!add_key(reader, column))
            return false;
    }
    return true;
}

/* A dictionary's numbers. Of a column without values there are none. */
static bool take_low_number(struct pipe_native_reader *reader, const struct step *step,
                            struct piece *piece)
{
    struct native_column *column = step->column;
    uint64_t value, rows = rows_of(reader, column);
    if (step->kind != STEP_VERSION && rows == 0)
        return true;
    if (!take_u64(reader, piece, &value))
        return false;
    bool good = true;
    switch (step->kind) {
    case STEP_VERSION:
        good = value == NATIVE_LOW_VERSION;
        break;
    case STEP_FLAGS: /* one dictionary a block, with keys of its own */
        good = (value & ~(uint64_t)NATIVE_LOW_FLAGS) <= 3 && (value & NATIVE_LOW_OWN_KEYS) != 0;
        column->width = 1u << (value & 3);
        break;
    case STEP_KEY_COUNT:
        good = value <= NATIVE_ROWS_MAX;
        reader->left = value;
        break;
    default: /* STEP_INDEX_COUNT */
        good = value == rows;
        break;
    }
    return good || fail(reader, "the dictionary of column %.*s is of another kind (%" PRIu64 ")",
                        name_size(column), column->name.data, value);
}

static bool take_values(struct pipe_native_reader *reader, const struct step *step,
                        struct piece *piece)
{
    struct native_column *column = step->column;
    if (!reader->started && step->kind != STEP_KEYS) {
        column->rows = rows_of(reader, column);
        reader->left = column->rows;
        if (step->kind == STEP_FIXED || step->kind == STEP_INDEXES)
            reader->left *= column->width;
    }
    reader->started = true;
    switch (step->kind) {
    case STEP_NULLS:
        return take_bytes(&column->nulls, piece, &reader->left);
    case STEP_TEXTS:
        return take_texts(reader, column, piece);
    case STEP_ENDS:
        return take_ends(reader, column, piece);
    case STEP_KEYS:
        return take_keys(reader, column, piece);
    default: /* STEP_FIXED, STEP_INDEXES */
        return take_bytes(&column->data, piece, &reader->left);
    }
}

/* True: the step is done. */
static bool take_step(struct pipe_native_reader *reader, struct piece *piece)
{
    const struct step *step = &reader->steps[reader->step];
    switch (step->kind) {
    case STEP_COLUMNS:
    case STEP_ROWS:
    case STEP_NAME:
    case STEP_TYPE:
        return take_head(reader, step, piece);
    case STEP_VERSION:
    case STEP_FLAGS:
    case STEP_KEY_COUNT:
    case STEP_INDEX_COUNT:
        return reader->block_rows == 0 || take_low_number(reader, step, piece);
    case STEP_NULLS:
    case STEP_FIXED:
    case STEP_TEXTS:
    case STEP_ENDS:
    case STEP_KEYS:
    case STEP_INDEXES:
        break;
    }
    return take_values(reader, step, piece);
}

/* ---- Rows ---- */

/* `row` is that of the column of the table, for messages. */
static bool write_value(struct pipe_native_reader *reader, const struct native_column *column,
                        uint64_t i, uint64_t row);

static bool refuse(struct pipe_native_reader *reader, const struct native_column *column,
                   uint64_t row, const char *cause)
{
    while (column->parent != NULL)
        column = column->parent;
    return fail(reader, "row %" PRIu64 " of the block, column %.*s: %s", row + 1, name_size(column),
                column->name.data, cause);
}

static bool write_decimal(struct pipe_native_reader *reader, const struct native_column *column,
                          const uint8_t *at, uint64_t row)
{
    int32_t narrow;
    int64_t wide;
    pipe_decimal value = 0;
    if (column->width == 4) {
        memcpy(&narrow, at, sizeof narrow);
        value = narrow;
    } else if (column->width == 8) {
        memcpy(&wide, at, sizeof wide);
        value = wide;
    } else {
        memcpy(&value, at, sizeof value);
    }
    if (!pipe_decimal_fits(value, column->type->precision))
        return refuse(reader, column, row, "a decimal has too many digits");
    pipe_json_decimal(&reader->json, value, column->type->scale);
    return true;
}

static void write_uuid(struct pipe_buf *json, const uint8_t *at)
{
    uint8_t bytes[16];
    char text[36];
    for (unsigned i = 0; i < 8; i++) {
        bytes[7 - i] = at[i];
        bytes[15 - i] = at[8 + i];
    }
    pipe_uuid_from_bytes(bytes, text);
    pipe_json_clean(json, pipe_str_of(text, sizeof text));
}

static bool write_float(struct pipe_native_reader *reader, const struct native_column *column,
                        const uint8_t *at, uint64_t row)
{
    float narrow = 0;
    double wide = 0;
    if (column->type->kind == PIPE_FLOAT32)
        memcpy(&narrow, at, sizeof narrow);
    else
        memcpy(&wide, at, sizeof wide);
    if (!isfinite(narrow) || !isfinite(wide))
        return refuse(reader, column, row, "a float is not finite");
    if (column->type->kind == PIPE_FLOAT32)
        pipe_json_f32(&reader->json, narrow);
    else
        pipe_json_f64(&reader->json, wide);
    return true;
}

/* Numbers of 4 and 8 bytes. */
static bool write_integer(struct pipe_native_reader *reader, const struct native_column *column,
                          const uint8_t *at, uint64_t row)
{
    int32_t narrow;
    int64_t value;
    if (column->width == 4) {
        memcpy(&narrow, at, sizeof narrow);
        value = narrow;
    } else {
        memcpy(&value, at, sizeof value);
    }
    switch (column->type->kind) {
    case PIPE_DATE:
        if (!pipe_date_ok((int32_t)value))
            return refuse(reader, column, row, "a date is outside of the years 0001 to 9999");
        pipe_json_date(&reader->json, (int32_t)value);
        break;
    case PIPE_TIMESTAMP_MS:
        if (!pipe_ts_ms_ok(value))
            return refuse(reader, column, row, "an instant is outside of the years 0001 to 9999");
        pipe_json_timestamp_ms(&reader->json, value);
        break;
    case PIPE_TIMESTAMP_US:
        if (!pipe_ts_us_ok(value))
            return refuse(reader, column, row, "an instant is outside of the years 0001 to 9999");
        pipe_json_timestamp_us(&reader->json, value);
        break;
    default:
        pipe_json_i64(&reader->json, value);
        break;
    }
    return true;
}

static bool write_fixed(struct pipe_native_reader *reader, const struct native_column *column,
                        uint64_t i, uint64_t row)
{
    const uint8_t *at = column->data.data + i * column->width;
    switch (column->type->kind) {
    case PIPE_BOOL:
        if (*at > 1)
            return refuse(reader, column, row, "a bool is neither 0 nor 1");
        pipe_json_bool(&reader->json, *at == 1);
        return true;
    case PIPE_UUID:
        write_uuid(&reader->json, at);
        return true;
    case PIPE_DECIMAL:
        return write_decimal(reader, column, at, row);
    case PIPE_FLOAT32:
    case PIPE_FLOAT64:
        return write_float(reader, column, at, row);
    default:
        return write_integer(reader, column, at, row);
    }
}

static bool write_text(struct pipe_native_reader *reader, const struct native_column *column,
                       uint64_t i, uint64_t row)
{
    uint64_t ends[2] = {0};
    if (i > 0)
        memcpy(ends, column->ends.data + (i - 1) * sizeof *ends, sizeof ends);
    else
        memcpy(&ends[1], column->ends.data, sizeof *ends);
    struct pipe_str text = PIPE_STR("");
    if (ends[1] > ends[0])
        text = pipe_str_of(column->data.data + ends[0], ends[1] - ends[0]);
    bool bytes = column->type != NULL && column->type->kind == PIPE_BYTES;
    if (bytes && column->type->fixed_bytes > 0 && text.size != column->type->fixed_bytes)
        return refuse(reader, column, row, "bytes are longer or shorter than they must be");
    if (!bytes && !pipe_utf8_check(text.data, text.size))
        return refuse(reader, column, row, "a text is not valid UTF-8");
    if (bytes)
        pipe_json_base64(&reader->json, text);
    else
        pipe_json_string(&reader->json, text);
    return true;
}

/* Where the key of value i stands; the index was checked when the block was whole. */
static uint32_t symbol_of(const struct native_column *column, uint64_t i)
{
    uint64_t index = 0;
    uint32_t symbol;
    memcpy(&index, column->data.data + i * column->width, column->width);
    if (index >= column->keys.size / sizeof symbol)
        return column->type->symbol_count;
    memcpy(&symbol, column->keys.data + index * sizeof symbol, sizeof symbol);
    return symbol;
}

static bool is_null(const struct native_column *column, uint64_t i)
{
    if (column->kind == NATIVE_TUPLE)
        return column->may_be_null && column->mark != NULL && is_null(column->mark, i);
    if (!column->nullable)
        return false;
    return column->kind == NATIVE_LOW ? symbol_of(column, i) == UINT32_MAX
                                      : column->nulls.data[i] != 0;
}

static bool write_list(struct pipe_native_reader *reader, const struct native_column *column,
                       uint64_t i, uint64_t row)
{
    bool map = column->child_count == 2;
    uint64_t at = 0, end;
    if (i > 0)
        memcpy(&at, column->data.data + (i - 1) * sizeof at, sizeof at);
    memcpy(&end, column->data.data + i * sizeof end, sizeof end);
    pipe_buf_add_byte(&reader->json, map ? '{' : '[');
    for (uint64_t k = at; k < end; k++) {
        if (k > at)
            pipe_buf_add_byte(&reader->json, ',');
        if (map) {
            if (!write_text(reader, &column->children[0], k, row))
                return false;
            pipe_buf_add_byte(&reader->json, ':');
        }
        if (!write_value(reader, &column->children[map], k, row))
            return false;
    }
    pipe_buf_add_byte(&reader->json, map ? '}' : ']');
    return true;
}

static bool write_fields(struct pipe_native_reader *reader, const struct native_column *columns,
                         uint32_t count, uint64_t i, uint64_t row)
{
    for (uint32_t c = 0; c < count; c++) {
        pipe_buf_add(&reader->json, columns[c].prefix.data, columns[c].prefix.size);
        if (!write_value(reader, &columns[c], i, row))
            return false;
    }
    struct pipe_str end = count > 0 ? PIPE_STR("}") : PIPE_STR("{}");
    pipe_buf_add(&reader->json, end.data, end.size);
    return true;
}

static bool write_value(struct pipe_native_reader *reader, const struct native_column *column,
                        uint64_t i, uint64_t row)
{
    uint32_t symbol;
    if (is_null(column, i)) {
        if (!column->may_be_null) /* nor is the record that it is part of, else that was written */
            return refuse(reader, column, row, "a value is null that can't be");
        pipe_json_null(&reader->json);
        return true;
    }
    switch (column->kind) {
    case NATIVE_FIXED:
        return write_fixed(reader, column, i, row);
    case NATIVE_STRING:
        return write_text(reader, column, i, row);
    case NATIVE_LOW:
        symbol = symbol_of(column, i);
        if (symbol >= column->type->symbol_count)
            return refuse(reader, column, row, "a value is no symbol of the enum");
        pipe_json_enum(&reader->json, column->type->symbols, symbol);
        return true;
    case NATIVE_LIST:
        return write_list(reader, column, i, row);
    case NATIVE_TUPLE:
        break;
    }
    return write_fields(reader, column->children, column->child_count, i, row);
}

typedef bool each_row(void *context, struct pipe_str json, int32_t partition, int64_t offset);

/* Gives away the rows of a block that is whole. */
static bool give_rows(struct pipe_native_reader *reader, each_row *each, void *context)
{
    const struct native_table *table = &reader->table;
    uint32_t count = table->row.column_count;
    for (uint64_t i = 0; i < reader->block_rows; i++) {
        int32_t partition;
        int64_t offset;
        reader->json.size = 0;
        if (!write_fields(reader, table->columns, count, i, i))
            return false;
        memcpy(&partition, table->columns[count].data.data + i * sizeof partition,
               sizeof partition);
        memcpy(&offset, table->columns[count + 1].data.data + i * sizeof offset, sizeof offset);
        if (!each(context, pipe_str_of(reader->json.data, reader->json.size), partition, offset)) {
            reader->failed = true;
            return false;
        }
    }
    return true;
}

static bool end_block(struct pipe_native_reader *reader, each_row *each, void *context)
{
    if (!give_rows(reader, each, context))
        return false;
    reader->rows += reader->block_rows;
    native_table_clear(&reader->table);
    reader->step = 0;
    reader->block_rows = reader->block_bytes = 0;
    return true;
}

bool pipe_native_take(struct pipe_native_reader *reader, struct pipe_str bytes, each_row *each,
                      void *context, char *error, size_t error_bytes)
{
    struct piece piece = {(const uint8_t *)bytes.data, (const uint8_t *)bytes.data + bytes.size};
    reader->error = error;
    reader->error_bytes = error_bytes;
    if (error_bytes > 0)
        *error = '\0';
    while (!reader->failed) {
        const uint8_t *before = piece.at;
        bool done = take_step(reader, &piece);
        reader->block_bytes += (size_t)(piece.at - before);
        if (reader->block_bytes > NATIVE_BLOCK_BYTES_MAX && !reader->failed)
            fail(reader, "a block has more than %zu bytes; smaller ones are made by max_block_size",
                 NATIVE_BLOCK_BYTES_MAX);
        if (reader->failed || !done)
            break;
        reader->started = false;
        if (++reader->step == reader->step_count && !end_block(reader, each, context))
            break;
        if (reader->step == 0 && piece.at == piece.end)
            break;
    }
    return !reader->failed;
}
