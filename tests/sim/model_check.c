/* model_check.c: the rows of the model (model.h) against those that the outputs hold. */
#include "model.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define PARTITIONS_MAX 16

struct found { /* of a window */
    const struct model_window_def *def;
    char *group;
    int64_t start, end, events, total, revision;
};

struct checking {
    struct model model;
    struct model_rows fresh, refused, behind;
    struct found *found[MODEL_WINDOWS];
    size_t found_count[MODEL_WINDOWS];
    uint32_t window; /* that is read */
};

static const char *text(const json_t *json, const char *name)
{
    const char *value = json_string_value(json_object_get(json, name));
    return value != NULL ? value : "";
}

static int64_t number(const json_t *json, const char *name)
{
    return json_integer_value(json_object_get(json, name));
}

static int64_t instant(const json_t *json, const char *name)
{
    int64_t us = 0;
    if (!model_time(text(json, name), &us))
        sim_fail("an output row has no time %s", name);
    return us;
}

static json_t *row_of(const struct sim_record *record)
{
    json_t *json = json_loadb(record->value.data, record->value.size, 0, NULL);
    if (json == NULL)
        sim_fail("an output row is no JSON: %.*s", (int)record->value.size, record->value.data);
    return json;
}

/* ---- What is there ---- */

static bool take_fresh(void *to, const struct sim_record *record)
{
    struct checking *checking = to;
    json_t *row = row_of(record);
    model_add(&checking->fresh, "%s %s %s %lld at %lld", text(row, "id"), text(row, "user"),
              text(row, "kind"), (long long)number(row, "n"), (long long)instant(row, "at"));
    json_decref(row);
    return true;
}

static bool take_refused(void *to, const struct sim_record *record)
{
    struct checking *checking = to;
    json_t *row = row_of(record);
    model_add(&checking->refused, "%s %s/%lld/%lld", text(row, "reason"), text(row, "topic"),
              (long long)number(row, "partition"), (long long)number(row, "offset"));
    json_decref(row);
    return true;
}

static bool take_behind(void *to, const struct sim_record *record)
{
    struct checking *checking = to;
    json_t *row = row_of(record);
    model_add(&checking->behind, "%s %s until %lld", text(row, "late_for"), text(row, "id"),
              (long long)instant(row, "window_end"));
    json_decref(row);
    return true;
}

static bool take_window(void *to, const struct sim_record *record)
{
    struct checking *checking = to;
    uint32_t w = checking->window;
    const struct model_window_def *def = &checking->model.def->windows[w];
    json_t *row = row_of(record);
    const char *group = text(row, def->by_kind ? "kind" : "user");
    struct found found = {def,
                          pipe_str_dup(pipe_str_of(group, strlen(group))),
                          instant(row, "window_start"),
                          instant(row, "window_end"),
                          number(row, "events"),
                          number(row, "total"),
                          def->corrected ? number(row, "revision") : 0};
    checking->found[w] = pipe_realloc(checking->found[w],
                                      (checking->found_count[w] + 1) * sizeof *checking->found[w]);
    checking->found[w][checking->found_count[w]++] = found;
    json_decref(row);
    return true;
}

static void read_all(struct checking *checking, const char *topic,
                     bool (*each)(void *to, const struct sim_record *record))
{
    const struct sim_reader *reader = checking->model.reader;
    for (int32_t p = 0; p < PARTITIONS_MAX; p++)
        if (!reader->read(reader->context, topic, p, each, checking) && p == 0)
            sim_fail("topic %s is missing", topic);
}

/* ---- Comparing ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void compare_rows(const char *what, struct model_rows *expected, struct model_rows *actual)
{
    if (expected->count > 0)
        qsort(expected->rows, expected->count, sizeof *expected->rows, by_text);
    if (actual->count > 0)
        qsort(actual->rows, actual->count, sizeof *actual->rows, by_text);
    size_t count = expected->count > actual->count ? expected->count : actual->count;
    for (size_t i = 0; i < count; i++) {
        int order = i == expected->count ? 1
                    : i == actual->count ? -1
                                         : strcmp(expected->rows[i], actual->rows[i]);
        if (order < 0)
            sim_fail("model: %s lacks: %s", what, expected->rows[i]);
        if (order > 0)
            sim_fail("model: %s has, though it should not (or not twice): %s", what,
                     actual->rows[i]);
    }
}

static int by_window(const void *a, const void *b)
{
    const struct found *one = a, *other = b;
    int order = strcmp(one->group, other->group);
    if (order != 0)
        return order;
    if (one->start != other->start)
        return one->start < other->start ? -1 : 1;
    if (one->end != other->end)
        return one->end < other->end ? -1 : 1;
    return one->revision < other->revision ? -1 : one->revision > other->revision;
}

static bool same_window(const struct found *one, const struct found *other)
{
    return one->start == other->start && one->end == other->end &&
           strcmp(one->group, other->group) == 0;
}

/* The last row of a window that is closed is what the model says; there is one of a revision. */
static void check_found(struct checking *checking, uint32_t w)
{
    struct found *found = checking->found[w];
    size_t count = checking->found_count[w];
    const struct model_window_def *def = &checking->model.def->windows[w];
    if (count > 0)
        qsort(found, count, sizeof *found, by_window);
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count && same_window(&found[i], &found[i + 1])) {
            if (!def->corrected || found[i].revision == found[i + 1].revision)
                sim_fail("model: %s has a row twice: %s from %lld, revision %lld", def->stream,
                         found[i].group, (long long)found[i].start, (long long)found[i].revision);
            continue;
        }
        const struct model_window *window = NULL;
        for (size_t k = 0; k < checking->model.window_count[w] && window == NULL; k++) {
            const struct model_window *at = &checking->model.windows[w][k];
            if (at->start == found[i].start && at->end == found[i].end &&
                strcmp(at->group, found[i].group) == 0)
                window = at;
        }
        bool early = window != NULL && !window->closed && def->emit == MODEL_UPDATE;
        if (window == NULL || (!window->closed && !early) || window->events < found[i].events ||
            (!early && (window->events != found[i].events || window->total != found[i].total)))
            sim_fail("model: %s has, as the last row, %s from %lld until %lld: %lld events, total "
                     "%lld; %s, %lld events, total %lld",
                     def->stream, found[i].group, (long long)found[i].start,
                     (long long)found[i].end, (long long)found[i].events, (long long)found[i].total,
                     window == NULL   ? "no such window"
                     : window->closed ? "closed"
                                      : "still open",
                     (long long)(window != NULL ? window->events : 0),
                     (long long)(window != NULL ? window->total : 0));
    }
}

static void check_missing(const struct checking *checking, uint32_t w)
{
    for (size_t k = 0; k < checking->model.window_count[w]; k++) {
        const struct model_window *window = &checking->model.windows[w][k];
        bool there = !window->closed || window->maybe;
        for (size_t i = 0; i < checking->found_count[w] && !there; i++) {
            const struct found *found = &checking->found[w][i];
            there = found->start == window->start && found->end == window->end &&
                    strcmp(found->group, window->group) == 0;
        }
        if (!there)
            sim_fail("model: %s lacks %s from %lld until %lld: %lld events",
                     checking->model.def->windows[w].stream, window->group,
                     (long long)window->start, (long long)window->end, (long long)window->events);
    }
}

void sim_check_outputs(const struct sim_program *program, const struct sim_reader *reader)
{
    struct checking checking = {.model = {.def = program->model, .reader = reader}};
    const struct sim_model_def *def = program->model;
    if (def == NULL)
        return; /* files: reconcile alone */
    model_run(&checking.model);
    read_all(&checking, "refused", take_refused);
    compare_rows("refused", &checking.model.refused, &checking.refused);
    if (def->fresh != NULL) {
        read_all(&checking, def->fresh, take_fresh);
        compare_rows("fresh", &checking.model.fresh, &checking.fresh);
    }
    read_all(&checking, "behind", take_behind);
    compare_rows("late rows", &checking.model.behind, &checking.behind);
    for (uint32_t w = 0; w < MODEL_WINDOWS && def->windows[w].stream != NULL; w++) {
        checking.window = w;
        read_all(&checking, def->windows[w].topic, take_window);
        check_found(&checking, w);
        check_missing(&checking, w);
    }
}
