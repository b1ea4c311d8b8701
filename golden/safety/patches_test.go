package safety

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/plan"
)

// Convolutions that are made in patches of rows give the same bytes as whole ones,
// however low the patches are, wherever the planner puts their windows, and in
// parts.
func TestPatchesAgree(t *testing.T) {
	tier.Needs(t, tier.Normal)
	r := rand.New(rand.NewSource(1))
	random := tier.Of(0, 6, 14)
	var jobs []way.Job
	for range random {
		jobs = append(jobs, randomConvolutions(t, r, false))
	}
	cases, names := allCases(t)
	var index []int
	for i, name := range names {
		if strings.Contains(name, "conv") || strings.Contains(name, "lenet") ||
			strings.Contains(name, "digits") {
			index = append(index, i)
		}
	}
	index = tier.Some(index, 0, 12)
	for _, i := range index {
		jobs = append(jobs, cases[i])
	}
	native := comparing().With("-march=native")
	poisoned := compile.Options{Patches: 3, Planner: plan.Disjoint{}, Poison: true}
	hows := []struct {
		name    string
		opt     compile.Options
		machine toolchain.Target // of C
	}{
		{"1 row", compile.Options{Patches: 1}, comparing()},
		{"2 rows, wide vectors", compile.Options{Patches: 2}, native},
		{"3 rows, poisoned", poisoned, withoutWarnings()},
		{"2 rows, divided", compile.Options{Patches: 2, Threads: 3, DivideAll: true}, comparing()},
	}
	for _, lang := range []string{"c", "go"} {
		in := func(opt compile.Options, target toolchain.Target) way.Way {
			return language(lang, way.Settings{Options: opt}, target)
		}
		whole := runAll(t.Context(), in(compile.Options{}, comparing()), jobs[:random])
		cases := wholeCases(t, lang, index)
		for _, i := range index {
			whole = append(whole, cases[i])
		}
		wide := whole
		if lang == "c" {
			wide = runAll(t.Context(), in(compile.Options{}, native), jobs)
		}
		for _, h := range hows {
			if lang == "go" && h.name == "2 rows, wide vectors" {
				continue
			}
			t.Run(lang+" "+h.name, func(t *testing.T) {
				want := whole
				if h.name == "2 rows, wide vectors" {
					want = wide
				}
				got := runAll(t.Context(), in(h.opt, h.machine), jobs)
				patched := 0
				for i := range jobs {
					if err := sameBytes(want[i], got[i]); err != nil {
						t.Errorf("%s: %v", jobs[i].Name, err)
					}
					if hasPatches(got[i]) {
						patched++
					}
				}
				if patched < random/2 {
					t.Errorf("only %d of %d programs have patches", patched, len(jobs))
				}
			})
		}
	}
}

// hasPatches reports whether a program has windows of rows.
func hasPatches(r *way.Result) bool {
	found := false
	if r.Native != nil {
		codegen.Walk(r.Native.Methods[0].Body, func(s native.Stmt) {
			c, ok := s.(*native.Call)
			found = found || ok && c.Args[0].Root != nil &&
				strings.Contains(c.Args[0].Root.Name, "_rows")
		})
	}
	return found
}

// randomConvolutions makes a program of convolutions that follow each other, with
// sums and bounds between them. If it is even, most make images of the same size, so that
// results lie over images.
func randomConvolutions(t *testing.T, r *rand.Rand, even bool) way.Job {
	t.Helper()
	var params, body strings.Builder
	channels, height, width := []int{3, 8, 16, 20, 32}[r.Intn(5)], 10+r.Intn(24), 5+r.Intn(28)
	in := []int64{1, int64(channels), int64(height), int64(width)}
	fmt.Fprintf(&body, "  input %%x: f32[1, %d, %d, %d]\n\n", channels, height, width)
	value, name := 0, "x"
	shape := func() string { return fmt.Sprintf("f32[1, %d, %d, %d]", channels, height, width) }
	emit := func(format string, args ...any) {
		value++
		fmt.Fprintf(&body, "  %%v%d: %s = %s\n", value, shape(), fmt.Sprintf(format, args...))
		name = fmt.Sprintf("v%d", value)
	}
	weight := func(sizes ...int) string {
		w := fmt.Sprintf("w%d", params.Len())
		fmt.Fprintf(&params, "  parameter %%%s: f32%s \"%s\" = [%s]\n", w,
			strings.ReplaceAll(fmt.Sprint(sizes), " ", ", "), w, randomNumbers(r, sizes...))
		return w
	}
	layers := 2 + r.Intn(4)
	if even {
		layers *= 2
	}
	for range layers {
		k := []int{1, 1, 3, 3, 3, 5}[r.Intn(6)]
		stride, dilation := 1+r.Intn(5)/4, 1+r.Intn(5)/4
		keeps := even && r.Intn(6) > 0
		if keeps {
			stride = 1
		}
		pad := r.Intn(k/2*dilation + 1)
		if keeps || r.Intn(2) == 0 {
			pad = k / 2 * dilation
		}
		reach := (k-1)*dilation + 1
		if height+2*pad < reach+3 || width+2*pad < reach+3 {
			continue
		}
		cin, cout, groups := channels, []int{8, 16, 20, 32, 40}[r.Intn(5)], 1
		if keeps {
			cout = channels
		}
		if channels%8 == 0 && r.Intn(3) == 0 {
			cout, groups = channels, channels
		}
		height, width, channels = (height+2*pad-reach)/stride+1, (width+2*pad-reach)/stride+1, cout
		w, bias := weight(cout, cin/groups, k, k), weight(cout)
		before := name
		emit("aten.convolution.default(input=%%%s, weight=%%%s, bias=%%%s, stride=[%d, %d], "+
			"padding=[%d, %d], dilation=[%d, %d], transposed=false, output_padding=[0, 0], groups=%d)",
			name, w, bias, stride, stride, pad, pad, dilation, dilation, groups)
		switch same := stride == 1 && cin == cout && 2*pad == reach-1; {
		case same && r.Intn(2) == 0:
			emit("aten.add.Tensor(self=%%%s, other=%%%s, alpha=1)", name, before)
		case r.Intn(2) == 0:
			emit("aten.hardtanh.default(self=%%%s, min_val=0, max_val=6)", name)
		case r.Intn(2) == 0:
			emit("aten.add.Tensor(self=%%%s, other=%%%s, alpha=1)", name, weight(1, cout, 1, 1))
		}
	}
	last := name
	channels = 1
	emit("aten.sum.dim_IntList(self=%%%s, dim=[1], keepdim=true, dtype=none)", last)
	text := fmt.Sprintf("program \"rows.pt2\"\n\nmethod forward {\n%s%s  return (%%%s)\n}\n",
		params.String(), body.String(), name)
	return programJob(t, r, "rows", text, in)
}

// randomNumbers is a list of as many numbers as a tensor of these sizes has.
func randomNumbers(r *rand.Rand, sizes ...int) string {
	n := 1
	for _, s := range sizes {
		n *= s
	}
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%.3f", r.Float64()*2-1)
	}
	return strings.Join(list, ", ")
}

// programJob calls a program once, with random numbers for its only input.
func programJob(t *testing.T, r *rand.Rand, name, text string, in []int64) way.Job {
	t.Helper()
	if _, err := ir.Parse(name, text); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	x, err := tensor.New(ir.Float32, in...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range x.Len() {
		binary.LittleEndian.PutUint32(x.Data[4*i:], math.Float32bits(r.Float32()*2-1))
	}
	return way.Job{Name: name, Calls: []way.Call{{Inputs: []tensor.Value{{Tensor: x}}}},
		Open: func() (*ir.Program, io.Closer, error) {
			p, err := ir.Parse(name, text)
			return p, nil, err
		}}
}
