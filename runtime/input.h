/*
 * input.h: where the records of a source come from. A `pipe_input` is one partition of one source,
 * read in order.
 *
 * Implementations: input_csv.c, input_lines.c (jsonl, text), input_avro.c (containers, and topic
 * files: containers of envelope records), all also for standard input where that makes sense; the
 * embedded topic is read by log_embedded.c through engine code, not through here.
 *
 * Untrusted bytes: a record that can't be cut out (a CSV quote that never closes, a line above
 * `max_record`) is still a record: payload as far as it goes, cut at max_record bytes, and `fault`
 * says why; the engine rejects it as `undecodable`. Only what ends the reading (I/O, a broken
 * container block, a file that shrank) is PIPE_INPUT_FAILED.
 */
#ifndef PIPE_INPUT_H
#define PIPE_INPUT_H

#include "pipe.h"

/* Where to go on: after `offset` records. The hint is the input's own (a byte offset, a block and
 * an index), in the byte order of the machine; hint_bytes 0 with offset 0 is the beginning. It is
 * part of the commit. */
#define PIPE_INPUT_HINT_MAX 48
struct pipe_input_position {
    int64_t offset;
    uint8_t hint_bytes;
    uint8_t hint[PIPE_INPUT_HINT_MAX];
};

/* What the engine asks for. All pointers outlive the input. */
struct pipe_input_config {
    const struct pipe_source_def *source;
    uint32_t source_index; /* for pipe_record.source */
    int32_t partition;     /* for pipe_record.partition */
    const char *path;      /* as matched, and for messages; "-": standard input */
    int64_t length_bytes; /* as the engine saw it: read to here, however it grows; -1: to the end */
    struct pipe_input_position resume;
    uint32_t max_record_bytes; /* a longer record gets `fault` */
    const char *topic;         /* for pipe_record.topic: of a topic file the topic, else the path as
                                  text. NULL: the path, which is text */
};

enum pipe_input_state {
    PIPE_INPUT_RECORDS, /* *count >= 1 records */
    PIPE_INPUT_WAIT,    /* none now, more may come (a pipe without data, interrupted by a signal) */
    PIPE_INPUT_END,     /* none, and none will ever come */
    PIPE_INPUT_FAILED   /* input->error says file, offset and cause */
};

struct pipe_input;

struct pipe_input_ops {
    /* At most max_records (>= 1) records, and about 256 KiB of them. They and all they point to
     * live until the next call. The engine may change their fields. input->position is afterwards
     * that behind the last of them. */
    enum pipe_input_state (*next)(struct pipe_input *input, uint32_t max_records,
                                  struct pipe_record **records, uint32_t *count);
    void (*close)(struct pipe_input *input); /* frees input */
};

/* The common beginning of every input. */
struct pipe_input {
    const struct pipe_input_ops *ops;
    struct pipe_input_config config;
    struct pipe_input_position position;
    /* By index in the last batch, or NULL where the whole batch is sound: why record i is
     * undecodable. */
    const char *const *faults;
    /* CSV: the fields of record i of the last batch (none where it has a fault), and what
     * pipe_row_from_csv needs: csv_positions NULL without header; csv_expected fields a record.
     * Owned by the input; the last two are set once at opening, by the header. */
    const struct pipe_input_csv_row {
        const struct pipe_csv_field *fields;
        uint32_t count;
    } * csv_rows;
    const uint32_t *csv_positions;
    uint32_t csv_expected;
    /* Avro container of source->contract: index in contract->versions of the file's writer schema
     * (canonical form, fingerprint), -1: none of them, every record is `schema_unknown`;
     * schema_detail names the schema found. */
    int32_t avro_version;
    char schema_detail[128];
    char error[512]; /* one line: file, line or offset, cause, what to do */
};

/* Opens by source->is_kafka (a topic file) or source->format. NULL: `error` (of error_bytes) has
 * the line. What must stop a program before its first record (a missing CSV column, a broken
 * container header, an unreadable file) fails here, also when resuming. */
struct pipe_input *pipe_input_open(const struct pipe_input_config *config, char *error,
                                   size_t error_bytes);

/* The constructors behind it (runtime/input_*.c). */
struct pipe_input *pipe_input_csv_open(const struct pipe_input_config *config, char *error,
                                       size_t error_bytes);
struct pipe_input *pipe_input_lines_open(const struct pipe_input_config *config, char *error,
                                         size_t error_bytes);
struct pipe_input *pipe_input_avro_open(const struct pipe_input_config *config, char *error,
                                        size_t error_bytes);
struct pipe_input *pipe_input_topic_file_open(const struct pipe_input_config *config, char *error,
                                              size_t error_bytes);

/* The envelope of a topic file: an Avro container, one file a partition. */
#define PIPE_TOPIC_FILE_SCHEMA                                                                     \
    "{\"type\":\"record\",\"name\":\"record\",\"namespace\":\"pipec\",\"fields\":["                \
    "{\"name\":\"kafka_time\",\"type\":{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}}," \
    "{\"name\":\"key\",\"type\":[\"null\",\"bytes\"]},{\"name\":\"value\",\"type\":[\"null\","     \
    "\"bytes\"]}]}"

/* ---- Traffic (runtime/traffic.c) ----
 * A feeder generates records for the topic (or file) of one source. A value is as the source's
 * records are: on Kafka Avro in the single-object frame, in files without; JSON and CSV without
 * line end. The engine appends them to the embedded topic, with the feeder's position, in the
 * commit that is open; the source's tasks read them from there. The whole sequence is a function of
 * the options (and the plan): that is what makes the position a plain number. */
struct pipe_feed_record {
    int32_t partition;          /* by the key, as producers do */
    int64_t kafka_time_ms;      /* sending time; never decreases */
    struct pipe_str key, value; /* data NULL: none. Live until the next call */
    uint64_t event;             /* number of the event it is a record of */
    int32_t fault;              /* in the traffic's faults: what was done to it; -1: nothing */
    int32_t
        duplicate; /* the `duplicate` fault that sent it again; -1: it is the first of its event */
    int64_t event_time_ms; /* in the record, before poison; PIPE_TIME_MIN: it has none */
    const char *poison;    /* of a `poison` fault: "cut", "random", "schema", "value"; else NULL */
};
/* How often (traffic_rate.c): whole events an hour. */
#define PIPE_RATE_MOST 3600000000000 /* 1000000000/s */
#define PIPE_RATE_TEXT 24
/* Of `N/s`, `N/m` or `N/min`, `N/h`, or N, a second; with decimals where whole ones come out. */
bool pipe_rate_read(const char *text, int64_t *per_hour);
void pipe_rate_text(int64_t per_hour, char to[PIPE_RATE_TEXT]); /* N/s, or N/h if those are not */
int64_t pipe_rate_store(int64_t per_hour);                      /* as a number of metadata */
bool pipe_rate_load(int64_t stored, int64_t *per_hour);         /* false: it is none */
int64_t pipe_rate_due_ms(int64_t per_hour, uint64_t event);     /* behind the first; rounded down */
int64_t pipe_rate_events(int64_t per_hour, int64_t seconds);    /* in a time, rounded down */

#define PIPE_FEEDER_STOPS 16
struct pipe_feeder_options {
    int64_t count;         /* events (faults add records); -1: without end */
    int64_t rate_per_hour; /* 1 … PIPE_RATE_MOST; 3600 is one a second */
    uint64_t seed;
    int64_t start_ms;
    /* Counts that were raised since, ascending: before it goes on behind such an event, all that
     * was delayed is sent, as it was at the end of then. */
    int64_t stops[PIPE_FEEDER_STOPS];
    uint32_t stop_count;
    /* pipe_feeder_definition of the statement that it was begun with; 0: not known. What a feeder
     * makes does not hang on it. */
    uint64_t definition;
};
/* Stops and definition, in metadata of the log; older metadata has neither, or no definition. */
void pipe_feeder_put_stops(struct pipe_buf *to, const struct pipe_feeder_options *options);
bool pipe_feeder_get_stops(struct pipe_reader *from, struct pipe_feeder_options *options);
/* A fingerprint of the statement (its fields, steps, faults …), which is no part of the plan's hash
 * (traffic_definition.c); never 0. */
uint64_t pipe_feeder_definition(const struct pipe_plan *plan, uint32_t traffic);
/* Whether a feeder that was begun with `options` goes on as it would have: of this definition, or
 * of one that is not known. */
static inline bool pipe_feeder_is_same(const struct pipe_plan *plan, uint32_t traffic,
                                       const struct pipe_feeder_options *options)
{
    return options->definition == 0 || options->definition == pipe_feeder_definition(plan, traffic);
}
struct pipe_feeder;
/* `traffic` indexes plan->traffics. Records go to `partitions` partitions. NULL: error. */
struct pipe_feeder *pipe_feeder_open(const struct pipe_plan *plan, uint32_t traffic,
                                     uint32_t partitions, const struct pipe_feeder_options *options,
                                     char *error, size_t error_bytes);
bool pipe_feeder_next(struct pipe_feeder *feeder,
                      struct pipe_feed_record *out);                 /* false: the end */
void pipe_feeder_skip(struct pipe_feeder *feeder, uint64_t records); /* as if they had been taken */
void pipe_feeder_close(struct pipe_feeder *feeder);

#endif
