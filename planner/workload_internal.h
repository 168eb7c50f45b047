/* The two halves of workload_read: what each top-level key of the file becomes. Problems go to the document. */
#ifndef PLANNER_WORKLOAD_INTERNAL_H
#define PLANNER_WORKLOAD_INTERNAL_H

#include "planner/document.h"

void workload_read_queries(struct document *d, const struct node *list, struct workload *w);
/* Of one query: n is its mapping, or what its `accuracy` is. */
void workload_read_cadence(struct document *d, const struct node *n, struct cadence *c);
void workload_read_accuracy(struct document *d, const struct node *n, struct accuracy *target);
void workload_read_data(struct document *d, const struct node *data, struct workload *w);
void workload_read_models(struct document *d, const struct node *models, struct workload *w);

#endif
