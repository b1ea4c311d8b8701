package safety

import (
	"fmt"
	"io"
	"math/rand"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/lower/native"
)

// Networks of bytes give the definition's bytes by the kernels for
// microcontrollers, in any layout, with what follows a layer in its kernel.
func TestBytesAgree(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	var jobs []way.Job
	for range tier.Of(4, 16, 24) {
		jobs = append(jobs, randomBytes(t, r))
	}
	want := runAll(t.Context(), way.Reference{}, jobs)
	for _, target := range []string{"cortex-m4", "scalar"} {
		t.Run(target, func(t *testing.T) {
			got := runAll(t.Context(),
				way.C{Settings: way.Settings{Options: compile.Options{Target: target,
					Optimize: "size"}}}, jobs)
			kernels := 0
			for i := range jobs {
				if err := sameBytes(want[i], got[i]); err != nil {
					t.Errorf("%s: %v", jobs[i].Name, err)
				}
				kernels += ofBytes(got[i])
			}
			if kernels < 3*len(jobs) {
				t.Errorf("%d kernels of bytes in %d programs", kernels, len(jobs))
			}
		})
	}
}

// ofBytes counts the calls of kernels of bytes.
func ofBytes(r *way.Result) (n int) {
	if r.Native != nil {
		codegen.Walk(r.Native.Methods[0].Body, func(s native.Stmt) {
			if c, ok := s.(*native.Call); ok && c.Kernel.Tuned != nil &&
				strings.HasSuffix(c.Kernel.Tuned.Kernel.Name, "_i8") {
				n++
			}
		})
	}
	return n
}

// randomBytes makes a program of int8 layers that follow each other: images in,
// numbers out.
func randomBytes(t *testing.T, r *rand.Rand) way.Job {
	t.Helper()
	var consts, body strings.Builder
	value, name := 0, "x"
	constant := func(d string, lo, hi int, sizes ...int) string {
		n := 1
		for _, s := range sizes {
			n *= s
		}
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprint(lo + r.Intn(hi-lo+1))
		}
		c := fmt.Sprintf("c%d", consts.Len())
		fmt.Fprintf(&consts, "  const %%%s: %s%s = [%s]\n", c, d,
			strings.ReplaceAll(fmt.Sprint(sizes), " ", ", "), strings.Join(list, ", "))
		return "%" + c
	}
	emit := func(typ, format string, args ...any) {
		value++
		fmt.Fprintf(&body, "  %%v%d: %s = %s\n", value, typ, fmt.Sprintf(format, args...))
		name = fmt.Sprintf("v%d", value)
	}
	bias := func(n int) string {
		if r.Intn(4) == 0 {
			return "none"
		}
		return constant("i32", -4000, 4000, n)
	}
	batch, channels, h, w := 1+r.Intn(2), []int{1, 3, 4, 8}[r.Intn(4)], 6+r.Intn(5), 6+r.Intn(5)
	in := []int64{int64(batch), int64(channels), int64(h), int64(w)}
	for range 3 + r.Intn(3) {
		k, stride, pad := 1+2*r.Intn(2), 1+r.Intn(4)/3, r.Intn(2)
		if h+2*pad < k+1 || w+2*pad < k+1 {
			continue
		}
		out, op, multiplier := []int{1, 4, 5, 8, 12}[r.Intn(5)], "quantized_conv2d", ""
		var weight string
		if channels > 1 && r.Intn(2) == 0 {
			out, op, multiplier = channels, "quantized_depthwise_conv2d", "depth_multiplier=1, "
			weight = constant("i8", -128, 127, 1, k, k, out)
		} else {
			weight = constant("i8", -128, 127, out, k, k, channels)
		}
		shift := [2]int{-12, 2}
		if r.Intn(2) == 0 {
			shift = [2]int{-9, -9}
		}
		channels, h, w = out, (h+2*pad-k)/stride+1, (w+2*pad-k)/stride+1
		emit(fmt.Sprintf("i8[%d, %d, %d, %d]", batch, out, h, w),
			"cortex_m.%s.default(input=%%%s, weight=%s, bias=%s, stride=[%d, %d], padding=[%d, %d], "+
				"dilation=[1, 1], %sinput_offset=%d, output_offset=%d, requantize_multipliers=%s, "+
				"requantize_shifts=%s, activation_min=%d, activation_max=127, scratch=none)",
			op, name, weight, bias(out), stride, stride, pad, pad, multiplier, r.Intn(257)-127,
			r.Intn(200)-100,
			constant("i32", 1<<30, 1<<31-1, out), constant("i32", shift[0], shift[1], out),
			-128+r.Intn(2)*60)
	}
	flat := channels * h * w
	emit(fmt.Sprintf("i8[%d, %d]", batch, flat), "aten.view.default(self=%%%s, size=[%d, %d])",
		name, batch, flat)
	rows := 1 + r.Intn(9)
	emit(fmt.Sprintf("i8[%d, %d]", batch, rows),
		"cortex_m.quantized_linear.default(input=%%%s, weights=%s, bias=%s, kernel_sum=none, "+
			"input_offset=%d, filter_offset=0, output_offset=4, requantize_multipliers=[%d], "+
			"requantize_shifts=[-8], activation_max=127, activation_min=-128)",
		name, constant("i8", -128, 127, rows, flat), bias(rows), r.Intn(257)-127,
		1<<30+r.Intn(1<<30))
	if r.Intn(2) == 0 {
		emit(fmt.Sprintf("f32[%d, %d]", batch, rows),
			"cortex_m.dequantize_per_tensor.default(input=%%%s, scale=0.25, zero_point=4, quant_min=-128, "+
				"quant_max=127, dtype=i8)", name)
	}
	text := fmt.Sprintf(
		"program \"bytes.pt2\"\n\nmethod forward {\n  input %%x: i8%s\n%s\n%s  return (%%%s)\n}\n",
		strings.ReplaceAll(fmt.Sprint(in), " ", ", "), &consts, &body, name)
	if _, err := ir.Parse("bytes", text); err != nil {
		t.Fatalf("%v in\n%s", err, body.String())
	}
	x, err := tensor.New(ir.Int8, in...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range x.Data {
		x.Data[i] = byte(r.Uint32())
	}
	return way.Job{Name: "bytes", Calls: []way.Call{{Inputs: []tensor.Value{{Tensor: x}}}},
		Open: func() (*ir.Program, io.Closer, error) {
			p, err := ir.Parse("bytes", text)
			return p, nil, err
		}}
}
