/*
 * command_line.c: what the arguments ask for. main.c hands them over; the commands are in
 * commands.c.
 */
#include "command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIPEC_VERSION "0.1.0"

enum command { COMPILE, BUILD, EXPLAIN, CHECK, FMT, TEST, CONTRACTS, HELP };
#define BIT(command) (1u << (command))

static const struct command_row {
    const char *name; /* as the first word; NULL: none */
    enum command command;
    const char *takes; /* for usage errors */
    size_t min_files, max_files;
} command_rows[] = {
    {NULL, COMPILE, "pipec FILE", 1, 1},
    {NULL, EXPLAIN, "pipec --explain FILE", 1, 1},
    {"build", BUILD, "pipec build FILE", 1, 1},
    {"check", CHECK, "pipec check FILE…", 1, SIZE_MAX},
    {"fmt", FMT, "pipec fmt [--check] FILE…", 1, SIZE_MAX},
    {"test", TEST, "pipec test [--only TITLE] [--update] FILE", 1, 1},
    {"contracts", CONTRACTS, "pipec contracts check DIR", 2, 2},
    {"help", HELP, "pipec help [CODE|COMMAND|WORD]", 0, 1},
};
enum { COMMAND_ROWS = sizeof command_rows / sizeof *command_rows };

enum option {
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_EXPLAIN,
    OPTION_ROOT,
    OPTION_DIAGNOSTICS,
    OPTION_O,
    OPTION_OUT,
    OPTION_CHECK,
    OPTION_FORMAT,
    OPTION_STAGE,
    OPTION_RATE,
    OPTION_ONLY,
    OPTION_UPDATE,
    OPTION_VERBOSE
};

static const struct option_row {
    const char *name;
    enum option option;
    bool has_value;
    unsigned commands; /* that take it; 0: any, and it is a command of its own */
} option_rows[] = {
    {"--help", OPTION_HELP, false, 0},
    {"-h", OPTION_HELP, false, 0},
    {"--version", OPTION_VERSION, false, 0},
    {"--explain", OPTION_EXPLAIN, false, BIT(COMPILE) | BIT(EXPLAIN)},
    {"--root", OPTION_ROOT, true, ~(BIT(FMT) | BIT(HELP))},
    {"--diagnostics", OPTION_DIAGNOSTICS, true, ~BIT(HELP)},
    {"-o", OPTION_O, true, BIT(COMPILE) | BIT(BUILD)},
    {"--out", OPTION_OUT, true, BIT(COMPILE) | BIT(BUILD)},
    {"--check", OPTION_CHECK, false, BIT(FMT)},
    {"--format", OPTION_FORMAT, true, BIT(EXPLAIN)},
    {"--stage", OPTION_STAGE, true, BIT(EXPLAIN)},
    {"--rate", OPTION_RATE, true, BIT(EXPLAIN)},
    {"--only", OPTION_ONLY, true, BIT(TEST)},
    {"--update", OPTION_UPDATE, false, BIT(TEST)},
    {"--verbose", OPTION_VERBOSE, false, BIT(TEST)},
    {"-v", OPTION_VERBOSE, false, BIT(TEST)},
};
enum { OPTION_ROWS = sizeof option_rows / sizeof *option_rows };

/* The command line as read: options in order of their appearance, then what remains. */
struct line {
    struct {
        const struct option_row *row;
        const char *value;
    } * options;
    size_t option_count;
    const char **words;
    size_t word_count;
};

static int usage(void)
{
    fputs("       `pipec --help` shows the commands with examples\n", stderr);
    return 2;
}

static int unknown(const char *what, const char *given, const char *const *candidates, size_t count)
{
    const char *nearest = nearest_name(given, candidates, count);
    if (nearest != NULL)
        complain("unknown %s `%s`; did you mean `%s`?", what, given, nearest);
    else
        complain("unknown %s `%s`", what, given);
    return usage();
}

static int unknown_option(const char *given)
{
    const char *names[OPTION_ROWS];
    for (size_t i = 0; i < OPTION_ROWS; i++)
        names[i] = option_rows[i].name;
    return unknown("option", given, names, OPTION_ROWS);
}

/* Splits argv into options and words; 0, or 2 after a message. */
static int read_line(struct arena *arena, int argc, char **argv, struct line *line)
{
    line->options = arena_alloc(arena, (size_t)argc * sizeof *line->options);
    line->words = arena_alloc(arena, (size_t)argc * sizeof *line->words);
    bool only_words = false;
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (only_words || arg[0] != '-' || arg[1] == '\0') {
            line->words[line->word_count++] = arg;
            continue;
        }
        if (strcmp(arg, "--") == 0) {
            only_words = true;
            continue;
        }
        const char *equals = arg[1] == '-' ? strchr(arg, '=') : NULL;
        size_t size = equals != NULL ? (size_t)(equals - arg) : strlen(arg);
        const char *name = arena_strndup(arena, arg, size);
        const struct option_row *row = NULL;
        for (size_t j = 0; j < OPTION_ROWS; j++)
            if (strcmp(option_rows[j].name, name) == 0)
                row = &option_rows[j];
        if (row == NULL)
            return unknown_option(name);
        const char *value = equals != NULL ? equals + 1 : NULL;
        if (row->has_value && value == NULL && ++i < argc)
            value = argv[i];
        if (row->has_value != (value != NULL) || (value != NULL && value[0] == '\0')) {
            complain(row->has_value ? "option `%s` needs a value" : "option `%s` takes no value",
                     row->name);
            return usage();
        }
        line->options[line->option_count].row = row;
        line->options[line->option_count++].value = value;
    }
    return 0;
}

/* The index of `value` among `names`; -1 after a message. */
static int choose(const char *option, const char *value, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], value) == 0)
            return (int)i;
    fprintf(stderr, "pipec: `%s` is no value of `%s`, which is one of", value, option);
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, "%s %s", i > 0 ? "," : "", names[i]);
    fputc('\n', stderr);
    return -1;
}

/* "5000/s", "1.5/m", "3_000/h"; false after a message. */
static bool read_rate(const char *value, double *rate_per_second)
{
    char digits[32];
    size_t size = 0, points = 0;
    const char *at = value;
    for (; (*at >= '0' && *at <= '9') || *at == '_' || *at == '.'; at++) {
        points += *at == '.';
        if (*at != '_' && size < sizeof digits - 1)
            digits[size++] = *at;
    }
    digits[size] = '\0';
    double unit_s = strcmp(at, "/s") == 0                              ? 1
                    : strcmp(at, "/m") == 0 || strcmp(at, "/min") == 0 ? 60
                    : strcmp(at, "/h") == 0                            ? 3600
                                                                       : 0;
    double number = strtod(digits, NULL);
    *rate_per_second = unit_s > 0 ? number / unit_s : 0;
    if (unit_s > 0 && points <= 1 && number > 0 && number <= 1e15)
        return true;
    complain("`%s` is no value of `--rate`: write records a second, minute or hour, as in 5000/s",
             value);
    return false;
}

static const char *const formats[] = {"text", "json", "mermaid", "dot"}; /* enum explain_format */

/* 0, or 2 after a message. */
static int apply_option(enum command command, enum option option, const char *value,
                        struct options *options)
{
    static const char *const stages[] = {"ast", "logical", "physical"};
    static const char *const diagnostics[] = {"text", "json"};
    int chosen = 0;
    switch (option) {
    case OPTION_ROOT:
        options->root = value;
        break;
    case OPTION_DIAGNOSTICS:
        chosen = choose("--diagnostics", value, diagnostics, 2);
        options->json_diagnostics = chosen == 1;
        break;
    case OPTION_O:
        *(command == BUILD ? &options->program_path : &options->generated) = value;
        break;
    case OPTION_OUT:
        options->generated = value;
        break;
    case OPTION_CHECK:
        options->check_only = true;
        break;
    case OPTION_FORMAT:
        chosen = choose("--format", value, formats, 4);
        options->format = chosen < 0 ? EXPLAIN_TEXT : (enum explain_format)chosen;
        break;
    case OPTION_STAGE:
        chosen = choose("--stage", value, stages, 3);
        options->stage = chosen < 0 ? EXPLAIN_PHYSICAL : (enum explain_stage)chosen;
        break;
    case OPTION_RATE:
        chosen = read_rate(value, &options->rate_per_second) ? 0 : -1;
        break;
    case OPTION_ONLY:
        options->only_test = value;
        break;
    case OPTION_UPDATE:
        options->update = true;
        break;
    case OPTION_VERBOSE:
        options->verbose = true;
        break;
    case OPTION_HELP:
    case OPTION_VERSION:
    case OPTION_EXPLAIN:
        break;
    }
    return chosen < 0 ? usage() : 0;
}

static bool looks_like_a_file(const char *word)
{
    if (strpbrk(word, "./") != NULL)
        return true;
    return access(word, R_OK) == 0;
}

/* Which command the first word names; it is taken off. -1 after a message. */
static int find_command(struct line *line, bool explains, struct options *options)
{
    static const char *const later[] = {"plan"};
    const char *first = line->word_count > 0 ? line->words[0] : NULL;
    options->files = line->words;
    options->file_count = line->word_count;
    if (explains || first == NULL)
        return explains ? EXPLAIN : COMPILE;
    const char *names[COMMAND_ROWS + 1];
    size_t count = 0;
    for (size_t i = 0; i < COMMAND_ROWS; i++) {
        const struct command_row *row = &command_rows[i];
        if (row->name == NULL)
            continue;
        names[count++] = row->name;
        if (strcmp(row->name, first) == 0) {
            options->files++;
            options->file_count--;
            return row->command;
        }
    }
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        if (strcmp(later[i], first) == 0 && !looks_like_a_file(first)) {
            complain("`pipec %s` is not there yet in this version", first);
            return -1;
        }
    }
    if (looks_like_a_file(first))
        return COMPILE;
    names[count++] = "--explain";
    if (strcmp(first, "explain") == 0)
        complain("unknown command `explain`; did you mean `--explain`?");
    else
        return unknown("command", first, names, count), -1;
    return usage(), -1;
}

/* The tree of the syntax is printed as text only. */
static bool is_explainable(const struct options *options)
{
    if (options->stage != EXPLAIN_AST || options->format == EXPLAIN_TEXT)
        return true;
    complain("`--stage ast` is printed as text only: leave out `--format %s`, or name the stage "
             "`logical` or `physical`, which have it",
             formats[options->format]);
    return false;
}

static int run(enum command command, const struct options *options)
{
    switch (command) {
    case COMPILE:
        return command_compile(options);
    case BUILD:
        return command_build(options);
    case EXPLAIN:
        return is_explainable(options) ? command_explain(options) : usage();
    case CHECK:
        return command_check(options);
    case FMT:
        return command_fmt(options);
    case TEST:
        return command_test(options);
    case CONTRACTS: {
        struct options inner = *options;
        if (strcmp(options->files[0], "check") != 0)
            return unknown("command of `pipec contracts`,", options->files[0],
                           (const char *const[]){"check"}, 1);
        inner.files++;
        inner.file_count--;
        return command_contracts(&inner);
    }
    case HELP:
        return command_help(options->file_count > 0 ? options->files[0] : NULL);
    }
    return 4;
}

static const struct command_row *row_of(enum command command)
{
    size_t i = 0;
    while (command_rows[i].command != command)
        i++;
    return &command_rows[i];
}

/* Of two values one would be lost without a word. */
static bool is_given_once(const struct line *line, size_t at, enum command command)
{
    const struct option_row *row = line->options[at].row;
    for (size_t i = 0; row->has_value && i < at; i++) {
        const struct option_row *other = line->options[i].row;
        if (other->option == row->option) {
            complain("option `%s` is given twice", row->name);
            return false;
        }
        bool outs = (row->option == OPTION_O && other->option == OPTION_OUT) ||
                    (row->option == OPTION_OUT && other->option == OPTION_O);
        if (outs && command == COMPILE) {
            complain("`-o` and `--out` are the same option here: one is to be given");
            return false;
        }
    }
    return true;
}

/* Which command `--help` is asked of; NULL: none. */
static const char *help_topic(const struct line *line)
{
    for (size_t i = 0; i < line->option_count; i++)
        if (line->options[i].row->option == OPTION_EXPLAIN)
            return "--explain";
    for (size_t i = 0; line->word_count > 0 && i < COMMAND_ROWS; i++)
        if (command_rows[i].name != NULL && strcmp(command_rows[i].name, line->words[0]) == 0)
            return line->words[0];
    return NULL;
}

static int run_line(struct line *line)
{
    struct options options = {.root = ".", .generated = "generated", .stage = EXPLAIN_PHYSICAL};
    bool explains = false;
    for (size_t i = 0; i < line->option_count; i++) {
        if (line->options[i].row->option == OPTION_HELP)
            return command_help(help_topic(line));
        if (line->options[i].row->option == OPTION_VERSION)
            return puts("pipec " PIPEC_VERSION), flush_stdout() ? 0 : 1;
        explains |= line->options[i].row->option == OPTION_EXPLAIN;
    }
    int command = find_command(line, explains, &options);
    if (command < 0)
        return 2;
    const struct command_row *row = row_of((enum command)command);
    for (size_t i = 0; i < line->option_count; i++) {
        const struct option_row *option = line->options[i].row;
        if ((option->commands & BIT(command)) == 0) {
            complain("option `%s` does not go with `%s`", option->name, row->takes);
            return usage();
        }
        if (!is_given_once(line, i, (enum command)command))
            return usage();
        int code =
            apply_option((enum command)command, option->option, line->options[i].value, &options);
        if (code != 0)
            return code;
    }
    if (options.file_count < row->min_files || options.file_count > row->max_files) {
        complain("%s; the form is `%s`",
                 options.file_count < row->min_files ? "something is missing" : "too many names",
                 row->takes);
        return usage();
    }
    return run((enum command)command, &options);
}

int command_line(int argc, char **argv)
{
    struct arena *arena = arena_new();
    struct line line = {0};
    int code = read_line(arena, argc, argv, &line);
    if (code == 0)
        code = run_line(&line);
    arena_free(arena);
    return code;
}
