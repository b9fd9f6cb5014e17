/*
 * native.c: what it costs to make Native blocks of JSON rows and to read them again, in CPU time of
 * this process, the best of five rounds. Built with a pipeline's generated C:
 *
 *   native SINK ROWS.jsonl [BLOCKS.native [ROWS_A_BLOCK]]
 *
 * ROWS.jsonl: as `NAME inspect DIR table SINK` prints them.
 */
#define main pipeline_main
#include PIPELINE
#undef main

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "native.h"

#define ROUNDS 5

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static const struct pipe_sink_def *find_sink(const char *name)
{
    for (uint32_t i = 0; i < plan.sink_count; i++) {
        if (strcmp(plan.sinks[i].name, name) == 0 && plan.sinks[i].table != NULL)
            return &plan.sinks[i];
    }
    fprintf(stderr, "native: there is no table sink %s\n", name);
    exit(2);
}

static struct pipe_buf read_file(const char *path)
{
    struct pipe_buf bytes = {0};
    FILE *file = fopen(path, "re");
    size_t got;
    if (file == NULL) {
        perror(path);
        exit(2);
    }
    while ((got = fread(pipe_buf_reserve(&bytes, 1 << 20), 1, 1 << 20, file)) > 0)
        bytes.size += got;
    fclose(file);
    return bytes;
}

static uint64_t make_blocks(struct pipe_native_writer *writer, const struct pipe_buf *lines,
                            uint32_t block_rows, struct pipe_buf *blocks)
{
    char error[512];
    uint64_t rows = 0;
    const char *at = (const char *)lines->data, *end = at + lines->size;
    blocks->size = 0;
    for (const char *line_end; at < end; at = line_end + 1) {
        line_end = memchr(at, '\n', (size_t)(end - at));
        if (line_end == NULL)
            break;
        struct pipe_str json = pipe_str_of(at, (size_t)(line_end - at));
        if (!pipe_native_add(writer, json, 0, (int64_t)rows++, error, sizeof error)) {
            fprintf(stderr, "native: %s\n", error);
            exit(1);
        }
        if (pipe_native_rows(writer) == block_rows)
            pipe_native_finish(writer, blocks);
    }
    pipe_native_finish(writer, blocks);
    return rows;
}

static bool count_row(void *context, struct pipe_str json, int32_t partition, int64_t offset)
{
    (void)partition, (void)offset;
    *(uint64_t *)context += json.size;
    return true;
}

static void report(const char *what, uint64_t rows, size_t bytes, double seconds)
{
    printf("%-16s %9.0f rows/s  %7.1f MB/s\n", what, (double)rows / seconds,
           (double)bytes / seconds / 1e6);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "native SINK ROWS.jsonl [BLOCKS.native [ROWS_A_BLOCK]]\n");
        return 2;
    }
    const struct pipe_sink_def *sink = find_sink(argv[1]);
    struct pipe_buf lines = read_file(argv[2]), blocks = {0};
    uint32_t block_rows = argc > 4 ? (uint32_t)atoi(argv[4]) : 65536;
    struct pipe_native_writer *writer = pipe_native_writer_new(sink->table, sink->row);
    double best[2] = {1e9, 1e9};
    uint64_t rows = 0, json_bytes = 0;
    char error[512];
    for (int round = 0; round < ROUNDS; round++) {
        double begin = cpu_seconds();
        rows = make_blocks(writer, &lines, block_rows, &blocks);
        double made = cpu_seconds();
        struct pipe_native_reader *reader = pipe_native_reader_new(sink->table, sink->row);
        json_bytes = 0;
        if (!pipe_native_take(reader, pipe_str_of(blocks.data, blocks.size), count_row, &json_bytes,
                              error, sizeof error)) {
            fprintf(stderr, "native: %s\n", error);
            return 1;
        }
        pipe_native_reader_free(reader);
        double taken = cpu_seconds();
        best[0] = made - begin < best[0] ? made - begin : best[0];
        best[1] = taken - made < best[1] ? taken - made : best[1];
    }
    printf("%llu rows, %.1f bytes of JSON and %.1f of Native each, %u rows a block\n",
           (unsigned long long)rows, (double)json_bytes / (double)rows,
           (double)blocks.size / (double)rows, block_rows);
    report("JSON to Native", rows, lines.size, best[0]);
    report("Native to JSON", rows, blocks.size, best[1]);
    if (argc > 3) {
        FILE *file = fopen(argv[3], "we");
        if (file == NULL || fwrite(blocks.data, 1, blocks.size, file) != blocks.size ||
            fclose(file) != 0) {
            perror(argv[3]);
            return 1;
        }
    }
    pipe_native_writer_free(writer);
    pipe_buf_free(&lines);
    pipe_buf_free(&blocks);
    return 0;
}
