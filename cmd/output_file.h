/* Writing what a command makes: to standard output, or a file that appears whole or not at all. */
#ifndef CMD_OUTPUT_FILE_H
#define CMD_OUTPUT_FILE_H

#include "base/err.h"
#include "base/str.h"

/* All of it, whatever the interruptions. */
int output_stdout(struct str text, struct err *e);
/* A file beside the target, synced, then a rename: a reader sees the old one or the new one. `what` is for messages:
 * "the plan". */
int output_file(const char *path, struct str text, const char *what, struct err *e);

#endif
