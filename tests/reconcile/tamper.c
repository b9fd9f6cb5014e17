/*
 * tamper.c: damages the log of a stopped run as a bug would, for the tests of reconcile.
 *
 *   tamper DIR drop TOPIC PARTITION     the last batch of the partition is gone
 *   tamper DIR hole TOPIC PARTITION     the first batch, of two or more
 *   tamper DIR flip TOPIC PARTITION     one bit of the last record of the last batch is changed
 *   tamper DIR twice TOPIC PARTITION    the last batch is there again, behind itself
 *   tamper DIR counter TASK             the first counter of a task is one too high
 *   tamper DIR put NAME HEX             metadata NAME gets this value
 *   tamper DIR put-state NAME HEX       likewise in the state
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rocksdb/c.h>

static rocksdb_t *db;
static rocksdb_readoptions_t *reads;
static rocksdb_writeoptions_t *writes;

static void stop_if(const char *error)
{
    if (error == NULL)
        return;
    fprintf(stderr, "tamper: %s\n", error);
    exit(1);
}

static void put_be(uint8_t *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
}

static char *get(const char *key, size_t key_size, size_t *size)
{
    char *error = NULL;
    char *value = rocksdb_get(db, reads, key, key_size, size, &error);
    stop_if(error);
    stop_if(value == NULL ? "there is no such key" : NULL);
    return value;
}

static void put(const char *key, size_t key_size, const char *value, size_t size)
{
    char *error = NULL;
    rocksdb_put(db, writes, key, key_size, value, size, &error);
    stop_if(error);
}

/* 'r' topic id, partition, offset: log_embedded.c */
static void batch_key(uint8_t key[17], const char *topic, int partition, uint64_t offset)
{
    char name[512];
    size_t size;
    uint32_t id;
    snprintf(name, sizeof name, "t%s", topic);
    char *value = get(name, strlen(name), &size);
    memcpy(&id, value, sizeof id);
    rocksdb_free(value);
    key[0] = 'r';
    put_be(key + 1, id, 4);
    put_be(key + 5, (uint32_t)partition, 4);
    put_be(key + 9, offset, 8);
}

static void change_batch(const char *how, const char *topic, int partition)
{
    uint8_t key[17];
    char *error = NULL;
    size_t key_size, size;
    batch_key(key, topic, partition, strcmp(how, "hole") == 0 ? 0 : INT64_MAX);
    rocksdb_iterator_t *it = rocksdb_create_iterator(db, reads);
    if (strcmp(how, "hole") == 0)
        rocksdb_iter_seek(it, (char *)key, sizeof key);
    else
        rocksdb_iter_seek_for_prev(it, (char *)key, sizeof key);
    stop_if(!rocksdb_iter_valid(it) ? "the partition is empty" : NULL);
    const char *found = rocksdb_iter_key(it, &key_size);
    stop_if(key_size != sizeof key || memcmp(found, key, 9) != 0 ? "the partition is empty" : NULL);
    memcpy(key, found, sizeof key);
    const char *value = rocksdb_iter_value(it, &size);
    char *copy = malloc(size);
    stop_if(copy == NULL ? "out of memory" : NULL);
    memcpy(copy, value, size);
    rocksdb_iter_destroy(it);
    if (strcmp(how, "flip") == 0) {
        copy[size - 2] ^= 1;
        put((char *)key, sizeof key, copy, size);
    } else if (strcmp(how, "twice") == 0) {
        uint32_t count;
        uint64_t base = 0;
        memcpy(&count, copy + 4, sizeof count);
        for (int i = 9; i < 17; i++)
            base = base << 8 | key[i];
        put_be(key + 9, base + count, 8);
        put((char *)key, sizeof key, copy, size);
    } else {
        rocksdb_delete(db, writes, (char *)key, sizeof key, &error);
        stop_if(error);
    }
    free(copy);
}

static size_t skip_varint(const char *value, size_t at)
{
    while ((value[at] & 0x80) != 0)
        at++;
    return at + 1;
}

/* Version, offset, seq, hint, three times, ended, idle, skipped, digest; then by stream a varint of
 * bits and the counters that are not 0: engine_commit.c. */
static void change_counter(const char *task)
{
    char name[512];
    size_t size, at = 1;
    snprintf(name, sizeof name, "m%s", task);
    char *value = get(name, strlen(name), &size);
    at = skip_varint(value, skip_varint(value, at));
    at += 1 + (size_t)(uint8_t)value[at] / 2; /* a short hint: its length is one zigzag byte */
    for (int i = 0; i < 3; i++)
        at = skip_varint(value, at);
    at += 2;
    at = skip_varint(value, at);
    at += 1 + (size_t)(uint8_t)value[at] / 2; /* a digest, as the hint */
    at = skip_varint(value, at);              /* the bits of the first stream */
    value[at] ^= 1;
    put(name, strlen(name), value, size);
    rocksdb_free(value);
}

static void put_metadata(const char *name, const char *hex)
{
    char key[512], value[512];
    size_t size = 0;
    for (; hex[0] != '\0' && hex[1] != '\0' && size < sizeof value; hex += 2) {
        unsigned byte;
        stop_if(sscanf(hex, "%2x", &byte) != 1 ? "bad hex" : NULL);
        value[size++] = (char)byte;
    }
    snprintf(key, sizeof key, "m%s", name);
    put(key, strlen(key), value, size);
}

int main(int argc, char **argv)
{
    char path[4096], *error = NULL;
    if (argc < 4) {
        fprintf(stderr, "usage: tamper DIR drop|hole|flip|twice TOPIC PARTITION | counter TASK | "
                        "put|put-state NAME HEX\n");
        return 2;
    }
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_options_set_compression(options, rocksdb_no_compression);
    rocksdb_options_set_uint64add_merge_operator(options); /* write_count.c */
    reads = rocksdb_readoptions_create();
    writes = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(writes, 1);
    bool state = strcmp(argv[2], "put-state") == 0;
    snprintf(path, sizeof path, "%s/%s", argv[1], state ? "state" : "log");
    db = rocksdb_open(options, path, &error);
    stop_if(error);
    if (strcmp(argv[2], "counter") == 0)
        change_counter(argv[3]);
    else if ((state || strcmp(argv[2], "put") == 0) && argc > 4)
        put_metadata(argv[3], argv[4]);
    else
        change_batch(argv[2], argv[3], argc > 4 ? atoi(argv[4]) : 0);
    rocksdb_close(db);
    rocksdb_options_destroy(options);
    rocksdb_readoptions_destroy(reads);
    rocksdb_writeoptions_destroy(writes);
    return 0;
}
