/*
 * contracts_push.c: `NAME contracts push`: the contracts of the pipeline's topics in the schema
 * registry. The subject of a topic is TOPIC-value; it is set to FULL_TRANSITIVE before its versions
 * are registered, oldest first.
 *
 * A registry says little about a schema that it refuses, so the two schemas that do not fit are
 * found here and the field is named: by the rules by which records are read (avro_compatible.c).
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "avro_schema_tree.h"
#include "engine.h"
#include "options.h"
#include "registry.h"
#include "regular_file.h"

#define LEVEL "FULL_TRANSITIVE"
#define SCHEMA_BYTES (256u << 10) /* without blanks */
#define FILE_BYTES (1 << 20)

struct push {
    const struct pipe_plan *plan;
    struct pipe_registry *registry;
    const char *schema_file, *contract; /* --schema, --contract */
    char *schema;                       /* what the file holds; NULL: the contract's versions */
    bool pushes;                        /* the word `push` was there */
    char subject[300], path[900];       /* of the topic in hand; the path is escaped */
    char error[512];
    uint32_t refused;
};

/* ---- Talking to the registry ---- */

/* The answer as JSON, to be decref-ed; NULL: error, or it is no JSON. */
static json_t *call(struct push *push, const char *method, const char *path, const char *body,
                    int *status)
{
    struct pipe_http_answer answer = {0};
    struct pipe_str text = {body, body != NULL ? strlen(body) : 0};
    json_t *json = NULL;
    *status = 0;
    if (pipe_registry_call(push->registry, method, path, text, &answer, push->error,
                           sizeof push->error)) {
        *status = answer.status;
        json = json_loadb((const char *)answer.body.data, answer.body.size, JSON_DECODE_ANY, NULL);
        if (json == NULL)
            snprintf(push->error, sizeof push->error,
                     "%s answers with status %d, but not as a schema registry does: see "
                     "PIPE_REGISTRY_URL",
                     pipe_registry_url(push->registry), *status);
    }
    pipe_buf_free(&answer.body);
    return json;
}

static bool unexpected(struct push *push, const char *what, int status, const json_t *answer)
{
    const char *message = json_string_value(json_object_get(answer, "message"));
    snprintf(push->error, sizeof push->error, "%s: the registry answers with status %d%s%.300s",
             what, status, message != NULL ? ": " : "", message != NULL ? message : "");
    pipe_schema_clean(push->error);
    return false;
}

static bool set_level(struct push *push)
{
    char path[1000];
    int status;
    snprintf(path, sizeof path, "/config/%s", push->path);
    json_t *answer = call(push, "PUT", path, "{\"compatibility\":\"" LEVEL "\"}", &status);
    bool ok = answer != NULL && (status == 200 || unexpected(push, push->subject, status, answer));
    json_decref(answer);
    return ok;
}

/* ---- Why a schema is refused ---- */

/* One direction: `reader` reads what `writer` wrote. */
static void explain_pair(const char *reader, const char *reader_name, const char *writer,
                         const char *writer_name, bool *found)
{
    char error[256] = "";
    struct pipe_writer_schema *into =
        pipe_writer_schema_parse(reader, strlen(reader), error, sizeof error);
    struct pipe_writer_schema *from =
        pipe_writer_schema_parse(writer, strlen(writer), error, sizeof error);
    if (into != NULL && from != NULL &&
        !pipe_schema_compatible(pipe_writer_schema_root(into), pipe_writer_schema_root(from), false,
                                error, sizeof error)) {
        printf("  %s cannot read %s: %s\n", reader_name, writer_name, error);
        *found = true;
    }
    pipe_writer_schema_free(into);
    pipe_writer_schema_free(from);
}

static void explain_version(struct push *push, json_int_t number, const char *schema,
                            const char *label, bool *found)
{
    char path[1000], name[340];
    int status;
    snprintf(path, sizeof path, "/subjects/%s/versions/%lld", push->path, (long long)number);
    json_t *answer = call(push, "GET", path, NULL, &status);
    const char *text = json_string_value(json_object_get(answer, "schema"));
    if (status == 200 && text != NULL) {
        snprintf(name, sizeof name, "version %lld of %s", (long long)number, push->subject);
        explain_pair(schema, label, text, name, found);
        explain_pair(text, name, schema, label, found);
    }
    json_decref(answer);
}

static bool explain_refusal(struct push *push, const char *schema, const char *label,
                            const char *message)
{
    char path[1000];
    int status;
    bool found = false;
    push->refused++;
    printf("%s: %s is refused\n", push->subject, label);
    snprintf(path, sizeof path, "/subjects/%s/versions", push->path);
    json_t *numbers = call(push, "GET", path, NULL, &status);
    for (size_t i = 0; status == 200 && i < json_array_size(numbers); i++)
        explain_version(push, json_integer_value(json_array_get(numbers, i)), schema, label,
                        &found);
    bool ok = numbers != NULL;
    json_decref(numbers);
    if (!found && message != NULL) { /* by another rule than ours */
        snprintf(push->error, sizeof push->error, "%.400s", message);
        pipe_schema_clean(push->error);
        printf("  the registry says: %s\n", push->error);
    }
    return ok;
}

/* ---- Pushing ---- */

static bool push_schema(struct push *push, const char *schema, const char *label)
{
    char path[1000];
    int status;
    json_t *request = json_pack("{s:s,s:s}", "schema", schema, "schemaType", "AVRO");
    char *body = request != NULL ? json_dumps(request, JSON_COMPACT) : NULL;
    json_decref(request);
    if (body == NULL) {
        snprintf(push->error, sizeof push->error, "%s is not UTF-8", label);
        return false;
    }
    snprintf(path, sizeof path, "/subjects/%s/versions", push->path);
    json_t *answer = call(push, "POST", path, body, &status);
    free(body);
    const json_t *id = json_object_get(answer, "id");
    const char *message = json_string_value(json_object_get(answer, "message"));
    bool ok = answer != NULL;
    if (ok && status == 200 && json_is_integer(id))
        printf("%s: %s is schema id %lld\n", push->subject, label,
               (long long)json_integer_value(id));
    else if (ok && (status == 409 || status == 422))
        ok = explain_refusal(push, schema, label, message);
    else if (ok)
        ok = unexpected(push, push->subject, status, answer);
    json_decref(answer);
    return ok;
}

static bool push_versions(struct push *push, const struct pipe_contract *contract)
{
    for (uint32_t v = contract->version_count; v > 0; v--) {
        const struct pipe_contract_version *version = &contract->versions[v - 1];
        char label[160];
        snprintf(label, sizeof label, "%.100s %.50s", contract->name, version->label);
        if (!push_schema(push, version->schema_json, label))
            return false;
    }
    return true;
}

static bool refuse_file(struct push *push, const char *why)
{
    snprintf(push->error, sizeof push->error, "%s: %s", push->schema_file, why);
    return false;
}

/* The text of --schema without blanks; false, and push->error says why. A schema that the registry
 * would refuse for other reasons than its rules is refused here, with the line, and before anything
 * is changed there. */
static bool read_file(struct push *push)
{
    struct stat about;
    json_error_t cause;
    FILE *file = pipe_fopen_regular(push->schema_file);
    if (file == NULL)
        return refuse_file(push, pipe_regular_reason(errno));
    if (fstat(fileno(file), &about) != 0 || about.st_size > FILE_BYTES) {
        fclose(file);
        return refuse_file(push, "the file is longer than 1 MiB");
    }
    json_t *json = json_loadf(file, JSON_ALLOW_NUL, &cause);
    fclose(file);
    if (json == NULL) {
        snprintf(push->error, sizeof push->error, "%s:%d: %s", push->schema_file, cause.line,
                 cause.text);
        return false;
    }
    push->schema = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    if (push->schema == NULL)
        pipe_out_of_memory();
    return strlen(push->schema) <= SCHEMA_BYTES ||
           refuse_file(push, "the schema is longer than 256 KiB");
}

static bool push_source(struct push *push, const struct pipe_source_def *source)
{
    snprintf(push->subject, sizeof push->subject, "%.255s-value", source->target);
    if (!pipe_registry_subject(push->subject, push->path, sizeof push->path)) {
        snprintf(push->error, sizeof push->error, "the subject %s is too long", push->subject);
        return false;
    }
    return set_level(push) &&
           (push->schema != NULL ? push_schema(push, push->schema, push->schema_file)
                                 : push_versions(push, source->contract));
}

static bool push_all(struct push *push)
{
    const struct pipe_plan *plan = push->plan;
    uint32_t pushed = 0;
    for (uint32_t i = 0; i < plan->source_count; i++) {
        const struct pipe_source_def *source = &plan->sources[i];
        bool wanted =
            source->is_kafka && source->format == PIPE_FORMAT_AVRO && source->contract != NULL &&
            (push->contract == NULL || strcmp(source->contract->name, push->contract) == 0);
        if (!wanted)
            continue;
        pushed++;
        if (!push_source(push, source))
            return false;
    }
    if (pushed == 0)
        snprintf(push->error, sizeof push->error, "no topic is read with %s%s",
                 push->contract != NULL ? "contract " : "a contract in Avro",
                 push->contract != NULL ? push->contract : "");
    return pushed > 0;
}

/* ---- Options ---- */

static const char *take_schema(void *push, const char *value)
{
    ((struct push *)push)->schema_file = value;
    return value[0] != '\0' ? NULL : "expected a file";
}

static const char *take_contract(void *push, const char *value)
{
    ((struct push *)push)->contract = value;
    return value[0] != '\0' ? NULL : "expected the name of a contract";
}

static const char *take_push(void *context, const char *word)
{
    struct push *push = context;
    if (push->pushes || strcmp(word, "push") != 0)
        return "expected push";
    push->pushes = true;
    return NULL;
}

static const struct option_row rows[] = {
    {"--schema", "FILE", "register this schema as the next version instead", take_schema},
    {"--contract", "NAME", "only the topics with this contract", take_contract},
};

static const struct option_command command = {
    .name = "contracts",
    .usage = "contracts push [options]",
    .intro =
        "Registers the versions of the contract of each topic that is read, oldest first, under\n"
        "the subject TOPIC-value, with compatibility " LEVEL ", and prints their ids. What is\n"
        "there already keeps its id.\n\n"
        "environment:\n"
        "  PIPE_REGISTRY_URL                            http(s)://host:port[/path]\n"
        "  PIPE_REGISTRY_USER, PIPE_REGISTRY_PASSWORD   or PIPE_REGISTRY_TOKEN; each also …_FILE\n"
        "  PIPE_REGISTRY_CA_FILE                        certificates to trust, PEM\n\n"
        "Exit: 0 all are registered, 1 one is refused or the registry does not answer, 2 usage.\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof rows[0],
    .take_word = take_push,
};

/* 0, -1: help was printed, or an exit code after a message. */
static int take_options(struct push *push, int argc, char **argv)
{
    const char *name = push->plan->name;
    int code = option_read(push->plan, &command, argc, argv, push);
    if (code != 0 || push->pushes)
        return code;
    fprintf(stderr, "%s contracts: what? %s contracts push registers them\n", name, name);
    return PIPE_EXIT_USAGE;
}

int pipe_contracts_main(const struct pipe_plan *plan, int argc, char **argv)
{
    struct push push = {.plan = plan};
    int code = take_options(&push, argc, argv);
    if (code != 0)
        return code < 0 ? PIPE_EXIT_OK : code;
    push.registry = pipe_registry_open(push.error, sizeof push.error);
    if (push.registry == NULL) {
        fprintf(stderr, "%s contracts: %s\n", plan->name,
                push.error[0] != '\0' ? push.error
                                      : "where is the registry? set PIPE_REGISTRY_URL");
        return PIPE_EXIT_USAGE;
    }
    bool ok = (push.schema_file == NULL || read_file(&push)) && push_all(&push);
    if (!ok) {
        fflush(stdout);
        fprintf(stderr, "%s contracts: %s\n", plan->name, push.error);
    }
    pipe_registry_close(push.registry);
    free(push.schema);
    return ok && push.refused == 0 ? PIPE_EXIT_OK : PIPE_EXIT_DATA;
}
