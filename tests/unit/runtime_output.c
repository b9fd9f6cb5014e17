/* Unit tests of output.c and output_file.c: what commits leave in a file, cutting back, files that
 * are another's, and disks that refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../runtime/output.h"
#include "runtime_files.h"

#define SCHEMA                                                                                     \
    "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"},"         \
    "{\"name\":\"name\",\"type\":[\"null\",\"string\"]}]}"

struct row {
    int64_t id;
    struct pipe_str name;
    bool name_null;
};
static const struct pipe_type t_long = {.kind = PIPE_INT64}, t_text = {.kind = PIPE_STRING};
static const struct pipe_column columns[] = {
    {"id", &t_long, offsetof(struct row, id), PIPE_NOT_NULL, false, false, NULL},
    {"name", &t_text, offsetof(struct row, name), offsetof(struct row, name_null), true, false,
     NULL},
};
static const struct pipe_row_type row_type = {"R", columns, 2, sizeof(struct row)};

static const enum pipe_format formats[] = {PIPE_FORMAT_JSONL, PIPE_FORMAT_CSV, PIPE_FORMAT_AVRO};
#define FORMATS 3

static const struct pipe_sink_def sinks[] = {
    {.name = "s", .kind = PIPE_SINK_FILE, .format = PIPE_FORMAT_JSONL, .row = &row_type},
    {.name = "s", .kind = PIPE_SINK_FILE, .format = PIPE_FORMAT_CSV, .row = &row_type},
    {.name = "s",
     .kind = PIPE_SINK_FILE,
     .format = PIPE_FORMAT_AVRO,
     .row = &row_type,
     .avro_schema = SCHEMA},
};

static struct pipe_output *open_config(const struct pipe_output_config *config)
{
    char error[1024];
    struct pipe_output *output = pipe_output_open(config, error, sizeof error);
    if (output == NULL)
        fail_msg("%s", error);
    if (!pipe_output_begin(output))
        fail_msg("%s", output->error);
    return output;
}

static struct pipe_output_config config_of(int format, const char *path, int64_t committed,
                                           bool follow)
{
    return (struct pipe_output_config){.sink = &sinks[format],
                                       .path = path,
                                       .format = formats[format],
                                       .committed_bytes = committed,
                                       .follow = follow};
}

static struct pipe_output *open_output(int format, const char *path, int64_t committed, bool follow)
{
    struct pipe_output_config config = config_of(format, path, committed, follow);
    return open_config(&config);
}

/* As generated code does it: CSV loses the line end that pipe_row_to_csv writes. */
static void append(struct pipe_output *output, int64_t id, const char *name)
{
    struct row row = {.id = id, .name_null = name == NULL};
    struct pipe_buf text = {0};
    if (name != NULL)
        row.name = pipe_str_of(name, strlen(name));
    if (output->config.format == PIPE_FORMAT_JSONL)
        pipe_row_to_json(&row_type, &row, &text);
    else if (output->config.format == PIPE_FORMAT_CSV)
        pipe_row_to_csv(&row_type, &row, &text);
    else
        pipe_row_to_avro(&row_type, &row, &text);
    text.size -= output->config.format == PIPE_FORMAT_CSV;
    assert_true(output->ops->append(output, pipe_str_of(text.data, text.size)));
    pipe_buf_free(&text);
}

static void commit(struct pipe_output *output)
{
    assert_true(output->ops->flush(output));
    assert_int_equal(output->pending_bytes, 0);
    output->committed_bytes = output->length_bytes;
}

static void check_text(const char *path, const char *expected)
{
    struct pipe_buf bytes = read_bytes(path);
    pipe_buf_add_byte(&bytes, 0);
    assert_string_equal((const char *)bytes.data, expected);
    pipe_buf_free(&bytes);
}

/* The file is one that input_avro.c takes, with so many rows. */
static void check_container(const char *path, size_t rows)
{
    static const struct pipe_contract_version version = {.label = "v1"};
    static const struct pipe_contract contract = {"r", &row_type, &version, 1};
    static const struct pipe_source_def source = {
        .name = "r", .format = PIPE_FORMAT_AVRO, .contract = &contract};
    struct pipe_input_config config = {
        .source = &source, .path = path, .length_bytes = -1, .max_record_bytes = 1 << 20};
    struct reading all = read_input(&config, 0);
    assert_true(all.opened);
    assert_false(all.failed);
    assert_int_equal(all.count, rows);
    free_reading(&all);
}

static void test_formats(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "{\"id\":1,\"name\":\"a,b\"}\n{\"id\":2,\"name\":null}\n{\"id\":3,\"name\":\"\"}\n",
        "id,name\n1,\"a,b\"\n2,\n3,\"\"\n"};
    for (int f = 0; f < FORMATS; f++) {
        const char *path = in_dir("formats");
        write_text(path, "old text that is replaced, whatever it was before");
        struct pipe_output *output = open_output(f, path, 0, false);
        append(output, 1, "a,b");
        append(output, 2, NULL);
        assert_true(output->pending_bytes > 0);
        commit(output);
        append(output, 3, "");
        commit(output);
        int64_t length = output->length_bytes;
        commit(output); /* nothing new */
        assert_int_equal(output->length_bytes, length);
        append(output, 4, "never flushed");
        output->ops->close(output);
        if (f < 2)
            check_text(path, expected[f]);
        else
            check_container(path, 3);
    }
}

static void test_empty(void **state)
{
    (void)state;
    for (int f = 0; f < FORMATS; f++) {
        const char *path = in_dir("empty");
        struct pipe_output *output = open_output(f, path, 0, false);
        commit(output);
        output->ops->close(output);
        if (f < 2)
            check_text(path, f == 0 ? "" : "id,name\n");
        else
            check_container(path, 0);
    }
}

/* Commits, crashes (after a flush that was not committed) and restarts in any order: the bytes are
 * those of one uninterrupted run. */
static void test_resume(void **state)
{
    (void)state;
    for (int f = 0; f < FORMATS; f++) {
        const char *straight = in_dir("straight"), *broken = in_dir("broken");
        struct pipe_output *one = open_output(f, straight, 0, false);
        struct pipe_output *other = open_output(f, broken, 0, false);
        for (int64_t i = 0; i < 200; i++) {
            append(one, i, "text");
            commit(one);
            if (random_below(3) == 0) {
                struct pipe_output_config config =
                    config_of(f, broken, other->committed_bytes, i > 0);
                struct pipe_file_mark mark = other->mark;
                config.mark = &mark;
                append(other, -1, "lost");
                if (random_below(2) == 0)
                    assert_true(other->ops->flush(other));
                if (random_below(2) == 0)
                    other->ops->rollback(other);
                other->ops->close(other);
                other = open_config(&config);
            }
            append(other, i, "text");
            commit(other);
            assert_int_equal(other->length_bytes, one->length_bytes);
        }
        one->ops->close(one);
        other->ops->close(other);
        struct pipe_buf a = read_bytes(straight), b = read_bytes(broken);
        assert_int_equal(a.size, b.size);
        assert_memory_equal(a.data, b.data, a.size);
        pipe_buf_free(&a);
        pipe_buf_free(&b);
        if (f == 2)
            check_container(broken, 200);
    }
}

static void test_rollback(void **state)
{
    (void)state;
    for (int f = 0; f < FORMATS; f++) {
        const char *path = in_dir("rollback");
        struct pipe_output *output = open_output(f, path, 0, false);
        append(output, 1, "first");
        assert_true(output->ops->flush(output));
        output->ops->rollback(output); /* the header goes as well */
        check_text(path, "");
        assert_int_equal(output->length_bytes, 0);
        append(output, 2, "second");
        commit(output);
        append(output, 3, "third");
        assert_true(output->ops->flush(output));
        output->ops->rollback(output);
        append(output, 4, "fourth");
        commit(output);
        output->ops->close(output);
        if (f == 1)
            check_text(path, "id,name\n2,second\n4,fourth\n");
        if (f == 2)
            check_container(path, 2);
    }
}

static void test_large_commit(void **state)
{
    (void)state;
    const char *path = in_dir("large.avro");
    struct pipe_output *output = open_output(2, path, 0, false);
    for (int i = 0; i < 20000; i++)
        append(output, i, "a text of some length, so that there is more than one block");
    commit(output);
    output->ops->close(output);
    check_container(path, 20000);
}

#define MANY_ROWS 20000 /* of a kilobyte: more than is held of one commit */
static int64_t length_of(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 ? about.st_size : -1;
}

static void append_many(struct pipe_output *output)
{
    char name[1025] = "";
    memset(name, 'n', 1024);
    for (int i = 0; i < MANY_ROWS; i++) {
        append(output, i, name);
        assert_true(output->pending_bytes < 17 << 20);
    }
}

/* One commit of more than is held in memory: what is written before it counts only with it. */
static void test_more_than_is_held(void **state)
{
    (void)state;
    for (int f = 0; f < FORMATS; f++) {
        const char *path = in_dir(f == 0 ? "more.jsonl" : f == 1 ? "more.csv" : "more.avro");
        struct pipe_output *output = open_output(f, path, 0, false);
        append(output, 1, "first");
        commit(output);
        int64_t committed = output->committed_bytes;
        append_many(output);
        assert_true(length_of(path) > committed + (16 << 20));
        output->ops->rollback(output);
        assert_int_equal(length_of(path), committed);
        append_many(output);
        commit(output);
        int64_t length = output->committed_bytes;
        assert_true(length == length_of(path) && length > MANY_ROWS * 1024);
        append_many(output);
        output->ops->close(output); /* as a kill does: it is cut off at the next start */
        assert_true(length_of(path) > length);
        output = open_output(f, path, length, true);
        assert_int_equal(length_of(path), length);
        append(output, 2, "last");
        commit(output);
        output->ops->close(output);
        if (f == 2)
            check_container(path, MANY_ROWS + 2);
    }
}

static void check_config_refused(const struct pipe_output_config *config, const char *words)
{
    char error[1024] = "";
    assert_null(pipe_output_open(config, error, sizeof error));
    if (strstr(error, words) == NULL || strstr(error, config->path) == NULL ||
        strchr(error, '\n') != NULL)
        fail_msg("'%s' should name %s and say '%s'", error, config->path, words);
}

static void check_refused(int format, const char *path, int64_t committed, bool follow,
                          const char *words)
{
    struct pipe_output_config config = config_of(format, path, committed, follow);
    check_config_refused(&config, words);
}

static void test_paths(void **state)
{
    (void)state;
    const char *deep = in_dir("new/directories//deep/file");
    struct pipe_output *output = open_output(0, deep, 0, false);
    append(output, 1, "x");
    commit(output);
    output->ops->close(output);
    check_text(deep, "{\"id\":1,\"name\":\"x\"}\n");
    check_refused(0, deep, 100, true, "is 20 bytes long, but 100 bytes were committed");
    check_refused(0, in_dir("gone"), 10, true,
                  "to it (put it back, or begin again in another directory): No such file");
    check_refused(0, in_dir("no/such/dir"), 10, true, "No such file");
    assert_int_not_equal(access(in_dir("no"), F_OK), 0);
    check_refused(0, test_dir, 0, false, "Is a directory");
    check_refused(0, in_dir("new/directories/deep/file/x"), 0, false, "Not a directory");
    check_refused(0, "/dev/null", 0, false, "is not a regular file");
    const char *fifo = in_dir("fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    check_refused(0, fifo, 0, false, "cannot be opened");
    if (geteuid() == 0)
        return; /* root may write anywhere */
    check_refused(0, "/no-right/to/create", 0, false, "cannot be created, nor can its directory");
}

/* A disk that is full in the middle of a flush: an error, and what was committed stays as it was.
 */
static void test_full_disk(void **state)
{
    (void)state;
    struct rlimit kept, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &kept), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (int f = 0; f < FORMATS; f++) {
        const char *path = in_dir("full");
        struct pipe_output *output = open_output(f, path, 0, false);
        append(output, 1, "sound");
        commit(output);
        struct pipe_buf before = read_bytes(path);
        small = kept;
        small.rlim_cur = 1000;
        setrlimit(RLIMIT_FSIZE, &small);
        for (int i = 0; i < 500; i++)
            append(output, i, "text");
        assert_false(output->ops->flush(output));
        output->ops->rollback(output);
        setrlimit(RLIMIT_FSIZE, &kept);
        assert_non_null(strstr(output->error, path));
        assert_non_null(strstr(output->error, "cannot be written: File too large"));
        struct pipe_buf after = read_bytes(path);
        assert_int_equal(after.size, before.size);
        assert_memory_equal(after.data, before.data, before.size);
        output->ops->close(output);
        pipe_buf_free(&before);
        pipe_buf_free(&after);
    }
}

static void test_device_full(void **state)
{
    (void)state;
    struct pipe_output *output = open_output(1, NULL, 0, false); /* standard output */
    int kept = dup(STDOUT_FILENO), full = open("/dev/full", O_WRONLY);
    if (full < 0)
        skip();
    fflush(stdout);
    dup2(full, STDOUT_FILENO);
    append(output, 1, "x");
    bool ok = output->ops->flush(output);
    output->ops->rollback(output);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    close(full);
    assert_false(ok);
    assert_string_equal(output->error,
                        "standard output: cannot be written: No space left on device; "
                        "make room and start again");
    output->ops->close(output);
}

static void test_standard_output(void **state)
{
    (void)state;
    const char *path = in_dir("stdout");
    int kept = dup(STDOUT_FILENO), to = open(path, O_WRONLY | O_CREAT, 0600);
    fflush(stdout);
    dup2(to, STDOUT_FILENO);
    struct pipe_output *output = open_output(1, NULL, 0, false);
    append(output, 1, "x");
    commit(output);
    append(output, 2, "lost");
    output->ops->rollback(output);
    append(output, 3, "y");
    commit(output);
    output->ops->close(output);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    close(to);
    check_text(path, "id,name\n1,x\n3,y\n");
}

/* ---- Files that somebody changes while they are written ---- */

struct change {
    const char *words;
    void (*make)(const char *path);
};

static void remove_it(const char *path)
{
    assert_int_equal(unlink(path), 0);
}

static void move_it(const char *path)
{
    assert_int_equal(rename(path, in_dir("moved")), 0);
}

static void remove_its_directory(const char *path)
{
    (void)path;
    assert_int_equal(rename(in_dir("changed"), in_dir("changed.old")), 0);
}

/* As an editor or `sed -i` does it. */
static void replace_it(const char *path)
{
    struct pipe_buf bytes = read_bytes(path);
    pipe_buf_add_byte(&bytes, 0);
    write_text(in_dir("other"), (const char *)bytes.data);
    pipe_buf_free(&bytes);
    assert_int_equal(rename(in_dir("other"), path), 0);
}

static void move_and_replace_it(const char *path)
{
    move_it(path);
    write_text(path, "");
}

static void replace_it_by_a_pipe(const char *path)
{
    remove_it(path);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void cut_it(const char *path)
{
    struct pipe_buf bytes = read_bytes(path);
    assert_int_equal(truncate(path, (off_t)bytes.size - 1), 0);
    pipe_buf_free(&bytes);
}

static void empty_it(const char *path)
{
    assert_int_equal(truncate(path, 0), 0);
}

static void write_into_it(const char *path)
{
    int fd = open(path, O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
}

static const struct change changes[] = {
    {"was removed while", remove_it},
    {"/moved; move that back, and start again", move_it},
    {"/changed.old/file; move that back", remove_its_directory},
    {"was replaced by another file while", replace_it},
    {"was moved, and another file put in its place, while", move_and_replace_it},
    {"was replaced by another file while", replace_it_by_a_pipe},
    {"somebody cut it while it was written", cut_it},
    {"somebody cut it while it was written", empty_it},
    {"somebody else writes into it", write_into_it},
};

/* Between two commits, and behind the last: the next call says so. What is in the file is left as
 * it is, and what is not in it is not made up of zeros. */
static void test_changed_files(void **state)
{
    (void)state;
    const size_t count = sizeof changes / sizeof changes[0];
    for (size_t i = 0; i < count * FORMATS * 2; i++) {
        const struct change *change = &changes[i % count];
        bool at_end = i / count / FORMATS == 1;
        int format = (int)(i / count % FORMATS);
        const char *path = in_dir("changed/file");
        struct pipe_output *output = open_output(format, path, 0, false);
        append(output, 1, "first");
        commit(output);
        assert_true(output->ops->check(output));
        change->make(path);
        struct pipe_buf before = {0}, after = {0};
        bool there = access(path, F_OK) == 0 && change->make != replace_it_by_a_pipe;
        if (there)
            before = read_bytes(path);
        if (!at_end)
            append(output, 2, "second");
        assert_false(at_end ? output->ops->check(output) : output->ops->flush(output));
        if (strstr(output->error, change->words) == NULL || strstr(output->error, path) == NULL)
            fail_msg("'%s' should say '%s'", output->error, change->words);
        output->ops->rollback(output);
        output->ops->close(output);
        if (there) {
            after = read_bytes(path);
            assert_int_equal(after.size, before.size);
            assert_memory_equal(after.data, before.data, before.size);
        }
        pipe_buf_free(&before);
        pipe_buf_free(&after);
        assert_int_equal(remove_test_dir(state), 0);
        assert_int_equal(mkdir(test_dir, 0700), 0);
    }
}

/* By whatever name: a link that stays is none of these changes. */
static void test_linked_file(void **state)
{
    (void)state;
    const char *link = in_dir("link");
    write_text(in_dir("target"), "");
    assert_int_equal(symlink("target", link), 0);
    struct pipe_output *output = open_output(0, link, 0, false);
    append(output, 1, "x");
    commit(output);
    assert_true(output->ops->check(output));
    assert_int_equal(unlink(link), 0);
    assert_int_equal(symlink("other", link), 0);
    assert_false(output->ops->check(output));
    assert_non_null(strstr(output->error, "/target; move that back"));
    output->ops->close(output);
}

/* ---- Whose it is ---- */

static uint64_t inode_of(const char *path)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return about.st_ino;
}

static void append_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

/* Another file with the same bytes. */
static void put_copy(const char *path)
{
    uint64_t before = inode_of(path);
    struct pipe_buf bytes = read_bytes(path);
    write_bytes(in_dir("copy"), bytes.data, bytes.size);
    assert_int_equal(rename(in_dir("copy"), path), 0);
    assert_int_not_equal(inode_of(path), before);
    pipe_buf_free(&bytes);
}

static void check_bytes(const char *path, const struct pipe_buf *expected)
{
    struct pipe_buf bytes = read_bytes(path);
    assert_int_equal(bytes.size, expected->size);
    assert_memory_equal(bytes.data, expected->data, bytes.size);
    pipe_buf_free(&bytes);
}

/* Short files, and longer ones than a mark is of. */
static void test_marks(void **state)
{
    (void)state;
    for (int i = 0; i < FORMATS * 2; i++) {
        const char *path = in_dir("marked");
        struct pipe_output *output = open_output(i / 2, path, 0, false);
        for (int row = 0; row < (i % 2 == 0 ? 1 : 500); row++)
            append(output, row, "some text");
        commit(output);
        struct pipe_file_mark mark = output->mark;
        struct pipe_output_config config = config_of(i / 2, path, output->committed_bytes, true);
        config.mark = &mark;
        output->ops->close(output);
        struct pipe_buf whole = read_bytes(path);

        append_text(path, "not committed"); /* as a killed process leaves it */
        output = open_config(&config);
        assert_true(pipe_file_is_same(&output->mark, &mark));
        assert_int_equal(output->mark.tail_hash, mark.tail_hash);
        output->ops->close(output);
        check_bytes(path, &whole);

        put_copy(path);
        output = open_config(&config); /* as long as committed: it may be restored or moved */
        assert_false(pipe_file_is_same(&output->mark, &mark));
        output->ops->close(output);
        append_text(path, "of somebody");
        check_config_refused(&config, "the rest may be rows of another run");
        check_config_refused(&config, "truncate -s ");
        config.own = true;
        output = open_config(&config);
        output->ops->close(output);
        check_bytes(path, &whole);

        whole.data[whole.size - 2] ^= 1;
        write_bytes(path, whole.data, whole.size);
        check_config_refused(&config, "are not those that were committed");
        check_bytes(path, &whole);
        append_text(path, "more");
        check_config_refused(&config, "are not those that were committed");
        config.mark = NULL; /* of a program that put none */
        output = open_config(&config);
        output->ops->close(output);
        check_bytes(path, &whole);
        pipe_buf_free(&whole);
    }
}

static void test_mark_in_log(void **state)
{
    (void)state;
    const struct pipe_file_mark mark = {1, UINT64_MAX, -3, 4, 4096};
    struct pipe_file_mark got = {0};
    struct pipe_buf text = {0};
    struct pipe_reader reader;
    pipe_file_put_mark(&text, &mark);
    pipe_reader_init(&reader, text.data, text.size, NULL);
    assert_true(pipe_file_get_mark(&reader, &got));
    assert_true(pipe_file_is_same(&got, &mark));
    assert_int_equal(got.device, mark.device);
    assert_int_equal(got.tail_hash, mark.tail_hash);
    assert_int_equal(got.tail_bytes, mark.tail_bytes);
    assert_false(pipe_file_get_mark(&reader, &got)); /* nothing is behind it */
    pipe_buf_free(&text);
}

/* By one output at a time, also of another process; a new file is not the old one. */
static void test_held(void **state)
{
    (void)state;
    const char *path = in_dir("held");
    struct pipe_output *output = open_output(0, path, 0, false);
    check_refused(0, path, 0, false, "another process is writing it");
    check_refused(0, path, 0, true, "another process is writing it");
    append(output, 1, "x");
    commit(output);
    output->ops->close(output);
    struct pipe_output_config config = config_of(0, path, 0, false);
    config.keep = true;
    check_config_refused(&config, "with 20 bytes that are not of this run");
    check_text(path, "{\"id\":1,\"name\":\"x\"}\n");
}

/* What is replaced keeps its mode and its links, and nothing else is in its directory then. An
 * output that is refused or fails before it begins has changed nothing. */
static void test_renewed(void **state)
{
    (void)state;
    struct stat about;
    const char *path = in_dir("renewed/file"), *link = in_dir("to_renewed");
    assert_int_equal(mkdir(in_dir("renewed"), 0700), 0);
    write_text(path, "old");
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink("renewed/file", link), 0);
    int old = open(path, O_RDONLY);
    char error[1024], bytes[8];
    struct pipe_output_config config = config_of(0, link, 0, false);
    struct pipe_output *output = pipe_output_open(&config, error, sizeof error);
    assert_non_null(output);
    output->ops->rollback(output);
    check_text(path, "old");
    assert_true(pipe_output_begin(output));
    append(output, 1, "x");
    commit(output);
    output->ops->close(output);
    check_text(path, "{\"id\":1,\"name\":\"x\"}\n");
    assert_int_equal(read(old, bytes, sizeof bytes), 3); /* whoever has it still has all of it */
    close(old);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0640);
    assert_int_equal(lstat(link, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(in_dir("renewed")), 0);
}

/* What a kill has left of renewing a file goes with the next time; a file of that name that holds
 * anything is somebody's, and stays. */
static void test_renewed_after_a_kill(void **state)
{
    (void)state;
    const char *path = in_dir("again/file");
    char left[4200], *directory;
    snprintf(left, sizeof left, "%s/.pipe-new.%016llx", in_dir("again"),
             (unsigned long long)pipe_hash64("file", 4, 0));
    assert_int_equal(mkdir(in_dir("again"), 0700), 0);
    write_text(path, "old");
    write_text(left, "");
    directory = pipe_file_renew(path);
    assert_non_null(directory);
    free(directory);
    check_text(path, "");
    assert_int_equal(access(left, F_OK), -1);
    write_text(path, "old");
    write_text(left, "mine");
    assert_null(pipe_file_renew(path));
    check_text(path, "old");
    check_text(left, "mine");
    assert_int_equal(unlink(left), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(in_dir("again")), 0);
}

/* The name of a descriptor can't be given to a new file: that one is emptied. */
static void test_named_descriptor(void **state)
{
    (void)state;
    char name[64];
    const char *path = in_dir("descriptor");
    write_text(path, "old");
    uint64_t inode = inode_of(path);
    int fd = open(path, O_WRONLY);
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    struct pipe_output *output = open_output(0, name, 0, false);
    append(output, 1, "x");
    commit(output);
    output->ops->close(output);
    close(fd);
    check_text(path, "{\"id\":1,\"name\":\"x\"}\n");
    assert_int_equal(inode_of(path), inode);
}

/* Cut at any moment, also between the look and the writing: told, and never zeros for rows. */
static void test_cut_at_any_time(void **state)
{
    (void)state;
    const char *path = in_dir("race");
    for (int round = 0; round < 40; round++) {
        struct pipe_output *output = open_output(0, path, 0, false);
        append(output, 0, "first");
        commit(output);
        pid_t child = fork();
        if (child == 0) {
            for (;;)
                (void)!truncate(path, 0);
        }
        assert_true(child > 0);
        bool ok = true;
        for (int64_t i = 0; ok; i++) {
            append(output, i, "text");
            ok = output->ops->flush(output);
            output->committed_bytes = output->length_bytes;
        }
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_non_null(strstr(output->error, "somebody cut it"));
        output->ops->rollback(output);
        output->ops->close(output);
        struct pipe_buf bytes = read_bytes(path);
        assert_true(bytes.size == 0 || memchr(bytes.data, 0, bytes.size) == NULL);
        pipe_buf_free(&bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_rollback),
        cmocka_unit_test(test_large_commit),
        cmocka_unit_test(test_more_than_is_held),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_device_full),
        cmocka_unit_test(test_standard_output),
        cmocka_unit_test(test_changed_files),
        cmocka_unit_test(test_linked_file),
        cmocka_unit_test(test_cut_at_any_time),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_mark_in_log),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_renewed),
        cmocka_unit_test(test_renewed_after_a_kill),
        cmocka_unit_test(test_named_descriptor),
    };
    return cmocka_run_group_tests(tests, make_test_dir, remove_test_dir);
}
