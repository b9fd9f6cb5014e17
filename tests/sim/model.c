/* model.c: see model.h. */
#include "model.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SECOND INT64_C(1000000)
#define ON_ITS_WAY (10 * SECOND) /* what a marker may say that is not read yet */

static const struct {
    const char *program;
    struct sim_model_def def;
} models[] = {
    {"local",
     {.sources = {{"events", "pipec.sim_local.events.time", 3, 3 * SECOND, 60 * SECOND}},
      .refuses_bad_kind = true,
      .dedup_ttl = 10 * SECOND,
      .fresh = "fresh",
      .windows = {{"counted", "counted", 5 * SECOND, 5 * SECOND, 4 * SECOND, MODEL_CLOSE, true,
                   false},
                  {"sessions", "sessions", 3 * SECOND, 0, 2 * SECOND, MODEL_FINAL, false, false}}}},
    {"exchange",
     {.sources = {{"events", "pipec.sim_exchange.events.time", 3, 3 * SECOND, 60 * SECOND}},
      .refuses_bad_kind = true,
      .dedup_ttl = 10 * SECOND,
      .fresh = "fresh",
      .windows = {{"counted", "counted", 5 * SECOND, 5 * SECOND, 3 * SECOND, MODEL_CLOSE, true,
                   true},
                  {"hops", "hops", 8 * SECOND, 4 * SECOND, 0, MODEL_CLOSE, false, true}}}},
    {"union",
     {.sources = {{"events", "pipec.sim_union.events.time", 2, 3 * SECOND, 60 * SECOND},
                  {"others", "pipec.sim_union.others.time", 2, 5 * SECOND, 60 * SECOND}},
      .dedup_ttl = 10 * SECOND,
      .fresh = "fresh",
      .windows = {{"counted", "counted", 5 * SECOND, 5 * SECOND, 2 * SECOND, MODEL_FINAL, false,
                   true}}}},
    {"tables",
     {.sources = {{"events", "pipec.sim_tables.events.time", 3, 3 * SECOND, 60 * SECOND}},
      .dedup_ttl = 10 * SECOND,
      .fresh = "fresh",
      .windows = {{"counted", "counted", 5 * SECOND, 5 * SECOND, 4 * SECOND, MODEL_CLOSE, true,
                   false}}}},
    {"update",
     {.sources = {{"events", "pipec.sim_update.events.time", 2, 2 * SECOND, 60 * SECOND}},
      .windows =
          {{"counted", "counted", 10 * SECOND, 10 * SECOND, 3 * SECOND, MODEL_UPDATE, true, false},
           {"sessions", "sessions", SECOND * 8 / 10, 0, 3 * SECOND, MODEL_FINAL, false, true}}}},
};

const struct sim_model_def *sim_model_of(const char *program)
{
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (strcmp(models[i].program, program) == 0)
            return &models[i].def;
    return NULL;
}

void model_add(struct model_rows *rows, const char *format, ...)
{
    char row[512];
    va_list args;
    va_start(args, format);
    vsnprintf(row, sizeof row, format, args);
    va_end(args);
    if (rows->count == rows->capacity) {
        rows->capacity = rows->capacity * 2 + 64;
        rows->rows = pipe_realloc(rows->rows, rows->capacity * sizeof *rows->rows);
    }
    rows->rows[rows->count++] = pipe_str_dup(pipe_str_of(row, strlen(row)));
}

/* ---- Input ---- */

bool model_time(const char *text, int64_t *us)
{
    struct tm tm = {0};
    int ms;
    if (text == NULL || sscanf(text, "%d-%d-%dT%d:%d:%d.%3dZ", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
                               &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &ms) != 7)
        return false;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    *us = (timegm(&tm) * 1000 + ms) * 1000;
    return true;
}

static char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? pipe_str_dup(pipe_str_of(text, strlen(text))) : NULL;
}

bool model_decode(struct pipe_str value, struct model_event *event)
{
    json_t *json = value.data != NULL ? json_loadb(value.data, value.size, 0, NULL) : NULL;
    event->id = text_of(json, "id");
    event->user = text_of(json, "user");
    event->kind = text_of(json, "kind");
    event->n = json_integer_value(json_object_get(json, "n"));
    bool sound = event->id != NULL && event->user != NULL && event->kind != NULL &&
                 model_time(json_string_value(json_object_get(json, "at")), &event->at);
    json_decref(json);
    return sound;
}

struct floor {
    int64_t offset, floor;
};

struct partition {
    struct model *model;
    uint32_t source;
    int32_t number;
    struct floor *times;
    size_t time_count, next_time;
    int64_t watermark, seen_event_time;
};

static bool take_time(void *to, const struct sim_record *record)
{
    struct partition *partition = to;
    struct pipe_reader reader;
    struct floor time;
    int64_t seq;
    pipe_reader_init(&reader, (const uint8_t *)record->value.data, record->value.size, NULL);
    if (!pipe_avro_long(&reader, &time.offset) || !pipe_avro_long(&reader, &seq) ||
        !pipe_avro_long(&reader, &time.floor))
        sim_fail("a time record is malformed");
    partition->times =
        pipe_realloc(partition->times, (partition->time_count + 1) * sizeof *partition->times);
    partition->times[partition->time_count++] = time;
    if (seq != (int64_t)partition->time_count)
        sim_fail("time record %zu of partition %d says that it is number %lld",
                 partition->time_count, partition->number, (long long)seq);
    return true;
}

static void apply_floors(struct partition *partition, int64_t before)
{
    for (; partition->next_time < partition->time_count; partition->next_time++) {
        const struct floor *time = &partition->times[partition->next_time];
        if (time->offset > before)
            return;
        if (time->floor > partition->watermark)
            partition->watermark = time->floor;
    }
}

static void refuse(struct partition *partition, int64_t offset, const char *reason)
{
    model_add(&partition->model->refused, "%s %s/%d/%lld", reason,
              partition->model->def->sources[partition->source].topic, partition->number,
              (long long)offset);
}

static bool take_record(void *to, const struct sim_record *record)
{
    struct partition *partition = to;
    struct model *model = partition->model;
    const struct model_source_def *source = &model->def->sources[partition->source];
    struct model_event event = {.source = partition->source,
                                .partition = partition->number,
                                .offset = record->offset,
                                .kafka_time = record->kafka_time_ms * 1000};
    apply_floors(partition, record->offset);
    event.watermark = partition->watermark;
    if (!model_decode(record->value, &event)) {
        refuse(partition, record->offset, "undecodable");
        return true;
    }
    if (event.at > event.kafka_time + source->ahead) {
        refuse(partition, record->offset, "event_time_ahead");
        return true;
    }
    if (event.at - source->bound > partition->watermark)
        partition->watermark = event.at - source->bound;
    if (model->event_count == model->event_capacity) {
        model->event_capacity = model->event_capacity * 2 + 256;
        model->events = pipe_realloc(model->events, model->event_capacity * sizeof *model->events);
    }
    model->events[model->event_count++] = event;
    return true;
}

static void read_partition(struct model *model, uint32_t source, int32_t number)
{
    const struct model_source_def *def = &model->def->sources[source];
    struct partition partition = {
        .model = model, .source = source, .number = number, .watermark = PIPE_TIME_MIN};
    const struct sim_reader *reader = model->reader;
    if (!reader->read(reader->context, def->time_topic, number, take_time, &partition) ||
        !reader->read(reader->context, def->topic, number, take_record, &partition))
        sim_fail("topic %s or its time is missing", def->topic);
    apply_floors(&partition, INT64_MAX);
    model->watermarks[source][number] = partition.watermark;
    free(partition.times);
}

/* ---- Dedup ---- */

static bool refuses(struct model *model, const struct model_event *event)
{
    const struct sim_model_def *def = model->def;
    struct partition at = {.model = model, .source = event->source, .number = event->partition};
    if (def->refuses_bad_kind && strcmp(event->kind, "bad") == 0) {
        refuse(&at, event->offset, "bad_kind");
        return true;
    }
    if (def->dedup_ttl > 0 && event->watermark != PIPE_TIME_MIN &&
        event->at < event->watermark - def->dedup_ttl) {
        refuse(&at, event->offset, "too_old_to_dedup");
        return true;
    }
    return false;
}

/* Keeps of the events those that pass. Ids belong to one source partition each. */
static void filter_events(struct model *model)
{
    size_t kept = 0;
    int64_t *until = pipe_calloc(model->event_count + 1, sizeof *until);
    for (size_t i = 0; i < model->event_count; i++) {
        struct model_event *event = &model->events[i];
        bool duplicate = false;
        if (refuses(model, event))
            continue;
        for (size_t k = 0; model->def->dedup_ttl > 0 && k < kept && !duplicate; k++)
            duplicate = model->events[k].source == event->source &&
                        strcmp(model->events[k].id, event->id) == 0 && event->watermark <= until[k];
        if (duplicate)
            continue;
        until[kept] =
            (event->at > event->watermark ? event->at : event->watermark) + model->def->dedup_ttl;
        model->events[kept++] = *event;
    }
    model->event_count = kept;
    free(until);
}

/* ---- Windows ---- */

static struct model_window *window_at(struct model *model, uint32_t w, const char *group,
                                      int64_t start, int64_t end)
{
    for (size_t i = 0; i < model->window_count[w]; i++) {
        struct model_window *window = &model->windows[w][i];
        if (window->start == start && window->end == end && strcmp(window->group, group) == 0)
            return window;
    }
    model->windows[w] =
        pipe_realloc(model->windows[w], (model->window_count[w] + 1) * sizeof *model->windows[w]);
    struct model_window *window = &model->windows[w][model->window_count[w]++];
    *window = (struct model_window){.group = group, .start = start, .end = end};
    return window;
}

static void late(struct model *model, uint32_t w, const struct model_event *event, int64_t end)
{
    model_add(&model->behind, "%s %s until %lld", model->def->windows[w].stream, event->id,
              (long long)end);
}

static void add_to_windows(struct model *model, uint32_t w, const struct model_event *event)
{
    const struct model_window_def *def = &model->def->windows[w];
    int64_t start = event->at - event->at % def->slide;
    for (; start > event->at - def->size; start -= def->slide) {
        int64_t end = start + def->size;
        if (end + def->lateness <= event->watermark) {
            late(model, w, event, end);
            continue;
        }
        struct model_window *window =
            window_at(model, w, def->by_kind ? event->kind : event->user, start, end);
        window->events++;
        window->total += event->n;
    }
}

/* In the task: merged with the open ones that it overlaps, late by the end of that. */
static void add_to_session(struct model *model, uint32_t w, const struct model_event *event)
{
    const struct model_window_def *def = &model->def->windows[w];
    struct model_window merged = {.group = event->user,
                                  .start = event->at,
                                  .end = event->at + def->size,
                                  .events = 1,
                                  .total = event->n};
    bool overlapped[8192] = {false};
    if (model->window_count[w] > sizeof overlapped)
        sim_fail("too many sessions for the model");
    for (bool grows = true; grows;) {
        grows = false;
        for (size_t i = 0; i < model->window_count[w]; i++) {
            const struct model_window *window = &model->windows[w][i];
            if (overlapped[i] || strcmp(window->group, merged.group) != 0 ||
                window->end + def->lateness <= event->watermark || window->start >= merged.end ||
                merged.start >= window->end)
                continue;
            overlapped[i] = grows = true;
            merged.start = window->start < merged.start ? window->start : merged.start;
            merged.end = window->end > merged.end ? window->end : merged.end;
            merged.events += window->events;
            merged.total += window->total;
        }
    }
    if (merged.end + def->lateness <= event->watermark) {
        late(model, w, event, merged.end);
        return;
    }
    size_t kept = 0;
    for (size_t i = 0; i < model->window_count[w]; i++)
        if (!overlapped[i])
            model->windows[w][kept++] = model->windows[w][i];
    model->window_count[w] = kept;
    *window_at(model, w, merged.group, merged.start, merged.end) = merged;
}

static int by_time(const void *a, const void *b)
{
    const struct model_event *one = a, *other = b;
    return one->at < other->at ? -1 : one->at > other->at;
}

/* Behind an exchange: what is on time by itself, merged where it overlaps. */
static void make_sessions(struct model *model, uint32_t w)
{
    const struct model_window_def *def = &model->def->windows[w];
    struct model_event *events = pipe_malloc((model->event_count + 1) * sizeof *events);
    size_t count = 0;
    for (size_t i = 0; i < model->event_count; i++) {
        const struct model_event *event = &model->events[i];
        if (event->watermark != PIPE_TIME_MIN && event->at + def->lateness < event->watermark)
            late(model, w, event, event->at + def->size);
        else
            events[count++] = *event;
    }
    qsort(events, count, sizeof *events, by_time);
    for (size_t i = 0; i < count; i++) {
        struct model_window *last = NULL;
        for (size_t k = 0; k < model->window_count[w]; k++)
            if (strcmp(model->windows[w][k].group, events[i].kind) == 0 &&
                events[i].at < model->windows[w][k].end)
                last = &model->windows[w][k];
        if (last == NULL)
            last = window_at(model, w, events[i].kind, events[i].at, 0);
        last->end = events[i].at + def->size;
        last->events++;
        last->total += events[i].n;
    }
    free(events);
}

static int64_t least_watermark(const struct model *model)
{
    int64_t least = PIPE_TIME_MAX;
    for (uint32_t s = 0; s < MODEL_SOURCES && model->def->sources[s].topic != NULL; s++)
        for (int32_t p = 0; p < model->def->sources[s].partitions; p++)
            least = model->watermarks[s][p] < least ? model->watermarks[s][p] : least;
    return least;
}

static int64_t watermark_of_user(const struct model *model, const char *user)
{
    for (size_t i = 0; i < model->event_count; i++)
        if (strcmp(model->events[i].user, user) == 0)
            return model->watermarks[model->events[i].source][model->events[i].partition];
    return PIPE_TIME_MIN;
}

static void make_windows(struct model *model, uint32_t w)
{
    const struct model_window_def *def = &model->def->windows[w];
    if (def->slide == 0 && def->by_kind)
        make_sessions(model, w);
    for (size_t i = 0; i < model->event_count && !(def->slide == 0 && def->by_kind); i++) {
        if (def->slide == 0)
            add_to_session(model, w, &model->events[i]);
        else
            add_to_windows(model, w, &model->events[i]);
    }
    for (size_t i = 0; i < model->window_count[w]; i++) {
        struct model_window *window = &model->windows[w][i];
        int64_t watermark =
            def->by_kind ? least_watermark(model) : watermark_of_user(model, window->group);
        int64_t over = window->end + (def->emit == MODEL_FINAL ? def->lateness : 0);
        window->closed = over <= watermark;
        window->maybe = window->closed && def->by_kind && sim.grouped && sim.program->advances &&
                        over > watermark - ON_ITS_WAY;
    }
}

void model_run(struct model *model)
{
    for (uint32_t s = 0; s < MODEL_SOURCES && model->def->sources[s].topic != NULL; s++)
        for (int32_t p = 0; p < model->def->sources[s].partitions; p++)
            read_partition(model, s, p);
    filter_events(model);
    for (size_t i = 0; model->def->fresh != NULL && i < model->event_count; i++) {
        const struct model_event *event = &model->events[i];
        model_add(&model->fresh, "%s %s %s %lld at %lld", event->id, event->user, event->kind,
                  (long long)event->n, (long long)event->at);
    }
    for (uint32_t w = 0; w < MODEL_WINDOWS && model->def->windows[w].stream != NULL; w++)
        make_windows(model, w);
}
