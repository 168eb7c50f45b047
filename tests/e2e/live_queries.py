"""Dashboard queries over what Prometheus and node_exporter expose about themselves, in the shapes dashboards use most."""

QUERIES = [
    'up',
    'sum by (job) (up)',
    'rate(prometheus_http_requests_total[1m])',
    'sum by (handler) (rate(prometheus_http_requests_total[1m]))',
    'sum by (code) (increase(prometheus_http_requests_total[1m]))',
    'histogram_quantile(0.9, sum by (le) (rate(prometheus_http_request_duration_seconds_bucket[1m])))',
    'sum(rate(prometheus_http_request_duration_seconds_sum[1m])) / sum(rate(prometheus_http_request_duration_seconds_count[1m]))',
    'rate(prometheus_tsdb_head_samples_appended_total[1m])',
    'prometheus_tsdb_head_series - prometheus_tsdb_head_series offset 30s',
    'sum by (cpu) (irate(node_cpu_seconds_total{mode!="idle"}[1m]))',
    '100 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[1m])) * 100',
    '1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes',
    'max_over_time(node_load1[1m])',
    'avg_over_time(node_memory_MemFree_bytes[1m])',
    'quantile_over_time(0.5, node_load1[1m])',
    'deriv(process_resident_memory_bytes[1m])',
    'topk(3, sum by (mode) (rate(node_cpu_seconds_total[1m])))',
    'count by (__name__) ({job="node", __name__=~"node_memory_.+"})',
    'sum by (device) (rate(node_network_receive_bytes_total[1m]) * 8)',
    'changes(process_start_time_seconds[1m]) == bool 0',
    'label_replace(go_goroutines, "target", "$1", "instance", "(.*):.*")',
    'node_filesystem_avail_bytes / on (instance, device, mountpoint) node_filesystem_size_bytes < 2',
    'absent(nonexistent_metric{job="node"})',
    'max_over_time(sum(rate(node_cpu_seconds_total[30s]))[1m:15s])',
]

# The queries whose functions panes serve, planned and answered from panes in the live run.
PLANNED = [
    'sum by (handler) (rate(prometheus_http_requests_total[1m]))',
    'sum(rate(prometheus_http_request_duration_seconds_sum[1m])) / sum(rate(prometheus_http_request_duration_seconds_count[1m]))',
    'histogram_quantile(0.9, sum by (le) (rate(prometheus_http_request_duration_seconds_bucket[1m])))',
    '100 - avg by (instance) (rate(node_cpu_seconds_total{mode="idle"}[1m])) * 100',
    'max_over_time(node_load1[1m])',
    'avg_over_time(node_memory_MemFree_bytes[1m])',
    'topk(3, sum by (mode) (rate(node_cpu_seconds_total[1m])))',
]
