package ops

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/sym"
)

// Standard returns the table of every operator etgen has.
var Standard = sync.OnceValue(func() *Table {
	t, err := NewTable(groups()...)
	if err != nil {
		panic("ops: " + err.Error()) // a defect of an entry; TestStandard fails
	}
	return t
})

// NewTable returns a table of the entries of groups. It fails on a schema that
// does not parse, a name that occurs twice and an entry without a meaning.
func NewTable(groups ...[]Op) (*Table, error) {
	t := &Table{byName: map[string]*Op{}}
	for _, g := range groups {
		for i := range g {
			op := g[i]
			s, err := aten.Parse(op.Schema)
			if err != nil {
				return nil, err
			}
			op.sch = s
			switch {
			case t.byName[s.Name] != nil:
				return nil, fmt.Errorf("%s is in the table twice", s.Name)
			case op.Infer == nil:
				return nil, fmt.Errorf("%s has no Infer", s.Name)
			case op.Compute == nil && op.Loops == nil && op.Decompose == nil && op.View == nil &&
				op.Value == nil && op.ScalarOp == nil && !op.Effect:
				return nil, fmt.Errorf("%s has no meaning", s.Name)
			}
			t.byName[s.Name] = op.ending()
			t.names = append(t.names, s.Name)
		}
	}
	slices.Sort(t.names)
	return t, nil
}

// Lookup returns the entry of an operator, which for the in-place form of a
// functional operator is the functional one (see Functional).
func (t *Table) Lookup(name string) (*Op, bool) {
	if op, ok := t.byName[name]; ok {
		return op, true
	}
	if f, ok := t.Functional(name); ok {
		return t.byName[f.Name], true
	}
	return nil, false
}

// Names returns the names of the entries, sorted.
func (t *Table) Names() []string { return slices.Clone(t.names) }

// InPlace tells how an in-place operator follows from a functional one: the
// result of Name, given the same arguments, is written to argument Mutated,
// which is also what the in-place operator returns.
type InPlace struct {
	Name    string // the functional operator
	Mutated int    // index among its arguments
	// Rebind is set if the functional operator is a view: then the argument's
	// tensor takes the view's sizes and strides and no data is written.
	Rebind bool
}

// Functional returns what name does if it is the in-place form of an entry:
// "aten.add_.Tensor" is "aten.add.Tensor" written to its first argument.
func (t *Table) Functional(name string) (InPlace, bool) {
	parts := strings.SplitN(name, ".", 3)
	if len(parts) < 2 {
		return InPlace{}, false
	}
	switch base := parts[1]; {
	case strings.HasPrefix(base, "__i") && strings.HasSuffix(base, "__") && len(base) > 5:
		parts[1] = "__" + base[3:]
	case strings.HasSuffix(base, "_") && !strings.HasSuffix(base, "__"):
		parts[1] = strings.TrimSuffix(base, "_")
	default:
		return InPlace{}, false
	}
	f := strings.Join(parts, ".")
	op, ok := t.byName[f]
	if !ok || len(op.sch.Args) == 0 || op.sch.Args[0].Type.Name != "Tensor" {
		return InPlace{}, false
	}
	return InPlace{Name: f, Rebind: op.View != nil}, true
}

// ParsedSchema returns the entry's schema. The caller must not change it.
func (op *Op) ParsedSchema() *aten.Schema { return op.sch }

// Name returns the name nodes use, e.g. "aten.add.Tensor".
func (op *Op) Name() string { return op.sch.Name }

// Bind binds the arguments of n by name, or by position where they have none,
// fills in defaults, checks their kinds and infers the result types. Of an
// in-place operator it binds the functional form; the result's type is that of
// the argument written to.
func (t *Table) Bind(n *ir.Node) (*Call, error) {
	op, ok := t.Lookup(n.Op)
	if !ok {
		return nil, fmt.Errorf("operator %s is not supported", n.Op)
	}
	c, err := bindArgs(op, n)
	if err != nil {
		return nil, err
	}
	if op.variant != nil {
		if other := op.variant(c); other != nil {
			meant := other.ending()
			meant.sch = op.sch
			op, c.Op = meant, meant
		}
	}
	if c.Outs, err = op.Infer(c); err != nil {
		return nil, c.wrap(err)
	}
	for _, n := range c.needs {
		if sym.LessEq(n, sym.Int(0)) {
			return nil, c.Errorf("it needs a size of %s to be over 0", n)
		}
	}
	if op.sch.Name == n.Op {
		return c, nil
	}
	if f, ok := t.Functional(n.Op); ok && !f.Rebind {
		ref, ok := c.Args[f.Mutated].(ir.Ref)
		if !ok {
			return nil, c.Errorf("what is written in place is %s, no tensor",
				describe(c.Args[f.Mutated]))
		}
		self := ref.Value.Type
		if !slices.EqualFunc(c.Outs[0].Sizes, self.Sizes, sym.Expr.Equal) {
			return nil, c.Errorf("a result of %s does not fit in place of %s",
				describeSizes(c.Outs[:1]), describeSizes([]ir.Type{self}))
		}
		c.Outs[0] = self
	}
	return c, nil
}
