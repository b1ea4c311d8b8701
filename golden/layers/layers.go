// Package layers compares what two programs compute, node by node: where they first and where they
// most differ.
//
// Compare is the door.
package layers

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/eval"
)

// Side is one of the two: a model that runs in a way, a folder with a NODE.npy for each node
// that is known, or an ETDump with what its instructions gave.
type Side struct {
	Path string
	Way  way.Way // nil of a folder and of an ETDump
	Dump *Dump   // nil of all but an ETDump
	// Options lower the model; a recipe in them quantizes it.
	Options compile.Options

	flow *flow // of a model, when it has run
}

// Row is a node that both programs have.
type Row struct {
	Node foreign.Text `json:"node"`            // as A has it
	As   foreign.Text `json:"other,omitempty"` // as B has it, if that is another name
	Op   foreign.Text `json:"operator"`
	Line foreign.Text `json:"line,omitempty"`
	Type string       `json:"type"` // as A has it
	// SQNR is signal over noise in decibels, A being the signal; 999 is no noise, -999 no signal.
	SQNR    float64      `json:"sqnr_db"`
	Largest float64      `json:"largest_difference"`
	Miss    foreign.Text `json:"miss,omitempty"` // how B is out of tolerance
}

// Report is what a comparison found. Rows are in the order of A's nodes.
type Report struct {
	A     foreign.Text   `json:"a"`
	B     foreign.Text   `json:"b"`
	Rows  []Row          `json:"nodes"`
	OnlyA []foreign.Text `json:"only_a"` // nodes that the other has not, or keeps nothing of
	OnlyB []foreign.Text `json:"only_b"`
	First int            `json:"first"` // the first row out of tolerance, -1: none is
	Worst int            `json:"worst"` // the row of the lowest SQNR, -1: there are no rows
}

// exact stands for no noise at all.
const exact = 999

// Inputs are a side's, read by the one who knows the command line.
type Inputs func(model string) ([]tensor.Value, error)

// value is what a node computed.
type value struct {
	node, op, line string
	tensor         *tensor.Tensor
	def            *ir.Node // in the side's flow; nil: it is not known
}

// Compare runs both sides on inputs and compares the nodes of the method of a name, "" being the
// first. What each node gives is made an output of the program, so nothing is fused across nodes;
// of a quantized program only values that are quantized are, as its kernels give them.
func Compare(ctx context.Context, a, b Side, method string, inputs Inputs) (_ *Report, err error) {
	defer must.Catch(&err)
	to := ir.Functional
	for _, s := range []Side{a, b} {
		if s.Dump != nil || s.Way != nil && compile.FormatOf(s.Path) != "" {
			to = ir.Edge
		}
	}
	as, terms := a.values(ctx, method, to, inputs)
	bs, more := b.values(ctx, method, to, inputs)
	r := &Report{A: foreign.Of(a.Path), B: foreign.Of(b.Path), Rows: []Row{}, First: -1, Worst: -1,
		OnlyA: []foreign.Text{}, OnlyB: []foreign.Text{}}
	if a.Way == nil && a.Dump == nil { // files have no order
		at := map[string]int{}
		for k, y := range bs {
			at[y.node] = k
		}
		seq.Sort(as, func(x, y value) int { return at[x.node] - at[y.node] })
	}
	tol := compare.Tolerance{Terms: max(terms, more), Overflow: true}
	agree := func(x, y value) bool { return compare.Tensors(y.tensor, x.tensor, tol) == nil }
	named := a.Path == b.Path || a.named() && b.named()
	pairs := match(as, bs, named, agree)
	if !named {
		dropGuesses(pairs, as, bs, cmp.Or(a.flow, b.flow), agree)
	}
	used := map[int]bool{}
	for i, x := range as {
		k, ok := pairs[i]
		if !ok {
			r.OnlyA = append(r.OnlyA, foreign.Of(x.node))
			continue
		}
		used[k] = true
		r.add(x, bs[k], tol)
	}
	for k, y := range bs {
		if !used[k] {
			r.OnlyB = append(r.OnlyB, foreign.Of(y.node))
		}
	}
	if len(r.Rows) == 0 {
		must.Fail("%s and %s have no node in common", foreign.Message(a.Path), foreign.Message(b.Path))
	}
	return r, nil
}

func (r *Report) add(x, y value, tol compare.Tolerance) {
	row := Row{Node: foreign.Of(x.node), Op: foreign.Of(x.op), Line: foreign.Of(x.line),
		Type: x.tensor.String(), SQNR: -exact}
	if y.node != x.node {
		row.As = foreign.Of(y.node)
	}
	if row.Op.IsEmpty() { // of a folder
		row.Op, row.Line = foreign.Of(y.op), foreign.Of(y.line)
	}
	if miss := compare.Tensors(y.tensor, x.tensor, tol); miss != nil {
		row.Miss = foreign.Of(miss.Error())
	}
	if slices.Equal(x.tensor.Shape, y.tensor.Shape) {
		row.SQNR, row.Largest = noise(elements(x.tensor), elements(y.tensor))
	}
	if r.First < 0 && !row.Miss.IsEmpty() {
		r.First = len(r.Rows)
	}
	if r.Worst < 0 || row.SQNR < r.Rows[r.Worst].SQNR {
		r.Worst = len(r.Rows)
	}
	r.Rows = append(r.Rows, row)
}

// elements are those of a tensor as floats.
func elements(t *tensor.Tensor) []float64 {
	if t.DType.IsFloat() {
		return compare.Floats(t)
	}
	list := make([]float64, t.Len())
	for i := range list {
		list[i] = float64(eval.Get(t.DType, t.Data, int64(i)).I)
	}
	return list
}

// noise returns signal over noise in decibels, and the largest difference.
func noise(want, got []float64) (sqnr, largest float64) {
	signal, diff := make([]float64, 0, len(want)), make([]float64, 0, len(want))
	for i, x := range want {
		y := got[i]
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			signal = append(signal, math.Abs(x))
		}
		if x == y || math.IsNaN(x) && math.IsNaN(y) {
			continue
		}
		d := math.Abs(x - y)
		if math.IsNaN(d) || math.IsInf(d, 0) {
			return -exact, math.MaxFloat64
		}
		diff = append(diff, d)
	}
	s, _ := decibels(signal)
	n, largest := decibels(diff)
	switch {
	case largest == 0:
		return exact, 0
	case math.IsInf(s, -1):
		return -exact, largest
	}
	const most = exact - 0.01 // what is neither without noise nor without signal
	return max(-most, min(math.Round(100*(s-n))/100, most)), largest
}

// decibels are those of the sum of squares of what is not negative, and the largest of it, by which
// the rest is scaled: no square is too large or small for a float64.
func decibels(list []float64) (db, largest float64) {
	for _, x := range list {
		largest = max(largest, x)
	}
	if largest == 0 {
		return math.Inf(-1), 0
	}
	sum := 0.0
	for _, x := range list {
		sum += (x / largest) * (x / largest)
	}
	return 20*math.Log10(largest) + 10*math.Log10(sum), largest
}

// match pairs values, and returns for indices of as those of bs. If names mean the same on both
// sides, those of one name and as many elements are pairs. Names and order of a .pte are not those
// of the model that it was made of: then come those that agree, of one name if there is one, else
// of one operator, or of any unless all elements are one number, as of masks. Of the others those
// of one name, operator and type are pairs; the rest pairs in order, by operator and type, between
// the nearest that are paired.
func match(as, bs []value, named bool, agree func(x, y value) bool) map[int]int {
	pairs, used := map[int]int{}, map[int]bool{}
	names, types := map[string]int{}, map[string][]int{}
	for k, y := range bs {
		names[y.node] = k
		types[y.tensor.String()] = append(types[y.tensor.String()], k)
	}
	pair := func(i, k int) { pairs[i], used[k] = k, true }
	for i, x := range as {
		if k, ok := names[x.node]; named && ok && x.tensor.Len() == bs[k].tensor.Len() {
			pair(i, k)
		}
	}
	for i, x := range as {
		if _, done := pairs[i]; done {
			continue
		}
		for _, first := range []func(k int) bool{
			func(k int) bool { return bs[k].node == x.node },
			func(k int) bool { return bs[k].op == x.op },
			func(int) bool { return !named && varied(x.tensor) },
		} {
			k := slices.IndexFunc(types[x.tensor.String()], func(k int) bool {
				return !used[k] && first(k) && agree(x, bs[k])
			})
			if k >= 0 {
				pair(i, types[x.tensor.String()][k])
				break
			}
		}
	}
	for i, x := range as {
		k, ok := names[x.node]
		if _, done := pairs[i]; !done && ok && !used[k] && x.op == bs[k].op &&
			x.tensor.String() == bs[k].tensor.String() {
			pair(i, k)
		}
	}
	before, end := 0, make([]int, len(as)+1) // end is, of what follows a node, the first pair in bs
	end[len(as)] = len(bs)
	for i := len(as) - 1; i >= 0; i-- {
		end[i] = end[i+1]
		if k, ok := pairs[i]; ok {
			end[i] = min(end[i], k)
		}
	}
	for i, x := range as {
		if k, ok := pairs[i]; ok {
			before = max(before, k+1)
			continue
		}
		for k := before; k < end[i]; k++ {
			if y := bs[k]; !used[k] && x.op != "" && x.op == y.op && x.tensor.String() == y.tensor.String() {
				pair(i, k)
				before = k + 1
				break
			}
		}
	}
	return pairs
}

// varied reports whether elements of t differ.
func varied(t *tensor.Tensor) bool {
	size := t.DType.Size()
	return !bytes.Equal(t.Data[:max(len(t.Data)-size, 0)], t.Data[min(size, len(t.Data)):])
}

// values runs the side. Terms is the longest reduction in it.
func (s *Side) values(ctx context.Context, method string, to ir.Dialect,
	inputs Inputs) (list []value, terms int64) {
	switch {
	case s.Dump != nil:
		return s.Dump.values(s.Path), 1
	case s.Way == nil:
		return recorded(s.Path), 1
	}
	given := must.Get(inputs(s.Path))
	index, first := 0, 0 // of the method, and of the probes among its outputs
	var probes []*probe
	job := way.Job{Name: compile.NameOf(s.Path), Open: func() (*ir.Program, io.Closer, error) {
		p, closer, err := s.Options.Read(s.Path)
		if err != nil {
			return nil, nil, err
		}
		opt := s.Options
		opt.To = to
		if err := compile.Lower(p, opt); err != nil {
			return nil, nil, errors.Join(err, closer.Close())
		}
		index = max(0, slices.IndexFunc(p.Methods, func(m *ir.Method) bool { return m.Name == method }))
		s.flow = flowOf(p.Methods[index].Graph)
		first, probes = expose(p.Methods[index])
		return p, closer, ir.Verify(p)
	}, Calls: []way.Call{{Method: s.method(method), Inputs: given}}}
	var result *way.Result
	s.Way.Run(ctx, []way.Job{job}, func(_ int, r *way.Result) { result = r })
	must.Check(ctx.Err())
	must.In(result.Err, "%s", foreign.Message(s.Path))
	must.In(result.Calls[0].Err, "%s", foreign.Message(s.Path))
	outs := seq.Map(result.Calls[0].Outputs[first:],
		func(v tensor.Value) *tensor.Tensor { return v.Tensor })
	return ran(probes, outs), result.Terms[index]
}

// named reports whether values have the names of the model's nodes. Those in an ETRecord are of the
// program as backends were given it.
func (s *Side) named() bool {
	return s.Dump == nil && (s.Way == nil || compile.FormatOf(s.Path) == "")
}

// method is the index of the method of a name, "" being the first.
func (s *Side) method(name string) int {
	p, closer := must.Get2(s.Options.Read(s.Path))
	defer closer.Close()
	at := slices.IndexFunc(p.Methods, func(m *ir.Method) bool { return m.Name == name })
	if at < 0 && name != "" {
		must.Check(&way.InputError{Err: fmt.Errorf("%s has no method %s", foreign.Message(s.Path),
			foreign.Message(name))})
	}
	return max(at, 0)
}

// recorded are the tensors in a folder.
func recorded(dir string) (list []value) {
	names := must.Get(fs.Glob(os.DirFS(dir), "*.npy"))
	if len(names) == 0 {
		must.Check(&way.InputError{Err: fmt.Errorf("%s has no NODE.npy", foreign.Message(dir))})
	}
	for _, name := range names {
		t, err := tensor.ParseNPY(must.Get(os.ReadFile(filepath.Join(dir, name))))
		must.In(err, "%s", foreign.Message(name))
		list = append(list, value{node: strings.TrimSuffix(name, ".npy"), tensor: t})
	}
	return list
}

// Text writes a table of the rows, the first that differs, as Differs has it, and the worst marked.
// The error is that of w.
func (r *Report) Text(w io.Writer, least float64, given bool) error {
	at := r.first(least, given)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  \tSQNR dB\tlargest\tnode\toperator\tline")
	for i, row := range r.Rows {
		mark := "  "
		switch i {
		case at:
			mark = "1st"
		case r.Worst:
			mark = "max"
		}
		name := row.Node.Terminal()
		if !row.As.IsEmpty() {
			name += " = " + row.As.Terminal()
		}
		sqnr := fmt.Sprintf("%.1f", row.SQNR)
		if row.SQNR == exact {
			sqnr = "exact"
		}
		fmt.Fprintf(t, "%s\t%s\t%.3g\t%s\t%s\t%s\n", mark, sqnr, row.Largest, name, row.Op.Terminal(),
			row.Line.Terminal())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d nodes compared; %d of A alone, %d of B alone\n", len(r.Rows), len(r.OnlyA),
		len(r.OnlyB))
	verdict := "all agree"
	if at >= 0 {
		row := r.Rows[at]
		what, miss := "out of tolerance", row.Miss.Terminal()
		if given {
			what, miss = fmt.Sprintf("below %.4g dB", least), fmt.Sprintf("%.1f dB", row.SQNR)
		}
		verdict = fmt.Sprintf("first %s: %s, %s", what, row.Node.Terminal(), miss)
	}
	if at >= 0 || given {
		worst := r.Rows[r.Worst]
		verdict += fmt.Sprintf("\nlowest SQNR: %s, %.1f dB", worst.Node.Terminal(), worst.SQNR)
	}
	_, err := fmt.Fprintln(w, verdict)
	return err
}

// Differs reports whether a row is out of tolerance or, if there is a least SQNR, below that.
func (r *Report) Differs(least float64, given bool) bool {
	return r.first(least, given) >= 0
}

// first is the first row that differs, -1 if none does.
func (r *Report) first(least float64, given bool) int {
	if !given {
		return r.First
	}
	return slices.IndexFunc(r.Rows, func(row Row) bool { return row.SQNR < least })
}
