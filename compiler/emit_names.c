/* emit_names.c: identifiers of the generated file. Names of a program may be any text; C's may not.
 */
#define _GNU_SOURCE /* vasprintf */
#include "emit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keywords of C11 and GNU C, and what a header or the compiler may have made a macro of. */
static const char *const taken[] = {
    "alignas", "alignof", "asm",      "assert",   "auto",         "bool",          "break",
    "case",    "char",    "complex",  "const",    "continue",     "default",       "do",
    "double",  "else",    "enum",     "errno",    "extern",       "false",         "float",
    "for",     "goto",    "i386",     "if",       "imaginary",    "inline",        "int",
    "linux",   "long",    "noreturn", "nullptr",  "offsetof",     "register",      "restrict",
    "return",  "short",   "signed",   "sizeof",   "static",       "static_assert", "stderr",
    "stdin",   "stdout",  "struct",   "switch",   "thread_local", "true",          "typedef",
    "typeof",  "union",   "unix",     "unsigned", "void",         "volatile",      "while",
};

static const char *const taken_tags[] = {"timeval",      "timespec", "random_data",
                                         "drand48_data", "tm",       "sigevent"};

static bool in_list(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

const char *mangle(struct emitter *e, const char *name)
{
    size_t size = strlen(name);
    char *out = arena_strndup(e->arena, name, size);
    bool has_lower = false;
    for (size_t i = 0; i < size; i++) {
        char c = out[i];
        bool lower = c >= 'a' && c <= 'z';
        if (!lower && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9'))
            out[i] = '_';
        has_lower = has_lower || lower;
    }
    if (size == 0 || out[0] == '_' || (out[0] >= '0' && out[0] <= '9') ||
        strncmp(out, "pipe_", 5) == 0)
        out = arena_printf(e->arena, "c_%s", out);
    /* All capitals may be a macro; a trailing underscore never is one. */
    if (!has_lower || in_list(out, taken, sizeof taken / sizeof *taken))
        out = arena_printf(e->arena, "%s_", out);
    return out;
}

static struct ident_slot *slot_of(const ident_list *used, const char *interned)
{
    size_t mask = used->slot_count - 1;
    uint64_t hash = (uint64_t)(uintptr_t)interned * 0x9e3779b97f4a7c15u;
    size_t i = (size_t)(hash >> 32) & mask;
    while (used->slots[i].name != NULL && used->slots[i].name != interned)
        i = (i + 1) & mask;
    return &used->slots[i];
}

static void grow_slots(struct emitter *e, ident_list *used)
{
    ident_list old = *used;
    used->slot_count = old.slot_count == 0 ? 64 : old.slot_count * 2;
    used->slots = arena_alloc(e->arena, used->slot_count * sizeof *used->slots);
    for (size_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].name != NULL)
            *slot_of(used, old.slots[i].name) = old.slots[i];
}

/* Into the list; false: it is there. */
static bool add_ident(struct emitter *e, ident_list *used, const char *name)
{
    if (used->count * 2 >= used->slot_count)
        grow_slots(e, used);
    const char *interned = intern_cstr(e->program, name);
    struct ident_slot *slot = slot_of(used, interned);
    if (slot->name != NULL)
        return false;
    *slot = (struct ident_slot){interned, 2};
    vec_push(e->arena, used, interned);
    return true;
}

bool is_ident_in(struct emitter *e, const ident_list *used, const char *name)
{
    return used->slot_count > 0 && slot_of(used, intern_cstr(e->program, name))->name != NULL;
}

const char *unique_in(struct emitter *e, ident_list *used, const char *wanted)
{
    const char *name = wanted;
    while (!add_ident(e, used, name)) {
        struct ident_slot *slot = slot_of(used, intern_cstr(e->program, wanted));
        name = arena_printf(e->arena, "%s_%u", wanted, slot->next++);
    }
    return name;
}

const char *global_name(struct emitter *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *wanted = NULL;
    if (vasprintf(&wanted, format, args) < 0)
        out_of_memory();
    va_end(args);
    const char *name = unique_in(e, &e->globals, arena_strndup(e->arena, wanted, strlen(wanted)));
    free(wanted);
    return name;
}

uint32_t stream_index(const struct emitter *e, const struct stream *stream)
{
    (void)e;
    return stream->index;
}

uint32_t sink_index(const struct emitter *e, const struct sink *sink)
{
    uint32_t i = 0;
    while (e->program->sinks.items[i] != sink)
        i++;
    return i;
}

struct stream_names *names_of(struct emitter *e, const struct stream *stream)
{
    return &e->streams[stream_index(e, stream)];
}

/* What is made of a stream's identifier without global_name. */
static const char *const derived[] = {"select_%s",    "unnest_%s",   "ship_%s",     "key_%s",
                                      "late_%s",      "update_%s",   "overflow_%s", "%s_acc_init",
                                      "%s_acc_merge", "%s_acc_save", "%s_acc_load", "%s_acc_drop"};
enum { DERIVED = sizeof derived / sizeof *derived };

static const char *derived_name(struct emitter *e, size_t i, const char *ident)
{
    const char *at = strstr(derived[i], "%s");
    return arena_printf(e->arena, "%.*s%s%s", (int)(at - derived[i]), derived[i], ident, at + 2);
}

/* An identifier for the stream all of whose derived names are free; they are taken. */
static const char *stream_ident(struct emitter *e, const struct stream *stream, ident_list *idents)
{
    for (;;) {
        const char *ident = unique_in(e, idents, mangle(e, stream->name.text));
        size_t free_names = 0;
        while (free_names < DERIVED &&
               !is_ident_in(e, &e->globals, derived_name(e, free_names, ident)))
            free_names++;
        if (free_names < DERIVED)
            continue;
        for (size_t i = 0; i < DERIVED; i++)
            add_ident(e, &e->globals, derived_name(e, i, ident));
        return ident;
    }
}

static void name_stream(struct emitter *e, const struct stream *stream, ident_list *idents)
{
    struct stream_names *names = names_of(e, stream);
    names->ident = stream_ident(e, stream, idents);
    names->index = global_name(e, "STREAM_%s", names->ident);
    names->push = global_name(e, "push_%s", names->ident);
    names->keep = global_name(e, "keep_%s", names->ident);
    names->out = global_name(e, "out_%s", names->ident);
    names->reject = global_name(e, "reject_%s", names->ident);
    names->emit_row = global_name(e, "emit_%s", names->ident);
}

/* Names of the generated file that are not made by global_name, or of the runtime. */
static const char *const fixed[] = {
    "explain_text", "plan_json", "sources",  "streams",          "stages",
    "exchanges",    "sinks",     "traffics", "pipe_reject_type", "pipe_reject_columns",
    "secrets",      "start",     "key_t" /* of the headers */};

void name_everything(struct emitter *e)
{
    struct program *program = e->program;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        add_ident(e, &e->globals, fixed[i]);
    for (size_t i = 0; i < e->plan->stages.count; i++) {
        const char *stage = mangle(e, e->plan->stages.items[i]->name);
        global_name(e, "states_of_%s", stage);
        global_name(e, "exchanges_of_%s", stage);
        global_name(e, "delays_of_%s", stage);
    }
    for (size_t i = 0; i < sizeof taken_tags / sizeof *taken_tags; i++)
        add_ident(e, &e->tags, taken_tags[i]);
    e->streams = arena_alloc(e->arena, (program->streams.count + 1) * sizeof *e->streams);
    ident_list idents = {0};
    for (size_t i = 0; i < program->streams.count; i++)
        name_stream(e, program->streams.items[i], &idents);
    ident_list sinks = {0};
    for (size_t i = 0; i < program->sinks.count; i++) {
        const char *ident = unique_in(e, &sinks, mangle(e, program->sinks.items[i]->name.text));
        vec_push(e->arena, &e->sinks, global_name(e, "SINK_%s", ident));
        vec_push(e->arena, &e->sink_functions, global_name(e, "sink_%s", ident));
    }
    for (size_t i = 0; i < e->plan->stages.count; i++)
        vec_push(e->arena, &e->stages,
                 global_name(e, "STAGE_%s", mangle(e, e->plan->stages.items[i]->name)));
    for (size_t i = 0; i < e->plan->exchanges.count; i++)
        vec_push(e->arena, &e->exchanges,
                 global_name(e, "EXCHANGE_%s", mangle(e, e->plan->exchanges.items[i]->name)));
}
