/* clickhouse_settings.c: what every request says for itself, because the protocol depends on it and
 * defaults differ by version, profile and user (docs/decisions/0011-clickhouse.md). */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "clickhouse_internal.h"

enum when { ALWAYS, INSERTS, INSERTS_WITH_TOKEN };

struct fixed_setting {
    enum when when;
    bool newer; /* not all versions from 24.8 on know it: sent to those that do */
    const char *name, *value;
};

/* A request is one block (rows are bounded by the sender, bytes are not counted), its token counts,
 * and nothing is cut, converted or filled in silently. */
static const struct fixed_setting fixed[] = {
    {INSERTS, false, "async_insert", "0"},
    {INSERTS, false, "insert_deduplicate", "1"},
    {INSERTS, true, "deduplicate_insert", "enable"},
    {INSERTS_WITH_TOKEN, true, "deduplicate_insert_select", "enable_even_for_bad_queries"},
    {INSERTS, false, "deduplicate_blocks_in_dependent_materialized_views", "1"},
    {INSERTS, false, "materialized_views_ignore_errors", "0"},
    {INSERTS, false, "max_threads", "1"},
    {INSERTS, false, "max_insert_threads", "1"},
    {INSERTS, false, "input_format_parallel_parsing", "0"},
    {INSERTS, false, "max_block_size", "16777216"},
    {INSERTS, false, "max_insert_block_size", "16777216"},
    {INSERTS, false, "min_insert_block_size_rows", "16777216"},
    {INSERTS, false, "min_insert_block_size_bytes", "0"},
    {INSERTS, false, "max_partitions_per_insert_block", "0"},
    {INSERTS, false, "input_format_null_as_default", "0"},
    {INSERTS, false, "insert_null_as_default", "0"},
    {INSERTS, false, "input_format_skip_unknown_fields", "0"},
    {INSERTS, false, "input_format_native_allow_types_conversion", "0"},
    {INSERTS, false, "max_execution_time", "60"},
    {ALWAYS, false, "timeout_overflow_mode", "throw"},
    {ALWAYS, false, "read_overflow_mode", "throw"},
    {ALWAYS, false, "result_overflow_mode", "throw"},
    {ALWAYS, false, "set_overflow_mode", "throw"},
    {ALWAYS, false, "send_progress_in_http_headers", "0"},
    {ALWAYS, false, "enable_http_compression", "0"},
};
#define FIXED_COUNT (sizeof fixed / sizeof *fixed)

static void add_encoded(struct pipe_buf *out, const char *text, size_t size)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte < 128 && (isalnum(byte) || strchr("-_.~,", byte) != NULL) && byte != 0) {
            pipe_buf_add_byte(out, byte);
        } else {
            pipe_buf_add_byte(out, '%');
            pipe_buf_add_byte(out, (uint8_t)digits[byte >> 4]);
            pipe_buf_add_byte(out, (uint8_t)digits[byte & 15]);
        }
    }
}

static void add_parameter(struct pipe_buf *out, const char *name, const char *value)
{
    pipe_buf_printf(out, "%s%s=", out->size > 0 ? "&" : "", name);
    add_encoded(out, value, strlen(value));
}

static bool is_given(const struct pipe_clickhouse_call *call, const char *name)
{
    for (uint32_t i = 0; i < call->setting_count; i++)
        if (strcmp(call->settings[i].name, name) == 0)
            return true;
    return false;
}

static bool applies(const struct fixed_setting *setting, const struct pipe_clickhouse_call *call)
{
    switch (setting->when) {
    case ALWAYS:
        return true;
    case INSERTS:
        return call->body.data != NULL;
    case INSERTS_WITH_TOKEN:
        return call->body.data != NULL && call->token != NULL;
    }
    return false;
}

void clickhouse_parameters(struct pipe_buf *out, const struct pipe_clickhouse_call *call,
                           const char *database, uint32_t known)
{
    char limit_s[24];
    uint32_t bit = 1;
    add_parameter(out, "database", database);
    add_parameter(out, "wait_end_of_query", call->take != NULL ? "0" : "1");
    if (call->query_id != NULL)
        add_parameter(out, "query_id", call->query_id);
    if (call->token != NULL)
        add_parameter(out, "insert_deduplication_token", call->token);
    for (size_t i = 0; i < FIXED_COUNT; i++) {
        bool knows = !fixed[i].newer || (known & bit) != 0;
        bit <<= fixed[i].newer;
        if (knows && applies(&fixed[i], call) && !is_given(call, fixed[i].name))
            add_parameter(out, fixed[i].name, fixed[i].value);
    }
    if (call->body.data == NULL && !is_given(call, "max_execution_time")) {
        snprintf(limit_s, sizeof limit_s, "%" PRId64, call->deadline_ms / 1000 + 1);
        add_parameter(out, "max_execution_time", limit_s);
    }
    for (uint32_t i = 0; i < call->setting_count; i++)
        add_parameter(out, call->settings[i].name, call->settings[i].value);
    if (call->body.data != NULL) {
        pipe_buf_printf(out, "&query=");
        add_encoded(out, call->sql.data, call->sql.size);
    }
}

/* ---- Asking a server what it is: in words that also servers long too old understand ---- */

void clickhouse_hello_parameters(struct pipe_buf *out, const char *database)
{
    add_parameter(out, "database", database);
    add_parameter(out, "wait_end_of_query", "1");
}

void clickhouse_hello_sql(struct pipe_buf *out)
{
    const char *comma = "";
    pipe_buf_printf(out, "SELECT version(), uptime(), toUnixTimestamp(now()), hostName(), "
                         "arrayStringConcat(groupArray(name), ',') FROM system.settings "
                         "WHERE name IN (");
    for (size_t i = 0; i < FIXED_COUNT; i++)
        if (fixed[i].newer) {
            pipe_buf_printf(out, "%s'%s'", comma, fixed[i].name);
            comma = ", ";
        }
    pipe_buf_printf(out, ") FORMAT TabSeparated");
}

/* The next field of a line of tab-separated ones, as a text of its own. */
static bool next_field(struct pipe_str *line, char *field, size_t field_bytes)
{
    size_t size = 0;
    while (size < line->size && line->data[size] != '\t' && line->data[size] != '\n')
        size++;
    if (size == line->size || size >= field_bytes)
        return false;
    memcpy(field, line->data, size);
    field[size] = '\0';
    *line = pipe_str_of(line->data + size + 1, line->size - size - 1);
    return true;
}

static bool next_number(struct pipe_str *line, int64_t *number)
{
    char field[32];
    return next_field(line, field, sizeof field) &&
           pipe_i64_read(pipe_str_of(field, strlen(field)), false, number);
}

/* The bits of the newer settings that are in a list with commas. */
static uint32_t known_of(const char *list)
{
    uint32_t known = 0, bit = 1;
    for (size_t i = 0; i < FIXED_COUNT; i++) {
        size_t size = strlen(fixed[i].name);
        if (!fixed[i].newer)
            continue;
        for (const char *at = list; at != NULL; at = strchr(at, ',')) {
            at += *at == ',';
            if (strncmp(at, fixed[i].name, size) == 0 && (at[size] == ',' || at[size] == '\0'))
                known |= bit;
        }
        bit <<= 1;
    }
    return known;
}

bool clickhouse_hello_read(struct pipe_str answer, struct pipe_clickhouse_server *server)
{
    char list[1024];
    if (!next_field(&answer, server->version, sizeof server->version) ||
        !next_number(&answer, &server->uptime_s) || !next_number(&answer, &server->clock_s) ||
        !next_field(&answer, server->host, sizeof server->host) ||
        !next_field(&answer, list, sizeof list) || answer.size > 0)
        return false;
    server->known_settings = known_of(list);
    return sscanf(server->version, "%d.%d", &server->major, &server->minor) == 2;
}
