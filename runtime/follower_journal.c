/*
 * follower_journal.c: what a position of a follower holds (semantics.md §6), and the names of
 * ranges: hash and token.
 *
 * Value: version, incarnation(16), then as Avro writes them: mark and confirmed (longs), pending
 * (boolean). If it is, version 2: first, last, rows (longs), hash(16), token(32), of a batch that
 * is one range. Version 3: the number of ranges, for each of them partition, first, last, rows
 * (longs) and hash(16); then the token(32). Version 1 is as 2, without confirmed. What is one range
 * is written as version 2, which older programs read.
 */
#include "follower_internal.h"

#define VERSION_ONE 2
#define VERSION_SEVERAL 3

static void put_range(struct pipe_buf *to, const struct follower_range *range)
{
    pipe_avro_put_long(to, range->at.first);
    pipe_avro_put_long(to, range->at.last);
    pipe_avro_put_long(to, range->at.rows);
    pipe_buf_add(to, range->hash, sizeof range->hash);
}

void follower_journal_write(struct pipe_buf *to, const struct follower_journal *journal)
{
    bool several = journal->pending && journal->range_count > 1;
    pipe_buf_add_byte(to, several ? VERSION_SEVERAL : VERSION_ONE);
    pipe_buf_add(to, journal->incarnation, sizeof journal->incarnation);
    pipe_avro_put_long(to, journal->mark);
    pipe_avro_put_long(to, journal->confirmed);
    pipe_avro_put_bool(to, journal->pending);
    if (!journal->pending)
        return;
    if (several)
        pipe_avro_put_long(to, journal->range_count);
    for (uint32_t i = 0; i < journal->range_count; i++) {
        if (several)
            pipe_avro_put_long(to, journal->ranges[i].at.partition);
        put_range(to, &journal->ranges[i]);
    }
    pipe_buf_add(to, journal->token, sizeof journal->token);
}

static bool take(struct pipe_reader *reader, void *to, size_t size)
{
    if ((size_t)(reader->end - reader->at) < size)
        return false;
    memcpy(to, reader->at, size);
    reader->at += size;
    return true;
}

static bool take_range(struct pipe_reader *reader, struct follower_range *range)
{
    int64_t rows;
    struct pipe_table_range *at = &range->at;
    if (!pipe_avro_long(reader, &at->first) || !pipe_avro_long(reader, &at->last) ||
        !pipe_avro_long(reader, &rows) || !take(reader, range->hash, sizeof range->hash))
        return false;
    if (at->first < 0 || at->last < at->first || at->last == INT64_MAX || rows < 1 ||
        rows > FOLLOWER_ROWS_MAX || rows - 1 > at->last - at->first)
        return false;
    at->rows = (uint32_t)rows;
    return true;
}

/* Each partition once, in their order. */
static bool take_ranges(struct pipe_reader *reader, uint32_t partitions,
                        struct follower_journal *journal)
{
    int64_t count, partition, before = -1;
    uint64_t rows = 0;
    if (!pipe_avro_long(reader, &count) || count < 2 || count > PIPE_TABLE_RANGES_MAX)
        return false;
    for (int64_t i = 0; i < count; i++) {
        struct follower_range *range = &journal->ranges[i];
        if (!pipe_avro_long(reader, &partition) || partition <= before || partition >= partitions ||
            !take_range(reader, range))
            return false;
        range->at.partition = (int32_t)partition;
        rows += range->at.rows;
        before = partition;
    }
    journal->range_count = (uint32_t)count;
    return rows <= FOLLOWER_ROWS_MAX;
}

static bool find_own(struct follower_journal *journal, int32_t partition)
{
    for (uint32_t i = 0; i < journal->range_count; i++) {
        if (journal->ranges[i].at.partition == partition) {
            journal->own = i;
            return journal->ranges[i].at.first >= journal->mark;
        }
    }
    return false;
}

static bool take_batch(struct pipe_reader *reader, uint8_t version, int32_t partition,
                       uint32_t partitions, struct follower_journal *journal)
{
    if (version < VERSION_SEVERAL) {
        journal->range_count = 1;
        journal->ranges[0].at.partition = partition;
        if (!take_range(reader, &journal->ranges[0]))
            return false;
    } else if (!take_ranges(reader, partitions, journal)) {
        return false;
    }
    return find_own(journal, partition) && take(reader, journal->token, sizeof journal->token);
}

bool follower_journal_read(struct pipe_str text, int32_t partition, uint32_t partitions,
                           struct follower_journal *journal)
{
    struct pipe_reader reader;
    uint8_t version;
    *journal = (struct follower_journal){.confirmed = -1};
    pipe_reader_init(&reader, (const uint8_t *)text.data, text.size, NULL);
    if (!take(&reader, &version, 1) || version < 1 || version > VERSION_SEVERAL ||
        !take(&reader, journal->incarnation, sizeof journal->incarnation) ||
        !pipe_avro_long(&reader, &journal->mark) ||
        (version > 1 && !pipe_avro_long(&reader, &journal->confirmed)) ||
        !pipe_avro_bool(&reader, &journal->pending) || journal->mark < 0 ||
        journal->confirmed < -1 || journal->confirmed >= journal->mark)
        return false;
    return (!journal->pending || take_batch(&reader, version, partition, partitions, journal)) &&
           reader.at == reader.end;
}

void follower_position_name(char *to, size_t to_bytes, const char *sink, const char *topic,
                            int32_t partition)
{
    snprintf(to, to_bytes, "follower/%.100s/%.250s/%d", sink, topic, partition);
}

static void add_text(struct pipe_buf *to, const char *text)
{
    pipe_buf_add(to, text, strlen(text) + 1);
}

void follower_make_token(const struct follower_place *place,
                         const struct follower_token_range *ranges, uint32_t count,
                         uint8_t token[FOLLOWER_TOKEN_BYTES])
{
    struct pipe_buf text = {0};
    add_text(&text, "ranges of a table");
    add_text(&text, place->log_incarnation);
    add_text(&text, place->sink);
    add_text(&text, place->topic);
    pipe_avro_put_long(&text, count);
    for (uint32_t i = 0; i < count; i++) {
        pipe_buf_add(&text, ranges[i].incarnation,
                     sizeof((struct follower_journal *)NULL)->incarnation);
        pipe_avro_put_long(&text, ranges[i].range->at.partition);
        put_range(&text, ranges[i].range);
    }
    pipe_sha256(text.data, text.size, token);
    pipe_buf_free(&text);
}

static uint64_t counted(struct pipe_str text)
{
    return text.data == NULL ? 0 : text.size + 1;
}

/* Sizes are in it, so that bytes cannot move from one field or record to the next. */
void follower_hash_add(XXH3_state_t *state, const struct pipe_record *record)
{
    const uint64_t head[3] = {(uint64_t)record->offset, counted(record->key),
                              counted(record->payload)};
    XXH3_128bits_update(state, head, sizeof head);
    if (record->key.size > 0)
        XXH3_128bits_update(state, record->key.data, record->key.size);
    if (record->payload.size > 0)
        XXH3_128bits_update(state, record->payload.data, record->payload.size);
}

void follower_hash_end(const XXH3_state_t *state, uint8_t hash[FOLLOWER_HASH_BYTES])
{
    XXH128_canonical_t text;
    XXH128_canonicalFromHash(&text, XXH3_128bits_digest(state));
    memcpy(hash, text.digest, FOLLOWER_HASH_BYTES);
}
