/* process.h: what every program does before anything else, pipec as well. */
#ifndef PIPE_PROCESS_H
#define PIPE_PROCESS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Opens /dev/null in the place of standard input, output or error that is closed. Else the next
 * file to be opened would take that place, and rows or messages would go into it. Reading or
 * writing them still fails, for each is opened for the other. */
void pipe_hold_descriptors(void);

/* User and system time of the process so far, all its threads. */
double pipe_process_cpu_seconds(void);

/* Before a thread tells why the program ends and ends it: returns to one thread only, so that one
 * line is told. */
void pipe_end_alone(void);

/* From now on `stop` is called, which must not return, when a library gets no memory: C++
 * (RocksDB, RE2), jansson, libcrypto. They would go on with less than was asked for (a member that
 * is missing in an object), or end the process with a signal. Before any of them is used. */
typedef void pipe_no_memory(void);
void pipe_watch_memory(pipe_no_memory *stop);

#ifdef __cplusplus
}
#endif
#endif
