#include "cmd/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "server/server.h"

int command_failed(const struct err *e)
{
    if (e->line)
        fprintf(stderr, "mullion: %s (line %u, column %u)\n", e->message, e->line, e->column);
    else
        fprintf(stderr, "mullion: %s\n", e->message);
    return 1;
}

int64_t option_duration_ms(struct argp_state *state, const char *option, const char *text, int64_t least_ms)
{
    struct err e;
    int64_t ms = 0;
    if (duration_parse(str_of(text), &ms, &e) != 0)
        argp_error(state, "%s %s is no duration: write 30s, 5m, 2h, 15d", option, text);
    else if (ms < least_ms)
        argp_error(state, "%s %s is too short", option, text);
    return ms;
}

uint64_t option_number(struct argp_state *state, const char *option, const char *text, uint64_t least, uint64_t most)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (!char_is_digit(text[0]) || *end || errno != 0 || n < least || n > most)
        argp_error(state, "%s takes a whole number from %llu to %llu, not %s", option, (unsigned long long)least,
                   (unsigned long long)most, text);
    return n;
}

uint64_t option_bytes(struct argp_state *state, const char *option, const char *text)
{
    struct err e;
    uint64_t n = 0;
    if (size_parse(str_of(text), &n, &e) != 0 || n == 0)
        argp_error(state, "%s %s is no size: write 512MiB, 64GiB", option, text);
    return n;
}

void option_listen(struct argp_state *state, const char *address, bool insecure)
{
    struct err e;
    if (server_address_check(address, insecure, false, &e) != 0)
        argp_error(state, "%s", e.message);
}

int64_t option_time_ms(struct argp_state *state, const char *option, const char *text)
{
    struct err e;
    int64_t ms = 0;
    if (time_parse(str_of(text), &ms, &e) != 0)
        argp_error(state, "%s %s is no time: write Unix seconds, or 2026-01-02T03:04:05Z", option, text);
    return ms;
}
