/*
 * engine_outside.c: secrets and the table of schema ids: what is neither in the program nor in the
 * run directory.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "engine.h"
#include "regular_file.h"

#define SECRET_MAX (64u << 10)

/* Of the engine that runs now in this thread; see pipe_secret. */
static _Thread_local struct pipe_str *process_secrets;
static _Thread_local uint32_t process_secret_count;

struct pipe_str pipe_secret(uint32_t index)
{
    return index < process_secret_count ? process_secrets[index] : pipe_str_of("", 0);
}

/* A whole small file; NULL: error told. Trailing line ends are cut. */
static char *read_small_file(struct pipe_engine *engine, const char *path, size_t *size)
{
    FILE *file = pipe_fopen_regular(path);
    if (file == NULL) {
        engine_fail(engine, PIPE_EXIT_DATA, "%s can't be opened: %s", path,
                    pipe_regular_reason(errno));
        return NULL;
    }
    char *text = pipe_malloc(SECRET_MAX + 1);
    *size = fread(text, 1, SECRET_MAX + 1, file);
    bool failed = ferror(file) != 0;
    fclose(file);
    if (failed || *size > SECRET_MAX) {
        engine_fail(engine, PIPE_EXIT_DATA, "%s %s", path,
                    failed ? "can't be read" : "is longer than 64 KiB");
        free(text);
        return NULL;
    }
    while (*size > 0 && (text[*size - 1] == '\n' || text[*size - 1] == '\r'))
        (*size)--;
    text[*size] = '\0';
    return text;
}

static bool load_secret(struct pipe_engine *engine, uint32_t index)
{
    const char *name = engine->plan->secrets[index];
    char variable[160], file_variable[176];
    size_t used = (size_t)snprintf(variable, sizeof variable, "PIPE_SECRET_%.128s", name);
    for (size_t i = strlen("PIPE_SECRET_"); i < used && i < sizeof variable - 1; i++)
        variable[i] =
            isalnum((unsigned char)variable[i]) ? (char)toupper((unsigned char)variable[i]) : '_';
    snprintf(file_variable, sizeof file_variable, "%s_FILE", variable);
    const char *value = getenv(variable), *path = getenv(file_variable);
    char *text;
    size_t size;
    if (engine->options->hooks != NULL)
        value = "test";
    if (value != NULL) {
        size = strlen(value);
        text = memcpy(pipe_malloc(size + 1), value, size + 1);
    } else if (path != NULL) {
        text = read_small_file(engine, path, &size);
        if (text == NULL)
            return false;
    } else {
        return engine_fail(engine, PIPE_EXIT_DATA, "secret %s is missing: set %s, or %s to a file",
                           name, variable, file_variable);
    }
    engine->secrets[index] = pipe_str_of(text, size);
    return true;
}

/* Another secret would give other hashes: 64 bits of a hash of it are kept. */
static bool check_secret(struct pipe_engine *engine, uint32_t index)
{
    struct pipe_log *log = engine->log;
    struct pipe_str secret = engine->secrets[index];
    struct pipe_buf stored = {0};
    uint8_t digest[32];
    char name[160];
    bool found;
    pipe_hmac_sha256("pipec secret", 12, secret.data, secret.size, digest);
    snprintf(name, sizeof name, "secret/%s", engine->plan->secrets[index]);
    bool ok = log->ops->get(log, name, &stored, &found);
    bool same = !found || (stored.size == 8 && memcmp(stored.data, digest, 8) == 0);
    if (ok && !found)
        ok = log->ops->put(log, name, digest, 8);
    pipe_buf_free(&stored);
    if (!ok)
        return engine_log_failed(engine);
    return same ||
           engine_fail(engine, PIPE_EXIT_STATE,
                       "secret %s is not the one that %s was written with; set that one, or use "
                       "another directory",
                       engine->plan->secrets[index], engine->dir);
}

/* A log that keeps no values has it in every position instead. */
static void digest_secrets(struct pipe_engine *engine)
{
    struct pipe_buf all = {0};
    uint8_t digest[32];
    for (uint32_t i = 0; i < engine->plan->secret_count; i++)
        pipe_avro_put_bytes(&all, engine->secrets[i]);
    pipe_hmac_sha256("pipec secrets", 13, all.data, all.size, digest);
    if (all.size > 0)
        memset(all.data, 0, all.size);
    pipe_buf_free(&all);
    memcpy(engine->secrets_digest, digest, sizeof engine->secrets_digest);
}

void engine_use_secrets(const struct pipe_engine *engine)
{
    process_secrets = engine->secrets;
    process_secret_count = engine->secrets != NULL ? engine->plan->secret_count : 0;
}

bool engine_load_secrets(struct pipe_engine *engine)
{
    uint32_t count = engine->plan->secret_count;
    engine->secrets = pipe_calloc(count + 1, sizeof *engine->secrets);
    for (uint32_t i = 0; i < count; i++) {
        if (!load_secret(engine, i) || !check_secret(engine, i))
            return false;
    }
    digest_secrets(engine);
    engine_use_secrets(engine);
    return true;
}

void engine_forget_secrets(struct pipe_engine *engine)
{
    for (uint32_t i = 0; engine->secrets != NULL && i < engine->plan->secret_count; i++)
        free((char *)engine->secrets[i].data);
    if (process_secrets == engine->secrets) {
        process_secrets = NULL;
        process_secret_count = 0;
    }
    free(engine->secrets);
}

/* ---- Schema ids ---- */

static const struct pipe_contract *find_version(const struct pipe_plan *plan, const char *contract,
                                                const char *label, uint32_t *version)
{
    for (uint32_t i = 0; i < plan->source_count; i++) {
        const struct pipe_contract *known = plan->sources[i].contract;
        if (known == NULL || strcmp(known->name, contract) != 0)
            continue;
        for (uint32_t v = 0; v < known->version_count; v++) {
            *version = v;
            if (strcmp(known->versions[v].label, label) == 0)
                return known;
        }
    }
    return NULL;
}

static bool add_schema_id(struct pipe_engine *engine, const char *path, unsigned line_number,
                          const char *line)
{
    char contract[128], label[64], more;
    unsigned long id;
    uint32_t version;
    if (sscanf(line, "%lu %127s %63s %c", &id, contract, label, &more) != 3 || id > UINT32_MAX)
        return engine_fail(engine, PIPE_EXIT_DATA,
                           "%s:%u: expected `ID CONTRACT VERSION`, for example `7 click v2`", path,
                           line_number);
    const struct pipe_contract *known = find_version(engine->plan, contract, label, &version);
    if (known == NULL)
        return engine_fail(engine, PIPE_EXIT_DATA,
                           "%s:%u: no source of this pipeline reads version %s of a contract %s",
                           path, line_number, label, contract);
    engine->schema_ids = pipe_realloc(engine->schema_ids,
                                      (engine->schema_id_count + 1) * sizeof *engine->schema_ids);
    engine->schema_ids[engine->schema_id_count++] =
        (struct engine_schema_id){(uint32_t)id, known->name, version};
    return true;
}

bool engine_load_schema_ids(struct pipe_engine *engine)
{
    const char *path = engine->options->schema_ids;
    size_t size;
    unsigned number = 0;
    if (path == NULL)
        path = getenv("PIPE_SCHEMA_IDS");
    if (path == NULL)
        return true;
    char *text = read_small_file(engine, path, &size), *rest = text;
    bool ok = text != NULL;
    for (char *line = ok ? strsep(&rest, "\n") : NULL; ok && line != NULL;
         line = strsep(&rest, "\n")) {
        number++;
        line += strspn(line, " \t\r");
        if (*line != '\0' && *line != '#')
            ok = add_schema_id(engine, path, number, line);
    }
    free(text);
    return ok;
}
