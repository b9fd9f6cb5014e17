/* clickhouse_sql.c: see clickhouse.h. */
#include <ctype.h>
#include <inttypes.h>

#include "clickhouse.h"
#include "clickhouse_words.h"
#include "pipe.h"

static void add_name(struct pipe_buf *out, const char *name, size_t size)
{
    bool is_plain = size > 0 && (isalpha((unsigned char)name[0]) || name[0] == '_') &&
                    !clickhouse_is_taken(name, size);
    for (size_t i = 0; i < size; i++)
        is_plain = is_plain && (isalnum((unsigned char)name[i]) || name[i] == '_');
    if (is_plain) {
        pipe_buf_add(out, name, size);
        return;
    }
    pipe_buf_add_byte(out, '`');
    for (size_t i = 0; i < size; i++) {
        if (name[i] == '`' || name[i] == '\\')
            pipe_buf_add_byte(out, '\\');
        pipe_buf_add_byte(out, (uint8_t)name[i]);
    }
    pipe_buf_add_byte(out, '`');
}

void pipe_clickhouse_identifier(struct pipe_buf *out, const char *name)
{
    add_name(out, name, strlen(name));
}

void pipe_clickhouse_table(struct pipe_buf *out, const char *target)
{
    const char *dot = strchr(target, '.');
    if (dot != NULL) {
        add_name(out, target, (size_t)(dot - target));
        pipe_buf_add_byte(out, '.');
        target = dot + 1;
    }
    add_name(out, target, strlen(target));
}

void pipe_clickhouse_literal(struct pipe_buf *out, struct pipe_str text)
{
    pipe_buf_add_byte(out, '\'');
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '\0') {
            pipe_buf_add(out, "\\0", 2);
            continue;
        }
        if (text.data[i] == '\'' || text.data[i] == '\\')
            pipe_buf_add_byte(out, '\\');
        pipe_buf_add_byte(out, (uint8_t)text.data[i]);
    }
    pipe_buf_add_byte(out, '\'');
}

static void add_columns(struct pipe_buf *out, const struct pipe_table_def *table, bool typed)
{
    for (uint32_t i = 0; i < table->column_count; i++) {
        pipe_buf_printf(out, i > 0 ? ", " : "");
        pipe_clickhouse_identifier(out, table->columns[i].name);
        if (typed)
            pipe_buf_printf(out, " %s", table->columns[i].type);
    }
}

static void add_ranges(struct pipe_buf *out, const struct pipe_clickhouse_range *ranges,
                       uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        pipe_buf_printf(out,
                        "%s(_pipe_partition = %" PRId32 " AND _pipe_offset BETWEEN %" PRId64
                        " AND %" PRId64 ")",
                        i == 0 ? " WHERE " : " OR ", ranges[i].partition, ranges[i].first,
                        ranges[i].last);
}

static void add_text(struct pipe_buf *out, const char *text, size_t size)
{
    pipe_clickhouse_literal(out, pipe_str_of(text, size));
}

/* INSERT SELECT casts to the table's types, and wraps what is out of range without a word: so it
 * fails if the table's columns are not those of the plan any more. Evaluated once. */
static void add_type_check(struct pipe_buf *out, const struct pipe_table_def *table)
{
    const char *dot = strchr(table->name, '.');
    pipe_buf_printf(out, " AND throwIf((SELECT count() FROM system.columns WHERE database = ");
    add_text(out, table->name, (size_t)(dot - table->name));
    pipe_buf_printf(out, " AND table = ");
    add_text(out, dot + 1, strlen(dot + 1));
    pipe_buf_printf(out, " AND (name, type) IN (");
    for (uint32_t i = 0; i < table->column_count; i++) {
        pipe_buf_printf(out, i > 0 ? ", (" : "(");
        add_text(out, table->columns[i].name, strlen(table->columns[i].name));
        pipe_buf_printf(out, ", ");
        add_text(out, table->columns[i].type, strlen(table->columns[i].type));
        pipe_buf_printf(out, ")");
    }
    pipe_buf_printf(out, ")) != %u, 'a column of the table was altered') = 0", table->column_count);
}

bool pipe_clickhouse_is_plain(const struct pipe_table_def *table)
{
    return table->keeping != PIPE_TABLE_ALL || table->rollup_count > 0;
}

void pipe_clickhouse_insert_sql(struct pipe_buf *out, const struct pipe_table_def *table,
                                const struct pipe_clickhouse_range *ranges, uint32_t count,
                                const char *format)
{
    pipe_buf_printf(out, "INSERT INTO ");
    pipe_clickhouse_table(out, table->name);
    pipe_buf_printf(out, " (");
    add_columns(out, table, false);
    pipe_buf_printf(out, ")");
    if (!pipe_clickhouse_is_plain(table)) {
        struct pipe_buf structure = {0};
        add_columns(&structure, table, true);
        pipe_buf_printf(out, " SELECT ");
        add_columns(out, table, false);
        pipe_buf_printf(out, " FROM input(");
        pipe_clickhouse_literal(out, pipe_str_of((char *)structure.data, structure.size));
        pipe_buf_printf(out, ") WHERE (_pipe_partition, _pipe_offset) NOT IN "
                             "(SELECT _pipe_partition, _pipe_offset FROM ");
        pipe_clickhouse_table(out, table->name);
        add_ranges(out, ranges, count);
        pipe_buf_printf(out, ")");
        add_type_check(out, table);
        pipe_buf_free(&structure);
    }
    pipe_buf_printf(out, " FORMAT %s", format);
}

void pipe_clickhouse_probe_sql(struct pipe_buf *out, const struct pipe_table_def *table,
                               const struct pipe_clickhouse_range *ranges, uint32_t count)
{
    pipe_buf_printf(out, "SELECT count() FROM ");
    pipe_clickhouse_table(out, table->name);
    add_ranges(out, ranges, count);
    pipe_buf_printf(out, " FORMAT TabSeparated");
}
