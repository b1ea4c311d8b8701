package lower

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

// Context is what passes know besides the program.
type Context struct {
	Table *ops.Table
	// Keep tells which composite operators the target has kernels for, so
	// that decomposition leaves them whole.
	Keep func(op *ops.Op) bool
}

// Pass is one step on a program. It leaves a program that Verify accepts.
type Pass struct {
	Name string // as --dump-after and --stop-after take it
	Doc  string // one line
	Run  func(*Context, *ir.Program) error
}

// Pipeline is a list of passes.
type Pipeline []Pass

// Concat joins pipelines.
func Concat(ps ...Pipeline) Pipeline {
	var all Pipeline
	for _, p := range ps {
		all = append(all, p...)
	}
	return all
}

// Run runs the passes on p. After, if not nil, sees the program after each
// one; it may stop the run by returning Stop.
func (pl Pipeline) Run(ctx *Context, p *ir.Program, after func(Pass, *ir.Program) error) error {
	for _, pass := range pl {
		if err := pass.Run(ctx, p); err != nil {
			return err
		}
		if after == nil {
			continue
		}
		if err := after(pass, p); err == Stop {
			return nil
		} else if err != nil {
			return fmt.Errorf("after %s: %w", pass.Name, err)
		}
	}
	return nil
}

// Stop ends a run early without an error.
var Stop = fmt.Errorf("stop")
