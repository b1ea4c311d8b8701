package pte

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
)

// A tensor of dynamic size has upper bounds in the file. The least sizes of inputs
// are not part of the format: etgen's programs have them as named data, an entry for
// each method with dynamic inputs. A runtime that does not know them loads a program
// that has them as any other.

// leastKey is before the number of the method.
const leastKey = "etgen.least_sizes:"

// maxLeast bounds the bytes of such an entry.
const maxLeast = 1 << 20

// SetLeast notes the least sizes of a method's dynamic inputs; for others a list is
// nil. It adds nothing if there are none.
func (p *Program) SetLeast(method int, inputs [][]int64) {
	var b strings.Builder
	for i, sizes := range inputs {
		if sizes == nil {
			continue
		}
		b.WriteString(strconv.Itoa(i))
		for _, n := range sizes {
			b.WriteString(" " + strconv.FormatInt(n, 10))
		}
		b.WriteByte('\n')
	}
	if b.Len() > 0 {
		p.Named = append(p.Named, NamedData{leastKey + strconv.Itoa(method), ir.Bytes(b.String())})
	}
}

// Least returns the least sizes of a method's inputs, by input; nil stands for inputs
// that the program says nothing of. Its error says that what the program says does
// not fit the inputs.
func (p *Program) Least(plan *ExecutionPlan) ([][]int64, error) {
	inputs := make([][]int64, len(plan.Inputs))
	key := leastKey + strconv.Itoa(slices.Index(p.Plans, plan))
	for _, n := range p.Named {
		if n.Key != key || n.Data == nil {
			continue
		}
		if n.Data.Size() > maxLeast {
			return nil, fmt.Errorf("the least sizes of inputs take %d bytes", n.Data.Size())
		}
		text := make([]byte, n.Data.Size())
		if k, err := n.Data.ReadAt(text, 0); k < len(text) && err != io.EOF {
			return nil, fmt.Errorf("the least sizes of inputs: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			i, sizes, err := leastOf(plan, strings.Fields(line))
			if err != nil {
				return nil, fmt.Errorf("the least sizes of inputs, %.80q: %w", line, err)
			}
			inputs[i] = sizes
		}
	}
	return inputs, nil
}

// leastOf parses a line: the number of an input, and the least of each of its sizes.
func leastOf(plan *ExecutionPlan, words []string) (input int, sizes []int64, err error) {
	for k, w := range words {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil || n < 0 {
			return 0, nil, fmt.Errorf("%.20q is no size", w)
		}
		if k == 0 {
			input = int(n)
			continue
		}
		sizes = append(sizes, n)
	}
	if len(words) == 0 || input >= len(plan.Inputs) || plan.Inputs[input] < 0 ||
		int(plan.Inputs[input]) >= len(plan.Values) {
		return 0, nil, fmt.Errorf("there is no such input")
	}
	t, ok := plan.Values[plan.Inputs[input]].(*Tensor)
	if !ok || t == nil || t.Dynamism != DynamicBound || len(t.Sizes) != len(sizes) {
		return 0, nil, fmt.Errorf("the input is no tensor of %d dimensions that may vary",
			len(sizes))
	}
	for d, n := range sizes {
		if n > int64(t.Sizes[d]) {
			return 0, nil, fmt.Errorf("dimension %d is at most %d", d, t.Sizes[d])
		}
	}
	return input, sizes, nil
}
