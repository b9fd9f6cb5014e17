/*
 * compatibility.c: can one version of a contract read what another wrote?
 *
 * Avro's schema resolution, in one place more narrow: a change of the logical type, of precision or
 * of scale is a break, for the bytes would be read but mean something else. Every break is
 * reported.
 */
#include "contracts.h"

#include <string.h>

/* A break that was reported: a change in one version is one cause, however many versions it meets.
 */
struct reported {
    enum code code;
    struct span newer; /* what was changed */
    const char *path, *older_label;
    bool reader_is_newer;
    struct diag *diag;
};
typedef VEC(struct reported) reported_list;

struct comparison {
    struct program *program;
    reported_list *reported;
    const struct contract *contract;
    struct span where;
    const struct schema *reader, *writer;
    bool reader_is_newer;
    const char *reader_name, *writer_name; /* for messages: label, or path if labels are the same */
    const char *obligation;                /* why the one must read the other */
    struct text path;
    bool compatible;
};

/* Both sides of one place, each with its label: of a field its whole type as written. */
struct sides {
    struct span reader, writer;
    const char *reader_label, *writer_label;
};

/* The message of the same change beside another older version; NULL: it is the first. */
static struct diag *find_reported(const struct comparison *c, const struct reported *new)
{
    for (size_t i = 0; i < c->reported->count; i++) {
        const struct reported *old = &c->reported->items[i];
        if (old->code == new->code && old->reader_is_newer == new->reader_is_newer &&
            old->newer.source == new->newer.source &&
            old->newer.begin == new->newer.begin &&strcmp(old->path, new->path) == 0 &&
            strcmp(old->older_label, new->older_label) == 0)
            return old->diag;
    }
    return NULL;
}

static struct diag *report(struct comparison *c, enum code code, const struct sides *sides,
                           const char *rule, const char *message)
{
    bool swap = !c->reader_is_newer;
    struct reported new = {.code = code,
                           .newer = swap ? sides->writer : sides->reader,
                           .path = arena_strndup(c->program->arena, c->path.data, c->path.size),
                           .older_label = swap ? sides->reader_label : sides->writer_label,
                           .reader_is_newer = c->reader_is_newer};
    struct diag *same = find_reported(c, &new);
    c->compatible = false;
    if (same != NULL) {
        diag_note(same, "%s cannot read %s either", c->reader_name, c->writer_name);
        return diag_unshown(c->program);
    }
    struct diag *diag = diag_error(c->program, code, swap ? sides->writer : sides->reader,
                                   "contract `%s`: %s cannot read %s: %s", c->contract->name.text,
                                   c->reader_name, c->writer_name, message);
    diag_label(diag, "%s", swap ? sides->writer_label : sides->reader_label);
    diag_also(diag, swap ? sides->reader : sides->writer, "%s",
              swap ? sides->reader_label : sides->writer_label);
    if (c->where.source != NULL)
        diag_also(diag, c->where, "of this contract");
    diag_note(diag, "%s", rule);
    diag_note(diag, "%s", c->obligation);
    new.diag = diag;
    if (diag_is_shown(diag))
        vec_push(c->program->arena, c->reported, new);
    return diag;
}

/* The schema that is not published yet: what a help proposes is to be done in it. */
static const char *newer_path(const struct comparison *c)
{
    return (c->reader_is_newer ? c->reader : c->writer)->source->path;
}

/* What was published can't read the change, and is not changed any more. */
static void help_older(struct comparison *c, struct diag *diag, const char *keep, const char *later)
{
    if (c->contract->transitive)
        diag_help(diag, "%s in %s: all older versions have to read it", keep, newer_path(c));
    else
        diag_help(diag, "%s in %s; %s", keep, newer_path(c), later);
}

static void help_same_type(struct comparison *c, struct diag *diag)
{
    diag_help(diag, "keep the type in %s, and add a new field with a default beside it",
              newer_path(c));
}

static const char *quoted_path(const struct comparison *c)
{
    if (c->path.size == 0)
        return arena_printf(c->program->arena, "the record `%s`", c->reader->record->name);
    return arena_printf(c->program->arena, "field `%s`", c->path.data);
}

const struct type *innermost(const struct type *type)
{
    while (type->kind == TYPE_ARRAY || type->kind == TYPE_MAP)
        type = type->element;
    return type;
}

const struct field *matching_field(const struct field *reader, const struct record_type *writer)
{
    for (size_t i = 0; i < writer->field_count; i++)
        if (writer->fields[i].name == reader->name)
            return &writer->fields[i];
    for (size_t a = 0; a < reader->alias_count; a++)
        for (size_t i = 0; i < writer->field_count; i++)
            if (writer->fields[i].name == reader->aliases[a])
                return &writer->fields[i];
    return NULL;
}

/* Named types match by their short names, or by an alias of the reader. */
static bool names_match(const char *reader, const char *const *aliases, size_t alias_count,
                        const char *writer)
{
    if (strcmp(short_name(reader), short_name(writer)) == 0)
        return true;
    for (size_t i = 0; i < alias_count; i++)
        if (strcmp(aliases[i], writer) == 0 ||
            strcmp(short_name(aliases[i]), short_name(writer)) == 0)
            return true;
    return false;
}

static void check_names(struct comparison *c, const struct sides *sides, const char *reader,
                        const char *const *aliases, size_t alias_count, const char *writer)
{
    if (names_match(reader, aliases, alias_count, writer))
        return;
    struct diag *diag = report(
        c, PC5027, sides, "named types match by their name without namespace, or by an alias",
        arena_printf(c->program->arena, "the type of %s is `%s` in %s and `%s` in %s",
                     quoted_path(c), writer, c->writer_name, reader, c->reader_name));
    if (c->reader_is_newer)
        diag_help(diag, "keep the name, or add \"aliases\": [\"%s\"] to `%s` in %s", writer, reader,
                  newer_path(c));
    else
        diag_help(diag, "keep the name `%s` in %s: an older version knows no alias for another",
                  reader, newer_path(c));
}

/* How Avro writes a type. */
static const char *wire_base(const struct type *type)
{
    switch (type->kind) {
    case TYPE_BOOL:
        return "boolean";
    case TYPE_INT32:
    case TYPE_DATE:
        return "int";
    case TYPE_INT64:
    case TYPE_TIMESTAMP_MS:
    case TYPE_TIMESTAMP_US:
    case TYPE_DURATION:
        return "long";
    case TYPE_FLOAT32:
        return "float";
    case TYPE_FLOAT64:
        return "double";
    case TYPE_DECIMAL:
    case TYPE_BYTES:
        return type->fixed_bytes > 0 ? "fixed" : "bytes";
    case TYPE_STRING:
    case TYPE_UUID:
        return "string";
    case TYPE_ENUM:
        return "enum";
    case TYPE_RECORD:
        return "record";
    case TYPE_ARRAY:
        return "array";
    case TYPE_MAP:
        return "map";
    case TYPE_POISON:
    case TYPE_NULL:
        break;
    }
    return "null";
}

static bool promotes(const char *writer, const char *reader)
{
    static const char *const rows[][2] = {
        {"int", "long"},    {"int", "float"},    {"int", "double"},   {"long", "float"},
        {"long", "double"}, {"float", "double"}, {"string", "bytes"}, {"bytes", "string"},
    };
    if (strcmp(writer, reader) == 0)
        return true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i][0], writer) == 0 && strcmp(rows[i][1], reader) == 0)
            return true;
    return false;
}

static bool has_meaning(const struct type *type)
{
    return type->kind == TYPE_DATE || type->kind == TYPE_TIMESTAMP_MS ||
           type->kind == TYPE_TIMESTAMP_US || type->kind == TYPE_DURATION ||
           type->kind == TYPE_DECIMAL || type->kind == TYPE_UUID || type->is_json;
}

static void compare_enums(struct comparison *c, const struct sides *sides,
                          const struct type *reader, const struct type *writer)
{
    check_names(c, sides, reader->full_name, reader->aliases, reader->alias_count,
                writer->full_name);
    if (reader->enum_default != NULL)
        return;
    enum { NAMED_MAX = 5 };
    struct text missing = {0};
    size_t count = 0;
    for (size_t i = 0; i < writer->symbol_count; i++) {
        bool known = false;
        for (size_t j = 0; !known && j < reader->symbol_count; j++)
            known = reader->symbols[j] == writer->symbols[i];
        if (!known && count++ < NAMED_MAX)
            text_printf(&missing, "%s`%s`", missing.size > 0 ? ", " : "", writer->symbols[i]);
    }
    if (count > 0) {
        if (count > NAMED_MAX)
            text_printf(&missing, " and %zu more", count - NAMED_MAX);
        struct diag *diag =
            report(c, PC5023, sides,
                   "a symbol that the reader's enum does not have needs a default in that enum",
                   arena_printf(c->program->arena, "enum `%s` of %s lacks %s and has no default",
                                reader->enum_name, quoted_path(c), missing.data));
        if (c->reader_is_newer)
            diag_help(diag, "keep all symbols in %s, or give the enum itself a \"default\": \"%s\"",
                      newer_path(c), reader->symbols[0]);
        else
            help_older(c, diag, "add no symbol",
                       "give the enum a \"default\" there, and the version after it may have them");
    }
    text_free(&missing);
}

/* Both sides are fixed. */
static void compare_fixed(struct comparison *c, const struct sides *sides,
                          const struct type *reader, const struct type *writer)
{
    check_names(c, sides, reader->full_name, reader->aliases, reader->alias_count,
                writer->full_name);
    if (reader->fixed_bytes == writer->fixed_bytes)
        return;
    struct diag *diag =
        report(c, PC5024, sides, "a fixed type is read only by one of the same size",
               arena_printf(c->program->arena, "%s is a fixed of %u bytes in %s and of %u in %s",
                            quoted_path(c), writer->fixed_bytes, c->writer_name,
                            reader->fixed_bytes, c->reader_name));
    help_same_type(c, diag);
}

static void compare_decimals(struct comparison *c, const struct sides *sides,
                             const struct type *reader, const struct type *writer)
{
    if (reader->precision == writer->precision && reader->scale == writer->scale)
        return;
    struct diag *diag = report(
        c, PC5025, sides, "a decimal is read only by one of the same precision and scale",
        arena_printf(c->program->arena, "%s is decimal(%u,%u) in %s and decimal(%u,%u) in %s",
                     quoted_path(c), writer->precision, writer->scale, c->writer_name,
                     reader->precision, reader->scale, c->reader_name));
    help_same_type(c, diag);
}

static void compare_fields(struct comparison *c, const struct record_type *reader,
                           const struct record_type *writer);
static void compare_types(struct comparison *c, const struct sides *sides,
                          const struct type *reader, const struct type *writer);

static void check_null(struct comparison *c, const struct sides *sides, bool reader, bool writer)
{
    if (!writer || reader)
        return;
    struct diag *diag =
        report(c, PC5022, sides, "a value that may be null is read only into an optional one",
               arena_printf(c->program->arena, "%s may be null in %s, but not in %s",
                            quoted_path(c), c->writer_name, c->reader_name));
    if (c->reader_is_newer)
        diag_help(diag, "keep \"null\" in its type in %s", newer_path(c));
    else
        diag_help(diag, "keep \"null\" out of its type in %s, and add an optional field beside it",
                  newer_path(c));
}

static void compare_elements(struct comparison *c, const struct sides *sides,
                             const struct type *reader, const struct type *writer)
{
    size_t path_size = c->path.size;
    text_puts(&c->path, reader->kind == TYPE_MAP ? "{}" : "[]");
    check_null(c, sides, reader->element_nullable, writer->element_nullable);
    compare_types(c, sides, reader->element, writer->element);
    c->path.size = path_size;
    c->path.data[path_size] = '\0';
}

static void compare_types(struct comparison *c, const struct sides *sides,
                          const struct type *reader, const struct type *writer)
{
    const char *from = wire_base(writer), *into = wire_base(reader);
    bool bytes_fit = promotes(from, into);
    bool both_plain = !has_meaning(reader) && !has_meaning(writer);
    if (!bytes_fit) {
        struct diag *diag = report(
            c, PC5021, sides,
            "Avro reads int as long, float or double; long as float or double; float as double; "
            "string as bytes and bytes as string; any other type only as itself",
            arena_printf(c->program->arena, "%s is %s in %s, which is not read as %s",
                         quoted_path(c), from, c->writer_name, into));
        help_same_type(c, diag);
    } else if (!both_plain &&
               (reader->kind != writer->kind || reader->is_json != writer->is_json)) {
        struct diag *diag =
            report(c, PC5026, sides,
                   "a value keeps its logical type: its bytes could be read, but "
                   "they would mean something else",
                   arena_printf(c->program->arena, "%s changed its logical type", quoted_path(c)));
        help_same_type(c, diag);
    } else if (reader->kind == TYPE_ENUM) {
        compare_enums(c, sides, reader, writer);
    } else if (reader->kind == TYPE_RECORD) {
        check_names(c, sides, reader->record->full_name, reader->record->aliases,
                    reader->record->alias_count, writer->record->full_name);
        compare_fields(c, reader->record, writer->record);
    } else if (reader->kind == TYPE_ARRAY || reader->kind == TYPE_MAP) {
        compare_elements(c, sides, reader, writer);
    } else {
        if (reader->kind == TYPE_DECIMAL)
            compare_decimals(c, sides, reader, writer);
        if (strcmp(into, "fixed") == 0)
            compare_fixed(c, sides, reader, writer);
    }
}

static void missing_field(struct comparison *c, const struct field *field,
                          const struct record_type *writer)
{
    struct sides sides = {field->span, writer->span, field->written_type,
                          arena_printf(c->program->arena, "has no `%s`", field->name)};
    struct diag *diag = report(
        c, PC5020, &sides, "a field that the writer does not have needs a default in the reader",
        arena_printf(c->program->arena, "%s, of type %s, is not in %s and has no default in %s",
                     quoted_path(c), field->written_type, c->writer_name, c->reader_name));
    if (c->reader_is_newer)
        diag_help(diag,
                  field->nullable && field->null_first ? "add \"default\": null to `%s` in %s"
                                                       : "add a \"default\" to `%s` in %s",
                  field->name, newer_path(c));
    else
        help_older(c, diag, arena_printf(c->program->arena, "keep `%s`", field->name),
                   "give it a \"default\" there, and the version after it may drop it");
}

/* Two of the reader's fields would take the same field of the writer. */
static void claimed_twice(struct comparison *c, const struct field *first,
                          const struct field *second, const struct field *claimed)
{
    struct sides sides = {second->span, claimed->span, "would be read from it", "this field"};
    struct diag *diag =
        report(c, PC5028, &sides, "a field of the writer is read into one field",
               arena_printf(c->program->arena, "both `%s` and `%s` stand for its field `%s`",
                            first->name, second->name, claimed->name));
    if (c->reader_is_newer)
        diag_help(diag, "take the alias away from one of them in %s", newer_path(c));
    else
        diag_help(diag, "keep a field for each of them in %s", newer_path(c));
}

static void compare_fields(struct comparison *c, const struct record_type *reader,
                           const struct record_type *writer)
{
    const struct field **claims =
        arena_alloc(c->program->arena, writer->field_count * sizeof *claims);
    for (size_t i = 0; i < reader->field_count; i++) {
        const struct field *field = &reader->fields[i];
        const struct field *from = matching_field(field, writer);
        size_t path_size = c->path.size;
        text_printf(&c->path, "%s%s", path_size > 0 ? "." : "", field->name);
        if (from == NULL) {
            if (!field->has_default)
                missing_field(c, field, writer);
        } else {
            struct sides sides = {field->span, from->span, field->written_type, from->written_type};
            const struct field **claim = &claims[from - writer->fields];
            if (*claim != NULL)
                claimed_twice(c, *claim, field, from);
            *claim = field;
            check_null(c, &sides, field->nullable, from->nullable);
            compare_types(c, &sides, field->type, from->type);
        }
        c->path.size = path_size;
        c->path.data[path_size] = '\0';
    }
}

static bool compare_schemas(struct program *program, reported_list *reported,
                            const struct contract *contract, struct span where, size_t reader,
                            size_t writer, const char *obligation)
{
    const struct schema *r = contract->versions[reader], *w = contract->versions[writer];
    bool same_label = strcmp(r->label, w->label) == 0;
    struct comparison c = {.program = program,
                           .reported = reported,
                           .contract = contract,
                           .where = where,
                           .reader = r,
                           .writer = w,
                           .reader_is_newer = reader < writer,
                           .reader_name = same_label ? r->source->path : r->label,
                           .writer_name = same_label ? w->source->path : w->label,
                           .obligation = obligation,
                           .compatible = true};
    struct sides sides = {r->record->span, w->record->span,
                          arena_printf(program->arena, "`%s`", r->record->full_name),
                          arena_printf(program->arena, "`%s`", w->record->full_name)};
    check_names(&c, &sides, r->record->full_name, r->record->aliases, r->record->alias_count,
                w->record->full_name);
    compare_fields(&c, r->record, w->record);
    text_free(&c.path);
    return c.compatible;
}

bool contract_check(struct program *program, const struct contract *contract, struct span where)
{
    return check_versions(program, contract, where, true);
}

bool check_versions(struct program *program, const struct contract *contract, struct span where,
                    bool accepts)
{
    static const char *const declared[] = {"none", "backward", "forward", "full"};
    enum compatibility kind = contract->compatibility;
    bool compatible = true;
    reported_list reported = {0};
    const char *clause = arena_printf(program->arena, "`compatible %s%s`", declared[kind],
                                      contract->transitive ? " transitive" : "");
    for (size_t newer = 0; newer < contract->version_count; newer++) {
        for (size_t older = newer + 1; older < contract->version_count; older++) {
            bool in_reach = contract->transitive || older == newer + 1;
            bool backward = kind == COMPATIBLE_BACKWARD || kind == COMPATIBLE_FULL;
            bool forward = kind == COMPATIBLE_FORWARD || kind == COMPATIBLE_FULL;
            if (backward && in_reach)
                compatible &= compare_schemas(
                    program, &reported, contract, where, newer, older,
                    arena_printf(program->arena,
                                 "%s: a newer version reads what an older one wrote", clause));
            else if (newer == 0 && accepts)
                compatible &=
                    compare_schemas(program, &reported, contract, where, newer, older,
                                    "whatever is declared, the version after `from` reads every "
                                    "accepted one");
            if (forward && in_reach)
                compatible &= compare_schemas(
                    program, &reported, contract, where, older, newer,
                    arena_printf(program->arena,
                                 "%s: an older version reads what a newer one wrote", clause));
        }
    }
    return compatible;
}
