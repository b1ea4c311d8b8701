package codegen

import (
	"testing"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/lower/native"
)

// use returns a call that uses buffers.
func use(bufs ...*native.Buffer) *native.Call {
	fn := &loop.Func{Name: "k", Bufs: make([]loop.Buf, len(bufs))}
	return &native.Call{Kernel: &native.Kernel{Name: "k", Loop: fn}, Args: bufs}
}

func TestDeclarations(t *testing.T) {
	arena := func(name string) *native.Buffer {
		return &native.Buffer{Name: name, Len: sym.Int(8), MaxLen: 8}
	}
	before, both, arm, pred, head, carried, last := arena("before"), arena("both"), arena("arm"),
		arena("pred"), arena("head"), arena("carried"), arena("last")
	input := &native.Buffer{Name: "input", Storage: native.Input}
	row := sym.NewVar("t", sym.Int(2))
	view := &native.Buffer{Name: "view", Root: carried, At: row.Expr(), Len: sym.Int(1), MaxLen: 1}

	first := use(before, input)
	inThen, inElse := use(both, arm), use(both)
	cond := &native.Cond{Pred: input, Then: []native.Stmt{inThen}, Else: []native.Stmt{inElse}}
	inHead, inBody := use(head), use(last)
	while := &native.While{Head: []native.Stmt{inHead}, Pred: pred, Body: []native.Stmt{inBody}}
	inFor := use(view)
	loopFor := &native.For{Var: row, Extent: sym.Int(2), Body: []native.Stmt{use(input), inFor,
		use(view, carried)}}
	m := &native.Method{Body: []native.Stmt{first, cond, while, loopFor, use(last, before)}}

	want := map[*native.Buffer]native.Stmt{
		before: first, both: cond, arm: inThen, head: inHead, pred: inHead, last: while,
		carried: inFor, view: inFor,
	}
	got := Declarations(m.Body)
	n := 0
	for s, bufs := range got {
		for i, b := range bufs {
			n++
			if want[b] != s {
				t.Errorf("%s is declared elsewhere", b.Name)
			}
			if b == view && (i == 0 || bufs[i-1] != carried) {
				t.Error("the view's root is not declared before it")
			}
		}
	}
	if n != len(want) {
		t.Errorf("%d buffers are declared, want %d", n, len(want))
	}
}

func TestMemory(t *testing.T) {
	at := func(storage native.Storage, offset, n int64) *native.Buffer {
		return &native.Buffer{Storage: storage, Offset: offset, Len: sym.Int(n),
			MaxLen: n, DType: 4}
	}
	size := int64(at(native.Arena, 0, 1).DType.Size())
	a, b, c := at(native.Arena, 0, 8), at(native.Arena, 8*size, 8), at(native.Arena, 0, 8)
	part := func(of *native.Buffer, start sym.Expr, n int64) *native.Buffer {
		return &native.Buffer{Storage: of.Storage, Root: of, At: start, Len: sym.Int(n), MaxLen: n,
			DType: of.DType}
	}
	t1 := sym.NewVar("t", sym.Int(2))
	x, y := at(native.Input, 0, 8), at(native.Output, 0, 8)
	for i, tc := range []struct {
		a, b          *native.Buffer
		overlap, same bool
	}{
		{a, b, false, false},
		{a, c, true, true},
		{a, part(c, sym.Int(0), 8), true, true},
		{part(a, sym.Int(4), 4), part(c, sym.Int(0), 4), false, false},
		{part(a, sym.Mul(t1.Expr(), sym.Int(4)), 4), part(c, sym.Int(0), 4), true, false},
		{part(a, t1.Expr(), 4), part(a, sym.Add(t1.Expr(), sym.Int(4)), 4), false, false},
		{part(a, t1.Expr(), 4), part(a, t1.Expr(), 4), true, true},
		{x, y, false, false},
		{x, x, true, true},
		{x, a, false, false},
	} {
		if got := MayOverlap(tc.a, tc.b); got != tc.overlap || got != MayOverlap(tc.b, tc.a) {
			t.Errorf("case %d: overlap %v", i, got)
		}
		if got := SameMemory(tc.a, tc.b); got != tc.same {
			t.Errorf("case %d: same %v", i, got)
		}
	}
}
