/* system_calls.h: system calls that a signal may end early (EINTR), or that may do a part of what
 * they were asked for: until they are done. Results and errno as the calls themselves. */
#ifndef PIPE_SYSTEM_CALLS_H
#define PIPE_SYSTEM_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

int pipe_flock(int fd, int how);
int pipe_ftruncate(int fd, off_t size_bytes);
int pipe_fsync(int fd);
int pipe_fdatasync(int fd);
/* All of the bytes; false: errno (ENOSPC if nothing more is taken). */
bool pipe_pwrite_all(int fd, const void *bytes, size_t size_bytes, off_t at);
/* Whole pages of PIPE_PAGE_BYTES past the page cache, for bytes that nobody reads soon: a copy of
 * each is saved. `fd` is open with O_DIRECT, `bytes` and `at` are multiples of a page. How many it
 * took: what is left, and the cause, is for a write through the cache. */
#define PIPE_PAGE_BYTES 4096u
size_t pipe_pwrite_pages(int fd, const void *bytes, size_t size_bytes, off_t at);

#endif
