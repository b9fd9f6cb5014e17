/* log_identity.c: see log_identity.h. */
#include "log_identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "log_options.h"
#include "write_count.h"

static bool check_layout(struct pipe_log *log, const char *path, bool *foreign)
{
    struct pipe_buf value = {0};
    bool known, named, ok = log->ops->get(log, "incarnation", &value, &known);
    ok = ok && log->ops->get(log, "layout", &value, &named);
    struct pipe_str layout =
        ok && named ? pipe_str_of(value.data, value.size) : pipe_str_of("1", 1);
    *foreign = ok && known && !pipe_str_equal(layout, PIPE_STR(LOG_LAYOUT));
    if (*foreign)
        snprintf(log->error, sizeof log->error,
                 "the log in %.300s has layout %.*s, but this program reads layout %s; run the "
                 "program that made it, or begin in a new directory",
                 path, (int)(layout.size < 20 ? layout.size : 20), layout.data, LOG_LAYOUT);
    pipe_buf_free(&value);
    return ok && !*foreign;
}

static bool check_whole(struct pipe_log *log, rocksdb_t *db, const rocksdb_readoptions_t *options,
                        uint64_t *batches)
{
    uint64_t lost;
    char *cause = NULL;
    if (write_count_check(db, options, batches, &lost, &cause))
        return true;
    if (cause != NULL)
        snprintf(log->error, sizeof log->error, "the log could not count its commits: %.300s%s",
                 log_cause(cause), log_advice(cause, log_damaged));
    else
        snprintf(log->error, sizeof log->error,
                 "the log has lost commits: %" PRIu64 " of %" PRIu64
                 " are missing before the last%s",
                 lost, *batches, log_damaged);
    rocksdb_free(cause);
    return false;
}

static bool make_incarnation(struct pipe_log *log, bool read_only)
{
    struct pipe_buf value = {0};
    bool found = false, ok = log->ops->get(log, "incarnation", &value, &found);
    if (ok && found && value.size == 32) {
        memcpy(log->incarnation, value.data, 32);
    } else if (ok && (found || read_only)) {
        ok = false;
        snprintf(log->error, sizeof log->error, "there is no log of a pipeline here");
    } else if (ok) {
        uint8_t random[16];
        pipe_random_bytes(random, sizeof random);
        pipe_hex_write(log->incarnation, random, sizeof random);
        ok = log->ops->put(log, "incarnation", log->incarnation, 32) &&
             log->ops->put(log, "layout", LOG_LAYOUT, strlen(LOG_LAYOUT)) &&
             log->ops->commit(log) == PIPE_LOG_COMMITTED;
    }
    pipe_buf_free(&value);
    return ok;
}

bool log_identify(struct pipe_log *log, rocksdb_t *db, const rocksdb_readoptions_t *options,
                  const char *path, bool read_only, uint64_t *batches, bool *foreign)
{
    *foreign = false;
    return check_layout(log, path, foreign) && check_whole(log, db, options, batches) &&
           make_incarnation(log, read_only);
}
