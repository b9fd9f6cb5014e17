/* checkpoint_manifest.c: see checkpoint_manifest.h. */
#include <stdlib.h>

#include <jansson.h>

#include "checkpoint_manifest.h"

#define VERSION 1
#define PARTITION_MAX (INT32_MAX - 1)
#define FILES_MAX 32768u
#define TASKS_MAX 16384u

/* ---- Building ---- */

/* Room for one more, in powers of two. */
static void *grow(void *array, uint32_t count, size_t item_bytes)
{
    if (count != 0 && (count & (count - 1)) != 0)
        return array;
    return pipe_realloc(array, (count == 0 ? 1 : (size_t)count * 2) * item_bytes);
}

void checkpoint_manifest_add_file(struct checkpoint_manifest *manifest,
                                  const struct checkpoint_file *file)
{
    manifest->files = grow(manifest->files, manifest->file_count, sizeof *file);
    manifest->files[manifest->file_count++] = *file;
}

void checkpoint_manifest_add_task(struct checkpoint_manifest *manifest,
                                  const struct checkpoint_task *task)
{
    manifest->tasks = grow(manifest->tasks, manifest->task_count, sizeof *task);
    manifest->tasks[manifest->task_count++] = *task;
}

void checkpoint_manifest_free(struct checkpoint_manifest *manifest)
{
    free(manifest->files);
    free(manifest->tasks);
    *manifest = (struct checkpoint_manifest){0};
}

bool checkpoint_manifest_encode(const struct checkpoint_manifest *manifest, struct pipe_buf *to)
{
    json_t *files = json_array(), *tasks = json_array();
    for (uint32_t i = 0; i < manifest->file_count; i++) {
        const struct checkpoint_file *file = &manifest->files[i];
        json_array_append_new(files,
                              json_pack("{s:s, s:I, s:s}", "name", file->name, "size",
                                        (json_int_t)file->size_bytes, "sha256", file->digest));
    }
    for (uint32_t i = 0; i < manifest->task_count; i++) {
        const struct checkpoint_task *task = &manifest->tasks[i];
        json_array_append_new(tasks,
                              json_pack("{s:I, s:i, s:I, s:I}", "stage", (json_int_t)task->stage,
                                        "partition", (int)task->partition, "offset",
                                        (json_int_t)task->offset, "seq", (json_int_t)task->seq));
    }
    json_t *all =
        json_pack("{s:i, s:s, s:s, s:s, s:s, s:o, s:o}", "version", VERSION, "plan", manifest->plan,
                  "incarnation", manifest->incarnation, "format", manifest->format, "secrets",
                  manifest->secrets, "files", files, "tasks", tasks);
    char *text = json_dumps(all, JSON_COMPACT);
    if (text == NULL)
        pipe_out_of_memory();
    to->size = 0;
    pipe_buf_add(to, text, strlen(text));
    free(text);
    json_decref(all);
    return to->size <= CHECKPOINT_MANIFEST_BYTES && manifest->file_count <= FILES_MAX &&
           manifest->task_count <= TASKS_MAX;
}

/* ---- Reading ---- */

bool checkpoint_is_digest(const char *text)
{
    return strspn(text, "0123456789abcdef") == CHECKPOINT_DIGEST_CHARS &&
           text[CHECKPOINT_DIGEST_CHARS] == '\0';
}

static bool get_text(const json_t *object, const char *name, char *to, size_t room)
{
    const char *text = json_string_value(json_object_get(object, name));
    if (text == NULL || strlen(text) >= room)
        return false;
    memcpy(to, text, strlen(text) + 1);
    return true;
}

static bool get_number(const json_t *object, const char *name, int64_t most, int64_t *to)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_integer(value))
        return false;
    *to = json_integer_value(value);
    return *to >= 0 && *to <= most;
}

/* A file of a database: nothing that leads elsewhere. */
static bool is_file_name(const char *name)
{
    size_t size = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    return size > 0 && name[size] == '\0' && name[0] != '.';
}

static bool get_file(const json_t *object, struct checkpoint_manifest *out)
{
    struct checkpoint_file file;
    int64_t size;
    if (!get_text(object, "name", file.name, sizeof file.name) || !is_file_name(file.name) ||
        !get_number(object, "size", INT64_MAX / 2, &size) ||
        !get_text(object, "sha256", file.digest, sizeof file.digest) ||
        !checkpoint_is_digest(file.digest))
        return false;
    file.size_bytes = (uint64_t)size;
    checkpoint_manifest_add_file(out, &file);
    return true;
}

static bool get_task(const json_t *object, struct checkpoint_manifest *out)
{
    int64_t stage, partition, offset, seq;
    if (!get_number(object, "stage", UINT32_MAX, &stage) ||
        !get_number(object, "partition", PARTITION_MAX, &partition) ||
        !get_number(object, "offset", INT64_MAX, &offset) ||
        !get_number(object, "seq", INT64_MAX, &seq) ||
        checkpoint_manifest_task(out, (uint32_t)stage, (int32_t)partition) != NULL)
        return false;
    struct checkpoint_task task = {(uint32_t)stage, (int32_t)partition, offset, (uint64_t)seq};
    checkpoint_manifest_add_task(out, &task);
    return true;
}

static bool get_list(const json_t *object, const char *name, size_t most,
                     bool (*get)(const json_t *, struct checkpoint_manifest *),
                     struct checkpoint_manifest *out)
{
    const json_t *list = json_object_get(object, name);
    bool ok = json_is_array(list) && json_array_size(list) <= most;
    for (size_t i = 0; ok && i < json_array_size(list); i++)
        ok = get(json_array_get(list, i), out);
    return ok;
}

static const char *decode(const json_t *all, struct checkpoint_manifest *out)
{
    int64_t version;
    if (!get_number(all, "version", INT64_MAX, &version))
        return "it has no version";
    if (version != VERSION)
        return "it is of another version";
    if (!get_text(all, "plan", out->plan, sizeof out->plan) ||
        !get_text(all, "incarnation", out->incarnation, sizeof out->incarnation) ||
        !get_text(all, "format", out->format, sizeof out->format) ||
        !get_text(all, "secrets", out->secrets, sizeof out->secrets))
        return "what it belongs to is malformed";
    if (!get_list(all, "files", FILES_MAX, get_file, out))
        return "its files are malformed";
    return get_list(all, "tasks", TASKS_MAX, get_task, out) ? NULL : "its tasks are malformed";
}

bool checkpoint_manifest_decode(struct pipe_str bytes, struct checkpoint_manifest *out,
                                const char **error)
{
    *out = (struct checkpoint_manifest){0};
    *error = "it is too long";
    if (bytes.size > CHECKPOINT_MANIFEST_BYTES)
        return false;
    json_t *all = json_loadb(bytes.data, bytes.size, JSON_REJECT_DUPLICATES, NULL);
    *error = all == NULL ? "it is no JSON" : decode(all, out);
    json_decref(all);
    if (*error != NULL)
        checkpoint_manifest_free(out);
    return *error == NULL;
}

/* ---- Choosing ---- */

const struct checkpoint_task *checkpoint_manifest_task(const struct checkpoint_manifest *manifest,
                                                       uint32_t stage, int32_t partition)
{
    for (uint32_t i = 0; i < manifest->task_count; i++) {
        if (manifest->tasks[i].stage == stage && manifest->tasks[i].partition == partition)
            return &manifest->tasks[i];
    }
    return NULL;
}

int checkpoint_compare(int64_t a_offset, uint64_t a_seq, int64_t b_offset, uint64_t b_seq)
{
    if (a_offset != b_offset)
        return a_offset < b_offset ? -1 : 1;
    return (a_seq > b_seq) - (a_seq < b_seq);
}

static int order(const struct checkpoint_task *a, const struct checkpoint_task *b)
{
    return checkpoint_compare(a->offset, a->seq, b->offset, b->seq);
}

int64_t checkpoint_choose(const struct checkpoint_known *known, size_t count, uint32_t stage,
                          int32_t partition, const struct checkpoint_task *after,
                          const struct checkpoint_task *before, int64_t *newer)
{
    const struct checkpoint_task *best = NULL;
    int64_t chosen = -1;
    *newer = -1;
    for (size_t i = 0; i < count; i++) {
        const struct checkpoint_task *task =
            known[i].usable && !known[i].ruled_out
                ? checkpoint_manifest_task(&known[i].manifest, stage, partition)
                : NULL;
        if (task == NULL)
            continue;
        if (before == NULL || task->offset > before->offset || task->seq > before->seq) {
            *newer = (int64_t)i;
        } else if ((after == NULL || order(task, after) > 0) &&
                   (best == NULL || order(task, best) > 0)) {
            best = task;
            chosen = (int64_t)i;
        }
    }
    return chosen;
}

/* Of two that reach equally far the one that was made later, else the first by name. */
static bool reaches_further(const struct checkpoint_known *a, const struct checkpoint_task *a_task,
                            const struct checkpoint_known *b, const struct checkpoint_task *b_task)
{
    int by_position = order(a_task, b_task);
    if (by_position != 0)
        return by_position > 0;
    if (a->modified_ms != b->modified_ms)
        return a->modified_ms > b->modified_ms;
    return strcmp(a->name, b->name) < 0;
}

bool checkpoint_is_needed(const struct checkpoint_known *known, size_t count, size_t index)
{
    const struct checkpoint_known *self = &known[index];
    for (uint32_t t = 0; t < self->manifest.task_count; t++) {
        const struct checkpoint_task *mine = &self->manifest.tasks[t];
        unsigned further = 0;
        for (size_t i = 0; i < count && further < 2; i++) {
            const struct checkpoint_task *other =
                known[i].usable && i != index
                    ? checkpoint_manifest_task(&known[i].manifest, mine->stage, mine->partition)
                    : NULL;
            further += other != NULL && reaches_further(&known[i], other, self, mine);
        }
        if (further < 2)
            return true;
    }
    return false;
}
