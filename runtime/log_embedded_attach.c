/*
 * log_embedded_attach.c: a second handle on an open embedded log: see log.h.
 *
 * RocksDB orders the writes of both. A batch of this handle goes through the write-ahead log,
 * synced, also while a big one of the other handle is flushed beside it: neither has keys of the
 * other. It is not in the count of write_count.h, where numbers must grow in the order of writing:
 * one handle would have to wait for the other. What the count protects is records.
 *
 * Its readers are close behind the other handle most of the time, and then get what that has
 * committed from memory (log_recent.h).
 *
 * Ends of topics are read where the other handle keeps them (embedded_end_of): it raises one after
 * its commit is durable.
 */
#include <stdio.h>
#include <stdlib.h>

#include "log_embedded.h"
#include "log_options.h"

static bool attached_topic(struct pipe_log *outer, const char *name, uint32_t partitions,
                           uint32_t *topic)
{
    for (*topic = 0; *topic < outer->topic_count; (*topic)++) {
        const struct pipe_log_topic *known = &outer->topics[*topic];
        if (strcmp(known->name, name) == 0 && known->partitions == partitions)
            return true;
    }
    snprintf(outer->error, sizeof outer->error, "the log has no topic %s with %u partitions", name,
             partitions);
    return false;
}

static void attached_abort(struct pipe_log *outer)
{
    rocksdb_writebatch_clear(embedded_of(outer)->batch);
    outer->pending_bytes = 0;
}

static enum pipe_log_outcome attached_commit(struct pipe_log *outer)
{
    struct embedded *log = embedded_of(outer);
    char *error = NULL;
    if (log->failed)
        return PIPE_LOG_BROKEN;
    rocksdb_write(log->db, log->logged, log->batch, &error);
    if (error != NULL) {
        embedded_fail(log, "write a position of a table", error);
        return PIPE_LOG_BROKEN;
    }
    outer->written_bytes += outer->pending_bytes;
    outer->commits++;
    attached_abort(outer);
    return PIPE_LOG_COMMITTED;
}

static void attached_close(struct pipe_log *outer)
{
    struct embedded *log = embedded_of(outer);
    rocksdb_writebatch_destroy(log->batch);
    rocksdb_writeoptions_destroy(log->logged);
    rocksdb_readoptions_destroy(log->read_options);
    free(log->parts);
    free(outer->topics);
    free(log);
}

static const struct pipe_log_ops attached_ops = {
    .topic = attached_topic,
    .get_position = embedded_get_position,
    .put_position = embedded_put_position,
    .begin = embedded_begin,
    .end = embedded_end,
    .at_end = embedded_at_end,
    .commit = attached_commit,
    .abort = attached_abort,
    .put = embedded_put,
    .get = embedded_get,
    .list = embedded_list,
    .reader = embedded_reader,
    .read = embedded_read,
    .position = embedded_position,
    .reader_close = embedded_reader_close,
    .close = attached_close,
};

struct pipe_log *pipe_log_embedded_attach(struct pipe_log *of)
{
    struct embedded *from = embedded_of(of);
    struct embedded *log = pipe_calloc(1, sizeof *log);
    log->log = (struct pipe_log){.ops = &attached_ops,
                                 .topic_count = of->topic_count,
                                 .keeps_values = true,
                                 .metadata_bytes = of->metadata_bytes};
    memcpy(log->log.incarnation, of->incarnation, sizeof of->incarnation);
    log->log.topics = pipe_calloc(of->topic_count + 1, sizeof *log->log.topics);
    log->parts = pipe_calloc(of->topic_count + 1, sizeof *log->parts);
    for (uint32_t i = 0; i < of->topic_count; i++) { /* names and parts stay where they are */
        log->log.topics[i] = of->topics[i];
        log->parts[i] = from->parts[i];
    }
    if (from->recent == NULL)
        from->recent = log_recent_new();
    log->recent = from->recent;
    log->db = from->db;
    log->batch = rocksdb_writebatch_create();
    log->logged = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(log->logged, 1);
    log->read_options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_fill_cache(log->read_options, 0);
    return &log->log;
}
