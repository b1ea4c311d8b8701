package rt_test

import (
	"testing"

	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/rt"
)

// TestUnread looks at what a kernel learns about who reads its second result, d.
func TestUnread(t *testing.T) {
	type values struct{ x, y, d, e, out int32 } // e lies where d is
	for _, c := range []struct {
		name string
		emit func(b *build, v values)
		want bool
	}{
		{"nobody", func(b *build, v values) {}, true},
		{"a kernel", func(b *build, v values) { b.kernel("aten::add", "out", v.y, v.d, v.out) },
			false},
		{"a kernel, in place", func(b *build, v values) {
			b.call("aten::add_", "out", v.d, v.y, v.d)
		}, false},
		{"a kernel writes over it", func(b *build, v values) {
			b.kernel("aten::add", "out", v.y, v.y, v.d)
		}, true},
		{"a kernel reads and writes it", func(b *build, v values) {
			b.kernel("aten::add", "out", v.d, v.y, v.d)
		}, false},
		{"an output", func(b *build, v values) { b.plan.Outputs = append(b.plan.Outputs, v.d) },
			false},
		{"what lies there is read", func(b *build, v values) {
			b.kernel("aten::add", "out", v.y, v.e, v.out)
		}, false},
		{"what lies there is an output", func(b *build, v values) {
			b.plan.Outputs = append(b.plan.Outputs, v.e)
		}, false},
		{"what lies there is written, then read", func(b *build, v values) {
			b.kernel("aten::add", "out", v.y, v.y, v.e)
			b.kernel("aten::add", "out", v.y, v.e, v.out)
		}, true},
		{"what lies there is read, then written", func(b *build, v values) {
			b.kernel("aten::add", "out", v.y, v.e, v.out)
			b.kernel("aten::add", "out", v.y, v.y, v.e)
		}, false},
		{"a view", func(b *build, v values) {
			w := b.unplanned(2)
			b.call("executorch_prim::et_view", "default", v.d,
				b.value(pte.IntList{int64(b.value(pte.Int(2)))}), w)
			b.kernel("aten::add", "out", v.y, w, v.out)
		}, false},
		{"a view that nobody reads", func(b *build, v values) {
			w := b.unplanned(2)
			b.call("executorch_prim::et_view", "default", v.d,
				b.value(pte.IntList{int64(b.value(pte.Int(2)))}), w)
		}, true},
		{"a view of what lies there", func(b *build, v values) {
			b.kernel("aten::add", "out", v.y, v.y, v.e)
			w := b.unplanned(2)
			b.call("executorch_prim::et_view", "default", v.e,
				b.value(pte.IntList{int64(b.value(pte.Int(2)))}), w)
			b.kernel("aten::add", "out", v.y, w, v.out)
		}, true},
		{"what lies there is a view of what is written", func(b *build, v values) {
			over := *b.plan.Values[v.e].(*pte.Tensor)
			b.kernel("aten::add", "out", v.y, v.y, b.value(&over))
			b.kernel("aten::add", "out", v.y, v.e, v.out)
		}, true},
		{"a move", func(b *build, v values) { b.emit(pte.MoveCall{From: v.d, To: v.out}) }, false},
		{"a jump back", func(b *build, v values) {
			b.kernel("aten::add", "out", v.y, v.y, v.e)
			b.kernel("aten::add", "out", v.y, v.e, v.out)
			b.emit(pte.JumpFalseCall{Cond: b.value(pte.Bool(true)), Destination: 0})
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBuild("forward")
			v := values{x: b.planned(2), y: b.planned(2), d: b.planned(2), out: b.planned(2)}
			e := *b.plan.Values[v.d].(*pte.Tensor)
			v.e = b.value(&e)
			results := b.value(pte.TensorList{v.y, v.d})
			b.call("test::two", "out", v.x, v.y, v.d, results)
			c.emit(b, v)
			b.inputs(v.x).outputs(append([]int32{v.y}, b.plan.Outputs...)...)
			got, asked := false, false
			two := rt.Kernel{Name: "test::two.out",
				Prepare: func(c *rt.Call) (func() error, error) {
					got, asked = c.Unread(c.Args[2]), true
					if c.Unread(c.Args[1]) {
						t.Error("nobody reads an output")
					}
					return func() error { return nil }, nil
				}}
			none := func(name string) rt.Kernel {
				return rt.Kernel{Name: name, Prepare: func(*rt.Call) (func() error, error) {
					return func() error { return nil }, nil
				}}
			}
			if _, err := b.program(t).LoadMethod("forward",
				&rt.MethodOptions{Registry: rt.NewRegistry(two, none("aten::add.out"),
					none("aten::add_.out"))}); err != nil {
				t.Fatal(err)
			}
			if !asked || got != c.want {
				t.Errorf("unread: %v, want %v", got, c.want)
			}
		})
	}
}
