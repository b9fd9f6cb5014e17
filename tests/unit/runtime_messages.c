/* Log lines: one line each, whatever the texts in them are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"

static char line[4096];

/* What the call writes to standard error, behind the time. */
static const char *logged(const char *text)
{
    char quoted[2048];
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    assert_non_null(file);
    assert_true(kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    pipe_message(PIPE_WARNING, "tried", "n=1 what=\"%s\"",
                 pipe_message_quoted(quoted, sizeof quoted, text));
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
    rewind(file);
    size_t bytes = fread(line, 1, sizeof line - 1, file);
    line[bytes] = '\0';
    fclose(file);
    return strchr(line, ' ') + 1;
}

static void test_short(void **state)
{
    (void)state;
    assert_string_equal(logged("a \"b\" \\ \n c"),
                        "warning tried n=1 what=\"a \\\"b\\\" \\\\   c\"\n");
}

/* What would break the line, or show it otherwise than it is, is a blank; what lies beside it in
 * Unicode is kept. */
static void test_unsafe(void **state)
{
    (void)state;
    const char *const unsafe[] = {"\x01",   "\x1b",   "\x7f",   "\xC2\x85", "\xC2\x9B",
                                  "\u200e", "\u200f", "\u2028", "\u2029",   "\u202a",
                                  "\u202e", "\u2066", "\u2069", "\ufeff"};
    const char *const safe[] = {"\u00a0", "\u00e9", "\u200d", "\u2010", "\u2027",
                                "\u202f", "\u2065", "\u206a", "\ufefe", "\uff00"};
    char text[64], wanted[96];
    for (size_t i = 0; i < sizeof unsafe / sizeof *unsafe; i++) {
        snprintf(text, sizeof text, "a%sb", unsafe[i]);
        assert_string_equal(logged(text), "warning tried n=1 what=\"a b\"\n");
    }
    for (size_t i = 0; i < sizeof safe / sizeof *safe; i++) {
        snprintf(text, sizeof text, "a%sb", safe[i]);
        snprintf(wanted, sizeof wanted, "warning tried n=1 what=\"%s\"\n", text);
        assert_string_equal(logged(text), wanted);
    }
}

/* Cut at every place: characters stay whole, the quote is closed, and no more than 1 KiB is said.
 */
static void test_long(void **state)
{
    (void)state;
    const char *const units[] = {"x", "\"", "\\", "\xC3\xA9", "\xE2\x82\xAC"};
    for (size_t unit = 0; unit < sizeof units / sizeof *units; unit++) {
        for (int before = 0; before < 4; before++) {
            char text[1800] = "";
            memset(text, 'a', (size_t)before);
            while (strlen(text) < 1500)
                strcat(text, units[unit]);
            const char *said = logged(text);
            size_t bytes = strlen(said);
            assert_in_range(bytes, 1000, 1050);
            assert_string_equal(said + bytes - 2, "\"\n");
            size_t escapes = 0;
            while (said[bytes - 3 - escapes] == '\\')
                escapes++;
            assert_int_equal(escapes % 2, 0);
            if (unit >= 3)
                assert_memory_equal(said + bytes - 2 - strlen(units[unit]), units[unit],
                                    strlen(units[unit]));
        }
    }
}

/* Into every room: whole characters only. */
static void test_quoted(void **state)
{
    (void)state;
    char to[32];
    for (size_t room = 4; room < sizeof to; room++) {
        size_t bytes = strlen(pipe_message_quoted(to, room, "a€é€é€é€é€é€é€é€"));
        assert_true(bytes < room && bytes + 6 >= room);
        assert_true(bytes == 1 || (bytes - 1) % 5 == 0 || (bytes - 1) % 5 == 3);
    }
    assert_string_equal(pipe_message_quoted(to, sizeof to, "b\xA9"), "b\xA9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short),
        cmocka_unit_test(test_unsafe),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_quoted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
