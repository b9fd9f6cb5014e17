/*
 * reconcile_layers.c: what is compared, and the sets of rows behind it.
 */
#include <stdlib.h>

#include "follower.h"
#include "reconcile.h"

#define PARTS_MAX 64u
static const char other_label[] = "(others)";

/* ---- Labels ---- */

/* The text of a string member of an object that the runtime has written: no blanks, keys unescaped.
 * data NULL: there is none. */
static struct pipe_str json_member(struct pipe_str json, const char *name)
{
    const char *at = json.data, *end = json.data + json.size;
    size_t name_bytes = strlen(name);
    int depth = 0;
    while (at < end) {
        if (*at == '{' || *at == '[')
            depth++;
        else if (*at == '}' || *at == ']')
            depth--;
        if (*at++ != '"')
            continue;
        const char *begin = at;
        while (at < end && *at != '"')
            at += *at == '\\' ? 2 : 1;
        if (at >= end)
            break;
        bool key = depth == 1 && end - at > 2 && at[1] == ':' && at[2] == '"';
        if (!key || (size_t)(at - begin) != name_bytes || memcmp(begin, name, name_bytes) != 0) {
            at++;
            continue;
        }
        const char *value = at + 3;
        for (at = value; at < end && *at != '"'; at += *at == '\\' ? 2 : 1)
            continue;
        return at < end ? pipe_str_of(value, (size_t)(at - value)) : pipe_str_of(NULL, 0);
    }
    return pipe_str_of(NULL, 0);
}

static struct pipe_str label_of(const struct reconcile *r, const struct reconcile_layer *layer,
                                struct pipe_str value)
{
    const struct pipe_sink_def *sink = &r->plan->sinks[layer->index];
    struct pipe_str label = {0};
    if (sink->format == PIPE_FORMAT_JSON || sink->format == PIPE_FORMAT_JSONL || layer->topic < 0)
        return json_member(value, layer->label_column);
    struct pipe_reader reader; /* Avro: `reason` is the first column */
    size_t frame = layer->topic >= 0 ? 10 : 0;
    if (value.size < frame)
        return label;
    pipe_reader_init(&reader, value.data + frame, value.size - frame, NULL);
    return pipe_avro_bytes(&reader, &label) ? label : pipe_str_of(NULL, 0);
}

/* The column that tells apart the rows of a sink; NULL: none, or it can't be seen in the bytes. */
static const char *label_column(const struct reconcile *r, const struct pipe_sink_def *sink,
                                bool file)
{
    enum pipe_stream_kind kind = r->plan->streams[sink->stream].kind;
    const char *column = kind == PIPE_STREAM_REJECTS ? "reason"
                         : kind == PIPE_STREAM_LATE  ? "late_for"
                                                     : NULL;
    bool json = sink->format == PIPE_FORMAT_JSON || sink->format == PIPE_FORMAT_JSONL;
    bool first = sink->format == PIPE_FORMAT_AVRO && kind == PIPE_STREAM_REJECTS && !file;
    if (column == NULL || sink->row == NULL || !(json || first))
        return NULL;
    for (uint32_t i = 0; i < sink->row->column_count; i++) {
        if (strcmp(sink->row->columns[i].name, column) == 0)
            return json || i == 0 ? column : NULL;
    }
    return NULL;
}

static struct reconcile_part *find_part(struct reconcile *r, struct reconcile_layer *layer,
                                        struct pipe_str label)
{
    for (uint32_t i = 0; i < layer->part_count; i++) {
        struct reconcile_part *part = layer->parts[i];
        if (strlen(part->label) == label.size &&
            memcmp(part->label, label.data != NULL ? label.data : "", label.size) == 0)
            return part;
    }
    if (label.data != other_label &&
        (label.size >= sizeof layer->parts[0]->label || layer->part_count + 1 >= PARTS_MAX))
        return find_part(r, layer, pipe_str_of(other_label, sizeof other_label - 1));
    struct reconcile_part *part = pipe_calloc(1, sizeof *part);
    if (label.size > 0)
        memcpy(part->label, label.data, label.size);
    pipe_multiset_init(&part->rows, &r->spills);
    layer->parts = pipe_realloc(layer->parts, (layer->part_count + 1) * sizeof *layer->parts);
    return layer->parts[layer->part_count++] = part;
}

struct reconcile_part *reconcile_part_of(struct reconcile *r, struct reconcile_layer *layer,
                                         struct pipe_str value)
{
    struct pipe_str label = {0};
    if (layer->label_column != NULL)
        label = label_of(r, layer, value);
    return find_part(r, layer, label);
}

/* ---- Rows ---- */

void reconcile_add(struct reconcile *r, struct reconcile_layer *layer, enum pipe_multiset_side side,
                   int64_t place, struct pipe_str key, struct pipe_str value)
{
    struct pipe_hash row = pipe_message_hash(place, key, value);
    pipe_multiset_add(&reconcile_part_of(r, layer, value)->rows, side, &row);
}

static void put_bytes(struct pipe_buf *to, struct pipe_str bytes)
{
    if (bytes.data == NULL)
        pipe_json_null(to);
    else if (!pipe_utf8_check(bytes.data, bytes.size))
        pipe_json_base64(to, bytes);
    else if (bytes.size > 0 && bytes.data[0] == '{' && pipe_json_check(bytes))
        pipe_buf_add(to, bytes.data, bytes.size);
    else
        pipe_json_string(to, bytes);
}

/* {"key": …, "value": …}: text, else base64; of exchanges the row, as far as it is known. */
static char *row_text(const struct reconcile *r, const struct reconcile_layer *layer,
                      struct pipe_str key, struct pipe_str value)
{
    struct pipe_buf text = {0};
    if (layer->topic >= 0) {
        pipe_buf_printf(&text, "{\"key\":");
        put_bytes(&text, key);
        pipe_buf_printf(&text, ",\"value\":");
        if (layer->kind != RECONCILE_EXCHANGE ||
            !exchange_to_json(r->engine, layer->index, value, &text))
            put_bytes(&text, value);
        pipe_buf_add_byte(&text, '}');
    } else {
        put_bytes(&text, value);
    }
    pipe_buf_add_byte(&text, 0);
    return (char *)text.data;
}

bool reconcile_wants(struct reconcile *r, struct reconcile_layer *layer, bool missing,
                     int64_t place, struct pipe_str key, struct pipe_str value, const char *where)
{
    struct reconcile_part *part = reconcile_part_of(r, layer, value);
    uint32_t *shown = missing ? &part->shown_missing : &part->shown_unexpected;
    if (part->comparison == NULL || part->comparison->difference_count == 0 ||
        *shown >= RECONCILE_SHOWN)
        return false;
    struct pipe_hash hash = pipe_message_hash(place, key, value);
    struct pipe_difference *difference = pipe_difference_of(part->comparison, &hash);
    if (difference == NULL)
        return false;
    /* Of rows that are there too often those are shown that are too many, and the same for missing
     * ones: so the counts are used up here. */
    uint64_t *sound = missing ? &difference->actual : &difference->most;
    if (missing ? difference->least <= difference->actual : difference->actual <= difference->most)
        return false;
    if (*sound > 0) {
        (*sound)--;
        if (missing)
            difference->least--;
        else
            difference->actual--;
        return false;
    }
    if (missing)
        difference->least--;
    else
        difference->actual--;
    (*shown)++;
    uint32_t index = 0;
    while (layer->parts[index] != part)
        index++;
    r->rows = pipe_realloc(r->rows, (r->row_count + 1) * sizeof *r->rows);
    r->rows[r->row_count++] = (struct reconcile_row){
        .layer = (uint32_t)(layer - r->layers),
        .part = index,
        .missing = missing,
        .where = pipe_text_dup(where),
        .text = row_text(r, layer, key, value),
    };
    return true;
}

bool reconcile_compare(struct reconcile *r)
{
    for (uint32_t i = 0; i < r->layer_count; i++) {
        struct reconcile_layer *layer = &r->layers[i];
        if (layer->part_count == 0)
            find_part(r, layer, pipe_str_of(NULL, 0));
        for (uint32_t p = 0; p < layer->part_count; p++) {
            struct reconcile_part *part = layer->parts[p];
            part->comparison = pipe_calloc(1, sizeof *part->comparison);
            if (!pipe_multiset_compare(&part->rows, part->comparison))
                return reconcile_fail(r, PIPE_EXIT_DATA, "%s", r->spills.error);
            pipe_multiset_free(&part->rows);
        }
        if (layer->disordered >= 0 && reconcile_layer_equal(layer))
            snprintf(layer->trouble, sizeof layer->trouble,
                     "partition %d holds what was sent, but in another order", layer->disordered);
    }
    return true;
}

bool reconcile_layer_equal(const struct reconcile_layer *layer)
{
    bool equal = layer->trouble[0] == '\0';
    for (uint32_t p = 0; p < layer->part_count; p++) {
        const struct pipe_comparison *c = layer->parts[p]->comparison;
        equal = equal && c != NULL && c->missing == 0 && c->unexpected == layer->beside;
    }
    return equal;
}

/* ---- Layers ---- */

static struct reconcile_layer *new_layer(struct reconcile *r, enum reconcile_kind kind,
                                         uint32_t index, const char *name)
{
    struct reconcile_layer *layer = &r->layers[r->layer_count++];
    *layer = (struct reconcile_layer){
        .kind = kind, .index = index, .name = name, .topic = -1, .disordered = -1};
    pipe_spill_init(&layer->corrections, &r->spills, 0);
    return layer;
}

/* Partials of records that came after their window's end are shipped at commits, however many have
 * come together by then. */
static bool ships_by_commit(const struct reconcile *r, uint32_t exchange)
{
    for (uint32_t s = 0; s < r->plan->stage_count; s++) {
        const struct pipe_stage_def *stage = &r->plan->stages[s];
        for (uint32_t i = 0; i < stage->state_count; i++) {
            const struct pipe_state_def *state = &stage->states[i];
            if (state->phase == PIPE_PHASE_PARTIAL && state->exchange == exchange &&
                state->lateness > 0 && state->emit != PIPE_EMIT_FINAL)
                return true;
        }
    }
    return false;
}

static void make_sink_layer(struct reconcile *r, uint32_t index)
{
    struct engine_sink *sink = &r->engine->sinks[index];
    const struct pipe_sink_def *def = sink->def;
    struct reconcile_layer *layer;
    if (sink->is_topic && r->layer_of_topic[sink->topic] >= 0) {
        r->layer_of_sink[index] = r->layer_of_topic[sink->topic]; /* two sinks, one topic */
        return;
    }
    if (sink->followed)
        return; /* point_at_followed */
    if (!sink->is_topic && sink->path == NULL)
        return; /* standard output: what was written there is gone */
    layer = new_layer(r, RECONCILE_SINK, index, def->name);
    layer->label_column = label_column(r, def, !sink->is_topic);
    r->layer_of_sink[index] = (int32_t)(layer - r->layers);
    if (sink->is_topic) {
        layer->topic = (int32_t)sink->topic;
        r->layer_of_topic[sink->topic] = r->layer_of_sink[index];
        snprintf(layer->place, sizeof layer->place, "topic %.250s",
                 r->engine->log->topics[sink->topic].name);
    } else {
        snprintf(layer->place, sizeof layer->place, "file %.300s", sink->path);
    }
}

/* The sink whose topic a table follows may come behind it in the program. */
static void point_at_followed(struct reconcile *r, uint32_t index)
{
    uint32_t followed;
    if (r->engine->sinks[index].followed && pipe_plan_followed(r->plan, index, &followed))
        r->layer_of_sink[index] = r->layer_of_topic[r->engine->sinks[followed].topic];
}

/* Behind the layers of topics: what a follower has brought further. */
static void make_table_layer(struct reconcile *r, uint32_t index)
{
    const struct engine_sink *sink = &r->engine->sinks[index];
    if (sink->def->table == NULL || !(sink->followed || sink->is_topic) ||
        (r->on_server && r->clickhouse == NULL))
        return;
    struct reconcile_layer *layer = new_layer(r, RECONCILE_TABLE, index, sink->def->name);
    layer->label_column = label_column(r, sink->def, true);
    reconcile_make_table(r, layer);
}

bool reconcile_make_layers(struct reconcile *r)
{
    const struct pipe_plan *plan = r->plan;
    struct pipe_engine *engine = r->engine;
    uint32_t most = plan->source_count + plan->exchange_count + 2 * plan->sink_count;
    r->layers = pipe_calloc(most + 1, sizeof *r->layers);
    r->layer_of_topic = pipe_calloc(engine->log->topic_count + 1, sizeof *r->layer_of_topic);
    r->layer_of_sink = pipe_calloc(plan->sink_count + 1, sizeof *r->layer_of_sink);
    for (uint32_t t = 0; t < engine->log->topic_count; t++)
        r->layer_of_topic[t] = -1;
    for (uint32_t i = 0; i < plan->source_count; i++) {
        struct reconcile_layer *layer = new_layer(r, RECONCILE_RAW, i, plan->sources[i].name);
        layer->topic = engine->sources[i].files ? -1 : (int32_t)engine->sources[i].topic;
        snprintf(layer->place, sizeof layer->place, "%s %.250s",
                 engine->sources[i].files ? "files of" : "topic", plan->sources[i].target);
    }
    for (uint32_t i = 0; i < plan->exchange_count; i++) {
        struct reconcile_layer *layer =
            new_layer(r, RECONCILE_EXCHANGE, i, plan->exchanges[i].name);
        layer->topic = (int32_t)engine->exchanges[i].topic;
        layer->merges = plan->exchanges[i].partials && ships_by_commit(r, i);
        r->layer_of_topic[layer->topic] = (int32_t)(layer - r->layers);
        snprintf(layer->place, sizeof layer->place, "topic %.250s",
                 engine->log->topics[layer->topic].name);
    }
    for (uint32_t i = 0; i < plan->sink_count; i++) {
        r->layer_of_sink[i] = -1;
        if (!r->outputs_discarded)
            make_sink_layer(r, i);
    }
    for (uint32_t i = 0; i < plan->sink_count && !r->outputs_discarded; i++)
        point_at_followed(r, i);
    for (uint32_t i = 0; i < plan->sink_count && !r->outputs_discarded; i++)
        make_table_layer(r, i);
    return true;
}

void reconcile_free_layers(struct reconcile *r)
{
    for (uint32_t i = 0; i < r->layer_count; i++) {
        struct reconcile_layer *layer = &r->layers[i];
        for (uint32_t p = 0; p < layer->part_count; p++) {
            pipe_multiset_free(&layer->parts[p]->rows);
            free(layer->parts[p]->comparison);
            free(layer->parts[p]);
        }
        free(layer->parts);
        pipe_spill_free(&layer->corrections);
        pipe_spill_free(&layer->made);
        pipe_spill_free(&layer->found);
        reconcile_free_table(layer->table);
    }
    for (uint32_t i = 0; i < r->row_count; i++) {
        free(r->rows[i].where);
        free(r->rows[i].text);
    }
    free(r->rows);
    free(r->layers);
    free(r->layer_of_topic);
    free(r->layer_of_sink);
}
