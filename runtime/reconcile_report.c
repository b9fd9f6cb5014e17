/*
 * reconcile_report.c: what was found, as a table or as one JSON object.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "reconcile.h"

#define SHOWN_BYTES 4000 /* of one row, in text */

static const char *const kind_names[] = {"raw", "exchange", "sink", "table"};

struct pipe_comparison reconcile_sum(const struct reconcile_layer *layer)
{
    struct pipe_comparison sum = {0};
    for (uint32_t p = 0; p < layer->part_count; p++) {
        const struct pipe_comparison *c = layer->parts[p]->comparison;
        if (c == NULL)
            continue;
        sum.expected += c->expected;
        sum.actual += c->actual;
        sum.unique += c->unique;
        sum.missing += c->missing;
        sum.unexpected += c->unexpected;
    }
    return sum;
}

static bool has_ledger(const struct reconcile *r, const struct reconcile_layer *layer)
{
    return layer->kind != RECONCILE_RAW || r->has_ledger[layer->index];
}

static bool all_equal(const struct reconcile *r)
{
    bool equal = true;
    for (uint32_t i = 0; i < r->plan->sink_count; i++)
        equal = equal && !r->left_out[i];
    for (uint32_t i = 0; i < r->layer_count; i++)
        equal = equal && reconcile_layer_equal(&r->layers[i]);
    for (uint32_t i = 0; i < r->check_count; i++)
        equal = equal && (r->checks[i].note || reconcile_check_holds(&r->checks[i]));
    return equal;
}

/* ---- Text ---- */

/* At most so many bytes of a text, in one line of the report: what names files or is read from them
 * can't forge another. free. */
static char *shown(const char *text, size_t most_bytes)
{
    size_t size = strnlen(text, most_bytes), room = size * 4 + 1;
    char *copy = pipe_malloc(room);
    memcpy(copy, text, size);
    copy[size] = '\0';
    pipe_utf8_trim(copy, size);
    pipe_text_show(copy, room);
    return copy;
}

static void print_line(FILE *to, const char *kind, const char *name, int width,
                       const struct pipe_comparison *c, const char *verdict, const char *place)
{
    char numbers[5][32], *where = shown(place, SIZE_MAX);
    fprintf(to, "  %-8s  %-*s %12s %12s %12s %9s %11s  %-9s  %s\n", kind, width, name,
            pipe_u64_grouped(numbers[0], c->expected), pipe_u64_grouped(numbers[1], c->actual),
            pipe_u64_grouped(numbers[2], c->unique), pipe_u64_grouped(numbers[3], c->missing),
            pipe_u64_grouped(numbers[4], c->unexpected), verdict, where);
    free(where);
}

static int by_label(const void *a, const void *b)
{
    return strcmp((*(struct reconcile_part *const *)a)->label,
                  (*(struct reconcile_part *const *)b)->label);
}

static int name_width(const struct reconcile *r)
{
    size_t width = strlen("name");
    for (uint32_t i = 0; i < r->layer_count; i++) {
        const struct reconcile_layer *layer = &r->layers[i];
        width = strlen(layer->name) > width ? strlen(layer->name) : width;
        for (uint32_t p = 0; p < layer->part_count; p++) {
            size_t label = strlen(layer->parts[p]->label) + 2;
            width = label > width ? label : width;
        }
    }
    return (int)width;
}

static void print_parts(FILE *to, const struct reconcile_layer *layer, int width)
{
    char name[128];
    for (uint32_t p = 0; p < layer->part_count; p++) {
        const struct reconcile_part *part = layer->parts[p];
        const struct pipe_comparison *c = part->comparison;
        if (part->label[0] == '\0' || c == NULL)
            continue;
        snprintf(name, sizeof name, "  %s", part->label);
        pipe_text_show(name, sizeof name);
        print_line(to, "", name, width, c, c->missing + c->unexpected == 0 ? "equal" : "NOT EQUAL",
                   "");
    }
}

static void print_trouble(FILE *to, const struct reconcile_layer *layer, int width)
{
    char *trouble = shown(layer->trouble, SIZE_MAX);
    fprintf(to, "%*s %s\n", width + 12, "", trouble);
    free(trouble);
}

static void print_note(FILE *to, int width, const char *format, ...) PIPE_PRINTF(3, 4);
static void print_note(FILE *to, int width, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(to, "%*s ", width + 12, "");
    vfprintf(to, format, args);
    fputc('\n', to);
    va_end(args);
}

/* The name of a file of the input that has another time than when the run began; else NULL. */
static const char *changed_name(const struct reconcile *r, const struct reconcile_layer *layer,
                                uint32_t partition)
{
    const struct engine_source *source = &r->engine->sources[layer->index];
    return source->changed != NULL && source->changed[partition] ? source->names[partition] : NULL;
}

static uint32_t partitions_of(const struct reconcile *r, const struct reconcile_layer *layer)
{
    return layer->kind == RECONCILE_RAW ? r->engine->sources[layer->index].partitions : 0;
}

static void print_changed(const struct reconcile *r, const struct reconcile_layer *layer, int width,
                          FILE *to)
{
    for (uint32_t p = 0; p < partitions_of(r, layer); p++) {
        const char *changed = changed_name(r, layer, p);
        if (changed == NULL)
            continue;
        char *name = shown(changed, SHOWN_BYTES);
        print_note(to, width, "%s was modified since this run began", name);
        free(name);
    }
}

/* What the numbers of a layer do not say. */
static void print_notes(const struct reconcile *r, const struct reconcile_layer *layer, int width,
                        FILE *to)
{
    bool exchange = layer->kind == RECONCILE_EXCHANGE;
    uint64_t not_yet = reconcile_not_yet(layer);
    char text[64];
    if (layer->injected > 0)
        print_note(to, width, "of them %s by `inject`",
                   pipe_counted(text, layer->injected, "record", "records"));
    if (exchange && r->plan->exchanges[layer->index].partials)
        print_note(to, width, "partials%s: one adds up many of the rows that `shipped` counts",
                   layer->merges ? ", added up by key and window" : "");
    if (exchange)
        print_note(
            to, width, "and %s, by which the next stage knows the time: records too",
            pipe_counted(text, reconcile_marker_records(r, layer->index), "marker", "markers"));
    if (layer->unread > 0)
        print_note(to, width, "of these records %s not read yet",
                   pipe_counted(text, layer->unread, "is", "are"));
    print_changed(r, layer, width, to);
    if (!has_ledger(r, layer))
        print_note(to, width, "no traffic: the input itself is the truth");
    if (not_yet > 0)
        print_note(to, width, "%s of its topic not there yet: its follower is behind",
                   pipe_counted(text, not_yet, "row", "rows"));
    if (layer->trouble[0] != '\0')
        print_trouble(to, layer, width);
    else if (layer->behind_bytes > 0)
        print_note(to, width, "and %s behind what was committed: the next run cuts them off",
                   pipe_counted(text, layer->behind_bytes, "byte", "bytes"));
}

static void print_layers(const struct reconcile *r, FILE *to)
{
    int width = name_width(r);
    fprintf(to, "  %-8s  %-*s %12s %12s %12s %9s %11s\n", "layer", width, "name", "expected",
            "rows", "unique", "missing", "unexpected");
    for (uint32_t i = 0; i < r->layer_count; i++) {
        const struct reconcile_layer *layer = &r->layers[i];
        struct pipe_comparison sum = reconcile_sum(layer);
        print_line(to, kind_names[layer->kind], layer->name, width, &sum,
                   reconcile_layer_equal(layer) ? "equal" : "NOT EQUAL", layer->place);
        print_parts(to, layer, width);
        print_notes(r, layer, width, to);
    }
    for (uint32_t i = 0; i < r->plan->sink_count; i++) {
        if (r->layer_of_sink[i] < 0)
            fprintf(to, "  %-8s  %-*s not kept (%s), so not compared\n", "sink", width,
                    r->plan->sinks[i].name,
                    r->outputs_discarded ? "--no-output" : "standard output");
        else if (r->plan->sinks[i].table != NULL && r->on_server && r->clickhouse == NULL)
            fprintf(to, "  %-8s  %-*s not compared%s\n", "table", width, r->plan->sinks[i].name,
                    r->options->without_tables ? " (--without-tables)"
                    : r->left_out[i] ? ", so not exact: set PIPE_CLICKHOUSE_URL, or leave "
                                       "tables out with --without-tables"
                                     : ": no row was ever brought into it");
    }
}

static void print_rows(const struct reconcile *r, FILE *to)
{
    if (r->row_count == 0)
        return;
    fprintf(to, "\n  the first rows that differ\n");
    for (uint32_t i = 0; i < r->row_count; i++) {
        const struct reconcile_row *row = &r->rows[i];
        const struct reconcile_layer *layer = &r->layers[row->layer];
        char *where = shown(row->where, SIZE_MAX), *text = shown(row->text, SHOWN_BYTES);
        fprintf(to, "  %-10s  %s, %s\n              %s%s\n",
                row->missing ? "missing" : "unexpected", layer->name, where, text,
                strlen(row->text) > SHOWN_BYTES ? "…" : "");
        free(where);
        free(text);
    }
}

/* A side as the sum that it is, else as a number. */
static const char *value_text(char to[32], int64_t value, const char *terms)
{
    if (terms[0] != '\0')
        return terms;
    if (value < 0)
        snprintf(to, 32, "%" PRId64, value);
    else
        pipe_u64_grouped(to, (uint64_t)value);
    return to;
}

static void print_check(const struct reconcile_check *check, FILE *to)
{
    const char *sign = check->at_most ? "<=" : "=";
    bool holds = reconcile_check_holds(check);
    char left[32], right[32];
    const char *verdict = holds ? "equal" : check->note ? "note" : "NOT EQUAL";
    fprintf(to, "  %-9s  %s %s %s  (%s %s %s", verdict, check->left_text, sign, check->right_text,
            value_text(left, check->left, check->left_terms), sign,
            value_text(right, check->right, check->right_terms));
    if (!holds && (check->left_terms[0] != '\0' || check->right_terms[0] != '\0'))
        fprintf(to, ": %s and %s", value_text(left, check->left, ""),
                value_text(right, check->right, ""));
    fprintf(to, ")\n");
}

static void print_checks(const struct reconcile *r, FILE *to)
{
    const char *group = "";
    for (uint32_t i = 0; i < r->check_count; i++) {
        const struct reconcile_check *check = &r->checks[i];
        if (strcmp(group, check->group) != 0)
            fprintf(to, "\n  %s\n", check->group);
        group = check->group;
        print_check(check, to);
    }
}

/* Where the input is the truth, one that has changed is what the rows may differ by. */
static void print_suspects(const struct reconcile *r, FILE *to)
{
    for (uint32_t i = 0; i < r->layer_count; i++) {
        const struct reconcile_layer *layer = &r->layers[i];
        for (uint32_t p = 0; p < partitions_of(r, layer); p++) {
            const char *changed = changed_name(r, layer, p);
            if (changed == NULL)
                continue;
            char *name = shown(changed, SHOWN_BYTES);
            fprintf(to,
                    "%s was modified since this run began: rows differ if what was read of it "
                    "has changed; put back what it held\n",
                    name);
            free(name);
        }
    }
}

/* What could not be compared is neither exact nor not: the error is all there is to say. */
static void report_text(const struct reconcile *r, FILE *to, bool exact)
{
    if (!r->compared)
        return;
    if (r->layers != NULL) {
        fprintf(to, "reconcile %s, plan %s, %s %s\n\n", r->plan->name, r->plan->hash,
                r->kafka ? "group" : "directory", r->place);
        print_layers(r, to);
        print_rows(r, to);
        print_checks(r, to);
        fputc('\n', to);
        if (!exact)
            print_suspects(r, to);
        reconcile_print_end(r, to);
    }
    fprintf(to, "exact %s\n", exact ? "true" : "false");
}

/* ---- JSON ---- */

static void put_text(struct pipe_buf *json, const char *value)
{
    char *text = pipe_utf8_escaped(value);
    pipe_json_string(json, pipe_str_of(text, strlen(text)));
    free(text);
}

static void put_string(struct pipe_buf *json, const char *name, const char *value)
{
    pipe_buf_printf(json, "\"%s\":", name);
    if (value == NULL)
        pipe_json_null(json);
    else
        put_text(json, value);
}

static void put_comparison(struct pipe_buf *json, const struct pipe_comparison *c)
{
    pipe_buf_printf(json,
                    "\"expected\":%" PRIu64 ",\"rows\":%" PRIu64 ",\"unique\":%" PRIu64
                    ",\"missing\":%" PRIu64 ",\"unexpected\":%" PRIu64,
                    c->expected, c->actual, c->unique, c->missing, c->unexpected);
}

static void put_count(struct pipe_buf *json, const char *name, bool known, uint64_t count)
{
    pipe_buf_printf(json, ",\"%s\":", name);
    if (known)
        pipe_buf_printf(json, "%" PRIu64, count);
    else
        pipe_json_null(json);
}

static void put_changed(const struct reconcile *r, const struct reconcile_layer *layer,
                        struct pipe_buf *json)
{
    bool first = true;
    pipe_buf_printf(json, ",\"modified\":[");
    for (uint32_t p = 0; p < partitions_of(r, layer); p++) {
        const char *changed = changed_name(r, layer, p);
        if (changed == NULL)
            continue;
        pipe_buf_printf(json, first ? "" : ",");
        put_text(json, changed);
        first = false;
    }
    pipe_buf_add_byte(json, ']');
}

static void put_layer(const struct reconcile *r, struct pipe_buf *json, uint32_t index)
{
    const struct reconcile_layer *layer = &r->layers[index];
    struct pipe_comparison sum = reconcile_sum(layer);
    bool first = true;
    pipe_buf_printf(json, "%s{\"layer\":\"%s\",", index > 0 ? "," : "", kind_names[layer->kind]);
    put_string(json, "name", layer->name);
    pipe_buf_add_byte(json, ',');
    put_string(json, "place", layer->place);
    pipe_buf_add_byte(json, ',');
    put_comparison(json, &sum);
    put_count(json, "unread", layer->kind == RECONCILE_RAW || layer->kind == RECONCILE_EXCHANGE,
              layer->unread);
    put_count(json, "behind_bytes", layer->kind == RECONCILE_SINK && layer->topic < 0,
              layer->behind_bytes);
    pipe_buf_printf(
        json, ",\"ledger\":%s,\"injected\":%" PRIu64 ",\"not_yet\":%" PRIu64 ",\"equal\":%s,",
        layer->kind != RECONCILE_RAW ? "null"
        : has_ledger(r, layer)       ? "true"
                                     : "false",
        layer->injected, reconcile_not_yet(layer), reconcile_layer_equal(layer) ? "true" : "false");
    put_string(json, "trouble", layer->trouble[0] != '\0' ? layer->trouble : NULL);
    put_changed(r, layer, json);
    pipe_buf_printf(json, ",\"parts\":[");
    for (uint32_t p = 0; p < layer->part_count; p++) {
        const struct reconcile_part *part = layer->parts[p];
        if (part->label[0] == '\0' || part->comparison == NULL)
            continue;
        pipe_buf_printf(json, "%s{", first ? "" : ",");
        put_string(json, "label", part->label);
        pipe_buf_add_byte(json, ',');
        put_comparison(json, part->comparison);
        pipe_buf_add_byte(json, '}');
        first = false;
    }
    pipe_buf_printf(json, "],\"differences\":[");
    first = true;
    for (uint32_t i = 0; i < r->row_count; i++) {
        const struct reconcile_row *row = &r->rows[i];
        if (row->layer != index)
            continue;
        pipe_buf_printf(json, "%s{\"kind\":\"%s\",", first ? "" : ",",
                        row->missing ? "missing" : "unexpected");
        put_string(json, "where", row->where);
        pipe_buf_printf(json, ",\"row\":%s}", row->text);
        first = false;
    }
    pipe_buf_printf(json, "]}");
}

static void report_json(const struct reconcile *r, FILE *to, bool exact)
{
    struct pipe_buf json = {0};
    pipe_buf_add_byte(&json, '{');
    put_string(&json, "pipeline", r->plan->name);
    pipe_buf_add_byte(&json, ',');
    put_string(&json, "plan", r->plan->hash);
    pipe_buf_add_byte(&json, ',');
    put_string(&json, r->kafka ? "group" : "directory", r->place);
    pipe_buf_printf(&json, ",\"layers\":[");
    for (uint32_t i = 0; r->compared && i < r->layer_count; i++)
        put_layer(r, &json, i);
    pipe_buf_printf(&json, "],\"left_out\":[");
    for (uint32_t i = 0, count = 0; r->compared && i < r->plan->sink_count; i++) {
        if (!r->left_out[i])
            continue;
        pipe_buf_printf(&json, count++ > 0 ? "," : "");
        pipe_json_string(&json,
                         pipe_str_of(r->plan->sinks[i].name, strlen(r->plan->sinks[i].name)));
    }
    pipe_buf_printf(&json, "],\"checks\":[");
    for (uint32_t i = 0; r->compared && i < r->check_count; i++) {
        const struct reconcile_check *check = &r->checks[i];
        pipe_buf_printf(&json, "%s{", i > 0 ? "," : "");
        put_string(&json, "group", check->group);
        pipe_buf_add_byte(&json, ',');
        put_string(&json, "left", check->left_text);
        pipe_buf_printf(&json, ",\"relation\":\"%s\",", check->at_most ? "<=" : "=");
        put_string(&json, "right", check->right_text);
        pipe_buf_printf(&json,
                        ",\"left_value\":%" PRId64 ",\"right_value\":%" PRId64
                        ",\"counts\":%s,\"holds\":%s}",
                        check->left, check->right, check->note ? "false" : "true",
                        reconcile_check_holds(check) ? "true" : "false");
    }
    pipe_buf_printf(&json, "],");
    put_string(&json, "error", r->engine->failed ? r->engine->error : NULL);
    bool ended = r->compared && reconcile_at_end(r);
    pipe_buf_printf(&json, ",\"at_end\":%s,\"exact\":%s}\n",
                    !r->compared ? "null"
                    : ended      ? "true"
                                 : "false",
                    !r->compared ? "null"
                    : exact      ? "true"
                                 : "false");
    fwrite(json.data, 1, json.size, to);
    pipe_buf_free(&json);
}

bool reconcile_report(struct reconcile *r, FILE *to)
{
    bool exact = r->compared && !r->engine->failed && all_equal(r);
    for (uint32_t i = 0; r->compared && i < r->layer_count; i++) {
        struct reconcile_layer *layer = &r->layers[i];
        if (r->row_count == 0) /* rows name parts by index */
            qsort(layer->parts, layer->part_count, sizeof *layer->parts, by_label);
    }
    if (r->options->json)
        report_json(r, to, exact);
    else
        report_text(r, to, exact);
    return exact;
}
