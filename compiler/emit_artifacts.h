/* emit_artifacts.h: what the writers of the files beside the C share. Each appends to `out`, or
 * leaves it empty if the program has nothing for that file. */
#ifndef PIPEC_EMIT_ARTIFACTS_H
#define PIPEC_EMIT_ARTIFACTS_H

#include "plan.h"

void write_clickhouse(struct program *program, struct text *out); /* emit_clickhouse.c */
void write_iceberg_table(struct program *program, const struct sink *sink,
                         struct text *out);                   /* emit_iceberg.c */
void write_alerts(struct program *program, struct text *out); /* emit_monitoring.c */
void write_dashboard(struct program *program, struct text *out);
void text_json(struct text *out, json_t *json); /* indented, with a line end; takes the reference */
bool remove_file(const char *directory, const char *name); /* true if it is not there; emit.c */

#endif
