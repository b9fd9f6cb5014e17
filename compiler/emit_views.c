/* emit_views.c: in which struct the rows of each stream are kept, and how one struct becomes
 * another. */
#include "emit.h"

#include <string.h>

/* Rows of `type` can be kept in `info`: the same columns, with a flag wherever there may be a null.
 */
static bool can_keep(const struct row_info *info, const struct record_type *type)
{
    if (info->type->field_count != type->field_count)
        return false;
    for (size_t i = 0; i < type->field_count; i++) {
        const struct field *have = &info->type->fields[i], *want = &type->fields[i];
        if (strcmp(have->name, want->name) != 0 || !type_equal(have->type, want->type) ||
            (want->nullable && info->members[i].null == NULL))
            return false;
    }
    return true;
}

struct row_view view_near(struct emitter *e, const struct row_info *near,
                          const struct record_type *type, const char *name)
{
    if (near != NULL && can_keep(near, type))
        return (struct row_view){(struct row_info *)near, type};
    return (struct row_view){row_info_of(e, type, name), type};
}

/* The payload is decoded into the stream's struct: an added event time is its last column, and a
 * nullable one keeps its flag, though the stream's row is never null there. */
static void view_source(struct emitter *e, const struct stream *stream, struct stream_names *names)
{
    const struct source_def *source = stream->source;
    if (source->event_time_added) {
        names->leaves = names->in = view_near(e, NULL, stream->row, names->ident);
        return;
    }
    const char *name = source->contract != NULL ? source->payload->name : names->ident;
    names->leaves = names->in =
        view_near(e, row_info_of(e, source->payload, name), stream->row, names->ident);
}

struct row_view payload_view(struct emitter *e, const struct stream *stream)
{
    return (struct row_view){names_of(e, stream)->leaves.info, stream->source->payload};
}

static void view_stream(struct emitter *e, const struct stream *stream, struct stream_names *names)
{
    struct row_view view;
    const struct row_info *near =
        stream->input_count == 1 ? names_of(e, stream->inputs[0])->leaves.info : NULL;
    view = view_near(e, near, stream->input_row, names->ident);
    names->in = names->kept = view;
    for (size_t i = 0; i < stream->step_count; i++) {
        const struct step *step = &stream->steps[i];
        if (step->kind == STEP_DIVERT && names_of(e, step->to)->in.info == NULL) {
            struct row_view in =
                view_near(e, view.info, step->to->row, names_of(e, step->to)->ident);
            names_of(e, step->to)->in = names_of(e, step->to)->leaves = in;
        }
        if (step->kind != STEP_WINDOW)
            view = view_near(e, view.info, step->row, names->ident);
        if (step->kind != STEP_WINDOW && step->kind != STEP_DEDUP)
            names->kept = view;
        if (step->kind == STEP_WINDOW)
            view = view_near(e, NULL, step->row, names->ident);
    }
    names->leaves = view;
}

/* The view without what was narrowed: every flag of the struct counts. */
struct row_view whole_view(struct row_view view)
{
    return (struct row_view){view.info, view.info->type};
}

static void view_rejects(struct emitter *e, const struct stream *stream, struct stream_names *names)
{
    static const char *const flags[] = {NULL,
                                        NULL,
                                        "detail_null",
                                        "topic_null",
                                        "partition_null",
                                        "offset_null",
                                        "kafka_time_null",
                                        "key_null",
                                        "payload_null"};
    for (size_t i = 0; i < e->rows.count; i++)
        if (e->rows.items[i]->builtin) {
            names->in = names->leaves = (struct row_view){e->rows.items[i], stream->row};
            return;
        }
    struct row_info *info = arena_alloc(e->arena, sizeof *info);
    size_t count = stream->row->field_count;
    *info = (struct row_info){.tag = "pipe_reject", .type = stream->row, .builtin = true};
    info->descriptor = "pipe_reject_type";
    info->members = arena_alloc(e->arena, count * sizeof *info->members);
    for (size_t i = 0; i < count; i++)
        info->members[i] = (struct member){stream->row->fields[i].name,
                                           i < sizeof flags / sizeof *flags ? flags[i] : NULL};
    vec_push(e->arena, &e->rows, info);
    names->in = names->leaves = (struct row_view){info, stream->row};
}

void view_streams(struct emitter *e)
{
    struct program *program = e->program;
    for (size_t i = 0; i < program->streams.count; i++)
        if (program->streams.items[i]->kind == STREAM_REJECTS)
            view_rejects(e, program->streams.items[i], &e->streams[i]);
    for (size_t i = 0; i < program->streams.count; i++) {
        const struct stream *stream = program->streams.items[i];
        struct stream_names *names = &e->streams[i];
        switch (stream->kind) {
        case STREAM_SOURCE:
            view_source(e, stream, names);
            break;
        case STREAM_NORMAL:
            view_stream(e, stream, names);
            break;
        case STREAM_LATE:
        case STREAM_DIVERTED:
            if (names->in.info == NULL)
                names->in = names->leaves = view_near(e, NULL, stream->row, names->ident);
            break;
        case STREAM_REJECTS:
            break;
        }
    }
}

/* The function that takes a row as it leaves somewhere to stream `to`: its push, or one that
 * converts before. */
const char *row_pusher(struct emitter *e, struct row_view from, const struct stream *to)
{
    struct stream_names *names = names_of(e, to);
    names->is_called = true;
    if (names->in.info == from.info)
        return names->push;
    const char *name = global_name(e, "%s_from_%s", names->push, from.info->tag);
    struct function_text function;
    function_begin(e, &function);
    emit(e, 1, "struct %s out = {0};\n", names->in.info->tag);
    for (size_t i = 0; i < names->in.type->field_count; i++) {
        int32_t column = column_named(from.type, names->in.type->fields[i].name);
        if (column >= 0)
            emit_column_copy(e, 1, from, (uint32_t)column, names->in, (uint32_t)i);
    }
    emit(e, 1, "pipe_new_row(task);\n%s(task, record, &out);", names->push);
    function.comment = arena_printf(e->arena, "A row as stream %s has it.", to->name.text);
    stream_function_end(e, &function, name, from.info->tag);
    return name;
}
