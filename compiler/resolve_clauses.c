/* resolve_clauses.c: which clauses a statement has: each once, and in the order in which they act.
 */
#include <string.h>
#include "resolve.h"

/* rank: the place in a stream, 0 for clauses that may stand anywhere. */
static const struct {
    const char *word;
    unsigned rank;
    bool repeats;
} clauses[] = {
    [CLAUSE_COMMIT] = {"commit", 0, false},
    [CLAUSE_CONTRACT_FROM] = {"from", 0, false},
    [CLAUSE_ACCEPTS] = {"accepts", 0, false},
    [CLAUSE_COMPATIBLE] = {"compatible", 0, false},
    [CLAUSE_FROM_KAFKA] = {"from", 0, false},
    [CLAUSE_FROM_FILE] = {"from", 0, false},
    [CLAUSE_PARTITIONS] = {"partitions", 0, false},
    [CLAUSE_KEY] = {"key", 0, false},
    [CLAUSE_FORMAT] = {"format", 0, false},
    [CLAUSE_HEADER] = {"header", 0, false},
    [CLAUSE_COLUMNS] = {"columns", 0, false},
    [CLAUSE_CONTRACT] = {"contract", 0, false},
    [CLAUSE_EVENT_TIME] = {"event time", 0, false},
    [CLAUSE_WATERMARK] = {"watermark", 0, false},
    [CLAUSE_IDLE] = {"idle", 0, false},
    [CLAUSE_AHEAD] = {"ahead", 0, false},
    [CLAUSE_DROP_TOMBSTONES] = {"drop tombstones", 0, false},
    [CLAUSE_REJECTS] = {"rejects to", 0, false},
    [CLAUSE_WHERE] = {"where", 1, true},
    [CLAUSE_REQUIRE] = {"require", 1, true},
    [CLAUSE_DIVERT] = {"divert", 1, true},
    [CLAUSE_UNNEST] = {"unnest", 2, false},
    [CLAUSE_SELECT] = {"select", 3, false},
    [CLAUSE_DEDUP] = {"dedup by", 4, false},
    [CLAUSE_WINDOW] = {"window", 5, false},
    [CLAUSE_GROUP] = {"group by", 6, false},
    [CLAUSE_AGGREGATE] = {"aggregate", 7, false},
    [CLAUSE_LATENESS] = {"lateness", 8, false},
    [CLAUSE_LATE] = {"late to", 9, false},
    [CLAUSE_DROP_LATE] = {"drop late", 9, false},
    [CLAUSE_EMIT] = {"emit on", 10, false},
    [CLAUSE_TO_KAFKA] = {"to", 0, false},
    [CLAUSE_TO_CLICKHOUSE] = {"to", 0, false},
    [CLAUSE_TO_ICEBERG] = {"to", 0, false},
    [CLAUSE_TO_FILE] = {"to", 0, false},
    [CLAUSE_TO_STDOUT] = {"to", 0, false},
    [CLAUSE_ORDER] = {"order by", 0, false},
    [CLAUSE_SORT] = {"sort by", 0, false},
    [CLAUSE_PARTITION_BY] = {"partition by", 0, false},
    [CLAUSE_TARGET] = {"target", 0, false},
    [CLAUSE_UPSERT] = {"upsert by", 0, false},
    [CLAUSE_APPEND_REVISIONS] = {"append revisions", 0, false},
    [CLAUSE_ROLLUP] = {"rollup", 0, true},
    [CLAUSE_EXACTLY_ONCE] = {"exactly once", 0, false},
    [CLAUSE_AT_LEAST_ONCE] = {"at least once", 0, false},
    [CLAUSE_TRAFFIC_SESSION] = {"session", 0, false},
    [CLAUSE_STEPS] = {"steps", 0, false},
    [CLAUSE_FIELD] = {"field", 0, true},
    [CLAUSE_FAULT] = {"fault", 0, true},
};

const char *clause_word(enum clause_kind kind)
{
    return clauses[kind].word;
}

const struct clause *clause_find(const struct statement *statement, enum clause_kind kind)
{
    for (size_t i = 0; i < statement->clauses.count; i++)
        if (statement->clauses.items[i].kind == kind)
            return &statement->clauses.items[i];
    return NULL;
}

/* Clauses that answer one question, so that there can be only one of them. */
static enum clause_kind question_of(enum clause_kind kind)
{
    switch ((int)kind) {
    case CLAUSE_FROM_FILE:
        return CLAUSE_FROM_KAFKA;
    case CLAUSE_DROP_LATE:
        return CLAUSE_LATE;
    case CLAUSE_TO_CLICKHOUSE:
    case CLAUSE_TO_ICEBERG:
    case CLAUSE_TO_FILE:
    case CLAUSE_TO_STDOUT:
        return CLAUSE_TO_KAFKA;
    case CLAUSE_AT_LEAST_ONCE:
        return CLAUSE_EXACTLY_ONCE;
    default:
        return kind;
    }
}

static void report_twice(struct program *program, const struct clause *first,
                         const struct clause *second)
{
    const char *a = clause_word(first->kind), *b = clause_word(second->kind);
    struct diag *diag =
        strcmp(a, b) == 0
            ? diag_error(program, PC2007, second->word, "`%s` is given twice", b)
            : diag_error(program, PC2007, second->word, "`%s` contradicts `%s`", b, a);
    diag_also(diag, first->word, "first here");
    if (second->kind == CLAUSE_SELECT || second->kind == CLAUSE_UNNEST)
        diag_help(diag, "put the second into a stream that reads this one");
    else
        diag_help(diag, "keep one of the two");
}

void check_once(struct program *program, const struct statement *statement)
{
    for (size_t i = 0; i < statement->clauses.count; i++) {
        const struct clause *second = &statement->clauses.items[i];
        if (clauses[second->kind].repeats)
            continue;
        for (size_t j = 0; j < i; j++) {
            const struct clause *first = &statement->clauses.items[j];
            if (question_of(first->kind) == question_of(second->kind)) {
                report_twice(program, first, second);
                break;
            }
        }
    }
}

/* "`where`, `select`, `window`": the words of this statement in the right order. */
static const char *right_order(struct program *program, const struct statement *statement)
{
    const char *list = "";
    for (unsigned rank = 1; rank <= 10; rank++)
        for (size_t i = 0; i < statement->clauses.count; i++) {
            enum clause_kind kind = statement->clauses.items[i].kind;
            if (clauses[kind].rank == rank)
                list = arena_printf(program->arena, "%s%s`%s`", list, *list ? ", " : "",
                                    clauses[kind].word);
        }
    return list;
}

void check_order(struct program *program, const struct statement *statement)
{
    const struct clause *furthest = NULL;
    for (size_t i = 0; i < statement->clauses.count; i++) {
        const struct clause *clause = &statement->clauses.items[i];
        unsigned rank = clauses[clause->kind].rank;
        if (rank == 0)
            continue;
        if (furthest && rank < clauses[furthest->kind].rank) {
            struct diag *diag = diag_error(program, PC2009, clause->word,
                                           "`%s` acts before `%s`, so it stands before it",
                                           clause_word(clause->kind), clause_word(furthest->kind));
            diag_also(diag, furthest->word, "this acts later");
            diag_help(diag, "the order is %s", right_order(program, statement));
            return;
        }
        furthest = clause;
    }
}
