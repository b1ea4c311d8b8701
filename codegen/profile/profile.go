// Package profile says where the time of a run went: by operator, by instruction or by line of the
// model's Python source, of what ExecuTorch's runtime or etgen's noted in an ETDump file, or of the
// lines that generated code writes.
//
// New and ReadLines are the doors.
package profile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/etgen/etgen/ir/seq"
	"github.com/google/pprof/profile"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/etdump"
	"github.com/etgen/etgen/ir/foreign"
)

// By is what events are summed up by.
type By string

// The keys of sums.
const (
	Operator    By = "operator"
	Line        By = "line"
	Node        By = "node"
	Instruction By = "instruction"
)

// Keys are the values of By.
var Keys = []string{string(Operator), string(Line), string(Node), string(Instruction)}

// Origin tells which nodes an instruction of a chain stands for or, if event is not "", an event of
// the delegate that it calls; nil if nobody knows.
type Origin func(chain, instruction int, event string) []ir.Origin

// Profile is what a dump says of the calls of a method.
type Profile struct {
	Calls int           `json:"calls"`           // 0: it is not known
	Total time.Duration `json:"total_ns"`        // of all calls; 0 if the dump does not say
	Steps []Step        `json:"steps"`           // in the order in which they ended
	Ticks bool          `json:"ticks,omitempty"` // times are ticks of an unknown clock
	// Kernels are the names of those that instructions of the first chain called; see
	// [ir.DelegateKernel].
	Kernels map[int]string `json:"-"`
	origin  Origin
}

// Step is one execution of an instruction, or a part of one that a delegate told of; or all
// executions of a kernel of generated code.
type Step struct {
	Call        int           `json:"call"`
	Runs        int           `json:"runs"`
	Kernel      foreign.Text  `json:"kernel,omitempty"` // of generated code
	Nodes       foreign.Text  `json:"nodes,omitempty"`
	Chain       int           `json:"chain"`
	Instruction int           `json:"instruction"`
	Operator    foreign.Text  `json:"operator"`
	Line        foreign.Text  `json:"line,omitempty"`
	Delegate    bool          `json:"delegate,omitempty"` // a part of a delegate's call
	Start       uint64        `json:"start_ns"`
	Time        time.Duration `json:"time_ns"`
}

// New reads the events of a dump's calls. Of an instruction that calls a kernel, it takes the time
// of the kernel. Origins may be nil.
func New(d *etdump.Dump, origin Origin) *Profile {
	p := &Profile{origin: origin, Kernels: map[int]string{}}
	for _, r := range d.Runs {
		if !strings.HasPrefix(r.Name, "Execute") {
			continue
		}
		p.Calls++
		for _, e := range r.Events {
			if e, ok := e.(*etdump.Profile); ok && e.End >= e.Start {
				p.event(e)
			}
		}
	}
	return p
}

// instructions are the events of instructions that call no kernel.
var instructions = map[string]string{"DELEGATE_CALL": ir.DelegateKernel,
	"MOVE_CALL": "move", "JF_CALL": "jump", "FREE_CALL": "free"}

func (p *Profile) event(e *etdump.Profile) {
	s := Step{Call: p.Calls - 1, Runs: 1, Chain: int(e.Chain), Instruction: int(e.Instruction),
		Start: e.Start, Time: time.Duration(e.End - e.Start)}
	kernel, called := strings.CutPrefix(e.Name, "native_call_")
	word := instructions[e.Name]
	event := e.DelegateID
	switch {
	case e.Chain == -1 && e.Name == "Method::execute":
		p.Total += s.Time
		return
	case e.DelegateID != "":
		s.Operator, s.Delegate = foreign.Of(e.DelegateID), true
	case e.Delegate >= 0:
		s.Operator, s.Delegate = foreign.Format("part %d", e.Delegate), true
		event = strconv.Itoa(int(e.Delegate))
	case called:
		s.Operator = foreign.Of(kernel)
		if e.Chain == 0 {
			p.Kernels[s.Instruction] = kernel
		}
	case word != "":
		s.Operator = foreign.Of(word)
		if e.Chain == 0 && e.Name == "DELEGATE_CALL" {
			p.Kernels[s.Instruction] = word
		}
	default: // OPERATOR_CALL, around a kernel
		return
	}
	if p.origin != nil && e.Instruction >= 0 && e.Chain >= 0 {
		s.Nodes, s.Line = names(p.origin(int(e.Chain), int(e.Instruction), event))
	}
	p.Steps = append(p.Steps, s)
}

// names are the names of nodes, and their lines, each once.
func names(from []ir.Origin) (nodes, lines foreign.Text) {
	var all, at []string
	for _, n := range from {
		if n.Node != "" && !slices.Contains(all, n.Node) {
			all = append(all, n.Node)
		}
		if line := n.Loc.String(); n.Loc != (ir.Location{}) && !slices.Contains(at, line) {
			at = append(at, line)
		}
	}
	return foreign.Of(strings.Join(all, ", ")), foreign.Of(strings.Join(at, ", "))
}

// Row is the sum of some steps.
type Row struct {
	Key   foreign.Text  `json:"key"`
	Steps int           `json:"steps"`
	Time  time.Duration `json:"time_ns"`
}

// Rows sums up steps by a key, the longest first, by instruction in their order. Parts of a
// delegate's call have rows of their own; their time is in the call's, too.
func (p *Profile) Rows(by By) []Row {
	at := map[foreign.Text]int{}
	var rows []Row
	for _, s := range p.Steps {
		key := s.key(by)
		if s.Delegate {
			key = foreign.Format("delegate: %s", key)
		}
		i, ok := at[key]
		if !ok {
			i = len(rows)
			at[key], rows = i, append(rows, Row{Key: key})
		}
		rows[i].Steps += s.Runs
		rows[i].Time += s.Time
	}
	if by != Instruction {
		seq.Sort(rows, func(a, b Row) int { return cmp.Compare(b.Time, a.Time) })
	}
	return rows
}

// key is what a step is summed up by.
func (s Step) key(by By) foreign.Text {
	own := cmp.Or(s.Operator, s.Kernel)
	known := map[By]foreign.Text{Line: s.Line, Node: s.Nodes}
	switch text, ok := known[by]; {
	case ok && text.IsEmpty():
		return foreign.Format("no %s: %s", string(by), own)
	case ok:
		return text
	case by == Instruction && !s.Kernel.IsEmpty():
		return foreign.Format("%d %s: %s", s.Instruction, s.Kernel, s.Operator)
	case by == Instruction:
		return foreign.Format("%d.%d %s", s.Chain, s.Instruction, s.Operator)
	}
	return own
}

// Text writes a table of Rows. The error is that of w.
func (p *Profile) Text(w io.Writer, by By) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, r := range p.Rows(by) {
		share := ""
		if p.Total > 0 {
			share = fmt.Sprintf("%.1f %%", 100*float64(r.Time)/float64(p.Total))
		}
		fmt.Fprintf(t, "%s\t%s\t%d ×\t  %s\n", p.time(r.Time), share, r.Steps, r.Key.Terminal())
	}
	calls := ""
	if p.Calls > 0 {
		calls = fmt.Sprintf("%d calls", p.Calls)
	}
	fmt.Fprintf(t, "%s\t\t%s\t\n", p.time(p.Total), calls)
	return t.Flush()
}

func (p *Profile) time(d time.Duration) string {
	if p.Ticks {
		return fmt.Sprintf("%d ticks", int64(d))
	}
	return d.String()
}

// Chrome writes the steps as events of Chrome's tracing, which Perfetto shows, too. The error is
// that of w.
func (p *Profile) Chrome(w io.Writer) error {
	type event struct {
		Name  foreign.Text            `json:"name"`
		Phase string                  `json:"ph"`
		Start float64                 `json:"ts"` // in microseconds
		Time  float64                 `json:"dur"`
		PID   int                     `json:"pid"`
		TID   int                     `json:"tid"`
		Args  map[string]foreign.Text `json:"args,omitempty"`
	}
	events := make([]event, 0, len(p.Steps))
	for _, s := range p.Steps {
		e := event{Name: cmp.Or(s.Operator, s.Kernel), Phase: "X", Start: float64(s.Start) / 1e3,
			Time: float64(s.Time) / 1e3, TID: 1}
		if s.Delegate {
			e.TID = 2
		}
		e.Args = map[string]foreign.Text{"instruction": foreign.Format("%d.%d", s.Chain, s.Instruction)}
		for name, text := range map[string]foreign.Text{"line": s.Line, "nodes": s.Nodes} {
			if !text.IsEmpty() {
				e.Args[name] = text
			}
		}
		events = append(events, e)
	}
	return json.NewEncoder(w).Encode(map[string]any{"traceEvents": events})
}

// PProf writes a profile for go tool pprof: the line of the model, in it the operator. The error is
// that of w.
func (p *Profile) PProf(w io.Writer) error {
	out := &profile.Profile{SampleType: []*profile.ValueType{{Type: "steps", Unit: "count"},
		{Type: "time", Unit: "nanoseconds"}}, DefaultSampleType: "time"}
	if p.Ticks {
		out.SampleType[1].Unit = "ticks"
	}
	locations := map[string]*profile.Location{}
	location := func(name string) *profile.Location {
		l := locations[name]
		if l == nil {
			f := &profile.Function{ID: uint64(len(out.Function)) + 1, Name: name}
			l = &profile.Location{ID: uint64(len(out.Location)) + 1, Line: []profile.Line{{Function: f}}}
			locations[name] = l
			out.Function, out.Location = append(out.Function, f), append(out.Location, l)
		}
		return l
	}
	for _, s := range p.Steps {
		if s.Delegate {
			continue // its time is in the call's
		}
		stack := []*profile.Location{location(cmp.Or(s.Operator, s.Kernel).Raw())}
		if !s.Line.IsEmpty() {
			stack = append(stack, location(s.Line.Raw()))
		}
		out.Sample = append(out.Sample, &profile.Sample{Location: stack,
			Value: []int64{int64(s.Runs), int64(s.Time)}})
	}
	return out.Write(w)
}
