/* json_write.c: the rarer parts of writing JSON and CSV (json.h). */
#include "json.h"

void pipe_json_string_slow(struct pipe_buf *buf, struct pipe_str value)
{
    static const char letters[0x20] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    static const char hex[] = "0123456789abcdef";
    pipe_buf_add_byte(buf, '"');
    size_t copied = 0;
    for (size_t i = 0; i < value.size; i++) {
        uint8_t c = (uint8_t)value.data[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        pipe_buf_add(buf, value.data + copied, i - copied);
        copied = i + 1;
        uint8_t *to = pipe_buf_reserve(buf, 6);
        char letter = c >= 0x20 ? (char)c : letters[c];
        to[0] = '\\';
        to[1] = (uint8_t)(letter != 0 ? letter : 'u');
        buf->size += 2;
        if (letter == 0) {
            to[2] = to[3] = '0';
            to[4] = (uint8_t)hex[c >> 4];
            to[5] = (uint8_t)hex[c & 15];
            buf->size += 4;
        }
    }
    pipe_buf_add(buf, value.data + copied, value.size - copied);
    pipe_buf_add_byte(buf, '"');
}

void pipe_json_decimal(struct pipe_buf *buf, pipe_decimal value, unsigned scale)
{
    char *to = (char *)pipe_buf_reserve(buf, PIPE_DECIMAL_TEXT_MAX + 2);
    size_t size = pipe_decimal_write(to + 1, value, scale);
    to[0] = to[size + 1] = '"';
    buf->size += size + 2;
}

void pipe_json_base64(struct pipe_buf *buf, struct pipe_str value)
{
    pipe_buf_add_byte(buf, '"');
    pipe_base64_add(buf, value.data, value.size);
    pipe_buf_add_byte(buf, '"');
}

/* --- CSV ----------------------------------------------------------------------------------------
 */

void pipe_csv_string(struct pipe_buf *buf, struct pipe_str value)
{
    bool quotes = value.size == 0;
    for (size_t i = 0; i < value.size && !quotes; i++) {
        char c = value.data[i];
        quotes = c == ',' || c == '"' || c == '\n' || c == '\r' || c == '\0';
    }
    if (!quotes) {
        pipe_buf_add(buf, value.data, value.size);
        return;
    }
    size_t copied = 0;
    pipe_buf_add_byte(buf, '"');
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] != '"')
            continue;
        pipe_buf_add(buf, value.data + copied, i + 1 - copied);
        pipe_buf_add_byte(buf, '"');
        copied = i + 1;
    }
    pipe_buf_add(buf, value.data + copied, value.size - copied);
    pipe_buf_add_byte(buf, '"');
}

void pipe_csv_decimal(struct pipe_buf *buf, pipe_decimal value, unsigned scale)
{
    buf->size +=
        pipe_decimal_write((char *)pipe_buf_reserve(buf, PIPE_DECIMAL_TEXT_MAX), value, scale);
}

void pipe_csv_date(struct pipe_buf *buf, int32_t days)
{
    pipe_date_write((char *)pipe_buf_reserve(buf, PIPE_DATE_TEXT), days);
    buf->size += PIPE_DATE_TEXT;
}

void pipe_csv_timestamp_ms(struct pipe_buf *buf, int64_t ms)
{
    pipe_ts_ms_write((char *)pipe_buf_reserve(buf, PIPE_TS_MS_TEXT), ms);
    buf->size += PIPE_TS_MS_TEXT;
}

void pipe_csv_timestamp_us(struct pipe_buf *buf, int64_t us)
{
    pipe_ts_us_write((char *)pipe_buf_reserve(buf, PIPE_TS_US_TEXT), us);
    buf->size += PIPE_TS_US_TEXT;
}
