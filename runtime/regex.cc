// regex.cc: RE2 behind a C interface (functions.h). RE2 runs in time linear in the text, within a
// memory bound, and never throws.
#include "functions.h"

#include <new>
#include <re2/re2.h>
#include <string>

struct pipe_regex {
    re2::RE2 engine;
    pipe_regex(re2::StringPiece pattern, const re2::RE2::Options &options)
        : engine(pattern, options)
    {
    }
};

static re2::StringPiece piece(struct pipe_str s)
{
    return re2::StringPiece(s.data != nullptr ? s.data : "", s.size);
}

struct pipe_regex *pipe_regex_compile_str(struct pipe_str pattern, struct pipe_error *error)
{
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(8 << 20);
    struct pipe_regex *regex = new (std::nothrow) pipe_regex(piece(pattern), options);
    if (regex == nullptr)
        pipe_out_of_memory();
    if (!regex->engine.ok()) {
        pipe_fail(error, "", "%s", regex->engine.error().c_str());
        delete regex;
        return nullptr;
    }
    return regex;
}

struct pipe_regex *pipe_regex_compile(const char *pattern, struct pipe_error *error)
{
    return pipe_regex_compile_str(pipe_str_of(pattern, strlen(pattern)), error);
}

void pipe_regex_free(struct pipe_regex *regex)
{
    delete regex;
}

unsigned pipe_regex_groups(const struct pipe_regex *regex)
{
    return static_cast<unsigned>(regex->engine.NumberOfCapturingGroups());
}

bool pipe_regex_check_replacement(const struct pipe_regex *regex, struct pipe_str text,
                                  struct pipe_error *error)
{
    std::string cause;
    if (regex->engine.CheckRewriteString(piece(text), &cause))
        return true;
    return pipe_fail(error, "", "%s", cause.c_str());
}

bool pipe_fn_matches(const struct pipe_regex *regex, struct pipe_str s)
{
    re2::StringPiece text = piece(s);
    return regex->engine.Match(text, 0, text.size(), re2::RE2::UNANCHORED, nullptr, 0);
}

bool pipe_fn_regexp_extract(const struct pipe_regex *regex, struct pipe_str s, int64_t group,
                            struct pipe_str *out)
{
    enum { few_groups = 10 };
    re2::StringPiece text = piece(s), few[few_groups];
    if (group < 0 || group > regex->engine.NumberOfCapturingGroups())
        return false;
    int wanted = static_cast<int>(group) + 1;
    re2::StringPiece *groups = wanted <= few_groups ? few : new re2::StringPiece[wanted];
    bool found = regex->engine.Match(text, 0, text.size(), re2::RE2::UNANCHORED, groups, wanted);
    re2::StringPiece hit = groups[group];
    if (groups != few)
        delete[] groups;
    if (!found || hit.data() == nullptr)
        return false;
    *out = pipe_str_of(hit.data(), hit.size());
    return true;
}

// All matches replaced; false if that has more bytes than the limit.
static bool replace_matches(const struct pipe_regex *regex, struct pipe_str s, struct pipe_str text,
                            size_t limit_bytes, struct pipe_buf *out)
{
    re2::StringPiece input = piece(s), rewrite = piece(text);
    enum { all_groups = 10 };
    re2::StringPiece groups[all_groups];
    int wanted = 1 + re2::RE2::MaxSubmatch(rewrite);
    size_t at = 0, copied = 0;
    bool changed = false;
    while (at <= input.size() && out->size <= limit_bytes &&
           regex->engine.Match(input, at, input.size(), re2::RE2::UNANCHORED, groups, wanted)) {
        size_t begin = static_cast<size_t>(groups[0].data() - input.data());
        size_t end = begin + groups[0].size();
        // `\B` matches between the bytes of a character; nothing may be put there.
        if (begin == end && begin < input.size() && (input[begin] & 0xC0) == 0x80) {
            at = begin + 1;
            continue;
        }
        if (begin == end && changed && begin == copied) { // empty, right behind a match
            if (begin == input.size())
                break;
            at = begin + pipe_utf8_step(input.data() + begin, input.data() + input.size());
            pipe_buf_add(out, input.data() + copied, at - copied);
            copied = at;
            changed = false;
            continue;
        }
        pipe_buf_add(out, input.data() + copied, begin - copied);
        std::string replaced;
        regex->engine.Rewrite(&replaced, rewrite, groups, wanted);
        pipe_buf_add(out, replaced.data(), replaced.size());
        copied = at = end;
        changed = true;
    }
    pipe_buf_add(out, input.data() + copied, input.size() - copied);
    return out->size <= limit_bytes;
}

static struct pipe_str replaced_text(struct pipe_arena *arena, const struct pipe_regex *regex,
                                     struct pipe_str s, struct pipe_str text, size_t limit_bytes)
{
    struct pipe_buf result = {nullptr, 0, 0};
    struct pipe_str out = {pipe_too_long_text, 0};
    if (replace_matches(regex, s, text, limit_bytes, &result)) {
        char *copy = static_cast<char *>(pipe_arena_more(arena, result.size));
        if (result.size > 0)
            memcpy(copy, result.data, result.size);
        out = pipe_str_of(copy, result.size);
    }
    pipe_buf_free(&result);
    return out;
}

struct pipe_str pipe_fn_regexp_replace(struct pipe_arena *arena, const struct pipe_regex *regex,
                                       struct pipe_str s, struct pipe_str text)
{
    return replaced_text(arena, regex, s, text, SIZE_MAX / 4);
}

struct pipe_str pipe_fn_regexp_replace_within(struct pipe_arena *arena,
                                              const struct pipe_regex *regex, struct pipe_str s,
                                              struct pipe_str text)
{
    return replaced_text(arena, regex, s, text, arena->limit_bytes);
}
