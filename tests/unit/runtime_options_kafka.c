/*
 * What the command line and the environment say about Kafka: which property a variable is, what
 * comes first, values from files, and that no message holds a value.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime_toy_plan.h"
#include "scratch_dir.h"

static const char *write_file(const char *name, const char *text)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static void test_properties(void **state)
{
    struct pipe_kafka_options options = {0};
    char error[256], given[200];
    (void)state;
    snprintf(given, sizeof given, "sasl.password=@%s", write_file("password", "s3cret\n"));
    assert_null(pipe_kafka_take(&options, given));
    assert_null(pipe_kafka_take(&options, "linger.ms=9"));
    assert_string_equal(pipe_kafka_take(&options, "linger.ms=7"),
                        "is given twice; which one counts?");
    assert_null(pipe_kafka_take(&options, "sasl.jaas=a=b"));
    setenv("PIPE_KAFKA_BOOTSTRAP", "one:1,two:2", 1);
    setenv("PIPE_KAFKA_LINGER_MS", "11", 1);
    setenv("PIPE_KAFKA_SASL_USERNAME_FILE", write_file("name", "somebody\r\n"), 1);
    setenv("PIPE_KAFKA_SSL_CA_LOCATION", "", 1); /* as if it were not there */
    assert_true(pipe_kafka_environment(&options, error, sizeof error));
    assert_string_equal(pipe_kafka_value(&options, "sasl.password"), "s3cret");
    assert_string_equal(pipe_kafka_value(&options, "linger.ms"), "9");
    assert_string_equal(pipe_kafka_value(&options, "sasl.jaas"), "a=b");
    assert_string_equal(pipe_kafka_value(&options, "bootstrap.servers"), "one:1,two:2");
    assert_string_equal(pipe_kafka_value(&options, "sasl.username"), "somebody");
    assert_null(pipe_kafka_value(&options, "ssl.ca.location"));
    for (uint32_t i = 0; i < options.property_count; i++) {
        if (strcmp(options.properties[i].name, "sasl.username") == 0)
            assert_string_equal(options.properties[i].from, "PIPE_KAFKA_SASL_USERNAME_FILE");
    }
    pipe_kafka_options_free(&options);
    setenv("PIPE_KAFKA_SASL_USERNAME_FILE", "/nowhere/at/all", 1);
    assert_false(pipe_kafka_environment(&options, error, sizeof error));
    assert_non_null(strstr(error, "PIPE_KAFKA_SASL_USERNAME_FILE"));
    pipe_kafka_options_free(&options);
    unsetenv("PIPE_KAFKA_SASL_USERNAME_FILE");
    unsetenv("PIPE_KAFKA_LINGER_MS");
    unsetenv("PIPE_KAFKA_BOOTSTRAP");
}

/* Runs the command line; what it says on standard error goes to `said`. */
static int parse_run(struct pipe_run_options *options, char *said, size_t room, char **argv)
{
    char path[128];
    int argc = 0;
    snprintf(path, sizeof path, "%s/said", dir);
    fflush(stderr);
    int kept = dup(2);
    assert_non_null(freopen(path, "w", stderr));
    while (argv[argc] != NULL)
        argc++;
    int code = pipe_options_run(&plan, argc, argv, options);
    fflush(stderr);
    assert_true(dup2(kept, 2) == 2);
    close(kept);
    FILE *file = fopen(path, "r");
    said[fread(said, 1, room - 1, file)] = '\0';
    fclose(file);
    return code;
}

static void expect(int code, const char *part, char **argv)
{
    struct pipe_run_options options;
    char said[2000];
    int got = parse_run(&options, said, sizeof said, argv);
    if (part != NULL && strstr(said, part) == NULL)
        fail_msg("said: %s", said);
    assert_int_equal(got, code);
    assert_null(strstr(said, "s3cret"));
    pipe_options_free(&options);
}

static void test_run(void **state)
{
    struct pipe_run_options options;
    char said[2000], file[200];
    (void)state;
    char *kafka = "bootstrap.servers=localhost:1";
    assert_int_equal(
        parse_run(&options, said, sizeof said, (char *[]){"--kafka", kafka, "--group", "g", NULL}),
        0);
    assert_non_null(options.transport);
    assert_string_equal(options.state, "toy.state");
    pipe_options_free(&options);
    setenv("PIPE_KAFKA_BOOTSTRAP", "localhost:1", 1);
    assert_int_equal(parse_run(&options, said, sizeof said, (char *[]){NULL}), 0);
    assert_non_null(options.transport);
    pipe_options_free(&options);
    assert_int_equal(parse_run(&options, said, sizeof said, (char *[]){"--embedded", dir, NULL}),
                     0);
    assert_null(options.transport); /* what is written out comes before the environment */
    pipe_options_free(&options);
    expect(PIPE_EXIT_USAGE, "third of transaction.timeout.ms",
           (char *[]){"--commit-interval", "4s", NULL});
    expect(0, NULL,
           (char *[]){"--commit-interval", "4s", "--kafka", "transaction.timeout.ms=15000", NULL});
    expect(PIPE_EXIT_USAGE, "expected a number of milliseconds, from 1000",
           (char *[]){"--kafka", "transaction.timeout.ms=s3cret", NULL});
    expect(PIPE_EXIT_USAGE, "--state is about Kafka",
           (char *[]){"--embedded", dir, "--state", "x", NULL});
    unsetenv("PIPE_KAFKA_BOOTSTRAP");
    expect(PIPE_EXIT_USAGE, "but where is it?",
           (char *[]){"--kafka", "sasl.password=s3cret", NULL});
    expect(PIPE_EXIT_USAGE, "; or run it on Kafka, with PIPE_KAFKA_BOOTSTRAP=", (char *[]){NULL});
    expect(PIPE_EXIT_USAGE, "--kafka : expected KEY=VALUE", (char *[]){"--kafka", "=s3cret", NULL});
    snprintf(file, sizeof file, "sasl.password=@%s/s3cret", dir);
    expect(PIPE_EXIT_USAGE, "--kafka sasl.password: the file can't be read",
           (char *[]){"--kafka", file, NULL});
}

/* What is advised can be done: with the address given, and where Kafka is no way out. */
static void test_directory_advice(void **state)
{
    char *paths[] = {"--path", "lines=x", NULL};
    (void)state;
    setenv("PIPE_KAFKA_BOOTSTRAP", "localhost:1", 1);
    expect(PIPE_EXIT_USAGE, "; or leave out --path, and run it on Kafka", paths);
    sinks[0].kind = PIPE_SINK_FILE;
    expect(PIPE_EXIT_USAGE, "lives then (a pipeline with files as sources or sinks does not",
           paths);
    sinks[0].kind = PIPE_SINK_KAFKA;
    unsetenv("PIPE_KAFKA_BOOTSTRAP");
}

/* The name of an instance is made once, and must be one. */
static void test_instance(void **state)
{
    struct pipe_kafka_options options = {0};
    struct pipe_kafka_run run;
    char error[600] = "", name[100] = "", again[100] = "", path[128];
    (void)state;
    assert_null(pipe_kafka_take(&options, "no.such.property=1"));
    assert_null(pipe_kafka_take(&options, "bootstrap.servers=localhost:1"));
    const struct pipe_transport *transport = pipe_kafka_transport(&run, &plan, &options);
    snprintf(path, sizeof path, "%s/instance", dir);
    for (int i = 0; i < 2; i++) {
        struct pipe_log *log = transport->open(transport->context, dir, error, sizeof error);
        assert_null(log); /* of the property; the name is there all the same */
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        assert_int_equal(fscanf(file, "%99s", i == 0 ? name : again), 1);
        fclose(file);
    }
    assert_int_equal(strlen(name), 16);
    assert_string_equal(name, again);
    write_file("instance", "not a name\n");
    assert_null(transport->open(transport->context, dir, error, sizeof error));
    assert_non_null(strstr(error, "holds no name of an instance"));
    pipe_kafka_options_free(&options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_properties, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_run, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_directory_advice, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(test_instance, make_dir, remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
