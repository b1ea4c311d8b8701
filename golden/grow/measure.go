package grow

import (
	"bytes"
	"fmt"
	"runtime"
	"time"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/raise"
	"github.com/etgen/etgen/plan"
	"github.com/etgen/etgen/rt"
	"github.com/etgen/etgen/rt/portable"
)

// Cost is what a stage took.
type Cost struct {
	Stage  string
	Time   time.Duration
	Bytes  uint64 // allocated in all
	Allocs uint64
	Size   int // of its output in bytes, where that is text or a file
}

// meter takes the costs of stages that follow each other.
type meter struct {
	costs []Cost
	start time.Time
	mem   runtime.MemStats
}

// begin starts a stage.
func (m *meter) begin() {
	runtime.ReadMemStats(&m.mem)
	m.start = time.Now()
}

// end ends a stage.
func (m *meter) end(stage string) {
	took := time.Since(m.start)
	bytes, allocs := m.mem.TotalAlloc, m.mem.Mallocs
	runtime.ReadMemStats(&m.mem)
	m.costs = append(m.costs, Cost{Stage: stage, Time: took, Bytes: m.mem.TotalAlloc - bytes,
		Allocs: m.mem.Mallocs - allocs})
	m.start = time.Now()
}

// makeStage is the stage that makes the program.
const makeStage = "make"

// planStage is the stage that is within another one.
const planStage = "plan"

// planned measures the planner, whose costs are in those of its caller too.
type planned struct {
	plan.Planner
	m *meter
}

func (p planned) Plan(problem *plan.Problem) (*plan.Plan, error) {
	inner := &meter{}
	inner.begin()
	defer func() {
		inner.end(planStage)
		p.m.costs = append(p.m.costs, inner.costs...)
	}()
	return p.Planner.Plan(problem)
}

// Ways are the ways that a program can take: an output language, and C for a
// microcontroller.
var Ways = []string{"c", "go", "pte", "mcu"}

// Measure takes a program of shape s and size n one way and returns the cost of
// each stage: the passes, "native" or "generate" with "plan" in it, "print" or
// those of an ExecuTorch program, to its being loaded.
func Measure(s Shape, n int, way string) ([]Cost, error) {
	m := &meter{}
	m.begin()
	p, err := s.Make(n)
	if err != nil {
		return nil, err
	}
	m.end(makeStage)
	lang, target := way, ""
	if way == "mcu" {
		lang, target = "c", "cortex-m4"
	}
	opt := compile.Options{Name: "grow", Lang: lang, Target: target,
		Planner: planned{plan.Best{}, m}}
	opt.After = func(pass lower.Pass, _ *ir.Program) error { m.end(pass.Name); return nil }
	l, err := compile.LanguageNamed(lang)
	if err != nil {
		return nil, err
	}
	if l.Kernels == nil {
		return m.costs, m.executorch(p, opt)
	}
	np, err := compile.Native(p, opt)
	if err != nil {
		return nil, err
	}
	m.end("native")
	pkg, err := compile.Print(np, opt)
	if err != nil {
		return nil, err
	}
	m.end("print")
	for _, f := range pkg.Files {
		m.costs[len(m.costs)-1].Size += len(f.Data)
	}
	return m.costs, nil
}

// executorch measures what is done for and with an ExecuTorch program.
func (m *meter) executorch(p *ir.Program, opt compile.Options) error {
	out, err := compile.PTE(p, opt)
	if err != nil {
		return err
	}
	m.end("generate")
	var file bytes.Buffer
	if err := pte.Write(&file, out.Program); err != nil {
		return err
	}
	m.end("write")
	m.costs[len(m.costs)-1].Size = file.Len()
	read, err := pte.Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		return err
	}
	m.end("read")
	if err := pte.Verify(read, ops.Standard()); err != nil {
		return err
	}
	m.end("verify")
	if _, err := raise.Program(read, "grow.pte", ops.Standard()); err != nil {
		return err
	}
	m.end("raise")
	loaded, err := rt.Load(rt.Bytes(file.Bytes()), nil)
	if err != nil {
		return err
	}
	if _, err := loaded.LoadMethod("forward",
		&rt.MethodOptions{Registry: portable.Registry()}); err != nil {
		return fmt.Errorf("rt: %w", err)
	}
	m.end("load")
	return nil
}
