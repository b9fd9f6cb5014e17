/* ledger.c: see ledger.h and docs/ledger.md. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "ledger.h"

#define LEDGER_VERSION 1

/* ---- Writing ---- */

static void put_text(struct pipe_buf *line, const char *text)
{
    pipe_json_string(line, pipe_str_of(text, strlen(text)));
}

static void put_time(struct pipe_buf *line, int64_t time_ms)
{
    if (time_ms < PIPE_TS_MS_MIN || time_ms > PIPE_TS_MS_MAX)
        pipe_buf_printf(line, "%" PRId64, time_ms); /* no timestamp can say it */
    else
        pipe_json_timestamp_ms(line, time_ms);
}

/* A number: events a second. */
static void put_rate(struct pipe_buf *line, int64_t per_hour)
{
    int64_t stored = pipe_rate_store(per_hour);
    char text[PIPE_RATE_TEXT];
    pipe_rate_text(per_hour, text);
    if (stored > 0)
        pipe_buf_printf(line, ",\"rate\":%" PRId64, stored);
    else
        pipe_buf_printf(line, ",\"rate\":\"%s\"", text);
}

void pipe_ledger_put_head(struct pipe_buf *line, const struct pipe_plan *plan,
                          const struct pipe_ledger_head *head)
{
    const struct pipe_traffic_def *traffic = &plan->traffics[head->traffic];
    pipe_buf_printf(line, "{\"ledger\":%d,\"pipeline\":", LEDGER_VERSION);
    put_text(line, plan->name);
    pipe_buf_printf(line, ",\"plan\":");
    put_text(line, plan->hash);
    pipe_buf_printf(line, ",\"traffic\":");
    put_text(line, traffic->name);
    pipe_buf_printf(line, ",\"source\":");
    put_text(line, plan->sources[traffic->source].name);
    pipe_buf_printf(line,
                    ",\"partitions\":%" PRIu32 ",\"seed\":%" PRIu64 ",\"start\":", head->partitions,
                    head->options.seed);
    put_time(line, head->options.start_ms);
    put_rate(line, head->options.rate_per_hour);
    pipe_buf_printf(line, ",\"count\":");
    if (head->options.count < 0)
        pipe_buf_printf(line, "null");
    else
        pipe_buf_printf(line, "%" PRId64, head->options.count);
    for (uint32_t i = 0; i < head->options.stop_count; i++)
        pipe_buf_printf(line, "%s%" PRId64, i == 0 ? ",\"stops\":[" : ",", head->options.stops[i]);
    pipe_buf_printf(line, "%s,\"position\":%-20" PRIu64 "}\n",
                    head->options.stop_count > 0 ? "]" : "", head->position);
}

/* name or name.name, quoted. */
static void put_column(struct pipe_buf *line, const struct pipe_traffic_fault *fault,
                       const struct pipe_row_type *row)
{
    struct pipe_buf path = {0};
    for (uint32_t i = 0; i < fault->path_count; i++) {
        const struct pipe_column *column = &row->columns[fault->path[i]];
        pipe_buf_printf(&path, "%s%s", i > 0 ? "." : "", column->name);
        row = column->type->record;
    }
    pipe_json_string(line, pipe_str_of(path.data, path.size));
    pipe_buf_free(&path);
}

static void put_fault(struct pipe_buf *line, const struct pipe_traffic_fault *fault,
                      const struct pipe_source_def *source, const struct pipe_feed_record *record,
                      int64_t sent_ms)
{
    static const char *const kinds[] = {"duplicate", "out of order", "late",
                                        "ahead",     "value",        "poison"};
    pipe_buf_printf(line, "{\"kind\":\"%s\"", kinds[fault->kind]);
    switch (fault->kind) {
    case PIPE_FAULT_DUPLICATE:
        break;
    case PIPE_FAULT_OUT_OF_ORDER:
    case PIPE_FAULT_LATE:
    case PIPE_FAULT_AHEAD:
        if (record->event_time_ms != PIPE_TIME_MIN && record->duplicate < 0)
            pipe_buf_printf(line, ",\"by_ms\":%" PRId64,
                            fault->kind == PIPE_FAULT_AHEAD ? record->event_time_ms - sent_ms
                                                            : sent_ms - record->event_time_ms);
        break;
    case PIPE_FAULT_VALUE:
        pipe_buf_printf(line, ",\"column\":");
        put_column(line, fault, source->row);
        pipe_buf_printf(line, ",\"value\":%s", fault->value_json);
        break;
    case PIPE_FAULT_POISON:
        pipe_buf_printf(line, ",\"how\":\"%s\"", record->poison != NULL ? record->poison : "");
        break;
    }
    pipe_buf_add_byte(line, '}');
}

void pipe_ledger_put_record(struct pipe_buf *line, const struct pipe_traffic_def *traffic,
                            const struct pipe_source_def *source, uint64_t number,
                            const struct pipe_feed_record *record)
{
    pipe_buf_printf(
        line,
        "{\"record\":%" PRIu64 ",\"event\":%" PRIu64 ",\"partition\":%" PRId32 ",\"sent\":", number,
        record->event, record->partition);
    put_time(line, record->kafka_time_ms);
    pipe_buf_printf(line, ",\"event_time\":");
    if (record->event_time_ms == PIPE_TIME_MIN)
        pipe_json_null(line);
    else
        put_time(line, record->event_time_ms);
    pipe_buf_printf(line,
                    ",\"duplicate\":%s,\"fault\":", record->duplicate >= 0 ? "true" : "false");
    if (record->fault < 0)
        pipe_json_null(line);
    else
        put_fault(line, &traffic->faults[record->fault], source, record, record->kafka_time_ms);
    pipe_buf_add(line, "}\n", 2);
}

/* ---- Reading ---- */

static bool is_number(const json_t *head, const char *name, int64_t least, int64_t *to)
{
    const json_t *value = json_object_get(head, name);
    if (!json_is_integer(value) || json_integer_value(value) < least)
        return false;
    *to = json_integer_value(value);
    return true;
}

static bool read_rate(const json_t *head, int64_t *per_hour)
{
    const char *text = json_string_value(json_object_get(head, "rate"));
    int64_t number;
    return text != NULL ? pipe_rate_read(text, per_hour)
                        : is_number(head, "rate", 1, &number) && pipe_rate_load(number, per_hour);
}

/* Optional: counts that were raised. */
static bool read_stops(const json_t *head, struct pipe_feeder_options *options)
{
    const json_t *stops = json_object_get(head, "stops");
    size_t count = json_array_size(stops);
    options->stop_count = 0;
    if (count > PIPE_FEEDER_STOPS || (stops != NULL && !json_is_array(stops)))
        return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *stop = json_array_get(stops, i);
        if (!json_is_integer(stop) || json_integer_value(stop) < 0)
            return false;
        options->stops[options->stop_count++] = json_integer_value(stop);
    }
    return true;
}

static bool find_traffic(const struct pipe_plan *plan, const json_t *head, uint32_t *traffic)
{
    const char *name = json_string_value(json_object_get(head, "traffic"));
    for (uint32_t i = 0; name != NULL && i < plan->traffic_count; i++) {
        *traffic = i;
        if (strcmp(plan->traffics[i].name, name) == 0)
            return true;
    }
    return false;
}

static bool read_fields(const struct pipe_plan *plan, const json_t *json,
                        struct pipe_ledger_head *head, char *error, size_t error_bytes)
{
    const char *hash = json_string_value(json_object_get(json, "plan"));
    const char *start = json_string_value(json_object_get(json, "start"));
    int64_t version, partitions, seed, position;
    if (!is_number(json, "ledger", 0, &version) || version != LEDGER_VERSION || hash == NULL)
        return pipe_refuse(error, error_bytes,
                           "its first line is not the head of a ledger, version %d",
                           LEDGER_VERSION);
    if (strcmp(hash, plan->hash) != 0)
        return pipe_refuse(error, error_bytes, "it is of plan %.64s, but this program is plan %s",
                           hash, plan->hash);
    if (!find_traffic(plan, json, &head->traffic))
        return pipe_refuse(error, error_bytes, "it is of a traffic that this program has not");
    head->options.count = -1;
    bool endless = json_is_null(json_object_get(json, "count"));
    if (start == NULL ||
        !pipe_ts_ms_read(pipe_str_of(start, strlen(start)), &head->options.start_ms) ||
        !is_number(json, "partitions", 1, &partitions) || partitions > 1000000 ||
        !is_number(json, "seed", 0, &seed) || !read_rate(json, &head->options.rate_per_hour) ||
        !is_number(json, "position", 0, &position) || !read_stops(json, &head->options) ||
        (!endless && !is_number(json, "count", 0, &head->options.count)))
        return pipe_refuse(
            error, error_bytes,
            "its first line lacks a sound partitions, seed, start, rate, count, stops "
            "or position");
    head->partitions = (uint32_t)partitions;
    head->options.seed = (uint64_t)seed;
    head->position = (uint64_t)position;
    return true;
}

bool pipe_ledger_read_head(const struct pipe_plan *plan, struct pipe_str line,
                           struct pipe_ledger_head *head, char *error, size_t error_bytes)
{
    json_error_t where;
    json_t *json = json_loadb(line.data, line.size, JSON_REJECT_DUPLICATES, &where);
    *head = (struct pipe_ledger_head){0};
    bool ok = json != NULL ? read_fields(plan, json, head, error, error_bytes)
                           : pipe_refuse(error, error_bytes, "its first line is not JSON: %.200s",
                                         where.text);
    json_decref(json);
    return ok;
}

/* ---- Sums ---- */

void pipe_ledger_count(struct pipe_ledger_totals *totals, const struct pipe_traffic_def *traffic,
                       const struct pipe_source_def *source, const struct pipe_feed_record *record)
{
    enum pipe_fault_kind kind =
        record->fault >= 0 ? traffic->faults[record->fault].kind : PIPE_FAULT_DUPLICATE;
    bool poison = record->poison != NULL;
    bool value = kind == PIPE_FAULT_VALUE;
    bool ahead = !poison && source->is_kafka && record->event_time_ms != PIPE_TIME_MIN &&
                 record->event_time_ms > record->kafka_time_ms + source->ahead / 1000;
    totals->records++;
    if (record->duplicate >= 0)
        totals->duplicates++;
    else
        totals->events++;
    totals->poison += poison;
    totals->value += value;
    totals->value_events += value && record->duplicate < 0;
    totals->ahead += ahead;
    totals->sound += record->duplicate < 0 && !poison && !value && !ahead;
}
