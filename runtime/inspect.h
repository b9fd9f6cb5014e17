/* inspect.h: what `NAME inspect` asks of Kafka (inspect_kafka.c), and of the files of tables
 * (inspect_table.c). */
#ifndef PIPE_INSPECT_H
#define PIPE_INSPECT_H

#include "engine.h"

struct inspect_kafka {
    const struct pipe_plan *plan;
    struct pipe_log *log;           /* the caller closes it before `free` */
    struct pipe_plan_topic *topics; /* as in log->topics, at the same index */
    uint32_t topic_count;
};

/* Finds all topics of the plan. NULL: error. */
struct inspect_kafka *inspect_kafka_open(const struct pipe_plan *plan,
                                         const struct pipe_kafka_options *options, char *error,
                                         size_t error_bytes);
void inspect_kafka_free(struct inspect_kafka *kafka); /* NULL: nothing */
/* One line a partition. False: log->error. */
bool inspect_kafka_topics(struct inspect_kafka *kafka);
/* Calls `each` for every task with a committed position, as it is now: what is under way is not
 * waited for. `name` is as embedded. False: `each` said so, or log->error. */
bool inspect_kafka_tasks(struct inspect_kafka *kafka,
                         bool (*each)(void *context, const char *name, struct pipe_str value,
                                      int64_t end),
                         void *context);

/* Whether it is the directory of a run, with a log. False: after a message. */
bool inspect_is_run(const struct pipe_plan *plan, const char *dir);
/* Prints the rows of a ClickHouse sink. False: after a message. */
bool inspect_table(const struct pipe_plan *plan, const struct pipe_inspect_options *options);

#endif
