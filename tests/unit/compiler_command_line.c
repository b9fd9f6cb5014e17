/* The command line: what is understood, what is refused, with which exit code. */
#include "schema_files.h"

#include <fcntl.h>

#include "command.h"
#include "syntax.h"

static const char pipe_text[] =
    "pipeline hello;\n"
    "\n"
    "source lines\n"
    "  from file 'words.csv' format csv\n"
    "  columns (word string, size int32)\n"
    "  rejects to bad;\n"
    "\n"
    "stream long from lines\n"
    "  where size > 3;\n"
    "\n"
    "sink out from long to file 'long.jsonl' format jsonl at least once;\n"
    "sink refused from bad to file 'bad.jsonl' format jsonl at least once;\n";

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static char *read_text(const char *path)
{
    struct text text = {0};
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text_puts(&text, "");
    char buffer[4096];
    for (size_t got; (got = fread(buffer, 1, sizeof buffer, file)) > 0;)
        text_add(&text, buffer, got);
    fclose(file);
    return text.data;
}

/* Sends one of the standard streams to a file; what it was comes back from the call. */
static int redirect(int stream, const char *path)
{
    int before = dup(stream);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(before >= 0 && file >= 0);
    assert_true(dup2(file, stream) == stream);
    close(file);
    return before;
}

static void restore(int stream, int before)
{
    assert_true(dup2(before, stream) == stream);
    close(before);
}

/* Runs `pipec LINE`, the words of which are separated by one blank; "out" and "err" are what it
 * wrote. */
static int run(const char *line)
{
    char *words = strdup(line);
    char *argv[16] = {"pipec"};
    int argc = 1;
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = word;
    fflush(stdout);
    fflush(stderr);
    int out = redirect(STDOUT_FILENO, "out"), err = redirect(STDERR_FILENO, "err");
    int code = command_line(argc, argv);
    fflush(stdout);
    fflush(stderr);
    restore(STDOUT_FILENO, out);
    restore(STDERR_FILENO, err);
    free(words);
    return code;
}

static void expect(const char *line, int code, const char *out, const char *err)
{
    int got = run(line);
    char *got_out = read_text("out"), *got_err = read_text("err");
    if (got != code || strstr(got_out, out) == NULL || strstr(got_err, err) == NULL)
        fail_msg("pipec %s: exit %d, not %d\nout: %s\nerr: %s", line, got, code, got_out, got_err);
    free(got_out);
    free(got_err);
}

static void test_usage(void **state)
{
    (void)state;
    expect("", 2, "", "the form is `pipec FILE`");
    expect("biuld x.pipe", 2, "", "unknown command `biuld`; did you mean `build`?");
    expect("explain x.pipe", 2, "", "did you mean `--explain`?");
    expect("--exlpain x.pipe", 2, "", "unknown option `--exlpain`; did you mean `--explain`?");
    expect("-x", 2, "", "unknown option `-x`");
    expect("--explain", 2, "", "the form is `pipec --explain FILE`");
    expect("check", 2, "", "the form is `pipec check FILE…`");
    expect("fmt --check", 2, "", "the form is `pipec fmt [--check] FILE…`");
    expect("contracts check", 2, "", "the form is `pipec contracts check DIR`");
    expect("contracts chekc .", 2, "", "did you mean `check`?");
    expect("build a.pipe b.pipe", 2, "", "too many names");
    expect("check --root", 2, "", "option `--root` needs a value");
    expect("check --root= a.pipe", 2, "", "option `--root` needs a value");
    expect("fmt --check=yes a.pipe", 2, "", "option `--check` takes no value");
    expect("--format json a.pipe", 2, "", "option `--format` does not go with `pipec FILE`");
    expect("check -o x a.pipe", 2, "", "option `-o` does not go with");
    expect("--explain a.pipe --format jsn", 2, "", "one of text, json, mermaid, dot");
    expect("--explain a.pipe --stage x", 2, "", "one of ast, logical, physical");
    expect("--explain hello.pipe --stage ast --format json", 2, "",
           "`--stage ast` is printed as text only: leave out `--format json`");
    expect("check --diagnostics=xml a.pipe", 2, "", "one of text, json");
    static const char *const rates[] = {"5000", "0/s", "-1/s", "x/s", "1.2.3/s", "5/d", "/s"};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        char line[64];
        snprintf(line, sizeof line, "--explain a.pipe --rate=%s", rates[i]);
        expect(line, 2, "", "as in 5000/s");
    }
}

/* `test`: its words; what it runs is tried by tests/pipec_test. */
static void test_tests(void **state)
{
    (void)state;
    expect("test", 2, "", "the form is `pipec test");
    expect("test --rate 1/s a.pipe", 2, "", "option `--rate` does not go with");
    expect("check --only x a.pipe", 2, "", "option `--only` does not go with");
    write_text("a.pipe", pipe_text);
    expect("test a.pipe", 0, "a.pipe has no `test` statement\n0 passed, 0 failed\n", "");
}

/* What this version can't do yet says so, and is not in the help. */
static void test_later(void **state)
{
    (void)state;
    expect("plan a.lock a.pipe", 2, "", "`pipec plan` is not there yet");
    assert_int_equal(run("--help"), 0);
    char *help = read_text("out");
    assert_null(strstr(help, "pipec plan"));
    free(help);
}

/* `fmt -`: what an editor hands over comes back laid out; nothing comes back of what is wrong. */
static void test_fmt_input(void **state)
{
    (void)state;
    int input = dup(STDIN_FILENO);
    static const struct {
        const char *text, *line;
        int code;
        const char *out, *err;
    } tries[] = {
        {"pipeline   hello ;-- c\n", "fmt -", 0, "pipeline hello;  -- c\n", ""},
        {"pipeline   hello ;", "fmt --check -", 1, "-\n", ""},
        {"pipeline hello;\n", "fmt --check -", 0, "", ""},
        {"pipeline", "fmt -", 1, "", "--> -:1:9"},
        {"M\xfcller", "fmt -", 1, "", "`-` is not UTF-8 text"},
    };
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        write_text("in", tries[i].text);
        int file = open("in", O_RDONLY);
        assert_true(file >= 0 && dup2(file, STDIN_FILENO) == STDIN_FILENO);
        close(file);
        expect(tries[i].line, tries[i].code, tries[i].out, tries[i].err);
        char *out = read_text("out");
        assert_true((tries[i].out[0] == '\0') == (out[0] == '\0'));
        free(out);
    }
    restore(STDIN_FILENO, input);
}

/* Whatever can begin a statement or a clause is explained. */
static void test_word_help(void **state)
{
    (void)state;
    for (size_t i = 0; i < keyword_count; i++) {
        char line[64];
        snprintf(line, sizeof line, "help %s", keywords[i].word);
        if (keywords[i].role != OTHER)
            expect(line, 0, keywords[i].word, "");
    }
    expect("help window", 0, "window tumbling 1h [offset 5m] | hopping 1h every 5m", "");
    expect("help test", 0, "pipec test FILE", "");
    expect("help test", 0, "expect STREAM", "");
    expect("help split_part", 0, "split_part(…): a function of 3 arguments.", "");
    expect("help sum", 0, "sum(…): an aggregate of 1 argument.", "");
    expect("help coalesce", 0, "a function of 1 to 64 arguments.", "");
}

static void test_help(void **state)
{
    (void)state;
    expect("--help", 0, "pipec build shop.pipe", "");
    expect("help", 0, "pipec build shop.pipe", "");
    static const char *const commands[] = {"check", "build", "fmt", "contracts", "test", "help"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char line[64], form[64];
        snprintf(form, sizeof form, "pipec %s ", commands[i]);
        snprintf(line, sizeof line, "%s --help", commands[i]);
        expect(line, 0, form, "");
        snprintf(line, sizeof line, "help %s", commands[i]);
        expect(line, 0, form, "");
    }
    expect("--explain --help", 0, "pipec --explain FILE", "");
    expect("help explain", 0, "pipec --explain FILE", "");
    expect("help W001", 2, "", "there is no message W001; near it: W");
    expect("help PC9999", 2, "", "there is no message PC9999; docs/errors.md lists all\n");
    expect("help PC2099", 2, "", "there is no message PC2099; near it: PC2001, ");
    expect("help nonsense", 2, "", "`nonsense` is neither the code of a message");
    expect("--version", 0, "pipec 0.", "");
    expect("help PC5021", 0, "PC5021: versions of a contract: the type of a field changed", "");
    expect("help pc5021", 0, "PC5021", "");
    expect("help PC9", 2, "", "there is no message PC9");
    assert_int_equal(run("--help"), 0);
    char *help = read_text("out");
    /* The example in the help is a pipeline that compiles. */
    struct text example = {0};
    char *begin = strstr(help, "  pipeline hello;"), *end = strstr(help, "\n  pipec build hello");
    assert_true(begin != NULL && end != NULL && begin < end);
    text_add(&example, begin, (size_t)(end - begin));
    write_text("example.pipe", example.data);
    expect("check example.pipe", 0, "", "");
    text_free(&example);
    free(help);
}

static void test_check_and_explain(void **state)
{
    (void)state;
    write_text("hello.pipe", pipe_text);
    write_text("bad.pipe", "pipeline bad;\nstream s from nowhere;\n");
    expect("check hello.pipe", 0, "", "");
    expect("check hello.pipe bad.pipe", 1, "", "bad.pipe:2:15");
    expect("check bad.pipe --diagnostics=json", 1, "", "{\"severity\":\"error\",\"code\":\"PC2");
    expect("check gone.pipe", 1, "", "error[PC5001]: cannot read `gone.pipe`: No such file");
    expect("check .", 1, "", "it is a directory");
    expect("--explain hello.pipe", 0, "hello   plan ", "");
    expect("--explain hello.pipe --stage ast --format text", 0, "hello", "");
    expect("--explain hello.pipe --rate 5_000/s --stage logical --format json", 0, "{", "");
    expect("--explain hello.pipe --stage=ast", 0, "hello", "");
    write_text("ids.pipe",
               "pipeline ids;\n"
               "source s from file 'in.csv' format csv columns (a int64, t timestamp_ms)\n"
               "  event time t watermark 0s rejects to r;\n"
               "stream d from s dedup by a within 10d rejects to r;\n"
               "sink k from d to file 'k.jsonl' format jsonl exactly once;\n"
               "sink l from r to file 'l.jsonl' format jsonl exactly once;\n");
    expect("--explain ids.pipe --rate 5_000/s", 0, " at 5000/s\n", "");
    expect("--explain ids.pipe --rate 1.5/s", 0, " at 1.5/s\n", "");
    expect("--explain ids.pipe --rate 30/m", 0, " at 30/m\n", "");
    expect("--explain ids.pipe --rate 1/h", 0, " at 1/h\n", "");
    expect("hello.pipe --explain --format=dot", 0, "digraph", "");
    expect("--explain bad.pipe", 1, "", "error[PC2");
    expect("check -- hello.pipe", 0, "", "");
}

/* The file is found from the working directory, what it names from the root. */
static void test_root(void **state)
{
    (void)state;
    assert_int_equal(mkdir("root", 0700), 0);
    write_schema("root/c.avsc", "{'type':'record','name':'c','fields':["
                                "{'name':'id','type':'string'}]}");
    write_text("rooted.pipe", "pipeline rooted;\n"
                              "contract c from 'c.avsc';\n"
                              "source s from file 'x.jsonl' format jsonl contract c"
                              " rejects to bad;\n"
                              "sink a from s to stdout at least once;\n"
                              "sink b from bad to file 'b' format jsonl at least once;\n");
    expect("check --root root rooted.pipe", 0, "", "");
    expect("check rooted.pipe", 1, "", "cannot read `c.avsc`: No such file");
    expect("check --root nowhere rooted.pipe", 1, "", "relative to `--root nowhere`");
    assert_int_equal(mkdir("root/c", 0700), 0);
    assert_int_equal(rename("root/c.avsc", "root/c/v1.avsc"), 0);
    expect("contracts check root", 0, "1 subject, 1 version: all compatible\n", "");
    expect("contracts check --root root .", 0, "c v1  ", "");
    expect("contracts check gone", 1, "1 error\n", "cannot read the folder `gone`");
}

static void test_fmt(void **state)
{
    (void)state;
    write_text("fmt.pipe", "pipeline   hello;   -- why\n");
    assert_int_equal(chmod("fmt.pipe", 0640), 0);
    assert_int_equal(symlink("fmt.pipe", "link.pipe"), 0);
    expect("fmt --check fmt.pipe", 1, "fmt.pipe\n", "");
    expect("fmt link.pipe", 0, "link.pipe\n", "");
    char *text = read_text("fmt.pipe");
    assert_non_null(strstr(text, "pipeline hello;"));
    assert_non_null(strstr(text, "-- why"));
    free(text);
    struct stat status;
    assert_int_equal(lstat("link.pipe", &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(stat("fmt.pipe", &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    expect("fmt --check fmt.pipe", 0, "", "");
    expect("fmt fmt.pipe", 0, "", "");
    write_text("broken.pipe", "pipeline ;;; (");
    expect("fmt broken.pipe", 1, "", "error[PC1");
    text = read_text("broken.pipe");
    assert_string_equal(text, "pipeline ;;; (");
    free(text);
}

/* A quoted name could leave the directory of generated files. */
static void test_name_of_files(void **state)
{
    (void)state;
    struct text text = {0};
    text_printf(&text, "pipeline \"../evil\";%s", strchr(pipe_text, '\n'));
    write_text("evil.pipe", text.data);
    text_free(&text);
    assert_int_equal(run("evil.pipe"), 1);
    assert_int_equal(access("evil", F_OK), -1);
}

static void test_compile(void **state)
{
    (void)state;
    write_text("hello.pipe", pipe_text);
    expect("hello.pipe -o made", 0, "hello -> made/hello/hello.c\n", "");
    assert_int_equal(access("made/hello/hello.c", R_OK), 0);
    expect("hello.pipe", 0, "hello -> generated/hello/hello.c\n", "");
    expect("hello.pipe --out out", 1, "", ""); /* a file is in the way */
    expect("bad.pipe --out never", 1, "", "error[PC2");
    assert_int_equal(access("never", F_OK), -1);
    setenv("PIPEC_HOME", "/nowhere", 1);
    expect("build hello.pipe", 1, "", "PIPEC_HOME names `/nowhere`");
    unsetenv("PIPEC_HOME");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_later),
        cmocka_unit_test(test_tests),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_word_help),
        cmocka_unit_test(test_fmt_input),
        cmocka_unit_test(test_check_and_explain),
        cmocka_unit_test(test_root),
        cmocka_unit_test(test_fmt),
        cmocka_unit_test(test_name_of_files),
        cmocka_unit_test(test_compile),
    };
    return cmocka_run_group_tests(tests, files_set_up, files_tear_down);
}
