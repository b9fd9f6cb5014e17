/* Manifests of checkpoints: what is written is read, what is malformed is not; which one is chosen,
 * which ones are needed; URLs of where they lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../runtime/checkpoint_manifest.h"
#include "../../runtime/objects.h"

static struct checkpoint_manifest sample(void)
{
    struct checkpoint_manifest manifest = {
        .plan = "abc", .incarnation = "log1", .format = "2", .secrets = "0011223344556677"};
    for (unsigned i = 0; i < 5; i++) {
        struct checkpoint_file file = {.size_bytes = i * 1000};
        snprintf(file.name, sizeof file.name, "%06u.sst", i);
        memset(file.digest, 'a' + (int)i, CHECKPOINT_DIGEST_CHARS);
        checkpoint_manifest_add_file(&manifest, &file);
        struct checkpoint_task task = {i / 2, (int32_t)i, INT64_C(1) << (i * 10), i};
        checkpoint_manifest_add_task(&manifest, &task);
    }
    return manifest;
}

static void reads_what_it_wrote(void **state)
{
    struct checkpoint_manifest in = sample(), out;
    struct pipe_buf bytes = {0};
    const char *error;
    (void)state;
    assert_true(checkpoint_manifest_encode(&in, &bytes));
    assert_true(checkpoint_manifest_decode(pipe_str_of(bytes.data, bytes.size), &out, &error));
    assert_string_equal(out.plan, in.plan);
    assert_string_equal(out.incarnation, in.incarnation);
    assert_string_equal(out.format, in.format);
    assert_string_equal(out.secrets, in.secrets);
    assert_int_equal(out.file_count, in.file_count);
    assert_int_equal(out.task_count, in.task_count);
    for (uint32_t i = 0; i < in.file_count; i++) {
        assert_string_equal(out.files[i].name, in.files[i].name);
        assert_string_equal(out.files[i].digest, in.files[i].digest);
        assert_int_equal(out.files[i].size_bytes, in.files[i].size_bytes);
    }
    assert_memory_equal(out.tasks, in.tasks, in.task_count * sizeof *in.tasks);
    for (size_t size = 0; size < bytes.size; size++) { /* cut anywhere */
        struct checkpoint_manifest cut;
        assert_false(checkpoint_manifest_decode(pipe_str_of(bytes.data, size), &cut, &error));
        assert_non_null(error);
    }
    checkpoint_manifest_free(&in);
    checkpoint_manifest_free(&out);
    pipe_buf_free(&bytes);
}

static void refuses_what_is_malformed(void **state)
{
    static const char head[] = "{\"version\":1,\"plan\":\"a\",\"incarnation\":\"b\",\"format\":"
                               "\"2\",\"secrets\":\"\",\"files\":[";
    static const char digest[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    static const struct {
        const char *file, *task;
        bool sound;
    } cases[] = {
        {"", "", true},
        {"{\"name\":\"1.sst\",\"size\":1,\"sha256\":\"%s\"}",
         "{\"stage\":0,\"partition\":0,\"offset\":0,\"seq\":0}", true},
        {"{\"name\":\"../1.sst\",\"size\":1,\"sha256\":\"%s\"}", "", false},
        {"{\"name\":\"..\",\"size\":1,\"sha256\":\"%s\"}", "", false},
        {"{\"name\":\"\",\"size\":1,\"sha256\":\"%s\"}", "", false},
        {"{\"name\":\"a/b\",\"size\":1,\"sha256\":\"%s\"}", "", false},
        {"{\"name\":\"1.sst\",\"size\":-1,\"sha256\":\"%s\"}", "", false},
        {"{\"name\":\"1.sst\",\"size\":1,\"sha256\":\"%s0\"}", "", false},
        {"{\"name\":\"1.sst\",\"size\":\"1\",\"sha256\":\"%s\"}", "", false},
        {"", "{\"stage\":0,\"partition\":-1,\"offset\":0,\"seq\":0}", false},
        {"", "{\"stage\":0,\"partition\":2147483647,\"offset\":0,\"seq\":0}", false},
        {"", "{\"stage\":4294967296,\"partition\":0,\"offset\":0,\"seq\":0}", false},
        {"", "{\"stage\":0,\"partition\":0,\"offset\":1.5,\"seq\":0}", false},
        {"", "{\"stage\":0,\"partition\":0,\"seq\":0}", false},
        {"",
         "{\"stage\":0,\"partition\":0,\"offset\":0,\"seq\":0},"
         "{\"stage\":0,\"partition\":0,\"offset\":1,\"seq\":0}",
         false},
        {"7", "", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char file[200], text[800];
        struct checkpoint_manifest out;
        const char *error;
        snprintf(file, sizeof file, cases[i].file, digest);
        snprintf(text, sizeof text, "%s%s],\"tasks\":[%s]}", head, file, cases[i].task);
        bool sound = checkpoint_manifest_decode(pipe_str_of(text, strlen(text)), &out, &error);
        if (sound != cases[i].sound)
            fail_msg("%s: %s", text, sound ? "taken" : error);
        checkpoint_manifest_free(&out);
    }
}

static struct checkpoint_known known_of(const char *name, int64_t modified_ms, int64_t offset,
                                        uint64_t seq)
{
    struct checkpoint_known known = {.modified_ms = modified_ms, .was_read = true, .usable = true};
    struct checkpoint_task task = {0, 0, offset, seq};
    snprintf(known.name, sizeof known.name, "%s", name);
    checkpoint_manifest_add_task(&known.manifest, &task);
    return known;
}

static void chooses_the_furthest(void **state)
{
    struct checkpoint_known known[] = {known_of("a", 1, 10, 1), known_of("b", 2, 20, 1),
                                       known_of("c", 3, 20, 3), known_of("d", 4, 5, 0)};
    struct checkpoint_task after = {0, 0, 5, 0}, before = {0, 0, 20, 3};
    int64_t newer;
    (void)state;
    assert_int_equal(checkpoint_choose(known, 4, 0, 0, &after, &before, &newer), 2);
    assert_int_equal(newer, -1);
    known[2].ruled_out = true;
    assert_int_equal(checkpoint_choose(known, 4, 0, 0, &after, &before, &newer), 1);
    known[2].ruled_out = false;
    before.seq = 2; /* its offset is not beyond, but its time records are */
    assert_int_equal(checkpoint_choose(known, 4, 0, 0, &after, &before, &newer), 1);
    assert_int_equal(newer, 2);
    after = (struct checkpoint_task){0, 0, 20, 1};
    assert_int_equal(checkpoint_choose(known, 4, 0, 0, &after, &before, &newer), -1);
    assert_int_equal(checkpoint_choose(known, 4, 0, 1, NULL, &before, &newer), -1);
    assert_int_equal(newer, -1);
    assert_int_equal(checkpoint_choose(known, 4, 0, 0, NULL, NULL, &newer), -1);
    assert_true(newer >= 0);
    for (size_t i = 0; i < 4; i++)
        assert_true(checkpoint_is_needed(known, 4, i) == (i == 1 || i == 2));
    for (size_t i = 0; i < 4; i++)
        checkpoint_manifest_free(&known[i].manifest);
}

static void refuses_urls(void **state)
{
    (void)state;
    assert_null(pipe_objects_check("file:///shared/dir"));
    assert_non_null(strstr(pipe_objects_check("s3://bucket/dir"), "not supported yet"));
    assert_non_null(pipe_objects_check("file://shared/dir"));
    assert_non_null(pipe_objects_check("file:///"));
    assert_non_null(pipe_objects_check("/shared/dir"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_wrote),
        cmocka_unit_test(refuses_what_is_malformed),
        cmocka_unit_test(chooses_the_furthest),
        cmocka_unit_test(refuses_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
