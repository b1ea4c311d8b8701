package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/ir/pte"
)

// programOf returns the ExecuTorch program that a file is, or that etgen writes of
// the archive that it is. It is nil if etgen writes none.
func programOf(file []byte) *pte.Program {
	if p, err := pte.Read(bytes.NewReader(file), int64(len(file))); err == nil {
		return p
	}
	p, err := pt2.ReadZip(bytes.NewReader(file), int64(len(file)), "model.pt2")
	if err != nil {
		return nil
	}
	out, err := compile.PTE(p, compile.Options{})
	if err != nil || out.Data != nil {
		return nil
	}
	return out.Program
}

// mutantProgram returns the ExecuTorch program of file changed in one to three
// places, drawn by r. It is nil if etgen writes no program of the file.
func mutantProgram(r *rand.Rand, file []byte) ([]byte, error) {
	p := programOf(file)
	if p == nil {
		return nil, nil
	}
	changes := 1
	if r.IntN(3) == 0 {
		changes = 2 + r.IntN(2)
	}
	for range changes {
		m := &programMutator{r: r, sites: sites{}}
		for _, plan := range p.Plans {
			m.plan(plan)
		}
		m.sites.draw(r, nil)
	}
	var out bytes.Buffer
	err := pte.Write(&out, p)
	return out.Bytes(), err
}

// programMutator changes an ExecuTorch program, with a mutator's sites.
type programMutator struct {
	r     *rand.Rand
	sites sites
}

func (m *programMutator) plan(ep *pte.ExecutionPlan) {
	m.values(ep)
	for _, list := range [][]int32{ep.Inputs, ep.Outputs} {
		m.operands("signature", ep, list)
	}
	for i := range ep.Operators {
		m.sites.add("operator", func() { ep.Operators[i] = pick(m.r, ep.Operators) })
	}
	for i := range ep.BufferSizes[1:] {
		m.sites.add("buffer", func() { ep.BufferSizes[i+1] = m.number(ep.BufferSizes[i+1]) })
	}
	for _, c := range ep.Chains {
		m.chain(ep, c)
	}
}

func (m *programMutator) chain(ep *pte.ExecutionPlan, c *pte.Chain) {
	n := len(c.Instructions)
	for i, in := range c.Instructions {
		switch in := in.(type) {
		case pte.KernelCall:
			m.operands("operand", ep, in.Args)
			m.sites.add("call", func() {
				if len(ep.Operators) > 0 {
					in.Op = int32(m.r.IntN(len(ep.Operators)))
				}
				c.Instructions[i] = in
			})
		case pte.JumpFalseCall:
			m.sites.add("jump", func() {
				in.Destination = int32(m.r.IntN(n + 1))
				c.Instructions[i] = in
			})
		case pte.MoveCall:
			m.sites.add("move", func() {
				in.From, in.To = m.like(ep, in.From), m.like(ep, in.To)
				c.Instructions[i] = in
			})
		}
		m.sites.add("order", func() {
			k := m.r.IntN(n)
			c.Instructions[i], c.Instructions[k] = c.Instructions[k], c.Instructions[i]
		})
		m.sites.add("instruction", func() {
			switch m.r.IntN(4) {
			case 0:
				c.Instructions[i] = pte.JumpFalseCall{Cond: m.any(ep),
					Destination: int32(m.r.IntN(n + 1))}
			case 1:
				v := m.any(ep)
				c.Instructions[i] = pte.MoveCall{From: v, To: m.like(ep, v)}
			case 2:
				c.Instructions[i] = pte.FreeCall{Value: m.any(ep)}
			default:
				c.Instructions[i] = c.Instructions[m.r.IntN(n)]
			}
		})
	}
}

// operands adds the change of each index of a list, to a value of the same kind or
// to any.
func (m *programMutator) operands(class string, ep *pte.ExecutionPlan, list []int32) {
	for i := range list {
		m.sites.add(class, func() {
			if old := list[i]; m.r.IntN(8) > 0 && old >= 0 && int(old) < len(ep.Values) {
				list[i] = m.like(ep, old)
			} else {
				list[i] = m.any(ep)
			}
		})
	}
}

func (m *programMutator) any(ep *pte.ExecutionPlan) int32 { return int32(m.r.IntN(len(ep.Values))) }

// like returns a value of the kind of another.
func (m *programMutator) like(ep *pte.ExecutionPlan, v int32) int32 {
	var same []int32
	for i, x := range ep.Values {
		if fmt.Sprintf("%T", x) == fmt.Sprintf("%T", ep.Values[v]) {
			same = append(same, int32(i))
		}
	}
	return pick(m.r, same)
}

func (m *programMutator) values(ep *pte.ExecutionPlan) {
	for i, v := range ep.Values {
		set := func(x pte.EValue) func() { return func() { ep.Values[i] = x } }
		switch v := v.(type) {
		case *pte.Tensor:
			m.tensor(ep, v)
		case pte.Int:
			m.sites.add("scalar", func() { ep.Values[i] = pte.Int(m.number(int64(v))) })
		case pte.Double:
			m.sites.add("scalar", func() {
				ep.Values[i] = pick(m.r, []pte.Double{0, -1, 0.5, 1e30, pte.Double(math.NaN())})
			})
		case pte.Bool:
			m.sites.add("scalar", set(!v))
		case pte.IntList:
			m.indices(ep, v)
			m.sites.add("list", func() { ep.Values[i] = pte.IntList(m.list(ep, v)) })
		case pte.TensorList:
			m.operands("list", ep, v)
		case pte.OptionalTensorList:
			m.operands("list", ep, v)
			m.sites.add("list", func() { v[m.r.IntN(len(v))] = -1 })
		}
		m.sites.add("kind", set(pte.Null{}))
	}
}

// indices adds the change of each index of a list of ints.
func (m *programMutator) indices(ep *pte.ExecutionPlan, list []int64) {
	for i, old := range list {
		m.sites.add("list", func() { list[i] = int64(m.like(ep, int32(old))) })
	}
}

// list returns a list of ints one shorter or longer.
func (m *programMutator) list(ep *pte.ExecutionPlan, list []int64) []int64 {
	if n := len(list); n > 0 && m.r.IntN(2) == 0 {
		return slices.Clone(list[:n-1])
	} else if n > 0 {
		return append(slices.Clone(list), list[m.r.IntN(n)])
	}
	return list
}

func (m *programMutator) tensor(ep *pte.ExecutionPlan, t *pte.Tensor) {
	for d := range t.Sizes {
		m.sites.add("sizes", func() { t.Sizes[d] = int32(m.number(int64(t.Sizes[d]))) })
		m.sites.add("dim order", func() {
			k := m.r.IntN(len(t.DimOrder))
			t.DimOrder[d], t.DimOrder[k] = t.DimOrder[k], t.DimOrder[d]
		})
	}
	m.sites.add("dtype", func() { t.ScalarType = pte.ScalarType(m.r.IntN(12)) })
	m.sites.add("dynamism", func() { t.Dynamism = pte.Dynamism(m.r.IntN(3)) })
	m.sites.add("data", func() { t.DataIndex = uint32(m.r.IntN(4)) })
	if t.Allocation == nil {
		return
	}
	m.sites.add("place", func() {
		switch m.r.IntN(4) {
		case 0:
			t.Allocation.Offset += 16
		case 1:
			t.Allocation = nil
		default: // where another lies
			for range 8 {
				u, ok := ep.Values[m.any(ep)].(*pte.Tensor)
				if ok && u.Allocation != nil && t.Allocation != nil {
					*t.Allocation = *u.Allocation
				}
			}
		}
	})
}

// number returns another number near n, or an odd one.
func (m *programMutator) number(n int64) int64 {
	near := []int64{n + 1, n - 1, 2 * n, n / 2, -n, 0, 1, 2, -1}
	if m.r.IntN(6) == 0 {
		near = []int64{math.MaxInt64, math.MinInt64, math.MaxInt32, 1 << 31, 1 << 40}
	}
	return pick(m.r, near)
}
