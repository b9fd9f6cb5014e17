/*
 * checkpoint.c: manifests of checkpoints, as a shared directory may give them back. What is taken
 * is written and read again, and can be chosen from.
 */
#include "checkpoint_manifest.h"
#include "fuzz.h"

static void check(const struct checkpoint_manifest *manifest)
{
    struct checkpoint_known known = {.usable = true, .manifest = *manifest};
    struct checkpoint_manifest again;
    struct pipe_buf bytes = {0};
    const char *error;
    int64_t newer;
    FUZZ_CHECK(checkpoint_manifest_encode(manifest, &bytes));
    FUZZ_CHECK(checkpoint_manifest_decode(pipe_str_of(bytes.data, bytes.size), &again, &error));
    FUZZ_CHECK(again.file_count == manifest->file_count);
    FUZZ_CHECK(again.task_count == manifest->task_count);
    for (uint32_t i = 0; i < manifest->file_count; i++) {
        FUZZ_CHECK(checkpoint_is_digest(manifest->files[i].digest));
        FUZZ_CHECK(strchr(manifest->files[i].name, '/') == NULL);
        FUZZ_CHECK(manifest->files[i].name[0] != '.' && manifest->files[i].name[0] != '\0');
    }
    for (uint32_t i = 0; i < manifest->task_count; i++) {
        const struct checkpoint_task *task = &manifest->tasks[i];
        FUZZ_CHECK(task->partition >= 0 && task->offset >= 0);
        FUZZ_CHECK(checkpoint_choose(&known, 1, task->stage, task->partition, NULL, task, &newer) ==
                   0);
    }
    FUZZ_CHECK(checkpoint_is_needed(&known, 1, 0) == (manifest->task_count > 0));
    checkpoint_manifest_free(&again);
    pipe_buf_free(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct checkpoint_manifest manifest;
    const char *error = NULL;
    uint8_t *copy = fuzz_copy(data, size);
    if (checkpoint_manifest_decode(pipe_str_of(copy, size), &manifest, &error)) {
        check(&manifest);
        checkpoint_manifest_free(&manifest);
    } else {
        FUZZ_CHECK(error != NULL);
    }
    free(copy);
    return 0;
}
