/*
 * info(v, selector): series of v with labels of the info series (target_info unless the selector names others) that
 * have the same instance and job.
 *
 * Which info series there are, the expression alone does not say: the second argument may be missing, has no metric
 * name most often, and is read at the time of the first selector in v. So before a tree is read, its info calls get an
 * explicit second argument: timestamp(selector), since of several info series of one target the newest sample counts.
 */
#ifndef EXECUTOR_FUNCTION_INFO_H
#define EXECUTOR_FUNCTION_INFO_H

#include "promql/ast.h"

struct arena;
struct err;
/* A resolved tree with that done; nodes that change are copies in `a`. *ret is `root` when there is no info call. */
int info_complete(const struct expr *root, struct arena *a, const struct expr **ret, struct err *e);

#endif
