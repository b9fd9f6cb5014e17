/* Reading Avro schemas. */
#include "schema_files.h"

#define RECORD(fields) "{'type':'record','name':'r','fields':[" fields "]}"
#define FIELD(type) RECORD("{'name':'a','type':" type "}")
#define DEFAULT(type, value) RECORD("{'name':'a','type':" type ",'default':" value "}")

/* Canonical forms and fingerprints as the Python library fastavro gives them. */
static void test_fingerprints(void **state)
{
    (void)state;
    static const struct {
        const char *schema, *canonical;
        uint64_t fingerprint;
    } rows[] = {
        {"{'type':'record','name':'r','fields':[{'name':'a','type':'int'}]}",
         "{'name':'r','type':'record','fields':[{'name':'a','type':'int'}]}", 0x9b552a4793cd3630},
        {"{'fields':[{'type':{'logicalType':'timestamp-millis','type':'long'},'doc':'x',"
         "'name':'t','default':0}],'name':'click','namespace':'com.shop','type':'record',"
         "'aliases':['old']}",
         "{'name':'com.shop.click','type':'record','fields':[{'name':'t','type':'long'}]}",
         0xa6ffb2107062eb1d},
        {"{'type':'record','name':'a.b.r','fields':[{'name':'e','type':{'type':'enum','name':'E',"
         "'symbols':['A','B'],'default':'A'}},{'name':'f','type':['null','E']},{'name':'x','type':"
         "{'type':'fixed','name':'c.F','size':16}},{'name':'m','type':{'type':'map','values':"
         "{'type':'array','items':['string','null']}}}]}",
         "{'name':'a.b.r','type':'record','fields':[{'name':'e','type':{'name':'a.b.E','type':"
         "'enum','symbols':['A','B']}},{'name':'f','type':['null','a.b.E']},{'name':'x','type':"
         "{'name':'c.F','type':'fixed','size':16}},{'name':'m','type':{'type':'map','values':"
         "{'type':'array','items':['string','null']}}}]}",
         0xa2d659903424a27b},
        {"{'type':'record','name':'r','namespace':'n','fields':[{'name':'i','type':{'type':"
         "'record','name':'i','namespace':'','fields':[{'name':'x','type':{'type':'string'}}]}},"
         "{'name':'d','type':{'type':'bytes','logicalType':'decimal','precision':4}}]}",
         "{'name':'n.r','type':'record','fields':[{'name':'i','type':{'name':'i','type':'record',"
         "'fields':[{'name':'x','type':'string'}]}},{'name':'d','type':'bytes'}]}",
         0xfbcb58da06931d60},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program *program = program_new(NULL);
        struct schema *schema = load(program, "v7.avsc", rows[i].schema);
        char *canonical = strdup(schema->canonical);
        for (char *c = canonical; *c != '\0'; c++)
            *c = *c == '"' ? '\'' : *c;
        assert_string_equal(canonical, rows[i].canonical);
        assert_int_equal(schema->fingerprint, rows[i].fingerprint);
        assert_string_equal(schema->label, "v7");
        free(canonical);
        program_free(program);
    }
}

static const struct field *field_of(const struct schema *schema, const char *name)
{
    for (size_t i = 0; i < schema->record->field_count; i++)
        if (strcmp(schema->record->fields[i].name, name) == 0)
            return &schema->record->fields[i];
    fail_msg("no field %s", name);
    return NULL;
}

static void test_types(void **state)
{
    (void)state;
    static const struct {
        const char *written;
        enum type_kind kind;
    } rows[] = {
        {"'boolean'", TYPE_BOOL},
        {"'int'", TYPE_INT32},
        {"{'type':'long'}", TYPE_INT64},
        {"'float'", TYPE_FLOAT32},
        {"'double'", TYPE_FLOAT64},
        {"'bytes'", TYPE_BYTES},
        {"'string'", TYPE_STRING},
        {"{'type':'int','logicalType':'date'}", TYPE_DATE},
        {"{'type':'long','logicalType':'timestamp-millis'}", TYPE_TIMESTAMP_MS},
        {"{'type':'long','logicalType':'timestamp-micros'}", TYPE_TIMESTAMP_US},
        {"{'type':'long','logicalType':'pipec.duration-ms'}", TYPE_DURATION},
        {"{'type':'string','logicalType':'uuid'}", TYPE_UUID},
        {"{'type':'string','logicalType':'json'}", TYPE_STRING},
        {"{'type':'bytes','logicalType':'decimal','precision':38,'scale':38}", TYPE_DECIMAL},
        {"{'type':'fixed','name':'f','size':2,'logicalType':'decimal','precision':4}",
         TYPE_DECIMAL},
        {"{'type':'fixed','name':'f','size':16}", TYPE_BYTES},
        {"{'type':'enum','name':'e','symbols':['A']}", TYPE_ENUM},
        {"{'type':'array','items':'int'}", TYPE_ARRAY},
        {"{'type':'map','values':'int'}", TYPE_MAP},
        {"{'type':'record','name':'q','fields':[{'name':'x','type':'int'}]}", TYPE_RECORD},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program *program = program_new(NULL);
        struct text schema = {0};
        text_printf(&schema,
                    RECORD("{'name':'a','type':%s},{'name':'b','type':['null','int']},"
                           "{'name':'c','type':['int','null'],'default':7}"),
                    rows[i].written);
        struct schema *loaded = load(program, "v1.avsc", schema.data);
        assert_int_equal(field_of(loaded, "a")->type->kind, rows[i].kind);
        assert_false(field_of(loaded, "a")->nullable);
        assert_true(field_of(loaded, "b")->nullable && field_of(loaded, "b")->null_first);
        assert_true(field_of(loaded, "c")->nullable && !field_of(loaded, "c")->null_first);
        assert_true(field_of(loaded, "c")->has_default && !field_of(loaded, "b")->has_default);
        assert_int_equal(json_integer_value(field_of(loaded, "c")->default_value), 7);
        assert_string_equal(field_of(loaded, "b")->written_type, "[\"null\", \"int\"]");
        assert_null(program->diags);
        text_free(&schema);
        program_free(program);
    }
}

static void test_details(void **state)
{
    (void)state;
    struct program *program = program_new(NULL);
    struct schema *schema =
        load(program, "v1.avsc",
             "{'type':'record','name':'n.r','aliases':['q','m.s'],'fields':[\n"
             "{'name':'e','aliases':['f','g'],'type':{'type':'enum','name':'x.E','aliases':['D'],\n"
             " 'symbols':['A','B'],'default':'B'}},\n"
             "{'name':'again','type':'x.E'},\n"
             "{'name':'d','type':{'type':'fixed','size':3,'name':'F','logicalType':'decimal',\n"
             " 'precision':5,'scale':2}},\n"
             "{'name':'j','type':{'type':'string','logicalType':'json'},'default':'{}'},\n"
             "{'name':'l','type':{'type':'array','items':['null',{'type':'map','values':\n"
             "  ['string','null']}]}}]}");
    const struct record_type *record = schema->record;
    assert_string_equal(record->name, "r");
    assert_string_equal(record->full_name, "n.r");
    assert_int_equal(record->alias_count, 2);
    assert_string_equal(record->aliases[0], "n.q");
    assert_string_equal(record->aliases[1], "m.s");
    const struct field *e = field_of(schema, "e");
    assert_string_equal(e->aliases[1], "g");
    assert_string_equal(e->type->full_name, "x.E");
    assert_string_equal(e->type->enum_name, "E");
    assert_string_equal(e->type->aliases[0], "x.D");
    assert_string_equal(e->type->enum_default, "B");
    assert_ptr_equal(field_of(schema, "again")->type, e->type);
    const struct type *decimal = field_of(schema, "d")->type;
    assert_int_equal(decimal->precision, 5);
    assert_int_equal(decimal->scale, 2);
    assert_int_equal(decimal->fixed_bytes, 3);
    assert_true(field_of(schema, "j")->type->is_json);
    const struct type *list = field_of(schema, "l")->type;
    assert_true(list->element_nullable && list->element_null_first);
    assert_true(list->element->element_nullable && !list->element->element_null_first);
    program_free(program);
}

/* A field's place is that of its name, also in inner records and beside look-alikes. */
static void test_places(void **state)
{
    (void)state;
    struct program *program = program_new(NULL);
    struct schema *schema = load(program, "v1.avsc",
                                 "{'type':'record','doc':'{\\'name\\': \\'x\\'}','fields':[\n"
                                 "  {'doc':'[','type':{'type':'record','name':'x','fields':[\n"
                                 "     {'name':'y','type':'int'}]},\n"
                                 "   'name':'x'},\n"
                                 "  {'name' : 'z', 'type':'x'}],'name':'r'}");
    unsigned line, column;
    span_position(field_of(schema, "x")->span, &line, &column);
    assert_int_equal(line, 4);
    assert_int_equal(column, 11);
    span_position(field_of(schema, "x")->type->record->fields[0].span, &line, &column);
    assert_int_equal(line, 3);
    assert_int_equal(column, 14);
    struct span z = field_of(schema, "z")->span;
    assert_int_equal(z.end - z.begin, 3);
    assert_int_equal(strncmp(z.source->text + z.begin, "\"z\"", 3), 0);
    assert_int_equal(strncmp(z.source->text + schema->record->span.begin, "\"r\"", 3), 0);
    program_free(program);
}

static const char *const good_defaults[] = {
    DEFAULT("['null','int']", "null"),
    DEFAULT("['int','null']", "-2147483648"),
    DEFAULT("'long'", "9223372036854775807"),
    DEFAULT("'float'", "1"),
    DEFAULT("'double'", "1.5e300"),
    DEFAULT("'double'", "100000000000000000000"),
    DEFAULT("'float'", "-9223372036854775809"),
    DEFAULT("'string'", "'a\\u0000b'"),
    DEFAULT("'bytes'", "'\\u0000'"),
    DEFAULT("{'type':'fixed','name':'f','size':2}", "'\\u0000a'"),
    DEFAULT("{'type':'bytes','logicalType':'decimal','precision':2}", "'\\u0000'"),
    DEFAULT("'bytes'", "'\\u00ff\\u0001'"),
    DEFAULT("{'type':'fixed','name':'f','size':2}", "'ab'"),
    DEFAULT("'string'", "''"),
    DEFAULT("{'type':'enum','name':'e','symbols':['A','B']}", "'B'"),
    DEFAULT("{'type':'array','items':['null','int']}", "[null]"),
    DEFAULT("{'type':'map','values':'int'}", "{'a':1}"),
    DEFAULT("{'type':'record','name':'q','fields':[{'name':'x','type':'int'},"
            "{'name':'y','type':'int','default':1}]}",
            "{'x':1}"),
    DEFAULT("{'type':'bytes','logicalType':'decimal','precision':2}", "'\\u0063'"),
    DEFAULT("{'type':'bytes','logicalType':'decimal','precision':2}", "'\\u009d'"),
    DEFAULT("{'type':'string','logicalType':'uuid'}", "'01234567-89ab-cdef-0123-456789ABCDEF'"),
    DEFAULT("{'type':'int','logicalType':'date'}", "2932896"),
};

static void test_good_defaults(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good_defaults / sizeof *good_defaults; i++) {
        struct program *program = program_new(NULL);
        struct schema *schema = load(program, "v1.avsc", good_defaults[i]);
        assert_true(schema->record->fields[0].has_default);
        program_free(program);
    }
}

struct malformed {
    enum code code;
    const char *says;
    const char *schema;
};

static void expect_malformed(const struct malformed *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct program *program = program_new(NULL);
        write_schema("v1.avsc", rows[i].schema);
        struct schema *schema = schema_load(program, "v1.avsc", (struct span){0});
        char *out = printed(program);
        if (schema != NULL || strstr(out, code_name(rows[i].code)) == NULL ||
            strstr(out, rows[i].says) == NULL || strstr(out, "v1.avsc") == NULL)
            fail_msg("%s\nshould give %s `%s`, not\n%s", rows[i].schema, code_name(rows[i].code),
                     rows[i].says, out);
        free(out);
        program_free(program);
    }
}

static const struct malformed malformed_json[] = {
    {PC5003, "the file is empty", ""},
    {PC5003, "the file ends too early", "{'type':'record'"},
    {PC5003, "the file ends too early", "{'type':'record','name':'r','fields':["},
    {PC5003, "something follows", RECORD("{'name':'a','type':'int'}") "}"},
    {PC5003, "not JSON", "{'type':'record',}"},
    {PC5003, "not JSON", "record"},
    {PC5003, "not JSON", "{'type' 'record'}"},
    {PC5003, "a key stands twice", "{'type':'record','name':'r','name':'s','fields':[]}"},
    {PC5003, "v1.avsc:2:", "{'type':'record',\n  'type':'record','name':'r','fields':[]}"},
    {PC5003, "not JSON", "{'type':'record','name':'a\\x','fields':[]}"},
    {PC5003, "no default and no doc holds a NUL",
     "{'type':'record','name':'a\\u0000','fields':[]}"},
    {PC5003, "no default and no doc holds a NUL",
     RECORD("{'name':'a','type':'string\\u0000x','default':'\\u0000'}")},
    {PC5003, "no default and no doc holds a NUL", DEFAULT("['string\\u0000']", "1e20")},
    {PC5003, "NUL", DEFAULT("{'type':'map','values':'int'}", "{'a\\u0000':1}")},
    {PC5003, "v1.avsc:2:11", DEFAULT("'double'", "100000000000000000000},\n{'name' : x")},
    {PC5003, "not JSON", DEFAULT("'double'", "1e999")},
    {PC5003, "not JSON", DEFAULT("'double'", "NaN")},
    {PC5004, "not the schema of a record", "'int'"},
    {PC5004, "not the schema of a record", "null"},
    {PC5004, "not the schema of a record", "[1,2]"},
    {PC5004, "not the schema of a record", "{'type':'enum','name':'e','symbols':['A']}"},
    {PC5004, "wrap it", "{'type':'array','items':'int'}"},
};

static const struct malformed malformed_records[] = {
    {PC5005, "must have `\"type\": \"record\"`", "{}"},
    {PC5005, "must have `\"type\": \"record\"`", "{'type':7,'name':'r','fields':[]}"},
    {PC5005, "`name` is missing", "{'type':'record','fields':[]}"},
    {PC5005, "`name` in the schema must be a string", "{'type':'record','name':1,'fields':[]}"},
    {PC5005, "must have `fields`", "{'type':'record','name':'r'}"},
    {PC5005, "must have `fields`", "{'type':'record','name':'r','fields':{}}"},
    {PC5005, "has no fields", RECORD("")},
    {PC5005, "must be an object", RECORD("'a'")},
    {PC5005, "`name` is missing", RECORD("{'type':'int'}")},
    {PC5005, "field `a` has no `type`", RECORD("{'name':'a'}")},
    {PC5005, "is not a type: 7", FIELD("7")},
    {PC5005, "is not a type: null", FIELD("null")},
    {PC5005, "must name a type", FIELD("{'type':{'type':'int'}}")},
    {PC5005, "must name a type", FIELD("{}")},
    {PC5005, "must be an array", RECORD("{'name':'a','type':'int','aliases':'b'}")},
    {PC5005, "the array of field `a` must have `items`", FIELD("{'type':'array'}")},
    {PC5005, "the map of field `a` must have `values`", FIELD("{'type':'map'}")},
    {PC5005, "a `size` from 1", FIELD("{'type':'fixed','name':'f','size':0}")},
    {PC5005, "a `size` from 1", FIELD("{'type':'fixed','name':'f','size':-1}")},
    {PC5005, "a `size` from 1", FIELD("{'type':'fixed','name':'f','size':'16'}")},
    {PC5005, "a `size` from 1", FIELD("{'type':'fixed','name':'f'}")},
    {PC5005, "`logicalType` of field `a`", FIELD("{'type':'long','logicalType':1}")},
    {PC5006, "is not an Avro name: \"a-b\"", RECORD("{'name':'a-b','type':'int'}")},
    {PC5006, "is not an Avro name: \"\"", RECORD("{'name':'','type':'int'}")},
    {PC5006, "is not an Avro name: \"1a\"", RECORD("{'name':'1a','type':'int'}")},
    {PC5006, "is not an Avro name: \"a.b\"", RECORD("{'name':'a.b','type':'int'}")},
    {PC5006, "is not an Avro name: \"größe\"", RECORD("{'name':'größe','type':'int'}")},
    {PC5006, "a type's name", "{'type':'record','name':'a..b','fields':[]}"},
    {PC5006, "a type's name", "{'type':'record','name':'.b','fields':[]}"},
    {PC5006, "a namespace", "{'type':'record','name':'b','namespace':'x.','fields':[]}"},
    {PC5006, "a namespace", "{'type':'record','name':'b','namespace':3,'fields':[]}"},
    {PC5006, "an alias", RECORD("{'name':'a','type':'int','aliases':['b.c']}")},
    {PC5006, "an alias", RECORD("{'name':'a','type':'int','aliases':[1]}")},
    {PC5006, "primitive type", "{'type':'record','name':'int','fields':[]}"},
    {PC5007, "two fields `a`", RECORD("{'name':'a','type':'int'},{'name':'a','type':'long'}")},
    {PC5007, "record `q` has two",
     FIELD("{'type':'record','name':'q','fields':[{'name':'b','type':'int'},"
           "{'name':'b','type':'int'}]}")},
    {PC5008, "type `e` is defined twice",
     RECORD("{'name':'a','type':{'type':'enum','name':'e','symbols':['A']}},"
            "{'name':'b','type':{'type':'fixed','name':'e','size':4}}")},
};

static const struct malformed malformed_types[] = {
    {PC5009, "did you mean `string`?", FIELD("'strin'")},
    {PC5009, "did you mean `double`?", FIELD("'Double'")},
    {PC5009, "did you mean `n.color`?",
     "{'type':'record','name':'n.r','fields':[{'name':'a','type':{'type':'enum','name':'color',"
     "'symbols':['A']}},{'name':'b','type':'colour'}]}"},
    {PC5009, "before its first use",
     RECORD("{'name':'a','type':'later'},"
            "{'name':'b','type':{'type':'fixed','name':'later','size':4}}")},
    {PC5009, "unknown type, `fixed`", FIELD("'fixed'")},
    {PC5010, "type `r` contains itself, through `a[]`", FIELD("{'type':'array','items':'r'}")},
    {PC5010, "through `a.b{}`",
     FIELD("['null',{'type':'record','name':'q','fields':[{'name':'b','type':{'type':'map',"
           "'values':['null','q']}}]}]")},
    {PC5011, "field `a` is always null", FIELD("'null'")},
    {PC5011, "not an optional value: [\"int\"]", FIELD("['int']")},
    {PC5011, "not an optional value: []", FIELD("[]")},
    {PC5011, "not an optional value: [\"null\", \"int\", \"string\"]",
     FIELD("['null','int','string']")},
    {PC5011, "not an optional value", FIELD("['null','null']")},
    {PC5011, "not an optional value", FIELD("['int','string']")},
    {PC5011, "field `a` has a union inside a union", FIELD("['null',['null','int']]")},
    {PC5011, "field `a[]{}` is a union",
     FIELD("{'type':'array','items':{'type':'map','values':['int','long']}}")},
    {PC5013, "must have `symbols`", FIELD("{'type':'enum','name':'e'}")},
    {PC5013, "must have `symbols`", FIELD("{'type':'enum','name':'e','symbols':[]}")},
    {PC5013, "symbol \"A\" of enum `e` stands twice",
     FIELD("{'type':'enum','name':'e','symbols':['A','A']}")},
    {PC5013, "symbol \"a b\" of enum `e` is not a name",
     FIELD("{'type':'enum','name':'e','symbols':['a b']}")},
    {PC5013, "symbol 1 of enum", FIELD("{'type':'enum','name':'e','symbols':[1]}")},
    {PC5013, "did you mean `BLUE`?",
     FIELD("{'type':'enum','name':'e','symbols':['RED','BLUE'],'default':'BLEU'}")},
    {PC5014, "must have a `precision`", FIELD("{'type':'bytes','logicalType':'decimal'}")},
    {PC5014, "must have a `precision`",
     FIELD("{'type':'bytes','logicalType':'decimal','precision':39}")},
    {PC5014, "from 0 to its precision, 4",
     FIELD("{'type':'bytes','logicalType':'decimal','precision':4,'scale':5}")},
    {PC5014, "from 0 to its precision",
     FIELD("{'type':'bytes','logicalType':'decimal','precision':4,'scale':-1}")},
    {PC5014, "a fixed of 2 bytes holds 4 digits",
     FIELD("{'type':'fixed','name':'f','size':2,'logicalType':'decimal','precision':5}")},
};

static const struct malformed malformed_defaults[] = {
    {PC5012, "\"x\" is not int", DEFAULT("'int'", "'x'")},
    {PC5012, "1.0 is not int", DEFAULT("'int'", "1.0")},
    {PC5012, "2147483648 is out of the range of int", DEFAULT("'int'", "2147483648")},
    {PC5012, "null is not int", DEFAULT("['int','null']", "null")},
    {PC5012, "write \"null\" first", DEFAULT("['int','null']", "null")},
    {PC5012, "0 is not null", DEFAULT("['null','int']", "0")},
    {PC5012, "write the type before \"null\"", DEFAULT("['null','int']", "0")},
    {PC5012, "1 is not a boolean", DEFAULT("'boolean'", "1")},
    {PC5012, "7 is not a string", DEFAULT("'string'", "7")},
    {PC5012, "is not bytes", DEFAULT("'bytes'", "'\\u0100'")},
    {PC5012, "has 3 bytes, not 2", DEFAULT("{'type':'fixed','name':'f','size':2}", "'abc'")},
    {PC5012, "no symbol of enum `e`", DEFAULT("{'type':'enum','name':'e','symbols':['A']}", "'B'")},
    {PC5012, "is not an array", DEFAULT("{'type':'array','items':'int'}", "{}")},
    {PC5012, "\"x\" is not int", DEFAULT("{'type':'array','items':'int'}", "[1,'x']")},
    {PC5012, "\"x\" is not int", DEFAULT("{'type':'map','values':'int'}", "{'a':'x'}")},
    {PC5012, "its `x` is missing",
     DEFAULT("{'type':'record','name':'q','fields':[{'name':'x','type':'int'}]}", "{}")},
    {PC5012, "in `x`, \"1\" is not int",
     DEFAULT("{'type':'record','name':'q','fields':[{'name':'x','type':'int'}]}", "{'x':'1'}")},
    {PC5012, "more than 2 digits",
     DEFAULT("{'type':'bytes','logicalType':'decimal','precision':2}", "'\\u0064'")},
    {PC5012, "more than 2 digits",
     DEFAULT("{'type':'bytes','logicalType':'decimal','precision':2}", "'\\u009c'")},
    {PC5012, "at least one byte",
     DEFAULT("{'type':'bytes','logicalType':'decimal','precision':2}", "''")},
    {PC5012, "is not a UUID", DEFAULT("{'type':'string','logicalType':'uuid'}", "''")},
    {PC5012, "is not JSON text", DEFAULT("{'type':'string','logicalType':'json'}", "'{'")},
    {PC5012, "out of the range of a date",
     DEFAULT("{'type':'int','logicalType':'date'}", "2932897")},
    {PC5012, "out of the range of an instant in ms",
     DEFAULT("{'type':'long','logicalType':'timestamp-millis'}", "253402300800000")},
    {PC5012, "is not finite as a float", DEFAULT("'float'", "1e39")},
};

static void test_malformed(void **state)
{
    (void)state;
#define EXPECT(rows) expect_malformed(rows, sizeof rows / sizeof *rows)
    EXPECT(malformed_json);
    EXPECT(malformed_records);
    EXPECT(malformed_types);
    EXPECT(malformed_defaults);
#undef EXPECT
}

/* Each error of a file is reported, with the path of its field, and what names the file. */
static void test_all_errors(void **state)
{
    (void)state;
    struct program *program = program_new(NULL);
    struct source *pipe = source_from_text(program, "shop.pipe", "contract c from 'v1.avsc';", 26);
    program->source = pipe;
    write_schema("v1.avsc", RECORD("\n{'name':'a','type':'itn'},\n"
                                   "{'name':'b','type':{'type':'array','items':{'type':'record',"
                                   "'name':'q','fields':[\n{'name':'c','type':['int']}]}}},\n"
                                   "{'name':'d','type':'q'},\n"
                                   "{'name':'e','type':'int','default':null}"));
    assert_null(schema_load(program, "v1.avsc", (struct span){pipe, 16, 25}));
    assert_int_equal(diag_error_count(program), 3);
    assert_says(program, "field `a` has an unknown type, `itn`\n --> v1.avsc:2:20");
    assert_says(program, "field `b[].c` is a union");
    assert_says(program, "the default of field `e`");
    assert_says(program, " ::: shop.pipe:1:17\n  |\n1 | contract c from 'v1.avsc';\n"
                         "  |                 --------- of this contract\n");
    program_free(program);
}

static void test_unknown_logical_type(void **state)
{
    (void)state;
    struct program *program = program_new(NULL);
    struct schema *schema =
        load(program, "v1.avsc",
             RECORD("{'name':'a','type':{'type':'int','logicalType':'time-millis'}},"
                    "{'name':'b','type':{'type':'long','logicalType':'date'}}"));
    assert_int_equal(field_of(schema, "a")->type->kind, TYPE_INT32);
    assert_int_equal(field_of(schema, "b")->type->kind, TYPE_INT64);
    assert_int_equal(diag_error_count(program), 0);
    assert_says(program, "warning[W5001]: logical type `time-millis` of field `a` is not known on "
                         "int: it is read as plain int");
    assert_says(program, "`date` belongs to int");
    program_free(program);
}

static void expect_too_large(const char *schema, const char *says)
{
    struct program *program = program_new(NULL);
    write_schema("v1.avsc", schema);
    assert_null(schema_load(program, "v1.avsc", (struct span){0}));
    assert_says(program, says);
    program_free(program);
}

static void test_limits(void **state)
{
    (void)state;
    struct text schema = {0};
    text_puts(&schema, "{'type':'record','name':'r','fields':[{'name':'a','type':");
    for (int i = 0; i < 65; i++)
        text_puts(&schema, "{'type':'array','items':");
    text_puts(&schema, "'int'");
    for (int i = 0; i < 65; i++)
        text_puts(&schema, "}");
    text_puts(&schema, "}]}");
    expect_too_large(schema.data, "nested more than 64 levels deep");

    schema.size = 0;
    for (int i = 0; i < 500000; i++)
        text_puts(&schema, "[");
    expect_too_large(schema.data, "nested too deep");

    schema.size = 0;
    text_puts(&schema, "{'type':'record','name':'r','fields':[");
    for (int i = 0; i < 4097; i++)
        text_printf(&schema, "%s{'name':'f%d','type':'int'}", i > 0 ? "," : "", i);
    text_puts(&schema, "]}");
    expect_too_large(schema.data, "more than 4096 fields");

    schema.size = 0;
    for (int i = 0; i < 1024 * 1024 + 1; i++)
        text_puts(&schema, " ");
    expect_too_large(schema.data, "larger than 1048576 bytes");
    text_free(&schema);
}

/* Each record holds the one before twice: 2^40 fields, if they were written out. */
static void test_references_that_double(void **state)
{
    (void)state;
    struct text schema = {0};
    text_puts(&schema, "{'type':'record','name':'r','fields':[");
    for (int i = 0; i < 40; i++) {
        text_printf(&schema, "%s{'name':'f%d','type':{'type':'record','name':'t%d','fields':[",
                    i > 0 ? "," : "", i, i);
        if (i == 0)
            text_puts(&schema, "{'name':'x','type':'int'}");
        else
            text_printf(&schema, "{'name':'x','type':'t%d'},{'name':'y','type':'t%d'}", i - 1,
                        i - 1);
        text_puts(&schema, "]}}");
    }
    text_puts(&schema, "]}");
    expect_too_large(schema.data, "goes beyond 4096 fields or 64 levels");
    text_free(&schema);
}

static void test_files(void **state)
{
    (void)state;
    struct program *program = program_new(NULL);
    assert_null(schema_load(program, "gone.avsc", (struct span){0}));
    assert_says(program, "cannot read `gone.avsc`: No such file");
    assert_null(schema_load(program, ".", (struct span){0}));
    assert_says(program, "it is a directory");
    program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fingerprints),  cmocka_unit_test(test_types),
        cmocka_unit_test(test_details),       cmocka_unit_test(test_places),
        cmocka_unit_test(test_good_defaults), cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_all_errors),    cmocka_unit_test(test_unknown_logical_type),
        cmocka_unit_test(test_limits),        cmocka_unit_test(test_references_that_double),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, files_set_up, files_tear_down);
}
