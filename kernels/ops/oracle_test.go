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

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/kernels/ops"
)

// TestRecordedTypes infers the result types of every node of every recorded
// archive whose operator is in the table and compares dtype, sizes, strides and
// offset with what PyTorch recorded.
func TestRecordedTypes(t *testing.T) {
	var files []string
	err := filepath.WalkDir("../../../shared", func(path string, _ fs.DirEntry, err error) error {
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
	for _, f := range files {
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
		m.Graph.Walk(func(g *ir.Graph) {
			for _, n := range g.Nodes {
				o.node(file, n)
			}
		})
	}
}

func (o *oracle) node(file string, n *ir.Node) {
	if _, ok := o.table.Lookup(n.Op); !ok {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.missing[n.Op]++
		return
	}
	alike, fault := compare(o.table, n)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.nodes++
	o.alike += alike
	if fault != "" {
		o.faults[n.Op] = append(o.faults[n.Op], fmt.Sprintf("%s: %s(%s): %s", strings.TrimPrefix(file, "../../../shared/"), n.Name, describeArgs(n), fault))
	}
}

func compare(table *ops.Table, n *ir.Node) (alike int, fault string) {
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
		case !c.Outs[i].Equal(v.Type):
			return alike, fmt.Sprintf("result %d is\n\tinferred %v\n\trecorded %v", i, c.Outs[i], v.Type)
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
