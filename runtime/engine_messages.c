/*
 * engine_messages.c: what the program says on stderr, and crash points.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine.h"
#include "log_options.h"

static enum pipe_level least_level = PIPE_INFO;

void pipe_message_level(enum pipe_level least)
{
    least_level = least;
}

/* Of fields that did not fit: no half of a character, and no quote that is left open. */
static void end_cut(char *text, size_t bytes)
{
    bool quoted = false;
    text[bytes - 3] = '\0'; /* room for a quote */
    pipe_utf8_trim(text, bytes - 3);
    size_t end = strlen(text);
    for (size_t i = 0; i < end; i++) {
        if (text[i] == '\\' && quoted && i + 1 < end)
            i++;
        else if (text[i] == '\\' && quoted)
            end = i;
        else if (text[i] == '"')
            quoted = !quoted;
    }
    text[end] = quoted ? '"' : '\0';
    text[end + 1] = '\0';
}

void pipe_message(enum pipe_level level, const char *message, const char *fields_format, ...)
{
    static const char *const names[] = {"debug", "info", "warning", "error"};
    char when[PIPE_TS_MS_TEXT + 1] = {0}, said[1024], fields[1024] = "", text[2][4096];
    if (level < least_level)
        return;
    if (fields_format != NULL) {
        va_list args;
        va_start(args, fields_format);
        int bytes = vsnprintf(fields, sizeof fields, fields_format, args);
        va_end(args);
        if (bytes >= (int)sizeof fields)
            end_cut(fields, sizeof fields);
    }
    snprintf(said, sizeof said, "%s", message);
    pipe_blank_unsafe(said);
    pipe_blank_unsafe(fields);
    pipe_utf8_escape(text[0], sizeof text[0], said);
    pipe_utf8_escape(text[1], sizeof text[1], fields);
    pipe_ts_ms_write(when, engine_wall_ms());
    fprintf(stderr, "%s %s %s%s%s\n", when, names[level], text[0], fields[0] != '\0' ? " " : "",
            text[1]);
}

const char *pipe_message_quoted(char *to, size_t to_bytes, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t used = 0;
    while (*at != '\0' && used + 3 < to_bytes) {
        size_t unsafe = pipe_unsafe_bytes(at);
        if (*at == '"' || *at == '\\')
            to[used++] = '\\';
        to[used++] = unsafe > 0 ? ' ' : (char)*at;
        at += unsafe > 0 ? unsafe : 1;
    }
    to[used] = '\0';
    if (*at != '\0')
        pipe_utf8_trim(to, used);
    return to;
}

bool engine_fail(struct pipe_engine *engine, int exit_code, const char *format, ...)
{
    if (!engine->failed) {
        char text[sizeof engine->error];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        log_advise(text, sizeof text);
        pipe_utf8_trim(text, strlen(text));
        pipe_blank_unsafe(text);
        pipe_utf8_escape(engine->error, sizeof engine->error, text);
        engine->failed = true;
        engine->exit_code = exit_code;
    }
    return false;
}

bool engine_log_failed(struct pipe_engine *engine)
{
    return engine_fail(engine, engine->log->fenced ? PIPE_EXIT_OK : PIPE_EXIT_DATA, "%s",
                       engine->log->error);
}

#ifdef PIPE_DEBUG
_Thread_local void (*pipe_crash_hook)(const char *name);

void pipe_crash_point(const char *name)
{
    static const char *wanted;
    static size_t name_bytes;
    static unsigned long left;
    if (pipe_crash_hook != NULL) {
        pipe_crash_hook(name);
        return;
    }
    if (wanted == NULL) {
        wanted = getenv("PIPE_CRASH");
        wanted = wanted != NULL ? wanted : "";
        const char *colon = strchr(wanted, ':');
        name_bytes = colon != NULL ? (size_t)(colon - wanted) : strlen(wanted);
        left = colon != NULL ? strtoul(colon + 1, NULL, 10) : 1;
    }
    if (name_bytes == 0 || strlen(name) != name_bytes || memcmp(name, wanted, name_bytes) != 0)
        return;
    if (left > 0 && --left == 0)
        kill(getpid(), SIGKILL);
}
#endif
