/*
 * follower_journal.c: what a position of a follower holds (semantics.md §6), and the names of
 * ranges: hash and token.
 *
 * Value: version(2) incarnation(16), then as Avro writes them: mark and confirmed (longs), pending
 * (boolean), and if it is: first, last, rows (longs), hash(16), token(32). Version 1 has no
 * confirmed.
 */
#include "follower_internal.h"

#define VERSION 2

void follower_journal_write(struct pipe_buf *to, const struct follower_journal *journal)
{
    pipe_buf_add_byte(to, VERSION);
    pipe_buf_add(to, journal->incarnation, sizeof journal->incarnation);
    pipe_avro_put_long(to, journal->mark);
    pipe_avro_put_long(to, journal->confirmed);
    pipe_avro_put_bool(to, journal->pending);
    if (!journal->pending)
        return;
    pipe_avro_put_long(to, journal->first);
    pipe_avro_put_long(to, journal->last);
    pipe_avro_put_long(to, journal->rows);
    pipe_buf_add(to, journal->hash, sizeof journal->hash);
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

bool follower_journal_read(struct pipe_str text, struct follower_journal *journal)
{
    struct pipe_reader reader;
    uint8_t version;
    int64_t rows = 0;
    *journal = (struct follower_journal){.confirmed = -1};
    pipe_reader_init(&reader, (const uint8_t *)text.data, text.size, NULL);
    if (!take(&reader, &version, 1) || version < 1 || version > VERSION ||
        !take(&reader, journal->incarnation, sizeof journal->incarnation) ||
        !pipe_avro_long(&reader, &journal->mark) ||
        (version > 1 && !pipe_avro_long(&reader, &journal->confirmed)) ||
        !pipe_avro_bool(&reader, &journal->pending) || journal->mark < 0 ||
        journal->confirmed < -1 || journal->confirmed >= journal->mark)
        return false;
    if (journal->pending) {
        if (!pipe_avro_long(&reader, &journal->first) || !pipe_avro_long(&reader, &journal->last) ||
            !pipe_avro_long(&reader, &rows) ||
            !take(&reader, journal->hash, sizeof journal->hash) ||
            !take(&reader, journal->token, sizeof journal->token))
            return false;
        if (journal->first < journal->mark || journal->last < journal->first ||
            journal->last == INT64_MAX || rows < 1 || rows > FOLLOWER_ROWS_MAX ||
            rows - 1 > journal->last - journal->first)
            return false;
        journal->rows = (uint32_t)rows;
    }
    return reader.at == reader.end;
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

void follower_make_token(const struct follower_place *place, struct follower_journal *journal)
{
    struct pipe_buf text = {0};
    add_text(&text, "range of a table");
    add_text(&text, place->log_incarnation);
    pipe_buf_add(&text, journal->incarnation, sizeof journal->incarnation);
    add_text(&text, place->sink);
    add_text(&text, place->topic);
    pipe_avro_put_long(&text, place->partition);
    pipe_avro_put_long(&text, journal->first);
    pipe_avro_put_long(&text, journal->last);
    pipe_avro_put_long(&text, journal->rows);
    pipe_buf_add(&text, journal->hash, sizeof journal->hash);
    pipe_sha256(text.data, text.size, journal->token);
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
