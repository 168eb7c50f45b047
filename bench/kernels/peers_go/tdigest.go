//go:build tdigest

package main

import "github.com/influxdata/tdigest"

const compression = 100

// This version offers no merge.
func init() {
	packs["tdigest"].built = true
	samples := values(12000)
	jobs = append(jobs, job{"Go t-digest (influxdata, 100), 12000 values", "ns/item", len(samples),
		"KLL build n = 12000, k = 200", func() {
			t := tdigest.NewWithCompression(compression)
			for _, v := range samples {
				t.Add(v, 1)
			}
			sink = t.Quantile(0.99)
		}})
}
