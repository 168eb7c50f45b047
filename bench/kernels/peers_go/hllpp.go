//go:build hllpp

package main

import (
	"encoding/binary"

	"github.com/retailnext/hllpp"
)

func keys(n int) [][]byte {
	k := make([][]byte, n)
	for i := range k {
		k[i] = make([]byte, 8)
		binary.LittleEndian.PutUint64(k[i], random.Uint64())
	}
	return k
}

func sketch(keys [][]byte) *hllpp.HLLPP {
	h := hllpp.New()
	for _, k := range keys {
		h.Add(k)
	}
	return h
}

func union(sketches []*hllpp.HLLPP) {
	all := hllpp.New()
	for _, s := range sketches {
		if err := all.Merge(s); err != nil {
			panic(err)
		}
	}
	sink = float64(all.Count())
}

func init() {
	packs["hllpp"].built = true
	full, fresh, few := keys(300000), keys(4000), keys(200)
	build := func(name string, k [][]byte, ours string) {
		jobs = append(jobs, job{name, "ns/item", len(k), ours, func() { sink = float64(sketch(k).Count()) }})
	}
	build("Go HLL++ (retailnext), p = 14, 300000 keys", full, "HLL build n = 1000000, p = 14 (full)")
	build("Go HLL++ (retailnext), p = 14, 4000 keys", fresh, "HLL build n = 4000, p = 14 (fresh)")
	build("Go HLL++ (retailnext), p = 14, 200 keys", few, "HLL build n = 200, p = 14 (sparse)")
	var dense, sparse []*hllpp.HLLPP
	for i := 0; i < 30; i++ {
		dense = append(dense, sketch(keys(20000)))
		sparse = append(sparse, sketch(keys(200)))
	}
	jobs = append(jobs,
		job{"Go HLL++ (retailnext), union of 30 dense", "us", 1, "HLL p = 14 union of 30 dense",
			func() { union(dense) }},
		job{"Go HLL++ (retailnext), union of 30 x 200", "us", 1, "HLL p = 14 union of 30 sparse (200)",
			func() { union(sparse) }})
}
