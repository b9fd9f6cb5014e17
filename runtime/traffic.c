/*
 * traffic.c: the generator of a `traffic` statement. The whole sequence is a function of (plan, count, rate, seed, start):
 * every draw is a hash of (seed, event or session, purpose), so the position is a plain number and a restart regenerates.
 *
 * Event n is due at start + n / rate. It continues the session whose pause ended first, else it opens one. Faults delay
 * its sending or change its bytes; what is to be sent waits in a heap by sending time, without its bytes, which are made
 * when it is taken: so late faults cost 48 bytes a record, however long they last.
 */
#include "engine.h"

#include <inttypes.h>
#include <stdlib.h>

#define MS_PER_SECOND 1000
#define PPM 1000000u

/* What a draw is for; field draws come behind. */
enum purpose {
    DRAW_LIFE, DRAW_PAUSE, DRAW_STEP, DRAW_SESSION, DRAW_FAULT, DRAW_FAULT_SIZE, DRAW_DUPLICATE,
    DRAW_DUPLICATE_SIZE, DRAW_POISON, DRAW_POISON_SIZE, DRAW_POISON_BYTE,
    DRAW_FIELD = 1000, DRAW_FIELD_NULL = 1000000, DRAW_FIELD_TEXT = 2000000
};

enum { NO_FAULT = 255 };

struct sending {
    int64_t time_ms;
    uint64_t serial;                /* of sends: ties go out in this order */
    uint64_t event, session;
    int32_t step;
    uint8_t fault;                  /* index in def->faults, or NO_FAULT */
    bool repeats;                   /* a duplicate: the same bytes again */
};

struct session {
    int64_t next_ms, ends_ms;
    uint64_t number, visits;        /* visits: events so far */
    int32_t step;
};

struct heap {
    void *items;
    size_t count, capacity, item_bytes;
    bool (*before)(const void *a, const void *b);
};

/* One column that a field line fills: where it lies in the row. */
struct target {
    const struct pipe_traffic_field *field;
    const struct pipe_column *column;
    uint32_t offset, null_offset;
    uint8_t *picks;                 /* pick_count values of pipe_type_size */
    bool *pick_nulls;
    int64_t weight_total;
};

struct pipe_feeder {
    const struct pipe_traffic_def *def;
    const struct pipe_source_def *source;
    struct pipe_feeder_options options;
    uint32_t partitions;
    uint64_t next_event, next_session, next_serial;
    struct heap sessions, sendings;
    struct target *targets;
    struct target *fault_values;    /* by fault; field NULL where it is not a `value` fault */
    uint8_t *template_row, *row;
    uint8_t *step_values;           /* of the steps column */
    struct target steps;
    struct pipe_arena setup, scratch;
    struct pipe_buf key, value;
};

/* ---- draws ---- */

static uint64_t draw(const struct pipe_feeder *feeder, uint64_t of, uint64_t purpose)
{
    uint64_t words[2] = {of, purpose};
    return pipe_hash64(words, sizeof words, feeder->options.seed);
}

/* Uniform in low..high, both included. */
static int64_t uniform(uint64_t hash, int64_t low, int64_t high)
{
    unsigned __int128 range = (unsigned __int128)((__int128)high - low + 1);
    return (int64_t)(low + (__int128)(range * hash >> 64));
}

static uint32_t ppm_of(uint64_t hash)
{
    return (uint32_t)uniform(hash, 0, PPM - 1);
}

/* ---- binary heaps ---- */

static void *heap_at(const struct heap *heap, size_t index)
{
    return (uint8_t *)heap->items + index * heap->item_bytes;
}

static void heap_swap(struct heap *heap, size_t a, size_t b)
{
    uint8_t kept[64];
    memcpy(kept, heap_at(heap, a), heap->item_bytes);
    memcpy(heap_at(heap, a), heap_at(heap, b), heap->item_bytes);
    memcpy(heap_at(heap, b), kept, heap->item_bytes);
}

static void heap_push(struct heap *heap, const void *item)
{
    if (heap->count == heap->capacity) {
        heap->capacity = heap->capacity == 0 ? 64 : heap->capacity * 2;
        heap->items = pipe_realloc(heap->items, heap->capacity * heap->item_bytes);
    }
    size_t at = heap->count++;
    memcpy(heap_at(heap, at), item, heap->item_bytes);
    while (at > 0 && heap->before(heap_at(heap, at), heap_at(heap, (at - 1) / 2))) {
        heap_swap(heap, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

static void heap_pop(struct heap *heap, void *out)
{
    memcpy(out, heap->items, heap->item_bytes);
    memcpy(heap->items, heap_at(heap, --heap->count), heap->item_bytes);
    for (size_t at = 0;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < heap->count; child++)
            if (heap->before(heap_at(heap, child), heap_at(heap, least)))
                least = child;
        if (least == at)
            return;
        heap_swap(heap, at, least);
        at = least;
    }
}

static bool sending_before(const void *a, const void *b)
{
    const struct sending *x = a, *y = b;
    return x->time_ms != y->time_ms ? x->time_ms < y->time_ms : x->serial < y->serial;
}

static bool session_before(const void *a, const void *b)
{
    const struct session *x = a, *y = b;
    return x->next_ms != y->next_ms ? x->next_ms < y->next_ms : x->number < y->number;
}

/* ---- sessions and their steps ---- */

static int64_t due_ms(const struct pipe_feeder *feeder, uint64_t event)
{
    unsigned __int128 ms = (unsigned __int128)event * MS_PER_SECOND;
    return feeder->options.start_ms + (int64_t)(ms / (uint64_t)feeder->options.rate_per_second);
}

static struct session open_session(struct pipe_feeder *feeder, int64_t now_ms)
{
    const struct pipe_traffic_def *def = feeder->def;
    struct session session = {.number = feeder->next_session++, .ends_ms = now_ms};
    if (def->has_sessions)
        session.ends_ms += uniform(draw(feeder, session.number, DRAW_LIFE), def->session_low_ms,
                                   def->session_high_ms);
    return session;
}

/* The step after this one, -1: the session ends. */
static int32_t next_step(const struct pipe_feeder *feeder, const struct session *session)
{
    const struct pipe_traffic_def *def = feeder->def;
    if (def->step_count == 0)
        return 0;
    const struct pipe_traffic_step *step = &def->steps[session->step];
    int64_t total = 0;
    for (uint32_t i = 0; i < step->target_count; i++)
        total += step->targets[i].weight;
    if (total == 0)
        return -1;
    int64_t at = uniform(draw(feeder, session->number, DRAW_STEP + (session->visits << 32)), 0,
                         total - 1);
    for (uint32_t i = 0; i < step->target_count; i++) {
        at -= step->targets[i].weight;
        if (at < 0)
            return step->targets[i].step;
    }
    return -1;
}

/* After its event: the session's next one is due after a pause, unless it is over. */
static void continue_session(struct pipe_feeder *feeder, struct session *session, int64_t now_ms)
{
    const struct pipe_traffic_def *def = feeder->def;
    if (!def->has_sessions)
        return;
    int32_t step = next_step(feeder, session);
    uint64_t hash = draw(feeder, session->number, DRAW_PAUSE + (session->visits << 32));
    session->next_ms = now_ms + uniform(hash, def->pause_low_ms, def->pause_high_ms);
    session->visits++;
    session->step = step;
    if (step >= 0 && session->next_ms <= session->ends_ms)
        heap_push(&feeder->sessions, session);
}

/* ---- faults ---- */

static uint8_t choose_fault(const struct pipe_feeder *feeder, uint64_t event)
{
    const struct pipe_traffic_def *def = feeder->def;
    uint32_t at = ppm_of(draw(feeder, event, DRAW_FAULT));
    for (uint32_t i = 0; i < def->fault_count; i++) {
        if (def->faults[i].kind == PIPE_FAULT_DUPLICATE)
            continue;
        if (at < def->faults[i].ppm)
            return (uint8_t)i;
        at -= def->faults[i].ppm;
    }
    return NO_FAULT;
}

static int64_t fault_delay_ms(const struct pipe_feeder *feeder, uint64_t event, uint8_t fault)
{
    if (fault == NO_FAULT)
        return 0;
    const struct pipe_traffic_fault *at = &feeder->def->faults[fault];
    uint64_t hash = draw(feeder, event, DRAW_FAULT_SIZE);
    if (at->kind == PIPE_FAULT_OUT_OF_ORDER)
        return uniform(hash, at->high_ms > 0 ? 1 : 0, at->high_ms);
    return at->kind == PIPE_FAULT_LATE ? uniform(hash, at->low_ms, at->high_ms) : 0;
}

static void push_sending(struct pipe_feeder *feeder, struct sending sending)
{
    sending.serial = feeder->next_serial++;
    heap_push(&feeder->sendings, &sending);
}

static void push_duplicate(struct pipe_feeder *feeder, struct sending sending)
{
    const struct pipe_traffic_def *def = feeder->def;
    for (uint32_t i = 0; i < def->fault_count; i++) {
        if (def->faults[i].kind != PIPE_FAULT_DUPLICATE ||
            ppm_of(draw(feeder, sending.event, DRAW_DUPLICATE)) >= def->faults[i].ppm)
            continue;
        sending.repeats = true;
        sending.time_ms +=
            uniform(draw(feeder, sending.event, DRAW_DUPLICATE_SIZE), 0, def->faults[i].high_ms);
        push_sending(feeder, sending);
    }
}

/* Makes event number next_event and puts what is to be sent of it on the heap. */
static void make_event(struct pipe_feeder *feeder)
{
    uint64_t event = feeder->next_event++;
    int64_t now_ms = due_ms(feeder, event);
    struct session session;
    if (feeder->sessions.count > 0 &&
        ((const struct session *)feeder->sessions.items)->next_ms <= now_ms)
        heap_pop(&feeder->sessions, &session);
    else
        session = open_session(feeder, now_ms);
    struct sending sending = {.event = event,
                              .session = session.number,
                              .step = session.step,
                              .fault = choose_fault(feeder, event)};
    sending.time_ms = now_ms + fault_delay_ms(feeder, event, sending.fault);
    push_sending(feeder, sending);
    push_duplicate(feeder, sending);
    continue_session(feeder, &session, now_ms);
}

/* ---- rows ---- */

static void set_null(struct pipe_feeder *feeder, const struct target *target, bool is_null)
{
    if (target->null_offset != PIPE_NOT_NULL)
        *(bool *)(feeder->row + target->null_offset) = is_null;
}

static void uuid_text(struct pipe_feeder *feeder, uint64_t of, uint64_t purpose, void *to)
{
    uint64_t words[2] = {of, purpose}, hash[2];
    pipe_hash128(words, sizeof words, feeder->options.seed, hash);
    uint8_t bytes[16];
    memcpy(bytes, hash, sizeof bytes);
    bytes[6] = (uint8_t)((bytes[6] & 0x0F) | 0x40);
    bytes[8] = (uint8_t)((bytes[8] & 0x3F) | 0x80);
    char *text = pipe_arena_alloc(&feeder->scratch, 36);
    if (text == NULL)
        pipe_out_of_memory();
    pipe_uuid_from_bytes(bytes, text);
    *(struct pipe_str *)to = (struct pipe_str){text, 36};
}

static void set_integer(const struct pipe_type *type, int64_t number, uint32_t scale, void *to)
{
    double divisor = 1;
    for (uint32_t i = 0; i < scale; i++)
        divisor *= 10;
    switch (type->kind) {
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
        *(float *)to = (float)((double)number / divisor);
        break;
    case PIPE_FLOAT64:
        *(double *)to = (double)number / divisor;
        break;
    default:
        break; /* the checker lets no other type have these generators */
    }
}

static bool is_text(const struct pipe_type *type)
{
    return type->kind == PIPE_STRING || type->kind == PIPE_UUID || type->kind == PIPE_BYTES;
}

static void set_letters(struct pipe_feeder *feeder, const struct target *target, uint64_t of,
                        uint64_t purpose, void *to)
{
    size_t size =
        (size_t)uniform(draw(feeder, of, purpose), target->field->low, target->field->high);
    char *text = pipe_arena_alloc(&feeder->scratch, size + 1);
    if (text == NULL)
        pipe_out_of_memory();
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++) {
        if (i % 8 == 0)
            bits = draw(feeder, of, purpose + DRAW_FIELD_TEXT + (i << 32));
        text[i] = (char)('a' + (bits & 0xFF) % 26);
        bits >>= 8;
    }
    *(struct pipe_str *)to = (struct pipe_str){text, size};
}

static void set_pick(struct pipe_feeder *feeder, const struct target *target, uint64_t hash,
                     void *to)
{
    const struct pipe_traffic_field *field = target->field;
    size_t size = pipe_type_size(target->column->type);
    int64_t at = uniform(hash, 0, target->weight_total - 1);
    uint32_t pick = 0;
    while ((at -= field->weights[pick]) >= 0)
        pick++;
    memcpy(to, target->picks + pick * size, size);
    set_null(feeder, target, target->pick_nulls[pick]);
}

static void fill_field(struct pipe_feeder *feeder, const struct sending *sending, uint32_t index)
{
    const struct target *target = &feeder->targets[index];
    const struct pipe_traffic_field *field = target->field;
    uint64_t of = field->per_session ? sending->session : sending->event;
    uint64_t purpose = DRAW_FIELD + index;
    void *to = feeder->row + target->offset;
    set_null(feeder, target, false);
    switch (field->kind) {
    case PIPE_GEN_UNIQUE:
        if (is_text(target->column->type))
            uuid_text(feeder, of, purpose, to);
        else
            set_integer(target->column->type, (int64_t)of, 0, to);
        break;
    case PIPE_GEN_SESSION:
        if (is_text(target->column->type))
            uuid_text(feeder, sending->session, DRAW_SESSION, to);
        else
            set_integer(target->column->type, (int64_t)sending->session, 0, to);
        break;
    case PIPE_GEN_UNIFORM:
        set_integer(target->column->type,
                    uniform(draw(feeder, of, purpose), field->low, field->high), field->scale, to);
        break;
    case PIPE_GEN_PICK:
        set_pick(feeder, target, draw(feeder, of, purpose), to);
        break;
    case PIPE_GEN_TEXT:
        set_letters(feeder, target, of, purpose, to);
        break;
    }
    if (field->null_ppm > 0 &&
        ppm_of(draw(feeder, of, DRAW_FIELD_NULL + index)) < field->null_ppm)
        set_null(feeder, target, true);
}

static void set_event_time(struct pipe_feeder *feeder, const struct sending *sending)
{
    const struct pipe_row_type *type = feeder->source->row;
    const struct pipe_column *column = &type->columns[feeder->def->event_time_column];
    int64_t time = due_ms(feeder, sending->event);
    if (sending->fault != NO_FAULT) {
        const struct pipe_traffic_fault *fault = &feeder->def->faults[sending->fault];
        if (fault->kind == PIPE_FAULT_AHEAD)
            time += uniform(draw(feeder, sending->event, DRAW_FAULT_SIZE), fault->low_ms,
                            fault->high_ms);
    }
    *(int64_t *)(feeder->row + column->offset) =
        column->type->kind == PIPE_TIMESTAMP_US ? PIPE_MS(time) : time;
    if (column->null_offset != PIPE_NOT_NULL)
        *(bool *)(feeder->row + column->null_offset) = false;
}

static void fill_row(struct pipe_feeder *feeder, const struct sending *sending)
{
    const struct pipe_traffic_def *def = feeder->def;
    memcpy(feeder->row, feeder->template_row, feeder->source->row->size_bytes);
    for (uint32_t i = 0; i < def->field_count; i++)
        fill_field(feeder, sending, i);
    if (def->step_count > 0) {
        size_t size = pipe_type_size(feeder->steps.column->type);
        memcpy(feeder->row + feeder->steps.offset,
               feeder->step_values + (size_t)sending->step * size, size);
        set_null(feeder, &feeder->steps, false);
    }
    set_event_time(feeder, sending);
    if (sending->fault == NO_FAULT || def->faults[sending->fault].kind != PIPE_FAULT_VALUE)
        return;
    const struct target *value = &feeder->fault_values[sending->fault];
    memcpy(feeder->row + value->offset, value->picks, pipe_type_size(value->column->type));
    set_null(feeder, value, value->pick_nulls[0]);
}

/* ---- bytes ---- */

static void encode_value(struct pipe_feeder *feeder)
{
    const struct pipe_source_def *source = feeder->source;
    feeder->value.size = 0;
    if (source->format == PIPE_FORMAT_AVRO) {
        uint64_t fingerprint = source->contract->versions[0].fingerprint;
        pipe_buf_add(&feeder->value, "\xC3\x01", 2);
        for (int i = 0; i < 8; i++)
            pipe_buf_add_byte(&feeder->value, (uint8_t)(fingerprint >> (8 * i)));
        pipe_row_to_avro(source->row, feeder->row, &feeder->value);
    } else if (source->format == PIPE_FORMAT_JSON || source->format == PIPE_FORMAT_JSONL) {
        pipe_row_to_json(source->row, feeder->row, &feeder->value);
    } else {
        const struct pipe_str *text =
            (const struct pipe_str *)(feeder->row + source->row->columns[0].offset);
        pipe_buf_add(&feeder->value, text->data, text->size);
    }
}

/* Bytes that no reader can take for a record: cut short, random, or of an unknown schema. */
static void poison(struct pipe_feeder *feeder, uint64_t event)
{
    bool framed = feeder->source->format == PIPE_FORMAT_AVRO;
    int64_t kind = uniform(draw(feeder, event, DRAW_POISON), 0, framed ? 2 : 1);
    uint64_t hash = draw(feeder, event, DRAW_POISON_SIZE);
    if (kind == 0 && feeder->value.size > 1) {
        feeder->value.size = (size_t)uniform(hash, 1, (int64_t)feeder->value.size - 1);
        return;
    }
    if (kind == 2) {
        for (unsigned i = 2; i < 10; i++)
            feeder->value.data[i] ^= (uint8_t)(0xA5 + i);
        return;
    }
    size_t size = (size_t)uniform(hash, 1, 64);
    feeder->value.size = 0;
    pipe_buf_add_byte(&feeder->value, 0xFF);
    for (size_t i = 1; i < size; i++)
        pipe_buf_add_byte(&feeder->value,
                          (uint8_t)draw(feeder, event, DRAW_POISON_BYTE + (i << 16)));
}

static void encode(struct pipe_feeder *feeder, const struct sending *sending,
                   struct pipe_feed_record *out)
{
    const struct pipe_traffic_def *def = feeder->def;
    pipe_arena_reset(&feeder->scratch);
    fill_row(feeder, sending);
    encode_value(feeder);
    if (sending->fault != NO_FAULT && def->faults[sending->fault].kind == PIPE_FAULT_POISON)
        poison(feeder, sending->event);
    *out = (struct pipe_feed_record){.kafka_time_ms = sending->time_ms};
    out->value = pipe_str_of(feeder->value.data, feeder->value.size);
    if (def->key_count == 0) {
        out->partition = (int32_t)(sending->event % feeder->partitions);
        return;
    }
    feeder->key.size = 0;
    pipe_key_text(&feeder->key, feeder->source->row, feeder->row, def->key_columns,
                  def->key_count);
    out->key = pipe_str_of(feeder->key.size > 0 ? (const char *)feeder->key.data : "",
                           feeder->key.size);
    out->partition = pipe_key_partition(out->key, feeder->partitions);
}

/* ---- the feeder ---- */

static bool next_sending(struct pipe_feeder *feeder, struct sending *out)
{
    for (;;) {
        bool more = feeder->options.count < 0 ||
                    feeder->next_event < (uint64_t)feeder->options.count;
        if (feeder->sendings.count > 0) {
            const struct sending *first = feeder->sendings.items;
            if (!more || first->time_ms < due_ms(feeder, feeder->next_event)) {
                heap_pop(&feeder->sendings, out);
                return true;
            }
        }
        if (!more)
            return false;
        make_event(feeder);
    }
}

bool pipe_feeder_next(struct pipe_feeder *feeder, struct pipe_feed_record *out)
{
    struct sending sending;
    if (!next_sending(feeder, &sending))
        return false;
    encode(feeder, &sending, out);
    return true;
}

void pipe_feeder_skip(struct pipe_feeder *feeder, uint64_t records)
{
    struct sending sending;
    while (records-- > 0 && next_sending(feeder, &sending))
        continue;
}

static bool locate(const struct pipe_row_type *row, const uint32_t *path, uint32_t path_count,
                   struct target *target)
{
    uint32_t base = 0;
    for (uint32_t i = 0; i < path_count; i++) {
        target->column = &row->columns[path[i]];
        target->offset = base + target->column->offset;
        target->null_offset = target->column->null_offset == PIPE_NOT_NULL
                                  ? PIPE_NOT_NULL
                                  : base + target->column->null_offset;
        base = target->offset;
        row = target->column->type->record;
    }
    return path_count > 0;
}

/* The values of `texts` (JSON) in the column's type. */
static bool parse_values(struct pipe_feeder *feeder, struct target *target,
                         const char *const *texts, uint32_t count, struct pipe_error *error)
{
    const struct pipe_type *type = target->column->type;
    size_t size = pipe_type_size(type);
    target->picks = pipe_arena_alloc(&feeder->setup, size * count + 16);
    target->pick_nulls = pipe_arena_zalloc(&feeder->setup, count + 1);
    if (target->picks == NULL || target->pick_nulls == NULL)
        pipe_out_of_memory();
    memset(target->picks, 0, size * count);
    for (uint32_t i = 0; i < count; i++)
        if (!pipe_value_from_json(type, target->null_offset != PIPE_NOT_NULL,
                                  pipe_str_of(texts[i], strlen(texts[i])), &feeder->setup,
                                  target->picks + i * size, &target->pick_nulls[i], error))
            return false;
    return true;
}

static bool prepare_fields(struct pipe_feeder *feeder, struct pipe_error *error)
{
    const struct pipe_traffic_def *def = feeder->def;
    feeder->targets = pipe_calloc(def->field_count + 1, sizeof *feeder->targets);
    for (uint32_t i = 0; i < def->field_count; i++) {
        struct target *target = &feeder->targets[i];
        target->field = &def->fields[i];
        locate(feeder->source->row, target->field->path, target->field->path_count, target);
        for (uint32_t p = 0; p < target->field->pick_count; p++)
            target->weight_total += target->field->weights[p];
        if (target->field->kind == PIPE_GEN_PICK &&
            !parse_values(feeder, target, target->field->picks, target->field->pick_count, error))
            return false;
    }
    feeder->fault_values = pipe_calloc(def->fault_count + 1, sizeof *feeder->fault_values);
    for (uint32_t i = 0; i < def->fault_count; i++) {
        const struct pipe_traffic_fault *fault = &def->faults[i];
        if (fault->kind != PIPE_FAULT_VALUE)
            continue;
        locate(feeder->source->row, fault->path, fault->path_count, &feeder->fault_values[i]);
        if (!parse_values(feeder, &feeder->fault_values[i], &fault->value_json, 1, error))
            return false;
    }
    return true;
}

static bool prepare_steps(struct pipe_feeder *feeder, struct pipe_error *error)
{
    const struct pipe_traffic_def *def = feeder->def;
    if (def->step_count == 0)
        return true;
    const uint32_t path[1] = {(uint32_t)def->steps_column};
    locate(feeder->source->row, path, 1, &feeder->steps);
    struct pipe_buf text = {0};
    const char **texts = pipe_calloc(def->step_count, sizeof *texts);
    bool ok = true;
    for (uint32_t i = 0; i < def->step_count; i++) {
        text.size = 0;
        pipe_json_string(&text, pipe_str_of(def->steps[i].value, strlen(def->steps[i].value)));
        pipe_buf_add_byte(&text, 0);
        char *kept = pipe_arena_alloc(&feeder->setup, text.size);
        if (kept == NULL)
            pipe_out_of_memory();
        texts[i] = memcpy(kept, text.data, text.size);
    }
    ok = parse_values(feeder, &feeder->steps, texts, def->step_count, error);
    feeder->step_values = feeder->steps.picks;
    pipe_buf_free(&text);
    free(texts);
    return ok;
}

/* Columns without a field line: null, or their default. */
static bool prepare_template(struct pipe_feeder *feeder, struct pipe_error *error)
{
    const struct pipe_row_type *row = feeder->source->row;
    feeder->template_row = pipe_calloc(1, row->size_bytes + 16);
    feeder->row = pipe_calloc(1, row->size_bytes + 16);
    for (uint32_t i = 0; i < row->column_count; i++) {
        const struct pipe_column *column = &row->columns[i];
        if ((column->has_default || column->null_offset != PIPE_NOT_NULL) &&
            !pipe_row_default(row, i, &feeder->setup, feeder->template_row, error))
            return false;
    }
    return true;
}

struct pipe_feeder *pipe_feeder_open(const struct pipe_plan *plan, uint32_t traffic,
                                     uint32_t partitions,
                                     const struct pipe_feeder_options *options, char *error,
                                     size_t error_bytes)
{
    struct pipe_feeder *feeder = pipe_calloc(1, sizeof *feeder);
    feeder->def = &plan->traffics[traffic];
    feeder->source = &plan->sources[feeder->def->source];
    feeder->options = *options;
    feeder->partitions = partitions;
    feeder->sessions =
        (struct heap){.item_bytes = sizeof(struct session), .before = session_before};
    feeder->sendings =
        (struct heap){.item_bytes = sizeof(struct sending), .before = sending_before};
    pipe_arena_init(&feeder->setup, SIZE_MAX / 2);
    pipe_arena_init(&feeder->scratch, SIZE_MAX / 2);
    struct pipe_error cause = {0};
    if (prepare_template(feeder, &cause) && prepare_fields(feeder, &cause) &&
        prepare_steps(feeder, &cause))
        return feeder;
    snprintf(error, error_bytes, "traffic %s: %s: %s", feeder->def->name, cause.field,
             cause.detail);
    pipe_feeder_close(feeder);
    return NULL;
}

void pipe_feeder_close(struct pipe_feeder *feeder)
{
    if (feeder == NULL)
        return;
    free(feeder->sessions.items);
    free(feeder->sendings.items);
    free(feeder->targets);
    free(feeder->fault_values);
    free(feeder->template_row);
    free(feeder->row);
    pipe_arena_free(&feeder->setup);
    pipe_arena_free(&feeder->scratch);
    pipe_buf_free(&feeder->key);
    pipe_buf_free(&feeder->value);
    free(feeder);
}
