package c_test

import (
	"bytes"
	"debug/macho"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/c"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/plan"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func buffer(name string, d ir.DType, s native.Storage, dims ...sym.Expr) *native.Buffer {
	n := sym.Mul(dims...)
	_, hi := n.Bounds()
	return &native.Buffer{Name: name, DType: d, Sizes: dims, Len: n, MaxLen: hi, Storage: s}
}

func port(b *native.Buffer) native.Port {
	return native.Port{Name: foreign.Of(b.Name), Type: ir.TensorOf(b.DType, b.Sizes...), Buf: b}
}

// unaryKernel computes out[i] = f(in[i]) for n elements.
func unaryKernel(name string, d ir.DType, f func(*expr.Expr) *expr.Expr) *native.Kernel {
	n := sym.NewSymbol("n", 0, 1000)
	i := sym.NewVar("i", n.Expr())
	fn := &loop.Func{Name: name, Syms: []*sym.Symbol{n}, Bufs: []loop.Buf{
		{Name: "out", DType: d, Role: loop.Out, Len: n.Expr()},
		{Name: "in", DType: d, Role: loop.In, Len: n.Expr()},
	}, Body: []loop.Stmt{&loop.For{Var: i, Extent: n.Expr(), Vectorizable: true, Body: []loop.Stmt{
		&loop.Store{Buf: 0, At: i.Expr(), Value: f(expr.At(1, d, i.Expr()))}}}}}
	return &native.Kernel{Name: name, Params: fn.Syms, Loop: fn, Doc: foreign.Of(name)}
}

func at(line int, op string) []native.Origin {
	return []native.Origin{{Node: foreign.Of(op), Op: foreign.Of("aten." + op + ".default"),
		Loc: native.Location{File: foreign.Of("model.py"), Line: line}}}
}

// kitchenSink is a program with every mechanism: a dynamic size of two related
// inputs, a branch, a loop with a head, a counted loop over views, state,
// scalars, an assertion, a fixed input, weights, two methods.
func kitchenSink() *native.Program {
	f32 := ir.Float32
	s := sym.NewSymbol("s0", 1, 8)
	rows := s.Expr()
	four := sym.Int(4)
	x := buffer("x", f32, native.Input, rows, four)
	double := buffer("double", f32, native.Input, sym.Mul(rows, sym.Int(2)))
	flag := buffer("flag", ir.Bool, native.Input)
	out := buffer("out0", f32, native.Output, rows, four)
	count := buffer("out1", ir.Int64, native.Output)
	state := buffer("calls", ir.Int64, native.State)
	state.Const = &native.Const{Name: "calls", From: foreign.Of("calls"), DType: ir.Int64,
		Data: binary.LittleEndian.AppendUint64(nil, 5)}
	ramp := buffer("ramp", f32, native.State, four)
	rampData := []float32{1, -2.5, float32(math.Inf(1)), 1e-20}
	ramp.Const = &native.Const{Name: "ramp", From: foreign.Of("buf.ramp"), DType: f32}
	for _, v := range rampData {
		ramp.Const.Data = binary.LittleEndian.AppendUint32(ramp.Const.Data, math.Float32bits(v))
	}
	weight := buffer("w", f32, native.Weight, four)
	weight.Const = &native.Const{Name: "fc_weight", From: foreign.Of("fc.weight"), DType: f32}
	for _, v := range []float32{1, 2, 3, 4} {
		weight.Const.Data = binary.LittleEndian.AppendUint32(weight.Const.Data, math.Float32bits(v))
	}
	h := buffer("h", f32, native.Arena, rows, four)
	p := buffer("p", ir.Bool, native.Arena)
	p.Offset = 128
	scale := &expr.Var{Name: "scale", DType: ir.Float64}

	n := sym.NewVar("n", sym.Int(1001))
	i := sym.NewVar("i", n.Expr())
	mulRow := &native.Kernel{Name: "mul_row", Doc: foreign.Of("mul.Tensor"),
		Params: []*sym.Symbol{n}, Loop: &loop.Func{Name: "mul_row", Syms: []*sym.Symbol{n},
			Scalars: []*expr.Var{{Name: "factor", DType: ir.Float64}},
			Bufs: []loop.Buf{{Name: "out", DType: f32, Role: loop.Out, Len: n.Expr()},
				{Name: "in", DType: f32, Len: n.Expr()}, {Name: "w", DType: f32, Len: sym.Int(4)}},
			Body: []loop.Stmt{&loop.For{Var: i, Extent: n.Expr(),
				Body: []loop.Stmt{&loop.Store{At: i.Expr(),
					Value: expr.Cast(f32,
						expr.Mul(expr.Cast(ir.Float64, expr.Mul(expr.At(1, f32, i.Expr()),
							expr.At(2, f32, sym.Mod(i.Expr(), four)))),
							expr.ScalarRef(0, ir.Float64)))}}}}}}
	add1 := unaryKernel("add", f32, func(x *expr.Expr) *expr.Expr {
		return expr.Add(x, expr.Float(f32, 1))
	})
	neg := unaryKernel("neg", f32, expr.Neg)
	inc := unaryKernel("inc", ir.Int64, func(x *expr.Expr) *expr.Expr {
		return expr.Add(x, expr.Int(ir.Int64, 1))
	})
	zero := sym.Int(0)
	less := &native.Kernel{Name: "less", Doc: foreign.Of("lt"), Loop: &loop.Func{Name: "less",
		Bufs: []loop.Buf{{Name: "out", DType: ir.Bool, Role: loop.Out, Len: sym.Int(1)},
			{Name: "in", DType: f32, Len: sym.Int(4)}},
		Body: []loop.Stmt{&loop.Store{At: zero, Value: expr.Lt(expr.At(1, f32, zero),
			expr.Float(f32, 10))}}}}
	cp := &native.Kernel{Name: "copy", Copy: true, Doc: foreign.Of("copy"),
		Params: []*sym.Symbol{n}, Loop: &loop.Func{Name: "copy", Syms: []*sym.Symbol{n},
			Bufs: []loop.Buf{{Name: "out", DType: f32, Role: loop.Out, Len: n.Expr()},
				{Name: "in", DType: f32, Len: n.Expr()}},
			Body: []loop.Stmt{&loop.For{Var: i, Extent: n.Expr(),
				Body: []loop.Stmt{&loop.Store{At: i.Expr(), Value: expr.At(1, f32, i.Expr())}}}}}}
	all := sym.Mul(rows, four)
	row := sym.NewVar("t", rows)
	view := func(of *native.Buffer, name string) *native.Buffer {
		v := buffer(name, f32, of.Storage, four)
		v.Root, v.At = of, sym.Mul(row.Expr(), four)
		return v
	}
	ht := view(h, "h_t")
	first := buffer("first", f32, native.Arena, sym.Int(1))
	first.Root, first.At = h, zero
	m := &native.Method{Name: foreign.Of("forward"), Symbols: []*sym.Symbol{s}}
	m.Inputs = []native.Port{port(x), port(double), {Name: foreign.Of("flag"),
		Path: foreign.Of("kwargs['flag']"), Type: ir.TensorOf(ir.Bool), Buf: flag},
		{Name: foreign.Of("scale"), Type: ir.Type{Kind: ir.FloatKind}, Var: scale},
		{Name: foreign.Of("mode"), Value: ir.None{}}}
	m.Outputs = []native.Port{port(out), port(count), {Name: foreign.Of("out2"),
		Type: ir.SymInt(sym.Mul(rows, four))}, {Name: foreign.Of("out3"), Value: ir.Int(7)}}
	m.Body = []native.Stmt{
		&native.Assert{Cond: expr.Gt(expr.At(0, f32, zero), expr.Float(f32, 0)),
			Args: []*native.Buffer{double}, Message: foreign.Of("double must be positive */"),
			From: at(3, "_assert")},
		&native.Call{Kernel: mulRow, Args: []*native.Buffer{h, x, weight}, Ints: []sym.Expr{all},
			Scalars: []*expr.Expr{expr.Get(scale)}, From: at(4, "mul")},
		&native.Cond{Pred: flag, From: at(5, "cond"),
			Then: []native.Stmt{&native.Call{Kernel: neg, Args: []*native.Buffer{h, h},
				Ints: []sym.Expr{all}, From: at(6, "neg")}},
			Else: []native.Stmt{&native.Call{Kernel: add1, Args: []*native.Buffer{h, h},
				Ints: []sym.Expr{all}, From: at(7, "add")}}},
		&native.While{From: at(9, "while_loop"), Pred: p,
			Head: []native.Stmt{&native.Call{Kernel: less, Args: []*native.Buffer{p, first},
				From: at(10, "lt")}},
			Body: []native.Stmt{&native.Call{Kernel: add1, Args: []*native.Buffer{h, h},
				Ints: []sym.Expr{all}, From: at(11, "add")}}},
		&native.For{Var: row, Extent: rows, Reverse: true, From: at(13, "scan"),
			Body: []native.Stmt{
				&native.Call{Kernel: neg, Args: []*native.Buffer{ht, ht}, Ints: []sym.Expr{four},
					From: at(14, "neg")}}},
		&native.Call{Kernel: cp, Args: []*native.Buffer{h, h}, Ints: []sym.Expr{all}},
		&native.Call{Kernel: cp, Args: []*native.Buffer{out, h}, Ints: []sym.Expr{all}},
		&native.Poison{Buf: h},
		&native.Call{Kernel: inc, Args: []*native.Buffer{state, state},
			Ints: []sym.Expr{sym.Int(1)}, From: at(15, "add_")},
		&native.Call{Kernel: unaryKernelOf(inc), Args: []*native.Buffer{count, state},
			Ints: []sym.Expr{sym.Int(1)}},
	}
	m.Plan = &plan.Plan{Memories: []plan.Memory{{Size: 129, Align: 16}}}
	y := buffer("out0", f32, native.Output, four)
	second := &native.Method{Name: foreign.Of("ramp"), Outputs: []native.Port{port(y)},
		Body: []native.Stmt{&native.Call{Kernel: cp, Args: []*native.Buffer{y, ramp},
			Ints: []sym.Expr{four}}}}
	return &native.Program{Source: foreign.Of("model.pt2"), Methods: []*native.Method{m, second},
		Kernels: []*native.Kernel{mulRow, neg, add1, less, cp, inc},
		Consts:  []*native.Const{weight.Const, ramp.Const, state.Const},
		State:   []*native.Buffer{state, ramp}}
}

// unaryKernelOf returns k itself: the count is the state's new value plus one.
func unaryKernelOf(k *native.Kernel) *native.Kernel { return k }

func floats(xs ...float32) []byte {
	var out []byte
	for _, x := range xs {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}

func TestProgram(t *testing.T) {
	p := kitchenSink()
	dir, pkg := generate(t, p, "sink")
	for _, f := range pkg.Files {
		golden(t, filepath.Join("testdata", f.Name), f.Data)
	}
	strict(t, dir, pkg)

	call := func(rows, double string) step {
		return step{method: "sink_forward", out: []int{32, 8, 8},
			args: []string{"(const float *)in[0]", "(const float *)in[1]", "(const uint8_t *)in[2]",
				"0.5",
				"(float *)out[0]", "(int64_t *)out[1]", "(int64_t *)out[2]", "&sizes",
				"&state", "arena"},
			before: "        sizes.x_dim0 = " + rows + ";\n        sizes.double_dim0 = " +
				double + ";\n",
			after: "        put(&sizes.out0_dim0, 4);\n"}
	}
	x := floats(1, 2, 3, 4, 5, 6, 7, 8)
	good := call("2", "4")
	good.in = [][]byte{x, floats(1, 2, 3, 4), {0}}
	negative := call("2", "4")
	negative.in = [][]byte{x, floats(1, 2, 3, 4), {1}}
	failing := call("2", "4")
	failing.in = [][]byte{x, floats(-1, 2, 3, 4), {0}}
	bad := call("2", "5")
	bad.in = good.in
	large := call("9", "18")
	large.in = good.in
	null := call("2", "4")
	null.in = good.in
	null.args = append([]string{"NULL"}, good.args[1:]...)
	odd := call("2", "4")
	odd.in = good.in
	odd.args = append([]string{"(const float *)((char *)in[0] + 2)"}, good.args[1:]...)
	ramp := step{method: "sink_ramp", args: []string{"(float *)out[0]", "&state"}, out: []int{16}}
	main, stdin := mainText("sink", []step{good, negative, failing, bad, large, null, odd, ramp},
		"static sink_state state;\nstatic sink_forward_sizes sizes;\n")
	main = strings.Replace(main, "    memset(arena", "    sink_reset(&state);\n    memset(arena", 1)
	got := run(t, dir, pkg, main, stdin, sanitized())

	var want bytes.Buffer
	junk := func(n int) { want.Write(bytes.Repeat([]byte{0xa5}, n)) }
	result := func(values []byte, calls int64) {
		want.WriteByte(0)
		want.Write(values)
		want.Write(binary.LittleEndian.AppendUint64(nil, uint64(calls)))
		want.Write(binary.LittleEndian.AppendUint64(nil, 8))
		want.Write(binary.LittleEndian.AppendUint32(nil, 2))
	}
	// x*w/2 = 0.5 2 4.5 8 2.5 6 10.5 16; plus 1, then plus 1 until the first is 10 or more: 9
	// times; negated.
	result(floats(-10.5, -12, -14.5, -18, -12.5, -16, -20.5, -26), 7)
	// negated, then plus 1 until -0.5 is 10.5: 11 times.
	result(floats(-10.5, -9, -6.5, -3, -8.5, -5, -0.5, 5), 8)
	for _, status := range []byte{3, 2, 2, 1, 1} {
		want.WriteByte(status)
		junk(48)
		want.Write(binary.LittleEndian.AppendUint32(nil, 2))
	}
	want.WriteByte(0)
	want.Write(floats(1, -2.5, float32(math.Inf(1)), 1e-20))
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("got\n%x\nwant\n%x", got, want.Bytes())
	}
}

// golden compares data with a file in testdata.
func golden(t *testing.T, path string, data []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, want) {
		t.Errorf("%s is not what is generated; go test -update rewrites it:\n%s", path, data)
	}
}

// TestDeterminism: the same program gives the same bytes.
func TestDeterminism(t *testing.T) {
	first, err := c.Generate(kitchenSink(), c.Options{Name: "sink"})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		again, err := c.Generate(kitchenSink(), c.Options{Name: "sink"})
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range again.Files {
			if !bytes.Equal(f.Data, first.Files[i].Data) {
				t.Fatalf("%s differs", f.Name)
			}
		}
	}
}

// largeWeights is a program that negates weights: n numbers, and three bytes.
func largeWeights(n int) *native.Program {
	w := buffer("w", ir.Float32, native.Weight, sym.Int(int64(n)))
	w.Const = &native.Const{Name: "w", From: foreign.Of("w"), DType: ir.Float32}
	small := buffer("b", ir.Int8, native.Weight, sym.Int(3))
	small.Const = &native.Const{Name: "b", From: foreign.Of("b"), DType: ir.Int8,
		Data: []byte{1, 2, 3}}
	for i := range n {
		w.Const.Data = append(w.Const.Data, floats(float32(i))...)
	}
	out, out2 := buffer("out0", ir.Float32, native.Output, sym.Int(int64(n))), buffer("out1", ir.Int8,
		native.Output, sym.Int(3))
	kf := unaryKernel("neg", ir.Float32, expr.Neg)
	kf.Params[0] = kf.Loop.Syms[0]
	ki := unaryKernel("neg_i8", ir.Int8, expr.Neg)
	return &native.Program{Source: foreign.Of("w.pt2"), Kernels: []*native.Kernel{kf, ki},
		Consts: []*native.Const{small.Const, w.Const}, Methods: []*native.Method{{
			Name: foreign.Of("forward"), Outputs: []native.Port{port(out), port(out2)},
			Body: []native.Stmt{
				&native.Call{Kernel: kf, Args: []*native.Buffer{out, w},
					Ints: []sym.Expr{sym.Int(int64(n))}},
				&native.Call{Kernel: ki, Args: []*native.Buffer{out2, small},
					Ints: []sym.Expr{sym.Int(3)}},
			}}}}
}

// TestLargeWeights builds a package whose weights lie in a file of their own,
// from another directory, for every machine.
func TestLargeWeights(t *testing.T) {
	tier.Needs(t, tier.Normal)
	const n = 20000
	p := largeWeights(n)
	dir, pkg := generate(t, p, "large")
	if pkg.File("large_weights.bin") == nil || pkg.File("large_weights.S") == nil ||
		pkg.File("large_weights.c") != nil {
		t.Fatal("large weights are not in a file of their own")
	}
	strict(t, dir, pkg)
	main, stdin := mainText("large",
		[]step{{method: "large_forward", args: []string{"(float *)out[0]", "(int8_t *)out[1]"},
			out: []int{4 * n, 3}}}, "")
	for _, target := range []toolchain.Target{sanitized(), toolchain.Clang()} {
		got := run(t, dir, pkg, main, stdin, target)
		want := []byte{0}
		for i := range n {
			want = append(want, floats(-float32(i))...)
		}
		want = append(want, 0xff, 0xfe, 0xfd)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: wrong results", target.Name)
		}
	}
	for _, target := range []toolchain.Target{toolchain.CortexM4(), toolchain.RISCV32(),
		toolchain.GCC()} {
		objects, err := target.Compile(t.Context(), t.TempDir(),
			filepath.Join(dir, "large_weights.S"))
		if err != nil {
			t.Fatal(err)
		}
		image, err := toolchain.ReadELF(objects[0])
		if err != nil {
			t.Fatal(err)
		}
		want := []toolchain.Symbol{
			{Name: "large_b", Section: ".rodata.large_b", Size: 3, Global: true, Data: true},
			{Name: "large_w", Section: ".rodata.large_w", Size: 4 * n, Global: true, Data: true}}
		if !slices.Equal(image.Symbols, want) || image.Sizes().RAM() != 0 {
			t.Errorf("%s: %+v", target.Name, image)
		}
	}
	// Assembler is all that Mach-O needs: no system header is in it.
	for _, machine := range []string{"arm64-apple-macos", "x86_64-apple-macos"} {
		clang := toolchain.Clang()
		clang.Flags = []string{"-target", machine}
		objects, err := clang.Compile(t.Context(), t.TempDir(),
			filepath.Join(dir, "large_weights.S"))
		if err != nil {
			t.Fatal(err)
		}
		file, err := macho.Open(objects[0])
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		var names []string
		for _, s := range file.Symtab.Syms {
			if strings.HasPrefix(s.Name, "_") {
				names = append(names, fmt.Sprint(s.Name, " ", s.Value))
			}
		}
		slices.Sort(names)
		if want := []string{"_large_b 0", "_large_w 16"}; !slices.Equal(names, want) {
			t.Errorf("%s: symbols %q, want %q", machine, names, want)
		}
	}
}

// TestLargeWeightDeclarations: each weight has its element type and a symbol that
// --gc-sections drops where nothing reads it.
func TestLargeWeightDeclarations(t *testing.T) {
	const n = 20000
	p := largeWeights(n)
	dir, pkg := generate(t, p, "large")
	text := string(pkg.File("large.c"))
	for _, want := range []string{"extern const float large_w[20000];\n",
		"extern const int8_t large_b[3];\n", "large_neg(out0, large_w, 20000);"} {
		if !strings.Contains(text, want) {
			t.Errorf("large.c lacks %q", want)
		}
	}
	main := filepath.Join(dir, "only.c")
	reads := "extern const signed char large_b[3];\nint main(void) { return large_b[2] - 3; }\n"
	if err := os.WriteFile(main, []byte(reads), 0o600); err != nil {
		t.Fatal(err)
	}
	target := toolchain.GCC().With("-Wl,--gc-sections")
	out := filepath.Join(dir, "only")
	err := target.Build(t.Context(), t.TempDir(), out, main, filepath.Join(dir, "large_weights.S"))
	if err != nil {
		t.Fatal(err)
	}
	image, err := toolchain.ReadELF(out)
	if err != nil {
		t.Fatal(err)
	}
	if !image.Linked("large_b") || image.Linked("large_w") {
		t.Errorf("symbols %v", image.Symbols)
	}
}

// TestPlanComments: a tensor in the arena says where it lies and how long, in one line
// however long the names are.
func TestPlanComments(t *testing.T) {
	long := strings.Repeat("long_", 17)
	for _, test := range []struct{ name, op, want string }{
		{"a", "relu", "a [3, 4]: 48 bytes at 64, from model.py:1 relu to model.py:2 neg"},
		{"a", long, "a [3, 4]: 48 bytes at 64, from model.py:1 to model.py:2"},
		{long[:49], "relu", long[:49] + " [3, 4]: 48 bytes at 64, from relu to neg"},
		{long[:59], long, long[:59] + " [3, 4]: 48 bytes at 64"},
		{long, "relu", "48 bytes at 64"},
	} {
		a := buffer(test.name, ir.Float32, native.Arena, sym.Int(3), sym.Int(4))
		a.Offset = 64
		view := buffer("view", ir.Float32, native.Arena, sym.Int(4))
		view.Root, view.At = a, sym.Int(4)
		out := buffer("out", ir.Float32, native.Output, sym.Int(4))
		x := buffer("x", ir.Float32, native.Input, sym.Int(12))
		k := unaryKernel("neg", ir.Float32, expr.Neg)
		k.Params[0] = k.Loop.Syms[0]
		p := &native.Program{Source: foreign.Of("a.pt2"), Kernels: []*native.Kernel{k},
			Methods: []*native.Method{{Name: foreign.Of("forward"),
				Inputs: []native.Port{port(x)}, Outputs: []native.Port{port(out)},
				Body: []native.Stmt{
					&native.Call{Kernel: k, Args: []*native.Buffer{a, x},
						Ints: []sym.Expr{sym.Int(12)}, From: at(1, test.op)},
					&native.Call{Kernel: k, Args: []*native.Buffer{out, view},
						Ints: []sym.Expr{sym.Int(4)}, From: at(2, "neg")}}}}}
		pkg, err := c.Generate(p, c.Options{Name: "net"})
		if err != nil {
			t.Fatal(err)
		}
		text := string(pkg.File("net.c"))
		if !strings.Contains(text, "\n    /* "+test.want+" */\n    float *") {
			t.Errorf("no comment %q in\n%s", test.want, text[strings.Index(text, "net_forward"):])
		}
	}
}

// TestErrors: what cannot be printed is an error that says why.
func TestErrors(t *testing.T) {
	for _, name := range []string{"", "3d", "my-net", "for", "class"} {
		if _, err := c.Generate(kitchenSink(), c.Options{Name: name}); err == nil {
			t.Errorf("the name %q is accepted", name)
		}
	}
	p := kitchenSink()
	p.Methods[0].Inputs[1].Type.Sizes = sizes(4)
	p.Methods[0].Inputs[0].Type.Sizes = []sym.Expr{sym.Mod(p.Methods[0].Symbols[0].Expr(),
		sym.Int(3)), sym.Int(4)}
	if _, err := c.Generate(p, c.Options{Name: "sink"}); err == nil ||
		!strings.Contains(err.Error(), "size s0 does not follow") {
		t.Errorf("got %v", err)
	}
	p = kitchenSink()
	p.Methods[0].Inputs[0].Buf.DType = ir.Complex64
	if _, err := c.Generate(p, c.Options{Name: "sink"}); err == nil ||
		!strings.Contains(err.Error(), "complex64") {
		t.Errorf("got %v", err)
	}
}
