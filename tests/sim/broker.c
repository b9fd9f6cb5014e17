/* broker.c: see broker.h. */
#include "broker.h"

#include <stdio.h>
#include <stdlib.h>

struct delayed {
    uint32_t producer, epoch;
    bool commit;
    int64_t due_us;
};

struct broker broker = {.transaction_timeout_us = 10000000,
                        .session_timeout_us = 6000000,
                        .rebalance_timeout_us = 8000000};
static struct delayed delayed[64];
static size_t delayed_count;

/* ---- Topics ---- */

uint32_t broker_topic(const char *name, uint32_t partitions)
{
    for (uint32_t i = 0; i < broker.topic_count; i++)
        if (strcmp(broker.topics[i].name, name) == 0)
            return i;
    broker.topics = pipe_realloc(broker.topics, (broker.topic_count + 1) * sizeof *broker.topics);
    broker.topics[broker.topic_count] =
        (struct broker_topic){pipe_str_dup(pipe_str_of(name, strlen(name))), partitions,
                              pipe_calloc(partitions, sizeof(struct broker_partition))};
    return broker.topic_count++;
}

struct broker_partition *broker_part(struct broker_place at)
{
    return &broker.topics[at.topic].parts[at.partition];
}

static struct pipe_str keep(struct pipe_str text)
{
    if (text.data == NULL)
        return text;
    return pipe_str_of(pipe_str_dup(text), text.size);
}

static void add(struct broker_place at, struct broker_record record)
{
    struct broker_partition *part = broker_part(at);
    if (part->count == part->capacity) {
        part->capacity = part->capacity * 2 + 64;
        part->records = pipe_realloc(part->records, (size_t)part->capacity * sizeof *part->records);
    }
    part->records[part->count++] = record;
}

void broker_append(struct broker_place at, int64_t kafka_time_ms, struct pipe_str key,
                   struct pipe_str value)
{
    add(at, (struct broker_record){BROKER_COMMITTED, kafka_time_ms, sim.now_us, keep(key),
                                   keep(value)});
    broker.committed++;
}

int64_t broker_stable(struct broker_place at)
{
    struct broker_partition *part = broker_part(at);
    while (part->stable < part->count && part->records[part->stable].fate != BROKER_PENDING)
        part->stable++;
    return part->stable;
}

/* ---- Transactions ---- */

static void touch(struct broker_producer *producer, struct broker_place at)
{
    for (size_t i = 0; i < producer->touched_count; i++)
        if (producer->touched[i].topic == at.topic &&
            producer->touched[i].partition == at.partition)
            return;
    producer->touched =
        pipe_realloc(producer->touched, (producer->touched_count + 1) * sizeof *producer->touched);
    producer->touched[producer->touched_count++] = at;
}

struct pending { /* whose a pending record is */
    uint32_t producer;
    struct broker_place at;
    int64_t offset;
};
static struct pending *pending;
static size_t pending_count, pending_capacity;

static void settle_records(uint32_t producer, enum broker_fate fate)
{
    size_t kept = 0;
    for (size_t i = 0; i < pending_count; i++) {
        if (pending[i].producer == producer)
            broker_part(pending[i].at)->records[pending[i].offset].fate = fate;
        else
            pending[kept++] = pending[i];
    }
    if (fate == BROKER_COMMITTED)
        broker.committed += pending_count - kept;
    pending_count = kept;
}

static void settle_positions(struct broker_producer *producer, bool commit)
{
    for (size_t i = 0; i < producer->position_count; i++) {
        struct broker_position *position = &producer->positions[i];
        struct broker_partition *part = broker_part(position->at);
        if (commit) {
            if (part->has_position && position->offset < part->position)
                sim_fail("the position of %s/%d goes back from %lld to %lld",
                         broker.topics[position->at.topic].name, position->at.partition,
                         (long long)part->position, (long long)position->offset);
            part->has_position = true;
            part->position = position->offset;
            part->metadata.size = 0;
            pipe_buf_add(&part->metadata, position->metadata, position->metadata_bytes);
        }
        free(position->metadata);
    }
    producer->position_count = 0;
}

static void finish(uint32_t index, bool commit)
{
    struct broker_producer *producer = &broker.producers[index];
    sim_trace("transaction of %s, epoch %u: %s", producer->id, producer->epoch,
              commit ? "committed" : "aborted");
    settle_records(index, commit ? BROKER_COMMITTED : BROKER_ABORTED);
    for (size_t i = 0; i < producer->touched_count; i++)
        add(producer->touched[i], (struct broker_record){.fate = BROKER_MARKER});
    producer->touched_count = 0;
    settle_positions(producer, commit);
    producer->open = false;
}

uint32_t broker_init_producer(const char *id, uint32_t *producer)
{
    uint32_t i = 0;
    while (i < broker.producer_count && strcmp(broker.producers[i].id, id) != 0)
        i++;
    if (i == BROKER_MEMBERS)
        sim_fail("too many producers");
    if (i == broker.producer_count)
        snprintf(broker.producers[broker.producer_count++].id, sizeof broker.producers[i].id, "%s",
                 id);
    if (broker.producers[i].open)
        finish(i, false);
    *producer = i;
    return ++broker.producers[i].epoch;
}

/* Begins the transaction if it is not open. */
static struct broker_producer *writer(uint32_t index, uint32_t epoch)
{
    struct broker_producer *producer = &broker.producers[index];
    if (producer->epoch != epoch)
        return NULL;
    if (!producer->open) {
        producer->open = true;
        producer->open_since_us = sim.now_us;
    }
    return producer;
}

bool broker_append_to(uint32_t index, uint32_t epoch, struct broker_place at, int64_t kafka_time_ms,
                      struct pipe_str key, struct pipe_str value)
{
    struct broker_producer *producer = writer(index, epoch);
    if (producer == NULL)
        return false;
    touch(producer, at);
    if (pending_count == pending_capacity) {
        pending_capacity = pending_capacity * 2 + 256;
        pending = pipe_realloc(pending, pending_capacity * sizeof *pending);
    }
    pending[pending_count++] = (struct pending){index, at, broker_part(at)->count};
    add(at,
        (struct broker_record){BROKER_PENDING, kafka_time_ms, sim.now_us, keep(key), keep(value)});
    return true;
}

enum broker_answer broker_add_position(uint32_t index, uint32_t epoch, uint32_t generation,
                                       uint32_t member, uint32_t incarnation,
                                       const struct pipe_log_position *position,
                                       struct broker_place at)
{
    struct broker_producer *producer = writer(index, epoch);
    if (producer == NULL)
        return BROKER_FENCED;
    if (generation != broker.groups[broker.members[member].group].generation ||
        !broker.members[member].used || broker.members[member].incarnation != incarnation)
        return BROKER_OLD_GENERATION;
    producer->positions = pipe_realloc(producer->positions, (producer->position_count + 1) *
                                                                sizeof *producer->positions);
    producer->positions[producer->position_count++] = (struct broker_position){
        at, position->offset, pipe_str_dup(position->value), position->value.size};
    return BROKER_DONE;
}

bool broker_end(uint32_t index, uint32_t epoch, bool commit)
{
    struct broker_producer *producer = &broker.producers[index];
    if (producer->epoch != epoch)
        return false;
    if (producer->open)
        finish(index, commit);
    return true;
}

void broker_end_later(uint32_t producer, uint32_t epoch, bool commit, int64_t delay_us)
{
    if (delayed_count < sizeof delayed / sizeof delayed[0])
        delayed[delayed_count++] = (struct delayed){producer, epoch, commit, sim.now_us + delay_us};
}

bool broker_is_unstable(struct broker_place at)
{
    for (uint32_t i = 0; i < broker.producer_count; i++)
        for (size_t k = 0; k < broker.producers[i].position_count; k++)
            if (broker.producers[i].positions[k].at.topic == at.topic &&
                broker.producers[i].positions[k].at.partition == at.partition)
                return true;
    return false;
}

/* ---- The group ---- */

static void begin_rebalance(uint32_t group, const char *why)
{
    sim_trace("rebalance: %s", why);
    broker.groups[group].rebalancing = true;
    broker.groups[group].rebalancing_since_us = sim.now_us;
    for (uint32_t i = 0; i < BROKER_MEMBERS; i++)
        if (broker.members[i].group == group)
            broker.members[i].rejoined = false;
}

static void end_rebalance(uint32_t index)
{
    struct broker_group_state *group = &broker.groups[index];
    group->rebalancing = false;
    group->generation++;
    group->owner_count = 0;
    for (uint32_t i = 0; i < BROKER_MEMBERS; i++)
        if (broker.members[i].used && broker.members[i].group == index)
            group->owners[group->owner_count++] = i;
    for (uint32_t i = group->owner_count; i > 1; i--) { /* who gets what differs each time */
        uint32_t k = sim_below(i), swap = group->owners[k];
        group->owners[k] = group->owners[i - 1];
        group->owners[i - 1] = swap;
    }
    sim_trace("generation %u: %u members", group->generation, group->owner_count);
}

uint32_t broker_join(uint32_t group, const char *instance, uint32_t *incarnation)
{
    uint32_t i = 0; /* a place for each name, for ever */
    while (i < BROKER_MEMBERS && broker.members[i].instance[0] != '\0' &&
           strcmp(broker.members[i].instance, instance) != 0)
        i++;
    if (i == BROKER_MEMBERS)
        sim_fail("too many members");
    struct broker_member *member = &broker.members[i];
    snprintf(member->instance, sizeof member->instance, "%s", instance);
    member->group = group;
    member->used = true;
    *incarnation = ++member->incarnation;
    member->seen_us = sim.now_us;
    begin_rebalance(group, instance);
    member->rejoined = true;
    return i;
}

static bool is_member(uint32_t member, uint32_t incarnation)
{
    return broker.members[member].used && broker.members[member].incarnation == incarnation;
}

void broker_leave(uint32_t member, uint32_t incarnation)
{
    if (!is_member(member, incarnation))
        return;
    broker.members[member].used = false;
    begin_rebalance(broker.members[member].group, "a member leaves");
}

enum broker_group broker_heartbeat(uint32_t member, uint32_t incarnation)
{
    if (!is_member(member, incarnation))
        return broker.members[member].incarnation != incarnation ? BROKER_FENCED_MEMBER
                                                                 : BROKER_UNKNOWN_MEMBER;
    broker.members[member].seen_us = sim.now_us;
    return broker.groups[broker.members[member].group].rebalancing ? BROKER_REBALANCE
                                                                   : BROKER_STEADY;
}

void broker_rejoin(uint32_t member, uint32_t incarnation)
{
    if (!is_member(member, incarnation))
        return;
    broker.members[member].rejoined = true;
    broker.members[member].seen_us = sim.now_us;
}

uint32_t broker_share_of(uint32_t member)
{
    const struct broker_group_state *group = &broker.groups[broker.members[member].group];
    for (uint32_t i = 0; i < group->owner_count; i++)
        if (group->owners[i] == member)
            return i;
    return UINT32_MAX;
}

/* ---- Time ---- */

static void expire_transactions(void)
{
    for (uint32_t i = 0; i < broker.producer_count; i++) {
        struct broker_producer *producer = &broker.producers[i];
        if (!producer->open || sim.now_us - producer->open_since_us < broker.transaction_timeout_us)
            continue;
        sim_trace("transaction of %s times out", producer->id);
        finish(i, false);
        producer->epoch++;
    }
}

static void expire_members(uint32_t index)
{
    struct broker_group_state *group = &broker.groups[index];
    bool all = true;
    for (uint32_t i = 0; i < BROKER_MEMBERS; i++) {
        struct broker_member *member = &broker.members[i];
        bool late = group->rebalancing && !member->rejoined &&
                    sim.now_us - group->rebalancing_since_us >= broker.rebalance_timeout_us;
        if (!member->used || member->group != index)
            continue;
        if (late || sim.now_us - member->seen_us >= broker.session_timeout_us) {
            member->used = false;
            sim_trace("%s is out of the group", member->instance);
            if (!group->rebalancing)
                begin_rebalance(index, "a member is gone");
            continue;
        }
        all = all && member->rejoined;
    }
    if (group->rebalancing && all)
        end_rebalance(index);
}

void broker_tick(void)
{
    for (size_t i = 0; i < delayed_count;) {
        if (delayed[i].due_us > sim.now_us) {
            i++;
            continue;
        }
        struct delayed now = delayed[i];
        delayed[i] = delayed[--delayed_count];
        sim_trace("a delayed end of a transaction arrives, %s",
                  broker.producers[now.producer].epoch == now.epoch ? "in time" : "fenced");
        broker_end(now.producer, now.epoch, now.commit);
    }
    expire_transactions();
    for (uint32_t i = 0; i < BROKER_GROUPS; i++)
        expire_members(i);
}
