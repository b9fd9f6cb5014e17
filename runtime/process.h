/* process.h: what every program does before anything else, pipec as well. */
#ifndef PIPE_PROCESS_H
#define PIPE_PROCESS_H

/* Opens /dev/null in the place of standard input, output or error that is closed. Else the next
 * file to be opened would take that place, and rows or messages would go into it. Reading or
 * writing them still fails, for each is opened for the other. */
void pipe_hold_descriptors(void);

#endif
