/*
 * broker.h: the cluster of the simulation, as far as its promises go: partitions with offsets,
 * transactions and their markers, a coordinator of transactions with epochs, a coordinator of the
 * group with generations and committed positions. cluster_log.c is the client (runtime/log.h).
 *
 * Everything here survives the crash of an instance; what an instance asked for and is still under
 * way (a delayed end of a transaction) may arrive after its death.
 */
#ifndef SIM_BROKER_H
#define SIM_BROKER_H

#include "sim.h"

#define BROKER_MEMBERS 12
#define BROKER_GROUPS 2 /* of the pipeline; of its tables' followers */

enum broker_fate { BROKER_PENDING, BROKER_COMMITTED, BROKER_ABORTED, BROKER_MARKER };

struct broker_record { /* its offset is its index in the partition */
    enum broker_fate fate;
    int64_t kafka_time_ms, arrived_us;
    struct pipe_str key, value; /* owned; data NULL: none */
};
struct broker_partition {
    struct broker_record *records;
    int64_t count, capacity;
    int64_t stable; /* the last stable offset: no pending record is below */
    bool has_position;
    int64_t position, first; /* committed by the group */
    struct pipe_buf metadata;
};
struct broker_topic {
    char *name;
    uint32_t partitions;
    struct broker_partition *parts;
};
struct broker_place {
    uint32_t topic;
    int32_t partition;
};
struct broker_position {
    struct broker_place at;
    int64_t offset;
    char *metadata;
    size_t metadata_bytes;
};

struct broker_producer { /* a transactional id */
    char id[32];
    uint32_t epoch;
    bool open;
    int64_t open_since_us;
    struct broker_place *touched; /* partitions with pending records */
    size_t touched_count;
    struct broker_position *positions;
    size_t position_count;
};

struct broker_member { /* of a group */
    bool used;
    uint32_t group;
    char instance[32];    /* group.instance.id */
    uint32_t incarnation; /* which process of that name */
    int64_t seen_us;      /* its last sign of life */
    bool rejoined;        /* it has given back what it had, in a rebalance */
};

struct broker_group_state {
    uint32_t generation;
    bool rebalancing;
    int64_t rebalancing_since_us;
    uint32_t owners[BROKER_MEMBERS]; /* members with partitions, in the order of assignment */
    uint32_t owner_count;
};

struct broker {
    struct broker_topic *topics;
    uint32_t topic_count;
    uint64_t committed; /* records, of all topics */
    struct broker_producer producers[BROKER_MEMBERS];
    uint32_t producer_count;
    struct broker_member members[BROKER_MEMBERS];
    struct broker_group_state groups[BROKER_GROUPS];
    int64_t transaction_timeout_us, session_timeout_us, rebalance_timeout_us;
};
extern struct broker broker;

/* Topics. A topic that is there keeps its partitions. */
uint32_t broker_topic(const char *name, uint32_t partitions);
struct broker_partition *broker_part(struct broker_place at);
/* Not in a transaction, as a producer of input does. */
void broker_append(struct broker_place at, int64_t kafka_time_ms, struct pipe_str key,
                   struct pipe_str value);
/* The offset behind the last stable record. */
int64_t broker_stable(struct broker_place at);

/* Transactions. All of them but the first: false if the epoch is over. */
uint32_t broker_init_producer(const char *id, uint32_t *producer);
bool broker_append_to(uint32_t producer, uint32_t epoch, struct broker_place at,
                      int64_t kafka_time_ms, struct pipe_str key, struct pipe_str value);
enum broker_answer { BROKER_DONE, BROKER_FENCED, BROKER_OLD_GENERATION };
enum broker_answer broker_add_position(uint32_t producer, uint32_t epoch, uint32_t generation,
                                       uint32_t member, uint32_t incarnation,
                                       const struct pipe_log_position *position,
                                       struct broker_place at);
bool broker_end(uint32_t producer, uint32_t epoch, bool commit);
/* The same, but it arrives later. */
void broker_end_later(uint32_t producer, uint32_t epoch, bool commit, int64_t delay_us);
/* Whether an open transaction would move the position. */
bool broker_is_unstable(struct broker_place at);

/* A group; a partition's position is that of one of them. A name that is there already is taken
 * over: the older process is fenced. */
uint32_t broker_join(uint32_t group, const char *instance, uint32_t *incarnation);
void broker_leave(uint32_t member, uint32_t incarnation);
enum broker_group { BROKER_STEADY, BROKER_REBALANCE, BROKER_UNKNOWN_MEMBER, BROKER_FENCED_MEMBER };
/* A heartbeat: what the member has to do. */
enum broker_group broker_heartbeat(uint32_t member, uint32_t incarnation);
void broker_rejoin(uint32_t member, uint32_t incarnation);
/* Which of the owners it is; UINT32_MAX: none in this generation. */
uint32_t broker_share_of(uint32_t member);

/* Time has passed: timeouts, delayed requests. */
void broker_tick(void);

#endif
