/* tables.c: `NAME tables plan|apply`. See tables.h. */
#include "tables.h"

#include <stdio.h>

#include "engine.h"
#include "options.h"

#define STATEMENT_MS 60000

struct tables_options {
    const char *action; /* the word; NULL: not given */
    bool apply, sql;
};

/* ---- Options ---- */

static const char *take_action(void *options, const char *word)
{
    return option_take_action(&((struct tables_options *)options)->action, word);
}

static const char *take_sql(void *options, const char *value)
{
    (void)value;
    ((struct tables_options *)options)->sql = true;
    return NULL;
}

static const char *refuse_embedded(void *options, const char *value)
{
    (void)options, (void)value;
    return "it takes no directory of a run, it is about the tables of the server "
           "(PIPE_CLICKHOUSE_URL)";
}

static const struct option_row rows[] = {
    {"--sql", option_no_value, "print the statements too", take_sql},
    {"--embedded", "DIR", NULL, refuse_embedded},
};

static const struct option_command command = {
    .name = "tables",
    .usage = "tables plan|apply [--sql]",
    .intro =
        "Compares the ClickHouse tables that the pipeline needs with those of the server. plan "
        "says\nwhat differs and changes nothing; apply makes what is missing, adds columns, puts "
        "settings\nright. Whatever could lose rows or values is refused, and then nothing is "
        "changed.\n"
        "The server: PIPE_CLICKHOUSE_URL=http(s)://host:port[/database], PIPE_CLICKHOUSE_USER and\n"
        "PIPE_CLICKHOUSE_PASSWORD or PIPE_CLICKHOUSE_TOKEN, PIPE_CLICKHOUSE_CA_FILE; each also\n"
        "…_FILE.\n"
        "Exit: 0 all is as planned, 1 something is not, 2 usage.\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof rows[0],
    .take_word = take_action,
};

/* 0 and filled, -1: help was printed, or an exit code after a message. */
static int take_options(const struct pipe_plan *plan, int argc, char **argv,
                        struct tables_options *options)
{
    int code = option_read(plan, &command, argc, argv, options);
    if (code == 0)
        code = option_need_action(plan, command.name, options->action, &options->apply);
    return code;
}

/* ---- Plan and apply ---- */

static void print_difference(const struct tables_difference *difference, const char *state,
                             bool sql)
{
    printf("%s: %s%s\n", difference->object, difference->text, state);
    if (sql && difference->sql != NULL)
        printf("%s;\n", difference->sql);
}

static uint32_t count_of(const struct tables_differences *differences, enum tables_kind kind)
{
    uint32_t count = 0;
    for (size_t i = 0; i < differences->count; i++)
        count += differences->items[i].kind == kind;
    return count;
}

static void print_all(const struct tables_differences *differences, bool sql)
{
    for (size_t i = 0; i < differences->count; i++) {
        const struct tables_difference *difference = &differences->items[i];
        bool refused = difference->kind == TABLES_REFUSED, note = difference->kind == TABLES_NOTE;
        print_difference(difference, refused ? " (refused)" : note ? " (note)" : "", sql);
    }
}

/* Runs what puts things right, in order; stops at the first that fails. */
static bool put_right(const struct pipe_plan *plan, struct pipe_clickhouse *client,
                      const struct tables_differences *differences, bool sql)
{
    for (size_t i = 0; i < differences->count; i++) {
        const struct tables_difference *difference = &differences->items[i];
        struct pipe_clickhouse_result result;
        if (difference->sql == NULL) {
            print_difference(difference, " (note)", false);
            continue;
        }
        const struct pipe_clickhouse_call call = {
            .sql = pipe_str_of(difference->sql, strlen(difference->sql)),
            .deadline_ms = STATEMENT_MS};
        pipe_clickhouse_do(client, &call, &result);
        pipe_buf_free(&result.body);
        if (result.outcome != PIPE_CLICKHOUSE_DONE) {
            fprintf(stderr,
                    "%s tables: %s: %s, and that could not be put right: %s; apply again goes on "
                    "from here\n",
                    plan->name, difference->object, difference->text, result.error);
            return false;
        }
        print_difference(difference, difference->kind == TABLES_MISSING ? "; made" : "; put right",
                         sql);
    }
    return true;
}

/* Which server could not be asked, if the error does not say it. */
static void print_failure(const struct pipe_plan *plan, const struct pipe_clickhouse *client,
                          const char *error)
{
    const char *url = pipe_clickhouse_url(client);
    bool named = strstr(error, url) != NULL;
    fprintf(stderr, "%s tables: %s%s%s\n", plan->name, named ? "" : url, named ? "" : ": ", error);
}

static int compare_and_apply(const struct pipe_plan *plan, struct pipe_clickhouse *client,
                             const struct tables_options *options)
{
    struct tables_differences differences;
    bool ok = tables_compare(plan, client, &differences);
    uint32_t refused = count_of(&differences, TABLES_REFUSED);
    uint32_t changes =
        count_of(&differences, TABLES_MISSING) + count_of(&differences, TABLES_DIFFERS);
    bool apply = ok && options->apply && refused == 0;
    if (!ok)
        print_failure(plan, client, differences.error);
    else if (!apply)
        print_all(&differences, options->sql);
    else
        ok = put_right(plan, client, &differences, options->sql);
    tables_differences_free(&differences);
    if (!ok)
        return PIPE_EXIT_DATA;
    if (options->apply && refused > 0)
        fprintf(stderr, "%s tables: %u refused, so nothing was changed\n", plan->name, refused);
    if (apply && changes > 0) { /* what the server has now, not what it was told */
        ok = tables_compare(plan, client, &differences);
        changes = count_of(&differences, TABLES_MISSING) + count_of(&differences, TABLES_DIFFERS);
        if (!ok)
            print_failure(plan, client, differences.error);
        else if (changes > 0)
            print_all(&differences, options->sql);
        tables_differences_free(&differences);
    }
    if (ok && refused == 0 && changes == 0)
        printf("all tables are as planned\n");
    return !ok || refused > 0 || changes > 0 ? PIPE_EXIT_DATA : PIPE_EXIT_OK;
}

int pipe_tables_main(const struct pipe_plan *plan, int argc, char **argv)
{
    struct tables_options options = {0};
    char error[512];
    int code = take_options(plan, argc, argv, &options);
    if (code != 0)
        return code < 0 ? PIPE_EXIT_OK : code;
    if (tables_count(plan) == 0) {
        printf("the pipeline has no sink in ClickHouse\n");
        return PIPE_EXIT_OK;
    }
    struct pipe_clickhouse *client = pipe_clickhouse_open(error, sizeof error);
    if (client == NULL) {
        fprintf(stderr, "%s tables: %s\n", plan->name,
                error[0] != '\0' ? error
                                 : "which server? Set PIPE_CLICKHOUSE_URL=http://host:8123");
        return PIPE_EXIT_USAGE;
    }
    code = compare_and_apply(plan, client, &options);
    pipe_clickhouse_close(client);
    return code;
}
