/*
 * A config file is the options of the command line, one a line, in YAML:
 *
 *     data-dir: /var/lib/mullion
 *     listen: 127.0.0.1:9095
 *     raw-retention: 30d
 *     insecure: false
 *
 * So there is one place for names, values and their checks: a file's options are put before those of the command line,
 * which therefore win.
 */
#ifndef CMD_CONFIG_H
#define CMD_CONFIG_H

#include <argp.h>

#include "base/arena.h"
#include "base/err.h"

enum { CONFIG_MAX_BYTES = 1 << 20 };

/* If argv names a --config, replace *argc and *argv by a longer list in `a`. ERR_BAD_DATA with file:line:column. */
int config_expand(const struct argp_option *options, int *argc, char ***argv, struct arena *a, struct err *e);

#endif
