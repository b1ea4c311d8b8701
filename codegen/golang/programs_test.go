package golang

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/plan"
)

// The programs here are made by hand: native form has more than any one model
// needs. Each comes with a Go test that its package has to pass.

func tensor(name string, d ir.DType, storage native.Storage, sizes ...sym.Expr) *native.Buffer {
	n := sym.Mul(sizes...)
	_, most := n.Bounds()
	return &native.Buffer{Name: name, DType: d, Sizes: sizes, Len: n, MaxLen: most,
		Storage: storage}
}

func port(b *native.Buffer) native.Port {
	return native.Port{Name: foreign.Of(b.Name), Type: ir.TensorOf(b.DType, b.Sizes...), Buf: b}
}

func view(of *native.Buffer, name string, at sym.Expr, sizes ...sym.Expr) *native.Buffer {
	b := tensor(name, of.DType, of.Storage, sizes...)
	b.Root, b.At = of, at
	return b
}

// pointwise returns a kernel that computes out[i] = f(in0[i], …) for i < n; n
// is constant or a parameter of the kernel.
func pointwise(name string, d ir.DType, ins []ir.DType, n sym.Expr,
	f func(in []*expr.Expr) *expr.Expr) *native.Kernel {
	fn := &loop.Func{Name: name, Bufs: []loop.Buf{{Name: "out", DType: d, Role: loop.Out, Len: n}}}
	i := sym.NewVar("i", n)
	var loads []*expr.Expr
	for k, t := range ins {
		fn.Bufs = append(fn.Bufs, loop.Buf{Name: fmt.Sprintf("in%d", k), DType: t,
			Role: loop.In, Len: n})
		loads = append(loads, expr.At(k+1, t, i.Expr()))
	}
	fn.Syms = n.Symbols()
	fn.Body = []loop.Stmt{forLoop(i, true, &loop.Store{Buf: 0, At: i.Expr(), Value: f(loads)})}
	return &native.Kernel{Name: name, Params: fn.Syms, Loop: fn, Doc: foreign.Of(name)}
}

func copyOf(dst, src *native.Buffer) *native.Call {
	k := pointwise("copy", dst.DType, []ir.DType{src.DType}, dst.Len,
		func(in []*expr.Expr) *expr.Expr { return in[0] })
	k.Copy = true
	return &native.Call{Kernel: k, Args: []*native.Buffer{dst, src}}
}

func at(line int, op string) []native.Origin {
	return []native.Origin{{Node: foreign.Of(op), Op: foreign.Of("aten." + op + ".default"),
		Loc: native.Location{File: foreign.Of("model.py"), Line: line}}}
}

// size gives a method's plan the size of its arena: offsets are by hand.
func size(m *native.Method, n int64) *native.Method {
	m.Plan = &plan.Plan{Memories: []plan.Memory{{Size: n, Align: 16}}}
	return m
}

type handMade struct {
	program *native.Program
	test    string // body of a Go file of the package, after its imports
	want    []string
	not     []string
}

var one = sym.Int(1)

// control has a cond, a while and a for, forwards and backwards, state, and
// two methods.
func control() handMade {
	f32 := ir.Float32
	six := sym.Int(6)
	x, out := tensor("x", f32, native.Input, six), tensor("out0", f32, native.Output, six)
	pred, more := tensor("pred", ir.Bool, native.Arena), tensor("more", ir.Bool, native.Arena)
	more.Offset = 16
	pair := tensor("pair", f32, native.Arena, sym.Int(2))
	pair.Offset = 32
	data := []byte{0, 0, 128, 63, 0, 0, 0, 64} // 1, 2
	init := &native.Const{Name: "init", From: foreign.Of("seen"), DType: f32, Data: data}
	seen := tensor("seen", f32, native.State, sym.Int(2))
	seen.Const = init
	total := tensor("total", ir.Int64, native.State, one)
	total.Const = &native.Const{Name: "total", DType: ir.Int64, Data: make([]byte, 8)}
	bias := tensor("bias", f32, native.Weight, sym.Int(2))
	bias.Const = &native.Const{Name: "type", From: foreign.Of("layer.bias"), DType: f32, Data: data}

	positive := pointwise("positive", ir.Bool, []ir.DType{f32}, one,
		func(in []*expr.Expr) *expr.Expr { return expr.Gt(in[0], expr.Float(f32, 0)) })
	double := pointwise("double", f32, []ir.DType{f32}, six, func(in []*expr.Expr) *expr.Expr {
		return expr.Add(in[0], in[0])
	})
	negate := pointwise("negate", f32, []ir.DType{f32}, six, func(in []*expr.Expr) *expr.Expr {
		return expr.Neg(in[0])
	})
	halve := pointwise("halve", f32, []ir.DType{f32}, six, func(in []*expr.Expr) *expr.Expr {
		return expr.Mul(in[0], expr.Float(f32, 0.5))
	})
	large := pointwise("large", ir.Bool, []ir.DType{f32}, one, func(in []*expr.Expr) *expr.Expr {
		return expr.Gt(in[0], expr.Float(f32, 10))
	})
	add := pointwise("add", f32, []ir.DType{f32, f32}, sym.Int(2),
		func(in []*expr.Expr) *expr.Expr { return expr.Add(in[0], in[1]) })
	count := pointwise("count", ir.Int64, []ir.DType{ir.Int64}, one,
		func(in []*expr.Expr) *expr.Expr { return expr.Add(in[0], expr.Int(ir.Int64, 1)) })

	t, u := sym.NewVar("t", sym.Int(3)), sym.NewVar("t", sym.Int(3))
	slice := func(v *sym.Symbol) *native.Buffer {
		return view(out, "part", sym.Mul(sym.Int(2), v.Expr()), sym.Int(2))
	}
	part, part2 := slice(t), slice(u)
	forward := size(&native.Method{Name: foreign.Of("forward"), Inputs: []native.Port{port(x)},
		Outputs: []native.Port{port(out)},
		Buffers: []*native.Buffer{x, out, pred, more, pair},
		Body: []native.Stmt{
			&native.Call{Kernel: positive, Args: []*native.Buffer{pred, x}, From: at(1, "gt")},
			&native.Cond{Pred: pred, From: at(2, "cond"),
				Then: []native.Stmt{&native.Call{Kernel: double, Args: []*native.Buffer{out, x},
					From: at(3, "mul")}},
				Else: []native.Stmt{&native.Call{Kernel: negate, Args: []*native.Buffer{out, x},
					From: at(4, "neg")}}},
			&native.While{Head: []native.Stmt{&native.Call{Kernel: large,
				Args: []*native.Buffer{more, out}, From: at(5, "gt")}}, Pred: more,
				Body: []native.Stmt{&native.Call{Kernel: halve, Args: []*native.Buffer{out, out},
					From: at(6, "mul")}}, From: at(5, "while_loop")},
			&native.For{Var: t, Extent: sym.Int(3), From: at(7, "scan"), Body: []native.Stmt{
				&native.Call{Kernel: add, Args: []*native.Buffer{pair, part, bias},
					From: at(8, "add")}, copyOf(part, pair)}},
			&native.For{Var: u, Extent: sym.Int(3), Reverse: true, From: at(9, "scan"),
				Body: []native.Stmt{
					&native.Call{Kernel: add, Args: []*native.Buffer{seen, part2, seen},
						From: at(10, "add")}, copyOf(part2, seen)}},
			&native.Call{Kernel: count, Args: []*native.Buffer{total, total}, From: at(11, "add")},
			&native.Poison{Buf: pair},
		}}, 48)
	calls := tensor("calls", ir.Int64, native.Output, one)
	second := size(&native.Method{Name: foreign.Of("call_count"),
		Outputs: []native.Port{port(calls)}, Buffers: []*native.Buffer{calls},
		Body: []native.Stmt{copyOf(calls, total)}}, 0)
	return handMade{
		program: &native.Program{Source: foreign.Of("control.pt2"),
			Methods: []*native.Method{forward, second},
			Kernels: []*native.Kernel{positive, double, negate, large, halve, add, count},
			Consts:  []*native.Const{init, bias.Const}, State: []*native.Buffer{seen, total}},
		test: `
func TestModel(t *testing.T) {
	m := New()
	x := [6]float32{20, 1, 2, 3, 4, 5}
	var out [6]float32
	if err := m.Forward(&x, &out); err != nil {
		t.Fatal(err)
	}
	// doubled, halved twice, plus 1 and 2; then summed up from the end onto 1, 2.
	want := [6]float32{11 + 2 + 3 + 1, 2.5 + 3.5 + 4.5 + 2, 2 + 3 + 1, 3.5 + 4.5 + 2, 3 + 1, 4.5 + 2}
	if out != want {
		t.Errorf("got %v, want %v", out, want)
	}
	x[0] = -1
	if err := m.Forward(&x, &out); err != nil {
		t.Fatal(err)
	}
	if out[4] != -4+1+(11+2+3+1) {
		t.Errorf("state: got %v", out)
	}
	var calls [1]int64
	if err := m.CallCount(&calls); err != nil || calls[0] != 2 {
		t.Errorf("calls: got %d, %v", calls[0], err)
	}
	m.Reset()
	if err := m.CallCount(&calls); err != nil || calls[0] != 0 {
		t.Errorf("calls after Reset: got %d, %v", calls[0], err)
	}
	if n := testing.AllocsPerRun(100, func() { m.Forward(&x, &out) }); n != 0 {
		t.Errorf("%v allocations per call", n)
	}
	other := New()
	other.Forward(&x, &out)
	if other.weights != m.weights {
		t.Error("weights are not shared")
	}
}
`,
		want: []string{"// model.py:3: mul", "if pred[0] {", "for t := range 3 {",
			"for t := 3 - 1; t >= 0; t-- {", "if !more[0] {"},
	}
}

// dynamic has dynamic sizes, scalars in and out, a size read at run time and
// assertions.
func dynamic() handMade {
	f32 := ir.Float32
	n := sym.NewSymbol("s0", 1, 1000)
	k := sym.NewSymbol("s1", 0, 10)
	hot := sym.NewSymbol("u0", 0, 1000)
	rows := sym.Add(sym.Mul(sym.Int(2), k.Expr()), one)
	x := tensor("x", f32, native.Input, n.Expr(), rows)
	y := tensor("y", f32, native.Input, n.Expr())
	out := tensor("out0", f32, native.Output, n.Expr(), rows)
	few := tensor("out1", f32, native.Output, hot.Expr())
	tmp := tensor("tmp", f32, native.Arena, n.Expr(), rows)
	gain := local("gain", ir.Float64)
	level := local("level", ir.Float64)
	p := sym.NewSymbol("n", 0, 30000)
	scale := pointwise("scale", f32, []ir.DType{f32}, p.Expr(), func(in []*expr.Expr) *expr.Expr {
		return expr.Mul(in[0], expr.ScalarRef(0, f32))
	})
	scale.Loop.Scalars = []*expr.Var{local("by", f32)}
	q := sym.NewSymbol("n", 0, 30000)
	add := pointwise("add_one", f32, []ir.DType{f32}, q.Expr(), func(in []*expr.Expr) *expr.Expr {
		return expr.Add(in[0], expr.Float(f32, 1))
	})
	count := sym.NewSymbol("count", 0, 100)
	head := view(y, "head", sym.Int(0), hot.Expr())
	m := size(&native.Method{Name: foreign.Of("forward"), Symbols: []*sym.Symbol{n, k, count},
		Inputs: []native.Port{port(x), port(y), {Name: foreign.Of("gain"),
			Type: ir.Type{Kind: ir.FloatKind}, Var: gain},
			{Name: foreign.Of("count"), Type: ir.SymInt(count.Expr()), Sym: count},
			{Name: foreign.Of("mode"), Value: ir.Str("fixed")}},
		Outputs: []native.Port{port(out), port(few), {Name: foreign.Of("out2"),
			Type: ir.SymInt(sym.Add(count.Expr(), n.Expr()))},
			{Name: foreign.Of("out3"), Type: ir.Type{Kind: ir.FloatKind}, Var: level},
			{Name: foreign.Of("out4"), Value: ir.Int(7)}, {Name: foreign.Of("out5"),
				Value: ir.None{}}},
		Buffers: []*native.Buffer{x, y, out, few, tmp, head},
		Body: []native.Stmt{
			&native.Assert{Cond: expr.Ge(expr.At(0, f32, sym.Int(0)), expr.Float(f32, 0)),
				Args: []*native.Buffer{y}, Message: foreign.Of("y[0] is negative: 100%"),
				From: at(1, "_assert_async")},
			&native.Let{Sym: hot, Value: expr.Cast(ir.Int64,
				expr.Floor(expr.At(0, f32, sym.Int(0)))), Args: []*native.Buffer{y},
				From: at(2, "item")},
			&native.Assert{Cond: expr.Le(expr.Idx(ir.Int64, hot.Expr()),
				expr.Idx(ir.Int64, n.Expr())), Message: foreign.Of("too many")},
			&native.Let{Var: level, Value: expr.Select(expr.Gt(expr.At(0, f32, sym.Int(0)),
				expr.Float(f32, 1)), expr.Get(gain), expr.Float(ir.Float64, -1)),
				Args: []*native.Buffer{y}},
			&native.Let{Var: local("idle", ir.Float64), Value: expr.Float(ir.Float64, 3)},
			&native.Let{Sym: sym.NewSymbol("u1", 0, 5), Value: expr.Int(ir.Int64, 3)},
			&native.Call{Kernel: scale, Args: []*native.Buffer{tmp, x}, Ints: []sym.Expr{x.Len},
				Scalars: []*expr.Expr{expr.Cast(f32, expr.Get(gain))}, From: at(3, "mul")},
			&native.Call{Kernel: add, Args: []*native.Buffer{out, tmp}, Ints: []sym.Expr{x.Len},
				From: at(4, "add")},
			&native.Call{Kernel: add, Args: []*native.Buffer{few, head},
				Ints: []sym.Expr{hot.Expr()}, From: at(5, "add")},
		}}, 4*1000*21)
	return handMade{
		program: &native.Program{Source: foreign.Of("dynamic.pt2"), Methods: []*native.Method{m},
			Kernels: []*native.Kernel{scale, add}},
		test: `
func TestModel(t *testing.T) {
	m := New()
	x, y := make([]float32, 700*5), make([]float32, 700)
	for i := range x {
		x[i] = float32(i)
	}
	y[0], y[1], y[2] = 3, 1, 2
	out, few := make([]float32, 4000), make([]float32, 1000)
	sizes := ForwardSizes{XDim0: 700, XDim1: 5, YDim0: 700}
	total, level, seven, err := m.Forward(x, y, 2, 5, out, few, &sizes)
	if err != nil {
		t.Fatal(err)
	}
	if total != 705 || level != 2 || seven != 7 {
		t.Errorf("got %d, %v, %d", total, level, seven)
	}
	if sizes.Out0Dim0 != 700 || sizes.Out0Dim1 != 5 || sizes.Out1Dim0 != 3 {
		t.Errorf("got sizes %+v", sizes)
	}
	for i := range x {
		if out[i] != 2*x[i]+1 {
			t.Fatalf("element %d: got %v", i, out[i])
		}
	}
	if few[0] != 4 || few[1] != 2 || few[2] != 3 {
		t.Errorf("got %v", few[:3])
	}
	if n := testing.AllocsPerRun(100, func() { m.Forward(x, y, 2, 5, out, few, &sizes) }); n != 0 {
		t.Errorf("%v allocations per call", n)
	}
	for _, c := range []struct {
		x, y, out []float32
		count     int
		sizes     ForwardSizes
		want      string
		is        error
	}{
		{x, y, out, 5, ForwardSizes{XDim0: 0, XDim1: 5, YDim0: 700}, "dynamic: wrong shape: dimension 0 of x is 0, want 1 to 1000", ErrShape},
		{x, y, out, 5, ForwardSizes{XDim0: 700, XDim1: 4, YDim0: 700}, "dynamic: wrong shape: dimension 1 of x is 4, want 1 to 21, odd", ErrShape},
		{x, y, out, 5, ForwardSizes{XDim0: 700, XDim1: 99, YDim0: 700}, "dynamic: wrong shape: dimension 1 of x is 99, want 1 to 21, odd", ErrShape},
		{x, y, out, 5, ForwardSizes{XDim0: 700, XDim1: 5, YDim0: 699}, "dynamic: wrong shape: dimension 0 of y is 699, want 700", ErrShape},
		{x, y, out, 101, ForwardSizes{XDim0: 700, XDim1: 5, YDim0: 700}, "dynamic: wrong shape: count is 101, want 0 to 100", ErrShape},
		{x[1:], y, out, 5, ForwardSizes{XDim0: 700, XDim1: 5, YDim0: 700}, "dynamic: wrong shape: x has 3499 elements, want 3500", ErrShape},
		{x, y, out[:9], 5, ForwardSizes{XDim0: 700, XDim1: 5, YDim0: 700}, "dynamic: wrong shape: out0 has 9 elements, want at least 3500", ErrShape},
		{x, y[:0], out, 5, ForwardSizes{XDim0: 700, XDim1: 5, YDim0: 700}, "dynamic: wrong shape: y has 0 elements, want 700", ErrShape},
	} {
		_, _, _, err := m.Forward(c.x, c.y, 2, c.count, c.out, few, &c.sizes)
		if err == nil || err.Error() != c.want || !errors.Is(err, c.is) {
			t.Errorf("got error %v, want %s", err, c.want)
		}
	}
	y[0] = -1
	if _, _, _, err := m.Forward(x, y, 2, 5, out, few, &sizes); !errors.Is(err, ErrAssert) || err.Error() != "dynamic: assertion failed: y[0] is negative: 100%" {
		t.Errorf("got error %v", err)
	}
}
`,
		want: []string{"s1 := (sizes.XDim1 - 1) / 2", "gain float64, count int",
			"(int, float64, int, error)"},
	}
}

// halves has elements that Go has no arithmetic for, in place on the caller's
// memory, and names that are Go's.
func halves() handMade {
	f16, bf16 := ir.Float16, ir.BFloat16
	n := sym.Int(40)
	h := tensor("func", f16, native.Input, n)
	b := tensor("math", bf16, native.Output, n)
	flags := tensor("len", ir.Bool, native.Input, n)
	k := pointwise("select", bf16, []ir.DType{f16, ir.Bool}, n, func(in []*expr.Expr) *expr.Expr {
		return expr.Select(in[1], expr.Cast(bf16, expr.Cast(ir.Float32, in[0])),
			expr.Float(bf16, 2))
	})
	twice := pointwise("append", f16, []ir.DType{f16}, n, func(in []*expr.Expr) *expr.Expr {
		return expr.Add(in[0], in[0])
	})
	in := port(h)
	in.Mutated, in.Path = true, foreign.Of(`args[0]["x"]`)
	m := size(&native.Method{Name: foreign.Of("type"), Inputs: []native.Port{in, port(flags)},
		Outputs: []native.Port{port(b)}, Buffers: []*native.Buffer{h, b, flags},
		Body: []native.Stmt{
			&native.Call{Kernel: k, Args: []*native.Buffer{b, h, flags}, From: at(1, "where")},
			&native.Call{Kernel: twice, Args: []*native.Buffer{h, h}, From: at(2, "add_")},
		}}, 0)
	return handMade{
		program: &native.Program{Source: foreign.Of("types.pt2"), Methods: []*native.Method{m},
			Kernels: []*native.Kernel{k, twice}},
		test: `
func TestModel(t *testing.T) {
	m := New()
	var x, out [40]uint16
	var flags [40]bool
	for i := range x {
		x[i], flags[i] = Float16FromFloat32(float32(i)/4), i%2 == 0
	}
	if err := m.Type(&x, &flags, &out); err != nil {
		t.Fatal(err)
	}
	for i := range x {
		want := float32(2)
		if i%2 == 0 {
			want = float32(i) / 4
		}
		if got := Bfloat16ToFloat32(out[i]); got != want {
			t.Errorf("element %d: got %v, want %v", i, got, want)
		}
		if got := Float16ToFloat32(x[i]); got != float32(i)/2 {
			t.Errorf("input %d: got %v", i, got)
		}
	}
}
`,
		want: []string{"updated in place", `args[0]["x"]`, "Float16ToFloat32"},
		not:  []string{"arena", "weights"},
	}
}

func TestPrograms(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), []byte("module test\n\ngo 1.24\n"))
	for name, h := range map[string]handMade{"control": control(), "dynamic": dynamic(),
		"types": halves()} {
		pkg, err := Generate(h.program, Options{Name: name})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		again, err := Generate(h.program, Options{Name: name})
		if err != nil || fmt.Sprint(again) != fmt.Sprint(pkg) {
			t.Errorf("%s: generating again gives something else (%v)", name, err)
		}
		sub := filepath.Join(dir, name)
		if err := pkg.Write(t.Context(), sub); err != nil {
			t.Fatal(err)
		}
		imports := "import \"testing\"\n"
		if strings.Contains(h.test, "errors.") {
			imports = "import (\n\"errors\"\n\"testing\"\n)\n"
		}
		write(t, filepath.Join(sub, "model_test.go"),
			[]byte("package "+pkg.Name+"\n\n"+imports+h.test))
		text := allText(pkg)
		for _, want := range h.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: there is no %q in\n%s", name, want, pkg.Files[0].Data)
			}
		}
		for _, not := range h.not {
			if strings.Contains(text, not) {
				t.Errorf("%s: there is %q", name, not)
			}
		}
	}
	command(t, dir, nil, "go", "vet", "./...")
	command(t, dir, nil, "go", "test", "./...")
	lint(t, dir)
}

// lint runs staticcheck if it is installed.
func lint(t *testing.T, dir string) {
	path, err := exec.LookPath("staticcheck")
	if err != nil {
		if home, herr := os.UserHomeDir(); herr == nil {
			path = filepath.Join(home, "go", "bin", "staticcheck")
			_, err = os.Stat(path)
		}
	}
	if err != nil {
		t.Log("staticcheck is not installed")
		return
	}
	cmd := exec.Command(path, "./...")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("staticcheck: %v\n%s", err, tail(string(out)))
	}
}

func allText(pkg *codegen.Package) string {
	var b strings.Builder
	for _, f := range pkg.Files {
		b.Write(f.Data)
	}
	return b.String()
}

func TestUnsupported(t *testing.T) {
	x := tensor("x", ir.Complex64, native.Input, sym.Int(2))
	m := &native.Method{Name: foreign.Of("forward"), Inputs: []native.Port{port(x)}}
	_, err := Generate(&native.Program{Source: foreign.Of("x.pt2"), Methods: []*native.Method{m}},
		Options{Name: "x"})
	if err == nil || !strings.Contains(err.Error(), "complex64") {
		t.Errorf("got %v", err)
	}
}
