/*
 * output_file.h: the file of an output: held by one process at a time, known again by a mark, and
 * replaced by a new one. Called by the engine thread.
 */
#ifndef PIPE_OUTPUT_FILE_H
#define PIPE_OUTPUT_FILE_H

#include <sys/types.h>

#include "pipe.h"

#define PIPE_TAIL_BYTES 4096u /* at most, of a file's end, that a mark is of */

/* Which file it is, and what was last in it. */
struct pipe_file_mark {
    uint64_t device, inode;
    int64_t born_ns;     /* 0: the file system does not tell. A birth is never that of a copy */
    uint64_t tail_hash;  /* XXH64 of */
    uint32_t tail_bytes; /* the bytes before the committed length; 0: of none */
};

/* Device, inode, birth of what `path` names, links followed. False: errno. */
bool pipe_file_identify(const char *path, struct pipe_file_mark *mark);
/* Whether both are of one file. Devices change their numbers at a restart of the machine: with a
 * birth they are not asked. */
bool pipe_file_is_same(const struct pipe_file_mark *a, const struct pipe_file_mark *b);
/* The last bytes before `length_bytes` (at most PIPE_TAIL_BYTES) into `to`: how many. -1: errno; 0
 * also if the file is shorter. */
ssize_t pipe_file_read_tail(int fd, int64_t length_bytes, uint8_t *to);

void pipe_file_put_mark(struct pipe_buf *to, const struct pipe_file_mark *mark);
/* False: there is none, as a program put it that knew no marks. */
bool pipe_file_get_mark(struct pipe_reader *reader, struct pipe_file_mark *mark);

/* Opens for appending and holds it against other processes until it is closed; also sees to it that
 * `path` still names it then. `make`: one that is not there is made. `made`: it was. What is no
 * regular file is opened, not held; neither is one on a file system without locks. -1: errno;
 * EWOULDBLOCK: another process holds it. */
int pipe_file_hold(const char *path, bool make, bool *made);
/* Puts a new, empty file of the same mode and owner in the place of the one that `path` names, in
 * one step; whoever knows the old one does not take it for his. The caller holds it, so that nobody
 * else does so; what a kill has left of an attempt goes with the next. NULL: everything is as
 * before; it can't be done, or only by losing something (its owner, its ACL, a name that is no
 * file's, as /dev/stdout). Else the directory, for syncing; free. */
char *pipe_file_renew(const char *path);

#endif
