package portable

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/rt"
)

// maxVariants is how many combinations of sizes and numbers of a call keep
// their code.
const maxVariants = 32

// call is an operator call of a program.
type call struct {
	*kernel
	name     string // of its own: random numbers follow from it
	c        *rt.Call
	to       []*rt.EValue // slots of the results
	changing []*rt.EValue // slots that decide which variant runs
	key      []int64      // of the present execution
	last     *variant
	variants []*variant // the oldest first
}

// prepare implements rt.Kernel.Prepare.
func (k *kernel) prepare(c *rt.Call) (func() error, error) {
	if want := len(k.in) + k.outs; len(c.Args) != want {
		old, ok := k.earlier(c.Args)
		if !ok {
			return nil, fmt.Errorf("%s: %d arguments, want %d", k.file, len(c.Args), want)
		}
		k = old
	}
	own := *k
	p := &call{kernel: &own, c: c, name: fmt.Sprintf("call%d", k.calls.Add(1))}
	for i, v := range c.Args {
		if v == nil {
			return nil, fmt.Errorf("%s: argument %d is missing", k.file, i)
		}
	}
	for _, check := range []func() error{p.kinds, p.results, p.apart} {
		if err := check(); err != nil {
			return nil, fmt.Errorf("%s: %w", k.file, err)
		}
	}
	for _, v := range c.Args[:len(k.in)] {
		p.changing = changing(p.changing, c, v)
	}
	if len(p.changing) == 0 {
		v, err := p.variant()
		if err != nil {
			return nil, err
		}
		p.last = v
		p.variants = append(p.variants, v)
	}
	return p.execute, nil
}

// kinds checks that arguments are of the kinds that the operator takes, whatever they are
// when the call is executed.
func (p *call) kinds() error {
	op, ok := p.table.Lookup(p.node)
	for i := range p.in {
		var a ir.Arg
		err := must.Try(func() { a = argument(p.in[i].Type, p.c.Args[i], new([]operand)) })
		if !ok || err != nil { // which is of what the argument is now
			continue
		}
		if err := op.Takes(&p.in[i], a); err != nil {
			return err
		}
	}
	return nil
}

// results finds the slots of the results: an argument each, or one that lists
// them.
func (p *call) results() error {
	for i := range max(p.outs, 1) {
		out := p.c.Args[p.first+i]
		switch {
		case !p.listed:
			p.to = append(p.to, out)
		case out.Kind != rt.TensorList || len(out.List) == 0:
			return fmt.Errorf("the results want a list of tensors")
		default:
			p.to = append(p.to, out.List...)
		}
	}
	for i, out := range p.to {
		if out == nil || p.c.Fixed(out) {
			return fmt.Errorf("result %d would be written to a constant", i)
		}
		if p.outs == 0 && out.Kind != rt.TensorKind {
			return fmt.Errorf("argument %s is changed in place and no tensor", p.in[p.first].Name)
		}
	}
	return nil
}

// apart refuses a call that writes over an operand with other sizes, as far as the bounds
// tell: the tensor has its new sizes before the kernel reads it.
func (p *call) apart() error {
	var operands []operand
	n, err := p.bindable(&operands)
	known := !slices.ContainsFunc(p.c.Args[:len(p.in)], func(v *rt.EValue) bool {
		return v.Kind != rt.TensorKind && !p.c.Fixed(v)
	})
	shared := func(o operand) bool { return slices.Contains(p.to, o.slot) }
	if err != nil || !known || !slices.ContainsFunc(operands, shared) {
		return nil
	}
	bound, err := p.table.Bind(n)
	if err != nil || len(bound.Outs) != len(p.to) {
		return nil // it is said where code is made
	}
	for i, t := range bound.Outs {
		sizes, ok := t.StaticSizes()
		if at := slices.IndexFunc(operands, func(o operand) bool {
			return o.slot == p.to[i]
		}); at >= 0 && ok && !slices.Equal(sizes, p.to[i].Tensor.Sizes) {
			return fmt.Errorf("%w: operand %d of sizes %v is written with sizes %v",
				rt.ErrInvalidProgram, at, p.to[i].Tensor.Sizes, sizes)
		}
	}
	return nil
}

// execute is what a program's instruction does.
func (p *call) execute() error {
	p.key = p.key[:0]
	for _, v := range p.changing {
		p.key = appendKey(p.key, v)
	}
	if p.last == nil || !slices.Equal(p.last.key, p.key) {
		if err := p.choose(); err != nil {
			return err
		}
	}
	ctx := p.c.Context()
	err := p.last.execute(p, ctx.Done())
	if err != nil && errors.Is(err, eval.ErrStopped) {
		return context.Cause(ctx)
	}
	return err
}

// choose makes the variant for the present arguments the last.
func (p *call) choose() error {
	for _, v := range p.variants {
		if slices.Equal(v.key, p.key) {
			p.last = v
			return nil
		}
	}
	v, err := p.variant()
	if errors.Is(err, rt.ErrOutOfMemory) && len(p.variants) > 0 {
		for len(p.variants) > 0 {
			p.forget()
		}
		v, err = p.variant()
	}
	if err != nil {
		return err
	}
	v.key = slices.Clone(p.key)
	if len(p.variants) == maxVariants {
		p.forget()
	}
	p.variants = append(p.variants, v)
	p.last = v
	return nil
}

// forget gives the oldest variant and its memory up.
func (p *call) forget() {
	_ = p.c.Reserve(-p.variants[0].reserved)
	p.variants = slices.Delete(p.variants, 0, 1)
	p.last = nil
}

// variant makes the code for the present arguments. Forms of a call that the
// table's author did not think of, as an in-place operator on a dtype that its
// result does not have, may panic there.
func (p *call) variant() (v *variant, err error) {
	reserved := int64(0)
	p.reserve = func(n int64) error {
		if err := p.c.Reserve(n); err != nil {
			return err
		}
		reserved += n
		return nil
	}
	defer func() {
		if err != nil {
			_ = p.c.Reserve(-reserved)
		}
	}()
	defer func() {
		if r := recover(); r != nil {
			v, err = nil, fmt.Errorf("%s: these arguments cannot be compiled: %v", p.file, r)
		}
	}()
	defer must.Catch(&err)
	v = must.At(p.build, "%s", p.file)
	v.reserved = reserved
	return v, nil
}

func (p *call) build() *variant {
	v := &variant{}
	n := must.Get(p.bindable(&v.operands))
	bound := must.Get(p.table.Bind(n))
	v.results(p, bound)
	v.compile(p, n, bound)
	return v
}

// bindable returns the call as a node of a graph.
func (p *call) bindable(operands *[]operand) (_ *ir.Node, err error) {
	defer must.Catch(&err)
	n := &ir.Node{Name: p.name, Op: p.node}
	for i, param := range p.in {
		must.Do(func() {
			n.SetArg(param.Name, argument(param.Type, p.c.Args[i], operands))
		}, "argument %s", param.Name)
	}
	if to := p.to[0]; p.dtype && to.Kind == rt.TensorKind && to.Tensor != nil {
		n.Args = append(n.Args, ir.NamedArg{Name: "dtype", Value: ir.DTypeArg(to.Tensor.DType)})
	}
	return n, nil
}
