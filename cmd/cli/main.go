// Package cli is the command etgen: a main package calls Main. One that links backends of its
// own is an etgen that has them: docs/backends.md.
package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/etgen/etgen/codegen/heap"
	"github.com/etgen/etgen/codegen/interrupt"
	"github.com/etgen/etgen/lower/partition"
)

// Main runs the command line of the process and ends it. The backends are had besides etgen's
// own.
func Main(more ...partition.Backend) {
	backends := allBackends(more)
	if err := openFiles(); err != nil {
		os.Stderr.WriteString("etgen: " + err.Error() + "\n")
		os.Exit(exitOther)
	}
	heap.Grow()
	os.Exit(interrupt.Main(func(ctx context.Context) int {
		return run(ctx, os.Args[1:], os.Stdout, os.Stderr, backends...)
	}, func() { fmt.Fprintln(os.Stderr, "etgen: interrupted") }))
}
