// The only C++ here: RE2 and std::to_chars behind the C functions of shim.h.
#include "base/shim.h"

#include <re2/re2.h>

#include <charconv>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

struct shim_regex {
    RE2 program;
    shim_regex(const re2::StringPiece &pattern, const RE2::Options &options) : program(pattern, options)
    {
    }
};

// RE2's error codes in the words of Go's regexp/syntax, which Prometheus users know.
static const char *go_reason(RE2::ErrorCode code)
{
    switch (code) {
    case RE2::ErrorBadEscape:
        return "invalid escape sequence";
    case RE2::ErrorBadCharClass:
        return "invalid character class";
    case RE2::ErrorBadCharRange:
        return "invalid character class range";
    case RE2::ErrorMissingBracket:
        return "missing closing ]";
    case RE2::ErrorMissingParen:
        return "missing closing )";
    case RE2::ErrorUnexpectedParen:
        return "unexpected )";
    case RE2::ErrorTrailingBackslash:
        return "trailing backslash at end of expression";
    case RE2::ErrorRepeatArgument:
        return "missing argument to repetition operator";
    case RE2::ErrorRepeatSize:
        return "invalid repeat count";
    case RE2::ErrorRepeatOp:
        return "invalid nested repetition operator";
    case RE2::ErrorBadPerlOp:
        return "invalid or unsupported Perl syntax";
    case RE2::ErrorBadUTF8:
        return "invalid UTF-8";
    case RE2::ErrorBadNamedCapture:
        return "invalid named capture";
    case RE2::ErrorPatternTooLarge:
        return "expression too large";
    default:
        return "internal error";
    }
}

shim_regex *shim_regex_new(const char *p, size_t n, int64_t max_bytes, char *why, size_t why_bytes)
{
    RE2::Options options;
    options.set_log_errors(false);
    options.set_dot_nl(true);
    options.set_max_mem(max_bytes);
    shim_regex *r = new shim_regex(re2::StringPiece(p, n), options);
    if (r->program.ok())
        return r;
    snprintf(why, why_bytes, "%s: `%s`", go_reason(r->program.error_code()), r->program.error_arg().c_str());
    delete r;
    return nullptr;
}

void shim_regex_free(shim_regex *r)
{
    delete r;
}

bool shim_regex_match(const shim_regex *r, const char *p, size_t n, shim_span *groups, size_t groups_n)
{
    re2::StringPiece text(p ? p : "", n);
    if (groups_n == 0)
        return r->program.Match(text, 0, n, RE2::ANCHOR_BOTH, nullptr, 0);
    std::vector<re2::StringPiece> found(groups_n);
    if (!r->program.Match(text, 0, n, RE2::ANCHOR_BOTH, found.data(), static_cast<int>(groups_n)))
        return false;
    for (size_t i = 0; i < groups_n; i++)
        groups[i] = {found[i].data(), found[i].size()};
    return true;
}

size_t shim_regex_size(const shim_regex *r)
{
    return static_cast<size_t>(r->program.ProgramSize());
}

size_t shim_regex_groups(const shim_regex *r)
{
    return static_cast<size_t>(r->program.NumberOfCapturingGroups());
}

int shim_regex_group_named(const shim_regex *r, const char *p, size_t n)
{
    const std::map<std::string, int> &names = r->program.NamedCapturingGroups();
    auto found = names.find(std::string(p, n));
    return found == names.end() ? -1 : found->second;
}

// The two programs live as long as the process: freeing them at exit would race with threads that still print.
bool shim_is_letter_or_digit(const char *p, size_t n)
{
    static const RE2 *one = new RE2("[\\pL\\p{Nd}]");
    return one->Match(re2::StringPiece(p, n), 0, n, RE2::ANCHOR_BOTH, nullptr, 0);
}

bool shim_is_graphic(const char *p, size_t n)
{
    static const RE2 *one = new RE2("[\\pL\\pM\\pN\\pP\\pS]");
    return one->Match(re2::StringPiece(p, n), 0, n, RE2::ANCHOR_BOTH, nullptr, 0);
}

size_t shim_shortest_digits(double v, char ret[32])
{
    return static_cast<size_t>(std::to_chars(ret, ret + 32, v, std::chars_format::scientific).ptr - ret);
}
