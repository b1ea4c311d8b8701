// Command etgen compiles PyTorch programs ahead of time to C and Go.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/etgen/etgen/codegen/heap"
	"github.com/etgen/etgen/codegen/interrupt"
)

func main() {
	if err := openFiles(); err != nil {
		os.Stderr.WriteString("etgen: " + err.Error() + "\n")
		os.Exit(exitOther)
	}
	heap.Grow()
	os.Exit(interrupt.Main(func(ctx context.Context) int {
		return Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}, func() { fmt.Fprintln(os.Stderr, "etgen: interrupted") }))
}
