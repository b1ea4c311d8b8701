package tuned_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/templates/c"
)

// batch is a C program that runs many trials: a kernel of its own for each
// set of constant integers, and shared ones that take them as parameters.
type batch struct {
	code, bodies, calls strings.Builder // kernels, functions that call them, calls of those
	seen                map[string]bool
	added               int    // calls
	input               []byte // what the program reads: every buffer in order
	outputs             int    // floats the program writes
}

const prologue = `#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline float ep_relu(float t) { return %s; }
static inline float ep_clamp(float t) { return %s; }
static inline float ep_residual(float t, int32_t o, const float *e) { return %s; }
static inline float ep_scale(float t, int32_t c, const float *e) { return %s; }

`

func newBatch() *batch {
	b := &batch{seen: map[string]bool{}}
	var texts []any
	for _, e := range epilogues()[1:] {
		texts = append(texts, e.c)
	}
	fmt.Fprintf(&b.code, prologue, texts...)
	return b
}

// kernel returns the text of tr's kernel as a function called name. With
// params its integers are parameters, else constants.
func (tr *trial) kernel(t testing.TB, name string, params bool) string {
	t.Helper()
	in := tr.in
	k := &c.Kernel{Index: "int32_t", Known: map[string]int64{}, Rows: in.Tile.Rows,
		Cols: in.Tile.Cols, Vector: in.Tile.Vector, Func: inLibrary}
	list := []string{"float *y"}
	for _, s := range in.Slots() {
		switch s.Kind {
		case tuned.Operand:
			list = append(list, "const "+tr.element(s.Index)+" *"+s.Name)
		case tuned.PackedConstant:
			list = append(list, "const "+tr.element(len(in.Operands)+s.Index)+" *"+s.Name)
		}
	}
	if len(tr.extra) > 0 {
		list = append(list, "const float *e")
	}
	if !in.Scratch.IsZero() {
		list = append(list, "void *scratch")
	}
	given := tr.integers(t, k, params)
	for _, name := range given {
		list = append(list, "int32_t "+name)
	}
	head := strings.TrimSpace(in.FormHead()+" static void ") + " " + name + "(" +
		strings.Join(list, ", ") + ")\n"
	if e := tr.epilogue; e != nil {
		k.Result = c.Result{Name: "ep_" + e.name, Args: []string{"acc"}}
		switch {
		case e.perResult:
			k.Result.Args = []string{"acc", "o", "e"}
		case e.channel:
			k.Result.Args = []string{"acc", "channel", "e"}
		}
	}
	body := withKnown(text(t, in.Name(), k), k)
	tr.used = k.Used
	used := ""                   // behind pragmas, which begin a block
	for _, name := range given { // the printer leaves out parameters without a use
		used += "    (void)" + name + ";\n"
	}
	end := strings.LastIndex(body, "}")
	return head + body[:end] + used + body[end:]
}

// integers gives k the fields that are constants, and returns the names of the others:
// with params, all that the text may not depend on.
func (tr *trial) integers(t testing.TB, k *c.Kernel, params bool) (given []string) {
	t.Helper()
	ints := tr.ints(t)
	for i, f := range tr.in.Kernel.Descriptor.Fields {
		if params && !f.Form {
			given = append(given, f.Name)
		} else {
			k.Known[f.Name] = ints[i]
		}
	}
	return given
}

// withKnown returns a text with declarations of the constants that it uses.
func withKnown(body string, k *c.Kernel) string {
	var list []string
	for _, name := range sorted(k.Known) {
		if k.Used[name] {
			list = append(list, fmt.Sprintf("const int32_t %s = %d;", name, k.Known[name]))
		}
	}
	return k.WithIntegers(body, list)
}

func text(t testing.TB, name string, k *c.Kernel) string {
	t.Helper()
	s, err := c.Text(name, k)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// withHelpers returns the text of a kernel behind the helpers it needs that the
// program does not have yet.
func (b *batch) withHelpers(t testing.TB, tr *trial, body string) string {
	t.Helper()
	out, tile := "", tr.in.Tile
	for _, h := range c.HelpersFor(tr.used, tile.Vector) {
		if !b.seen[h] {
			b.seen[h] = true
			out += text(t, h, &c.Kernel{Index: "int32_t", Rows: tile.Rows, Cols: tile.Cols,
				Vector: tile.Vector, Func: inLibrary, Used: allNames()}) + "\n"
		}
	}
	return out + body
}

// allNames says that all macros are used.
func allNames() map[string]bool {
	used := map[string]bool{}
	for _, name := range c.Names() {
		used[name] = true
	}
	return used
}

// inLibrary returns the name of a float32 function of the C library.
func inLibrary(name string) string { return name + "f" }

// element is the C type of the elements of input i.
func (tr *trial) element(i int) string {
	if i < len(tr.in.Operands) && tr.operands[tr.in.Operands[i]].DType == ir.Bool {
		return "uint8_t"
	}
	if k := i - len(tr.in.Operands); k >= 0 && k < len(tr.in.Packed) {
		switch tr.in.Packed[k].DType {
		case ir.Int8:
			return "int8_t"
		case ir.Int32:
			return "int32_t"
		}
	}
	return "float"
}

// add adds a call of tr's kernel, in a function of its own: compilers take twice
// as long for one function with all of them.
func (b *batch) add(t testing.TB, tr *trial, params bool) {
	epilogue := "plain"
	if tr.epilogue != nil {
		epilogue = tr.epilogue.name
	}
	name := tr.in.Name() + "_" + epilogue
	ints := tr.ints(t)
	for i, f := range tr.in.Kernel.Descriptor.Fields {
		if f.Form {
			name += fmt.Sprint("_", ints[i])
		}
	}
	if !params {
		name += fmt.Sprintf("_%d", len(b.seen))
	}
	if !b.seen[name] {
		b.seen[name] = true
		b.code.WriteString(b.withHelpers(t, tr, tr.kernel(t, name, params)+"\n"))
	}
	buffers := tr.inputs()
	if len(tr.extra) > 0 {
		buffers = append(buffers, tr.extra)
	}
	fmt.Fprintf(&b.bodies,
		"static __attribute__((noinline)) void trial_%d(void)\n{\n    float *y = take(%d)", b.added,
		len(tr.want))
	args := []string{"y"}
	for i, x := range buffers {
		fmt.Fprintf(&b.bodies, ", *b%d = load(%d)", i, len(x))
		args = append(args, fmt.Sprintf("(const %s *)b%d", tr.element(i), i))
		for _, f := range x {
			b.input = binary.LittleEndian.AppendUint32(b.input, math.Float32bits(f))
		}
	}
	b.bodies.WriteString(";\n")
	if n := tr.number(t, tr.in.Scratch); n > 0 {
		fmt.Fprintf(&b.bodies, "    void *scratch = take(%d);\n", (n+3)/4)
		args = append(args, "scratch")
	}
	if params {
		for i, f := range tr.in.Kernel.Descriptor.Fields {
			if !f.Form {
				args = append(args, fmt.Sprint(ints[i]))
			}
		}
	}
	fmt.Fprintf(&b.bodies, "    %s(%s);\n    put(y, %d);\n}\n\n", name, strings.Join(args, ", "),
		len(tr.want))
	fmt.Fprintf(&b.calls, "    trial_%d();\n", b.added)
	b.added++
	b.outputs += len(tr.want)
}

const support = `static FILE *in, *out;
static void *blocks[100000];
static int used;

/* exactly n floats, so that a sanitizer sees every access outside */
static float *take(size_t n)
{
    float *p = (float *)malloc(n * sizeof(float) + (n == 0));
    blocks[used++] = p;
    for (size_t i = 0; i < n; i++) p[i] = 1e30f;
    return p;
}

static float *load(size_t n)
{
    float *p = take(n);
    if (fread(p, sizeof(float), n, in) != n) exit(3);
    return p;
}

static void put(const float *p, size_t n)
{
    if (fwrite(p, sizeof(float), n, out) != n) exit(4);
    while (used > 0) free(blocks[--used]);
}

`

const program = `int main(int argc, char **argv)
{
    if (argc != 3 || !(in = fopen(argv[1], "rb")) || !(out = fopen(argv[2], "wb"))) return 2;
%s    return fclose(out) != 0;
}
`

// write writes the program and its input to dir.
func (b *batch) write(t testing.TB, dir string) string {
	t.Helper()
	source := filepath.Join(dir, "trials.c")
	code := b.code.String() + support + b.bodies.String() + fmt.Sprintf(program, b.calls.String())
	if err := os.WriteFile(source, []byte(code), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "in.bin"), b.input, 0o666); err != nil {
		t.Fatal(err)
	}
	return source
}

// run builds the program for a target and returns what it writes.
func (b *batch) run(t testing.TB, target toolchain.Target) []float32 {
	t.Helper()
	dir := t.TempDir()
	exe := filepath.Join(dir, "trials")
	if err := target.Build(t.Context(), dir, exe, b.write(t, dir)); err != nil {
		t.Fatal(err)
	}
	command := target.Command(exe)
	output, err := exec.CommandContext(t.Context(), command[0],
		append(command[1:], filepath.Join(dir, "in.bin"),
			filepath.Join(dir, "out.bin"))...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	data, err := os.ReadFile(filepath.Join(dir, "out.bin"))
	if err != nil {
		t.Fatal(err)
	}
	if len(data) != 4*b.outputs {
		t.Fatalf("%d bytes written, want %d", len(data), 4*b.outputs)
	}
	return floats(data)
}

// trialsOf are calls for every kernel of a target.
func trialsOf(r *rand.Rand, target tuned.Target, count int) map[string][]*trial {
	linear, matmul := "linear_f32", "matmul_f32"
	if target.Language == tuned.Go || tuned.ChannelsLast(target) {
		linear, matmul = "linear_rows_f32", "matmul_rows_f32"
	}
	sets := map[string][]*trial{linear: linearTrials(r, count), matmul: matmulTrials(r, count)}
	switch {
	case target.Language == tuned.C && !target.Machine.Tile.Vector && target.Machine.Floats:
		sets["mixed_linear_f32"] = mixedTrials(r, count, 1)
	case target.Language == tuned.C && tuned.Wide(target):
		sets["mixed_linear_rows_f32"] = mixedTrials(r, count, 8)
	}
	if target.Language == tuned.Go {
		sets["max_pool2d_f32"], sets["avg_pool2d_f32"] = poolTrials(r, count, false, false),
			poolTrials(r, count, true, false)
		sets["max_pool2d_f32 planes"] = poolTrials(r, count, false, true)
		sets["groups_rows"] = groupsTrials(r, count)
	}
	if tuned.ChannelsLast(target) {
		sets["winograd_f32"] = winogradTrials(r, min(count, 10))
	}
	for _, k := range tuned.Standard() {
		if strings.HasSuffix(k.Name, "_i8") {
			continue // see byteTrials
		}
		if k.Composite && tuned.ChannelsLast(target) {
			for _, form := range []string{"", " added", " kept"} {
				sets[k.Name+form] = attentionTrials(r, count, k.Name+form)
			}
		}
		convolution := strings.Contains(k.Name, "conv2d") || strings.HasPrefix(k.Name, "depthwise")
		layouts := strings.Contains(k.Name, "_rows") || strings.Contains(k.Name, "_few") ||
			strings.Contains(k.Name, "_edges")
		if !target.Language.Has(k) {
			continue
		}
		if strings.HasPrefix(k.Name, "mixed") && !target.Machine.Tile.Vector {
			convolution = convolution || strings.Contains(k.Name, "_depthwise")
		} else if strings.HasPrefix(k.Name, "mixed") {
			continue
		}
		eights := threes(target) && slices.Contains(k.Forms, depthwiseEights)
		if !convolution || layouts && !tuned.ChannelsLast(target) && !eights {
			continue
		}
		forms := append([]string{k.Name}, k.Forms...)
		if eights {
			forms = []string{depthwiseEights}
		}
		if k.Name == "depthwise_rows_f32" && target.Language == tuned.Go {
			forms = []string{"depthwise_lanes_f32"}
		}
		if k.Descriptor.Field("channels_inner") != nil {
			forms = append(forms, k.Name+" planes")
		}
		if k.Name == "conv2d_rows_f32" {
			forms = append(forms, k.Name+" inner")
		}
		for _, form := range forms {
			if strings.Contains(form, "_mve") { // golden/boards runs them
				continue
			}
			if (form == depthwiseThree || form == depthwiseEights) && !threes(target) {
				continue
			}
			if !target.Language.CopiesPadding || !strings.Contains(k.Name, "_edges") {
				sets[form] = convTrials(r, target, count, form)
			}
			if (k.Name == "conv2d_rows_f32" || strings.Contains(k.Name, "_edges")) &&
				!strings.HasSuffix(form, " inner") {
				sets[form] = append(sets[form], transposedTrials(r, count, form)...)
			}
		}
	}
	if gather := "conv2d_rows_f32 inner"; sets[gather] != nil {
		sets[gather] = append([]*trial{twoColumns()}, sets[gather]...)
	}
	return sets
}

// TestC runs trials through the C forms, with vectors and without, under
// several compilers. Each has trials of its own, sanitizers the most; with five, each
// kernel has every epilogue, one of them with its integers as constants.
func TestC(t *testing.T) {
	t.Parallel()
	tier.Needs(t, tier.Normal)
	native := []string{"-O3", "-march=native"}
	for i, run := range []struct {
		compiler    toolchain.Target
		target      string
		normal, all int // trials of a kernel
	}{
		{toolchain.GCC().With(toolchain.Sanitizers()...).Named("gcc sanitized"), "generic", 8, 20},
		{toolchain.GCC().With(toolchain.Sanitizers()...).Named("gcc sanitized"), "cortex-m4", 8,
			20},
		{toolchain.GCC().With(native...).Named("gcc native"), "generic", 5, 10},
		{toolchain.GCC().With("-mavx2", "-mfma").Named("gcc avx2"), "generic", 1, 10},
		{toolchain.Clang().With(native...).Named("clang native"), "generic", 2, 10},
		{toolchain.NEON(), "generic", 3, 10},
		{toolchain.Clang(), "generic", 1, 10},
		{toolchain.Clang(), "cortex-m4", 3, 10},
		{toolchain.Clang().With("-O0").Named("clang -O0"), "cortex-m0", 5, 10},
		{toolchain.GXX().With("-O1").Named("g++ -O1"), "generic", 3, 10},
		{toolchain.ClangXX(), "cortex-m4", 1, 10},
	} {
		count := tier.Of(0, run.normal, run.all)
		if count == 0 {
			continue
		}
		t.Run(run.compiler.Name+" "+run.target, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(3, uint64(i)))
			all := epilogues()
			b := newBatch()
			target := tuned.Target{Language: tuned.C, Machine: machine(run.target), Speed: true}
			sets := trialsOf(r, target, count)
			var done []*trial
			for _, kernel := range sorted(sets) {
				for i, tr := range sets[kernel] {
					tr.epilogue = all[i%len(all)]
					if !tr.prepare(t, r, target) || tr.in.Name() != kernelOf(kernel) {
						t.Fatalf("%s: not taken by %s", tr.name, kernel)
					}
					b.add(t, tr, i%7 != 0)
					done = append(done, tr)
				}
			}
			got := b.run(t, run.compiler)
			for _, tr := range done {
				tr.check(t, got[:len(tr.want)])
				got = got[len(tr.want):]
			}
		})
	}
}

func sorted[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// object compiles kernels for target, once each with parameters, and returns
// the object file.
func object(t testing.TB, compiler toolchain.Target, target tuned.Target,
	kernels ...string) string {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	sets := trialsOf(r, target, 1)
	b := newBatch()
	var text strings.Builder
	text.WriteString("#include <stddef.h>\n#include <stdint.h>\n\n")
	for _, k := range kernels {
		tr := sets[k][0]
		if !tr.prepare(t, r, target) {
			t.Fatalf("%s: not taken", tr.name)
		}
		body := strings.Replace(tr.kernel(t, "run_"+k, true), "static void run_", "void run_", 1)
		text.WriteString(b.withHelpers(t, tr, body))
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "kernels.c")
	if err := os.WriteFile(source, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	objects, err := compiler.Compile(t.Context(), dir, source)
	if err != nil {
		t.Fatal(err)
	}
	return objects[0]
}

// TestFusedMultiplyAdd counts the instructions that gcc does not emit unless
// told under -std=c99.
func TestFusedMultiplyAdd(t *testing.T) {
	t.Parallel()
	tier.Needs(t, tier.Normal)
	for _, c := range []struct {
		compiler    toolchain.Target
		objdump     string
		target      string
		instruction string
		want        int // at least: one for every sum of the tiles
	}{
		{toolchain.GCC().With("-mavx2", "-mfma"), "objdump", "generic", `\bvfn?m(add|sub)\w*ps\b`,
			12},
		{toolchain.GCC().With("-O3", "-mavx2", "-mfma"), "objdump", "generic",
			`\bvfn?m(add|sub)\w*ps\b`, 12},
		{toolchain.Clang().With("-mavx2", "-mfma"), "objdump", "generic", `\bvfn?m(add|sub)\w*ps\b`,
			12},
		{toolchain.CortexM4(), "arm-none-eabi-objdump", "cortex-m4", `\bvfma\.f32\b`, 16},
		{toolchain.CortexM4().With("-Os"), "arm-none-eabi-objdump", "cortex-m4",
			`\bvfma\.f32\b`, 16},
	} {
		t.Run(c.compiler.Name+" "+strings.Join(c.compiler.Flags[max(0, len(c.compiler.Flags)-3):],
			" "), func(t *testing.T) {
			kernels := map[string]int{"linear_f32": c.want, "conv2d_f32": c.want,
				"depthwise_conv2d_f32": 1}
			if c.target == "generic" {
				kernels["linear_rows_f32"], kernels["matmul_rows_f32"], kernels["winograd_f32"] =
					c.want, c.want, c.want
			}
			for kernel, want := range kernels {
				o := object(t, c.compiler, tuned.Target{Language: tuned.C, Machine: machine(c.target),
					Speed: strings.Contains(kernel, "_rows") || kernel == "winograd_f32"}, kernel)
				out, err := exec.CommandContext(t.Context(), c.objdump, "-d", o).Output()
				if err != nil {
					t.Fatal(err)
				}
				if n := len(regexp.MustCompile(c.instruction).FindAll(out, -1)); n < want {
					t.Errorf("%s has %d fused multiply-adds, want %d or more", kernel, n, want)
				}
			}
		})
	}
}

// TestCodeSize bounds what the kernels of a small convolutional network take.
func TestCodeSize(t *testing.T) {
	for _, c := range []struct {
		compiler toolchain.Target
		target   string
		most     uint64 // bytes
	}{
		{toolchain.CortexM4(), "cortex-m4", 3650},
		{toolchain.CortexM4().With("-Os"), "cortex-m4", 2900},
		{toolchain.CortexM0().With("-Os"), "cortex-m0", 2500},
		{toolchain.RISCV32().With("-Os"), "riscv32", 3000},
	} {
		o := object(t, c.compiler, tuned.Target{Language: tuned.C, Machine: machine(c.target)},
			"conv2d_f32", "depthwise_conv2d_f32", "linear_f32")
		image, err := toolchain.ReadELF(o)
		if err != nil {
			t.Fatal(err)
		}
		n := image.Sizes().Text
		t.Logf("%s: %d bytes", c.target, n)
		if n > c.most {
			t.Errorf(
				"convolution, depthwise convolution and linear take %d bytes on %s, want %d at most", n,
				c.target, c.most)
		}
		if names := image.DoubleHelpers(); len(names) > 0 {
			t.Errorf("%s computes in double: %v", c.target, names)
		}
		for _, name := range image.Undef {
			if strings.HasPrefix(name, "mem") {
				t.Errorf("%s needs %s", c.target, name)
			}
		}
	}
}
