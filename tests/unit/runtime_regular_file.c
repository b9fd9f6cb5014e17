/* Files that are named by others: only regular ones are opened, and nothing waits for a writer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "environment.h"
#include "regular_file.h"

static char directory[] = "/tmp/pipe-unit-XXXXXX";
static char file[64], pipe_path[64], link_to_file[64], link_to_pipe[64];

static int make_all(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(file, sizeof file, "%s/file", directory);
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", directory);
    snprintf(link_to_file, sizeof link_to_file, "%s/link", directory);
    snprintf(link_to_pipe, sizeof link_to_pipe, "%s/other", directory);
    FILE *made = fopen(file, "we");
    if (made == NULL || fputs("secret\n", made) < 0 || fclose(made) != 0)
        return -1;
    return mkfifo(pipe_path, 0600) | symlink("file", link_to_file) | symlink("pipe", link_to_pipe);
}

static int remove_all(void **state)
{
    (void)state;
    const char *const paths[] = {file, pipe_path, link_to_file, link_to_pipe};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        unlink(paths[i]);
    return rmdir(directory);
}

static void test_regular(void **state)
{
    (void)state;
    const char *const paths[] = {file, link_to_file};
    for (size_t i = 0; i < 2; i++) {
        char line[16];
        FILE *stream = pipe_fopen_regular(paths[i]);
        assert_non_null(stream);
        assert_non_null(fgets(line, sizeof line, stream));
        assert_string_equal(line, "secret\n");
        int flags = fcntl(fileno(stream), F_GETFL);
        assert_int_equal(flags & O_NONBLOCK, 0);
        assert_int_equal(fcntl(fileno(stream), F_GETFD), FD_CLOEXEC);
        fclose(stream);
    }
}

static void test_others(void **state)
{
    (void)state;
    const struct {
        const char *path;
        int cause;
    } cases[] = {{pipe_path, ENOTSUP}, {link_to_pipe, ENOTSUP}, {"/dev/zero", ENOTSUP},
                 {directory, EISDIR},  {"/nowhere", ENOENT},    {"", ENOENT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        errno = 0;
        assert_int_equal(pipe_open_regular(cases[i].path), -1);
        assert_int_equal(errno, cases[i].cause);
        assert_null(pipe_fopen_regular(cases[i].path));
        assert_int_equal(errno, cases[i].cause);
    }
    assert_string_equal(pipe_regular_reason(ENOTSUP), "it is not a regular file");
    assert_string_equal(pipe_regular_reason(ENOENT), strerror(ENOENT));
}

static void test_directory(void **state)
{
    (void)state;
    char error[64] = "", inner[64];
    snprintf(inner, sizeof inner, "%s/inner", directory);
    assert_true(pipe_is_all_regular("/nowhere", error, sizeof error));
    assert_true(pipe_is_all_regular(file, error, sizeof error)); /* no directory */
    assert_false(pipe_is_all_regular(directory, error, sizeof error));
    assert_true(strcmp(error, "pipe is not a regular file") == 0 ||
                strcmp(error, "other is not a regular file") == 0);
    /* What is no danger: a file, a link to one, one to nowhere, a directory. */
    assert_int_equal(mkdir(inner, 0700), 0);
    const char *const names[] = {"file", "link", "gone", "directory"};
    for (size_t i = 0; i < 4; i++) {
        char path[96];
        snprintf(path, sizeof path, "%s/%s", inner, names[i]);
        assert_int_equal(i == 0   ? close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600))
                         : i == 1 ? symlink("file", path)
                         : i == 2 ? symlink("nowhere", path)
                                  : mkdir(path, 0700),
                         0);
    }
    assert_true(pipe_is_all_regular(inner, error, sizeof error));
    for (size_t i = 0; i < 4; i++) {
        char path[96];
        snprintf(path, sizeof path, "%s/%s", inner, names[i]);
        assert_int_equal(remove(path), 0);
    }
    assert_int_equal(rmdir(inner), 0);
}

static int leased = -1;

static void give_back(int number)
{
    (void)number;
    fcntl(leased, F_SETLEASE, F_UNLCK);
}

/* A file server's lease makes an open that never waits fail: it is waited for until it is over. */
static void test_leased(void **state)
{
    (void)state;
    const struct sigaction action = {.sa_handler = give_back, .sa_flags = SA_RESTART};
    struct sigaction before;
    assert_int_equal(sigaction(SIGIO, &action, &before), 0);
    leased = open(file, O_RDWR | O_CLOEXEC);
    assert_true(leased >= 0);
    bool has_leases = fcntl(leased, F_SETLEASE, F_WRLCK) == 0; /* not every file system */
    int fd = pipe_open_regular(file);
    close(leased);
    sigaction(SIGIO, &before, NULL);
    assert_true(fd >= 0);
    close(fd);
    if (!has_leases)
        skip();
}

static void test_secret(void **state)
{
    (void)state;
    char *value = NULL, error[256] = "";
    setenv("PIPE_UNIT_FILE", file, 1);
    assert_true(pipe_environment("PIPE_UNIT", &value, error, sizeof error));
    assert_string_equal(value, "secret");
    pipe_environment_forget(value);
    setenv("PIPE_UNIT_FILE", pipe_path, 1);
    assert_false(pipe_environment("PIPE_UNIT", &value, error, sizeof error));
    assert_null(value);
    assert_string_equal(error,
                        "PIPE_UNIT_FILE names a file that can't be read: it is not a regular file");
    unsetenv("PIPE_UNIT_FILE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regular),   cmocka_unit_test(test_others),
        cmocka_unit_test(test_directory), cmocka_unit_test(test_leased),
        cmocka_unit_test(test_secret),
    };
    return cmocka_run_group_tests(tests, make_all, remove_all);
}
