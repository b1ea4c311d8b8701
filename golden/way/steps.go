package way

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/report"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/lower/native"
)

// Step is a call of a kernel in a method, or an instruction of an ExecuTorch
// program.
type Step struct {
	Kernel string // the function, or the operator
	From   []native.Origin
	Type   string // of its result, "float32 [1, 64]"; "" if it has none
	macs   []sym.Expr
}

// StepRun is how a [Step] ran in a call.
type StepRun struct {
	Calls float64 // how often a repetition of the call ran it
	// MACs is the multiply-accumulates each time, 0 if there are none or they
	// are not known.
	MACs int64
	// Times are of the last repetitions, up to [StepRows]: how long all the runs
	// of the step took together, without what reading the clock takes.
	Times []time.Duration
}

// StepRows is of how many repetitions the times of steps are kept.
const StepRows = 32

// stepCounts is what programs with probes keep: eight-byte integers, the number
// of repetitions, how often each step ran in all, and for each of StepRows
// repetitions the nanoseconds of each step. The row of a repetition is its
// number modulo StepRows.
type stepCounts struct {
	first uint64 // the repetition that counting begins with
	runs  uint64
	calls []uint64
	times []uint64
}

func newStepCounts(steps int) *stepCounts {
	steps = max(steps, 1)
	return &stepCounts{calls: make([]uint64, steps), times: make([]uint64, StepRows*steps)}
}

// stepBytes is the size of the counts of so many steps.
func stepBytes(steps int) int64 { return 8 * int64(1+(1+StepRows)*max(steps, 1)) }

func decodeSteps(data []byte, steps int) *stepCounts {
	c := newStepCounts(steps)
	next := func() uint64 {
		n := binary.LittleEndian.Uint64(data)
		data = data[8:]
		return n
	}
	c.runs = next()
	for i := range c.calls {
		c.calls[i] = next()
	}
	for i := range c.times {
		c.times[i] = next()
	}
	return c
}

// begin is called before each repetition.
func (c *stepCounts) begin() {
	clear(c.row(c.runs))
	c.runs++
}

func (c *stepCounts) row(run uint64) []uint64 {
	n := len(c.calls)
	at := int(run%StepRows) * n
	return c.times[at : at+n]
}

// since leaves out what was counted before, nil if that is nothing.
func (c *stepCounts) since(before *stepCounts) *stepCounts {
	if before == nil {
		return c
	}
	left := &stepCounts{first: before.runs, runs: c.runs, calls: slices.Clone(c.calls),
		times: c.times}
	for i := range left.calls {
		left.calls[i] -= before.calls[i]
	}
	return left
}

// step returns what is counted of one.
func (c *stepCounts) step(i int, macs int64) StepRun {
	r := StepRun{MACs: macs}
	if c.runs > c.first {
		r.Calls = float64(c.calls[i]) / float64(c.runs-c.first)
	}
	for run := c.runs - min(c.runs-c.first, StepRows); run < c.runs; run++ {
		r.Times = append(r.Times, time.Duration(c.row(run)[i]))
	}
	return r
}

// of returns what is counted of the steps from first on.
func (c *stepCounts) of(steps []Step, first int, w *work, inputs []tensor.Value) []StepRun {
	env := w.env(inputs)
	all := make([]StepRun, len(steps))
	for i, s := range steps {
		macs := int64(0)
		for _, e := range s.macs {
			if n, err := e.Eval(env); err == nil {
				macs += n
			}
		}
		all[i] = c.step(first+i, macs)
	}
	return all
}

// nativeSteps are the calls of kernels of each method, in the order of their
// numbers.
func nativeSteps(p *native.Program, works []*work) [][]Step {
	all := make([][]Step, len(p.Methods))
	for i, m := range p.Methods {
		var calls []native.Stmt
		codegen.Walk(m.Body, func(s native.Stmt) {
			if _, ok := s.(*native.Call); ok {
				calls = append(calls, s)
			}
		})
		all[i] = stmtSteps(calls, works[i])
	}
	return all
}

// stmtSteps are statements of a method as steps.
func stmtSteps(stmts []native.Stmt, w *work) []Step {
	owner := report.Owners(stmts)
	all := make([]Step, len(stmts))
	for i, s := range stmts {
		switch s := s.(type) {
		case *native.Call:
			all[i] = Step{Kernel: s.Kernel.Name, From: s.From, Type: resultType(s)}
			for _, o := range s.From {
				if n, ok := w.nodes[o.Node.Raw()]; ok && owner[report.PlaceOf(o)] == s {
					all[i].macs = append(all[i].macs, n)
				}
			}
		case *native.Let:
			all[i] = Step{Kernel: "number", From: s.From}
		case *native.Assert:
			all[i] = Step{Kernel: "assert"}
		}
	}
	return all
}

// resultType describes the first operand that a call writes.
func resultType(c *native.Call) string {
	for i, b := range c.Args {
		if _, written := c.Kernel.Uses(i); written {
			return b.DType.String() + " " + codegen.ShapeText(b.Sizes, nil)
		}
	}
	return ""
}

// cProbes defines the function that C with a profile tells events.
func cProbes(name string, steps int) string {
	return strings.NewReplacer("NAME", name, "STEPS", fmt.Sprint(max(steps, 1)), "ROWS",
		fmt.Sprint(StepRows)).Replace(`
static struct {
	uint64_t runs, calls[STEPS], times[ROWS][STEPS];
} probed;
static runner_clock *probe_clock;
static uint64_t *probe_row, probe_last, probe_cost = UINT64_MAX;

void NAME_profile_event(int32_t event)
{
	uint64_t took = probe_clock() - probe_last;
	int32_t call = event / 2;
	if (event % 2 == 0) {
		probe_last = probe_clock();
		return;
	}
	probed.calls[call]++;
	probe_row[call] += took > probe_cost ? took - probe_cost : 0;
}

static void probe_begin(runner_clock *clock)
{
	int i;
	probe_clock = clock;
	for (i = 0; probed.runs == 0 && i < 64; i++) {
		uint64_t before = clock(), took = clock() - before;
		probe_cost = took < probe_cost ? took : probe_cost;
	}
	probe_row = probed.times[probed.runs++ % ROWS];
	memset(probe_row, 0, sizeof probed.times[0]);
}
`)
}

// goProbes is cProbes for Go, of the unit with that name.
func goProbes(unit string, steps int) string {
	return strings.NewReplacer("UNIT", "_"+unit, "STEPS", fmt.Sprint(max(steps, 1)), "ROWS",
		fmt.Sprint(StepRows)).Replace(`
type probeCountsUNIT struct {
	runs uint64
	calls [STEPS]uint64
	times [ROWS][STEPS]uint64
}

var (
	probedUNIT probeCountsUNIT
	probeRowUNIT *[STEPS]uint64
	probeEpochUNIT = time.Now()
	probeLastUNIT time.Duration
	probeCostUNIT = time.Duration(1<<62)
)

func probeUNIT(event int) {
	took, call := time.Since(probeEpochUNIT) - probeLastUNIT, event/2
	if event%2 == 0 {
		probeLastUNIT = time.Since(probeEpochUNIT)
		return
	}
	probedUNIT.calls[call]++
	probeRowUNIT[call] += uint64(max(took-probeCostUNIT, 0))
}

func probeBeginUNIT() {
	for i := 0; probedUNIT.runs == 0 && i < 64; i++ {
		before := time.Since(probeEpochUNIT)
		probeCostUNIT = min(probeCostUNIT, time.Since(probeEpochUNIT)-before)
	}
	probeRowUNIT = &probedUNIT.times[probedUNIT.runs%ROWS]
	clear(probeRowUNIT[:])
	probedUNIT.runs++
}
`)
}

// nodesOf returns the nodes of a method by name.
func nodesOf(m *ir.Method) map[string]*ir.Node {
	nodes := map[string]*ir.Node{}
	m.Graph.Walk(func(g *ir.Graph) {
		for _, n := range g.Nodes {
			nodes[n.Name] = n
		}
	})
	return nodes
}
