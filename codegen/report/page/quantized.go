package page

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/lower/partition"
	"github.com/etgen/etgen/lower/quantize"
)

// quantization tells what a recipe says, or without one the operators of the model as it was read.
func (d *Data) quantization(p *ir.Program, r *quantize.Recipe, before []*grapher) {
	q := &Quantization{Values: []Quantized{}}
	if r != nil {
		q.Scheme = r.Scheme
		for _, m := range r.Methods {
			for i := range p.Methods {
				if p.Methods[i].Name == m.Name {
					q.recipe(i, &m)
				}
			}
		}
	} else {
		q.Scheme = "of the model"
		for i, g := range before {
			for _, x := range g.quantized {
				x.Method = i
				q.Values = append(q.Values, x)
			}
		}
	}
	if len(q.Values) > 0 {
		d.Quantization = q
	}
}

// ends are the least and the greatest integer of a dtype.
func ends(dtype string) (least, most float64) {
	switch dtype {
	case "uint8":
		return 0, 255
	case "int4":
		return -8, 7
	case "int16":
		return -32768, 32767
	}
	return -128, 127
}

func (q *Quantization) recipe(method int, m *quantize.MethodRecipe) {
	for _, a := range m.Activations {
		x := Quantized{Method: method, Value: foreign.Of(a.Value), DType: foreign.Of(a.DType),
			How: foreign.Of(a.Dynamic)}
		if a.Dynamic == "" {
			x.scales(a.DType, a.ZeroPoint, a.Scale)
			if a.Range != nil {
				x.Least, x.Most = finite(float64(a.Range[0])), finite(float64(a.Range[1]))
			}
		}
		q.Values = append(q.Values, x)
	}
	for _, w := range m.Weights {
		x := Quantized{Method: method, Value: foreign.Of(w.Value), DType: foreign.Of(w.DType),
			Weight: true}
		x.scales(w.DType, 0, w.Scales...)
		if w.Group > 0 {
			x.How = foreign.Format("groups of %d", w.Group)
		}
		q.Values = append(q.Values, x)
	}
}

// scales notes scales of one zero point, and the range that the integers cover.
func (x *Quantized) scales(dtype string, zero int64, scales ...quantize.Float32) {
	list := seq.Map(scales, func(s quantize.Float32) float64 { return float64(s) })
	least, most := ends(dtype)
	x.cover(least, most, list, []float64{float64(zero)})
}

// cover notes scales with the zero point of each, or of all, and the range that integers from least
// to most cover.
func (x *Quantized) cover(least, most float64, scales, zeros []float64) {
	if len(scales) == 0 || len(zeros) == 0 {
		return
	}
	x.Scales, x.Least, x.Most = len(scales), math.MaxFloat64, -math.MaxFloat64
	x.Scale, x.Largest = finite(slices.Min(scales)), finite(slices.Max(scales))
	x.ZeroPoint, x.LastZero = int64(slices.Min(zeros)), int64(slices.Max(zeros))
	for i, s := range scales {
		zero := zeros[min(i, len(zeros)-1)]
		x.Least = min(x.Least, finite((least-zero)*s))
		x.Most = max(x.Most, finite((most-zero)*s))
	}
}

// quantizes returns what n says if it makes integers of floats, else nil. A scale that is computed
// when the model runs is not known.
func (g *grapher) quantizes(n *ir.Node) *Quantized {
	if !strings.HasPrefix(n.Op, "quantized_decomposed.quantize_per_") || len(n.Args) == 0 {
		return nil
	}
	ref, ok := n.Args[0].Value.(ir.Ref)
	if !ok {
		return nil
	}
	x := &Quantized{Value: foreign.Of(ref.Value.Name), Weight: ref.Value.Const != nil}
	if d, ok := n.Arg("dtype").(ir.DTypeArg); ok {
		x.DType = foreign.Of(ir.DType(d).String())
	}
	numbers := func(names ...string) (list []float64) {
		for _, name := range names {
			switch a := n.Arg(name).(type) {
			case ir.Float:
				list = append(list, float64(a))
			case ir.Int:
				list = append(list, float64(a))
			case ir.Ref:
				if c := a.Value.Const; c != nil {
					elements(c.Type.DType, must.Get(ir.Tensor(c)), func(x float64) { list = append(list, x) })
				}
			}
		}
		return list
	}
	least, _ := n.Arg("quant_min").(ir.Int)
	most, _ := n.Arg("quant_max").(ir.Int)
	x.cover(float64(least), float64(most), numbers("scale", "scales"),
		numbers("zero_point", "zero_points"))
	if x.Scales == 0 {
		x.How = foreign.Of("dynamic")
	}
	return x
}

// Errors notes what layers bring of error, as it was measured when p was quantized.
func (d *Data) Errors(r *quantize.Result) {
	if d.Quantization == nil {
		return
	}
	for name, report := range r.Reports {
		i := slices.IndexFunc(d.Methods, func(m Method) bool { return m.Name == foreign.Of(name) })
		if i < 0 {
			continue
		}
		for _, l := range report.Layers {
			d.Quantization.Errors = append(d.Quantization.Errors, Error{i, foreign.Of(l.Layer),
				foreign.Of(l.Op), foreign.Of(l.At), l.Float, finite(float64(l.Own)),
				finite(float64(l.Total))})
		}
	}
	seq.Sort(d.Quantization.Errors, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Method, b.Method), cmp.Compare(a.Own, b.Own))
	})
}

// delegates tells who runs what, and what backends did not take.
func (d *Data) delegates(p *ir.Program, r *partition.Report, before []*grapher) {
	at := map[string]int{}
	for _, x := range p.Delegates {
		at[x.Name] = len(d.Delegates)
		out := Delegate{Name: foreign.Of(x.Name), Backend: foreign.Of(x.Backend),
			Nodes: make([][]int, len(p.Methods))}
		for i := range out.Nodes {
			out.Nodes[i] = []int{}
		}
		if x.Processed != nil {
			out.Bytes = x.Processed.Size()
		}
		for _, e := range x.Debug {
			for _, o := range e.Nodes {
				out.Origins = append(out.Origins, foreign.Of(o.Op))
			}
		}
		d.Delegates = append(d.Delegates, out)
	}
	if r == nil {
		return
	}
	for i, m := range p.Methods {
		f := before[i].finder()
		for _, n := range r.Nodes {
			if n.Method != m.Name {
				continue
			}
			from := f.find(foreign.Of(n.Node), placeOf(native.LocationOf(n.Loc)))
			if k, ok := at[n.Delegate]; ok {
				for _, b := range from { // several nodes come from one
					if took := &d.Delegates[k].Nodes[i]; !slices.Contains(*took, b) {
						*took = append(*took, b)
					}
				}
			} else if n.Tensor && len(from) > 0 {
				d.Rest = append(d.Rest, Rest{i, from[0], foreign.Of(n.Why())})
			}
		}
	}
}
