package conform

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/quantize"
	"github.com/etgen/etgen/plan"
)

// A streaming model computes, frame by frame, what the model computes of whole windows: the same
// bits with integers, and with floats what rounding leaves.
func TestStream(t *testing.T) {
	tier.Needs(t, tier.Normal)
	size := compile.Options{Target: "scalar", Optimize: "size"}
	for _, tt := range []struct {
		name   string
		dim    int
		frames int64 // in a call
		slide  int64 // frames from one window of the case to the next; 0: they are apart
		rows   bool  // the result has a row for each frame
	}{
		{"stream_tcn", 2, 1, 0, true},
		{"stream_keywords", 2, 2, 8, false},
		{"stream_recurrent", 1, 1, 0, false},
	} {
		for _, scheme := range []string{"float", "int8", "int16x8"} {
			dir, exact := "../cases/"+tt.name, scheme != "float"
			var job way.Job
			if !exact {
				job = floatJob(t, dir)
			} else {
				named, err := quantize.SchemeNamed(scheme)
				if err != nil {
					t.Fatal(err)
				}
				job = quantizedJob(t, dir, named)
				multipliesIntegers(t, job, compile.Options{Target: "cortex-m4",
					Stream: &lower.StreamOptions{Dim: tt.dim}})
			}
			streaming := job
			streaming.Calls = nil
			ends := []int{} // of windows, calls
			for i, c := range job.Calls {
				x := c.Inputs[0].Tensor
				from := int64(0)
				if i > 0 && tt.slide > 0 {
					from = x.Shape[tt.dim] - tt.slide
				}
				for ; from < x.Shape[tt.dim]; from += tt.frames {
					streaming.Calls = append(streaming.Calls, way.Call{
						Inputs: []tensor.Value{{Tensor: part(x, tt.dim, from, tt.frames)}},
						Keep:   from > 0})
				}
				ends = append(ends, len(streaming.Calls))
			}
			for name, via := range map[string]func(way.Settings) way.Way{"c": viaC, "go": viaGo,
				"c in banks": func(s way.Settings) way.Way {
					s.Options.Banks = []plan.Bank{{Name: "dtcm", Size: 128}, {Name: "sram", Size: 1 << 20}}
					return viaC(s)
				},
				"rt": func(s way.Settings) way.Way { return way.RT{Settings: s} }} {
				t.Run(tt.name+"/"+scheme+"/"+name, func(t *testing.T) {
					opt := size
					if !strings.HasPrefix(name, "c") {
						opt = compile.Options{}
					}
					want := resultsOf(t, via(way.Settings{Options: opt}), []way.Job{job})[0]
					opt.Stream = &lower.StreamOptions{Dim: tt.dim}
					got := resultsOf(t, via(way.Settings{Options: opt}), []way.Job{streaming})[0]
					if want.Err != nil || got.Err != nil {
						t.Fatal(want.Err, got.Err)
					}
					within := rounding
					switch {
					case exact && name != "rt":
						within = 0
					case scheme == "int16x8": // sums of floats may round to the next integer
						within = 1.0 / (1 << 15)
					}
					done := 0
					for i, end := range ends {
						sameWindow(t, within, tt.rows, got.Calls[done:end], &want.Calls[i])
						done = end
					}
				})
			}
		}
	}
}

// multipliesIntegers fails if code for a quantized model multiplies floats.
func multipliesIntegers(t *testing.T, job way.Job, opt compile.Options) {
	t.Helper()
	p, _, err := job.Open()
	if err != nil {
		t.Fatal(err)
	}
	np, err := compile.Native(p, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range np.Kernels {
		if k.Tuned == nil {
			continue
		}
		// Products of a recurrent layer's state, which is float, have integers as weights alone.
		name := k.Tuned.Kernel.Name
		if strings.HasSuffix(name, "_f32") && name != "mixed_linear_f32" {
			t.Errorf("%s of %s multiplies floats", name, job.Name)
		}
	}
	for n := range p.Methods[0].Graph.All() {
		if base := ir.OpBase(n.Op); base == "dequantize_per_channel" ||
			strings.HasPrefix(base, "conv") || strings.HasSuffix(base, "mm") {
			t.Errorf("%s of %s is left", n.Op, job.Name)
		}
	}
}

// Where a window pads, frames stand with --stream-padding=frames: the model computes what the
// net without padding does of the frames that its last rows are made of.
func TestStreamPadding(t *testing.T) {
	tier.Needs(t, tier.Normal)
	padded, unpadded := floatJob(t, "../cases/stream_padded"), floatJob(t, "../cases/stream_unpadded")
	x := unpadded.Calls[0].Inputs[0].Tensor
	padded.Calls = nil
	for from := int64(0); from < x.Shape[2]; from += 2 {
		padded.Calls = append(padded.Calls, way.Call{Keep: from > 0,
			Inputs: []tensor.Value{{Tensor: part(x, 2, from, 2)}}})
	}
	want := resultsOf(t, way.C{}, []way.Job{unpadded})[0]
	opt := compile.Options{Stream: &lower.StreamOptions{Dim: 2, Frames: true}}
	got := resultsOf(t, viaC(way.Settings{Options: opt}), []way.Job{padded})[0]
	if want.Err != nil || got.Err != nil {
		t.Fatal(want.Err, got.Err)
	}
	sameWindow(t, rounding, false, got.Calls, &want.Calls[0])
}

// part returns n rows of x along a dimension.
func part(x *tensor.Tensor, dim int, from, n int64) *tensor.Tensor {
	own := &tensor.Tensor{DType: x.DType, Shape: slices.Clone(x.Shape)}
	own.Shape[dim] = n
	row := int64(x.DType.Size())
	for _, s := range x.Shape[dim+1:] {
		row *= s
	}
	for at := int64(0); at < int64(len(x.Data)); at += row * x.Shape[dim] {
		own.Data = append(own.Data, x.Data[at+from*row:at+(from+n)*row]...)
	}
	return own
}

// rounding is how far sums of floats in another order may be apart, of the largest.
const rounding = 1e-5

// sameWindow compares the results of the calls that a window takes with that of the window: the
// last one, or all together. They are the same bits if within is 0.
func sameWindow(t *testing.T, within float64, rows bool, got []way.CallResult,
	want *way.CallResult) {
	t.Helper()
	for _, c := range got {
		if c.Err != nil {
			t.Fatal(c.Err)
		}
	}
	if want.Err != nil {
		t.Fatal(want.Err)
	}
	w := want.Outputs[0].Tensor
	var data []byte
	if !rows {
		got = got[len(got)-1:]
	}
	for _, c := range got {
		data = append(data, c.Outputs[0].Tensor.Data...)
	}
	if bytes.Equal(data, w.Data) {
		return
	}
	if len(data) != len(w.Data) {
		t.Fatalf("%d bytes of results, want %d", len(data), len(w.Data))
	}
	most, largest := 0.0, 0.0
	for i := range w.Len() {
		x, y := eval.Get(w.DType, data, i).F, eval.Get(w.DType, w.Data, i).F
		most, largest = max(most, max(x-y, y-x)), max(largest, max(y, -y))
	}
	if within == 0 || !(most <= within*largest+1e-6) {
		t.Errorf("results differ by up to %v of %v", most, largest)
	}
}
