/* resolve_sink.h: shared by resolve_sink.c and resolve_table.c only. */
#ifndef RESOLVE_SINK_H
#define RESOLVE_SINK_H

#include "resolve.h"

/* 'database.table'; false after a diagnostic. */
bool check_table(struct program *program, const char *text, size_t size, struct span span);
/* Columns of the sink's stream; as_key: single values that are no floats. */
bool sink_columns(struct program *program, const struct sink *sink, const name_list *names,
                  uint32_t **columns, size_t *count, bool as_key);
void resolve_revisions(struct program *program, struct sink *sink);
void resolve_upsert(struct program *program, struct sink *sink);
/* order, sort, partitioning, rollups, target size of a ClickHouse or Iceberg table. */
void resolve_table(struct program *program, struct sink *sink);

#endif
