/* The fast paths of avro.h against their definition: text of every length with a byte that is no
 * ASCII at every place, near the end of the record and far from it; integers of every size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../runtime/avro.h"

#define LENGTH_MAX 200
#define BEHIND 80 /* bytes */

/* Reads a text of `size` bytes with `behind` bytes in the record behind it. */
static bool read_text(const uint8_t *text, size_t size, size_t behind)
{
    struct pipe_buf record = {0};
    struct pipe_reader reader;
    struct pipe_str out = {0};
    pipe_avro_put_bytes(&record, pipe_str_of(text, size));
    for (size_t i = 0; i < behind; i++)
        pipe_buf_add_byte(&record, 0xFF); /* not the text's: must not matter */
    pipe_reader_init(&reader, record.data, record.size, NULL);
    bool ok = pipe_avro_string(&reader, &out);
    if (ok) {
        assert_int_equal(out.size, size);
        assert_true(size == 0 || memcmp(out.data, text, size) == 0);
        assert_int_equal(reader.end - reader.at, behind);
    } else {
        assert_string_equal(reader.cause, "not valid UTF-8");
    }
    pipe_buf_free(&record);
    return ok;
}

static void test_text(void **state)
{
    uint8_t text[LENGTH_MAX + 1];
    (void)state;
    for (size_t size = 0; size <= LENGTH_MAX; size++) {
        for (size_t behind = 0; behind <= BEHIND; behind += BEHIND) {
            memset(text, 'a', sizeof text);
            assert_true(read_text(text, size, behind));
            for (size_t at = 0; at < size; at++) {
                text[at] = 0x80; /* alone it is no character */
                assert_false(read_text(text, size, behind));
                text[at] = 0xC3;
                assert_false(read_text(text, size, behind));
                text[at + 1] = 0xA9; /* é, unless the text ends between */
                assert_int_equal(read_text(text, size, behind), at + 1 < size);
                text[at] = text[at + 1] = 'a';
            }
        }
    }
}

static void check_long(int64_t value, size_t behind)
{
    struct pipe_buf record = {0};
    struct pipe_reader reader;
    int64_t out = 0;
    pipe_avro_put_long(&record, value);
    size_t size = record.size;
    for (size_t i = 0; i < behind; i++)
        pipe_buf_add_byte(&record, 0xFF);
    pipe_reader_init(&reader, record.data, record.size, NULL);
    assert_true(pipe_avro_long(&reader, &out));
    assert_int_equal(out, value);
    assert_int_equal(reader.end - reader.at, behind);
    /* Cut short it is refused, whatever lies behind the record. */
    for (size_t cut = 0; cut < size; cut++) {
        pipe_reader_init(&reader, record.data, cut, NULL);
        assert_false(pipe_avro_long(&reader, &out));
        assert_string_equal(reader.cause, "the record ends early");
    }
    pipe_buf_free(&record);
}

static void test_integers(void **state)
{
    (void)state;
    for (size_t behind = 0; behind <= 12; behind++) {
        for (unsigned bit = 0; bit < 63; bit++) {
            int64_t power = (int64_t)1 << bit;
            for (int64_t near = -1; near <= 1; near++) {
                check_long(power + near, behind);
                check_long(-(power + near), behind);
            }
        }
        check_long(INT64_MAX, behind);
        check_long(INT64_MIN, behind);
        check_long(0x0123456789ABCDEF, behind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
