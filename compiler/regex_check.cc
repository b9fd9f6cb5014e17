// regex_check.cc: asks RE2, the engine of the run time, whether a pattern is one.
#include <re2/re2.h>
#include <cstdlib>
#include <cstring>
#include <string>

extern "C" [[noreturn]] void out_of_memory(void); // pipec.h, which is C

static RE2::Options quiet_options()
{
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(8 << 20);
    return options;
}

static char *copy_of(const std::string &text)
{
    char *copy = static_cast<char *>(std::malloc(text.size() + 1));
    if (copy == nullptr)
        out_of_memory();
    std::memcpy(copy, text.c_str(), text.size() + 1);
    return copy;
}

// RE2 lets `\C` match one byte of a character: what it matches would be no text. Between \Q and
// \E it is text.
static bool takes_bytes(const char *pattern, size_t size_bytes)
{
    for (size_t i = 0; i + 1 < size_bytes; i++) {
        if (pattern[i] != '\\')
            continue;
        char escaped = pattern[++i];
        if (escaped == 'C')
            return true;
        if (escaped == 'Q')
            while (i + 2 < size_bytes && (pattern[i + 1] != '\\' || pattern[i + 2] != 'E'))
                i++;
    }
    return false;
}

extern "C" bool regex_check(const char *pattern, size_t size_bytes, int *groups, char **error)
{
    *error = nullptr;
    *groups = 0;
    if (takes_bytes(pattern, size_bytes)) {
        *error = copy_of("\\C takes a byte of a character; write . for any character");
        return false;
    }
    RE2 regex(re2::StringPiece(pattern, size_bytes), quiet_options());
    *groups = regex.ok() ? regex.NumberOfCapturingGroups() : 0;
    if (regex.ok())
        return true;
    *error = copy_of(regex.error());
    return false;
}

// As a program over bytes that are characters: for UTF-8, classes of many characters are large but
// take no longer.
extern "C" int regex_size(const char *pattern, size_t size_bytes)
{
    RE2::Options options = quiet_options();
    options.set_encoding(RE2::Options::EncodingLatin1);
    RE2 regex(re2::StringPiece(pattern, size_bytes), options);
    return regex.ok() ? regex.ProgramSize() : 0;
}

extern "C" bool regex_check_rewrite(const char *pattern, size_t size_bytes, const char *text,
                                    size_t text_bytes, char **error)
{
    RE2 regex(re2::StringPiece(pattern, size_bytes), quiet_options());
    std::string reason;
    *error = nullptr;
    if (!regex.ok() || regex.CheckRewriteString(re2::StringPiece(text, text_bytes), &reason))
        return true;
    *error = copy_of(reason);
    return false;
}
