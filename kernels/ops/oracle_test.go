package ops_test

import (
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// TestRecordedTypes infers the result types of every node of every recorded
// archive whose operator is in the table and compares dtype, sizes, strides and
// offset with what PyTorch recorded.
func TestRecordedTypes(t *testing.T) {
	var files []string
	err := filepath.WalkDir("../../../shared/", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "repro" {
			return filepath.SkipDir // files that are wrong
		}
		if err == nil && strings.HasSuffix(path, ".pt2") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Skip("the recorded cases are not beside the repository: ", err)
	}
	o := &oracle{table: ops.Standard(), faults: map[string][]string{}, missing: map[string]int{}}
	work := make(chan string)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for f := range work {
				o.archive(t, f)
			}
		})
	}
	for _, f := range tier.Some(files, 200, -1) {
		work <- f
	}
	close(work)
	wg.Wait()

	for _, op := range slices.Sorted(maps.Keys(o.faults)) {
		slices.Sort(o.faults[op])
		t.Errorf("%s: %d nodes differ, for one:\n%s", op, len(o.faults[op]), o.faults[op][0])
	}
	total := 0
	for _, n := range o.missing {
		total += n
	}
	t.Logf("%d archives, %d nodes checked, %d values alike; %d nodes of %d operators not in the table",
		len(files), o.nodes, o.alike, total, len(o.missing))
	for _, op := range slices.Sorted(maps.Keys(o.missing)) {
		t.Logf("not in the table: %5d %s", o.missing[op], op)
	}
}

type oracle struct {
	table *ops.Table

	mu      sync.Mutex
	nodes   int
	alike   int
	faults  map[string][]string
	missing map[string]int
}

func (o *oracle) archive(t *testing.T, file string) {
	p, closer, err := pt2.Read(file)
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}
	defer closer.Close()
	for _, m := range p.Methods {
		known := map[*sym.Symbol]bool{}
		for _, v := range m.Graph.Inputs {
			learn(known, v.Type)
		}
		m.Graph.Walk(func(g *ir.Graph) {
			for _, n := range g.Nodes {
				o.node(file, n, known)
				for _, v := range n.Outputs {
					if v != nil {
						learn(known, v.Type)
					}
				}
			}
		})
	}
}

func (o *oracle) node(file string, n *ir.Node, known map[*sym.Symbol]bool) {
	if len(n.Regions) > 0 {
		return // control flow is no operator of the table
	}
	if _, ok := o.table.Lookup(n.Op); !ok {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.missing[n.Op]++
		return
	}
	alike, fault := compare(o.table, n, known, !strings.Contains(file, "torch2.6"))
	o.mu.Lock()
	defer o.mu.Unlock()
	o.nodes++
	o.alike += alike
	if fault != "" {
		o.faults[n.Op] = append(o.faults[n.Op], fmt.Sprintf("%s: %s(%s): %s",
			strings.TrimPrefix(file, "../../../shared/"), n.Name, describeArgs(n), fault))
	}
}

// learn notes the symbols of t.
func learn(known map[*sym.Symbol]bool, t ir.Type) {
	for _, es := range [][]sym.Expr{t.Sizes, t.Strides, {t.Offset, t.Expr}} {
		for _, e := range es {
			for _, s := range e.Symbols() {
				known[s] = true
			}
		}
	}
}

// same compares types. Torch 2.6 writes offset 0 whatever it is. Where a slice
// depends on data PyTorch makes up a symbol for the size or offset; such a
// symbol, not seen before, is a name for what is inferred.
func same(got, want ir.Type, known map[*sym.Symbol]bool, offsets bool) bool {
	if !offsets {
		got.Offset = want.Offset
	}
	names := map[*sym.Symbol]sym.Expr{}
	meet := func(g, w sym.Expr) sym.Expr {
		ss := w.Symbols()
		if len(ss) != 1 || known[ss[0]] {
			return g
		}
		if _, ok := names[ss[0]]; !ok && w.Equal(ss[0].Expr()) {
			names[ss[0]] = g
		}
		if at, ok := names[ss[0]]; ok && g.Equal(w.Subst(func(*sym.Symbol) (sym.Expr, bool) {
			return at, true
		})) {
			return w
		}
		return g
	}
	got.Sizes = slices.Clone(got.Sizes)
	for d := range got.Sizes {
		if d < len(want.Sizes) {
			got.Sizes[d] = meet(got.Sizes[d], want.Sizes[d])
		}
	}
	got.Offset = meet(got.Offset, want.Offset)
	return got.Equal(want)
}

func compare(table *ops.Table, n *ir.Node, known map[*sym.Symbol]bool,
	offsets bool) (alike int, fault string) {
	defer func() {
		if r := recover(); r != nil {
			fault = fmt.Sprintf("panic: %v", r)
		}
	}()
	c, err := table.Bind(n)
	if err != nil {
		return 0, err.Error()
	}
	if len(c.Outs) < len(n.Outputs) {
		return 0, fmt.Sprintf("%d results, recorded are %d", len(c.Outs), len(n.Outputs))
	}
	for i, v := range n.Outputs {
		switch {
		case v == nil:
		case n.Op == "aten.unique_consecutive.default" && c.Outs[i].Rank() < v.Type.Rank():
			// For a negative dim PyTorch records sizes that its result does not have.
		case !same(c.Outs[i], v.Type, known, offsets):
			return alike, fmt.Sprintf("result %d is\n\tinferred %v\n\trecorded %v", i,
				c.Outs[i], v.Type)
		default:
			alike++
		}
	}
	return alike, ""
}

func describeArgs(n *ir.Node) string {
	parts := make([]string, len(n.Args))
	for i, a := range n.Args {
		parts[i] = a.Name + "=" + describeArg(a.Value)
	}
	return strings.Join(parts, ", ")
}

func describeArg(a ir.Arg) string {
	switch a := a.(type) {
	case ir.Ref:
		return fmt.Sprint(a.Value.Type)
	case ir.List:
		parts := make([]string, len(a))
		for i, x := range a {
			parts[i] = describeArg(x)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(a)
}
