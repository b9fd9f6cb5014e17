/* state.c: what states of all kinds have (state.h): keys of rows that come next. */
#include <stdlib.h>

#include "state.h"

struct pipe_buf *pipe_key_ahead_slow(struct pipe_task *task, uint32_t index)
{
    struct pipe_state *state = task->states[index];
    if (PIPE_UNLIKELY(state->keys == NULL))
        state->keys = pipe_calloc(PIPE_AHEAD, sizeof *state->keys);
    struct pipe_buf *key = &state->keys[task->ahead_index];
    if (PIPE_UNLIKELY(key->capacity > PIPE_KEY_KEPT_BYTES))
        pipe_buf_free(key);
    return key;
}

void pipe_state_free_keys(struct pipe_state *state)
{
    for (uint32_t i = 0; state->keys != NULL && i < PIPE_AHEAD; i++)
        pipe_buf_free(&state->keys[i]);
    free(state->keys);
}
