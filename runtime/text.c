/* text.c: UTF-8, base64, hexadecimal digits, UUIDs (value.h). */
#include "value.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

char *pipe_str_dup(struct pipe_str str)
{
    char *copy = pipe_malloc(str.size + 1);
    if (str.size > 0)
        memcpy(copy, str.data, str.size);
    copy[str.size] = '\0';
    return copy;
}

char *pipe_text_dup(const char *text)
{
    return text == NULL ? NULL : pipe_str_dup(pipe_str_of(text, strlen(text)));
}

bool pipe_refuse(char *error, size_t error_bytes, const char *format, ...)
{
    int cause = errno;
    va_list args;
    va_start(args, format);
    vsnprintf(error, error_bytes, format, args);
    va_end(args);
    pipe_text_show(error, error_bytes);
    errno = cause;
    return false;
}

bool pipe_str_copy(struct pipe_arena *arena, struct pipe_str str, struct pipe_str *out)
{
    char *copy = pipe_arena_alloc(arena, str.size);
    if (copy == NULL && str.size > 0)
        return false;
    if (str.size > 0)
        memcpy(copy, str.data, str.size);
    *out = pipe_str_of(copy, str.size);
    return true;
}

/* The bytes of the well-formed character at `at` (which is not ASCII), or 0. */
static size_t utf8_character(const uint8_t *at, const uint8_t *end)
{
    size_t size = *at < 0xC2 ? 0 : *at < 0xE0 ? 2 : *at < 0xF0 ? 3 : *at < 0xF5 ? 4 : 0;
    if (size == 0 || (size_t)(end - at) < size)
        return 0;
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xC0) != 0x80)
            return 0;
    }
    bool overlong = (at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xF0 && at[1] < 0x90);
    bool surrogate = at[0] == 0xED && at[1] >= 0xA0;
    bool too_great = at[0] == 0xF4 && at[1] >= 0x90;
    return overlong || surrogate || too_great ? 0 : size;
}

bool pipe_utf8_check_slow(const uint8_t *at, const uint8_t *end)
{
    while (at < end) {
        if (*at < 0x80) {
            at++;
            continue;
        }
        size_t size = utf8_character(at, end);
        if (size == 0)
            return false;
        at += size;
    }
    return true;
}

void pipe_utf8_trim(char *text, size_t size)
{
    size_t lead = size;
    while (lead > 0 && size - lead < 4 && ((uint8_t)text[lead - 1] & 0xC0) == 0x80)
        lead--;
    if (lead == 0 || (uint8_t)text[lead - 1] < 0xC0)
        return;
    uint8_t first = (uint8_t)text[lead - 1];
    size_t whole = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (size - (lead - 1) < whole)
        text[lead - 1] = '\0';
}

void pipe_utf8_escape(char *to, size_t to_bytes, const char *text)
{
    const uint8_t *at = (const uint8_t *)text, *end = at + strlen(text);
    bool valid = pipe_utf8_check(at, (size_t)(end - at));
    char *limit = to + to_bytes - 1;
    while (at < end) {
        size_t size = *at < 0x80 ? 1 : utf8_character(at, end);
        char digits[8];
        const char *from = (const char *)at;
        at += size > 0 ? size : 1;
        if (size == 0) {
            from = digits;
            size = (size_t)snprintf(digits, sizeof digits, "\\x%02x", at[-1]);
        } else if (!valid && *from == '\\') {
            from = "\\\\";
            size = 2;
        }
        if (size > (size_t)(limit - to))
            break;
        memcpy(to, from, size);
        to += size;
    }
    *to = '\0';
}

char *pipe_utf8_escaped(const char *text)
{
    if (text == NULL)
        return NULL;
    size_t most = strlen(text) * 4 + 1;
    char *escaped = pipe_malloc(most);
    pipe_utf8_escape(escaped, most, text);
    return escaped;
}

/* Controls (U+0080 … U+009F too), what ends a line, what reorders text on a terminal (U+200E,
 * U+200F, U+202A … U+202E, U+2066 … U+2069), U+FEFF. The same as is_unsafe of the compiler. */
size_t pipe_unsafe_bytes(const unsigned char *at)
{
    if (at[0] < ' ' || at[0] == 127)
        return 1;
    if (at[0] == 0xC2)
        return at[1] >= 0x80 && at[1] < 0xA0 ? 2 : 0;
    if (at[0] == 0xE2 && at[1] == 0x80)
        return (at[2] & ~1u) == 0x8E || (at[2] >= 0xA8 && at[2] <= 0xAE) ? 3 : 0;
    if (at[0] == 0xE2 && at[1] == 0x81)
        return at[2] >= 0xA6 && at[2] <= 0xA9 ? 3 : 0;
    return at[0] == 0xEF && at[1] == 0xBB && at[2] == 0xBF ? 3 : 0;
}

void pipe_blank_unsafe(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at != '\0';) {
        size_t bytes = pipe_unsafe_bytes(at);
        memset(at, ' ', bytes);
        at += bytes > 0 ? bytes : 1;
    }
}

void pipe_text_show(char *text, size_t text_bytes)
{
    size_t size = strlen(text);
    if (size + 1 == text_bytes) /* it may have been clipped */
        pipe_utf8_trim(text, size);
    pipe_blank_unsafe(text);
    if (pipe_utf8_check((const uint8_t *)text, strlen(text)))
        return;
    char *copy = pipe_text_dup(text);
    pipe_utf8_escape(text, text_bytes, copy);
    free(copy);
}

size_t pipe_utf8_put(char *to, uint32_t code_point)
{
    if (code_point < 0x80) {
        to[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        to[0] = (char)(0xC0 | code_point >> 6);
        to[1] = (char)(0x80 | (code_point & 0x3F));
        return 2;
    }
    if (code_point < 0x10000) {
        to[0] = (char)(0xE0 | code_point >> 12);
        to[1] = (char)(0x80 | (code_point >> 6 & 0x3F));
        to[2] = (char)(0x80 | (code_point & 0x3F));
        return 3;
    }
    to[0] = (char)(0xF0 | code_point >> 18);
    to[1] = (char)(0x80 | (code_point >> 12 & 0x3F));
    to[2] = (char)(0x80 | (code_point >> 6 & 0x3F));
    to[3] = (char)(0x80 | (code_point & 0x3F));
    return 4;
}

/* --- base64 ------------------------------------------------------------------------------------
 */

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void pipe_base64_add(struct pipe_buf *buf, const void *bytes, size_t size_bytes)
{
    const uint8_t *at = bytes;
    uint8_t *to = pipe_buf_reserve(buf, (size_bytes + 2) / 3 * 4);
    buf->size += (size_bytes + 2) / 3 * 4;
    for (; size_bytes >= 3; at += 3, size_bytes -= 3) {
        uint32_t group = (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2];
        *to++ = (uint8_t)base64_digits[group >> 18];
        *to++ = (uint8_t)base64_digits[group >> 12 & 63];
        *to++ = (uint8_t)base64_digits[group >> 6 & 63];
        *to++ = (uint8_t)base64_digits[group & 63];
    }
    if (size_bytes == 0)
        return;
    uint32_t group = (uint32_t)at[0] << 16 | (size_bytes == 2 ? (uint32_t)at[1] << 8 : 0);
    *to++ = (uint8_t)base64_digits[group >> 18];
    *to++ = (uint8_t)base64_digits[group >> 12 & 63];
    *to++ = (uint8_t)(size_bytes == 2 ? base64_digits[group >> 6 & 63] : '=');
    *to = '=';
}

static int base64_digit(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool pipe_base64_read(struct pipe_str text, uint8_t *to, size_t *size_bytes)
{
    if (text.size % 4 != 0)
        return false;
    size_t digits = text.size;
    while (digits > 0 && text.size - digits < 2 && text.data[digits - 1] == '=')
        digits--;
    uint32_t bits = 0;
    unsigned bit_count = 0;
    size_t written = 0;
    for (size_t i = 0; i < digits; i++) {
        int digit = base64_digit((uint8_t)text.data[i]);
        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        bit_count += 6;
        if (bit_count >= 8) {
            bit_count -= 8;
            to[written++] = (uint8_t)(bits >> bit_count);
            bits &= (1u << bit_count) - 1;
        }
    }
    if (bits != 0)
        return false;
    *size_bytes = written;
    return true;
}

/* --- hex, UUID ---------------------------------------------------------------------------------
 */

static const char hex_digits[] = "0123456789abcdef";

void pipe_hex_write(char *to, const void *bytes, size_t size_bytes)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size_bytes; i++) {
        *to++ = hex_digits[at[i] >> 4];
        *to++ = hex_digits[at[i] & 15];
    }
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_uuid_dash(size_t i)
{
    return i == 8 || i == 13 || i == 18 || i == 23;
}

bool pipe_uuid_read(struct pipe_str text, char *to)
{
    char lower[36];
    if (text.size != sizeof lower)
        return false;
    for (size_t i = 0; i < sizeof lower; i++) {
        uint8_t c = (uint8_t)text.data[i];
        if (is_uuid_dash(i) ? c != '-' : hex_digit(c) < 0)
            return false;
        lower[i] = (char)(c | 0x20); /* '-' and digits have that bit already */
    }
    memcpy(to, lower, sizeof lower);
    return true;
}

bool pipe_uuid_is_lower(struct pipe_str text)
{
    if (text.size != 36)
        return false;
    for (size_t i = 0; i < 36; i++) {
        uint8_t c = (uint8_t)text.data[i];
        bool good = is_uuid_dash(i) ? c == '-' : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        if (!good)
            return false;
    }
    return true;
}

void pipe_uuid_to_bytes(struct pipe_str uuid, uint8_t to[16])
{
    size_t i = 0;
    for (size_t byte = 0; byte < 16; byte++, i += 2) {
        if (is_uuid_dash(i))
            i++;
        to[byte] =
            (uint8_t)(hex_digit((uint8_t)uuid.data[i]) << 4 | hex_digit((uint8_t)uuid.data[i + 1]));
    }
}

void pipe_uuid_from_bytes(const uint8_t bytes[16], char to[36])
{
    size_t i = 0;
    for (size_t byte = 0; byte < 16; byte++, i += 2) {
        if (is_uuid_dash(i))
            to[i++] = '-';
        pipe_hex_write(to + i, bytes + byte, 1);
    }
}
