package lower

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/ops"
)

// Context is what passes know besides the program.
type Context struct {
	Table *ops.Table
	// Legal tells which calls Decompose leaves as they are though their operators have
	// no kernels. Nil: none.
	Legal func(c *ops.Call) bool
	// Checked says that an index out of range is an error: see CheckIndices.
	Checked bool
	// Bounds are upper bounds of sizes by the names of symbols: see BoundSizes.
	Bounds map[string]int64
	// Speed says that time counts more than the space that constants take.
	Speed bool
	// KeepsIntegers tells of which products of so many rows with a constant matrix of n rows of k
	// integers the target reads these as fast as floats, where speed is set. Nil: of none.
	KeepsIntegers func(m sym.Expr, n, k int64) bool
	// Bytes tells which products of bytes a kernel multiplies as they are where time counts: a
	// call of integer sums, and the constants that it reads. Nil: none.
	Bytes func(c *ops.Call, constant map[*ir.Value]bool) bool
	// Floats says that the target has vectors of floats alone, which pools and sums of small
	// integers are better off as.
	Floats bool
	// Vectors says that the target has vectors of floats, with which functions of these take no
	// longer than tables of parabolas, where each element is looked up by itself.
	Vectors bool
	// Fixed asks for fixed-point arithmetic of quantized networks.
	Fixed bool
	// CortexM asks for ExecuTorch's operators for microcontrollers where there is one.
	CortexM bool
	// Sides says that convolutions of these may have padding of four numbers.
	Sides bool
	// Custom, if not nil, runs kernels of custom operators on constants.
	Custom CustomKernels
	// Done, if not nil, ends a pipeline with eval.ErrStopped soon after it is closed.
	Done <-chan struct{}
	// Step, if not nil, is told the name of each pass before it runs, and of other work.
	Step func(name string)
}

// CustomKernels are kernels of custom operators that can run at compile time.
type CustomKernels interface {
	// Has reports whether there is a kernel of an operator, which writes to no argument.
	Has(op string) bool
	// Run sets the elements of a call's results. Its operands are constants.
	Run(c *ops.Call, outs [][]byte) error
}

// Pass is one step on a program. It leaves a program that Verify accepts.
type Pass struct {
	Name string // as --dump-after and --stop-after take it
	Doc  string // one line
	Run  func(*Context, *ir.Program) error
}

// Pipeline is a list of passes that bring a program from one dialect into another.
type Pipeline struct {
	From, To ir.Dialect // "": of whatever the program is in
	Passes   []Pass
}

// with is pl with passes behind it, which leave the dialect as it is.
func (pl Pipeline) with(passes ...Pass) Pipeline {
	pl.Passes = slices.Concat(pl.Passes, passes)
	return pl
}

// then is pl with passes behind it that lead to a dialect, which the last one verifies:
// the program is in the dialect from there on.
func (pl Pipeline) then(d ir.Dialect, doc string, passes ...Pass) Pipeline {
	pl = pl.with(passes...).with(Pass{
		Name: string(d), Doc: "verify the " + string(d) + " dialect: " + doc,
		Run: func(ctx *Context, p *ir.Program) error {
			p.Dialect = d
			return Verify(ctx, p)
		}})
	pl.To = d
	return pl
}

// Tell tells Step what is done next.
func (ctx *Context) Tell(name string) {
	if ctx.Step != nil {
		ctx.Step(name)
	}
}

// Run runs the passes on p, which is in the dialect From. After, if not nil, sees the program after
// each one; it may stop the run by returning Stop. Errors name the program's file.
func (pl Pipeline) Run(ctx *Context, p *ir.Program, after func(Pass, *ir.Program) error) error {
	if !within(p.Dialect, pl.From) {
		return InFile(p.Source, fmt.Errorf("the passes to %s take a program in %s, not in %s",
			pl.To, pl.From, p.Dialect))
	}
	for _, pass := range pl.Passes {
		if err := eval.Stopped(ctx.Done); err != nil {
			return err
		}
		ctx.Tell(pass.Name)
		if err := pass.Run(ctx, p); err != nil {
			return InFile(p.Source, err)
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
//
//lint:ignore ST1012 like fs.SkipAll it is no failure
var Stop = errors.New("stop")

// InFile adds the name of the model file to err: to each of the errors about nodes in it, and in
// front of a text that does not begin with it then.
func InFile(file string, err error) error {
	nameFile(file, err)
	if !strings.HasPrefix(err.Error(), file) {
		return fmt.Errorf("%s: %w", file, err)
	}
	return err
}

func nameFile(file string, err error) {
	switch e := err.(type) {
	case *ir.Error:
		if e.File == "" {
			e.File = file
		}
	case interface{ Unwrap() []error }:
		for _, x := range e.Unwrap() {
			nameFile(file, x)
		}
	case interface{ Unwrap() error }:
		nameFile(file, e.Unwrap())
	}
}

// perMethod makes a pass of what is done to each method of p. What cannot be done ends f, see
// [ops.Fail]; the error joins those of all methods.
func perMethod(
	f func(ctx *Context, p *ir.Program, m *ir.Method)) func(*Context, *ir.Program) error {
	return func(ctx *Context, p *ir.Program) error {
		var errs []error
		for _, m := range p.Methods {
			err := must.Try(func() { f(ctx, p, m) })
			if err != nil && m.Source != "" {
				err = InFile(m.Source, err)
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
}

// perProgram makes a pass of what is done to a whole program.
func perProgram(f func(*Context, *ir.Program)) func(*Context, *ir.Program) error {
	return func(ctx *Context, p *ir.Program) error { return must.Try(func() { f(ctx, p) }) }
}

// visitor returns what stands for the results of a node: nil leaves the node as it is, behind
// what the visitor emits through b. What cannot be done ends it, see [ops.Fail].
type visitor = func(b *ops.Builder, n *ir.Node) []*ir.Value

// gone stands for a node that is dropped, or that the visitor has put in its place.
var gone = []*ir.Value{}

// put leaves n, whose operands changed, in the graph.
func put(b *ops.Builder, n *ir.Node) []*ir.Value {
	b.Append(n)
	return gone
}

// onCalls is a visitor of the nodes without regions that bind to the table. The passes that
// want the operators of others report them.
func onCalls(visit func(b *ops.Builder, n *ir.Node, c *ops.Call) []*ir.Value) visitor {
	return func(b *ops.Builder, n *ir.Node) []*ir.Value {
		if len(n.Regions) > 0 {
			return nil
		}
		c, err := b.Table.Bind(n)
		if err != nil {
			return nil
		}
		return visit(b, n, c)
	}
}

// rewrite lets a visitor see every node of m.
func rewrite(t *ops.Table, m *ir.Method, visit visitor) {
	rw := &ir.Rewriter{Visit: func(e *ir.Emitter,
		n *ir.Node) (repl []*ir.Value, keep bool, err error) {
		err = must.Try(func() { repl = visit(ops.NewBuilder(t, e), n) })
		return repl, repl == nil, err
	}}
	must.Check(rw.Run(m))
}

// faults joins what check finds wrong with the nodes of m, each with its node.
func faults(m *ir.Method, check func(n *ir.Node)) error {
	var errs []error
	for n := range m.Graph.All() {
		if err := must.Try(func() { check(n) }); err != nil {
			errs = append(errs, ir.ErrorAt("", n, err))
		}
	}
	return errors.Join(errs...)
}

// perNode makes a pass of a visitor of every node; make is called once for
// each method.
func perNode(
	make func(*Context, *ir.Program, *ir.Method) visitor) func(*Context, *ir.Program) error {
	return perMethod(func(ctx *Context, p *ir.Program, m *ir.Method) {
		rewrite(ctx.Table, m, make(ctx, p, m))
	})
}
