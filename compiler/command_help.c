/* command_help.c: what `pipec --help` and `pipec COMMAND --help` print. */
#include "command.h"

#include <string.h>

void print_overview(void)
{
    static const char *const lines[] = {
        "pipec compiles a pipeline (a .pipe file) to C, and that C to a native program.",
        "",
        "  pipec check shop.pipe             is it right? Prints every error, or nothing",
        "  pipec --explain shop.pipe         the plan: stages, state and its bounds, guarantees",
        "  pipec shop.pipe                   write generated/shop/shop.c",
        "  pipec build shop.pipe             also run the C compiler: build/shop",
        "  pipec test shop.pipe              run its `test` statements: rows in, rows out",
        "  pipec fmt shop.pipe               rewrite in the canonical layout, comments kept",
        "  pipec contracts check contracts   are all schema versions compatible?",
        "  pipec help PC3104                 what an error means, with an example",
        "  pipec help window                 a statement, clause or function, in short",
        "",
        "Options",
        "  --root DIR              paths in the file are relative to DIR (default: here)",
        "  --diagnostics=json      errors as one JSON object a line, on standard error",
        "  -o DIR, --out DIR       where the C goes (default: generated)",
        "  build: -o FILE          the program (default: build/NAME); --out DIR as above",
        "  fmt: --check            change nothing; name the files that would change, exit 1",
        "  test: --only TITLE      only this test",
        "        --update          write the rows that came out into the file; exit 1 if it "
        "changed",
        "        -v                name the tests that passed, too",
        "  --explain: --format text|json|mermaid|dot    --stage ast|logical|physical",
        "             --rate 5000/s                     size the state for that many records",
        "  --version, --help",
        "",
        "A first pipeline, hello.pipe: rows of a file, the long words kept",
        "",
        "  pipeline hello;",
        "",
        "  source lines",
        "    from file 'words.csv' format csv",
        "    columns (word string, size int32)",
        "    rejects to bad;",
        "",
        "  stream long from lines",
        "    where size > 3;",
        "",
        "  sink out from long to file 'long.jsonl' format jsonl at least once;",
        "  sink refused from bad to file 'bad.jsonl' format jsonl at least once;",
        "",
        "  pipec build hello.pipe && build/hello run",
        "",
        "A test runs three ways: straight; stopped and restored after every row; with every commit",
        "refused once. The language is in docs/language.md.",
        "",
        "Environment: CC and CFLAGS for build and test; PIPEC_HOME, where runtime/ and libpipe.a "
        "are.",
        "Exit codes: 0 ok, 1 errors in the program, 2 usage, 4 a fault of pipec.",
        "`pipec help COMMAND` says more of one command.",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        puts(lines[i]);
}

static const struct {
    const char *command;
    const char *lines[10];
} helps[] = {
    {"check",
     {"pipec check FILE…", "", "Prints every error and warning of the files, or nothing.", "",
      "  --root DIR           paths in the file are relative to DIR (default: here)",
      "  --diagnostics=json   one JSON object a line, on standard error", "",
      "Exit codes: 0 no errors (warnings maybe), 1 errors, 2 usage."}},
    {"build",
     {"pipec build FILE", "", "Writes the C of the pipeline and runs the C compiler on it.", "",
      "  -o FILE              the program (default: build/NAME)",
      "  --out DIR            where the C goes: DIR/NAME/NAME.c (default: generated)",
      "  --root DIR           paths in the file are relative to DIR (default: here)", "",
      "CC and CFLAGS choose the compiler. The program tells its own use: build/NAME --help."}},
    {"fmt",
     {"pipec fmt [--check] FILE…", "",
      "Rewrites the files in the canonical layout; comments stay. Names those that changed. The",
      "file - is standard input, laid out on standard output.", "",
      "  --check              change nothing; name the files that would change, exit 1"}},
    {"contracts",
     {"pipec contracts check DIR", "",
      "Checks that the versions vN.avsc in DIR and the folders below can read each other. A file",
      "`compatibility` in a folder may say how: none, backward, forward or full (the default),",
      "then maybe transitive. A folder `breaking` is passed over; checked itself, each file in it",
      "is taken for the next version of the folder above.", "",
      "  --root DIR           DIR is relative to it (default: here)", "",
      "Exit codes: 0 all compatible, 1 not."}},
    {"test",
     {"pipec test FILE", "",
      "Runs the `test` statements: rows in, rows out. Each runs three ways: straight; stopped and",
      "restored after every row; with every commit refused once.", "",
      "  --only TITLE         only this test",
      "  --update             write the rows that came out into the file; exit 1 if it changed",
      "  -v, --verbose        name the tests that passed, too",
      "  --root DIR           paths in the file are relative to DIR (default: here)"}},
    {"--explain",
     {"pipec --explain FILE", "", "Shows the plan: stages, state and its bounds, guarantees.", "",
      "  --format text|json|mermaid|dot     how (default: text)",
      "  --stage ast|logical|physical       after which pass (default: physical)",
      "  --rate 5000/s                      size the state for that many records (/s /m /h)"}},
    {"help",
     {"pipec help [CODE|COMMAND|WORD]", "",
      "Explains a message by its code, with an example (`pipec help PC3104`), a command, or a word",
      "that begins a statement or a clause (`pipec help window`)."}},
};

bool print_command_help(const char *command)
{
    if (strcmp(command, "explain") == 0)
        command = "--explain";
    for (size_t i = 0; i < sizeof helps / sizeof *helps; i++) {
        if (strcmp(helps[i].command, command) != 0)
            continue;
        for (size_t j = 0; j < 10 && helps[i].lines[j] != NULL; j++)
            puts(helps[i].lines[j]);
        return true;
    }
    return false;
}
