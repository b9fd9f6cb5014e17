/* explain.h: what the files of the explain pass share. */
#ifndef PIPEC_EXPLAIN_H
#define PIPEC_EXPLAIN_H

#include "plan_nodes.h"

/* Text in the program's arena. `names`: a JSON array of strings. */
const char *explain_duration(struct program *program, int64_t ms);
const char *explain_names(struct program *program, const json_t *names);

void explain_json(struct program *program, enum explain_stage stage, struct text *out);
void explain_graph(struct program *program, enum explain_stage stage, enum explain_format format,
                   struct text *out);

#endif
