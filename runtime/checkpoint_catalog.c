/*
 * checkpoint_catalog.c: the worker's view of the storage: all manifests of this plan and log, read
 * once each; and the deletion of what none of them needs.
 */
#include <stdlib.h>
#include <unistd.h>

#include "checkpoint_internal.h"
#include "regular_file.h"

#define OBJECTS_MAX (1u << 20)
#define MANIFESTS_MAX (1u << 14)

/* ---- Reading manifests ---- */

static bool read_file(const char *path, struct pipe_buf *to)
{
    FILE *file = pipe_fopen_regular(path);
    if (file == NULL)
        return false;
    uint8_t bytes[4096];
    size_t got;
    to->size = 0;
    while ((got = fread(bytes, 1, sizeof bytes, file)) > 0 && to->size <= CHECKPOINT_MANIFEST_BYTES)
        pipe_buf_add(to, bytes, got);
    bool ok = ferror(file) == 0;
    fclose(file);
    return ok;
}

/* NULL: known->manifest; else what is wrong. */
static const char *decode(const struct pipe_checkpoints *c, const struct pipe_buf *bytes,
                          struct checkpoint_known *known)
{
    uint8_t digest[32];
    char hex[CHECKPOINT_DIGEST_CHARS + 1] = "";
    const char *wrong;
    pipe_sha256(bytes->data, bytes->size, digest);
    pipe_hex_write(hex, digest, sizeof digest);
    if (strcmp(hex, strrchr(known->name, '/') + 1) != 0)
        return "it is damaged: its content is not what its name says";
    if (!checkpoint_manifest_decode(pipe_str_of(bytes->data, bytes->size), &known->manifest,
                                    &wrong))
        return wrong;
    if (strcmp(known->manifest.plan, c->plan) != 0 ||
        strcmp(known->manifest.incarnation, c->incarnation) != 0)
        wrong = "it is of another plan or log";
    else if (strcmp(known->manifest.secrets, c->secrets) != 0)
        wrong = "it was made with other secrets";
    else
        return NULL;
    checkpoint_manifest_free(&known->manifest);
    return wrong;
}

/* False: not read; it is tried again with the next listing. What is wrong is told here. */
static bool read_manifest(struct pipe_checkpoints *c, struct checkpoint_known *known)
{
    struct pipe_objects_turn turn = {checkpoint_go_on, c};
    struct pipe_buf bytes = {0};
    char path[4200];
    checkpoint_path(c, "checkpoint.manifest", path, sizeof path);
    bool got =
        c->objects->ops->get(c->objects, known->name, path, CHECKPOINT_MANIFEST_BYTES, &turn) &&
        read_file(path, &bytes);
    const char *wrong = got ? decode(c, &bytes, known) : NULL;
    known->was_read = got;
    known->usable = got && wrong == NULL;
    if (!known->usable && !atomic_load(&c->cancelled))
        pipe_message(PIPE_WARNING, "a checkpoint can't be used", "name=%s reason=\"%s\"",
                     known->name, PIPE_QUOTED(got ? wrong : c->objects->error));
    unlink(path);
    pipe_buf_free(&bytes);
    return got;
}

/* ---- Listing ---- */

static void forget_files(struct pipe_checkpoints *c)
{
    for (size_t i = 0; i < c->file_count; i++)
        free(c->files[i].name);
    free(c->files);
    c->files = NULL;
    c->file_count = c->file_capacity = 0;
}

void checkpoint_forget_catalog(struct pipe_checkpoints *c)
{
    for (size_t i = 0; i < c->known_count; i++)
        checkpoint_manifest_free(&c->known[i].manifest);
    free(c->known);
    c->known = NULL;
    c->known_count = 0;
    forget_files(c);
}

static void see_manifest(struct pipe_checkpoints *c, const struct pipe_object *object)
{
    size_t i = 0;
    while (i < c->known_count && strcmp(c->known[i].name, object->name) != 0)
        i++;
    if (i == MANIFESTS_MAX) {
        c->incomplete = true;
        return;
    }
    if (i == c->known_count) {
        c->known = pipe_realloc(c->known, (c->known_count + 1) * sizeof *c->known);
        c->known[c->known_count++] = (struct checkpoint_known){
            .ours = strncmp(object->name, c->prefix, strlen(c->prefix)) == 0};
        snprintf(c->known[i].name, sizeof c->known[i].name, "%s", object->name);
    }
    c->known[i].modified_ms = object->modified_ms;
    c->known[i].seen = true;
}

/* Beyond the limit: one that is needed is sent again, for it is not known to be there; one that is
 * not is seen, and deleted, when those before it are gone. So that is not `incomplete`, which would
 * keep all of them for ever. */
static void see_file(struct pipe_checkpoints *c, const struct pipe_object *object)
{
    if (c->file_count == OBJECTS_MAX)
        return;
    if (c->file_count == c->file_capacity) {
        c->file_capacity = c->file_capacity * 2 + 64;
        c->files = pipe_realloc(c->files, c->file_capacity * sizeof *c->files);
    }
    c->files[c->file_count++] = (struct checkpoint_object){pipe_text_dup(object->name),
                                                           object->size_bytes, object->modified_ms};
}

/* …/WRITER/manifests/DIGEST */
static bool is_manifest(const char *name)
{
    static const char parent[] = "/manifests";
    const char *base = strrchr(name, '/');
    size_t size = sizeof parent - 1;
    return base != NULL && (size_t)(base - name) > size && memcmp(base - size, parent, size) == 0 &&
           checkpoint_is_digest(base + 1) && strlen(name) < CHECKPOINT_NAME_BYTES;
}

static bool see(void *context, const struct pipe_object *object)
{
    struct pipe_checkpoints *c = context;
    if (is_manifest(object->name))
        see_manifest(c, object);
    else
        see_file(c, object);
    return checkpoint_go_on(c, 0);
}

static int file_by_name(const void *a, const void *b)
{
    return strcmp(((const struct checkpoint_object *)a)->name,
                  ((const struct checkpoint_object *)b)->name);
}

static int known_by_name(const void *a, const void *b)
{
    return strcmp(((const struct checkpoint_known *)a)->name,
                  ((const struct checkpoint_known *)b)->name);
}

static void forget_known(struct pipe_checkpoints *c, size_t index)
{
    checkpoint_manifest_free(&c->known[index].manifest);
    c->known_count--;
    memmove(&c->known[index], &c->known[index + 1], (c->known_count - index) * sizeof *c->known);
}

bool checkpoint_refresh(struct pipe_checkpoints *c)
{
    forget_files(c);
    c->incomplete = false;
    for (size_t i = 0; i < c->known_count; i++)
        c->known[i].seen = false;
    bool ok = c->objects->ops->list(c->objects, c->place, see, c);
    if (!ok)
        checkpoint_failed(c, "%s", c->objects->error);
    else if (atomic_load(&c->cancelled))
        ok = checkpoint_failed(c, "it was put off");
    for (size_t i = c->known_count; i-- > 0;) {
        bool gone = ok && !c->known[i].seen;
        bool unread = !gone && !c->known[i].was_read && !(ok && read_manifest(c, &c->known[i]));
        c->incomplete = c->incomplete || unread;
        if (gone || unread)
            forget_known(c, i);
    }
    if (c->file_count > 0)
        qsort(c->files, c->file_count, sizeof *c->files, file_by_name);
    if (c->known_count > 0)
        qsort(c->known, c->known_count, sizeof *c->known, known_by_name);
    return ok;
}

/* ---- Deleting ---- */

/* The length of PLACE/WRITER; 0: the name is of another kind. */
static size_t writer_bytes(const struct pipe_checkpoints *c, const char *name)
{
    size_t place = strlen(c->place);
    if (strncmp(name, c->place, place) != 0 || name[place] != '/')
        return 0;
    return place + 1 + strcspn(name + place + 1, "/");
}

static bool is_ours(const struct pipe_checkpoints *c, const char *name)
{
    size_t size = strlen(c->prefix);
    return strncmp(name, c->prefix, size) == 0 && name[size] == '/';
}

static bool is_old(const struct pipe_checkpoints *c, const char *name, int64_t modified_ms,
                   int64_t now_ms)
{
    return now_ms - modified_ms > (is_ours(c, name) ? c->grace_ms : c->foreign_grace_ms);
}

static bool delete (struct pipe_checkpoints *c, const char *name)
{
    return (c->objects->ops->remove(c->objects, name) && checkpoint_go_on(c, 0)) ||
           checkpoint_failed(c, "%s",
                             atomic_load(&c->cancelled) ? "it was put off" : c->objects->error);
}

static bool delete_manifests(struct pipe_checkpoints *c, const char *last, int64_t now_ms)
{
    bool *delete_it = pipe_calloc(c->known_count + 1, sizeof *delete_it), ok = true;
    for (size_t i = 0; i < c->known_count; i++)
        delete_it[i] = strcmp(c->known[i].name, last) != 0 &&
                       is_old(c, c->known[i].name, c->known[i].modified_ms, now_ms) &&
                       !checkpoint_is_needed(c->known, c->known_count, i);
    for (size_t i = c->known_count; ok && i-- > 0;) {
        if (!delete_it[i])
            continue;
        ok = delete (c, c->known[i].name);
        if (ok)
            forget_known(c, i);
    }
    free(delete_it);
    return ok;
}

static int text_order(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of all files that the manifests which are left need. */
static char **named_files(const struct pipe_checkpoints *c, size_t *count)
{
    size_t total = 0;
    for (size_t i = 0; i < c->known_count; i++)
        total += c->known[i].manifest.file_count;
    char **names = pipe_calloc(total + 1, sizeof *names);
    *count = 0;
    for (size_t i = 0; i < c->known_count; i++) {
        const struct checkpoint_known *known = &c->known[i];
        size_t writer = writer_bytes(c, known->name);
        for (uint32_t f = 0; f < known->manifest.file_count; f++) {
            char name[CHECKPOINT_NAME_BYTES + CHECKPOINT_DIGEST_CHARS + 8];
            snprintf(name, sizeof name, "%.*s/files/%s", (int)writer, known->name,
                     known->manifest.files[f].digest);
            names[(*count)++] = pipe_text_dup(name);
        }
    }
    if (*count > 0)
        qsort(names, *count, sizeof *names, text_order);
    return names;
}

bool checkpoint_collect(struct pipe_checkpoints *c, const char *last, int64_t now_ms)
{
    if (c->incomplete) /* what it names would look as if nobody needed it */
        return true;
    if (!delete_manifests(c, last, now_ms))
        return false;
    size_t count;
    char **names = named_files(c, &count);
    bool ok = true;
    for (size_t i = 0; ok && i < c->file_count; i++) {
        const struct checkpoint_object *file = &c->files[i];
        if (writer_bytes(c, file->name) > 0 && is_old(c, file->name, file->modified_ms, now_ms) &&
            bsearch(&file->name, names, count, sizeof *names, text_order) == NULL)
            ok = delete (c, file->name);
    }
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return ok;
}
