/* made.c: what one record makes of itself, rows and state, is bounded (docs/semantics.md §5). */
#include <inttypes.h>
#include <stdio.h>

#include "pipe.h"

bool pipe_made_too_much(struct pipe_task *task, const struct pipe_record *record)
{
    uint64_t most = task->made_most;
    if (most == 0)
        return true;
    task->made_most = 1; /* nothing more may be made */
    if (most == 1)
        return false;
    struct pipe_str of = pipe_str_of(task->stage->name, strlen(task->stage->name));
    int32_t partition = task->partition;
    char offset[48] = "";
    bool placed = record != NULL && record->has_position;
    if (placed) {
        of = record->topic;
        partition = record->partition;
        snprintf(offset, sizeof offset, ", offset %" PRId64, record->offset);
    }
    pipe_fatal(task,
               "%.*s, partition %d%s: this %s makes more than %" PRIu64
               " bytes of rows; if it is sound, allow more with --max-outputs; else refuse such "
               "ones, for example with `require length(items) <= 1000` before an `unnest`",
               (int)(of.size < 300 ? of.size : 300), of.data, (int)partition, offset,
               placed ? "one record" : "one row of a window", most);
    return false;
}
