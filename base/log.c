/* logfmt lines: built in memory, written by one write, so lines of several threads do not mix. */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"

static _Atomic int least_level = LOG_INFO;

void log_set_level(enum log_level least)
{
    atomic_store_explicit(&least_level, least, memory_order_relaxed);
}

static const char *level_text(enum log_level level)
{
    static const char *const texts[] = {
        [LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARN] = "warn", [LOG_ERROR] = "error"};
    return texts[level];
}

static void time_add(struct strbuf *line)
{
    struct wall_clock clock = WALL_CLOCK_SYSTEM;
    int64_t now_ms = wall_clock_now_ms(&clock);
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    strbuf_printf(line, "ts=%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                  utc.tm_hour, utc.tm_min, utc.tm_sec, (int)(now_ms % 1000));
}

/* Bare when logfmt can read it so, else quoted: a value can never start a new key or a new line. */
static void value_add(struct strbuf *line, const char *value)
{
    bool bare = *value != 0;
    for (const char *c = value; *c && bare; c++)
        bare = (unsigned char)*c > ' ' && (unsigned char)*c < 0x7f && *c != '"' && *c != '=' && *c != '\\';
    if (bare)
        strbuf_add_z(line, value);
    else
        strbuf_add_go_quoted(line, str_of(value));
}

void log_line(enum log_level level, const char *message, ...)
{
    if ((int)level < atomic_load_explicit(&least_level, memory_order_relaxed))
        return;
    struct strbuf line = {0};
    time_add(&line);
    strbuf_printf(&line, " level=%s msg=", level_text(level));
    strbuf_add_go_quoted(&line, str_of(message));
    va_list pairs;
    va_start(pairs, message);
    for (const char *key; (key = va_arg(pairs, const char *));) {
        const char *value = va_arg(pairs, const char *);
        strbuf_printf(&line, " %s=", key);
        value_add(&line, value ? value : "");
        if (!value)
            break;
    }
    va_end(pairs);
    strbuf_add_char(&line, '\n');
    /* A full or closed stderr leaves nobody to tell. */
    ssize_t written = write(STDERR_FILENO, line.p, line.n);
    (void)written;
    strbuf_done(&line);
}
