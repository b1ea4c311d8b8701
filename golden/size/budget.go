package size

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/interrupt"
	"github.com/etgen/etgen/codegen/report"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/tuned"
)

// Budget is the most that a package may take, in bytes: see [Size]. What is 0 has no limit.
type Budget struct{ RAM, Flash, Stack int64 }

// Given reports whether anything has a limit.
func (b Budget) Given() bool { return b != Budget{} }

// Taken is what a package takes: measured if there is a compiler for its target, else of the
// compiler's estimates, in which there is no stack.
type Taken struct {
	RAM, Flash, Stack int64
	Measured          *Size // nil: RAM is arena and state, Flash is weights and estimated code
}

// within reports whether what is taken is no more than the budget.
func (b Budget) within(t Taken) bool { return len(b.over(t)) == 0 }

// limits are the words for what has a limit.
var limits = []struct {
	word  string
	limit func(Budget) int64
	taken func(Taken) int64
}{
	{"RAM", func(b Budget) int64 { return b.RAM }, func(t Taken) int64 { return t.RAM }},
	{"flash", func(b Budget) int64 { return b.Flash }, func(t Taken) int64 { return t.Flash }},
	{"stack", func(b Budget) int64 { return b.Stack }, func(t Taken) int64 { return t.Stack }},
}

// over returns the words for what is over the budget; a stack without a bound is.
func (b Budget) over(t Taken) (words []string) {
	for _, l := range limits {
		if limit, taken := l.limit(b), l.taken(t); limit > 0 && (taken > limit || taken < 0) {
			words = append(words, l.word)
		}
	}
	return words
}

// Alternative is another way to compile the model.
type Alternative struct {
	Words string // what to add to or change of the command line
	// Options are those of the compilation; an error leaves it out.
	Options func() (compile.Options, error)
}

// OverError says that a package takes more than its budget. Its text is one line; Print tells
// more.
type OverError struct {
	Budget  Budget
	Taken   Taken
	Report  *report.Report
	Helps   []Help
	Missing error // why nothing is measured
}

// Help is an alternative that takes less of what is over the budget.
type Help struct {
	Words  string
	Taken  Taken
	Enough bool // it is within the budget
}

func (e *OverError) Error() string {
	var parts []string
	for _, l := range limits {
		if slices.Contains(e.Budget.over(e.Taken), l.word) {
			taken := fmt.Sprintf("%d bytes", l.taken(e.Taken))
			if l.taken(e.Taken) < 0 {
				taken = "an unknown number of bytes"
			}
			parts = append(parts, fmt.Sprintf("%s of %s, of %d", taken, l.word, l.limit(e.Budget)))
		}
	}
	return "over the budget: it takes " + strings.Join(parts, "; ")
}

// Check compiles the program that open opens and returns its package if it is within the
// budget; else the error is an [*OverError], with those of the alternatives that would help.
// A budget for the stack needs a compiler: without one the error is a [*toolchain.MissingError].
func Check(ctx context.Context, open func() (*ir.Program, io.Closer, error), opt compile.Options,
	how Options, b Budget, alternatives []Alternative) (pkg *codegen.Package, r *report.Report,
	err error) {
	defer must.Catch(&err)
	pkg, r, taken, missing, err := take(ctx, open, opt, how)
	must.Check(err)
	if missing != nil && b.Stack > 0 {
		return nil, nil, missing
	}
	if b.within(taken) {
		return pkg, r, nil
	}
	e := &OverError{Budget: b, Taken: taken, Report: r, Missing: missing}
	for _, a := range alternatives {
		o, err := a.Options()
		if err != nil {
			must.Check(ctx.Err())
			continue
		}
		o.Warn, o.Strict = nil, false
		_, _, other, _, err := take(ctx, open, o, how)
		if err != nil {
			must.Check(ctx.Err())
			continue
		}
		if b.helps(taken, other) {
			e.Helps = append(e.Helps, Help{a.Words, other, b.within(other)})
		}
	}
	return nil, nil, e
}

// helps reports whether other takes less of something that is over, and no more of the rest that
// it would be over too.
func (b Budget) helps(taken, other Taken) bool {
	less := false
	for _, l := range limits {
		limit, x, y := l.limit(b), l.taken(taken), l.taken(other)
		switch {
		case limit == 0:
		case y < 0, y > limit && y > x && x >= 0:
			return false
		case x > limit || x < 0:
			less = less || y < x || x < 0
		}
	}
	return less
}

// take compiles and measures. Missing is why nothing could be measured.
func take(ctx context.Context, open func() (*ir.Program, io.Closer, error), opt compile.Options,
	how Options) (pkg *codegen.Package, r *report.Report, t Taken, missing, err error) {
	defer must.Catch(&err)
	p, closer := must.Get2(open())
	defer closer.Close()
	pkg, r = must.Get2(compile.Reported(p, opt))
	t = Taken{RAM: r.Arena + r.State, Flash: r.Weights + r.Code}
	how.Machine = must.Get(tuned.MachineNamed(opt.Target))
	how.Optimize = r.Optimize
	dir, remove := must.Get2(interrupt.TempDir("etgen-size-"))
	defer remove()
	must.Check(pkg.Write(ctx, dir))
	how.Name = pkg.Name
	s, err := Folder(ctx, dir, how)
	if none, ok := errors.AsType[*toolchain.MissingError](err); ok {
		return pkg, r, t, none, nil
	}
	must.Check(err)
	s.Layers(r)
	return pkg, r, Taken{s.RAM, s.Flash, s.Stack, s}, nil, nil
}

// Layers replaces the estimates of code in a report of the package by what was measured.
func (s *Size) Layers(r *report.Report) {
	symbols := map[string]int64{}
	for _, x := range s.Symbols {
		symbols[x.Name] = x.Bytes
	}
	r.Measure(max(0, s.Flash-r.Weights), symbols)
}

// stack is Stack for people to read.
func (t Taken) stack() string {
	if t.Measured == nil || t.Stack < 0 {
		return "?"
	}
	return fmt.Sprint(t.Stack)
}

// shownLayers is how many layers a table shows.
const shownLayers = 12

// printLayers writes the layers that take most of the arena or of flash, if that is over.
func printLayers(to io.Writer, r *report.Report, over []string) error {
	var key func(*report.Layer) int64
	switch {
	case slices.Contains(over, "RAM"):
		fmt.Fprintln(to, "what needs most of the arena:")
		key = func(l *report.Layer) int64 { return l.Arena }
	case slices.Contains(over, "flash"):
		fmt.Fprintln(to, "what takes most of flash:")
		key = func(l *report.Layer) int64 { return l.Weights + l.Code }
	default:
		return nil
	}
	layers := r.Largest(key)
	rest := max(0, len(layers)-shownLayers)
	if err := report.Table(to, layers[:len(layers)-rest]); err != nil {
		return err
	}
	if rest > 0 {
		fmt.Fprintf(to, "and %d more layers\n", rest)
	}
	_, err := fmt.Fprintln(to)
	return err
}

// Print writes what takes the bytes, by layer, and what would help.
func (e *OverError) Print(to io.Writer) error {
	if s := e.Taken.Measured; s != nil {
		fmt.Fprintf(to, "measured: the package compiled with %s and linked alone; RAM is arena, state, "+
			".data and .bss, without inputs, outputs and stack\n", foreign.Escape(s.Compiler))
		fmt.Fprintf(to,
			"RAM %d = arena %d + state %d + .data and .bss %d; flash %d = .text %d + .rodata "+
				"and .data %d; stack %s\n", s.RAM, s.Arena, s.State, s.Data+s.BSS, s.Flash, s.Text,
			s.ROData+s.Data, e.Taken.stack())
	} else {
		fmt.Fprintf(to,
			"not measured: %v; RAM is arena %d + state %d; flash is weights %d + code, which "+
				"is estimated, %d\n", e.Missing, e.Report.Arena, e.Report.State, e.Report.Weights,
			e.Report.Code)
	}
	fmt.Fprintln(to)
	over := e.Budget.over(e.Taken)
	if s := e.Taken.Measured; s != nil && slices.Contains(over, "stack") {
		fmt.Fprintf(to, "what takes most of the stack: %s\n\n", s.deepest())
	}
	if err := printLayers(to, e.Report, over); err != nil {
		return err
	}
	if len(e.Helps) == 0 {
		_, err := fmt.Fprintln(to, "nothing that was tried takes less")
		return err
	}
	fmt.Fprintln(to, "what would help, compiled and looked at in the same way:")
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, h := range e.Helps {
		enough := "not enough"
		if h.Enough {
			enough = "within the budget"
		}
		fmt.Fprintf(w, "  %s\tRAM %d\tflash %d\tstack %s\t%s\n", h.Words, h.Taken.RAM, h.Taken.Flash,
			h.Taken.stack(), enough)
	}
	return w.Flush()
}
