/*
 * logfmt lines on stderr: ts=2026-01-02T03:04:05.678Z level=info msg="listening" addr=127.0.0.1:9095
 * Only cmd/ (and server/, on cmd's behalf) logs; every other room returns errors and counts statistics.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

enum log_level { LOG_DEBUG = 1, LOG_INFO, LOG_WARN, LOG_ERROR };
void log_set_level(enum log_level least);
/* keys and values alternate, NULL ends: log_line(LOG_INFO, "listening", "addr", text, NULL). Thread-safe; one write per
 * line. */
void log_line(enum log_level level, const char *message, ...) __attribute__((sentinel));

#endif
