// Sketches of Go that Debian packages, as a peer of the kernels' bench (protocol: ../peer_process.c). Each package's
// jobs stand in a file of their own, which is built only where the package is installed.
package main

import (
	"bufio"
	"fmt"
	"math"
	"math/rand"
	"os"
	"strconv"
	"syscall"
	"time"
)

type job struct {
	name, unit string
	items      int
	ours       string
	run        func()
}

// packages: directory below the Go path, Debian's package, and whether a file of jobs was built.
type pack struct {
	debian string
	built  bool
}

var packs = map[string]*pack{
	"perks":   {debian: "golang-github-beorn7-perks-dev"},
	"tdigest": {debian: "golang-github-influxdata-tdigest-dev"},
	"hllpp":   {debian: "golang-github-retailnext-hllpp-dev"},
}

var jobs []job

var sink float64

var random = rand.New(rand.NewSource(42))

func values(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.Exp(3 + random.NormFloat64())
	}
	return v
}

// Of all threads, the collector's too; in steps of a microsecond at best, so only long runs are told by it.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func main() {
	for _, name := range []string{"perks", "tdigest", "hllpp"} {
		if !packs[name].built {
			fmt.Printf("skipped\t%s is not installed\n", packs[name].debian)
		}
	}
	for _, j := range jobs {
		fmt.Printf("job\t%s\t%s\t%d\t%s\n", j.name, j.unit, j.items, j.ours)
	}
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		at, err := strconv.Atoi(in.Text())
		if err != nil || at < 0 || at >= len(jobs) {
			fmt.Fprintf(os.Stderr, "peers_go: no job %q\n", in.Text())
			os.Exit(1)
		}
		cpu, start := cpuTime(), time.Now()
		jobs[at].run()
		took := time.Since(start)
		if cpu = cpuTime() - cpu; took > time.Millisecond && cpu > 0 && cpu < took { // others had the processor meanwhile
			took = cpu
		}
		fmt.Println(took.Nanoseconds())
	}
}
