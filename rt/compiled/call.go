package compiled

import (
	"fmt"

	"github.com/etgen/etgen/kernels/tuned/gokernels/panels"
	"github.com/etgen/etgen/rt"
)

// Call is a call of generated code. Operands, results and numbers are counted
// through the arguments and what they list, each by itself.
type Call struct {
	operands []operand
	results  []result
	numbers  []*rt.EValue
	mutates  bool
}

// operand is a tensor that the code reads.
type operand struct {
	slot  *rt.EValue
	data  []byte  // now
	sizes []int64 // now
	spare []byte  // room for data that lies where a result goes, or not aligned
}

// result is a tensor that the code writes.
type result struct {
	slot  *rt.EValue
	data  []byte // now
	sizes []int64
	least int    // bytes that the code wants, whatever the sizes come to
	spare []byte // room for data that is not aligned, or less than least
	lent  bool   // spare is data
}

func newCall(f *Form, c *rt.Call) (*Call, error) {
	if f.Outs > len(c.Args) {
		return nil, fmt.Errorf("%w: %d arguments", rt.ErrInvalidProgram, len(c.Args))
	}
	p := &Call{mutates: f.Mutates}
	first := len(c.Args) - f.Outs
	for _, v := range c.Args[:first] {
		p.read(c, v)
	}
	for _, v := range c.Args[first:] {
		if err := p.write(c, v); err != nil {
			return nil, err
		}
	}
	if f.Mutates && c.Fixed(p.operands[0].slot) {
		return nil, fmt.Errorf("%w: it would write to a constant", rt.ErrInvalidProgram)
	}
	return p, nil
}

func (c *Call) read(call *rt.Call, v *rt.EValue) {
	switch {
	case v == nil:
	case v.Kind == rt.TensorKind:
		if v.Tensor != nil {
			c.operands = append(c.operands, operand{slot: v, sizes: append([]int64{},
				v.Tensor.Sizes...), data: v.Tensor.Data})
		}
	case v.Kind == rt.Int || v.Kind == rt.Double || v.Kind == rt.Bool:
		if !call.Fixed(v) {
			c.numbers = append(c.numbers, v)
		}
	default:
		for _, e := range v.List {
			c.read(call, e)
		}
	}
}

func (c *Call) write(call *rt.Call, v *rt.EValue) error {
	switch {
	case v == nil || call.Fixed(v) && v.Kind != rt.TensorList:
		return fmt.Errorf("%w: it would write to a constant", rt.ErrInvalidProgram)
	case v.Kind == rt.TensorList:
		for _, e := range v.List {
			if err := c.write(call, e); err != nil {
				return err
			}
		}
		return nil
	case v.Kind != rt.TensorKind || v.Tensor == nil:
		return fmt.Errorf("%w: a result is no tensor", rt.ErrInvalidProgram)
	}
	c.results = append(c.results, result{slot: v, sizes: append([]int64{}, v.Tensor.Sizes...)})
	return nil
}

// bind returns what executes run on the present arguments.
func (c *Call) bind(run func() error) func() error {
	return func() error {
		if err := c.enter(); err != nil {
			return err
		}
		if err := run(); err != nil {
			return err
		}
		return c.leave()
	}
}

// enter finds the memory of the arguments. Operands that lie where a result
// goes are copied: generated code takes them to be apart.
func (c *Call) enter() error {
	for i := range c.operands {
		o := &c.operands[i]
		t := o.slot.Tensor
		if t == nil || int64(len(t.Data)) != t.Numel()*int64(t.DType.Size()) {
			return fmt.Errorf("%w: operand %d has no memory", rt.ErrInvalidState, i)
		}
		o.data = t.Data
		copy(o.sizes, t.Sizes)
	}
	for i := range c.results {
		r := &c.results[i]
		t := r.slot.Tensor
		if t == nil {
			return fmt.Errorf("%w: result %d has no tensor", rt.ErrInvalidState, i)
		}
		if t.Resizable() {
			if err := t.Resize(t.Bound()); err != nil {
				return fmt.Errorf("result %d: %w", i, err)
			}
		}
		if int64(len(t.Data)) != t.Numel()*int64(t.DType.Size()) {
			return fmt.Errorf("%w: result %d has no memory", rt.ErrInvalidState, i)
		}
		r.data = t.Data
		if r.lent = !aligned(r.data, t.DType) || len(r.data) < r.least; r.lent {
			r.spare = allocate(r.spare, max(len(r.data), r.least))
			r.data = r.spare
		}
	}
	for i := range c.operands {
		c.separate(i)
	}
	return nil
}

// separate copies operand i if the code cannot use its memory.
func (c *Call) separate(i int) {
	o := &c.operands[i]
	shared := !aligned(o.data, o.slot.Tensor.DType)
	for j := range c.results {
		shared = shared || overlap(o.data, c.results[j].slot.Tensor.Data)
	}
	shared = shared || c.mutates && i > 0 && overlap(o.data, c.operands[0].data)
	if shared {
		o.data = o.copied()
	}
}

// copied returns the operand's data in its spare room.
func (o *operand) copied() []byte {
	o.spare = allocate(o.spare, len(o.data))
	copy(o.spare, o.data)
	return o.spare
}

// leave puts results where they belong.
func (c *Call) leave() error {
	if c.mutates {
		if o := &c.operands[0]; len(o.data) > 0 && &o.data[0] != &o.slot.Tensor.Data[0] {
			copy(o.slot.Tensor.Data, o.data)
		}
	}
	for i := range c.results {
		r := &c.results[i]
		t := r.slot.Tensor
		if t.Resizable() {
			if err := t.Resize(r.sizes); err != nil {
				return fmt.Errorf("result %d: %w", i, err)
			}
		}
		if r.lent {
			copy(t.Data, r.data)
		}
	}
	return nil
}

// In returns the elements of operand i.
func In[T Element](c *Call, i int) []T { return elements[T](c.operands[i].data) }

// Out returns the memory of result i, as much as its bound takes.
func Out[T Element](c *Call, i int) []T { return elements[T](c.results[i].data) }

// Least makes Out return at least n elements of result i: sizes that follow from
// elements may have a larger bound than the tensor that takes the result.
func (c *Call) Least(i, n int) {
	r := &c.results[i]
	r.least = n * r.slot.Tensor.DType.Size()
}

// Size returns dimension d of operand i.
func (c *Call) Size(i, d int) int { return int(c.operands[i].sizes[d]) }

// WantSize is the error for dimension d of operand i if it is not n, the one that
// there is code for.
func (c *Call) WantSize(i, d, n int) error {
	if have := c.Size(i, d); have != n {
		return fmt.Errorf(
			"%w: dimension %d of operand %d is %d, where the kernel was generated for %d",
			rt.ErrNotSupported, d, i, have, n)
	}
	return nil
}

// SetSize says how large dimension d of result i is.
func (c *Call) SetSize(i, d, n int) { c.results[i].sizes[d] = int64(n) }

// Int returns number i, an integer.
func (c *Call) Int(i int) int64 { return c.numbers[i].Int }

// Float returns number i.
func (c *Call) Float(i int) float64 { return c.numbers[i].Double }

// Bool returns number i, a truth value.
func (c *Call) Bool(i int) bool { return c.numbers[i].Bool }

// Want is the error for number i if it is not n, the one that there is code for.
func (c *Call) Want(i int, n int64) error {
	if have := c.numbers[i].Int; have != n {
		return fmt.Errorf(
			"%w: the program computes the number %d where its kernel was generated for %d",
			rt.ErrNotSupported, have, n)
	}
	return nil
}

// WantResult is the error if dimension d of result i is not number k.
func (c *Call) WantResult(k, i, d int) error {
	if want, have := c.numbers[k].Int, c.results[i].sizes[d]; have != want {
		return fmt.Errorf("%w: dimension %d of result %d is %d, the program wants %d",
			rt.ErrNotSupported, d, i, have, want)
	}
	return nil
}

// Shape says how a kernel wants a constant packed.
type Shape = panels.Shape

// Pack returns constant operand i as a kernel wants it.
func Pack[T Element](c *Call, i int, s Shape) []T {
	o := &c.operands[i]
	data := o.data
	if !aligned(data, o.slot.Tensor.DType) {
		data = o.copied()
	}
	return panels.Pack(s, elements[T](data))
}
