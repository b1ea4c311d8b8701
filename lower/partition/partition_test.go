package partition

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/irtest"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

// listed is a backend that takes the operators that the option ops lists, and whose payload is the
// text of the part. Its other options are
//
//	pair   two operators that it takes only one behind the other: "mm+relu"
//	both   two operators of which it takes all together
//	copy   it wants copies of constants
//	own    it wants state of its own
type listed string

func (b listed) About() About { return About{Name: string(b), ID: string(b) + "Backend"} }

func (b listed) Partition(g *Graph) error {
	first, second, paired := strings.Cut(g.Spec("pair"), "+")
	var both []*ir.Node
	for n := range g.Nodes() {
		name := ir.OpBase(n.Op)
		for _, a := range n.Args {
			ir.EachRef(a.Value, func(v *ir.Value) {
				if g.Constant(v) && g.Spec("copy") != "" {
					g.Copy(v)
				}
				if g.State(v) && g.Spec("own") != "" {
					g.Own(v)
				}
			})
		}
		switch {
		case slices.Contains(strings.Split(g.Spec("ops"), "+"), name):
			g.Take(n)
		case paired && name == first:
			readers, elsewhere := g.Readers(n.Outputs[0])
			if elsewhere || len(readers) != 1 || ir.OpBase(readers[0].Op) != second {
				g.Refuse(n, "no %s follows", second)
				continue
			}
			g.Take(n, readers[0])
		case g.Spec("both") != "" && slices.Contains(strings.Split(g.Spec("both"), "+"), name):
			both = append(both, n)
		}
	}
	g.Take(both...)
	return nil
}

func (b listed) Preprocess(p *Part) (*Payload, error) {
	if p.Spec("fail") != "" {
		return nil, fmt.Errorf("it is out of order")
	}
	return &Payload{Processed: []byte(p.Program.String()), Specs: p.Specs}, nil
}

// uses reads the source of a case: "NAME:key=value NAME…", with the keys whole and module too.
func uses(t *testing.T, line string) (all []*Use) {
	for item := range strings.FieldsSeq(line) {
		parts := strings.Split(item, ":")
		u := &Use{Backend: listed(parts[0])}
		for _, p := range parts[1:] {
			key, value, _ := strings.Cut(p, "=")
			switch key {
			case "whole":
				u.Whole = true
			case "module":
				u.Module = value
			default:
				u.Specs = append(u.Specs, ir.CompileSpec{Key: key, Value: []byte(value)})
			}
		}
		all = append(all, u)
	}
	return all
}

// Each case names its backends in the program's source.
func TestPartition(t *testing.T) {
	irtest.RunText(t, "testdata/*.txtar", func(p *ir.Program) (string, error) {
		report := &Report{}
		all := uses(t, p.Source)
		p.Source = "m.pt2"
		table, err := ops.Of(p)
		if err != nil {
			return "", err
		}
		pl := lower.Pipeline{Passes: []lower.Pass{Partition(all, report)}}
		if err := pl.Run(&lower.Context{Table: table}, p, nil); err != nil {
			return "", err
		}
		if err := ir.Verify(p); err != nil {
			t.Fatalf("after the pass: %v\n%v", err, p)
		}
		var out strings.Builder
		delegates := p.Delegates
		p.Delegates = nil // their payloads, which are texts, follow
		out.WriteString(p.String())
		for _, d := range delegates {
			fmt.Fprintf(&out, "\n%s %s %v\n%s", d.Name, d.Backend, d.Specs, d.Processed)
		}
		out.WriteString("\n")
		if err := report.Write(&out); err != nil {
			return "", err
		}
		return out.String(), nil
	})
}
