package lower

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
)

// mostOffsets is up to how many elements are looked at one by one.
const mostOffsets = 1 << 16

// selfOverlap is an error if several elements of a tensor that is written to lie
// at one place: what is written to one of them would be seen in the others, and
// values have an element of its own for each.
func selfOverlap(t ir.Type) error {
	if t.Kind == ir.TensorKind && overlapsItself(t) {
		return fmt.Errorf(
			"it writes to a tensor, several elements of which lie at one place; clone() it before")
	}
	return nil
}

// overlapsItself reports whether elements of t may lie at one place. Of sizes that
// only the run knows the strides tell: what is expanded has 0, and two dimensions
// of a sliding window have the same.
func overlapsItself(t ir.Type) bool {
	type dim struct{ size, stride int64 }
	var dims []dim
	static, numel := true, int64(1)
	for d, size := range t.Sizes {
		if size.IsZero() {
			return false
		}
		if size.Is(1) {
			continue
		}
		if t.Strides[d].IsZero() {
			return true
		}
		n, ok1 := size.Const()
		s, ok2 := t.Strides[d].Const()
		static = static && ok1 && ok2
		dims = append(dims, dim{n, s})
		if numel <= mostOffsets { // sizes are of a file: no overflow
			numel *= min(n, mostOffsets+1)
		}
	}
	if !static {
		for d := range t.Sizes {
			for e := range d {
				if !t.Sizes[d].Is(1) && !t.Sizes[e].Is(1) && t.Strides[d].Equal(t.Strides[e]) {
					return true
				}
			}
		}
		return false
	}
	slices.SortFunc(dims, func(a, b dim) int { return cmp.Compare(a.stride, b.stride) })
	apart, last := true, int64(0) // the greatest offset of the dimensions so far
	for _, d := range dims {
		apart = apart && d.stride > last
		last += (d.size - 1) * d.stride
	}
	if apart || numel > mostOffsets {
		return !apart
	}
	offsets := []int64{0}
	for _, d := range dims {
		more := make([]int64, 0, int64(len(offsets))*d.size)
		for i := range d.size {
			for _, o := range offsets {
				more = append(more, o+i*d.stride)
			}
		}
		offsets = more
	}
	slices.Sort(offsets)
	return len(slices.Compact(offsets)) < int(numel)
}

// writtenOverlap is selfOverlap of the inputs that m says it writes to.
func writtenOverlap(m *ir.Method) error {
	written := map[string]bool{}
	for _, spec := range m.Outputs {
		switch spec.Kind {
		case ir.BufferMutation, ir.ParameterMutation, ir.UserInputMutation:
			written[spec.Target] = true
		}
	}
	if len(written) == 0 {
		return nil
	}
	for i, v := range m.Graph.Inputs {
		name := m.Inputs[i].Target
		if m.Inputs[i].Kind == ir.UserInput {
			name = v.Name
		}
		if !written[name] {
			continue
		}
		if err := selfOverlap(v.Type); err != nil {
			return fmt.Errorf("method %s: %s: %w", foreign.Message(m.Name),
				foreign.Message(name), err)
		}
	}
	return nil
}
