/* doctor.c: `NAME doctor`: its options, what it found, the state directory. See doctor.h. */
#include "doctor.h"
#include "options.h"
#include "state_transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FREE_BYTES_LEAST (1ull << 30)

/* ---- Findings ---- */

void doctor_find(struct doctor *doctor, enum doctor_level level, const char *area,
                 const char *advice, const char *format, ...)
{
    struct pipe_buf what = {0};
    va_list args;
    va_start(args, format);
    pipe_buf_vprintf(&what, format, args);
    va_end(args);
    pipe_buf_add_byte(&what, '\0');
    doctor->findings =
        pipe_realloc(doctor->findings, (doctor->count + 1) * sizeof *doctor->findings);
    doctor->findings[doctor->count++] = (struct doctor_finding){
        level, area, pipe_utf8_escaped((char *)what.data), pipe_utf8_escaped(advice)};
    pipe_buf_free(&what);
}

static const char *level_name(enum doctor_level level, bool json)
{
    static const char *const names[] = {"ok", "note", "problem", "skipped"};
    return level == DOCTOR_PROBLEM && !json ? "PROBLEM" : names[level];
}

static uint32_t count_problems(const struct doctor *doctor)
{
    uint32_t problems = 0;
    for (size_t i = 0; i < doctor->count; i++)
        problems += doctor->findings[i].level == DOCTOR_PROBLEM;
    return problems;
}

/* Every area was skipped: neither problems nor their absence were found. */
static bool is_nothing_checked(const struct doctor *doctor)
{
    for (size_t i = 0; i < doctor->count; i++) {
        if (doctor->findings[i].level != DOCTOR_SKIPPED)
            return false;
    }
    return true;
}

static void print_text(const struct doctor *doctor)
{
    uint32_t problems = count_problems(doctor);
    for (size_t i = 0; i < doctor->count; i++) {
        const struct doctor_finding *finding = &doctor->findings[i];
        printf("%-11s %-8s %s\n", finding->area, level_name(finding->level, false), finding->what);
        if (finding->advice != NULL)
            printf("%21s-> %s\n", "", finding->advice);
    }
    if (problems > 0)
        printf("%u problem%s\n", problems, problems > 1 ? "s" : "");
    else if (is_nothing_checked(doctor))
        printf("nothing was checked: set PIPE_KAFKA_BOOTSTRAP, PIPE_REGISTRY_URL or "
               "PIPE_CLICKHOUSE_URL, or name the directory of the state with --state\n");
    else
        printf("no problems\n");
}

static void print_json(const struct doctor *doctor)
{
    json_t *findings = json_array();
    for (size_t i = 0; i < doctor->count; i++) {
        const struct doctor_finding *finding = &doctor->findings[i];
        json_t *one = json_pack("{s:s, s:s, s:s}", "area", finding->area, "level",
                                level_name(finding->level, true), "what", finding->what);
        if (one != NULL && finding->advice != NULL)
            json_object_set_new(one, "advice", json_string(finding->advice));
        json_array_append_new(findings, one);
    }
    json_t *all = json_pack("{s:s, s:b, s:b, s:o}", "pipeline", doctor->plan->name, "ok",
                            count_problems(doctor) == 0, "checked", !is_nothing_checked(doctor),
                            "findings", findings);
    char *text = all != NULL ? json_dumps(all, JSON_INDENT(2)) : NULL;
    if (text == NULL)
        pipe_out_of_memory();
    printf("%s\n", text);
    free(text);
    json_decref(all);
}

/* ---- The state directory ---- */

/* A file can be made, written to the disk, and removed. */
static bool is_writable(const char *dir, char *error, size_t error_bytes)
{
    struct pipe_buf path = {0};
    pipe_buf_printf(&path, "%s/doctor.%d", dir, (int)getpid());
    pipe_buf_add_byte(&path, '\0');
    int fd = open((char *)path.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write(fd, "x", 1) == 1 && fsync(fd) == 0;
    if (!ok)
        snprintf(error, error_bytes, "%s", strerror(errno));
    if (fd >= 0) {
        close(fd);
        unlink((char *)path.data);
    }
    pipe_buf_free(&path);
    return ok;
}

/* What a program before this one left there. */
static void check_format(struct doctor *doctor)
{
    char error[512], path[4200];
    bool created;
    snprintf(path, sizeof path, "%.4096s/state/CURRENT", doctor->run.state);
    if (access(path, F_OK) != 0) {
        doctor_find(doctor, DOCTOR_NOTE, "state", NULL, "%s holds no state yet", doctor->run.state);
        return;
    }
    struct pipe_store *store =
        pipe_store_open(doctor->run.state, true, &created, error, sizeof error);
    if (store == NULL) {
        doctor_find(doctor, DOCTOR_PROBLEM, "state", NULL, "%s", error);
        return;
    }
    if (!pipe_store_can_read(pipe_store_version(store)))
        doctor_find(doctor, DOCTOR_PROBLEM, "state",
                    "delete the directory: the state is made again from the log",
                    "%s is of format %s, this program reads " PIPE_STATE_VERSIONS,
                    doctor->run.state, pipe_store_version(store));
    else if (strcmp(pipe_store_plan(store), doctor->plan->hash) != 0)
        doctor_find(doctor, DOCTOR_PROBLEM, "state",
                    "run the program of that plan, or give this one another directory",
                    "%s is of plan %s, this program of %s", doctor->run.state,
                    pipe_store_plan(store), doctor->plan->hash);
    else
        doctor_find(doctor, DOCTOR_OK, "state", NULL, "%s holds state of this plan",
                    doctor->run.state);
    pipe_store_close(store);
}

static void check_space(struct doctor *doctor, const char *dir)
{
    struct statvfs disk;
    if (statvfs(dir, &disk) != 0)
        return; /* is_writable has told what is wrong */
    unsigned long long bytes = (unsigned long long)disk.f_bavail * disk.f_frsize;
    bool enough = bytes >= FREE_BYTES_LEAST;
    doctor_find(doctor, enough ? DOCTOR_OK : DOCTOR_PROBLEM, "state",
                enough ? NULL : "free some, or move the directory (--state)",
                "%llu MiB are free on the disk of %s", bytes >> 20, dir);
}

/* The path of the directory that `path` is in; false: there is none above. */
static bool take_last(char *path)
{
    char *slash = strrchr(path, '/');
    bool has = strcmp(path, ".") != 0 && strcmp(path, "/") != 0;
    if (slash == NULL)
        strcpy(path, ".");
    else
        slash[slash == path ? 1 : 0] = '\0';
    return has;
}

void doctor_state(struct doctor *doctor)
{
    char error[256] = "";
    struct stat status;
    if (doctor->run.state == NULL) {
        doctor_find(doctor, DOCTOR_SKIPPED, "state", NULL, "name the directory with --state DIR");
        return;
    }
    bool there = stat(doctor->run.state, &status) == 0;
    char dir[4200];
    snprintf(dir, sizeof dir, "%.4096s", doctor->run.state);
    while (!there && stat(dir, &status) != 0 && take_last(dir)) {
    } /* a run would make it in this one */
    if (there && !S_ISDIR(status.st_mode)) {
        doctor_find(doctor, DOCTOR_PROBLEM, "state", "name another with --state",
                    "%s is not a directory", doctor->run.state);
        return;
    }
    if (there ? !is_writable(dir, error, sizeof error) : access(dir, W_OK | X_OK) != 0)
        doctor_find(doctor, DOCTOR_PROBLEM, "state", "give this user the right to write there",
                    "%s cannot be written: %s", dir, there ? error : strerror(errno));
    if (!there)
        doctor_find(doctor, DOCTOR_NOTE, "state", NULL,
                    "%s is not there yet: the first run makes it", doctor->run.state);
    else
        check_format(doctor);
    check_space(doctor, dir);
}

/* ---- Options ---- */

static const char *take_json(void *doctor, const char *value)
{
    (void)value;
    ((struct doctor *)doctor)->json = true;
    return NULL;
}

static const char *refuse_embedded(void *doctor, const char *value)
{
    (void)doctor, (void)value;
    return "it takes no directory of a run, it asks the servers that the environment names; of the "
           "state: --state DIR";
}

static const struct option_row rows[] = {
    {"--state", "DIR", "the directory of the state that the run is given", option_take_state},
    {"--kafka", "KEY=VALUE", "a property of librdkafka", option_take_kafka},
    {"--json", option_no_value, "one JSON object", take_json},
    {"--embedded", "DIR", NULL, refuse_embedded},
};

static const struct option_command command = {
    .name = "doctor",
    .usage = "doctor [options]",
    .intro =
        "Asks every server that the environment names whether it is as the pipeline needs it, and\n"
        "says what to change: Kafka (PIPE_KAFKA_BOOTSTRAP), the schema registry\n"
        "(PIPE_REGISTRY_URL), ClickHouse (PIPE_CLICKHOUSE_URL), the directory of the state. It\n"
        "changes nothing that is there; on ClickHouse it makes and drops a table of its own.\n"
        "Exit: 0 no problems, 1 problems, 2 usage.\n",
    .rows = rows,
    .row_count = sizeof rows / sizeof rows[0],
};

/* 0, -1: help was printed, or an exit code after a message. */
static int take_options(struct doctor *doctor, int argc, char **argv)
{
    char error[512];
    int code = option_read(doctor->plan, &command, argc, argv, doctor);
    if (code != 0 || pipe_kafka_environment(&doctor->run.kafka, error, sizeof error))
        return code;
    fprintf(stderr, "%s doctor: %s\n", doctor->plan->name, error);
    return PIPE_EXIT_DATA;
}

int pipe_doctor_main(const struct pipe_plan *plan, int argc, char **argv)
{
    struct doctor doctor = {.plan = plan};
    int code = take_options(&doctor, argc, argv);
    if (code == 0) {
        doctor_kafka(&doctor);
        doctor_registry(&doctor);
        doctor_clickhouse(&doctor);
        doctor_state(&doctor);
        if (doctor.json)
            print_json(&doctor);
        else
            print_text(&doctor);
        code = count_problems(&doctor) > 0 ? PIPE_EXIT_DATA : PIPE_EXIT_OK;
    }
    for (size_t i = 0; i < doctor.count; i++) {
        free(doctor.findings[i].what);
        free(doctor.findings[i].advice);
    }
    free(doctor.findings);
    pipe_options_free(&doctor.run);
    return code < 0 ? PIPE_EXIT_OK : code;
}
