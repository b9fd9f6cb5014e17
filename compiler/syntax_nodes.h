/*
 * syntax_nodes.h: the makers of nodes that the actions of parser.y call; see pipec.h for what each
 * kind holds. Nodes live in the arena of the program. Lists that are handed over are taken, not
 * copied.
 */
#ifndef PIPEC_SYNTAX_NODES_H
#define PIPEC_SYNTAX_NODES_H

#include "syntax.h"

/* A new, empty array of `list_type` in the arena. */
#define list_new(s, list_type) ((list_type *)arena_alloc((s)->program->arena, sizeof(list_type)))

struct expr *expr_new(struct syntax *s, enum expr_kind kind, struct span span);
struct expr *expr_number(struct syntax *s, enum expr_kind kind, struct number_value number);
struct expr *expr_negative(struct syntax *s, enum expr_kind kind, struct span span,
                           struct number_value number);
struct expr *expr_string(struct syntax *s, struct string_value string);
struct expr *expr_path(struct syntax *s, struct span span, name_list *path);
struct expr *expr_unary(struct syntax *s, struct span span, enum op op, struct expr *operand);
struct expr *expr_binary(struct syntax *s, enum op op, struct expr *left, struct expr *right);
struct expr *expr_is_null(struct syntax *s, struct span span, struct expr *left, bool negated);
struct expr *expr_between(struct syntax *s, struct span span, struct expr *left, bool negated,
                          struct expr *low, struct expr *high);
struct expr *expr_in(struct syntax *s, struct span span, struct expr *left, bool negated,
                     expr_list *list);
struct expr *expr_like(struct syntax *s, enum expr_kind kind, struct span span, struct expr *left,
                       bool negated, struct string_value pattern);
struct expr *expr_call(struct syntax *s, struct span span, struct name name, expr_list *args);
struct expr *expr_cast(struct syntax *s, struct span span, struct expr *left, struct type_ref type);
struct expr *expr_try(struct syntax *s, struct span span, struct expr *left, struct expr *right);
struct expr *expr_case(struct syntax *s, struct span span, struct expr *subject, when_list *whens,
                       struct expr *otherwise);
struct clause *clause_new(struct syntax *s, enum clause_kind kind, struct span span,
                          struct span word);
struct clause *clause_text(struct syntax *s, enum clause_kind kind, struct span span,
                           struct span word, struct string_value text);
struct clause *clause_integer(struct syntax *s, enum clause_kind kind, struct span span,
                              struct span word, int64_t integer);
struct clause *clause_duration(struct syntax *s, enum clause_kind kind, struct span span,
                               struct span word, int64_t duration_ms);
struct clause *clause_name(struct syntax *s, enum clause_kind kind, struct span span,
                           struct span word, struct name name);
struct clause *clause_names(struct syntax *s, enum clause_kind kind, struct span span,
                            struct span word, const name_list *names);
struct clause *clause_expr(struct syntax *s, enum clause_kind kind, struct span span,
                           struct span word, struct expr *expr);
struct clause *clause_items(struct syntax *s, enum clause_kind kind, struct span span,
                            struct span word, const item_list *items);
struct clause *clause_format(struct syntax *s, struct span span, struct span word,
                             enum format format);
struct clause *clause_commit(struct syntax *s, struct span span, struct commit_value commit);
struct clause *clause_window(struct syntax *s, enum window_kind window, int64_t size_ms,
                             int64_t offset_ms);
struct clause *clause_emit(struct syntax *s, struct span span, struct span word,
                           enum emit_kind emit, int64_t every_ms);
struct column_decl column_value(struct name name, struct type_ref type, bool nullable);
struct item *item_new(struct syntax *s, enum item_kind kind, struct span span);
struct statement *statement_new(struct syntax *s, enum statement_kind kind, struct span span,
                                struct name name, const clause_list *clauses);
struct statement *statement_titled(struct syntax *s, enum statement_kind kind, struct span span,
                                   struct string_value title);
struct generator *generator_new(struct syntax *s, enum generator_kind kind, struct span span,
                                struct constant *low, struct constant *high);
struct fault *fault_new(struct syntax *s, enum fault_kind kind, struct span span,
                        struct number_value percent, int64_t low_ms, int64_t high_ms);
struct given *given_new(struct syntax *s, enum given_kind kind, struct span span, int64_t at_ms,
                        int64_t partition);
struct decision *decision_new(struct syntax *s, enum decision_kind kind, struct span span,
                              struct name name);
struct constant *constant_new(struct syntax *s, enum constant_kind kind, struct span span);
struct constant *constant_number(struct syntax *s, struct span span, struct number_value number,
                                 bool negative);
void constant_row_add(struct syntax *s, struct constant *row, struct row_entry entry);

#endif
