package quantize

import (
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
)

// Channels of one layer may be large where those of another are small. Between two layers with
// nothing but a relu in between, channel i of the first may be divided by any factor over 0 if
// the second multiplies by it: cross-layer equalization (Nagel et al., "Data-Free Quantization
// Through Weight Equalization and Bias Correction", 2019). The factor chosen here makes both
// weights' largest magnitudes of the channel equal.

// equalization is what weights and biases are multiplied by.
type equalization struct {
	weights map[*ir.Value][]FactorRecipe
	biases  map[*ir.Value][]float64
}

// equalize finds pairs of layers and their factors, and multiplies the constants by them, in
// place.
func equalize(m *Model, a *Annotation) (*equalization, error) {
	e := &equalization{weights: map[*ir.Value][]FactorRecipe{}, biases: map[*ir.Value][]float64{}}
	by := map[*ir.Value]*Layer{} // layers by their input
	for _, l := range a.Layers {
		if len(l.Inputs) == 1 {
			by[l.Inputs[0]] = l
		}
	}
	for _, first := range a.Layers {
		next := by[first.Result]
		if next == nil || !e.equalizable(m, first) || !e.equalizable(m, next) ||
			len(m.Users[first.Result]) != 1 || m.Returned[first.Result] || !homogeneous(m, first) {
			continue
		}
		in := inAxis(m, next)
		out, inputs := first.axis, in
		w1, err := constantOf(first.Weight, &WeightRecipe{Axis: &out})
		if err != nil {
			return nil, err
		}
		w2, err := constantOf(next.Weight, &WeightRecipe{Axis: &inputs})
		if err != nil {
			return nil, err
		}
		if w1.channels != w2.channels {
			continue // a reshape lies in between
		}
		r1, r2 := w1.largest(), w2.largest()
		divide, multiply := make([]float64, len(r1)), make([]float64, len(r1))
		for i := range r1 {
			divide[i], multiply[i] = 1, 1
			if r1[i] < 1e-12 || r2[i] < 1e-12 {
				continue // a dead channel
			}
			s := float64(float32(math.Sqrt(r1[i] / r2[i])))
			divide[i], multiply[i] = 1/s, s
		}
		e.scale(first.Weight, out, divide)
		e.scale(next.Weight, in, multiply)
		if first.Bias != nil {
			e.biases[first.Bias] = product2(e.biases[first.Bias], divide)
		}
		if err := e.apply(first.Weight, out, divide); err != nil {
			return nil, err
		}
		if err := e.apply(next.Weight, in, multiply); err != nil {
			return nil, err
		}
		if first.Bias != nil {
			if err := e.apply(first.Bias, 0, divide); err != nil {
				return nil, err
			}
		}
	}
	return e, nil
}

// equalizable reports whether a layer multiplies by a weight that nobody else reads.
func (e *equalization) equalizable(m *Model, l *Layer) bool {
	base := ir.OpBase(l.Node.Op)
	return !l.Float && l.Weight != nil && len(l.more) == 0 && !l.lookUp && l.axis == 0 &&
		len(m.Users[l.Weight]) == 1 && (l.Bias == nil || len(m.Users[l.Bias]) == 1) &&
		(strings.HasPrefix(base, "conv") || base == "linear") && inAxis(m, l) >= 0
}

// inAxis is the dimension of a layer's weight that counts channels of its input, -1 if there
// are groups of several.
func inAxis(m *Model, l *Layer) int {
	if ir.OpBase(l.Node.Op) == "linear" {
		return 1
	}
	c := m.calls[l.Node]
	groups, err := c.Int("groups")
	switch {
	case err != nil:
		return -1
	case groups == 1:
		return 1
	case l.Weight.Type.Sizes[0].Is(groups) && l.Weight.Type.Sizes[1].Is(1):
		return 0 // a depthwise convolution
	}
	return -1
}

// homogeneous reports whether what lies between a layer and its result multiplies by a factor
// what is multiplied by it.
func homogeneous(m *Model, l *Layer) bool {
	for v := l.Result; v != l.Node.Output(0); {
		if v.Def == nil || ir.OpBase(v.Def.Op) != "relu" {
			return false
		}
		v = m.activations(m.calls[v.Def])[0]
	}
	return true
}

func product2(xs, ys []float64) []float64 {
	out := slices.Clone(ys)
	for i := range xs {
		out[i] *= xs[i]
	}
	return out
}

// scale notes that a weight is multiplied along an axis.
func (e *equalization) scale(v *ir.Value, axis int, by []float64) {
	e.weights[v] = append(e.weights[v], FactorRecipe{Axis: axis, By: toFloat32s(by)})
}

// apply multiplies a constant along an axis.
func (e *equalization) apply(v *ir.Value, axis int, by []float64) error {
	k, err := constantOf(v, &WeightRecipe{Factors: []FactorRecipe{{Axis: axis, By: toFloat32s(by)}}})
	if err != nil {
		return err
	}
	made := float32s(k.elements, k.sizes...)
	made.Name = v.Const.Name
	v.Const, v.Type = made, made.Type
	return nil
}

// record adds what was multiplied to a recipe.
func (e *equalization) record(r *MethodRecipe) {
	for i := range r.Weights {
		for v, f := range e.weights {
			if v.Name == r.Weights[i].Value {
				r.Weights[i].Factors = f
			}
		}
	}
	for v, f := range e.biases {
		r.biasOf(v.Name).Factors = toFloat32s(f)
	}
	r.sortBiases()
}

func (r *MethodRecipe) sortBiases() {
	seq.Sort(r.Biases, func(a, b BiasRecipe) int { return strings.Compare(a.Value, b.Value) })
}

// biasOf returns the recipe of a bias, made if there is none.
func (r *MethodRecipe) biasOf(name string) *BiasRecipe {
	i := slices.IndexFunc(r.Biases, func(b BiasRecipe) bool { return b.Value == name })
	if i < 0 {
		r.Biases = append(r.Biases, BiasRecipe{Value: name})
		i = len(r.Biases) - 1
	}
	return &r.Biases[i]
}
