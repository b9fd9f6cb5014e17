/* Unit tests of new_file.c: a file that got its name keeps it through a power cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../runtime/new_file.h"
#include "runtime_files.h"

/* Of the last that was synced; instead of the one of the C library. */
static struct stat synced;
static int sync_error;

int fsync(int fd)
{
    assert_int_equal(fstat(fd, &synced), 0);
    errno = sync_error;
    return sync_error == 0 ? 0 : -1;
}

static void check_synced(const char *directory)
{
    struct stat about;
    assert_int_equal(stat(directory, &about), 0);
    assert_int_equal(synced.st_dev, about.st_dev);
    assert_int_equal(synced.st_ino, about.st_ino);
    synced.st_ino = 0;
}

static void test_directory_is_synced(void **state)
{
    (void)state;
    for (int replace = 0; replace < 2; replace++) {
        write_text(in_dir("hidden"), "new");
        assert_true(pipe_show_file(in_dir("hidden"), in_dir("shown"), replace));
        assert_int_equal(access(in_dir("hidden"), F_OK), -1);
        assert_int_equal(access(in_dir("shown"), F_OK), 0);
        check_synced(test_dir);
    }
    write_text(in_dir("hidden"), "newer");
    assert_false(pipe_show_file(in_dir("hidden"), in_dir("shown"), false));
    assert_int_equal(errno, EEXIST);
    assert_int_equal(synced.st_ino, 0);
    assert_true(pipe_sync_parent("no_directory_is_named"));
    check_synced(".");
    assert_true(pipe_sync_parent("/root_is_named"));
    check_synced("/");
}

static void test_refused(void **state)
{
    (void)state;
    sync_error = EIO;
    assert_false(pipe_show_file(in_dir("hidden"), in_dir("shown"), true));
    assert_int_equal(errno, EIO);
    sync_error = EINVAL; /* of a file system that syncs no directory */
    assert_true(pipe_sync_parent(in_dir("shown")));
    sync_error = 0;
    assert_false(pipe_sync_parent(in_dir("absent/shown")));
    assert_int_equal(errno, ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_directory_is_synced),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, make_test_dir, remove_test_dir);
}
