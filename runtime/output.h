/*
 * output.h: sinks that are not topics: files (jsonl, csv, avro), standard output, and the tables of
 * an embedded run (JSON lines under DIR/tables). A `pipe_output` is one sink; all tasks write to it
 * through the one engine thread.
 *
 * Life of a commit: append … append, flush (before the commit point), then the engine commits the
 * length with everything else. After a crash, or an error before the commit, the file is cut back
 * to the committed length: so a file never shows what was not committed, except between flush and
 * commit.
 *
 * Somebody may remove, replace or cut a file while it is written. Rows then go to its end, wherever
 * that is now, and the length tells: the commit that comes next does not happen. Another process of
 * pipec does not: the file is held (output_file.h) from open to close.
 *
 * Between two runs the mark, which is committed with the length, tells whether it is still the same
 * file, and ends as it did. An output that begins puts a new file in the place of the one there:
 * so a run that knew that one does not cut this one back.
 *
 * An Avro file gets blocks of about 64 KiB, and one ends with every flush. Of standard output
 * nothing can be taken back.
 */
#ifndef PIPE_OUTPUT_H
#define PIPE_OUTPUT_H

#include "output_file.h"
#include "pipe.h"

struct pipe_output_config {
    const struct pipe_sink_def *sink;
    const char *path;        /* the file; NULL: standard output */
    enum pipe_format format; /* JSONL, CSV or AVRO; of tables JSONL. What append gets is
                                sink->format's: see pipe.h */
    int64_t committed_bytes; /* cut back to this; 0: begin, replacing what is there */
    bool follow;   /* true: a commit gave committed_bytes; a shorter or missing file is an error */
    bool keep;     /* of one that begins: a file with bytes in it is an error */
    bool unsynced; /* flush only writes; the caller syncs the file at its end */
    const struct pipe_file_mark *mark; /* of the commit; NULL: it had none. Read by open only */
    bool own; /* nobody else has a place there: another file than the mark's is a copy */
};

struct pipe_output;

struct pipe_output_ops {
    /* One row, copied into memory, without line end, frame or separator. Of a file at most some
     * 16 MiB are held: what is more is written behind what is committed. Standard output gets
     * nothing before flush. */
    bool (*append)(struct pipe_output *output, struct pipe_str row);
    /* Writes what was appended, fdatasync (files), sets output->length_bytes. Nothing appended:
     * does nothing. The header of a new CSV or Avro file is written by the first flush, also of an
     * empty one. */
    bool (*flush)(struct pipe_output *output);
    /* Whether the file is still the one that its path names, and as long as this output left it;
     * flush asks first and, of the length, behind its writing. For the end of a run: files that are
     * open outlive their names. Of standard output nothing can be told. */
    bool (*check)(struct pipe_output *output);
    /* Forgets what was appended and cuts the file back to output->committed_bytes. Called once,
     * before close, when a commit failed; must do as much as it can without failing. Standard
     * output: forgets only. */
    void (*rollback)(struct pipe_output *output);
    void (*close)(struct pipe_output *output); /* what was not flushed is dropped; frees output */
};

struct pipe_output {
    const struct pipe_output_ops *ops;
    struct pipe_output_config config;
    int64_t length_bytes;       /* with what is written; of standard output the bytes written */
    int64_t committed_bytes;    /* set by the engine after each commit to length_bytes */
    struct pipe_file_mark mark; /* as of length_bytes; of files, from begin on */
    uint64_t pending_bytes;     /* appended, not written */
    char error[1024]; /* when a call gave false: path, cause (also of a full disk), what to do */
};

/* Opens by config, holds and checks the file; a new one is made, with its directories, else nothing
 * is changed. NULL: error has the line. */
struct pipe_output *pipe_output_open(const struct pipe_output_config *config, char *error,
                                     size_t error_bytes);
/* Cuts back to what was committed, or begins with an empty file; before the first append. False:
 * output->error. */
bool pipe_output_begin(struct pipe_output *output);
/* Whether the file can be the one that config's length and mark were committed of; open asks it
 * too. False: error says what is wrong with it, beginning with its path. */
bool pipe_output_is_known(const struct pipe_output_config *config, char *error, size_t error_bytes);

#endif
