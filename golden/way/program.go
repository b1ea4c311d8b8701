package way

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/rt"
)

// isProgram reports whether a job's file is one that the runtime executes as it
// is.
func (j Job) isProgram() bool {
	switch compile.FormatOf(j.File) {
	case compile.ProgramFile, compile.BundleFile:
		return true
	}
	return false
}

// open gives m the ExecuTorch program in a job's file, unchanged, and r what the
// graph raised from it tells: how long reductions are, and which inputs are
// written. A program that cannot be raised runs all the same, as one with
// neither.
func (m *machine) open(ctx context.Context, j Job, r *Result) (_ io.Closer, err error) {
	var open closers
	defer func() {
		if err != nil {
			open.Close()
		}
	}()
	bundle := &pte.Bundle{}
	var file io.Closer
	if compile.FormatOf(j.File) == compile.BundleFile {
		bundle, file, err = pte.OpenBundle(j.File)
	} else {
		bundle.Program, file, err = pte.Open(j.File)
	}
	if err != nil {
		return nil, err
	}
	open = append(open, file)
	p := bundle.Program
	beside, err := compile.DataBeside(p, j.File)
	if err != nil {
		return nil, err
	}
	for _, path := range beside {
		d, err := rt.OpenData(path)
		if err != nil {
			return nil, err
		}
		open = append(open, d)
		m.data = append(m.data, d)
	}
	if m.program, err = rt.NewProgram(p, nil); err != nil {
		return nil, err
	}
	r.takes(p)
	m.foreign = true
	m.mutated, m.work = make([][]int, len(p.Plans)), make([]*work, len(p.Plans))
	r.Terms = make([]int64, len(p.Plans))
	for i := range r.Terms {
		r.Terms[i], m.work[i] = 1, &work{}
	}
	if m.tracer != nil {
		if r.Steps, err = fileSteps(p, j.File, m.warn); err != nil {
			return nil, err
		}
		if m.traces {
			locate(p, r.Steps)
			r.Steps = make([][]Step, len(p.Plans))
		}
		m.steps = r.Steps
	}
	_ = guard(func() error { return m.raised(ctx, j, r) }) // its error is the compiler's business
	return open, nil
}

// closers closes all of a list.
type closers []io.Closer

// Close implements [io.Closer].
func (list closers) Close() error {
	var errs []error
	for _, c := range list {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// takes tells what the constants and the planned memory of a program take.
func (r *Result) takes(p *pte.Program) {
	for _, c := range p.Constants {
		if c != nil { // the first is none's
			r.Weights += c.Size()
		}
	}
	for _, plan := range p.Plans {
		arena := int64(0)
		for _, n := range plan.BufferSizes {
			arena += n
		}
		r.Arena = max(r.Arena, arena)
	}
}

// raised learns from the graph of a program.
func (m *machine) raised(ctx context.Context, j Job, r *Result) error {
	p, closer, err := j.Open()
	if err != nil {
		return err
	}
	if closer != nil {
		defer closer.Close()
	}
	if len(p.Methods) != len(r.Terms) {
		return errors.New("the methods are others")
	}
	for i, method := range p.Methods {
		// State comes before what the program returns, the caller's memory that it
		// changes besides behind it.
		specs := slices.DeleteFunc(slices.Clone(method.Outputs), func(s ir.OutputSpec) bool {
			return s.Kind == ir.BufferMutation
		})
		if n := len(m.program.File().Plans[i].Outputs); len(specs) >= n {
			m.mutated[i] = mutatedInputs(method, specs[:n])
		}
	}
	table := ops.Standard()
	return lower.Functional.Run(&lower.Context{Table: table, Done: ctx.Done()},
		p, func(_ lower.Pass, p *ir.Program) error {
			r.Terms = Terms(table, p)
			m.work = macs(table, p)
			return nil
		})
}
