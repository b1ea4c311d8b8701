package safety

import (
	"fmt"
	"math/rand"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
)

// threadCases are the cases, by what is in their names, of which kernels in parts
// are run: convolutions and products, pooling, attention, rows and columns that are
// reduced, tables, memory that results and operands have in common.
var threadCases = []string{"conv", "digits", "lenet", "attention", "matmul", "pool2d", "softmax",
	"layer_norm", "batch_norm", "resize",
	"cat_split", "embedding", "dynamic_two", "reshape", "gather_scatter", "mutated"}

// Kernels whose parts run in threads of their own give the same bytes as whole
// ones, in however many parts.
func TestThreadsAgree(t *testing.T) {
	tier.Needs(t, tier.Normal)
	all, allNames := allCases(t)
	var jobs []way.Job
	var names []string
	var index []int
	for i, name := range allNames {
		if dir, file := path.Split(name); file == "model.pt2" &&
			slices.ContainsFunc(threadCases, func(s string) bool {
				return strings.Contains(dir, s)
			}) {
			index = append(index, i)
		}
	}
	index = tier.Some(index, 0, 24)
	for _, i := range index {
		jobs, names = append(jobs, all[i]), append(names, allNames[i])
	}
	for _, lang := range []string{"c", "go"} {
		all := wholeCases(t, lang, index)
		for _, threads := range tier.Of(nil, []int{7}, []int{2, 7}) {
			s := way.Settings{Options: compile.Options{Threads: threads, DivideAll: true}}
			parts := runAll(t.Context(), language(lang, s, comparing()), jobs)
			threaded := 0
			for i := range jobs {
				whole := all[index[i]]
				if err := sameBytes(whole, parts[i]); err != nil {
					t.Errorf("%s, %s in %d parts: %v", lang, names[i], threads, err)
				}
				if parts[i].Err == nil && parts[i].Code > whole.Code {
					threaded++
				}
			}
			if 2*threaded < len(jobs) {
				t.Errorf("%s: only %d programs have parts", lang, threaded)
			}
		}
	}
}

// Wide layers whose parts share panels of weights, rows or tiles give the same bytes
// in however many parts, more than there is of anything among them.
func TestWideThreadsAgree(t *testing.T) {
	tier.Needs(t, tier.Normal)
	var jobs []way.Job
	for _, s := range []struct{ channels, outs, kernel, stride, height, width int }{
		{8, 64, 1, 1, 9, 9}, {40, 128, 1, 1, 3, 5}, {8, 96, 3, 3, 9, 7}, {12, 300, 3, 3, 2, 13},
		{8, 64, 3, 1, 24, 24}, {64, 128, 3, 2, 40, 40}, {96, 320, 1, 1, 7, 7},
	} {
		x := fmt.Sprintf("f32[1, %d, %d, %d]", s.channels, s.height, s.width)
		last := fmt.Sprintf("%s[%d, 1, %d, %d]", x, s.channels*s.height*s.width, s.width*s.channels,
			s.channels)
		op := fmt.Sprintf(
			"aten.convolution.default(input=%%v, weight=%%w, bias=%%b, stride=[%[1]d, %[1]d], "+
				"padding=[%[2]d, %[2]d], dilation=[1, 1], transposed=false, output_padding=[0, 0], groups=1)",
			s.stride, s.kernel/2)
		w, y := []int{s.outs, s.channels, s.kernel, s.kernel},
			[]int{1, s.outs, (s.height-1)/s.stride + 1, (s.width-1)/s.stride + 1}
		jobs = append(jobs,
			wideLayer(t, fmt.Sprintf("convolution %+v", s), []int{1, s.channels, s.height, s.width},
				x+" = aten.relu.default(self=%x)", w, y, op),
			wideLayer(t, fmt.Sprintf("convolution with channels last %+v", s),
				[]int{1, s.height, s.width, s.channels},
				last+" = aten.permute.default(self=%x, dims=[0, 3, 1, 2])", w, y, op))
	}
	for _, s := range []struct{ rows, in, outs int }{{1, 9, 192}, {40, 9, 64}, {40, 9, 300},
		{100, 20, 96}, {30, 8, 32}} {
		jobs = append(jobs, wideLayer(t, fmt.Sprintf("linear %+v", s), []int{s.rows, s.in},
			fmt.Sprintf("f32[%d, %d] = aten.relu.default(self=%%x)", s.rows, s.in),
			[]int{s.outs, s.in}, []int{s.rows, s.outs},
			"aten.linear.default(input=%v, weight=%w, bias=%b)"))
	}
	for _, lang := range []string{"c", "go"} {
		whole := runAll(t.Context(), language(lang, way.Settings{}, comparing()), jobs)
		for _, threads := range tier.Of(nil, []int{16}, []int{2, 3, 16}) {
			s := way.Settings{Options: compile.Options{Threads: threads, DivideAll: true}}
			for i, r := range runAll(t.Context(), language(lang, s, comparing()), jobs) {
				if err := sameBytes(whole[i], r); err != nil {
					t.Errorf("%s, %s in %d parts: %v", lang, jobs[i].Name, threads, err)
				}
				if r.Err == nil && r.Code <= whole[i].Code {
					t.Errorf("%s, %s has no parts", lang, jobs[i].Name)
				}
			}
		}
	}
}

// wideLayer makes a program of one operator on v, which is made of the input x, with
// weights w and bias b of random numbers.
func wideLayer(t *testing.T, name string, x []int, v string, w, y []int, op string) way.Job {
	t.Helper()
	r := rand.New(rand.NewSource(5))
	shape := func(sizes []int) string {
		return "f32" + strings.ReplaceAll(fmt.Sprint(sizes), " ", ", ")
	}
	text := fmt.Sprintf(
		"program \"wide.pt2\"\n\nmethod forward {\n  parameter %%w: %s \"w\" = [%s]\n  parameter %%b: "+
			"f32[%d] \"b\" = [%s]\n  input %%x: %s\n\n  %%v: %s\n  %%y: %s = %s\n  return (%%y)\n}\n",
		shape(w), randomNumbers(r, w...), w[0], randomNumbers(r, w[0]), shape(x), v, shape(y), op)
	in := make([]int64, len(x))
	for i, n := range x {
		in[i] = int64(n)
	}
	return programJob(t, r, name, text, in)
}
