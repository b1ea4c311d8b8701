package partition

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/seq"
)

// Report says what became of each node of a program.
type Report struct{ Nodes []NodeReport }

// NodeReport says what became of a node.
type NodeReport struct {
	Method, Node, Op string
	Loc              ir.Location
	// Backend and Delegate took the node; "" if it stays with the program.
	Backend, Delegate string
	// Reasons say why backends did not take it.
	Reasons []Reason
	// Tensor says that the node computes a tensor: else no backend could have taken it.
	Tensor bool
}

// Reason says why a backend did not take a node; "" is no backend in particular.
type Reason struct{ Backend, Why string }

// add adds the nodes of a method.
func (r *Report) add(w *method) {
	if r == nil {
		return
	}
	for _, g := range w.graphs {
		for i, n := range g.nodes {
			x := NodeReport{Method: w.m.Name, Node: n.Name, Op: n.Op, Loc: n.Loc,
				Reasons: g.reasons[i]}
			if why := g.barred[i]; why != "" {
				x.Reasons = append([]Reason{{Why: why}}, x.Reasons...)
			}
			for _, v := range n.Outputs {
				x.Tensor = x.Tensor || v != nil && v.Type.Kind == ir.TensorKind && len(n.Regions) == 0
			}
			if k := g.part[i]; k >= 0 {
				x.Backend, x.Delegate = g.of[k].use.Backend.About().Name, g.of[k].name
				x.Reasons = slices.DeleteFunc(slices.Clone(x.Reasons), func(r Reason) bool {
					return r.Backend == x.Backend
				})
			}
			r.Nodes = append(r.Nodes, x)
		}
	}
}

// Fallbacks returns the nodes that compute tensors and that no backend took.
func (r *Report) Fallbacks() (out []NodeReport) {
	return seq.Filter(r.Nodes, func(n NodeReport) bool { return n.Tensor && n.Delegate == "" })
}

// Check is an error if more nodes than most stayed with the program; it names them.
func (r *Report) Check(most int) error {
	left := r.Fallbacks()
	if len(left) <= most {
		return nil
	}
	text := ""
	for _, n := range left {
		text += "\n" + n.String()
	}
	return fmt.Errorf("%d operators fall back to etgen, more than %d:%s", len(left), most, text)
}

// String says why a node stayed with the program.
func (n NodeReport) String() string {
	e := &ir.Error{Node: n.Node, Op: n.Op, Loc: n.Loc, Err: fmt.Errorf("%s", n.Why())}
	return e.Error()
}

// Why gives the reasons in one line.
func (n NodeReport) Why() string {
	text := ""
	for i, r := range n.Reasons {
		if i > 0 {
			text += "; "
		}
		if r.Backend != "" {
			text += r.Backend + ": "
		}
		text += foreign.Escape(r.Why)
	}
	return text
}

// Write writes a table of what went where: a line for each node, then how many there are of each.
func (r *Report) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WHERE\tNODE\tOPERATOR\tPYTHON\tWHY NOT")
	counts, order := map[string]int{}, []string{}
	for _, n := range r.Nodes {
		where := "etgen"
		if n.Delegate != "" {
			where = n.Backend + " " + n.Delegate
		}
		if counts[where] == 0 {
			order = append(order, where)
		}
		counts[where]++
		python := foreign.Escape(n.Loc.Module)
		if n.Loc.File != "" {
			python = fmt.Sprintf("%s:%d", foreign.Escape(n.Loc.File), n.Loc.Line)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", where, foreign.Message(n.Node),
			foreign.Message(n.Op), python, n.Why())
	}
	for _, where := range order {
		fmt.Fprintf(t, "%s\t%d nodes\n", where, counts[where])
	}
	return t.Flush()
}
