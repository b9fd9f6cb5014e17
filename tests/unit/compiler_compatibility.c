/* Versions of a contract against each other, resolution, derived schemas, `contracts check`. */
#include "schema_files.h"

#define RECORD(fields) "{'type':'record','name':'r','fields':[" fields "]}"
#define A(type) RECORD("{'name':'a','type':" type "}")
#define ENUM(symbols, more) "{'type':'enum','name':'e','symbols':[" symbols "]" more "}"
#define FIXED(name, size) "{'type':'fixed','name':'" name "','size':" size "}"
#define DECIMAL(p, s) "{'type':'bytes','logicalType':'decimal','precision':" p ",'scale':" s "}"
#define LOGICAL(base, name) "{'type':'" base "','logicalType':'" name "'}"
#define IN_LIST(type) "{'type':'array','items':" type "}"
#define NONE ((enum code)CODE_COUNT)

/* versions: newest first, up to a NULL. */
static struct contract contract_of(struct program *program, const char *const *versions,
                                   enum compatibility compatibility, bool transitive)
{
    struct contract contract = {
        .name = {.text = "c"}, .compatibility = compatibility, .transitive = transitive};
    size_t count = 0;
    while (versions[count] != NULL)
        count++;
    contract.versions = arena_alloc(program->arena, (count + 1) * sizeof *contract.versions);
    for (size_t i = 0; i < count; i++) {
        const char *path = arena_printf(program->arena, "v%zu.avsc", count - i);
        contract.versions[contract.version_count++] = load(program, path, versions[i]);
    }
    return contract;
}

/* Can `reader` read `writer`? */
static const struct pair {
    const char *reader, *writer;
    enum code code; /* NONE: yes */
    const char *says;
} pairs[] = {
    {A("'int'"), A("'int'"), NONE, ""},
    {A("'long'"), A("'int'"), NONE, ""},
    {A("'float'"), A("'int'"), NONE, ""},
    {A("'double'"), A("'int'"), NONE, ""},
    {A("'float'"), A("'long'"), NONE, ""},
    {A("'double'"), A("'long'"), NONE, ""},
    {A("'double'"), A("'float'"), NONE, ""},
    {A("'bytes'"), A("'string'"), NONE, ""},
    {A("'string'"), A("'bytes'"), NONE, ""},
    {A("['null','long']"), A("'int'"), NONE, ""},
    {A("['null','int']"), A("['int','null']"), NONE, ""},
    {A("'int'"), A("'long'"), PC5021, "field `a` is long in @w, which is not read as int"},
    {A("'float'"), A("'double'"), PC5021, "double in @w"},
    {A("'int'"), A("'string'"), PC5021, "string in @w"},
    {A("'boolean'"), A("'int'"), PC5021, "int in @w"},
    {A("'int'"), A("['null','int']"), PC5022, "field `a` may be null in @w"},
    {A(IN_LIST("'int'")), A(IN_LIST("['null','int']")), PC5022, "field `a[]` may be null"},
    {A(IN_LIST("'int'")), A("'int'"), PC5021, "int in @w, which is not read as array"},
    {A("{'type':'map','values':'int'}"), A("{'type':'map','values':'string'}"), PC5021,
     "field `a{}` is string in @w"},
    {RECORD("{'name':'a','type':'int'},{'name':'b','type':'int','default':0}"), A("'int'"), NONE,
     ""},
    {RECORD("{'name':'a','type':'int'},{'name':'b','type':'string'}"), A("'int'"), PC5020,
     "field `b`, of type \"string\", is not in @w and has no default in @r"},
    {RECORD("{'name':'a','type':'int'},{'name':'b','type':['null','int']}"), A("'int'"), PC5020,
     "field `b`, of type [\"null\", \"int\"], is not in @w and has no default in @r"},
    {A("'int'"), RECORD("{'name':'b','type':'int'},{'name':'a','type':'int'}"), NONE, ""},
    {RECORD("{'name':'b','aliases':['x','a'],'type':'long'}"), A("'int'"), NONE, ""},
    {RECORD("{'name':'b','aliases':['a'],'type':'int'}"), A("'string'"), PC5021,
     "field `b` is string in @w"},
    {RECORD("{'name':'b','aliases':['a'],'type':'int'},{'name':'a','type':'int'}"), A("'int'"),
     PC5028, "both `b` and `a` stand for its field `a`"},
    {A(ENUM("'A','B','C'", "")), A(ENUM("'C','A'", "")), NONE, ""},
    {A(ENUM("'A'", ",'default':'A'")), A(ENUM("'C','A'", "")), NONE, ""},
    {A(ENUM("'A'", "")), A(ENUM("'C','A','D'", "")), PC5023,
     "enum `e` of field `a` lacks `C`, `D` and has no default"},
    {A("'string'"), A(ENUM("'A'", "")), PC5021, "enum in @w, which is not read as string"},
    {A(FIXED("f", "4")), A(FIXED("n.f", "4")), NONE, ""},
    {A(FIXED("f", "4")), A(FIXED("f", "5")), PC5024, "a fixed of 5 bytes in @w and of 4 in @r"},
    {A(FIXED("f", "4")), A(FIXED("g", "4")), PC5027, "is `g` in @w and `f` in @r"},
    {A("{'type':'fixed','name':'f','size':4,'aliases':['g']}"), A(FIXED("g", "4")), NONE, ""},
    {A("'bytes'"), A(FIXED("f", "4")), PC5021, "fixed in @w, which is not read as bytes"},
    {A(DECIMAL("9", "2")), A(DECIMAL("9", "2")), NONE, ""},
    {A(DECIMAL("9", "2")), A(DECIMAL("9", "3")), PC5025, "decimal(9,3) in @w and decimal(9,2)"},
    {A(DECIMAL("9", "2")), A(DECIMAL("8", "2")), PC5025, "decimal(8,2) in @w"},
    {A(DECIMAL("9", "2")), A("'bytes'"), PC5026, "field `a` changed its logical type"},
    {A("'bytes'"), A(DECIMAL("9", "2")), PC5026, "changed its logical type"},
    {A(LOGICAL("long", "timestamp-millis")), A("'long'"), PC5026, "changed its logical type"},
    {A(LOGICAL("long", "timestamp-millis")), A("'int'"), PC5026, "changed its logical type"},
    {A(LOGICAL("long", "timestamp-millis")), A(LOGICAL("long", "timestamp-micros")), PC5026,
     "changed its logical type"},
    {A("'int'"), A(LOGICAL("int", "date")), PC5026, "changed its logical type"},
    {A("'string'"), A(LOGICAL("string", "uuid")), PC5026, "changed its logical type"},
    {A(LOGICAL("string", "json")), A("'string'"), PC5026, "changed its logical type"},
    {A("'int'"), A(LOGICAL("long", "timestamp-millis")), PC5021, "long in @w"},
    {A("{'type':'record','name':'q','fields':[{'name':'x','type':'int'}]}"),
     A("{'type':'record','name':'q','fields':[{'name':'x','type':'string'}]}"), PC5021,
     "field `a.x` is string in @w"},
    {A(IN_LIST("{'type':'record','name':'q','fields':[{'name':'x','type':'int'}]}")),
     A(IN_LIST("{'type':'record','name':'q','fields':[{'name':'y','type':'int'}]}")), PC5020,
     "field `a[].x`, of type \"int\", is not in @w"},
    {A("{'type':'record','name':'q','fields':[{'name':'x','type':'int'}]}"),
     A("{'type':'record','name':'p','fields':[{'name':'x','type':'int'}]}"), PC5027,
     "the type of field `a` is `p` in @w and `q` in @r"},
    {"{'type':'record','name':'n.r','fields':[{'name':'a','type':'int'}]}", A("'int'"), NONE, ""},
    {"{'type':'record','name':'s','fields':[{'name':'a','type':'int'}]}", A("'int'"), PC5027,
     "the type of the record `s` is `r` in @w and `s` in @r"},
    {"{'type':'record','name':'s','aliases':['r'],'fields':[{'name':'a','type':'int'}]}",
     A("'int'"), NONE, ""},
};

/* With the names of writer and reader for @w and @r. */
static const char *with_names(struct program *program, const char *says, const char *writer,
                              const char *reader)
{
    struct text text = {0};
    text_puts(&text, "");
    for (; *says != '\0'; says++) {
        if (says[0] == '@')
            text_puts(&text, *++says == 'w' ? writer : reader);
        else
            text_add(&text, says, 1);
    }
    const char *copy = arena_strndup(program->arena, text.data, text.size);
    text_free(&text);
    return copy;
}

/* What is proposed is to be done in the newer version: the older one is published. */
static void test_help(void **state)
{
    static const struct {
        const char *newer, *older;
        enum compatibility kind;
        bool transitive;
        const char *help;
    } rows[] = {
        {RECORD("{'name':'a','type':'int'},{'name':'b','type':['null','int']}"), A("'int'"),
         COMPATIBLE_BACKWARD, false, "help: add \"default\": null to `b` in v2.avsc"},
        {A("'int'"), RECORD("{'name':'a','type':'int'},{'name':'b','type':'int'}"),
         COMPATIBLE_FORWARD, false, "help: keep `b` in v2.avsc; give it a \"default\" there"},
        {A("'int'"), RECORD("{'name':'a','type':'int'},{'name':'b','type':'int'}"), COMPATIBLE_FULL,
         true, "help: keep `b` in v2.avsc: all older versions have to read it"},
        {A(ENUM("'A'", "")), A(ENUM("'A','B'", "")), COMPATIBLE_BACKWARD, false,
         "help: keep all symbols in v2.avsc"},
        {A(ENUM("'A','B'", "")), A(ENUM("'A'", "")), COMPATIBLE_FORWARD, false,
         "help: add no symbol in v2.avsc; give the enum a \"default\" there"},
        {A("['null','int']"), A("'int'"), COMPATIBLE_FORWARD, false,
         "help: keep \"null\" out of its type in v2.avsc"},
        {A("'string'"), A("'int'"), COMPATIBLE_FULL, false, "help: keep the type in v2.avsc"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program *program = program_new(NULL);
        const char *versions[] = {rows[i].newer, rows[i].older, NULL};
        struct contract contract = contract_of(program, versions, rows[i].kind, rows[i].transitive);
        assert_false(contract_check(program, &contract, (struct span){0}));
        char *out = printed(program);
        if (strstr(out, rows[i].help) == NULL)
            fail_msg("row %zu should give `%s`, not\n%s", i, rows[i].help, out);
        free(out);
        program_free(program);
    }
}

/* In each direction: the newer version reads the older one, and the other way round. */
static void test_pairs(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * (sizeof pairs / sizeof *pairs); i++) {
        const struct pair *pair = &pairs[i / 2];
        bool forward = i % 2 == 1;
        struct program *program = program_new(NULL);
        const char *versions[] = {forward ? pair->writer : pair->reader,
                                  forward ? pair->reader : pair->writer, NULL};
        struct contract contract = contract_of(
            program, versions, forward ? COMPATIBLE_FORWARD : COMPATIBLE_BACKWARD, false);
        /* `from` must read what is accepted, so a forward pair can break in both directions. */
        bool compatible = contract_check(program, &contract, (struct span){0});
        assert_int_equal(compatible, diag_error_count(program) == 0);
        const char *says =
            with_names(program, pair->says, forward ? "v2" : "v1", forward ? "v1" : "v2");
        char *out = printed(program);
        if (pair->code == NONE) {
            if (!forward && !compatible)
                fail_msg("row %zu: %s", i / 2, out);
            assert_null(strstr(out, forward ? "v1 cannot read v2" : "cannot read"));
        } else if (strstr(out, code_name(pair->code)) == NULL || strstr(out, says) == NULL ||
                   strstr(out, forward ? "v1 cannot read v2" : "v2 cannot read v1") == NULL) {
            fail_msg("row %zu should give %s `%s`, not\n%s", i / 2, code_name(pair->code), says,
                     out);
        }
        free(out);
        program_free(program);
    }
}

/* v3 has a field that v2 can miss; v1 has it with another type. */
static const char *const three[] = {
    RECORD("{'name':'a','type':'int'},{'name':'b','type':'int','default':0}"),
    A("'int'"),
    RECORD("{'name':'a','type':'int'},{'name':'b','type':'string','default':''}"),
    NULL,
};

static unsigned breaks(enum compatibility compatibility, bool transitive)
{
    struct program *program = program_new(NULL);
    struct contract contract = contract_of(program, three, compatibility, transitive);
    contract_check(program, &contract, (struct span){0});
    unsigned count = diag_error_count(program);
    program_free(program);
    return count;
}

static void test_reach(void **state)
{
    (void)state;
    /* Whatever is declared, v3 must read v1. */
    assert_int_equal(breaks(COMPATIBLE_NONE, false), 1);
    assert_int_equal(breaks(COMPATIBLE_FULL, false), 1);
    assert_int_equal(breaks(COMPATIBLE_BACKWARD, true), 1);
    assert_int_equal(breaks(COMPATIBLE_FORWARD, true), 2);
    assert_int_equal(breaks(COMPATIBLE_FULL, true), 2);
}

static void test_message(void **state)
{
    (void)state;
    struct program *program = program_new(NULL);
    struct source *pipe = source_from_text(program, "shop.pipe", "contract c", 10);
    program->source = pipe;
    const char *versions[] = {"{'type':'record','name':'r','fields':[\n"
                              "  {'name':'price','type':'string'},\n"
                              "  {'name':'more','type':'int'}]}",
                              "{'type':'record','name':'r','fields':[\n"
                              "  {'name':'price','type':['null','double']}]}",
                              NULL};
    struct contract contract = contract_of(program, versions, COMPATIBLE_BACKWARD, false);
    assert_false(contract_check(program, &contract, (struct span){pipe, 9, 10}));
    assert_int_equal(diag_error_count(program), 3);
    assert_says(program,
                "error[PC5021]: contract `c`: v2 cannot read v1: field `price` is double in v1, "
                "which is not read as string\n"
                " --> v2.avsc:2:11\n"
                "  |\n"
                "2 |   {\"name\":\"price\",\"type\":\"string\"},\n"
                "  |           ^^^^^^^ \"string\"\n"
                " ::: v1.avsc:2:11\n"
                "  |\n"
                "2 |   {\"name\":\"price\",\"type\":[\"null\",\"double\"]}]}\n"
                "  |           ------- [\"null\", \"double\"]\n"
                " ::: shop.pipe:1:10\n"
                "  |\n"
                "1 | contract c\n"
                "  |          - of this contract\n"
                "  |\n"
                "  = note: Avro reads int as long");
    assert_says(program, "`compatible backward`: a newer version reads what an older one wrote");
    program_free(program);
}

static void test_resolve(void **state)
{
    (void)state;
    struct program *program = program_new(NULL);
    struct schema *writer =
        load(program, "v1.avsc",
             RECORD("{'name':'gone','type':'int'},{'name':'old','type':'int'},"
                    "{'name':'list','type':{'type':'array','items':{'type':'record','name':'q',"
                    "'fields':[{'name':'x','type':'int'},{'name':'y','type':'int'}]}}},"
                    "{'name':'again','type':['null','q']}"));
    struct schema *reader =
        load(program, "v2.avsc",
             RECORD("{'name':'new','type':'long','aliases':['old']},"
                    "{'name':'list','type':{'type':'array','items':{'type':'record','name':'q',"
                    "'fields':[{'name':'y','type':'long'},{'name':'z','type':'int','default':3}]}}}"
                    ",{'name':'again','type':['null','q']},"
                    "{'name':'extra','type':'string','default':'-'}"));
    const struct resolve_record *top = contract_resolve(program, writer, reader);
    assert_int_equal(top->field_count, 4);
    assert_int_equal(top->fields[0].action, RESOLVE_SKIP);
    assert_null(top->fields[0].reader);
    assert_int_equal(top->fields[1].action, RESOLVE_READ);
    assert_string_equal(top->fields[1].reader->name, "new");
    assert_int_equal(top->defaulted_count, 1);
    assert_string_equal(top->defaulted[0]->name, "extra");
    const struct resolve_record *inner = top->fields[2].record;
    assert_non_null(inner);
    assert_ptr_equal(top->fields[3].record, inner);
    assert_int_equal(inner->fields[0].action, RESOLVE_SKIP);
    assert_string_equal(inner->fields[1].reader->name, "y");
    assert_string_equal(inner->defaulted[0]->name, "z");

    const struct resolve_record *same = contract_resolve(program, reader, reader);
    assert_int_equal(same->defaulted_count, 0);
    for (size_t i = 0; i < same->field_count; i++)
        assert_ptr_equal(same->fields[i].reader, same->fields[i].writer);
    program_free(program);
}

static void test_derive(void **state)
{
    (void)state;
    struct program *program = program_new(NULL);
    struct schema *schema = load(
        program, "v1.avsc",
        RECORD("{'name':'t','type':" LOGICAL(
            "long",
            "timestamp-micros") "},"
                                "{'name':'d','type':['null'," DECIMAL(
                                    "9", "2") "]},"
                                              "{'name':'e','type':" ENUM(
                                                  "'A','B'",
                                                  "") "},"
                                                      "{'name':'e2','type':['e','null']},"
                                                      "{'name':'f','type':" FIXED(
                                                          "n.derived",
                                                          "4") "},"
                                                               "{'name':'q','type':{'type':'record'"
                                                               ",'name':'m.e','fields':["
                                                               "{'name':'u','type':" LOGICAL(
                                                                   "string",
                                                                   "uuid") "}]}},"
                                                                           "{'name':'m','type':{'"
                                                                           "type':'map','values':['"
                                                                           "null','m.e']}}"));
    const char *derived = schema_derive(program, "derived", schema->record);
    assert_string_equal(
        derived,
        "{\"type\":\"record\",\"name\":\"derived\",\"fields\":["
        "{\"name\":\"t\",\"type\":{\"type\":\"long\",\"logicalType\":\"timestamp-micros\"}},"
        "{\"name\":\"d\",\"type\":[\"null\",{\"type\":\"bytes\",\"logicalType\":\"decimal\","
        "\"precision\":9,\"scale\":2}]},"
        "{\"name\":\"e\",\"type\":{\"type\":\"enum\",\"name\":\"e\",\"symbols\":[\"A\",\"B\"]}},"
        "{\"name\":\"e2\",\"type\":[\"e\",\"null\"]},"
        "{\"name\":\"f\",\"type\":{\"type\":\"fixed\",\"name\":\"derived_2\",\"size\":4}},"
        "{\"name\":\"q\",\"type\":{\"type\":\"record\",\"name\":\"e_2\",\"fields\":["
        "{\"name\":\"u\",\"type\":{\"type\":\"string\",\"logicalType\":\"uuid\"}}]}},"
        "{\"name\":\"m\",\"type\":{\"type\":\"map\",\"values\":[\"null\",\"e_2\"]}}]}");
    assert_non_null(load(program, "derived.avsc", derived));
    assert_null(schema_derive(program, "a-b", schema->record));
    struct field column = {.name = "a b", .type = schema->record->fields[0].type};
    struct record_type row = {.name = "row", .fields = &column, .field_count = 1};
    assert_null(schema_derive(program, "x", &row));
    program_free(program);
}

static char *checked(const char *directory, int expected_code, char **messages)
{
    struct program *program = program_new(NULL);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct text summary = {0};
    assert_int_equal(contracts_check_directory(program, directory, out, &summary), expected_code);
    fputs(summary.data, out);
    text_free(&summary);
    fclose(out);
    *messages = printed(program);
    program_free(program);
    return text;
}

static void expect_checked(const char *directory, int code, const char *out, const char *message)
{
    char *messages;
    char *text = checked(directory, code, &messages);
    if (strstr(text, out) == NULL || strstr(messages, message) == NULL)
        fail_msg("`%s` and `%s` not in:\n%s%s", out, message, text, messages);
    free(text);
    free(messages);
}

static void test_directory(void **state)
{
    (void)state;
    static const char *const folders[] = {"all", "all/click", "all/click/breaking", "all/order",
                                          "none"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        assert_int_equal(mkdir(folders[i], 0700), 0);
    write_schema("all/click/v1.avsc", A("'int'"));
    write_schema("all/click/v2.avsc", A("'int'"));
    write_schema("all/click/v10.avsc",
                 RECORD("{'name':'a','type':'int'},{'name':'b','type':'int','default':1}"));
    write_schema("all/click/breaking/v1.avsc", "nonsense");
    write_schema("all/click/README.md", "no schema");
    write_schema("all/order/v1.avsc", A("'int'"));
    assert_int_equal(symlink("../click", "all/order/linked"), 0);
    expect_checked("all/", 0,
                   "click v1  9b552a4793cd3630  1 field\n"
                   "click v2  9b552a4793cd3630  1 field\n"
                   "click v10  ",
                   "");
    expect_checked("all", 0, "click  full: compatible\n", "");
    expect_checked("all", 0, "all/order/linked: a link to a folder, not followed\n", "");
    expect_checked("all", 0, "2 subjects, 4 versions: all compatible\n", "");
    expect_checked("all/order", 0, "order v1  ", "");

    write_schema("all/click/breaking/v1.avsc", A("'string'"));
    write_schema("all/click/breaking/widened.avsc",
                 RECORD("{'name':'a','type':'int'},{'name':'c','type':'int','default':1}"));
    expect_checked("all/click/breaking", 1, "v1 as v11: not compatible\n", "cannot read v10");
    expect_checked("all/click/breaking", 1, "widened as v11: compatible\n", "");
    expect_checked("all/click/breaking/", 1, "1 subject, 2 versions: ", "error[PC5021]");

    write_schema("all/order/v2.avsc", A("'long'"));
    expect_checked("all", 1, "order  full: not compatible\n", "v1 cannot read v2");
    write_schema("all/order/compatibility", "backward transitive\n");
    expect_checked("all", 0, "order  backward transitive: compatible\n", "");
    write_schema("all/order/compatibility", "sideways");
    expect_checked("all", 1, "1 error\n", "error[PC5001]: `all/order/compatibility` does not");
    write_schema("all/order/compatibility", "none");
    write_schema("all/order/v3.avsc", "{");
    expect_checked("all", 1, "order v3  not usable\n", "the file ends too early");
    write_schema("all/order/v3.avsc", A("'string'"));
    write_schema("all/order/draft.avsc", A("'string'"));
    expect_checked("all", 1, "1 error\n", "`all/order/draft.avsc` is not the name of a version");
    expect_checked("none", 1, "0 subjects, 0 versions: 1 error\n", "has no schema to check");
    expect_checked("gone", 1, "1 error\n", "cannot read the folder `gone`: No such file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),     cmocka_unit_test(test_help),
        cmocka_unit_test(test_reach),     cmocka_unit_test(test_message),
        cmocka_unit_test(test_resolve),   cmocka_unit_test(test_derive),
        cmocka_unit_test(test_directory),
    };
    return cmocka_run_group_tests(tests, files_set_up, files_tear_down);
}
