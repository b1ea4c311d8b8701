package tuned_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/samples"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/templates/c"
)

// winogradTrials are convolutions that tiles are carried to points for, of either
// size, with one block of them or several, partly outside of the image.
func winogradTrials(r *rand.Rand, count int) []*trial {
	var out []*trial
	for i := 0; len(out) < count; i++ {
		x := []int64{1, 16, pick[int64](r, 12, 13, 16), pick[int64](r, 13, 14, 16, 21)}
		w := []int64{pick[int64](r, 16, 24, 32, 33), x[1], 3, 3}
		pad := []int64{pick[int64](r, 0, 1, 1, 2, 5), pick[int64](r, 0, 1, 1, 2, 5)}
		after := []int64{pad[0], pad[1]}
		if i%8 == 3 { // small tiles
			x[1], x[2], x[3], w[0], w[1] = 32, 6, 6, 32, 32
			pad, after = []int64{1, 1}, []int64{1, 1}
		}
		if i%8 == 1 { // more tiles than a block has
			x[1], x[2], x[3], w[0], w[1] = 144, 28, 29, 16, 144
		}
		if i%5 == 4 {
			x[0] = 2
		}
		if i%4 == 2 {
			after = []int64{r.Int64N(3), 1 + r.Int64N(2)}
		}
		tr := &trial{op: ops.PaddedConvolution, by: "winograd_f32", syms: map[*sym.Symbol]int64{},
			xOrder: []int{0, 2, 3, 1}, yOrder: []int{0, 2, 3, 1},
			name:     fmt.Sprintf("tiles %d: x %d, w %d, padding %d and %d", i, x, w, pad, after),
			constant: []bool{false, true, true}}
		input := static(x...)
		if i%5 == 4 {
			s := sym.NewSymbol("s", 1, 64)
			tr.syms[s] = x[0]
			input = operand(append([]sym.Expr{s.Expr()}, ir.Ints(x[1:])...)...)
		}
		var bias any
		if i%3 > 0 {
			bias = static(w[0])
		}
		tr.sample = samples.NewSample("input", input, "weight", static(w...), "bias", bias, "stride",
			[]int64{1, 1}, "dilation", []int64{1, 1},
			"groups", int64(1), "before", pad, "after", after)
		out = append(out, tr)
	}
	return out
}

// TestWinogradParts compiles the kernel for threads and runs its parts one after
// the other: results are those of the whole to the bit, in any number of parts.
func TestWinogradParts(t *testing.T) {
	t.Parallel()
	tier.Needs(t, tier.Normal)
	r := rand.New(rand.NewPCG(9, 10))
	target := tuned.Target{Language: tuned.C, Machine: machine("generic"), Speed: true}
	b := newBatch()
	var want []*trial
	const most = 40 // more than there are tiles in a block of the small ones
	for i, tr := range winogradTrials(r, 5) {
		if !tr.prepare(t, r, target) {
			t.Fatalf("%s: not taken", tr.name)
		}
		whole := tr.kernel(t, fmt.Sprintf("whole_%d", i), false)
		b.code.WriteString(b.withHelpers(t, tr, whole))
		k := &c.Kernel{Index: "int32_t", Known: map[string]int64{}, Rows: tr.in.Tile.Rows,
			Cols: tr.in.Tile.Cols, Vector: true,
			Phase: "tiles"}
		tr.integers(t, k, false)
		head, _, _ := strings.Cut(whole, "\n")
		head = strings.Replace(strings.Replace(head, "whole_", "part_", 1), "void *scratch)",
			"void *scratch, int32_t part, int32_t parts)", 1)
		b.code.WriteString(head + "\n" + withKnown(text(t, tr.in.Name(), k), k))
		n, scratch := len(tr.want), tr.number(t, tr.in.Scratch)/4
		buffers := tr.inputs()
		fmt.Fprintf(&b.calls,
			"    {\n        float *x = load(%d), *w = load(%d), *bias = load(%d), *y = take(%d), "+
				"*z = take(%d);\n",
			len(buffers[0]), len(buffers[1]), len(buffers[2]), n, n)
		for _, x := range buffers {
			for _, f := range x {
				b.input = binary.LittleEndian.AppendUint32(b.input, math.Float32bits(f))
			}
		}
		next := "+= 1"
		if n > 10_000 { // a large one
			next = "+= parts"
		}
		fmt.Fprintf(&b.calls,
			"        void *scratch = take(%d);\n        whole_%d(y, x, w, bias, scratch);\n",
			scratch, i)
		fmt.Fprintf(&b.calls,
			"        for (int32_t parts = 1; parts <= %d; parts %s) {\n            for (int k = 0; k < "+
				"%d; k++) z[k] = 0;\n", most, next, n)
		fmt.Fprintf(&b.calls,
			"            for (int32_t part = 0; part < parts; part++) part_%d(z, x, w, bias, scratch, "+
				"part, parts);\n", i)
		fmt.Fprintf(&b.calls,
			"            for (int k = 0; k < %d; k++) if (y[k] != z[k]) exit(5);\n        }\n        "+
				"put(y, %d);\n    }\n", n, n)
		b.outputs += n
		want = append(want, tr)
	}
	got := b.run(t, toolchain.GCC().With(append([]string{"-march=native"},
		toolchain.Sanitizers()...)...))
	for _, tr := range want {
		tr.check(t, got[:len(tr.want)])
		got = got[len(tr.want):]
	}
}

// TestWinogradTaken holds that a weight which is infinite or no number is left to
// sums in which it meets its own results alone, and what is to be exact to exact sums.
func TestWinogradTaken(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	target := tuned.Target{Language: tuned.Go, Machine: machine("generic"), Speed: true}
	for i, x := range []float64{1, math.Inf(1), math.Inf(-1), math.NaN(), 1} {
		tr := winogradTrials(r, 1)[0]
		exact := i == 4
		tr.sample.Args = append(tr.sample.Args, ir.NamedArg{Name: "exact", Value: ir.BoolArg(exact)})
		if taken := tr.bind(t, r, target); taken == exact {
			t.Fatalf("exact %v: taken %v", exact, taken)
		}
		if exact {
			continue
		}
		binary.LittleEndian.PutUint32(tr.operands[1].Data[40:], math.Float32bits(float32(x)))
		in := tuned.Winograd().Match(&tuned.Request{Call: tr.call, Target: target,
			Const: func(k int) ([]byte, bool) { return tr.operands[k].Data, tr.constant[k] },
			Order: func(k int) []int {
				if k == 0 {
					return tr.xOrder
				}
				return nil
			},
			Out: tr.yOrder})
		if taken := in != nil; taken != (x == 1) {
			t.Errorf("a weight of %g: taken %v", x, taken)
		}
	}
}
