/*
 * row.h: descriptors of the structs that hold generated rows, and what can be done with any row by
 * its descriptor: JSON, CSV, Avro, the compact state encoding, compare and hash. Generated code for
 * the hot paths is built from the primitives in avro.h, json.h and key.h, which this header
 * includes; both agree byte for byte.
 *
 * Ownership: what a reader puts in a row points into the input bytes or the arena. Errors: bool,
 * false with the field and cause in *error (may be NULL). Untrusted bytes are bounds-checked
 * everywhere; depth is at most PIPE_MAX_DEPTH, memory at most the arena's limit.
 */
#ifndef PIPE_ROW_H
#define PIPE_ROW_H

#include "avro.h"
#include "json.h"
#include "key.h"
#include "value.h"

#ifdef __cplusplus
extern "C" {
#endif

enum pipe_kind {
    PIPE_BOOL,         /* bool */
    PIPE_INT32,        /* int32_t */
    PIPE_INT64,        /* int64_t */
    PIPE_FLOAT32,      /* float, finite */
    PIPE_FLOAT64,      /* double, finite */
    PIPE_DECIMAL,      /* pipe_decimal; precision, scale */
    PIPE_STRING,       /* struct pipe_str; is_json: its text is a JSON value */
    PIPE_UUID,         /* struct pipe_str of 36 lower-case characters */
    PIPE_ENUM,         /* uint32_t; symbols, symbol_count */
    PIPE_BYTES,        /* struct pipe_str; fixed_bytes: 0, or the exact length */
    PIPE_DATE,         /* int32_t, days since 1970 */
    PIPE_TIMESTAMP_MS, /* int64_t */
    PIPE_TIMESTAMP_US, /* int64_t */
    PIPE_DURATION,     /* int64_t, ms */
    PIPE_RECORD,       /* the struct of `record` */
    PIPE_ARRAY,        /* struct pipe_array; element… */
    PIPE_MAP           /* struct pipe_map; element… */
};

/*
 * Items are `T` when elements are not nullable, else `struct { T value; bool is_null; }`. Entries
 * of a map are `struct { struct pipe_str key; T value; }`, with `bool is_null;` behind value when
 * nullable. So a value lies at offset 0 of an item and 16 of an entry, and is_null right behind it
 * (offset + sizeof(T)). Keys of a map are unique; the order is that of the input. items may be NULL
 * only when count is 0.
 */
struct pipe_array {
    void *items;
    uint32_t count;
};
struct pipe_map {
    void *entries;
    uint32_t count;
};
#define PIPE_MAP_VALUE_OFFSET 16

struct pipe_row_type;

struct pipe_type {
    enum pipe_kind kind;
    uint8_t precision, scale; /* PIPE_DECIMAL */
    uint32_t fixed_bytes;     /* PIPE_BYTES; PIPE_DECIMAL: an Avro fixed of this size, else bytes */
    bool is_json;             /* PIPE_STRING */
    const char *const *symbols; /* PIPE_ENUM */
    uint32_t symbol_count;
    const struct pipe_row_type *record; /* PIPE_RECORD */
    const struct pipe_type *element;    /* PIPE_ARRAY, PIPE_MAP */
    bool element_nullable;
    uint32_t element_bytes;  /* sizeof an item, or of an entry of a map */
    bool element_null_first; /* order of the union in Avro, if element_nullable */
};

#define PIPE_NOT_NULL UINT32_MAX

struct pipe_column {
    const char *name;
    const struct pipe_type *type;
    uint32_t offset;      /* of the value in the row's struct, bytes */
    uint32_t null_offset; /* of its `bool x_null`; PIPE_NOT_NULL: not nullable */
    bool null_first;      /* Avro union ["null", T], else [T, "null"] */
    bool has_default; /* default_json: as in the Avro schema (bytes as a string of code points up to
                         255) */
    const char *default_json;
};

struct pipe_row_type {
    const char *name;
    const struct pipe_column *columns;
    uint32_t column_count;
    uint32_t size_bytes; /* sizeof the struct */
};

static inline bool pipe_column_is_null(const struct pipe_column *column, const void *row)
{
    return column->null_offset != PIPE_NOT_NULL &&
           *(const bool *)((const char *)row + column->null_offset);
}
static inline const void *pipe_column_value(const struct pipe_column *column, const void *row)
{
    return (const char *)row + column->offset;
}
size_t pipe_type_size(const struct pipe_type *type); /* sizeof(T), bytes */
const char *pipe_kind_name(enum pipe_kind kind);     /* "int64" */

/* --- JSON (row_json.c): grammar.md, Record formats ----------------------------------------------
 */

/*
 * One JSON object, surrounded by nothing but white space. Reading a float column refuses what
 * overflows. Names twice are refused in every typed object and map, also names that no column has;
 * values of unknown names must be JSON but are not looked into further. Decimals have no exponent;
 * base64 is strict.
 */
bool pipe_row_from_json(const struct pipe_row_type *type, struct pipe_str text,
                        struct pipe_arena *arena, void *row, struct pipe_error *error);
/* One column's default, or null; false if it has neither. For records of older writers. */
bool pipe_row_default(const struct pipe_row_type *type, uint32_t column, struct pipe_arena *arena,
                      void *row, struct pipe_error *error);
/* One value from JSON, e.g. a column of a test row. *is_null is false if null is not allowed. */
bool pipe_value_from_json(const struct pipe_type *type, bool nullable, struct pipe_str text,
                          struct pipe_arena *arena, void *value, bool *is_null,
                          struct pipe_error *error);
/* `{"a":1,"b":null}` with every column in order, no spaces, no line end. */
void pipe_row_to_json(const struct pipe_row_type *type, const void *row, struct pipe_buf *buf);
void pipe_value_to_json(const struct pipe_type *type, const void *value, struct pipe_buf *buf);

/* --- CSV (csv.c, row_csv.c): RFC 4180 -----------------------------------------------------------
 */

struct pipe_csv_field {
    struct pipe_str text; /* unquoted */
    bool quoted;
};

/* Reads one column from text, as in JSON without quotes; nested types are refused. */
bool pipe_value_from_text(const struct pipe_type *type, struct pipe_str text,
                          struct pipe_arena *arena, void *value, struct pipe_error *error);
/*
 * fields[positions[i]] is column i, PIPE_CSV_DEFAULT: its default; positions NULL: by position.
 * `expected` is the number of fields of the header or of the columns; another number is refused
 * ("ragged row").
 */
#define PIPE_CSV_DEFAULT UINT32_MAX
bool pipe_row_from_csv(const struct pipe_row_type *type, const struct pipe_csv_field *fields,
                       size_t field_count, size_t expected, const uint32_t *positions,
                       struct pipe_arena *arena, void *row, struct pipe_error *error);
/* From the header line's fields: where each column is, or PIPE_CSV_DEFAULT for those of `later`
 * that it lacks. false: another one is missing, or one is there twice. */
bool pipe_csv_positions(const struct pipe_row_type *type, const uint32_t *later, size_t later_count,
                        const struct pipe_csv_field *header, size_t field_count,
                        uint32_t *positions, struct pipe_error *error);
/* With "\n"; quotes only where needed; null is nothing, empty text "". Nested values: their JSON.
 */
void pipe_row_to_csv(const struct pipe_row_type *type, const void *row, struct pipe_buf *buf);
void pipe_csv_header(const struct pipe_row_type *type, struct pipe_buf *buf);

/*
 * Cuts input into records, chunk by chunk. Usage:
 *     pipe_csv_init(&s, max); loop: pipe_csv_feed(&s, data, size); while (pipe_csv_next(&s,
 * &record)) …; at the end pipe_csv_finish(&s) and the same while loop once more. `data` must stay
 * until next has returned false; a record is valid until the following call of next. The result
 * does not depend on how the input is cut. A quote inside an unquoted field, or text behind a
 * closing quote, refuses that record only. A record beyond max is refused, and reading goes on
 * behind the next line end after that (an opening quote that is never closed takes up to max bytes
 * with it). NUL is refused. An empty line is a record of one empty field. A CR that is not before
 * LF is text.
 */
struct pipe_csv_record {
    struct pipe_str text; /* as it came, without line end, at most max bytes */
    const struct pipe_csv_field *fields;
    size_t field_count;
    const char *cause;   /* NULL: good */
    uint64_t begin, end; /* byte offsets in the input; end is behind the line end */
};
struct pipe_csv_splitter {
    size_t max_record_bytes;
    const uint8_t *at, *end;   /* what is left of the chunk */
    uint64_t offset;           /* of `at` in the input */
    uint64_t record_begin;     /* offset of the current record */
    size_t raw_bytes;          /* of the current record, in earlier chunks */
    struct pipe_buf carry;     /* their text, clipped */
    struct pipe_buf unescaped; /* text of fields with doubled quotes */
    struct pipe_csv_field *fields;
    size_t field_capacity;
    uint8_t state, bom_bytes;
    bool quotes, too_long, finished, carry_used;
    const char *cause;
};
void pipe_csv_init(struct pipe_csv_splitter *splitter, size_t max_record_bytes);
void pipe_csv_free(struct pipe_csv_splitter *splitter);
void pipe_csv_feed(struct pipe_csv_splitter *splitter, const void *data, size_t size_bytes);
void pipe_csv_finish(struct pipe_csv_splitter *splitter); /* the last record may lack a line end */
bool pipe_csv_next(struct pipe_csv_splitter *splitter, struct pipe_csv_record *record);

/* --- Avro binary (row_avro.c), same schema on both sides ----------------------------------------
 */

void pipe_row_to_avro(const struct pipe_row_type *type, const void *row, struct pipe_buf *buf);
/* Leaves reader->at behind the row; on failure reader->field is a path in the reader's arena. */
bool pipe_row_from_avro(const struct pipe_row_type *type, struct pipe_reader *reader, void *row);
/* Skips a value that is encoded as `type` says. */
bool pipe_avro_skip_value(const struct pipe_type *type, struct pipe_reader *reader);

/* --- State (row_state.c): compact, canonical (equal rows, equal bytes), not for other programs
 * ---- */

void pipe_row_save(const struct pipe_row_type *type, const void *row, struct pipe_buf *buf);
/* Reads one row at *at and moves it on; false if the bytes are no such row. Points into the bytes.
 */
bool pipe_row_load(const struct pipe_row_type *type, const uint8_t **at, const uint8_t *end,
                   struct pipe_arena *arena, void *row);
void pipe_value_save(const struct pipe_type *type, const void *value, struct pipe_buf *buf);
bool pipe_value_load(const struct pipe_type *type, const uint8_t **at, const uint8_t *end,
                     struct pipe_arena *arena, void *value);
/* A copy whose texts and elements are in the arena; false beyond its limit. */
bool pipe_row_copy(const struct pipe_row_type *type, const void *from, struct pipe_arena *arena,
                   void *to);

/* A total order, column by column: null first, false before true, numbers by value, texts by bytes,
 * enums by index, arrays item by item, maps entry by entry in their order. */
int pipe_row_compare(const struct pipe_row_type *type, const void *a, const void *b);
int pipe_value_compare(const struct pipe_type *type, const void *a, const void *b);
static inline bool pipe_row_equal(const struct pipe_row_type *type, const void *a, const void *b)
{
    return pipe_row_compare(type, a, b) == 0;
}
uint64_t pipe_row_hash(const struct pipe_row_type *type,
                       const void *row); /* the same in any program */

#ifdef __cplusplus
}
#endif

#endif
