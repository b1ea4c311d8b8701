package portable

import (
	"errors"
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
)

// sequence runs an operator as the operators it is made of.
type sequence struct {
	steps  []step
	memory [][]byte // of the call's results and operands, then of values between
	given  int      // results and operands
}

// step is one of the operators.
type step struct {
	code code
	at   []int    // where its results and operands are in memory
	bufs [][]byte // for the call
}

// errControl is the error for an operator that decomposes into control flow or
// reads numbers from tensors.
var errControl = errors.New("control flow inside of an operator")

// maxDepth bounds how far decompositions nest, which entries that name each
// other could do without end.
const maxDepth = 20

// newSequence compiles what c decomposes into.
func (k *kernel) newSequence(c *ops.Call, constant func(int) ([]byte, bool)) *sequence {
	deeper := *k
	if deeper.depth++; deeper.depth > maxDepth {
		panic(fmt.Errorf("the operator decomposes without end"))
	}
	g, outs := must.Get2(ops.Decomposition(k.table, c))
	s := &sequence{given: len(outs) + len(c.Operands())}
	s.memory = make([][]byte, s.given)
	at := map[*ir.Value]int{}
	fixed := map[*ir.Value][]byte{}
	for i, v := range c.Operands() {
		at[v] = len(outs) + i
		if data, ok := constant(i); ok {
			fixed[v] = data
		}
	}
	place := func(v *ir.Value) int {
		if i, ok := at[v]; ok {
			return i
		}
		n, ok := v.Type.Numel().Const()
		if !ok {
			panic(fmt.Errorf("the size of %%%s is not known", v.Name))
		}
		var memory []byte
		if v.Const != nil {
			memory = must.Get(ir.Tensor(v.Const))
			fixed[v] = memory
		} else {
			memory = allocate(n, v.Type.DType, k.reserve)
		}
		at[v] = len(s.memory)
		s.memory = append(s.memory, memory)
		return at[v]
	}
	var copies []*ir.Value // results that are operands, constants or results already
	for i, v := range outs {
		if _, taken := at[v]; taken || v.Def == nil {
			copies = append(copies, v)
		} else {
			at[v] = i
			copies = append(copies, nil)
		}
	}
	for _, n := range g.Nodes {
		must.Do(func() { s.add(&deeper, n, fixed, place) }, "as %s", n.Op)
	}
	for i, v := range copies {
		if v == nil {
			continue
		}
		from := place(v)
		l := k.cache.reorder(v.Type, nil, nil)
		s.steps = append(s.steps, step{code: l, at: []int{i, from}, bufs: make([][]byte, 2)})
	}
	return s
}

// add compiles a node of the decomposition.
func (s *sequence) add(k *kernel, n *ir.Node, fixed map[*ir.Value][]byte,
	place func(*ir.Value) int) {
	if len(n.Regions) > 0 {
		panic(errControl)
	}
	c := must.Get(k.table.Bind(n))
	var st step
	for i, t := range c.Outs {
		v := n.Output(i)
		if t.Kind != ir.TensorKind {
			panic(errControl)
		}
		if v == nil {
			v = &ir.Value{Name: "unused", Type: t}
		}
		where := place(v)
		st.at = append(st.at, where)
	}
	for _, v := range c.Operands() {
		where := place(v)
		st.at = append(st.at, where)
	}
	st.code = k.compile(c, nil, interp.Orders{}, func(i int) ([]byte, bool) {
		data, ok := fixed[c.Operands()[i]]
		return data, ok
	})
	st.bufs = make([][]byte, len(st.at))
	s.steps = append(s.steps, st)
}

func (s *sequence) run(bufs [][]byte, done <-chan struct{}) error {
	copy(s.memory[:s.given], bufs)
	for i := range s.steps {
		st := &s.steps[i]
		for j, where := range st.at {
			st.bufs[j] = s.memory[where]
		}
		if err := st.code.run(st.bufs, done); err != nil {
			return err
		}
	}
	return nil
}

// inPlace: a result may be written before the last read of an operand.
func (s *sequence) inPlace(_, _ int) bool { return false }
