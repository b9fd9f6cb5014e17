/*
 * client_driver.c: runs statements by runtime/clickhouse.h, for suite_client.py.
 *
 *   clickhouse-driver [-b FILE] [-z] [-t TOKEN] [-q ID] [-d MS] [-s NAME=VALUE] [-k] [-n TIMES] SQL
 *
 *   -b FILE   the body; -z: compressed   -k: the answer in pieces   -n: at once, each with the body
 *
 * Prints, a line each: the outcome, HTTP status, exception code and error; then the answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clickhouse.h"

#define AT_ONCE 64

static bool take(void *context, struct pipe_str bytes)
{
    size_t *total = context;
    *total += bytes.size;
    return true;
}

static struct pipe_str read_file(const char *path, struct pipe_buf *to)
{
    FILE *file = fopen(path, "rb");
    size_t got;
    if (file == NULL) {
        perror(path);
        exit(2);
    }
    while ((got = fread(pipe_buf_reserve(to, 1 << 16), 1, 1 << 16, file)) > 0)
        to->size += got;
    fclose(file);
    return pipe_str_of(to->size > 0 ? (char *)to->data : "", to->size);
}

static void print_result(const struct pipe_clickhouse_result *result, size_t pieces_bytes)
{
    printf("%s %d %d %s\n", pipe_clickhouse_outcome_name(result->outcome), result->status,
           result->code, result->error);
    if (pieces_bytes > 0)
        printf("%zu bytes\n", pieces_bytes);
    if (result->body.size > 0)
        fwrite(result->body.data, 1, result->body.size, stdout);
}

static void run(struct pipe_clickhouse *client, const struct pipe_clickhouse_call *call, int times,
                const size_t *pieces_bytes)
{
    struct pipe_clickhouse_request *requests[AT_ONCE];
    int left = times;
    for (int i = 0; i < times; i++)
        requests[i] = pipe_clickhouse_begin(client, call);
    while (left > 0) {
        pipe_clickhouse_poll(client, 100);
        left = 0;
        for (int i = 0; i < times; i++)
            left += pipe_clickhouse_look(requests[i])->outcome == PIPE_CLICKHOUSE_PENDING;
    }
    for (int i = 0; i < times; i++) {
        print_result(pipe_clickhouse_look(requests[i]), *pieces_bytes);
        pipe_clickhouse_end(requests[i]);
    }
}

int main(int argc, char **argv)
{
    struct pipe_clickhouse_call call = {.deadline_ms = 20000};
    struct pipe_clickhouse_setting settings[16];
    struct pipe_buf body = {0}, packed = {0};
    size_t pieces_bytes = 0;
    int option, times = 1;
    call.settings = settings;
    while ((option = getopt(argc, argv, "b:zt:q:d:s:kn:")) != -1) {
        char *equals = optarg != NULL ? strchr(optarg, '=') : NULL;
        if (option == 'b') {
            call.body = read_file(optarg, &body);
        } else if (option == 'z') {
            call.body_lz4 = true;
        } else if (option == 't') {
            call.token = optarg;
        } else if (option == 'q') {
            call.query_id = optarg;
        } else if (option == 'd') {
            call.deadline_ms = atoll(optarg);
        } else if (option == 'n' && atoi(optarg) > 0 && atoi(optarg) <= AT_ONCE) {
            times = atoi(optarg);
        } else if (option == 'k') {
            call.take = take;
            call.context = &pieces_bytes;
        } else if (option == 's' && equals != NULL && call.setting_count < 16) {
            *equals = '\0';
            settings[call.setting_count++] = (struct pipe_clickhouse_setting){optarg, equals + 1};
        } else {
            return 2;
        }
    }
    if (optind + 1 != argc)
        return 2;
    call.sql = pipe_str_of(argv[optind], strlen(argv[optind]));
    if (call.body_lz4) {
        pipe_clickhouse_compress(&packed, call.body);
        call.body = pipe_str_of((char *)packed.data, packed.size);
    }
    char error[512];
    struct pipe_clickhouse *client = pipe_clickhouse_open(error, sizeof error);
    if (client == NULL) {
        printf("not opened: %s\n", error);
        return 1;
    }
    run(client, &call, times, &pieces_bytes);
    const struct pipe_clickhouse_server *server = pipe_clickhouse_server(client);
    printf("server %s\n", server != NULL ? server->version : "unknown");
    pipe_clickhouse_close(client);
    pipe_buf_free(&body);
    pipe_buf_free(&packed);
    return 0;
}
