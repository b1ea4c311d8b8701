package page

import (
	"cmp"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
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
				x.Least, x.Most = float64(a.Range[0]), float64(a.Range[1])
			}
		}
		q.Values = append(q.Values, x)
	}
	for _, w := range m.Weights {
		x := Quantized{Method: method, Value: foreign.Of(w.Value), DType: foreign.Of(w.DType), Weight: true}
		x.scales(w.DType, 0, w.Scales...)
		if w.Group > 0 {
			x.How = foreign.Format("groups of %d", w.Group)
		}
		q.Values = append(q.Values, x)
	}
}

// scales notes scales, and the range that the integers cover.
func (x *Quantized) scales(dtype string, zero int64, scales ...quantize.Float32) {
	x.Scales, x.ZeroPoint = len(scales), zero
	for i, s := range scales {
		if i == 0 || float64(s) < x.Scale {
			x.Scale = float64(s)
		}
		x.Largest = max(x.Largest, float64(s))
	}
	x.cover(ends(dtype))
}

// cover sets the range that integers from least to most cover.
func (x *Quantized) cover(least, most float64) {
	x.Least = (least - float64(x.ZeroPoint)) * x.Largest
	x.Most = (most - float64(x.ZeroPoint)) * x.Largest
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
	zero, _ := n.Arg("zero_point").(ir.Int)
	x.ZeroPoint = int64(zero)
	if scale, ok := n.Arg("scale").(ir.Float); ok {
		x.Scales, x.Scale, x.Largest = 1, float64(scale), float64(scale)
	}
	if scales, ok := n.Arg("scales").(ir.Ref); ok && scales.Value.Const != nil {
		w := &g.weights.list[g.weights.of(scales.Value.Const)]
		x.Scales, x.Scale, x.Largest = int(w.Count), w.Least, w.Most
	}
	least, _ := n.Arg("quant_min").(ir.Int)
	most, _ := n.Arg("quant_max").(ir.Int)
	x.cover(float64(least), float64(most))
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
				foreign.Of(l.Op), foreign.Of(l.At), l.Float, float64(l.Own), float64(l.Total)})
		}
	}
	slices.SortStableFunc(d.Quantization.Errors, func(a, b Error) int {
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
			from := f.find(foreign.Of(n.Node), placeOf(n.Loc))
			if k, ok := at[n.Delegate]; ok {
				d.Delegates[k].Nodes[i] = append(d.Delegates[k].Nodes[i], from...)
			} else if n.Tensor && len(from) > 0 {
				d.Rest = append(d.Rest, Rest{i, from[0], foreign.Of(n.Why())})
			}
		}
	}
}
