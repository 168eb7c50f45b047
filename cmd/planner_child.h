/* Running mullion-plan, which alone links the solver: from beside this binary, else from PATH. */
#ifndef CMD_PLANNER_CHILD_H
#define CMD_PLANNER_CHILD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { PLANNER_PATH_MAX = 4096, PLANNER_DEADLINE_S = 120 };

/* Its path, or the bare name when it does not stand beside us. */
void planner_find(char ret[PLANNER_PATH_MAX]);
/* Run it with these arguments (NULL-terminated, argv[0] included), its output and errors passed on, and wait:
 * ret_status is its exit status. ERR_IO when it cannot be started, is killed, or takes longer than PLANNER_DEADLINE_S;
 * ERR_CANCELED, and the child is ended, once *canceled is set (NULL: never).
 */
int planner_run(char *const *argv, bool show_output, const atomic_bool *canceled, int *ret_status, struct err *e);
/* Plan `workload` into the file `plan`, with the sketches' seed. ERR_BAD_DATA when it finds problems (which it has
 * printed). */
int planner_plan_file(const char *workload, const char *plan, uint64_t seed, const atomic_bool *canceled,
                      struct err *e);

#endif
