/*
 * contracts.h: what json_places.c, avro_schema.c, avro_types.c, avro_defaults.c, compatibility.c
 * and contracts.c share. Everything lives in the program's arena.
 */
#ifndef CONTRACTS_H
#define CONTRACTS_H

#include "pipec.h"

enum {
    SCHEMA_MAX_BYTES = 1024 * 1024,
    SCHEMA_MAX_DEPTH = 64,     /* records, arrays and maps within each other */
    SCHEMA_MAX_FIELDS = 4096,  /* with those of a record again wherever it is used */
    AVRO_NAME_MAX_BYTES = 255, /* of a name, each part of a namespace */
};

/* Where each value of a JSON text stands: jansson keeps no positions. */
struct json_place {
    uint32_t begin, end;         /* of the value in the text */
    uint32_t key_begin, key_end; /* of its key between the quotes, as written; empty in arrays */
    struct json_place *parent, *first, *last, *next;
};

/* The places of a text that jansson has accepted. */
const struct json_place *json_places(struct program *program, const struct source *source);
/* The member's place; that of the object if the key is written with escapes or is absent. */
const struct json_place *place_member(const struct source *source, const struct json_place *object,
                                      const char *key);
const struct json_place *place_element(const struct json_place *array, size_t index);

/* A type where null may stand beside it: of a field, of the elements of an array or map. */
struct slot {
    const struct type *type; /* NULL: an error was reported */
    bool nullable, null_first;
};

/* One schema file being read (avro_schema.c); avro_types.c reads its types. */
struct named_type {
    const char *full_name;
    const struct type *type; /* NULL while it is being read, and when it failed */
    bool is_open;            /* being read: a reference from inside is a recursion */
    struct span span;
    unsigned height;      /* levels of nesting in it */
    unsigned field_count; /* with those of the records in it */
};

struct schema_reader {
    struct program *program;
    const struct source *source;
    struct span where; /* who names the file */
    bool failed;
    VEC(struct named_type *) named;
    struct text canonical;
    struct text path; /* of the field being read: `items[].price` */
    unsigned depth, deepest, field_count;
};

struct schema_value {
    const json_t *json;
    const struct json_place *place;
};

struct schema_value value_member(const struct schema_reader *reader, struct schema_value object,
                                 const char *key);
struct diag *schema_error(struct schema_reader *reader, enum code code, struct schema_value at,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));
struct span value_span(const struct schema_reader *reader, struct schema_value value);
/* How messages call the field being read: "field `items[].price`", or "the schema". */
const char *reader_subject(const struct schema_reader *reader);

/* Reads a type, without or with null beside it, and appends its canonical form. */
const struct type *read_type(struct schema_reader *reader, struct schema_value value,
                             const char *namespace);
struct slot read_slot(struct schema_reader *reader, struct schema_value value,
                      const char *namespace);
/* avro_schema.c: a record; its canonical form is appended. */
const struct type *read_record(struct schema_reader *reader, struct schema_value value,
                               const char *namespace);
/* The checked full name and namespace of a definition, entered as open; NULL after an error. */
struct named_type *open_named(struct schema_reader *reader, struct schema_value value,
                              const char *enclosing, const char **namespace);
const char **read_aliases(struct schema_reader *reader, struct schema_value value,
                          const char *namespace, bool qualified, size_t *count);

/* Why `value` is no default for the slot, in words; NULL if it is one. Union: its first branch. */
const char *default_problem(struct program *program, struct slot slot, const json_t *value);

/* `value` as JSON in one line, for messages: at most 80 bytes. */
const char *json_written(struct program *program, const json_t *value);
uint64_t avro_fingerprint(const char *canonical, size_t size_bytes);

const char *short_name(const char *full_name);

/* The writer's field that is read into `reader`: of its name, else of its first alias that is
 * there; or NULL. */
const struct field *matching_field(const struct field *reader, const struct record_type *writer);
/* A string without U+0000, which a default may hold; NULL: it is no such string. */
const char *plain_text(const json_t *value);
/* contract_check; `accepts`: the first version must read all others, whatever is declared. */
bool check_versions(struct program *program, const struct contract *contract, struct span where,
                    bool accepts);
/* The type inside arrays and maps. */
const struct type *innermost(const struct type *type);

#endif
