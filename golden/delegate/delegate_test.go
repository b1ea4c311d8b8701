package delegate

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/raise"
	"github.com/etgen/etgen/rt"
	"github.com/etgen/etgen/rt/optimize"
	"github.com/etgen/etgen/rt/portable"
)

// want is what every way prints: -x*2.5 + bias + 3 + (-x + 7 + 3), and the image with the places of
// its elements added as they lie in memory, where its two channels lie last.
const want = "9.5 30 0.5 12.25 1 4 7 10 6 9 12 15 "

func floats(xs ...float32) ir.Bytes {
	var b ir.Bytes
	for _, x := range xs {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// program has three delegates: one in the middle with two results and a number, one with an image
// whose channels lie last, and one that nobody calls.
func program() *pte.Program {
	plan := &pte.ExecutionPlan{Name: "forward", BufferSizes: []int64{0, 256}}
	value := func(v pte.EValue) int32 {
		plan.Values = append(plan.Values, v)
		return int32(len(plan.Values) - 1)
	}
	at := func(offset uint64, order []uint8, sizes ...int32) int32 {
		return value(&pte.Tensor{ScalarType: 6, Sizes: sizes, DimOrder: order,
			Allocation: &pte.Allocation{MemoryID: 1, Offset: offset}})
	}
	row, rows, last := []uint8{0}, []uint8{0, 1, 2, 3}, []uint8{0, 2, 3, 1}
	x, y, a, b, sum := at(0, row, 4), at(16, row, 4), at(32, row, 4), at(48, row, 4), at(64, row, 4)
	image, wide := at(80, rows, 1, 2, 2, 2), at(112, last, 1, 2, 2, 2)
	placed, shown := at(144, last, 1, 2, 2, 2), at(176, rows, 1, 2, 2, 2)
	one, seven, no := value(pte.Int(1)), value(pte.Int(7)), value(pte.Bool(false))
	order := func(dims []uint8) int32 {
		var list pte.IntList
		for _, d := range dims {
			list = append(list, int64(value(pte.Int(d))))
		}
		return value(list)
	}
	plan.Operators = []pte.Operator{{Name: "aten::neg", Overload: "out"},
		{Name: "aten::add", Overload: "out"},
		{Name: "dim_order_ops::_to_dim_order_copy", Overload: "out"}}
	specs := []ir.CompileSpec{{Key: "offset", Value: []byte{3}}}
	plan.Delegates = []pte.Delegate{
		{ID: "Unused", Processed: ir.Bytes("nothing")},
		{ID: ID, Processed: ir.Bytes("affine 2.5"), Specs: specs},
		{ID: ID, Processed: ir.Bytes("index")},
	}
	plan.Chains = []*pte.Chain{{Instructions: []pte.Instruction{
		pte.KernelCall{Op: 0, Args: []int32{x, y, y}},
		pte.DelegateCall{Delegate: 1, Args: []int32{y, seven, a, b}},
		pte.KernelCall{Op: 1, Args: []int32{a, b, one, sum, sum}},
		pte.KernelCall{Op: 2, Args: []int32{image, no, order(last), wide, wide}},
		pte.DelegateCall{Delegate: 2, Args: []int32{wide, placed}},
		pte.KernelCall{Op: 2, Args: []int32{placed, no, order(rows), shown, shown}},
	}}}
	plan.Inputs, plan.Outputs = []int32{x, image}, []int32{sum, shown}
	return &pte.Program{Plans: []*pte.ExecutionPlan{plan}, Constants: []ir.Blob{nil},
		Named: []ir.NamedData{{Key: "bias", Data: floats(0, 10, -2, 1)}}}
}

// events notes what it is told.
type events struct{ seen []string }

func (e *events) Begin(x *rt.Event) {
	if x.Delegate != "" || strings.Contains(x.Op, "elegate") {
		e.seen = append(e.seen, x.Op)
	}
}
func (e *events) End(*rt.Event, error) {}

// The runtime calls the backend, whether it interprets the method or has compiled what is around
// its delegates. The tracer is told of the delegate's own events within its call.
func TestRT(t *testing.T) {
	interpreted := []string{"DelegateCall ExampleNpu", "ExampleNpu 0", "ExampleNpu 1",
		"DelegateCall ExampleNpu", "ExampleNpu 0"}
	compiled := slices.Clone(interpreted)
	compiled[0], compiled[3] = ir.CallDelegate, ir.CallDelegate
	runRT(t, nil, interpreted)
	runRT(t, optimize.With(optimize.Options{Strict: true}), compiled)
}

// load writes a program and has rt load it.
func load(t *testing.T, program *pte.Program) *rt.Program {
	t.Helper()
	var file bytes.Buffer
	if err := pte.Write(&file, program); err != nil {
		t.Fatal(err)
	}
	p, err := rt.Load(bytes.NewReader(file.Bytes()), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func runRT(t *testing.T, optimizer rt.Optimizer, wantEvents []string) {
	t.Helper()
	p := load(t, program())
	seen, profile := &events{}, rt.NewProfile(nil)
	options := &rt.MethodOptions{Registry: portable.Registry(), Tracer: seen, Optimize: optimizer,
		Backends: map[string]rt.Backend{ID: Backend{}}}
	m, err := p.LoadMethod("forward", options)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		seen.seen = nil
		call(t, m)
	}
	if diff := cmp.Diff(wantEvents, seen.seen); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	options.Tracer = profile
	if m, err = p.LoadMethod("forward", options); err != nil {
		t.Fatal(err)
	}
	call(t, m)
	calls := map[string]int64{}
	for _, op := range profile.Ops() {
		calls[op.Op] = op.Calls
	}
	if calls[wantEvents[0]] != 2 || calls["ExampleNpu 0"] != 2 || calls["ExampleNpu 1"] != 1 {
		t.Errorf("the profile has %v", calls)
	}
}

// call executes the method and checks its results.
func call(t *testing.T, m *rt.Method) {
	t.Helper()
	for i, x := range []struct {
		sizes []int64
		data  ir.Bytes
	}{{[]int64{4}, floats(1, -2, 3, 0.5)}, {[]int64{1, 2, 2, 2}, floats(1, 2, 3, 4, 5, 6, 7, 8)}} {
		v, err := rt.NewTensor(ir.Float32, x.sizes, nil, x.data)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.SetInput(i, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for i := range 2 {
		data := m.Output(i).Tensor.Data
		for k := range len(data) / 4 {
			fmt.Fprintf(&got, "%g ", get(data, k))
		}
	}
	if got.String() != want {
		t.Errorf("got %q, want %q", got.String(), want)
	}
}

// generate compiles the program to a package called net.
func generate(t *testing.T, file *pte.Program, opt compile.Options) *codegen.Package {
	t.Helper()
	p, err := raise.Program(file, "net.pte", ops.Standard())
	if err != nil {
		t.Fatal(err)
	}
	opt.Name = "net"
	pkg, err := compile.Package(p, opt)
	if err != nil {
		t.Fatal(err)
	}
	return pkg
}

// runC compiles the package and other files of C, and returns what they print.
func runC(t *testing.T, file *pte.Program, target toolchain.Target, opt compile.Options,
	sources ...string) string {
	t.Helper()
	if err := toolchain.FindAll(target.Compiler, nil); err != nil {
		t.Skip(err)
	}
	opt.Lang = "c"
	return runPackage(t, generate(t, file, opt), target, opt, sources...)
}

// runPackage is runC of a package that is compiled already.
func runPackage(t *testing.T, pkg *codegen.Package, target toolchain.Target, opt compile.Options,
	sources ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := pkg.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, f := range pkg.Files {
		if ext := filepath.Ext(f.Name); ext == ".c" || ext == ".S" {
			files = append(files, filepath.Join(dir, f.Name))
		}
	}
	for _, s := range sources {
		path, err := filepath.Abs(s)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	exe := filepath.Join(dir, "app.exe")
	target = target.With("-I"+dir, "-std=c11")
	if err := target.Build(t.Context(), dir, exe, files...); err != nil {
		t.Fatal(err)
	}
	if name := opt.Sections[codegen.PayloadsSection]; name != "" {
		f, err := elf.Open(exe)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if s := f.Section(name); s == nil || s.Size < uint64(len("affine 2.5")+len("index")+16) {
			t.Errorf("section %s is %v", name, s)
		}
	}
	out, err := exec.Command(exe).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// The C package calls the driver that is linked; without one, init passes and the method fails
// with a status. Payloads are in arrays or in a file, in a section of their own.
func TestC(t *testing.T) {
	for _, weights := range codegen.WeightForms[:2] {
		opt := compile.Options{Weights: weights, Sections: map[codegen.SectionKind]string{
			codegen.PayloadsSection: ".npu"}}
		sanitized := toolchain.GCC().With(toolchain.Sanitizers()...)
		if got := runC(t, program(), sanitized, opt, "c/main.c", "c/driver.c"); got != want+"\n" {
			t.Errorf("%s: it prints %q, want %q", weights, got, want)
		}
	}
	if got := runC(t, program(), toolchain.GCC(), compile.Options{},
		"c/main.c"); got != "forward fails with 1\n" {
		t.Errorf("without a driver it prints %q", got)
	}
}

// Separate models have delegates of their own, which one driver runs; kernels without delegates
// are there once.
func TestSeparate(t *testing.T) {
	other := program()
	other.Plans[0].Delegates[1].Processed = ir.Bytes("affine 3.5")
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "net.pte"), filepath.Join(dir, "other.pte")}
	for i, program := range []*pte.Program{program(), other} {
		var file bytes.Buffer
		err := errors.Join(pte.Write(&file, program), os.WriteFile(paths[i], file.Bytes(), 0o666))
		if err != nil {
			t.Fatal(err)
		}
	}
	p, closer, err := compile.ReadMethods(compile.Named(paths...), false)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	opt := compile.Options{Lang: "c", Name: "both", Separate: true}
	pkg, err := compile.Package(p, opt)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(pkg.File("both.c"), []byte("both_neg(")); n != 1 {
		t.Errorf("%d kernels that negate are in both.c", n)
	}
	target := toolchain.GCC().With(toolchain.Sanitizers()...)
	const wants = want + "\n" + "8.5 32 -2.5 11.75 1 4 7 10 6 9 12 15 \n"
	if got := runPackage(t, pkg, target, opt, "c/two.c", "c/driver.c"); got != wants {
		t.Errorf("it prints %q, want %q", got, wants)
	}
	if got := runPackage(t, pkg, target, opt, "c/two.c"); got != "net fails\n" {
		t.Errorf("without a driver it prints %q", got)
	}
}

// The Go package calls the backends that New is given.
func TestGo(t *testing.T) {
	const wants = want + `
true net: no backend for lowered_module_1, which ExampleNpu runs
false net: delegate lowered_module_1: no device
net: delegate lowered_module_1: its backend panicked: run
`
	if got := runGo(t, program(), "driver.go.txt", "main.go.txt"); got != wants {
		t.Errorf("it prints\n%s\nwant\n%s", got, wants)
	}
}

// runGo compiles a program to a package and other files of Go, and returns what they print.
func runGo(t *testing.T, file *pte.Program, sources ...string) string {
	t.Helper()
	dir := t.TempDir()
	pkg := generate(t, file, compile.Options{Lang: "go"})
	if err := pkg.Write(t.Context(), filepath.Join(dir, "net")); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"go.mod": "module example.com/app\n\ngo 1.24\n"}
	for _, s := range sources {
		text, err := os.ReadFile(s)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimSuffix(s, ".txt")] = string(text)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", ".")
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GOWORK=off", "GOFLAGS=-trimpath")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
