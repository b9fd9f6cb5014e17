/*
 * log.c: the embedded log over damaged values: chunks of records under their keys, read from any
 * offset. The input: how many chunks and where reading begins, then for each the gap before it, its
 * size and its bytes.
 */
#include "fuzz.h"
#include <ftw.h>
#include "../../runtime/log_embedded.c"

enum { INPUTS_KEPT = 30 };

static char directory[64];
static struct embedded *opened;
static uint32_t topic;

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

static void close_log(void)
{
    embedded_close(&opened->log);
    nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* One database for all inputs: opening one takes milliseconds. */
static void open_log(void)
{
    char error[512];
    if (opened != NULL)
        return;
    snprintf(directory, sizeof directory, "%s/pipe-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(directory) == NULL)
        abort();
    struct pipe_log *log = pipe_log_embedded_open(directory, false, error, sizeof error);
    FUZZ_CHECK(log != NULL);
    opened = embedded_of(log);
    FUZZ_CHECK(embedded_topic(log, "t", 1, &topic) && write_commit(log));
    atexit(close_log);
}

static void put_raw(int64_t base, const uint8_t *value, size_t size, bool remove)
{
    uint8_t key[LOG_CHUNK_KEY_BYTES];
    char *error = NULL;
    log_chunk_key(key, opened->log.topics[topic].id, 0, base);
    if (remove)
        rocksdb_delete(opened->db, opened->unlogged, (char *)key, sizeof key, &error);
    else
        rocksdb_put(opened->db, opened->unlogged, (char *)key, sizeof key, (const char *)value,
                    size, &error);
    FUZZ_CHECK(error == NULL);
}

/* What inputs left, put and deleted, would all be walked over by each that follows. */
static void clear_log(void)
{
    static unsigned inputs;
    rocksdb_flushoptions_t *flush;
    char *error = NULL;
    if (++inputs % INPUTS_KEPT != 0)
        return;
    flush = rocksdb_flushoptions_create();
    rocksdb_flush(opened->db, flush, &error);
    rocksdb_flushoptions_destroy(flush);
    FUZZ_CHECK(error == NULL);
    rocksdb_compact_range(opened->db, NULL, 0, NULL, 0);
}

static void read_all(int64_t from, uint32_t step)
{
    struct pipe_record constant = {.source = 1}, *records;
    struct pipe_log_reader *reader = embedded_reader(&opened->log, topic, 0, from, &constant);
    enum pipe_log_state state;
    uint32_t count;
    int64_t offset = from;
    uint64_t sum = 0;
    for (unsigned calls = 0; calls < 10000; calls++) {
        state = embedded_read(reader, step, INT64_MAX, &records, &count);
        if (state != PIPE_LOG_RECORDS)
            break;
        FUZZ_CHECK(count >= 1 && count <= step);
        for (uint32_t i = 0; i < count; i++) {
            FUZZ_CHECK(records[i].offset == offset++);
            for (size_t k = 0; k < records[i].payload.size; k++)
                sum += (uint8_t)records[i].payload.data[k];
            for (size_t k = 0; k < records[i].key.size; k++)
                sum += (uint8_t)records[i].key.data[k];
        }
    }
    FUZZ_CHECK(state != PIPE_LOG_FAILED || opened->log.error[0] != '\0');
    embedded_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *at = data, *end = data + size, *value;
    int64_t bases[8], base = 0;
    open_log();
    unsigned count = fuzz_byte(&at, end) % 8;
    int64_t from = fuzz_byte(&at, end);
    uint32_t step = 1u + fuzz_byte(&at, end);
    for (unsigned i = 0; i < count; i++) {
        uint8_t gap = fuzz_byte(&at, end);
        size_t bytes = fuzz_byte(&at, end);
        bytes = fuzz_take(&at, end, bytes, &value);
        base = gap == 255 || base > INT64_MAX - gap ? INT64_MAX : base + gap;
        bases[i] = base;
        put_raw(base, value, bytes, false);
    }
    opened->failed = false;
    opened->log.error[0] = '\0';
    opened->parts[topic][0].end = 0;
    if (find_ends(opened, topic))
        read_all(from, step);
    else
        FUZZ_CHECK(opened->log.error[0] != '\0');
    for (unsigned i = 0; i < count; i++)
        put_raw(bases[i], NULL, 0, true);
    opened->failed = false;
    clear_log();
    return 0;
}
