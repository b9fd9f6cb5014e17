/*
 * kafka_producer.h: one producer and the thread that makes its blocking calls (kafka_producer.c),
 * as kafka_transaction.c uses it. Functions belong to the log's thread.
 */
#ifndef KAFKA_PRODUCER_H
#define KAFKA_PRODUCER_H

#include "kafka_internal.h"

#define KAFKA_CALL_MS 1000 /* of one blocking call; it is made again */

enum kafka_work { WORK_NONE, WORK_INIT, WORK_COMMIT, WORK_ABORT };

enum kafka_result {
    RESULT_DONE,
    RESULT_DOOMED,  /* the transaction cannot commit; the producer can abort */
    RESULT_LATE,    /* the deadline passed: unknown */
    RESULT_FATAL,   /* the producer is of no use any more */
    RESULT_FENCED,  /* likewise */
    RESULT_REFUSED, /* a record, or who we are: error says what, and it would be so again */
};

/* Shared by the log's thread and the producer's own. */
struct kafka_producer {
    rd_kafka_t *client;
    struct kafka_common *common;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum kafka_work work; /* not NONE: asked for or under way */
    bool left;            /* the log waits no more: the thread ends it all */
    bool forget;          /* at the end nobody joins the thread */
    int64_t deadline_us;
    rd_kafka_topic_partition_list_t *offsets;
    rd_kafka_consumer_group_metadata_t *fence;
    enum kafka_result result;
    char error[384];
    uint64_t produced; /* of the open transaction; log's thread, read by the worker in a commit */
    atomic_ullong acknowledged, failed;
    atomic_int strays;
    atomic_int registered, written; /* answers to AddPartitionsToTxn and Produce, likewise */
    _Atomic int64_t registered_us;  /* when the first of those answers came */
    atomic_bool refused_early;      /* the first AddPartitionsToTxn was, and had to be repeated */
    rd_kafka_resp_err_t failure;    /* the first of the transaction, under lock: */
    size_t failed_bytes;            /* of that record */
    char failed_at[300];
};

/* A producer with its thread; nothing is asked of the brokers yet. NULL: error. */
struct kafka_producer *kafka_producer_new(struct kafka_common *common, char *error,
                                          size_t error_bytes);
/* Begins one kind of work, which is given up after limit_us. */
void kafka_producer_ask(struct kafka_producer *producer, enum kafka_work what, int64_t limit_us);
/* Waits at most limit_us. true: nothing is under way, and `result` tells how the last work went. */
bool kafka_producer_wait(struct kafka_producer *producer, int64_t limit_us);
/* Whether a record of the open transaction was refused for good; `error` says which. Nothing is
 * under way. */
bool kafka_producer_refused(struct kafka_producer *producer);
/* Ends it, when what is under way has come back; the thread is waited for at most wait_us. */
void kafka_producer_end(struct kafka_producer *producer, int64_t wait_us);

#endif
