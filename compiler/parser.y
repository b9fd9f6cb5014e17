/*
 * The grammar of pipelines. Each action makes one node by a call or two; clauses are kept as
 * written, resolve.c checks which are required and in which order. Everything lives in the arena,
 * so there is nothing to destroy.
 */
%require "3.8"
%expect 0
%define api.pure full
%define api.location.type {struct span}
%define parse.error custom
%define parse.lac full
%locations
%param {struct syntax *s}

%code requires {
#include "syntax_nodes.h"
}

%code {
int yylex(YYSTYPE *value, struct span *at, struct syntax *s);
static void yyerror(const struct span *at, struct syntax *s, const char *message);

#define YYLLOC_DEFAULT(current, rhs, count)                                                        \
    ((current) = (count) ? span_join(YYRHSLOC(rhs, 1), YYRHSLOC(rhs, count))                       \
                         : (struct span){ YYRHSLOC(rhs, 0).source, YYRHSLOC(rhs, 0).end,           \
                                          YYRHSLOC(rhs, 0).end })
#define PUSH(list, item) vec_push(s->program->arena, (list), (item))
#define JOIN(first, last) span_join((first), (last))
#define INT64(number) integer_value(s, (number), INT64_MAX)
#define UNSIGNED(number) ((unsigned)integer_value(s, (number), UINT32_MAX))
}

%initial-action {
    @$ = (struct span){ s->source, 0, 0 };
}

%union {
    struct name name;
    struct string_value string;
    struct number_value number;
    int64_t integer;
    bool flag;
    int choice;                 /* an enumerator of the kind that the rule names */
    struct commit_value commit;
    struct type_ref type;
    struct column_decl column;
    struct transform transform;
    struct row_entry entry;
    struct expr *expr;
    struct item *item;
    struct constant *constant;
    struct clause *clause;
    struct statement *statement;
    struct generator *generator;
    struct fault *fault;
    struct given *given;
    struct decision *decision;
    struct pick pick;
    struct traffic_step step;
    struct step_target target;
    name_list *names;
    string_list *strings;
    expr_list *exprs;
    item_list *items;
    when_list *whens;
    transform_list *transforms;
    column_list *columns;
    clause_list *clauses;
    step_list *steps;
    target_list *targets;
    pick_list *picks;
    given_list *givens;
    constant_list *constants;
}

%token END_OF_FILE 0 "end of the file"
%token <name> NAME "a name"
%token <number> INTEGER "an integer" DECIMAL "a decimal"
%token <integer> DURATION "a duration" SIZE "a size"
%token <string> STRING "text in quotes"
%token NOT_EQUAL "'<>'" LESS_EQUAL "'<='" GREATER_EQUAL "'>='" CONCAT "'||'" RANGE "'..'"
/* No rule accepts these: each is an error with a help of its own. */
%token BAD_UNIT "bad unit" FOREIGN_OPERATOR "operator of another language"
%token UPPER_KEYWORD "keyword in upper case" UNCLOSED_STRING "unclosed string"
%token UNCLOSED_NAME "unclosed name" STRAY_CHARACTER "stray character"

/* Messages list words in this order. */
%token KW_AGGREGATE "aggregate" KW_AND "and" KW_AS "as" KW_BETWEEN "between" KW_BY "by"
%token KW_CASE "case" KW_CAST "cast" KW_DEDUP "dedup" KW_DIVERT "divert" KW_DROP "drop"
%token KW_ELSE "else" KW_EMIT "emit" KW_END "end" KW_FALSE "false" KW_FROM "from" KW_GROUP "group"
%token KW_IN "in" KW_IS "is" KW_LATE "late" KW_LATENESS "lateness" KW_LIKE "like"
%token KW_MATCHES "matches" KW_NOT "not" KW_NULL "null" KW_OR "or" KW_REJECTS "rejects"
%token KW_REQUIRE "require" KW_SELECT "select" KW_THEN "then" KW_TO "to" KW_TRUE "true"
%token KW_TRY "try" KW_UNNEST "unnest" KW_WHEN "when" KW_WHERE "where" KW_WINDOW "window"

%token KW_PIPELINE "pipeline" KW_CONTRACT "contract" KW_ACCEPTS "accepts"
%token KW_COMPATIBLE "compatible" KW_NONE "none" KW_BACKWARD "backward" KW_FORWARD "forward"
%token KW_FULL "full" KW_TRANSITIVE "transitive" KW_SOURCE "source" KW_STREAM "stream"
%token KW_SINK "sink" KW_SLO "slo" KW_FRESH "fresh" KW_WITHIN "within" KW_FOR "for"
%token KW_PERCENT "percent" KW_OF "of" KW_TRAFFIC "traffic" KW_INTO "into" KW_TEST "test"
%token KW_GIVEN "given" KW_EXPECT "expect" KW_NOTHING "nothing" KW_EVOLVE "evolve" KW_PLAN "plan"
%token KW_COMMIT "commit" KW_EVERY "every" KW_KAFKA "kafka" KW_TOPIC "topic" KW_FILE "file"
%token KW_STDOUT "stdout" KW_CLICKHOUSE "clickhouse" KW_ICEBERG "iceberg"
%token KW_PARTITIONS "partitions" KW_KEY "key" KW_FORMAT "format" KW_HEADER "header"
%token KW_COLUMNS "columns" KW_EVENT "event" KW_TIME "time" KW_WATERMARK "watermark"
%token KW_IDLE "idle" KW_ADVANCE "advance" KW_AHEAD "ahead" KW_TOMBSTONES "tombstones"
%token KW_AVRO "avro" KW_JSON "json" KW_JSONL "jsonl" KW_CSV "csv" KW_TEXT "text" KW_BYTES "bytes"
%token KW_PARQUET "parquet" KW_TUMBLING "tumbling" KW_OFFSET "offset" KW_HOPPING "hopping"
%token KW_SESSION "session" KW_GAP "gap" KW_MAX "max" KW_ON "on" KW_CLOSE "close" KW_FINAL "final"
%token KW_UPDATE "update" KW_EXCEPT "except" KW_TABLE "table" KW_ORDER "order" KW_SORT "sort"
%token KW_PARTITION "partition" KW_TARGET "target" KW_UPSERT "upsert" KW_VERSION "version"
%token KW_DELETE "delete" KW_APPEND "append" KW_REVISIONS "revisions" KW_ROLLUP "rollup"
%token KW_EXACTLY "exactly" KW_ONCE "once" KW_AT "at" KW_LEAST "least" KW_PAUSE "pause"
%token KW_STEPS "steps" KW_FIELD "field" KW_PER "per" KW_UNIQUE "unique" KW_UNIFORM "uniform"
%token KW_PICK "pick" KW_FAULT "fault" KW_DUPLICATE "duplicate" KW_OUT "out" KW_UP "up"
%token KW_VALUE "value" KW_POISON "poison" KW_RENAMED "renamed" KW_REBUILD "rebuild"
%token KW_RESET "reset" KW_NOW "now" KW_BECAUSE "because"

%type <name> name as_opt version
%type <names> names path
%type <strings> strings
%type <number> number null_percent
%type <integer> weight offset partition_opt
%type <commit> commit
%type <choice> format comparison decision_kind
%type <flag> transitive null_opt advance not_opt per_session
%type <type> type
%type <column> column
%type <columns> columns column_list
%type <transform> transform
%type <transforms> transforms
%type <entry> row_entry
%type <constants> constants rows
%type <constant> constant signed row row_entries
%type <expr> expr and not predicate value sum term factor primary else_opt subject
%type <expr> delete_when
%type <expr> in_expr
%type <exprs> exprs in_list
%type <whens> whens
%type <item> item
%type <items> items items_comma
%type <statement> statement test_body evolve_body
%type <clause> contract_clause source_clause stream_clause window sink_clause traffic_clause
%type <clauses> contract_clauses source_clauses stream_clauses sink_clauses traffic_clauses
%type <generator> generator
%type <fault> fault
%type <given> given
%type <givens> givens
%type <decision> decision
%type <pick> pick
%type <picks> picks
%type <step> step
%type <steps> steps
%type <target> target
%type <targets> targets

%%

file: %empty
    | file statement ';'        { $2->span = JOIN(@2, @3); PUSH(&s->program->statements, $2); }
    | file error ';'            { yyerrok; }
    ;

statement:
      "pipeline" name           { $$ = statement_new(s, STATEMENT_PIPELINE, @$, $2, NULL); }
    | "pipeline" name commit    {
            $$ = statement_new(s, STATEMENT_PIPELINE, @$, $2, NULL);
            PUSH(&$$->clauses, *clause_commit(s, @3, $3));
        }
    | "contract" name "from" STRING contract_clauses {
            $$ = statement_new(s, STATEMENT_CONTRACT, @$, $2, NULL);
            PUSH(&$$->clauses, *clause_text(s, CLAUSE_CONTRACT_FROM, JOIN(@3, @4), @3, $4));
            for (size_t i = 0; i < $5->count; i++)
                PUSH(&$$->clauses, $5->items[i]);
        }
    | "source" name source_clauses  { $$ = statement_new(s, STATEMENT_SOURCE, @$, $2, $3); }
    | "stream" name "from" names stream_clauses {
            $$ = statement_new(s, STATEMENT_STREAM, @$, $2, $5);
            $$->from = *$4;
        }
    | "sink" name "from" name sink_clauses {
            $$ = statement_new(s, STATEMENT_SINK, @$, $2, $5);
            PUSH(&$$->from, $4);
        }
    | "slo" name "fresh" "within" DURATION "for" number "percent" "of" DURATION {
            $$ = statement_new(s, STATEMENT_SLO, @$, $2, NULL);
            $$->within_ms = $5;
            $$->percent = $7.number;
            $$->over_ms = $10;
        }
    | "traffic" name "into" name traffic_clauses {
            $$ = statement_new(s, STATEMENT_TRAFFIC, @$, $2, $5);
            PUSH(&$$->from, $4);
        }
    | test_body
    | evolve_body
    ;

name: NAME
    | free_word                 { $$ = name_value(s, @1, false); }
    ;
names:
      name                      { $$ = list_new(s, name_list); PUSH($$, $1); }
    | names ',' name            { $$ = $1; PUSH($$, $3); }
    ;
path: name                      { $$ = list_new(s, name_list); PUSH($$, $1); }
    | path '.' name             { $$ = $1; PUSH($$, $3); }
    ;
strings:
      STRING                    { $$ = list_new(s, string_list); PUSH($$, string_name(s, $1)); }
    | strings ',' STRING        { $$ = $1; PUSH($$, string_name(s, $3)); }
    ;
as_opt:
      %empty                    { $$ = (struct name){ 0 }; }
    | "as" name                 { $$ = $2; }
    ;
number: INTEGER | DECIMAL;
type: name                      { $$ = (struct type_ref){ .name = $1 }; }
    | name '(' INTEGER ')'      { $$ = (struct type_ref){ $1, 1, { UNSIGNED($3), 0 } }; }
    | name '(' INTEGER ',' INTEGER ')'
                                { $$ = (struct type_ref){ $1, 2, { UNSIGNED($3), UNSIGNED($5) } }; }
    ;
commit:
      "commit" "every" DURATION             { $$ = (struct commit_value){ .duration_ms = $3 }; }
    | "commit" "every" DURATION "or" SIZE   { $$ = (struct commit_value){ $3, $5, true }; }
    ;

contract_clauses:
      %empty                    { $$ = list_new(s, clause_list); }
    | contract_clauses contract_clause  { $$ = $1; PUSH($$, *$2); }
    ;
contract_clause:
      "accepts" strings         {
            $$ = clause_new(s, CLAUSE_ACCEPTS, @$, @1);
            vec_assign(&$$->strings, $2);
        }
    | "compatible" compatibility transitive {
            $$ = clause_new(s, CLAUSE_COMPATIBLE, @$, @1);
            $$->name = name_value(s, @2, false);
            $$->flag = $3;
        }
    ;
compatibility: "none" | "backward" | "forward" | "full";
transitive: %empty { $$ = false; } | "transitive" { $$ = true; };

source_clauses:
      %empty                    { $$ = list_new(s, clause_list); }
    | source_clauses source_clause  { $$ = $1; PUSH($$, *$2); }
    ;
source_clause:
      "from" "kafka" "topic" STRING
                                { $$ = clause_text(s, CLAUSE_FROM_KAFKA, @$, JOIN(@1, @3), $4); }
    | "from" "file" STRING      { $$ = clause_text(s, CLAUSE_FROM_FILE, @$, JOIN(@1, @2), $3); }
    | "partitions" INTEGER      { $$ = clause_integer(s, CLAUSE_PARTITIONS, @$, @1, INT64($2)); }
    | "key" names               { $$ = clause_names(s, CLAUSE_KEY, @$, @1, $2); }
    | "format" format           { $$ = clause_format(s, @$, @1, $2); }
    | "header"                  { $$ = clause_new(s, CLAUSE_HEADER, @$, @1); }
    | "columns" '(' column_list ')' {
            $$ = clause_new(s, CLAUSE_COLUMNS, @$, @1);
            vec_assign(&$$->columns, $3);
        }
    | "contract" name           { $$ = clause_name(s, CLAUSE_CONTRACT, @$, @1, $2); }
    | "event" "time" value as_opt   {
            $$ = clause_expr(s, CLAUSE_EVENT_TIME, @$, JOIN(@1, @2), $3);
            $$->as = $4;
        }
    | "watermark" DURATION      { $$ = clause_duration(s, CLAUSE_WATERMARK, @$, @1, $2); }
    | "idle" DURATION advance   {
            $$ = clause_duration(s, CLAUSE_IDLE, @$, @1, $2);
            $$->flag = $3;
        }
    | "ahead" DURATION          { $$ = clause_duration(s, CLAUSE_AHEAD, @$, @1, $2); }
    | "drop" "tombstones"       { $$ = clause_new(s, CLAUSE_DROP_TOMBSTONES, @$, @$); }
    | "rejects" "to" name       { $$ = clause_name(s, CLAUSE_REJECTS, @$, JOIN(@1, @2), $3); }
    ;
advance: %empty { $$ = false; } | "advance" { $$ = true; };
format:
      "avro"                    { $$ = FORMAT_AVRO; }
    | "json"                    { $$ = FORMAT_JSON; }
    | "jsonl"                   { $$ = FORMAT_JSONL; }
    | "csv"                     { $$ = FORMAT_CSV; }
    | "text"                    { $$ = FORMAT_TEXT; }
    | "bytes"                   { $$ = FORMAT_BYTES; }
    | "parquet"                 { $$ = FORMAT_PARQUET; }
    ;
column_list: columns | columns ',';
columns:
      column                    { $$ = list_new(s, column_list); PUSH($$, $1); }
    | columns ',' column        { $$ = $1; PUSH($$, $3); }
    ;
column: name type null_opt      { $$ = column_value($1, $2, $3); };
null_opt: %empty { $$ = false; } | "null" { $$ = true; };

stream_clauses:
      %empty                    { $$ = list_new(s, clause_list); }
    | stream_clauses stream_clause  { $$ = $1; PUSH($$, *$2); }
    ;
stream_clause:
      "where" expr              { $$ = clause_expr(s, CLAUSE_WHERE, @$, @1, $2); }
    | "require" expr "else" STRING  {
            $$ = clause_text(s, CLAUSE_REQUIRE, @$, @1, $4);
            $$->expr = $2;
        }
    | "divert" expr "to" name   {
            $$ = clause_expr(s, CLAUSE_DIVERT, @$, @1, $2);
            $$->name = $4;
        }
    | "unnest" path "as" name   {
            $$ = clause_expr(s, CLAUSE_UNNEST, @$, @1, expr_path(s, @2, $2));
            $$->as = $4;
        }
    | "select" items_comma      { $$ = clause_items(s, CLAUSE_SELECT, @$, @1, $2); }
    | "dedup" "by" names "within" DURATION  {
            $$ = clause_names(s, CLAUSE_DEDUP, @$, JOIN(@1, @2), $3);
            $$->duration_ms = $5;
        }
    | "window" window           { $$ = $2; $$->span = @$; $$->word = @1; }
    | "group" "by" names        { $$ = clause_names(s, CLAUSE_GROUP, @$, JOIN(@1, @2), $3); }
    | "aggregate" items_comma   { $$ = clause_items(s, CLAUSE_AGGREGATE, @$, @1, $2); }
    | "lateness" DURATION       { $$ = clause_duration(s, CLAUSE_LATENESS, @$, @1, $2); }
    | "late" "to" name          { $$ = clause_name(s, CLAUSE_LATE, @$, JOIN(@1, @2), $3); }
    | "drop" "late"             { $$ = clause_new(s, CLAUSE_DROP_LATE, @$, @$); }
    | "emit" "on" "close"       { $$ = clause_emit(s, @$, JOIN(@1, @2), EMIT_CLOSE, 0); }
    | "emit" "on" "final"       { $$ = clause_emit(s, @$, JOIN(@1, @2), EMIT_FINAL, 0); }
    | "emit" "on" "update" "every" DURATION
                                { $$ = clause_emit(s, @$, JOIN(@1, @2), EMIT_UPDATE, $5); }
    | "rejects" "to" name       { $$ = clause_name(s, CLAUSE_REJECTS, @$, JOIN(@1, @2), $3); }
    ;
window:
      "tumbling" DURATION offset    { $$ = clause_window(s, WINDOW_TUMBLING, $2, $3); }
    | "hopping" DURATION "every" DURATION offset {
            $$ = clause_window(s, WINDOW_HOPPING, $2, $5);
            $$->has_second = true;
            $$->second_ms = $4;
        }
    | "session" "gap" DURATION  { $$ = clause_window(s, WINDOW_SESSION, $3, -1); }
    | "session" "gap" DURATION "max" DURATION {
            $$ = clause_window(s, WINDOW_SESSION, $3, -1);
            $$->has_second = true;
            $$->second_ms = $5;
        }
    ;
offset: %empty { $$ = -1; } | "offset" DURATION { $$ = $2; };
items_comma: items | items ',';
items:
      item                      { $$ = list_new(s, item_list); PUSH($$, *$1); }
    | items ',' item            { $$ = $1; PUSH($$, *$3); }
    ;
item: expr as_opt               { $$ = item_new(s, ITEM_EXPR, @$); $$->expr = $1; $$->as = $2; }
    | '*'                       { $$ = item_new(s, ITEM_STAR, @$); }
    | '*' "except" '(' names ')'    { $$ = item_new(s, ITEM_STAR, @$); $$->except = *$4; }
    ;

sink_clauses:
      %empty                    { $$ = list_new(s, clause_list); }
    | sink_clauses sink_clause  { $$ = $1; PUSH($$, *$2); }
    ;
sink_clause:
      "to" "kafka" "topic" STRING   { $$ = clause_text(s, CLAUSE_TO_KAFKA, @$, JOIN(@1, @3), $4); }
    | "to" "clickhouse" "table" STRING
                                { $$ = clause_text(s, CLAUSE_TO_CLICKHOUSE, @$, JOIN(@1, @3), $4); }
    | "to" "iceberg" "table" STRING
                                { $$ = clause_text(s, CLAUSE_TO_ICEBERG, @$, JOIN(@1, @3), $4); }
    | "to" "file" STRING        { $$ = clause_text(s, CLAUSE_TO_FILE, @$, JOIN(@1, @2), $3); }
    | "to" "stdout"             { $$ = clause_new(s, CLAUSE_TO_STDOUT, @$, @$); }
    | "key" names               { $$ = clause_names(s, CLAUSE_KEY, @$, @1, $2); }
    | "partitions" INTEGER      { $$ = clause_integer(s, CLAUSE_PARTITIONS, @$, @1, INT64($2)); }
    | "format" format           { $$ = clause_format(s, @$, @1, $2); }
    | "contract" name           { $$ = clause_name(s, CLAUSE_CONTRACT, @$, @1, $2); }
    | "order" "by" names        { $$ = clause_names(s, CLAUSE_ORDER, @$, JOIN(@1, @2), $3); }
    | "sort" "by" names         { $$ = clause_names(s, CLAUSE_SORT, @$, JOIN(@1, @2), $3); }
    | "partition" "by" transforms   {
            $$ = clause_new(s, CLAUSE_PARTITION_BY, @$, JOIN(@1, @2));
            $$->transforms = *$3;
        }
    | "target" SIZE             { $$ = clause_new(s, CLAUSE_TARGET, @$, @1); $$->size_bytes = $2; }
    | commit                    { $$ = clause_commit(s, @$, $1); }
    | "upsert" "by" names version delete_when {
            $$ = clause_names(s, CLAUSE_UPSERT, @$, JOIN(@1, @2), $3);
            $$->as = $4;
            $$->expr = $5;
        }
    | "append" "revisions"      { $$ = clause_new(s, CLAUSE_APPEND_REVISIONS, @$, @$); }
    | "rollup" STRING "by" transforms "aggregate" items {
            $$ = clause_text(s, CLAUSE_ROLLUP, @$, @1, $2);
            $$->transforms = *$4;
            $$->items = *$6;
        }
    | "exactly" "once"          { $$ = clause_new(s, CLAUSE_EXACTLY_ONCE, @$, @$); }
    | "at" "least" "once"       { $$ = clause_new(s, CLAUSE_AT_LEAST_ONCE, @$, @$); }
    ;
version: %empty { $$ = (struct name){ 0 }; } | "version" name { $$ = $2; };
delete_when: %empty { $$ = NULL; } | "delete" "when" expr { $$ = $3; };
transforms:
      transform                 { $$ = list_new(s, transform_list); PUSH($$, $1); }
    | transforms ',' transform  { $$ = $1; PUSH($$, $3); }
    ;
transform:
      name                      { $$ = (struct transform){ .column = $1, .span = @$ }; }
    | name '(' name ')'         {
            $$ = (struct transform){ .function = $1, .column = $3, .span = @$ };
        }
    | name '(' INTEGER ',' name ')' {
            $$ = (struct transform){ $1, true, INT64($3), $5, @$ };
        }
    ;

traffic_clauses:
      %empty                    { $$ = list_new(s, clause_list); }
    | traffic_clauses traffic_clause    { $$ = $1; PUSH($$, *$2); }
    ;
traffic_clause:
      "session" DURATION RANGE DURATION "pause" DURATION RANGE DURATION {
            $$ = clause_new(s, CLAUSE_TRAFFIC_SESSION, @$, @1);
            $$->low_ms = $2;
            $$->high_ms = $4;
            $$->pause_low_ms = $6;
            $$->pause_high_ms = $8;
        }
    | "steps" name steps        {
            $$ = clause_name(s, CLAUSE_STEPS, @$, @1, $2);
            vec_assign(&$$->steps, $3);
        }
    | "field" path generator null_percent per_session {
            $$ = clause_new(s, CLAUSE_FIELD, @$, @1);
            $$->path = *$2;
            $$->generator = $3;
            $3->has_null = $4.span.source != NULL;
            $3->null_percent = $4.number;
            $3->per_session = $5;
            $3->span = JOIN(@3, @$);
        }
    | "fault" fault             { $$ = clause_new(s, CLAUSE_FAULT, @$, @1); $$->fault = $2; }
    ;
null_percent: %empty { $$ = (struct number_value){ 0 }; } | "null" number "percent" { $$ = $2; };
per_session: %empty { $$ = false; } | "per" "session" { $$ = true; };
steps:
      step                      { $$ = list_new(s, step_list); PUSH($$, $1); }
    | steps step                { $$ = $1; PUSH($$, $2); }
    ;
step: STRING "to" targets       {
            $$ = (struct traffic_step){ .span = @$, .text = $1.text, .text_bytes = $1.text_bytes };
            vec_assign(&$$.targets, $3);
        }
    ;
targets:
      target                    { $$ = list_new(s, target_list); PUSH($$, $1); }
    | targets ',' target        { $$ = $1; PUSH($$, $3); }
    ;
target:
      STRING INTEGER            {
            $$ = (struct step_target){ @$, $1.text, $1.text_bytes, false, INT64($2) };
        }
    | "end" INTEGER             { $$ = (struct step_target){ @$, NULL, 0, true, INT64($2) }; }
    ;
generator:
      "unique"                  { $$ = generator_new(s, GEN_UNIQUE, @$, NULL, NULL); }
    | "session"                 { $$ = generator_new(s, GEN_SESSION, @$, NULL, NULL); }
    | "uniform" signed RANGE signed { $$ = generator_new(s, GEN_UNIFORM, @$, $2, $4); }
    | "pick" picks              {
            $$ = generator_new(s, GEN_PICK, @$, NULL, NULL);
            vec_assign(&$$->picks, $2);
        }
    | "text" INTEGER RANGE INTEGER  {
            $$ = generator_new(s, GEN_TEXT, @$, constant_number(s, @2, $2, false),
                               constant_number(s, @4, $4, false));
        }
    ;
picks:
      pick                      { $$ = list_new(s, pick_list); PUSH($$, $1); }
    | picks ',' pick            { $$ = $1; PUSH($$, $3); }
    ;
pick: constant weight           { $$ = (struct pick){ $1, $2 }; };
weight: %empty { $$ = 1; } | INTEGER { $$ = INT64($1); };
fault:
      "duplicate" number "percent" "within" DURATION
                                { $$ = fault_new(s, FAULT_DUPLICATE, @$, $2, 0, $5); }
    | "out" "of" "order" number "percent" "up" "to" DURATION
                                { $$ = fault_new(s, FAULT_OUT_OF_ORDER, @$, $4, 0, $8); }
    | "late" number "percent" "by" DURATION RANGE DURATION
                                { $$ = fault_new(s, FAULT_LATE, @$, $2, $5, $7); }
    | "ahead" number "percent" "by" DURATION RANGE DURATION
                                { $$ = fault_new(s, FAULT_AHEAD, @$, $2, $5, $7); }
    | "value" path constant number "percent" {
            $$ = fault_new(s, FAULT_VALUE, @$, $4, 0, 0);
            $$->path = *$2;
            $$->value = $3;
        }
    | "poison" number "percent" { $$ = fault_new(s, FAULT_POISON, @$, $2, 0, 0); }
    ;

test_body:
      "test" STRING             { $$ = statement_titled(s, STATEMENT_TEST, @$, $2); }
    | test_body "given" name givens {
            $$ = $1;
            struct test_given given = { .source = $3 };
            vec_assign(&given.rows, $4);
            PUSH(&$$->givens, given);
        }
    | test_body "expect" name rows  {
            $$ = $1;
            struct expectation expectation = { .stream = $3, .span = JOIN(@2, @4) };
            vec_assign(&expectation.rows, $4);
            PUSH(&$$->expects, expectation);
        }
    | test_body "expect" name "nothing" {
            $$ = $1;
            PUSH(&$$->expects, ((struct expectation){ $3, true, { 0 }, JOIN(@2, @4) }));
        }
    ;
givens:
      given                     { $$ = list_new(s, given_list); PUSH($$, *$1); }
    | givens given              { $$ = $1; PUSH($$, *$2); }
    ;
given:
      "at" DURATION partition_opt row   { $$ = given_new(s, GIVEN_ROW, @$, $2, $3); $$->row = $4; }
    | "at" DURATION partition_opt STRING {
            $$ = given_new(s, GIVEN_TEXT, @$, $2, $3);
            $$->text = $4.text;
            $$->text_bytes = $4.text_bytes;
        }
    | "at" DURATION partition_opt "nothing" { $$ = given_new(s, GIVEN_NOTHING, @$, $2, $3); }
    ;
partition_opt: %empty { $$ = -1; } | "partition" INTEGER { $$ = INT64($2); };
rows: row                       { $$ = list_new(s, constant_list); PUSH($$, $1); }
    | rows row                  { $$ = $1; PUSH($$, $2); }
    ;
row:  '(' ')'                   { $$ = constant_new(s, CONST_ROW, @$); }
    | '(' row_entries ')'       { $$ = $2; $$->span = @$; }
    | '(' row_entries ',' ')'   { $$ = $2; $$->span = @$; }
    ;
row_entries:
      row_entry                 {
            $$ = constant_new(s, CONST_ROW, @$);
            constant_row_add(s, $$, $1);
        }
    | row_entries ',' row_entry { $$ = $1; constant_row_add(s, $$, $3); }
    ;
row_entry: name ':' constant    { $$ = (struct row_entry){ $1, $3 }; };
constant:
      signed
    | STRING                    {
            $$ = constant_new(s, CONST_STRING, @$);
            $$->text = $1.text;
            $$->text_bytes = $1.text_bytes;
        }
    | DURATION                  { $$ = constant_new(s, CONST_DURATION, @$); $$->duration_ms = $1; }
    | SIZE                      { $$ = constant_new(s, CONST_SIZE, @$); $$->size_bytes = $1; }
    | "true"                    { $$ = constant_new(s, CONST_BOOL, @$); $$->boolean = true; }
    | "false"                   { $$ = constant_new(s, CONST_BOOL, @$); }
    | "null"                    { $$ = constant_new(s, CONST_NULL, @$); }
    | row
    | '[' ']'                   { $$ = constant_new(s, CONST_ARRAY, @$); }
    | '[' constants ']'         {
            $$ = constant_new(s, CONST_ARRAY, @$);
            vec_assign(&$$->items, $2);
        }
    ;
constants:
      constant                  { $$ = list_new(s, constant_list); PUSH($$, $1); }
    | constants ',' constant    { $$ = $1; PUSH($$, $3); }
    ;
signed:
      number                    { $$ = constant_number(s, @$, $1, false); }
    | '-' number                { $$ = constant_number(s, @$, $2, true); }
    ;

evolve_body:
      "evolve" "from" "plan" STRING { $$ = statement_titled(s, STATEMENT_EVOLVE, @$, $4); }
    | evolve_body decision      { $$ = $1; PUSH(&$$->decisions, *$2); }
    ;
decision:
      "renamed" name "to" name  { $$ = decision_new(s, DECIDE_RENAMED, @$, $2); $$->to = $4; }
    | decision_kind name "because" STRING   {
            $$ = decision_new(s, $1, @$, $2);
            $$->because = $4.text;
        }
    ;
decision_kind:
      "forward"                 { $$ = DECIDE_FORWARD; }
    | "rebuild"                 { $$ = DECIDE_REBUILD; }
    | "reset"                   { $$ = DECIDE_RESET; }
    | "drop"                    { $$ = DECIDE_DROP; }
    | "from" "now"              { $$ = DECIDE_FROM_NOW; }
    ;

expr: and
    | expr "or" and             { $$ = expr_binary(s, OP_OR, $1, $3); }
    ;
and:  not
    | and "and" not             { $$ = expr_binary(s, OP_AND, $1, $3); }
    ;
not:  predicate
    | "not" not                 { $$ = expr_unary(s, @$, OP_NOT, $2); }
    ;
predicate:
      value
    | value comparison value    { $$ = expr_binary(s, $2, $1, $3); }
    | value "is" not_opt "null" { $$ = expr_is_null(s, @$, $1, $3); }
    | value not_opt "between" value "and" value { $$ = expr_between(s, @$, $1, $2, $4, $6); }
    | value not_opt "in" '(' in_list ')'    { $$ = expr_in(s, @$, $1, $2, $5); }
    | value not_opt "like" STRING   { $$ = expr_like(s, EXPR_LIKE, @$, $1, $2, $4); }
    | value not_opt "matches" STRING    { $$ = expr_like(s, EXPR_MATCHES, @$, $1, $2, $4); }
    ;
not_opt: %empty { $$ = false; } | "not" { $$ = true; };
comparison:
      '='                       { $$ = OP_EQ; }
    | NOT_EQUAL                 { $$ = OP_NE; }
    | '<'                       { $$ = OP_LT; }
    | LESS_EQUAL                { $$ = OP_LE; }
    | '>'                       { $$ = OP_GT; }
    | GREATER_EQUAL             { $$ = OP_GE; }
    ;
value:
      sum
    | value CONCAT sum          { $$ = expr_binary(s, OP_CONCAT, $1, $3); }
    ;
sum:  term
    | sum '+' term              { $$ = expr_binary(s, OP_ADD, $1, $3); }
    | sum '-' term              { $$ = expr_binary(s, OP_SUB, $1, $3); }
    ;
term: factor
    | term '*' factor           { $$ = expr_binary(s, OP_MUL, $1, $3); }
    | term '/' factor           { $$ = expr_binary(s, OP_DIV, $1, $3); }
    | term '%' factor           { $$ = expr_binary(s, OP_MOD, $1, $3); }
    ;
factor:
      primary
    | '-' factor                { $$ = expr_unary(s, @$, OP_NEG, $2); }
    ;
primary:
      INTEGER                   { $$ = expr_number(s, EXPR_INTEGER, $1); }
    | DECIMAL                   { $$ = expr_number(s, EXPR_DECIMAL, $1); }
    | STRING                    { $$ = expr_string(s, $1); }
    | DURATION                  { $$ = expr_new(s, EXPR_DURATION, @$); $$->duration_ms = $1; }
    | SIZE                      { $$ = expr_new(s, EXPR_SIZE, @$); $$->size_bytes = $1; }
    | "true"                    { $$ = expr_new(s, EXPR_BOOL, @$); $$->boolean = true; }
    | "false"                   { $$ = expr_new(s, EXPR_BOOL, @$); }
    | "null"                    { $$ = expr_new(s, EXPR_NULL, @$); }
    | path                      { $$ = expr_path(s, @$, $1); }
    | name '(' ')'              { $$ = expr_call(s, @$, $1, NULL); }
    | name '(' exprs ')'        { $$ = expr_call(s, @$, $1, $3); }
    | '(' expr ')'              { $$ = $2; $$->span = @$; }
    | "cast" '(' expr "as" type ')' { $$ = expr_cast(s, @$, $3, $5); }
    | "try" '(' expr ',' expr ')'   { $$ = expr_try(s, @$, $3, $5); }
    | "case" subject whens else_opt "end"   { $$ = expr_case(s, @$, $2, $3, $4); }
    ;
exprs:
      expr                      { $$ = list_new(s, expr_list); PUSH($$, $1); }
    | exprs ',' expr            { $$ = $1; PUSH($$, $3); }
    ;
subject: %empty { $$ = NULL; } | value;
whens:
      "when" expr "then" expr   {
            $$ = list_new(s, when_list);
            PUSH($$, ((struct when){ $2, $4 }));
        }
    | whens "when" expr "then" expr { $$ = $1; PUSH($$, ((struct when){ $3, $5 })); }
    ;
else_opt: %empty { $$ = NULL; } | "else" expr { $$ = $2; };
in_list:
      in_expr                   { $$ = list_new(s, expr_list); PUSH($$, $1); }
    | in_list ',' in_expr       { $$ = $1; PUSH($$, $3); }
    ;
in_expr:
      INTEGER                   { $$ = expr_number(s, EXPR_INTEGER, $1); }
    | DECIMAL                   { $$ = expr_number(s, EXPR_DECIMAL, $1); }
    | '-' INTEGER               { $$ = expr_negative(s, EXPR_INTEGER, @$, $2); }
    | '-' DECIMAL               { $$ = expr_negative(s, EXPR_DECIMAL, @$, $2); }
    | STRING                    { $$ = expr_string(s, $1); }
    | DURATION                  { $$ = expr_new(s, EXPR_DURATION, @$); $$->duration_ms = $1; }
    | SIZE                      { $$ = expr_new(s, EXPR_SIZE, @$); $$->size_bytes = $1; }
    ;

free_word: "pipeline" | "contract" | "accepts" | "compatible" | "none" | "backward" | "forward"
    | "full" | "transitive" | "source" | "stream" | "sink" | "slo" | "fresh" | "within" | "for"
    | "percent" | "of" | "traffic" | "into" | "test" | "given" | "expect" | "nothing" | "evolve"
    | "plan" | "commit" | "every" | "kafka" | "topic" | "file" | "stdout" | "clickhouse"
    | "iceberg" | "partitions" | "key" | "format" | "header" | "columns" | "event" | "time"
    | "watermark" | "idle" | "advance" | "ahead" | "tombstones" | "avro" | "json" | "jsonl"
    | "csv" | "text" | "bytes" | "parquet" | "tumbling" | "offset" | "hopping" | "session" | "gap"
    | "max" | "on" | "close" | "final" | "update" | "except" | "table" | "order" | "sort"
    | "partition" | "target" | "upsert" | "version" | "delete" | "append" | "revisions" | "rollup"
    | "exactly" | "once" | "at" | "least" | "pause" | "steps" | "field" | "per" | "unique"
    | "uniform" | "pick" | "fault" | "duplicate" | "out" | "up" | "value" | "poison" | "renamed"
    | "rebuild" | "reset" | "now" | "because";

%%

static int yyreport_syntax_error(const yypcontext_t *context, struct syntax *s)
{
    enum { MOST = YYNTOKENS };
    yysymbol_kind_t kinds[MOST];
    const char *expected[MOST];
    bool is_shown = !diag_is_full(s->program);
    int count = is_shown ? yypcontext_expected_tokens(context, kinds, MOST) : 0;
    for (int i = 0; i < count; i++)
        expected[i] = yysymbol_name(kinds[i]);
    syntax_error(s, yysymbol_name(yypcontext_token(context)), *yypcontext_location(context),
                 expected, count > 0 ? (size_t)count : 0);
    return 0;
}

/* Called by bison for one reason only: its stack is at its limit. */
static void yyerror(const struct span *at, struct syntax *s, const char *message)
{
    (void)message;
    lexical_error(s, PC1009, *at, "nested more than %d levels deep", SYNTAX_MAX_NESTING);
}
