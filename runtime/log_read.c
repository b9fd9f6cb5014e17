/* log_read.c: see log.h. */
#include "engine.h"

#define NAP_US 2000

enum pipe_log_state pipe_log_read_on(struct pipe_log *log, struct pipe_log_reader *reader,
                                     uint32_t max_records, struct pipe_record **records,
                                     uint32_t *count)
{
    for (;;) {
        enum pipe_log_state state = log->ops->read(reader, max_records, INT64_MAX, records, count);
        if (state != PIPE_LOG_WAIT)
            return state;
        engine_sleep_us(NAP_US);
    }
}
