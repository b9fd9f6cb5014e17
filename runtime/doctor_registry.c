/* doctor_registry.c: the schema registry. See doctor.h. */
#include <jansson.h>

#include "doctor.h"
#include "registry.h"

#define AREA "registry"
#define NO_SUCH_SUBJECT 40401
#define NO_SUCH_SCHEMA 40403

/* The status, and the answer as JSON (NULL: it is none); 0: no answer, and that was told. */
static int ask(struct doctor *doctor, struct pipe_registry *registry, const char *method,
               const char *path, const char *body, json_t **json)
{
    struct pipe_http_answer answer;
    char error[512];
    int status = 0;
    *json = NULL;
    if (pipe_registry_call(registry, method, path,
                           pipe_str_of(body, body != NULL ? strlen(body) : 0), &answer, error,
                           sizeof error)) {
        status = answer.status;
        *json = json_loadb((char *)answer.body.data, answer.body.size, JSON_DECODE_ANY, NULL);
    } else {
        doctor_find(doctor, DOCTOR_PROBLEM, AREA, "check PIPE_REGISTRY_URL and that it runs", "%s",
                    error);
    }
    pipe_buf_free(&answer.body);
    return status;
}

static void judge_version(struct doctor *doctor, const char *subject, const char *label, int status,
                          const json_t *answer)
{
    json_int_t code = json_integer_value(json_object_get(answer, "error_code"));
    char advice[160];
    snprintf(advice, sizeof advice, "%.100s contracts push", doctor->plan->name);
    if (status == 200)
        doctor_find(doctor, DOCTOR_OK, AREA, NULL, "%s: %s is schema id %lld", subject, label,
                    (long long)json_integer_value(json_object_get(answer, "id")));
    else if (status == 404 && (code == NO_SUCH_SUBJECT || code == NO_SUCH_SCHEMA))
        doctor_find(doctor, DOCTOR_PROBLEM, AREA, advice, "%s: %s is not registered", subject,
                    label);
    else
        doctor_find(doctor, DOCTOR_PROBLEM, AREA,
                    status == 401 || status == 403
                        ? "check PIPE_REGISTRY_USER and PIPE_REGISTRY_PASSWORD, and their rights"
                        : "check PIPE_REGISTRY_URL",
                    "%s: the registry answers with status %d", subject, status);
}

static void check_versions(struct doctor *doctor, struct pipe_registry *registry,
                           const struct pipe_contract *contract, const char *subject,
                           const char *escaped)
{
    char path[1000], label[160];
    snprintf(path, sizeof path, "/subjects/%s", escaped);
    for (uint32_t v = contract->version_count; v > 0; v--) {
        const struct pipe_contract_version *version = &contract->versions[v - 1];
        json_t *request =
            json_pack("{s:s,s:s}", "schema", version->schema_json, "schemaType", "AVRO");
        char *body = request != NULL ? json_dumps(request, JSON_COMPACT) : NULL;
        json_t *answer = NULL;
        snprintf(label, sizeof label, "%.100s %.50s", contract->name, version->label);
        int status = ask(doctor, registry, "POST", path, body, &answer);
        if (status != 0)
            judge_version(doctor, subject, label, status, answer);
        json_decref(answer);
        json_decref(request);
        free(body);
    }
}

/* That the registry refuses what this program could not read. */
static void check_level(struct doctor *doctor, struct pipe_registry *registry, const char *subject,
                        const char *escaped)
{
    char path[1000], advice[160];
    json_t *answer = NULL;
    snprintf(path, sizeof path, "/config/%s?defaultToGlobal=true", escaped);
    int status = ask(doctor, registry, "GET", path, NULL, &answer);
    const char *level = json_string_value(json_object_get(answer, "compatibilityLevel"));
    bool good =
        level != NULL && (strncmp(level, "FULL", 4) == 0 || strncmp(level, "BACKWARD", 8) == 0);
    snprintf(advice, sizeof advice, "%.100s contracts push sets FULL_TRANSITIVE",
             doctor->plan->name);
    if (status == 200 && level != NULL)
        doctor_find(doctor, good ? DOCTOR_OK : DOCTOR_PROBLEM, AREA, good ? NULL : advice,
                    "%s: compatibility is %s", subject, level);
    else if (status != 0)
        doctor_find(doctor, DOCTOR_NOTE, AREA, advice,
                    "%s: the registry does not tell its compatibility (status %d)", subject,
                    status);
    json_decref(answer);
}

static void check_source(struct doctor *doctor, struct pipe_registry *registry,
                         const struct pipe_source_def *source)
{
    char subject[300], escaped[900];
    snprintf(subject, sizeof subject, "%.255s-value", source->target);
    if (!pipe_registry_subject(subject, escaped, sizeof escaped)) {
        doctor_find(doctor, DOCTOR_PROBLEM, AREA, NULL, "the subject %s is too long", subject);
        return;
    }
    check_level(doctor, registry, subject, escaped);
    check_versions(doctor, registry, source->contract, subject, escaped);
}

void doctor_registry(struct doctor *doctor)
{
    const struct pipe_plan *plan = doctor->plan;
    char error[512];
    struct pipe_registry *registry = pipe_registry_open(error, sizeof error);
    if (registry == NULL) {
        if (error[0] != '\0')
            doctor_find(doctor, DOCTOR_PROBLEM, AREA, NULL, "%s", error);
        else
            doctor_find(doctor, DOCTOR_SKIPPED, AREA, NULL, "PIPE_REGISTRY_URL is not set");
        return;
    }
    json_t *answer = NULL;
    int status = ask(doctor, registry, "GET", "/subjects", NULL, &answer);
    bool good = status == 200 && json_is_array(answer);
    json_decref(answer);
    if (good)
        doctor_find(doctor, DOCTOR_OK, AREA, NULL, "%s answers", pipe_registry_url(registry));
    else if (status != 0)
        doctor_find(doctor, DOCTOR_PROBLEM, AREA, "check PIPE_REGISTRY_URL, user and password",
                    "%s answers with status %d, not as a schema registry does",
                    pipe_registry_url(registry), status);
    for (uint32_t i = 0; good && i < plan->source_count; i++) {
        const struct pipe_source_def *source = &plan->sources[i];
        if (source->is_kafka && source->format == PIPE_FORMAT_AVRO && source->contract != NULL)
            check_source(doctor, registry, source);
    }
    pipe_registry_close(registry);
}
