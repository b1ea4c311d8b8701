package quantize

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/ops"
)

// Report tells what quantization costs, and that sums fit their integers.
type Report struct {
	Samples int            `json:"samples"`
	Layers  []LayerReport  `json:"layers"` // the worst first
	Outputs []OutputReport `json:"outputs"`
	// Silent are activations that were 0 in all of calibration: their scale says nothing.
	Silent []string `json:"silent,omitempty"`
}

// LayerReport is of a layer: what it brings of error itself, from inputs as float32 has them,
// and what has come together behind it. SQNR is signal over noise in decibels.
type LayerReport struct {
	Layer string  `json:"layer"`
	Op    string  `json:"op"`
	At    string  `json:"at,omitempty"`
	Float bool    `json:"float,omitempty"` // it was left in float32
	Own   Decibel `json:"own_sqnr_db"`
	Total Decibel `json:"total_sqnr_db"`
	// Sum is a bound of the magnitude of the layer's int32 sums, with any input; 0 if it has
	// none.
	Sum int64 `json:"largest_sum,omitempty"`
}

// OutputReport is of an output of the method.
type OutputReport struct {
	Index int     `json:"index"`
	SQNR  Decibel `json:"sqnr_db"`
	Worst float64 `json:"largest_difference"`
}

// Decibel is a ratio; one without noise is written as 999.
type Decibel float64

// exact stands for no noise at all.
const exact = 999

// ratio is a signal and the noise in it, both as sums of squares.
type ratio struct{ signal, noise, worst float64 }

func (r *ratio) add(want, got []byte) {
	var xs []float64
	floats(want, func(x float64) { xs = append(xs, x) })
	i := 0
	floats(got, func(y float64) {
		x := xs[i]
		i++
		if x == y || math.IsInf(x, 0) || math.IsNaN(x) {
			return
		}
		r.worst = max(r.worst, math.Abs(x-y))
		r.noise += (x - y) * (x - y)
	})
	for _, x := range xs {
		if !math.IsInf(x, 0) && !math.IsNaN(x) {
			r.signal += x * x
		}
	}
}

func (r *ratio) decibel() Decibel {
	switch {
	case r.noise == 0:
		return exact
	case r.signal == 0:
		return -exact
	}
	return Decibel(math.Round(1000*math.Log10(r.signal/r.noise)) / 100)
}

// comparison runs a method in float32 and quantized.
type comparison struct {
	table      *ops.Table
	float      *ir.Method // as it was calibrated
	quantized  *ir.Method // converted
	annotation *Annotation
	kernel     kernels
	done       <-chan struct{}
	drift      map[*Layer]*channelMean // of the error of a layer's sum
}

// compare measures layers and outputs with samples, at most so many: the first ones if they
// continue one another, else evenly taken ones.
func (c *comparison) compare(samples Samples, most int) (*Report, error) {
	r := &Report{Samples: min(samples.Count, most)}
	own, total := map[string]*ratio{}, map[string]*ratio{}
	kept := map[string]bool{} // what a run in float32 is remembered of
	drift := map[string]*channelMean{}
	for _, l := range c.annotation.Layers {
		own[l.Result.Name], total[l.Result.Name] = &ratio{}, &ratio{}
		kept[l.Result.Name] = true
		if l.Bias != nil && !l.Float {
			kept[l.Node.Output(0).Name] = true
			drift[l.Node.Output(0).Name] = &channelMean{dim: channelDim(l)}
		}
	}
	for v := range c.annotation.Activations {
		kept[v.Name] = true
	}
	inputs := map[string]bool{} // of layers
	layers := map[string]bool{}
	for _, l := range c.annotation.Layers {
		layers[l.Node.Name] = true
		for _, v := range l.Inputs {
			kept[v.Name], inputs[v.Name] = true, true
		}
	}
	outputs := make([]ratio, len(c.float.Graph.Outputs))
	float, quantized := newRunner(c.table, c.float, c.kernel, c.done),
		newRunner(c.table, c.quantized, c.kernel, c.done)
	float.begin(samples)
	quantized.begin(samples)
	for i := range r.Samples {
		if !samples.Continued {
			i = i * samples.Count / r.Samples
		}
		given, err := samples.Get(i)
		if err != nil {
			return nil, fmt.Errorf("sample %d: %w", i, err)
		}
		want := map[string]interp.Value{}
		keep := func(m *interp.Interpreter, n *ir.Node) error {
			vs := c.float.Graph.Inputs
			if n != nil {
				vs = n.Outputs
			}
			for _, v := range vs {
				if v != nil && kept[v.Name] {
					want[v.Name] = must.Get(m.Get(v))
				}
			}
			return nil
		}
		// Layers by themselves begin with the state that float32 has.
		alone := *quantized
		alone.state = maps.Clone(float.state)
		outs, err1 := float.run(given, nil, keep)
		// What is quantized, and what a layer reads, is what float32 has there, so that each layer
		// shows its own error.
		_, err2 := alone.run(given, func(m *interp.Interpreter, n *ir.Node) error {
			base := ir.OpBase(n.Op)
			quantizes := strings.HasPrefix(base, "quantize_per_") ||
				strings.HasPrefix(base, "choose_qparams")
			for _, a := range n.Args {
				ref, ok := a.Value.(ir.Ref)
				if !ok || !quantizes && !(layers[n.Name] && inputs[ref.Value.Name]) {
					continue
				}
				if x, ok := want[ref.Value.Name]; ok {
					m.Set(ref.Value, x)
				}
			}
			return nil
		}, func(m *interp.Interpreter, n *ir.Node) error {
			measure(m, n, want, own)
			if n != nil && drift[n.Name] != nil {
				drift[n.Name].add(want[n.Name], must.Get(m.Get(n.Output(0))))
			}
			return nil
		})
		got, err3 := quantized.run(given, nil, func(m *interp.Interpreter, n *ir.Node) error {
			measure(m, n, want, total)
			return nil
		})
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, fmt.Errorf("sample %d: %w", i, err)
		}
		for k := range outs {
			if outs[k].Tensor.DType == ir.Float32 && got[k].Tensor.DType == ir.Float32 {
				outputs[k].add(outs[k].Tensor.Data, got[k].Tensor.Data)
			}
		}
	}
	c.drift = map[*Layer]*channelMean{}
	for _, l := range c.annotation.Layers {
		r.Layers = append(r.Layers, LayerReport{Layer: l.Node.Name, Op: l.Node.Op,
			At: l.Node.Loc.String(), Float: l.Float, Own: own[l.Result.Name].decibel(),
			Total: total[l.Result.Name].decibel()})
		if d := drift[l.Node.Output(0).Name]; d != nil {
			c.drift[l] = d
		}
	}
	for k := range outputs {
		if outputs[k].signal > 0 || outputs[k].noise > 0 {
			r.Outputs = append(r.Outputs, OutputReport{k, outputs[k].decibel(), outputs[k].worst})
		}
	}
	seq.Sort(r.Layers, func(a, b LayerReport) int { return cmp.Compare(a.Own, b.Own) })
	return r, nil
}

// measure adds what n makes to the ratios of its results.
func measure(m *interp.Interpreter, n *ir.Node, want map[string]interp.Value,
	of map[string]*ratio) {
	if n == nil {
		return
	}
	for _, v := range n.Outputs {
		if v != nil && of[v.Name] != nil {
			of[v.Name].add(want[v.Name].Tensor.Data, must.Get(m.Get(v)).Tensor.Data)
		}
	}
}

// channelDim is the dimension of a layer's result that its bias belongs to, from the end if it
// is -1.
func channelDim(l *Layer) int {
	if base := ir.OpBase(l.Node.Op); strings.HasPrefix(base, "conv") {
		return 1
	}
	return -1
}

// channelMean is the mean difference of two tensors for each index of a dimension.
type channelMean struct {
	dim   int
	sums  []float64
	count float64 // elements of a channel
}

func (d *channelMean) add(want, got interp.Value) {
	sizes := want.Tensor.Sizes
	dim := d.dim
	if dim < 0 {
		dim += len(sizes)
	}
	inner := 1
	for _, n := range sizes[dim+1:] {
		inner *= int(n)
	}
	if d.sums == nil {
		d.sums = make([]float64, sizes[dim])
	}
	i := 0
	floats(want.Tensor.Data, func(x float64) { d.sums[i/inner%len(d.sums)] -= x; i++ })
	i = 0
	floats(got.Tensor.Data, func(x float64) { d.sums[i/inner%len(d.sums)] += x; i++ })
	d.count += float64(i) / float64(len(d.sums))
}

func (d *channelMean) means() []float64 {
	means := slices.Clone(d.sums)
	for i := range means {
		means[i] /= max(d.count, 1)
	}
	return means
}

// largestSum bounds the int32 sums of a layer: of products of its input less the zero point and
// its weight, and the bias in their unit.
func largestSum(l *Layer, m *MethodRecipe) int64 {
	if l.Float || l.Weight == nil || len(l.Inputs) != 1 || len(l.more) > 0 {
		return 0
	}
	x := slices.IndexFunc(m.Activations, func(a ActivationRecipe) bool {
		return a.Value == l.Inputs[0].Name
	})
	w := slices.IndexFunc(m.Weights, func(w WeightRecipe) bool { return w.Value == l.Weight.Name })
	if x < 0 || w < 0 || m.Weights[w].Group > 0 {
		return 0
	}
	a := &m.Activations[x]
	d, _ := ir.ParseDType(a.DType)
	to := integersOf(d, false)
	far := float64(max(to.most-a.ZeroPoint, a.ZeroPoint-to.least))
	if a.Dynamic != "" {
		far = float64(to.most - to.least)
	}
	k, err := constantOf(l.Weight, &m.Weights[w])
	if err != nil || len(m.Weights[w].Scales) != k.channels {
		return 0
	}
	ints := k.quantized(weightIntegers(m.Weights[w].DType), toFloats(m.Weights[w].Scales))
	sums := make([]float64, k.channels)
	for i, q := range ints {
		sums[k.channel(i)] += math.Abs(float64(int8(q))) * far
	}
	if l.Bias != nil && a.Dynamic == "" {
		if b, err := constantOf(l.Bias, &WeightRecipe{}); err == nil {
			for i, x := range b.elements {
				c := min(i, k.channels-1)
				sums[c] += math.Abs(x) / float64(a.Scale) / float64(m.Weights[w].Scales[c])
			}
		}
	}
	return int64(slices.Max(append(sums, 0)))
}
