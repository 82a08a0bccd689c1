// How late Go's time.Sleep returns. The protocol is described in docs/probes.md.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

const most = 4096 // readings kept before they are printed

// CLOCK_MONOTONIC now, by a system call: the time package reads the same clock but does not tell.
func monotonic() int64 {
	const clockMonotonic = 1
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

func number(text string) int64 {
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		os.Exit(2)
	}
	return value
}

func main() {
	if len(os.Args) < 3 {
		os.Exit(2)
	}
	length, count := time.Duration(number(os.Args[1])), number(os.Args[2])
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprintf(out, "howlate-probe 1 monotonic %s: time.Sleep\n", runtime.Version())
	out.Flush()

	began := monotonic()
	origin := time.Now()
	now := func() int64 { return began + int64(time.Since(origin)) }
	var readings [most][2]int64
	kept := 0
	nextPrint := now() + int64(time.Second)
	for left := count; left > 0; left-- {
		readings[kept][0] = now()
		time.Sleep(length)
		end := now()
		readings[kept][1] = end
		kept++
		if kept == most || end >= nextPrint || left == 1 {
			for _, reading := range readings[:kept] {
				fmt.Fprintf(out, "%d %d\n", reading[0], reading[1])
			}
			out.Flush()
			kept = 0
			nextPrint = now() + int64(time.Second)
		}
	}
	fmt.Fprintln(out, "end")
	out.Flush()
}
