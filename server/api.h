/* The handlers, by the file they live in. Each is a route_fn: it reads the request and writes the whole answer. */
#ifndef SERVER_API_H
#define SERVER_API_H

#include "server/route.h"

route_fn api_write; /* api_write.c */

route_fn api_query, api_query_range, api_explain; /* api_query.c */

route_fn api_series, api_labels, api_label_values, api_metadata; /* api_metadata.c */

route_fn api_format_query, api_parse_query; /* api_parse.c */

route_fn api_buildinfo, api_runtimeinfo, api_config, api_flags, api_tsdb; /* api_status.c */
route_fn api_rules, api_alerts, api_targets, api_alertmanagers, api_query_exemplars;
route_fn api_healthy, api_ready, api_reload, api_root;

route_fn api_plan, api_views; /* api_plan.c */

route_fn api_metrics; /* metrics.c */

#endif
