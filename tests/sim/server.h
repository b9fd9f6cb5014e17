/* server.h: the ClickHouse server of the simulation (server.c). */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include "follower.h"
#include "sim.h"

struct sim_row {
    int32_t partition;
    int64_t offset;
    char *json;
};

struct pipe_clickhouse *sim_server_client(void);
/* Time has passed. */
void sim_server_tick(void);
/* Perhaps the server goes away for a while, or a table does; and: both are back. */
void sim_server_trouble(void);
void sim_server_calm(void);
bool sim_server_is_quiet(void);
/* Whether the table of the sink has the row; and how far its rows were looked for: NULL if nobody
 * has asked for the table, so that there is none. */
bool sim_server_has(const struct pipe_sink_def *sink, int32_t partition, int64_t offset);
int64_t *sim_server_checked(const struct pipe_sink_def *sink, int32_t partition);
void sim_followed_topic(const struct pipe_plan *plan, uint32_t sink, struct pipe_plan_topic *topic);
/* Tables against what is committed in the topics that they follow. */
void sim_check_tables(const struct sim_reader *reader);

#endif
