//go:build perks

package main

import (
	"math/rand"
	"strconv"

	"github.com/beorn7/perks/quantile"
	"github.com/beorn7/perks/topk"
)

// The quantile stream of Prometheus' Go client, with the targets its documentation gives; and its heavy hitters.
func init() {
	packs["perks"].built = true
	targets := map[float64]float64{0.5: 0.05, 0.9: 0.01, 0.99: 0.001}
	samples := values(12000)
	jobs = append(jobs, job{"Go perks CKMS (Prometheus' client), 12000 values", "ns/item", len(samples),
		"KLL build n = 12000, k = 200", func() {
			s := quantile.NewTargeted(targets)
			for _, v := range samples {
				s.Insert(v)
			}
			sink = s.Query(0.99)
		}})
	zipf := randomZipf(100000)
	jobs = append(jobs, job{"Go perks top-32, Zipf 1.1", "ns/item", len(zipf), "CMS 5 x 2048 + top-32 update", func() {
		s := topk.New(32)
		for _, v := range zipf {
			s.Insert(v)
		}
		sink = float64(len(s.Query()))
	}})
}

func randomZipf(n int) []string {
	draw := rand.NewZipf(random, 1.1, 1, 99999)
	keys := make([]string, n)
	for i := range keys {
		keys[i] = strconv.FormatUint(draw.Uint64(), 10)
	}
	return keys
}
