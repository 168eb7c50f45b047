/*
 * Subcommands of `mullion`: one function and one file each. argv[0] is "mullion NAME". They return the exit status:
 * 0 done, 1 failed, 2 wrong usage (argp ends the process with 2 by itself).
 */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

int command_serve(int argc, char **argv);
int command_plan(int argc, char **argv);
int command_query(int argc, char **argv);
int command_load(int argc, char **argv);
int command_check(int argc, char **argv);
int command_demo(int argc, char **argv);
int command_calibrate(int argc, char **argv);

/* "mullion: message" on stderr; returns 1. */
int command_failed(const struct err *e);

/* Values of options; a bad one ends the process with status 2 and says what is expected. */
int64_t option_duration_ms(struct argp_state *state, const char *option, const char *text, int64_t least_ms);
uint64_t option_number(struct argp_state *state, const char *option, const char *text, uint64_t least, uint64_t most);
uint64_t option_bytes(struct argp_state *state, const char *option, const char *text);
/* Is it an address that may be listened on? */
void option_listen(struct argp_state *state, const char *address, bool insecure);
int64_t option_time_ms(struct argp_state *state, const char *option, const char *text);

#endif
