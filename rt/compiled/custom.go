package compiled

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/etgen/etgen/rt"
)

// Custom is a custom operator with a kernel that is a function of the application.
type Custom struct {
	Op   string // "fir::filter.out"
	Func string // the function, for messages: "fir.Filter"
	Args []Param
	Outs int // how many of the last arguments are results
	// Call calls the function.
	Call func(a []*Value) error
	// Sizes returns the sizes of the results; nil if nothing tells them.
	Sizes func(a []*Value) [][]int
}

// Param is what a function takes as an argument.
type Param struct {
	Name string
	// Kind is that of the argument, or of the elements of a list.
	Kind           rt.Kind
	Elem           string // the type in Go of a tensor's elements
	List, Optional bool
	Written        bool
}

// Kernels returns kernels of custom operators, for rt.Registry.With.
func Kernels(list ...Custom) []rt.Kernel {
	kernels := make([]rt.Kernel, len(list))
	for i := range list {
		kernels[i] = rt.Kernel{Name: list[i].Op, Prepare: list[i].prepare}
	}
	return kernels
}

// prepare implements rt.Kernel.Prepare.
func (k *Custom) prepare(c *rt.Call) (func() error, error) {
	if !littleEndian() {
		return nil, fmt.Errorf("%w: %s: kernels in Go need a little-endian machine",
			rt.ErrNotSupported, k.Op)
	}
	if len(c.Args) < len(k.Args) {
		return nil, fmt.Errorf("%w: %s has %d arguments, kernel %s takes %d", rt.ErrInvalidProgram, k.Op,
			len(c.Args), k.Func, len(k.Args))
	}
	call := &customCall{Custom: k}
	for i := range k.Args {
		p, slot := &k.Args[i], c.Args[i]
		if why := p.misfit(slot); why != "" {
			return nil, fmt.Errorf("%w: custom operator %s: kernel %s takes %s of %s, and the program "+
				"gives it %s", rt.ErrInvalidProgram, k.Op, k.Func, p.Name, p.typ(), why)
		}
		before := len(call.tensors)
		call.args = append(call.args, call.value(slot, p.Written))
		for _, v := range call.tensors[before:] {
			if v.written && c.Fixed(v.slot) {
				return nil, fmt.Errorf("%w: custom operator %s: it would write to a constant, %s",
					rt.ErrInvalidProgram, k.Op, p.Name)
			}
		}
	}
	call.outs = call.args[len(k.Args)-k.Outs:]
	resizable := func(v *Value) bool { return v.slot.Tensor.Resizable() }
	if k.Sizes == nil && slices.ContainsFunc(call.outs, resizable) {
		return nil, fmt.Errorf("%w: custom operator %s: sizes of its results are dynamic: a function "+
			"with the comment //etgen:shape has to tell them", rt.ErrNotSupported, k.Op)
	}
	return call.run, nil
}

// typ words what p takes.
func (p *Param) typ() string {
	text := strings.ToLower(p.Kind.String())
	if p.Kind == rt.TensorKind {
		text = p.Elem
	}
	if p.List {
		text = "lists of " + text
	}
	return text
}

// misfit says what is in v if p does not take that.
func (p *Param) misfit(v *rt.EValue) string {
	switch {
	case v == nil || v.Kind == rt.None:
		if p.Optional {
			return ""
		}
		return "None"
	case p.List:
		one := *p
		one.List, one.Optional = false, true
		for _, x := range elementsOf(v) {
			if why := one.misfit(x); why != "" {
				return "a list with " + why
			}
		}
		if v.Kind < rt.IntList {
			return v.Kind.String()
		}
		return ""
	case p.Kind == rt.Double && (v.Kind == rt.Int || v.Kind == rt.Bool):
		return "" // a Scalar
	case v.Kind != p.Kind:
		return v.Kind.String()
	case v.Kind != rt.TensorKind:
		return ""
	case v.Tensor == nil:
		return "no tensor"
	case v.Tensor.DType.GoElement() != p.Elem:
		return v.Tensor.DType.GoElement()
	}
	for i, d := range v.Tensor.DimOrder {
		if i != int(d) {
			return fmt.Sprintf("a tensor in dim order %v; it has to be row-major", v.Tensor.DimOrder)
		}
	}
	return ""
}

// elementsOf are the elements of a list.
func elementsOf(v *rt.EValue) []*rt.EValue {
	list := slices.Clone(v.List)
	for range v.Doubles {
		list = append(list, &rt.EValue{Kind: rt.Double})
	}
	for range v.Bools {
		list = append(list, &rt.EValue{Kind: rt.Bool})
	}
	return list
}

// Value is an argument of a function, or an element of a list.
type Value struct {
	slot           *rt.EValue // nil is None
	written        bool
	list           []*Value
	data           []byte // of a tensor, now
	spare          []byte // room for data that is not aligned, or lies where another is written
	sizes, strides []int
	scratch        any // what List and Optional return
}

// customCall is a call of a function.
type customCall struct {
	*Custom
	args, outs []*Value
	tensors    []*Value // of all arguments and lists
}

// value is the argument in a slot. Of a list that is written its tensors are.
func (c *customCall) value(slot *rt.EValue, written bool) *Value {
	v := &Value{slot: slot, written: written}
	switch {
	case slot == nil:
	case slot.Kind == rt.TensorKind:
		rank := len(slot.Tensor.Sizes)
		v.sizes, v.strides = make([]int, rank), make([]int, rank)
		c.tensors = append(c.tensors, v)
	default:
		for _, x := range elementsOf(slot) {
			v.list = append(v.list, c.value(x, written))
		}
	}
	return v
}

// run executes the call on what the slots hold now.
func (c *customCall) run() error {
	err := c.enter()
	if err == nil {
		err = c.guard(func() error { return c.Call(c.args) })
	}
	if err != nil {
		return fmt.Errorf("custom operator %s: %w", c.Op, err)
	}
	for _, v := range c.tensors {
		if t := v.slot.Tensor; v.written && len(t.Data) > 0 && &v.data[0] != &t.Data[0] {
			copy(t.Data, v.data)
		}
	}
	return nil
}

// guard calls the application. A panic is an error; so is a write to memory that is read-only.
func (c *customCall) guard(call func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its kernel panicked: %v", p)
		}
	}()
	return call()
}

// enter finds what the arguments are now, and gives the results their sizes.
func (c *customCall) enter() error {
	for _, v := range c.args {
		v.numbers()
	}
	for _, v := range c.tensors {
		v.measure()
	}
	if err := c.resize(); err != nil {
		return err
	}
	for _, v := range c.tensors {
		t := v.slot.Tensor
		if int64(len(t.Data)) != t.Numel()*int64(t.DType.Size()) {
			return fmt.Errorf("%w: a tensor has no memory", rt.ErrInvalidState)
		}
		v.data = t.Data
	}
	for _, v := range c.tensors {
		apart := aligned(v.data, v.slot.Tensor.DType)
		for _, w := range c.tensors {
			apart = apart && (v == w || v.written || !w.written || !overlap(v.data, w.slot.Tensor.Data))
		}
		if !apart {
			v.spare = allocate(v.spare, len(v.data))
			copy(v.spare, v.data)
			v.data = v.spare
		}
	}
	return nil
}

// numbers puts the numbers of a list into the slots of its elements.
func (v *Value) numbers() {
	for i, e := range v.list {
		switch v.slot.Kind {
		case rt.DoubleList:
			e.slot.Double = v.slot.Doubles[i]
		case rt.BoolList:
			e.slot.Bool = v.slot.Bools[i]
		}
	}
}

// measure notes the sizes of a tensor.
func (v *Value) measure() {
	step := 1
	for i := len(v.sizes) - 1; i >= 0; i-- {
		v.sizes[i] = int(v.slot.Tensor.Sizes[i])
		v.strides[i], step = step, step*max(v.sizes[i], 1)
	}
}

// resize gives results of dynamic sizes those that they have.
func (c *customCall) resize() error {
	if c.Sizes == nil {
		return nil
	}
	var sizes [][]int
	for i, v := range c.outs {
		if !v.slot.Tensor.Resizable() {
			continue
		}
		if sizes == nil {
			err := c.guard(func() error { sizes = c.Sizes(c.args); return nil })
			if err != nil {
				return err
			}
		}
		now := make([]int64, len(sizes[i]))
		for d, n := range sizes[i] {
			now[d] = int64(n)
		}
		if err := v.slot.Tensor.Resize(now); err != nil {
			return fmt.Errorf("the sizes of result %d: %w", i, err)
		}
		v.measure()
	}
	return nil
}

// isNone reports whether v is None.
func (v *Value) isNone() bool { return v.slot == nil || v.slot.Kind == rt.None }

// Int returns v as an integer.
func (v *Value) Int() int64 {
	if v.slot.Kind == rt.Bool && v.slot.Bool {
		return 1
	}
	return v.slot.Int
}

// Float returns v as a number.
func (v *Value) Float() float64 {
	if v.slot.Kind == rt.Double {
		return v.slot.Double
	}
	return float64(v.Int())
}

// Bool returns v as a truth value.
func (v *Value) Bool() bool { return v.slot.Bool }

// Text returns v as a string.
func (v *Value) Text() string { return v.slot.String }

// Sizes returns the sizes of a tensor, none of None.
func (v *Value) Sizes() []int { return v.sizes }

// Strides returns the strides of a tensor, none of None.
func (v *Value) Strides() []int { return v.strides }

// Elements returns the elements of a tensor, nil of None.
func Elements[T Element](v *Value) []T {
	if v.isNone() {
		return nil
	}
	return elements[T](v.data)
}

// List returns what the elements of a list are, nil of None.
func List[T any](v *Value, of func(*Value) T) []T {
	if v.isNone() {
		return nil
	}
	s, ok := v.scratch.(*[]T)
	if !ok {
		list := make([]T, len(v.list))
		s = &list
		v.scratch = s
	}
	for i, e := range v.list {
		(*s)[i] = of(e)
	}
	return *s
}

// Optional returns a pointer to what a number is, nil of None.
func Optional[T any](v *Value, of func(*Value) T) *T {
	if v.isNone() {
		return nil
	}
	p, ok := v.scratch.(*T)
	if !ok {
		p = new(T)
		v.scratch = p
	}
	*p = of(v)
	return p
}
