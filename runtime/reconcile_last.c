/*
 * reconcile_last.c: what is left of the rows of a topic in a table that keeps the last of each key
 * (ReplacingMergeTree, read with FINAL): the one of the greatest version, of several in one
 * partition the last. A key with rows that are not confirmed, or later than what is compared, may
 * show any of its rows that are not replaced by a confirmed one.
 */
#include <stdlib.h>

#include "native_internal.h"
#include "reconcile.h"
#include "reconcile_tables.h"

#define ROW_MEMORY ((size_t)64 << 20)

enum entry_kind { ENTRY_CONFIRMED, ENTRY_EARLY, ENTRY_LATER };

struct entry {
    struct pipe_hash key; /* first: spills are partitioned by it */
    struct pipe_hash row;
    int64_t version, offset;
    int32_t partition;
    uint8_t kind;
    bool deleted;
};

struct reconcile_last {
    struct native_table table; /* for its row type */
    uint32_t *keys;            /* columns */
    uint32_t key_count, version;
    struct pipe_arena arena;
    void *row;
    struct pipe_buf scratch;
    struct pipe_spill entries;
};

/* ---- The keys ---- */

static uint32_t column_named(const struct pipe_row_type *row, struct pipe_str name)
{
    uint32_t i = 0;
    while (i < row->column_count &&
           !pipe_str_equal(name, pipe_str_of(row->columns[i].name, strlen(row->columns[i].name))))
        i++;
    return i;
}

/* The next name of a list as it stands in the DDL; `to` takes it without quotes. */
static const char *next_name(const char *at, struct pipe_buf *to)
{
    to->size = 0;
    at += strspn(at, ", ");
    if (*at != '`') {
        size_t size = strcspn(at, ", )");
        pipe_buf_add(to, at, size);
        return at + size;
    }
    for (at++; *at != '\0' && *at != '`'; at++) {
        at += *at == '\\' && at[1] != '\0';
        pipe_buf_add_byte(to, (uint8_t)*at);
    }
    return *at == '`' ? at + 1 : at;
}

static void find_columns(struct reconcile_last *last, const struct pipe_table_def *def)
{
    const struct pipe_row_type *row = &last->table.row;
    const char *at = strchr(def->engine, '(');
    if (at != NULL)
        next_name(at + 1, &last->scratch);
    last->version =
        column_named(row, pipe_str_of(last->scratch.data, at != NULL ? last->scratch.size : 0));
    last->keys = pipe_calloc(row->column_count + 1, sizeof *last->keys);
    for (at = def->order_by; *at != '\0';) {
        at = next_name(at, &last->scratch);
        uint32_t column = column_named(row, pipe_str_of(last->scratch.data, last->scratch.size));
        if (column < row->column_count && last->key_count < row->column_count)
            last->keys[last->key_count++] = column;
        else if (last->scratch.size == 0)
            break;
    }
}

struct reconcile_last *reconcile_new_last(struct reconcile *r, const struct pipe_sink_def *sink)
{
    struct reconcile_last *last = pipe_calloc(1, sizeof *last);
    native_table_init(&last->table, sink->table, sink->row);
    pipe_arena_init(&last->arena, ROW_MEMORY);
    last->row = pipe_calloc(1, last->table.row.size_bytes + 1);
    pipe_spill_init(&last->entries, &r->spills, sizeof(struct entry));
    find_columns(last, sink->table);
    return last;
}

void reconcile_free_last(struct reconcile_last *last)
{
    if (last == NULL)
        return;
    native_table_free(&last->table);
    pipe_arena_free(&last->arena);
    pipe_buf_free(&last->scratch);
    pipe_spill_free(&last->entries);
    free(last->keys);
    free(last->row);
    free(last);
}

static int64_t version_of(const struct reconcile_last *last)
{
    const struct pipe_column *column = &last->table.row.columns[last->version];
    int32_t narrow;
    int64_t wide;
    if (pipe_type_size(column->type) == sizeof wide) {
        memcpy(&wide, pipe_column_value(column, last->row), sizeof wide);
        return wide;
    }
    memcpy(&narrow, pipe_column_value(column, last->row), sizeof narrow);
    return narrow;
}

/* Key and version of the row; false: it is none, which is told elsewhere. */
static bool read_entry(struct reconcile_last *last, struct pipe_str json, struct entry *entry)
{
    const struct pipe_row_type *row = &last->table.row;
    pipe_arena_reset(&last->arena);
    if (!pipe_row_from_json(row, json, &last->arena, last->row, NULL))
        return false;
    last->scratch.size = 0;
    for (uint32_t i = 0; i < last->key_count; i++) {
        const struct pipe_column *column = &row->columns[last->keys[i]];
        bool null = pipe_column_is_null(column, last->row);
        pipe_buf_add_byte(&last->scratch, null);
        if (!null)
            pipe_value_save(column->type, pipe_column_value(column, last->row), &last->scratch);
    }
    entry->key = pipe_message_hash(0, pipe_str_of("", 0),
                                   pipe_str_of(last->scratch.data, last->scratch.size));
    entry->version = last->version < row->column_count ? version_of(last) : 0;
    if (last->table.def->has_deleted) {
        const struct pipe_column *flag = &row->columns[row->column_count - 1];
        entry->deleted = *(const bool *)pipe_column_value(flag, last->row);
    }
    return true;
}

/* ---- Rows ---- */

void reconcile_expect_last(struct reconcile *r, struct reconcile_layer *layer, bool confirmed,
                           int32_t partition, int64_t offset, struct pipe_str json)
{
    struct reconcile_last *last = layer->table->last;
    struct entry entry = {
        .row = pipe_message_hash(offset, pipe_str_of(&partition, sizeof partition), json),
        .offset = offset,
        .partition = partition,
        .kind = confirmed ? ENTRY_CONFIRMED : ENTRY_EARLY};
    (void)r;
    if (read_entry(last, json, &entry))
        pipe_spill_add(&last->entries, &entry);
    else if (layer->trouble[0] == '\0')
        snprintf(layer->trouble, sizeof layer->trouble,
                 "partition %d, offset %lld of its topic is no row", partition, (long long)offset);
}

void reconcile_find_later(struct reconcile *r, struct reconcile_layer *layer, struct pipe_str json)
{
    struct reconcile_last *last = layer->table->last;
    struct entry entry = {.kind = ENTRY_LATER};
    (void)r;
    if (read_entry(last, json, &entry))
        pipe_spill_add(&last->entries, &entry);
}

/* By key, then the greatest version first, of one version the last row of each partition first. */
static int by_key(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = pipe_hash_order(&x->key, &y->key);
    if (order != 0)
        return order;
    if (x->version != y->version)
        return x->version > y->version ? -1 : 1;
    if (x->partition != y->partition)
        return x->partition < y->partition ? -1 : 1;
    return (x->offset < y->offset) - (x->offset > y->offset);
}

/* The rows of one key. */
static void judge_key(struct pipe_multiset *rows, const struct entry *entries, uint64_t count)
{
    bool sure = true;
    uint64_t i;
    for (i = 0; i < count; i++)
        sure = sure && entries[i].kind == ENTRY_CONFIRMED;
    for (i = 1; sure && i < count && entries[i].version == entries[0].version; i++)
        sure = entries[i].partition == entries[0].partition;
    if (sure) {
        if (!entries[0].deleted)
            pipe_multiset_add(rows, PIPE_REQUIRED, &entries[0].row);
        return;
    }
    for (i = 0; i < count; i++) {
        if (entries[i].kind != ENTRY_LATER && !entries[i].deleted)
            pipe_multiset_add(rows, PIPE_ALLOWED, &entries[i].row);
        /* What has less than a confirmed version was replaced. */
        if (entries[i].kind == ENTRY_CONFIRMED &&
            (i + 1 == count || entries[i + 1].version != entries[i].version))
            break;
    }
}

bool reconcile_judge_last(struct reconcile *r, struct reconcile_layer *layer)
{
    struct reconcile_last *last = layer->table->last;
    struct pipe_multiset *rows = &reconcile_part_of(r, layer, pipe_str_of("", 0))->rows;
    struct pipe_buf bytes = {0};
    uint64_t count;
    bool ok = true;
    for (uint32_t p = 0; ok && p < PIPE_SPILL_PARTITIONS; p++) {
        ok = pipe_spill_load(&last->entries, p, &bytes, &count);
        const struct entry *entries = (const struct entry *)(const void *)bytes.data;
        if (!ok || count == 0)
            continue;
        qsort(bytes.data, count, sizeof *entries, by_key);
        for (uint64_t begin = 0, end; begin < count; begin = end) {
            for (end = begin + 1;
                 end < count && pipe_hash_order(&entries[end].key, &entries[begin].key) == 0;)
                end++;
            judge_key(rows, entries + begin, end - begin);
        }
    }
    pipe_buf_free(&bytes);
    pipe_spill_free(&last->entries);
    return ok || reconcile_fail(r, PIPE_EXIT_DATA, "%s", r->spills.error);
}
