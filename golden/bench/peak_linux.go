package main

import (
	"os"
	"syscall"
)

// peakMemory is the most memory a process that has ended had at once, in bytes.
func peakMemory(p *os.ProcessState) int64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss << 10
}
