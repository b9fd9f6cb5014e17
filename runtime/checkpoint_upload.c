/*
 * checkpoint_upload.c: the worker's way out and back: a local checkpoint's files under the names of
 * their contents, the manifest behind them; and the files of a checkpoint to the local disk.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "checkpoint_internal.h"
#include "system_calls.h"

static struct pipe_objects_turn turn_of(struct pipe_checkpoints *c)
{
    return (struct pipe_objects_turn){checkpoint_go_on, c};
}

/* ---- The files of the local checkpoint ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct checkpoint_file *)a)->name,
                  ((const struct checkpoint_file *)b)->name);
}

static const struct checkpoint_file *find_file(const struct checkpoint_manifest *in,
                                               const char *name, uint64_t size_bytes)
{
    for (uint32_t i = 0; i < in->file_count; i++) {
        if (in->files[i].size_bytes == size_bytes && strcmp(in->files[i].name, name) == 0)
            return &in->files[i];
    }
    return NULL;
}

static bool add_file(struct pipe_checkpoints *c, const char *dir, const char *name)
{
    struct checkpoint_file file = {.size_bytes = 0};
    struct stat about;
    char path[4400];
    snprintf(path, sizeof path, "%.4000s/%.300s", dir, name);
    snprintf(file.name, sizeof file.name, "%.63s", name);
    if (stat(path, &about) != 0)
        return checkpoint_failed(c, "%s can't be examined: %s", path, strerror(errno));
    const char *dot = strrchr(name, '.');
    const struct checkpoint_file *known =
        dot != NULL && strcmp(dot, ".sst") == 0
            ? find_file(&c->hashed, file.name, (uint64_t)about.st_size)
            : NULL;
    if (known != NULL)
        file = *known;
    else if (!checkpoint_digest(c, path, file.digest, &file.size_bytes))
        return checkpoint_failed(c, "%s can't be read: %s", path, strerror(errno));
    checkpoint_manifest_add_file(&c->draft, &file);
    return true;
}

static bool add_files(struct pipe_checkpoints *c, const char *dir)
{
    DIR *entries = opendir(dir);
    if (entries == NULL)
        return checkpoint_failed(c, "%s can't be listed: %s", dir, strerror(errno));
    bool ok = true;
    struct dirent *entry;
    for (errno = 0; ok && (entry = readdir(entries)) != NULL; errno = 0) {
        if (entry->d_name[0] != '.')
            ok = add_file(c, dir, entry->d_name);
    }
    if (ok && errno != 0)
        ok = checkpoint_failed(c, "%s can't be listed: %s", dir, strerror(errno));
    closedir(entries);
    if (!ok)
        return false;
    qsort(c->draft.files, c->draft.file_count, sizeof *c->draft.files, by_name);
    c->hashed.file_count = 0; /* those of files that are gone with them */
    for (uint32_t i = 0; i < c->draft.file_count; i++)
        checkpoint_manifest_add_file(&c->hashed, &c->draft.files[i]);
    return true;
}

/* ---- Sending ---- */

/* Whether the storage has the object, as the last listing says. */
static bool is_there(const struct pipe_checkpoints *c, const char *name, uint64_t size_bytes)
{
    size_t low = 0, high = c->file_count;
    while (low < high) { /* by name */
        size_t middle = low + (high - low) / 2;
        int order = strcmp(c->files[middle].name, name);
        if (order == 0)
            return c->files[middle].size_bytes == size_bytes;
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return false;
}

static bool put(struct pipe_checkpoints *c, const char *name, const char *path, uint64_t size_bytes)
{
    struct pipe_objects_turn turn = turn_of(c);
    if (!c->objects->ops->put(c->objects, name, path, &turn))
        return checkpoint_failed(c, "%s", c->objects->error);
    c->sent_bytes += size_bytes;
    return true;
}

static bool send_files(struct pipe_checkpoints *c, const char *dir)
{
    for (uint32_t i = 0; i < c->draft.file_count; i++) {
        const struct checkpoint_file *file = &c->draft.files[i];
        char name[512], path[4400];
        snprintf(name, sizeof name, "%s/files/%s", c->prefix, file->digest);
        snprintf(path, sizeof path, "%.4000s/%s", dir, file->name);
        if (!is_there(c, name, file->size_bytes) && !put(c, name, path, file->size_bytes))
            return false;
    }
    return true;
}

static bool write_file(struct pipe_checkpoints *c, const char *path, const struct pipe_buf *bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool ok = fd >= 0 && pipe_pwrite_all(fd, bytes->data, bytes->size, 0);
    int cause = errno;
    if (fd >= 0)
        close(fd);
    return ok || checkpoint_failed(c, "%s can't be written: %s", path, strerror(cause));
}

static bool send_manifest(struct pipe_checkpoints *c, char name[512])
{
    struct pipe_buf bytes = {0};
    uint8_t digest[32];
    char hex[CHECKPOINT_DIGEST_CHARS + 1] = "", path[4200];
    checkpoint_path(c, "checkpoint.manifest", path, sizeof path);
    bool ok = checkpoint_manifest_encode(&c->draft, &bytes) ||
              checkpoint_failed(c, "its manifest would be longer than %u bytes: too many files",
                                CHECKPOINT_MANIFEST_BYTES);
    if (ok) {
        pipe_sha256(bytes.data, bytes.size, digest);
        pipe_hex_write(hex, digest, sizeof digest);
        snprintf(name, 512, "%s/manifests/%s", c->prefix, hex);
        ok = write_file(c, path, &bytes) && put(c, name, path, bytes.size);
        unlink(path);
    }
    pipe_buf_free(&bytes);
    return ok;
}

/* That all of it is there, now that it is named, and by whose clock. */
static bool check_sent(struct pipe_checkpoints *c, const char *manifest, int64_t *now_ms)
{
    char name[512];
    bool found = false;
    for (size_t i = 0; i < c->known_count; i++) {
        if (strcmp(c->known[i].name, manifest) == 0) {
            *now_ms = c->known[i].modified_ms;
            found = c->known[i].usable;
        }
    }
    for (uint32_t i = 0; found && i < c->draft.file_count; i++) {
        snprintf(name, sizeof name, "%s/files/%s", c->prefix, c->draft.files[i].digest);
        found = is_there(c, name, c->draft.files[i].size_bytes);
    }
    return found || checkpoint_failed(c, "what was written to %s is not there", c->prefix);
}

bool checkpoint_upload(struct pipe_checkpoints *c)
{
    char dir[4200], manifest[512];
    int64_t now_ms = 0;
    checkpoint_path(c, "checkpoint", dir, sizeof dir);
    bool ok = checkpoint_refresh(c) && add_files(c, dir) && send_files(c, dir) &&
              send_manifest(c, manifest) && checkpoint_refresh(c) &&
              check_sent(c, manifest, &now_ms) && checkpoint_collect(c, manifest, now_ms);
    if (!checkpoint_remove_directory(dir) && ok)
        ok = checkpoint_failed(c, "%s can't be removed: %s", dir, strerror(errno));
    return ok;
}

/* ---- Fetching ---- */

static bool has_room(struct pipe_checkpoints *c, const struct checkpoint_manifest *manifest)
{
    struct statvfs about;
    uint64_t needed = 0;
    for (uint32_t i = 0; i < manifest->file_count; i++)
        needed += manifest->files[i].size_bytes <= INT64_MAX / 2 - needed
                      ? manifest->files[i].size_bytes
                      : 0;
    if (statvfs(c->dir, &about) != 0)
        return checkpoint_failed(c, "%s can't be examined: %s", c->dir, strerror(errno));
    uint64_t there = (uint64_t)about.f_bavail * about.f_frsize;
    return there / 2 >= needed || /* fetched, then taken over */
           checkpoint_failed(c, "it takes twice %llu bytes of disk, but %s has %llu",
                             (unsigned long long)needed, c->dir, (unsigned long long)there);
}

static bool fetch_file(struct pipe_checkpoints *c, const char *prefix,
                       const struct checkpoint_file *file)
{
    struct pipe_objects_turn turn = turn_of(c);
    char name[512], path[4400], digest[CHECKPOINT_DIGEST_CHARS + 1];
    uint64_t size_bytes;
    snprintf(name, sizeof name, "%s/files/%s", prefix, file->digest);
    snprintf(path, sizeof path, "%.4000s/restore/state/%s", c->dir, file->name);
    if (!c->objects->ops->get(c->objects, name, path, file->size_bytes, &turn))
        return checkpoint_failed(c, "%s", c->objects->error);
    if (!checkpoint_digest(c, path, digest, &size_bytes))
        return checkpoint_failed(c, "%s can't be read: %s", path, strerror(errno));
    return (size_bytes == file->size_bytes && strcmp(digest, file->digest) == 0) ||
           checkpoint_failed(c, "its file %s is damaged: its content is not what its name says",
                             name);
}

bool checkpoint_fetch(struct pipe_checkpoints *c)
{
    const struct checkpoint_known *known = &c->known[c->fetch];
    char outer[4200], inner[4200], prefix[512];
    checkpoint_path(c, "restore", outer, sizeof outer);
    checkpoint_path(c, "restore/state", inner, sizeof inner);
    /* …/WRITER/manifests/DIGEST */
    size_t behind = strlen("/manifests/") + CHECKPOINT_DIGEST_CHARS;
    snprintf(prefix, sizeof prefix, "%.*s", (int)(strlen(known->name) - behind), known->name);
    if (!checkpoint_remove_directory(inner) || !checkpoint_remove_directory(outer) ||
        mkdir(outer, 0777) != 0 || mkdir(inner, 0777) != 0)
        return checkpoint_failed(c, "%s can't be made anew: %s", inner, strerror(errno));
    bool ok = has_room(c, &known->manifest);
    for (uint32_t i = 0; ok && i < known->manifest.file_count; i++)
        ok = fetch_file(c, prefix, &known->manifest.files[i]);
    if (!ok) {
        checkpoint_remove_directory(inner);
        checkpoint_remove_directory(outer);
    }
    return ok;
}
