// A ticker of 10 ms. `ticker spinning`: beside goroutines that compute, with GOMAXPROCS 1; `ticker collecting`: beside garbage that is
// collected all the time; `ticker fine`. Cures: less of both; a real-time class for the whole program takes the CPU from others.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sort"
	"strconv"
	"time"
)

var kept [][]byte

func compute() {
	for i := 0; ; i++ {
		kept[i%len(kept)] = kept[(i+1)%len(kept)]
	}
}

func litter() {
	for i := 0; ; i++ {
		kept[i%len(kept)] = make([]byte, 64<<10)
	}
}

func main() {
	if cpu := os.Getenv("WITNESS_CPU"); cpu != "" {
		exec.Command("taskset", "-acp", cpu, strconv.Itoa(os.Getpid())).Run()
	}
	seconds, err := strconv.ParseFloat(os.Getenv("WITNESS_SECONDS"), 64)
	if err != nil {
		seconds = 3
	}
	kept = make([][]byte, 1000)
	kind := os.Args[1]
	if os.Getenv("WITNESS_FIX") == "less-work" {
		kind = "fine"
	}
	switch kind {
	case "spinning":
		runtime.GOMAXPROCS(1)
		for i := 0; i < 3; i++ {
			go compute()
		}
	case "collecting":
		go litter()
		go litter()
	}
	const period = 10 * time.Millisecond
	from := time.Now().Add(time.Second)
	until := from.Add(time.Duration(seconds * float64(time.Second)))
	ticker := time.NewTicker(period)
	var late []float64
	over, sum := 0, 0.0
	for due := time.Now().Add(period); time.Now().Before(until); due = due.Add(period) {
		<-ticker.C
		now := time.Now()
		// A ticker leaves out what it is late for.
		for now.Sub(due) > 2*period {
			due = due.Add(period)
		}
		if now.After(from) {
			one := float64(now.Sub(due)) / 1e3
			late = append(late, one)
			sum += one
			if now.Sub(due) > period {
				over++
			}
		}
	}
	sort.Float64s(late)
	rank := func(share float64) float64 { return late[min(int(float64(len(late))*share), len(late)-1)] }
	fmt.Printf("witness {\"done\":%d,\"over\":%d,\"mean\":%.1f,\"p50\":%.1f,\"p99\":%.1f,\"max\":%.1f}\n",
		len(late), over, sum/float64(len(late)), rank(0.5), rank(0.99), rank(1))
}
