/*
 * traffic_row.c: the bytes of one generated record: its row by the field lines, then the source's
 * format. Made again for a duplicate, they are the same: all draws depend on the event alone.
 */
#include "traffic_internal.h"

#include <stdlib.h>

#include "engine.h"

#define POISON_BYTES_MAX 64
#define FRAME_BYTES 10 /* C3 01, fingerprint */
#define SEED_SHIFT 40  /* of numbers: below are those of events, above is the seed */
#define SEEDS_MASK 0x7fffffu

/* ---- Values ---- */

/* Sets or clears the column's null; setting a value inside of a nullable record makes that one not
 * null. */
static void set_null(struct pipe_feeder *feeder, const struct target *target, bool is_null)
{
    for (uint32_t i = 0; i < target->opened_count; i++)
        *(bool *)(feeder->row + target->opened[i]) = false;
    if (target->null_offset != PIPE_NOT_NULL)
        *(bool *)(feeder->row + target->null_offset) = is_null;
}

static char *scratch_text(struct pipe_feeder *feeder, size_t size)
{
    char *text = pipe_arena_alloc(&feeder->scratch, size);
    if (text == NULL)
        pipe_out_of_memory();
    return text;
}

static void set_uuid(struct pipe_feeder *feeder, uint64_t of, uint64_t purpose, void *to)
{
    uint64_t words[2] = {of, purpose}, hash[2];
    uint8_t bytes[16];
    pipe_hash128(words, sizeof words, feeder->options.seed, hash);
    memcpy(bytes, hash, sizeof bytes);
    bytes[6] = (uint8_t)((bytes[6] & 0x0F) | 0x40); /* version 4, variant 1 */
    bytes[8] = (uint8_t)((bytes[8] & 0x3F) | 0x80);
    char *text = scratch_text(feeder, 36);
    pipe_uuid_from_bytes(bytes, text);
    *(struct pipe_str *)to = (struct pipe_str){text, 36};
}

static void set_number(const struct target *target, int64_t number, void *to)
{
    switch (target->column->type->kind) {
    case PIPE_INT32:
    case PIPE_DATE:
        *(int32_t *)to = (int32_t)number;
        break;
    case PIPE_INT64:
    case PIPE_TIMESTAMP_MS:
    case PIPE_TIMESTAMP_US:
    case PIPE_DURATION:
        *(int64_t *)to = number;
        break;
    case PIPE_DECIMAL:
        *(pipe_decimal *)to = number;
        break;
    case PIPE_FLOAT32:
        *(float *)to = (float)((double)number / target->divisor);
        break;
    case PIPE_FLOAT64:
        *(double *)to = (double)number / target->divisor;
        break;
    default:
        break; /* the checker lets no other type have these generators */
    }
}

static void set_name(struct pipe_feeder *feeder, const struct target *target, uint64_t of,
                     uint64_t purpose, void *to)
{
    enum pipe_kind kind = target->column->type->kind;
    if (kind == PIPE_STRING || kind == PIPE_UUID)
        set_uuid(feeder, of, purpose, to);
    else if (kind == PIPE_INT64) /* each seed has numbers of its own, that of seed 1 from 0 on */
        set_number(target, (int64_t)(of | ((feeder->options.seed - 1) & SEEDS_MASK) << SEED_SHIFT),
                   to);
    else
        set_number(target, (int64_t)of, to);
}

static void set_letters(struct pipe_feeder *feeder, const struct pipe_traffic_field *field,
                        uint64_t of, uint64_t purpose, void *to)
{
    size_t size =
        (size_t)traffic_uniform(traffic_draw(feeder, of, purpose), field->low, field->high);
    char *text = scratch_text(feeder, size + 1);
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++) {
        if (i % 8 == 0)
            bits = traffic_draw(feeder, of, purpose + DRAW_FIELD_TEXT + ((uint64_t)i << 32));
        text[i] = (char)('a' + ((bits & 0xFF) * 26 >> 8));
        bits >>= 8;
    }
    *(struct pipe_str *)to = (struct pipe_str){text, size};
}

static void set_value(struct pipe_feeder *feeder, const struct target *target, uint32_t index)
{
    memcpy(feeder->row + target->offset, target->values + index * target->value_bytes,
           target->value_bytes);
    set_null(feeder, target, target->value_nulls[index]);
}

/* The first whose sum of weights is above the draw. */
static uint32_t choose_value(const struct target *target, uint64_t hash)
{
    uint32_t low = 0, high = target->value_count - 1;
    int64_t at = traffic_uniform(hash, 0, target->weights[high] - 1);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (target->weights[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void fill_field(struct pipe_feeder *feeder, const struct sending *sending, uint32_t index)
{
    const struct target *target = &feeder->fields[index];
    const struct pipe_traffic_field *field = &feeder->def->fields[index];
    uint64_t of = field->per_session ? sending->session : sending->event;
    uint64_t purpose = DRAW_FIELD + index;
    void *to = feeder->row + target->offset;
    set_null(feeder, target, false);
    switch (field->kind) {
    case PIPE_GEN_UNIQUE:
        set_name(feeder, target, of, purpose, to);
        break;
    case PIPE_GEN_SESSION:
        set_name(feeder, target, sending->session, DRAW_SESSION, to);
        break;
    case PIPE_GEN_UNIFORM:
        set_number(target,
                   traffic_uniform(traffic_draw(feeder, of, purpose), field->low, field->high), to);
        break;
    case PIPE_GEN_PICK:
        set_value(feeder, target, choose_value(target, traffic_draw(feeder, of, purpose)));
        break;
    case PIPE_GEN_TEXT:
        set_letters(feeder, field, of, purpose, to);
        break;
    }
    if (field->null_ppm > 0 &&
        traffic_ppm(traffic_draw(feeder, of, DRAW_FIELD_NULL + index)) < field->null_ppm)
        set_null(feeder, target, true);
}

static const struct pipe_traffic_fault *
fault_of(const struct pipe_feeder *feeder, const struct sending *sending, enum pipe_fault_kind kind)
{
    if (sending->fault == NO_FAULT)
        return NULL;
    const struct pipe_traffic_fault *fault = &feeder->def->faults[sending->fault];
    return fault->kind == kind ? fault : NULL;
}

static void set_event_time(struct pipe_feeder *feeder, const struct sending *sending)
{
    uint32_t index = feeder->def->event_time_column;
    if (index == UINT32_MAX)
        return;
    const struct pipe_column *column = &feeder->source->row->columns[index];
    const struct pipe_traffic_fault *ahead = fault_of(feeder, sending, PIPE_FAULT_AHEAD);
    int64_t time_ms = traffic_due_ms(feeder, sending->event);
    if (ahead != NULL)
        time_ms += traffic_uniform(traffic_draw(feeder, sending->event, DRAW_FAULT_SIZE),
                                   ahead->low_ms, ahead->high_ms);
    *(int64_t *)(feeder->row + column->offset) =
        column->type->kind == PIPE_TIMESTAMP_US ? time_ms * 1000 : time_ms;
    if (column->null_offset != PIPE_NOT_NULL)
        *(bool *)(feeder->row + column->null_offset) = false;
}

static void fill_row(struct pipe_feeder *feeder, const struct sending *sending)
{
    const struct pipe_traffic_def *def = feeder->def;
    memcpy(feeder->row, feeder->template_row, feeder->source->row->size_bytes);
    for (uint32_t i = 0; i < def->field_count; i++)
        fill_field(feeder, sending, i);
    if (def->step_count > 0)
        set_value(feeder, &feeder->steps, (uint32_t)sending->step);
    set_event_time(feeder, sending);
    if (fault_of(feeder, sending, PIPE_FAULT_VALUE) != NULL)
        set_value(feeder, &feeder->fault_values[sending->fault], 0);
}

/* As the row has it, whatever a fault put there. */
static int64_t event_time_ms(const struct pipe_feeder *feeder)
{
    uint32_t index = feeder->def->event_time_column;
    if (index == UINT32_MAX)
        return PIPE_TIME_MIN;
    const struct pipe_column *column = &feeder->source->row->columns[index];
    if (column->null_offset != PIPE_NOT_NULL && *(const bool *)(feeder->row + column->null_offset))
        return PIPE_TIME_MIN;
    int64_t time = *(const int64_t *)(feeder->row + column->offset);
    return column->type->kind == PIPE_TIMESTAMP_US ? pipe_floor_div(time, 1000) : time;
}

/* ---- Poison ---- */

/* In a container file a record has no length of its own: bytes that end early would take the file's
 * other records with them. So the bytes stay well formed, and one column holds what no reader of
 * the contract takes. */
static bool find_poisonable(const struct pipe_row_type *row, struct target *target)
{
    static const enum pipe_kind kinds[] = {PIPE_STRING,       PIPE_UUID, PIPE_TIMESTAMP_MS,
                                           PIPE_TIMESTAMP_US, PIPE_DATE, PIPE_ENUM};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (uint32_t i = 0; i < row->column_count; i++)
            if (row->columns[i].type->kind == kinds[k]) {
                *target = (struct target){.column = &row->columns[i],
                                          .offset = row->columns[i].offset,
                                          .null_offset = row->columns[i].null_offset};
                return true;
            }
    return false;
}

static void poison_row(struct pipe_feeder *feeder)
{
    const struct target *target = &feeder->poisoned;
    void *to = feeder->row + target->offset;
    feeder->poison = "value";
    set_null(feeder, target, false);
    switch (target->column->type->kind) {
    case PIPE_STRING:
    case PIPE_UUID:
        *(struct pipe_str *)to = PIPE_STR("\xFF\xFE poison");
        break;
    case PIPE_DATE:
        *(int32_t *)to = INT32_MAX;
        break;
    case PIPE_ENUM:
        *(uint32_t *)to = target->column->type->symbol_count;
        break;
    default:
        *(int64_t *)to = INT64_MAX;
    }
}

/* No text begins with FF, nor does an Avro frame. In the formats of lines the record stays one
 * line. */
static void random_bytes(struct pipe_feeder *feeder, uint64_t event, size_t size)
{
    bool lines =
        feeder->source->format != PIPE_FORMAT_AVRO && feeder->source->format != PIPE_FORMAT_BYTES;
    feeder->value.size = 0;
    pipe_buf_add_byte(&feeder->value, 0xFF);
    for (size_t i = 1; i < size; i++) {
        uint8_t byte = (uint8_t)traffic_draw(feeder, event, DRAW_POISON_BYTE + ((uint64_t)i << 32));
        bool special = byte == '\n' || byte == '\r' || byte == '"' || byte == ',';
        pipe_buf_add_byte(&feeder->value, lines && special ? '?' : byte);
    }
}

/* A row cut short may be a sound one, and an open quote would take the next rows with it: so it is
 * cut before the first quote, and ends in a NUL or (random bytes) a quote where none may stand. */
static void poison_csv(struct pipe_feeder *feeder, uint64_t event, bool cut, uint64_t hash)
{
    const uint8_t *text = feeder->value.data;
    size_t size = 0;
    while (cut && size < feeder->value.size && text[size] != '"')
        size++;
    if (size == 0) {
        feeder->poison = "random";
        random_bytes(feeder, event, (size_t)traffic_uniform(hash, 1, POISON_BYTES_MAX));
        pipe_buf_add_byte(&feeder->value, '"');
        return;
    }
    feeder->value.size = (size_t)traffic_uniform(hash, 1, (int64_t)size);
    pipe_buf_add_byte(&feeder->value, 0);
}

/* Bytes that no reader takes for a record: cut short, random, or (in the Avro frame) of an unknown
 * schema. */
static void poison_bytes(struct pipe_feeder *feeder, uint64_t event)
{
    enum pipe_format format = feeder->source->format;
    bool can_cut =
        format != PIPE_FORMAT_TEXT && format != PIPE_FORMAT_BYTES && feeder->value.size > 1;
    uint64_t hash = traffic_draw(feeder, event, DRAW_POISON_SIZE);
    int64_t kind = traffic_uniform(traffic_draw(feeder, event, DRAW_POISON), 0,
                                   format == PIPE_FORMAT_AVRO ? 2 : 1);
    feeder->poison = kind == 0 && can_cut ? "cut" : kind == 2 ? "schema" : "random";
    if (format == PIPE_FORMAT_CSV) {
        poison_csv(feeder, event, kind == 0, hash);
    } else if (kind == 0 && can_cut) {
        feeder->value.size = (size_t)traffic_uniform(hash, 1, (int64_t)feeder->value.size - 1);
    } else if (kind == 2) {
        for (unsigned i = 2; i < FRAME_BYTES; i++)
            feeder->value.data[i] ^= (uint8_t)(0xA5 + i);
    } else {
        random_bytes(feeder, event, (size_t)traffic_uniform(hash, 1, POISON_BYTES_MAX));
    }
}

/* ---- Bytes ---- */

static void add_key(struct pipe_feeder *feeder, const struct sending *sending,
                    struct pipe_feed_record *out)
{
    const struct pipe_traffic_def *def = feeder->def;
    if (def->key_count == 0) {
        out->partition = (int32_t)(sending->event % feeder->partitions);
        return;
    }
    feeder->key.size = 0;
    pipe_key_text(&feeder->key, feeder->source->row, feeder->row, def->key_columns, def->key_count);
    out->key =
        pipe_str_of(feeder->key.size > 0 ? (const char *)feeder->key.data : "", feeder->key.size);
    out->partition = pipe_key_partition(out->key, feeder->partitions);
}

void traffic_encode(struct pipe_feeder *feeder, const struct sending *sending,
                    struct pipe_feed_record *out)
{
    bool poisoned = fault_of(feeder, sending, PIPE_FAULT_POISON) != NULL;
    bool container = feeder->source->format == PIPE_FORMAT_AVRO && !feeder->source->is_kafka;
    *out = (struct pipe_feed_record){.kafka_time_ms = sending->time_ms,
                                     .event = sending->event,
                                     .fault = sending->fault,
                                     .duplicate = sending->duplicate};
    pipe_arena_reset(&feeder->scratch);
    fill_row(feeder, sending);
    add_key(feeder, sending, out);
    out->event_time_ms = event_time_ms(feeder);
    feeder->poison = NULL;
    if (poisoned && container && feeder->poisoned.column != NULL)
        poison_row(feeder);
    else if (poisoned && container)
        out->fault = NO_FAULT; /* no column can hold what is refused: the record is sound */
    pipe_record_encode(feeder->source, feeder->row, &feeder->value);
    if (poisoned && !container)
        poison_bytes(feeder, sending->event);
    out->poison = feeder->poison;
    out->value = pipe_str_of(feeder->value.size > 0 ? (const char *)feeder->value.data : "",
                             feeder->value.size);
}

/* ---- Tables ---- */

static void *setup_alloc(struct pipe_feeder *feeder, size_t size)
{
    void *memory = pipe_arena_zalloc(&feeder->setup, size + 16);
    if (memory == NULL)
        pipe_out_of_memory();
    return memory;
}

static void locate(struct pipe_feeder *feeder, const uint32_t *path, uint32_t path_count,
                   struct target *target)
{
    const struct pipe_row_type *row = feeder->source->row;
    uint32_t base = 0;
    target->opened = setup_alloc(feeder, path_count * sizeof *target->opened);
    for (uint32_t i = 0; i < path_count; i++) {
        if (i > 0 && target->null_offset != PIPE_NOT_NULL)
            target->opened[target->opened_count++] = target->null_offset;
        const struct pipe_column *column = &row->columns[path[i]];
        bool nullable = column->null_offset != PIPE_NOT_NULL;
        target->column = column;
        target->offset = base + column->offset;
        target->null_offset = nullable ? base + column->null_offset : PIPE_NOT_NULL;
        base = target->offset;
        row = column->type->record;
    }
    target->value_bytes = pipe_type_size(target->column->type);
    target->divisor = 1;
}

/* The values of `texts` (JSON) in the column's type; weights NULL: each 1. */
static bool parse_values(struct pipe_feeder *feeder, struct target *target,
                         const char *const *texts, const int64_t *weights, uint32_t count,
                         struct pipe_error *error)
{
    int64_t total = 0;
    target->value_count = count;
    target->values = setup_alloc(feeder, target->value_bytes * count);
    target->value_nulls = setup_alloc(feeder, count);
    target->weights = setup_alloc(feeder, count * sizeof *target->weights);
    for (uint32_t i = 0; i < count; i++) {
        target->weights[i] = total += weights != NULL ? weights[i] : 1;
        if (!pipe_value_from_json(target->column->type, target->null_offset != PIPE_NOT_NULL,
                                  pipe_str_of(texts[i], strlen(texts[i])), &feeder->setup,
                                  target->values + i * target->value_bytes, &target->value_nulls[i],
                                  error))
            return false;
    }
    return true;
}

static bool prepare_fields(struct pipe_feeder *feeder, struct pipe_error *error)
{
    const struct pipe_traffic_def *def = feeder->def;
    feeder->fields = setup_alloc(feeder, def->field_count * sizeof *feeder->fields);
    for (uint32_t i = 0; i < def->field_count; i++) {
        const struct pipe_traffic_field *field = &def->fields[i];
        struct target *target = &feeder->fields[i];
        locate(feeder, field->path, field->path_count, target);
        for (uint32_t digit = 0; digit < field->scale; digit++)
            target->divisor *= 10;
        if (field->kind == PIPE_GEN_PICK &&
            !parse_values(feeder, target, field->picks, field->weights, field->pick_count, error))
            return false;
    }
    return true;
}

static bool prepare_faults(struct pipe_feeder *feeder, struct pipe_error *error)
{
    const struct pipe_traffic_def *def = feeder->def;
    feeder->fault_values = setup_alloc(feeder, def->fault_count * sizeof *feeder->fault_values);
    for (uint32_t i = 0; i < def->fault_count; i++) {
        const struct pipe_traffic_fault *fault = &def->faults[i];
        if (fault->kind != PIPE_FAULT_VALUE)
            continue;
        locate(feeder, fault->path, fault->path_count, &feeder->fault_values[i]);
        if (!parse_values(feeder, &feeder->fault_values[i], &fault->value_json, NULL, 1, error))
            return false;
    }
    find_poisonable(feeder->source->row, &feeder->poisoned);
    return true;
}

static bool prepare_steps(struct pipe_feeder *feeder, struct pipe_error *error)
{
    const struct pipe_traffic_def *def = feeder->def;
    if (def->step_count == 0)
        return true;
    const uint32_t path[1] = {(uint32_t)def->steps_column};
    const char **texts = setup_alloc(feeder, def->step_count * sizeof *texts);
    struct pipe_buf text = {0};
    locate(feeder, path, 1, &feeder->steps);
    for (uint32_t i = 0; i < def->step_count; i++) {
        text.size = 0;
        pipe_json_string(&text, pipe_str_of(def->steps[i].value, strlen(def->steps[i].value)));
        char *kept = setup_alloc(feeder, text.size + 1);
        texts[i] = memcpy(kept, text.data, text.size);
    }
    pipe_buf_free(&text);
    return parse_values(feeder, &feeder->steps, texts, NULL, def->step_count, error);
}

/* Columns without a field line: their default, else null; inside of records as well, for those that
 * a line opens. */
static bool fill_defaults(struct pipe_feeder *feeder, const struct pipe_row_type *row, uint8_t *at,
                          struct pipe_error *error)
{
    for (uint32_t i = 0; i < row->column_count; i++) {
        const struct pipe_column *column = &row->columns[i];
        bool nullable = column->null_offset != PIPE_NOT_NULL;
        if (column->type->kind == PIPE_RECORD &&
            !fill_defaults(feeder, column->type->record, at + column->offset, error))
            return false;
        if ((column->has_default || nullable) &&
            !pipe_row_default(row, i, &feeder->setup, at, error))
            return false;
    }
    return true;
}

bool traffic_prepare_rows(struct pipe_feeder *feeder, struct pipe_error *error)
{
    pipe_arena_init(&feeder->setup, SIZE_MAX / 2);
    pipe_arena_init(&feeder->scratch, SIZE_MAX / 2);
    feeder->template_row = setup_alloc(feeder, feeder->source->row->size_bytes);
    feeder->row = setup_alloc(feeder, feeder->source->row->size_bytes);
    return fill_defaults(feeder, feeder->source->row, feeder->template_row, error) &&
           prepare_fields(feeder, error) && prepare_faults(feeder, error) &&
           prepare_steps(feeder, error);
}

void traffic_free_rows(struct pipe_feeder *feeder)
{
    pipe_arena_free(&feeder->setup);
    pipe_arena_free(&feeder->scratch);
    pipe_buf_free(&feeder->key);
    pipe_buf_free(&feeder->value);
}
