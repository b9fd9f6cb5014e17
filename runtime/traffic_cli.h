/*
 * traffic_cli.h: shared by the two ends of `NAME traffic`: files (traffic_cli.c) and Kafka
 * (traffic_kafka.c).
 */
#ifndef PIPE_TRAFFIC_CLI_H
#define PIPE_TRAFFIC_CLI_H

#include "engine.h"

/* SIGTERM or SIGINT came: what was sent is finished, then the command ends. */
bool traffic_stops(void);
/* Whether this traffic is wanted: by name, else the first of its source. */
bool traffic_is_wanted(const struct pipe_plan *plan, const struct pipe_traffic_options *options,
                       uint32_t index);
/* Lines of the summary: `counts` by fault. */
void traffic_print_faults(const struct pipe_plan *plan, const struct pipe_traffic_def *def,
                          const uint64_t *counts);

#endif
