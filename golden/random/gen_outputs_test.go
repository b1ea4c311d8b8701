package random

import "github.com/etgen/etgen/ir"

// outputs chooses what the method returns.
func (g *generator) outputs() []ir.Arg {
	var out []ir.Arg
	add := func(a ir.Arg, spec ir.OutputSpec) {
		out = append(out, a)
		g.m.Outputs = append(g.m.Outputs, spec)
	}
	for _, v := range g.inputs { // a functional update of a buffer
		if v.Const == nil || v.Name[0] != 'b' || !g.chance(3) {
			continue
		}
		if u := g.any(func(u *ir.Value) bool { return u != v && sameType(u.Type, v.Type) }); u !=
			nil && g.writeFree() {
			add(ir.Ref{Value: u}, ir.OutputSpec{Kind: ir.BufferMutation, Target: v.Const.Name})
		}
	}
	if n := len(g.live); n > 0 {
		add(ir.Ref{Value: g.live[n-1]}, ir.OutputSpec{})
	}
	for range g.r.IntN(4) {
		if v := g.any(isTensor); v != nil {
			add(ir.Ref{Value: v}, ir.OutputSpec{})
		}
	}
	if g.chance(10) {
		add(ir.Ref{Value: g.weight(g.main, g.constShape()...)}, ir.OutputSpec{})
	}
	if g.chance(20) {
		add(ir.Int(g.r.IntN(9)), ir.OutputSpec{})
	}
	return out
}

// writeFree reports whether nothing is written in place so far: PyTorch tells
// of updates in one form or the other.
func (g *generator) writeFree() bool { return !g.wrote }

func sameType(a, b ir.Type) bool {
	if a.DType != b.DType || len(a.Sizes) != len(b.Sizes) {
		return false
	}
	for i := range a.Sizes {
		if !a.Sizes[i].Equal(b.Sizes[i]) {
			return false
		}
	}
	return true
}
