/* schemas.c: see schemas.h. */
#include "schemas.h"

#include <inttypes.h>
#include <stdlib.h>

#include "registry.h"

#define VERDICTS_MAX 131072u /* more than a batch can need */
#define ABSENT_US 60000000   /* an absent id that still comes is asked for again */
#define FRAME_BYTES 5
#define REASON_BYTES 200

/* A program is shared by all tasks whose verdicts name the same schema. */
struct schema_program {
    const struct pipe_contract *contract;
    char *text;
    struct pipe_resolved *resolved;
    uint32_t users;
};

struct engine_schemas {
    struct pipe_registry *registry; /* NULL: none */
    struct schema_program *programs;
    uint32_t program_count;
};

struct schema_wait {
    uint32_t id;
    int64_t until_us; /* monotonic: when "no such schema" counts */
    bool told;
};

struct task_schemas {
    struct schema_verdict *verdicts; /* by id */
    uint32_t count, capacity;
    uint32_t last; /* where the last one was found */
    uint64_t next_serial;
    struct schema_wait *waits; /* what was not known when a batch came */
    uint32_t wait_count;
    bool waiting;
    struct pipe_buf saved;
};

/* ---- Programs ---- */

static struct engine_schemas *schemas_of(struct pipe_engine *engine)
{
    if (engine->schemas == NULL)
        engine->schemas = pipe_calloc(1, sizeof *engine->schemas);
    return engine->schemas;
}

/* Takes `resolved`; gives the one to use, counted. */
static const struct pipe_resolved *share_program(struct pipe_engine *engine,
                                                 const struct pipe_contract *contract,
                                                 const char *text, struct pipe_resolved *resolved)
{
    struct engine_schemas *schemas = schemas_of(engine);
    for (uint32_t i = 0; i < schemas->program_count; i++) {
        struct schema_program *known = &schemas->programs[i];
        if (known->contract == contract && strcmp(known->text, text) == 0) {
            pipe_resolved_free(resolved);
            known->users++;
            return known->resolved;
        }
    }
    schemas->programs =
        pipe_realloc(schemas->programs, (schemas->program_count + 1) * sizeof *schemas->programs);
    schemas->programs[schemas->program_count++] =
        (struct schema_program){contract, pipe_text_dup(text), resolved, 1};
    return resolved;
}

static void release_program(struct pipe_engine *engine, const struct pipe_resolved *resolved)
{
    struct engine_schemas *schemas = schemas_of(engine);
    for (uint32_t i = 0; i < schemas->program_count; i++) {
        struct schema_program *known = &schemas->programs[i];
        if (known->resolved != resolved)
            continue;
        if (--known->users > 0)
            return;
        free(known->text);
        pipe_resolved_free(known->resolved);
        *known = schemas->programs[--schemas->program_count];
        return;
    }
}

/* ---- Verdicts of a task ---- */

static struct task_schemas *table_of(struct engine_task *task)
{
    if (task->schemas == NULL)
        task->schemas = pipe_calloc(1, sizeof *task->schemas);
    return task->schemas;
}

static uint32_t place_of(const struct task_schemas *table, uint32_t id)
{
    uint32_t low = 0, high = table->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (table->verdicts[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct schema_verdict *find(struct task_schemas *table, uint32_t id)
{
    if (table == NULL || table->count == 0)
        return NULL;
    if (PIPE_LIKELY(table->last < table->count && table->verdicts[table->last].id == id))
        return &table->verdicts[table->last];
    uint32_t at = place_of(table, id);
    if (at == table->count || table->verdicts[at].id != id)
        return NULL;
    table->last = at;
    return &table->verdicts[at];
}

const struct schema_verdict *schemas_find(struct engine_task *task, uint32_t id)
{
    return find(task->schemas, id);
}

static void remove_at(struct engine_task *task, uint32_t at)
{
    struct task_schemas *table = task->schemas;
    struct schema_verdict *verdict = &table->verdicts[at];
    if (verdict->program != NULL)
        release_program(task->task.engine, verdict->program);
    free(verdict->text);
    table->count--;
    memmove(verdict, verdict + 1, (table->count - at) * sizeof *verdict);
}

/* Takes what the verdict owns. */
static void put(struct engine_task *task, struct schema_verdict verdict)
{
    struct task_schemas *table = table_of(task);
    uint32_t at = place_of(table, verdict.id);
    if (at < table->count && table->verdicts[at].id == verdict.id)
        remove_at(task, at);
    if (table->count == VERDICTS_MAX) {
        uint32_t first = 0;
        for (uint32_t i = 1; i < table->count; i++)
            first = table->verdicts[i].serial < table->verdicts[first].serial ? i : first;
        remove_at(task, first);
    }
    if (table->count == table->capacity) {
        table->capacity = table->capacity == 0 ? 8 : table->capacity * 2;
        table->verdicts = pipe_realloc(table->verdicts, table->capacity * sizeof *table->verdicts);
    }
    at = place_of(table, verdict.id);
    memmove(&table->verdicts[at + 1], &table->verdicts[at],
            (table->count - at) * sizeof *table->verdicts);
    verdict.serial = table->next_serial++;
    table->verdicts[at] = verdict;
    table->count++;
}

void schemas_forget(struct engine_task *task)
{
    if (task->schemas == NULL)
        return;
    while (task->schemas->count > 0)
        remove_at(task, task->schemas->count - 1);
    free(task->schemas->verdicts);
    free(task->schemas->waits);
    pipe_buf_free(&task->schemas->saved);
    free(task->schemas);
    task->schemas = NULL;
}

/* ---- As bytes: id, kind, and what it needs ---- */

static void encode(const struct schema_verdict *verdict, struct pipe_buf *to)
{
    pipe_avro_put_long(to, verdict->id);
    pipe_avro_put_long(to, (int64_t)verdict->kind);
    if (verdict->kind == SCHEMA_VERSION)
        pipe_avro_put_long(to, verdict->version);
    if (verdict->kind == SCHEMA_RESOLVED || verdict->kind == SCHEMA_UNUSABLE)
        pipe_avro_put_bytes(to, pipe_str_of(verdict->text, strlen(verdict->text)));
}

static bool resolve_again(struct engine_task *task, struct schema_verdict *verdict)
{
    const struct pipe_contract *contract = task->task.source->contract;
    const struct pipe_resolve_reader reader = {contract->row, contract->versions[0].schema_json};
    char error[REASON_BYTES];
    struct pipe_writer_schema *writer =
        pipe_writer_schema_parse(verdict->text, strlen(verdict->text), error, sizeof error);
    struct pipe_resolved *resolved =
        writer != NULL ? pipe_resolve(&reader, writer, false, error, sizeof error) : NULL;
    if (resolved == NULL)
        return false;
    verdict->program = share_program(task->task.engine, contract, verdict->text, resolved);
    return true;
}

static bool decode(struct engine_task *task, struct pipe_reader *reader,
                   struct schema_verdict *verdict)
{
    const struct pipe_contract *contract = task->task.source->contract;
    int64_t id, kind, version = 0;
    struct pipe_str text = {0};
    if (!pipe_avro_long(reader, &id) || !pipe_avro_long(reader, &kind) || id < 0 ||
        id > UINT32_MAX || kind < SCHEMA_ABSENT || kind > SCHEMA_UNUSABLE)
        return false;
    *verdict = (struct schema_verdict){
        .id = (uint32_t)id, .kind = (enum schema_kind)kind, .checked_us = INT64_MIN / 2};
    if (kind == SCHEMA_VERSION && (!pipe_avro_long(reader, &version) || version < 0 ||
                                   contract == NULL || version >= contract->version_count))
        return false;
    verdict->version = (uint32_t)version;
    if (kind != SCHEMA_RESOLVED && kind != SCHEMA_UNUSABLE)
        return true;
    if (!pipe_avro_string(reader, &text))
        return false;
    verdict->text = pipe_str_dup(text);
    if (kind == SCHEMA_UNUSABLE || (contract != NULL && resolve_again(task, verdict)))
        return true;
    free(verdict->text);
    return false;
}

bool schemas_load(struct engine_task *task, struct pipe_str bytes)
{
    struct pipe_reader reader;
    pipe_reader_init(&reader, bytes.data, bytes.size, &task->task.arena);
    while (reader.at < reader.end) {
        struct schema_verdict verdict;
        if (!decode(task, &reader, &verdict))
            return false;
        put(task, verdict);
    }
    return true;
}

static int by_serial(const void *a, const void *b)
{
    const struct schema_verdict *const *first = a, *const *second = b;
    return (*first)->serial < (*second)->serial ? -1 : 1;
}

struct pipe_str schemas_save(const struct engine_task *task)
{
    struct task_schemas *table = task->schemas;
    if (table == NULL || table->count == 0)
        return pipe_str_of("", 0);
    const struct schema_verdict **order = pipe_calloc(table->count, sizeof *order);
    for (uint32_t i = 0; i < table->count; i++)
        order[i] = &table->verdicts[i];
    qsort(order, table->count, sizeof *order, by_serial);
    table->saved.size = 0;
    for (uint32_t i = 0; i < table->count; i++)
        encode(order[i], &table->saved);
    free(order);
    return pipe_str_of(table->saved.data, table->saved.size);
}

/* ---- Judging ---- */

static void unusable(struct schema_verdict *verdict, const char *why)
{
    verdict->kind = SCHEMA_UNUSABLE;
    verdict->text = pipe_str_dup(pipe_str_of(why, strnlen(why, REASON_BYTES - 1)));
}

/* What the contract makes of a registered schema. */
static void judge(struct engine_task *task, const char *text, struct schema_verdict *verdict)
{
    const struct pipe_contract *contract = task->task.source->contract;
    const struct pipe_resolve_reader reader = {contract->row, contract->versions[0].schema_json};
    char error[REASON_BYTES] = "";
    struct pipe_writer_schema *writer =
        pipe_writer_schema_parse(text, strlen(text), error, sizeof error);
    if (writer == NULL) {
        unusable(verdict, error);
        return;
    }
    uint64_t fingerprint = pipe_writer_schema_fingerprint(writer);
    uint32_t version = 0;
    while (version < contract->version_count &&
           contract->versions[version].fingerprint != fingerprint)
        version++;
    bool known = version < contract->version_count;
    struct pipe_resolved *resolved = pipe_resolve(&reader, writer, known, error, sizeof error);
    if (resolved == NULL) {
        unusable(verdict, error);
    } else if (known) {
        pipe_resolved_free(resolved);
        verdict->kind = SCHEMA_VERSION;
        verdict->version = version;
    } else {
        verdict->kind = SCHEMA_RESOLVED;
        verdict->text = pipe_text_dup(text);
        verdict->program = share_program(task->task.engine, contract, text, resolved);
    }
}

static void tell(const struct engine_task *task, const struct schema_verdict *verdict)
{
    const struct pipe_contract *contract = task->task.source->contract;
    const char *topic = task->task.source->target;
    int partition = task->task.partition;
    switch (verdict->kind) {
    case SCHEMA_ABSENT:
        pipe_message(PIPE_WARNING,
                     "the registry has no such schema: records of this id are rejected",
                     "reason=schema_unknown id=%" PRIu32 " topic=%s partition=%d", verdict->id,
                     topic, partition);
        break;
    case SCHEMA_VERSION:
        pipe_message(PIPE_INFO, "a schema id was looked up",
                     "id=%" PRIu32 " topic=%s partition=%d contract=%s version=%s", verdict->id,
                     topic, partition, contract->name, contract->versions[verdict->version].label);
        break;
    case SCHEMA_RESOLVED:
        pipe_message(PIPE_INFO,
                     "a schema that was not known when this program was compiled is read as the "
                     "contract",
                     "id=%" PRIu32 " topic=%s partition=%d contract=%s", verdict->id, topic,
                     partition, contract->name);
        break;
    case SCHEMA_UNUSABLE:
        pipe_message(
            PIPE_WARNING, "a schema can't be read as the contract: records of this id are rejected",
            "reason=schema_unknown id=%" PRIu32 " topic=%s partition=%d contract=%s cause=\"%s\"",
            verdict->id, topic, partition, contract->name, PIPE_QUOTED(verdict->text));
        break;
    }
}

/* Logs what came of the id, before its first use. */
static bool settle(struct engine_task *task, uint32_t id, struct pipe_registry_entry entry)
{
    struct schema_verdict verdict = {.id = id, .checked_us = entry.asked_us};
    struct pipe_buf bytes = {0};
    if (entry.state == PIPE_REGISTRY_UNUSABLE)
        unusable(&verdict, entry.text);
    else if (entry.state == PIPE_REGISTRY_SCHEMA)
        judge(task, entry.text, &verdict);
    tell(task, &verdict);
    encode(&verdict, &bytes);
    bool ok = watermark_log_schema(task, pipe_str_of(bytes.data, bytes.size));
    pipe_buf_free(&bytes);
    put(task, verdict);
    return ok;
}

/* Until when the registry may still learn of it: producers register before they write, and what
 * they registered may reach this registry a while later. */
static int64_t wait_until(const struct engine_task *task, const struct pipe_record *record,
                          int64_t now_us)
{
    int64_t wait_us = task->task.engine->options->schema_wait_ms * 1000;
    int64_t age_ms = 0;
    if (record->kafka_time_ms != PIPE_TIME_MIN)
        age_ms = engine_wall_ms() - record->kafka_time_ms;
    if (age_ms <= 0)
        return now_us + wait_us;
    return age_ms >= wait_us / 1000 ? now_us : now_us + wait_us - age_ms * 1000;
}

/* One that has just come back may not have read all that it holds. */
static struct pipe_registry_entry look_for(const struct engine_task *task,
                                           const struct schema_wait *wait, int64_t now_us)
{
    struct pipe_registry *registry = task->task.engine->schemas->registry;
    int64_t back_us = pipe_registry_back_us(registry), until_us = wait->until_us;
    if (back_us != INT64_MIN) {
        back_us += task->task.engine->options->schema_wait_ms * 1000;
        until_us = back_us > until_us ? back_us : until_us;
    }
    return pipe_registry_look(registry, wait->id, until_us, now_us);
}

static struct schema_wait *wait_for(struct engine_task *task, uint32_t id,
                                    const struct pipe_record *record, int64_t now_us)
{
    struct task_schemas *table = table_of(task);
    for (uint32_t i = 0; i < table->wait_count; i++) {
        if (table->waits[i].id == id)
            return &table->waits[i];
    }
    table->waits = pipe_realloc(table->waits, (table->wait_count + 1) * sizeof *table->waits);
    table->waits[table->wait_count] =
        (struct schema_wait){id, wait_until(task, record, now_us), false};
    return &table->waits[table->wait_count++];
}

static void stop_waiting(struct task_schemas *table, uint32_t id)
{
    for (uint32_t i = 0; table != NULL && i < table->wait_count; i++) {
        if (table->waits[i].id == id) {
            table->waits[i] = table->waits[--table->wait_count];
            return;
        }
    }
}

static bool in_table_of_ids(const struct pipe_engine *engine, uint32_t id)
{
    for (uint32_t i = 0; i < engine->schema_id_count; i++) {
        if (engine->schema_ids[i].id == id)
            return true;
    }
    return false;
}

/* An absent id that still comes: what is known by now, without waiting for it. */
static bool check_again(struct engine_task *task, struct schema_verdict *verdict, int64_t now_us)
{
    struct pipe_registry_entry entry = pipe_registry_look(
        task->task.engine->schemas->registry, verdict->id, verdict->checked_us + ABSENT_US, now_us);
    if (entry.state == PIPE_REGISTRY_ABSENT)
        verdict->checked_us = entry.asked_us;
    return entry.state == PIPE_REGISTRY_ABSENT || entry.state == PIPE_REGISTRY_WAIT ||
           settle(task, verdict->id, entry);
}

/* One record's id. */
static enum schemas_state prepare_id(struct engine_task *task, const struct pipe_record *record,
                                     uint32_t id, int64_t now_us)
{
    struct schema_verdict *verdict = find(task->schemas, id);
    if (verdict != NULL) {
        if (verdict->kind != SCHEMA_ABSENT || now_us - verdict->checked_us < ABSENT_US)
            return SCHEMAS_READY;
        return check_again(task, verdict, now_us) ? SCHEMAS_READY : SCHEMAS_FAILED;
    }
    if (in_table_of_ids(task->task.engine, id))
        return SCHEMAS_READY;
    const struct schema_wait *wait = wait_for(task, id, record, now_us);
    struct pipe_registry_entry entry = look_for(task, wait, now_us);
    if (entry.state == PIPE_REGISTRY_WAIT)
        return SCHEMAS_WAIT;
    stop_waiting(task->schemas, id);
    return settle(task, id, entry) ? SCHEMAS_READY : SCHEMAS_FAILED;
}

enum schemas_state schemas_prepare(struct engine_task *task, const struct pipe_record *records,
                                   uint32_t count)
{
    const struct pipe_source_def *source = task->task.source;
    const struct pipe_engine *engine = task->task.engine;
    enum schemas_state state = SCHEMAS_READY;
    if (engine->schemas == NULL || engine->schemas->registry == NULL || source == NULL ||
        !source->is_kafka || source->format != PIPE_FORMAT_AVRO)
        return SCHEMAS_READY;
    int64_t now_us = engine_monotonic_us();
    int64_t last = -1;
    pipe_registry_poll(engine->schemas->registry, now_us);
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *bytes = (const uint8_t *)records[i].payload.data;
        if (records[i].payload.size < FRAME_BYTES || bytes[0] != 0)
            continue;
        uint32_t id = (uint32_t)bytes[1] << 24 | (uint32_t)bytes[2] << 16 |
                      (uint32_t)bytes[3] << 8 | bytes[4];
        if (id == last)
            continue;
        last = id;
        enum schemas_state one = prepare_id(task, &records[i], id, now_us);
        if (one == SCHEMAS_FAILED)
            return SCHEMAS_FAILED;
        if (one == SCHEMAS_WAIT)
            state = SCHEMAS_WAIT;
    }
    if (state == SCHEMAS_READY && task->schemas != NULL)
        task->schemas->wait_count = 0;
    if (task->schemas != NULL)
        task->schemas->waiting = state == SCHEMAS_WAIT;
    return state;
}

bool schemas_waiting(struct engine_task *task)
{
    const struct task_schemas *table = task->schemas;
    if (PIPE_LIKELY(table == NULL || !table->waiting))
        return false;
    struct pipe_registry *registry = task->task.engine->schemas->registry;
    int64_t now_us = engine_monotonic_us();
    bool waits = false;
    pipe_registry_poll(registry, now_us);
    for (uint32_t i = 0; i < table->wait_count; i++) {
        struct schema_wait *wait = &table->waits[i];
        struct pipe_registry_entry entry = look_for(task, wait, now_us);
        if (entry.state == PIPE_REGISTRY_WAIT && entry.absent && !wait->told)
            pipe_message(PIPE_INFO, "waiting for a schema that the registry does not have (yet)",
                         "id=%" PRIu32 " topic=%s partition=%d", wait->id,
                         task->task.source->target, task->task.partition);
        wait->told = wait->told || entry.absent;
        waits = waits || entry.state == PIPE_REGISTRY_WAIT;
    }
    return waits;
}

/* ---- The engine's part ---- */

bool engine_open_schemas(struct pipe_engine *engine)
{
    char error[256];
    if (engine->options->hooks != NULL)
        return true;
    schemas_of(engine)->registry = pipe_registry_open(error, sizeof error);
    return engine->schemas->registry != NULL || error[0] == '\0' ||
           engine_fail(engine, PIPE_EXIT_USAGE, "%s", error);
}

void engine_close_schemas(struct pipe_engine *engine)
{
    if (engine->schemas == NULL)
        return;
    pipe_registry_close(engine->schemas->registry);
    free(engine->schemas->programs); /* tasks have released them all */
    free(engine->schemas);
    engine->schemas = NULL;
}
