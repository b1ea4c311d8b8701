package quantize

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
)

// weightIntegers are those of weights of so many bits. Those of 8 have no use for -128, so that
// two products fit 16 bits; those of 4 use all 16.
func weightIntegers(dtype string) integers {
	if dtype == "int4" {
		return integers{-8, 7, true}
	}
	return integersOf(ir.Int8, true)
}

// weightSearch is how many smaller scales are tried for weights of 4 bits, where the range of
// the largest weight costs the others much.
const weightSearch = 24

// biasRoom is how many steps of a layer's sum a bias may be: int32 holds it and the sum.
const biasRoom = 1 << 28

// weights adds recipes of the constants that a quantizes, in the order of layers.
func (r *MethodRecipe) weights(m *Model, a *Annotation) error {
	scales := map[string]float64{}
	for _, x := range r.Activations {
		scales[x.Value] = float64(x.Scale)
	}
	seen := map[*ir.Value]bool{}
	for _, l := range a.Layers {
		for _, v := range append([]*ir.Value{l.Weight}, l.more...) {
			spec := a.Weights[v]
			if spec == nil || seen[v] || l.Float {
				continue
			}
			seen[v] = true
			w := WeightRecipe{Value: v.Name, DType: "int8", Group: spec.Group, Op: l.Node.Op,
				At: l.Node.Loc.String()}
			if spec.Bits == 4 {
				w.DType = "int4"
			}
			if spec.Axis >= 0 {
				w.Axis = &spec.Axis
			}
			k, err := constantOf(v, &w)
			if err != nil {
				return err
			}
			if w.Group == 0 {
				least, err := l.leastScales(k, scales)
				if err != nil {
					return err
				}
				w.Scales = toFloat32s(k.scales(weightIntegers(w.DType), least))
			}
			r.Weights = append(r.Weights, w)
		}
	}
	return nil
}

// leastScales returns for each channel of a layer's weight the least scale with which its bias
// is no more than biasRoom steps of the sum; nil if there is no bias. A channel whose weights
// are next to nothing has no other scale.
func (l *Layer) leastScales(k *constant, scales map[string]float64) ([]float64, error) {
	if l.Bias == nil || len(l.Inputs) != 1 || scales[l.Inputs[0].Name] == 0 {
		return nil, nil
	}
	b, err := constantOf(l.Bias, &WeightRecipe{})
	if err != nil {
		return nil, err
	}
	least := make([]float64, k.channels)
	for i, x := range b.elements {
		c := min(i, len(least)-1)
		least[c] = max(least[c], math.Abs(x)/scales[l.Inputs[0].Name]/biasRoom)
	}
	return least, nil
}

// constant is a tensor whose elements belong to channels: the indices of an axis, or one channel.
// Where groups have scales it is a matrix with a row for each index of the axis, and groups of a
// row are the channels.
type constant struct {
	sizes           []int64
	elements        []float64
	channels, inner int // element i is of channel i / inner % channels
}

// constantOf reads a float32 constant as a recipe divides it.
func constantOf(v *ir.Value, w *WeightRecipe) (*constant, error) {
	sizes, ok := v.Type.StaticSizes()
	if !ok || v.Const == nil || v.Type.DType != ir.Float32 {
		return nil, fmt.Errorf("value %q is no constant of float32", v.Name)
	}
	raw, err := ir.Tensor(&ir.Constant{Type: v.Type, Data: v.Const.Data})
	if err != nil {
		return nil, fmt.Errorf("value %q: %w", v.Name, err)
	}
	k := &constant{sizes: sizes, channels: 1, inner: len(raw) / 4}
	bad := 0
	floats(raw, func(x float64) {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			bad++
		}
		k.elements = append(k.elements, x)
	})
	if bad > 0 {
		return nil, fmt.Errorf("value %q: %d of its %d elements are not finite", v.Name, bad,
			len(k.elements))
	}
	if w.Axis != nil {
		if *w.Axis < 0 || *w.Axis >= len(sizes) {
			return nil, fmt.Errorf("value %q has %d dimensions, none is %d", v.Name, len(sizes), *w.Axis)
		}
		k.channels, k.inner = int(sizes[*w.Axis]), 1
		for _, n := range sizes[*w.Axis+1:] {
			k.inner *= int(n)
		}
	}
	row := len(k.elements) / max(k.channels, 1)
	if w.Group > 0 && (w.Axis == nil || *w.Axis != 0 && (*w.Axis != 1 || len(sizes) != 2) ||
		row%w.Group != 0) {
		return nil, fmt.Errorf("value %q of sizes %v has no groups of %d in what its channels hold",
			v.Name, sizes, w.Group)
	}
	for _, f := range w.Factors {
		if f.Axis < 0 || f.Axis >= len(sizes) || int64(len(f.By)) != sizes[f.Axis] {
			return nil, fmt.Errorf("value %q of sizes %v has no %d factors along dimension %d", v.Name,
				sizes, len(f.By), f.Axis)
		}
		inner := 1
		for _, n := range sizes[f.Axis+1:] {
			inner *= int(n)
		}
		for i := range k.elements {
			k.elements[i] *= float64(f.By[i/inner%len(f.By)])
		}
	}
	if w.Group > 0 {
		if *w.Axis == 1 {
			k.transpose()
		}
		k.sizes = []int64{int64(k.channels), int64(row)}
		k.channels, k.inner = len(k.elements)/w.Group, w.Group
	}
	return k, nil
}

// transpose makes rows of the columns of a matrix.
func (k *constant) transpose() {
	rows, columns := int(k.sizes[0]), int(k.sizes[1])
	made := make([]float64, len(k.elements))
	for i, x := range k.elements {
		made[i%columns*rows+i/columns] = x
	}
	k.elements = made
}

// channel returns the channel of element i.
func (k *constant) channel(i int) int { return i / max(k.inner, 1) % k.channels }

// largest returns the largest magnitude of each channel.
func (k *constant) largest() []float64 {
	most := make([]float64, k.channels)
	for i, x := range k.elements {
		c := k.channel(i)
		most[c] = max(most[c], math.Abs(x))
	}
	return most
}

// scales returns the scale of each channel: float32 numbers, none less than least has it.
func (k *constant) scales(to integers, least []float64) []float64 {
	scales := k.largest()
	for c, most := range scales {
		s := most / float64(to.most)
		if least != nil {
			s = max(s, least[c])
		}
		if scales[c] = float64(float32(max(s, smallestScale))); s == 0 {
			scales[c] = 1
		}
	}
	if to.most > 7 {
		return scales
	}
	best := slices.Repeat([]float64{math.Inf(1)}, k.channels)
	chosen := slices.Clone(scales)
	for i := range weightSearch {
		tried := make([]float64, k.channels)
		for c, s := range scales {
			if tried[c] = float64(float32(s * (1 - float64(i)/(2*weightSearch)))); least != nil {
				tried[c] = max(tried[c], least[c])
			}
		}
		noise := make([]float64, k.channels)
		for j, x := range k.elements {
			c := k.channel(j)
			d := to.round(x, ir.QParams{Scale: tried[c]}) - x
			noise[c] += d * d
		}
		for c := range noise {
			if noise[c] < best[c] {
				best[c], chosen[c] = noise[c], tried[c]
			}
		}
	}
	return chosen
}

// quantized returns the integers of the elements, a byte each.
func (k *constant) quantized(to integers, scales []float64) []byte {
	q := make([]byte, len(k.elements))
	for i, x := range k.elements {
		q[i] = byte(to.quantize(x, ir.QParams{Scale: scales[k.channel(i)]}))
	}
	return q
}

// float32s is a constant of type float32.
func float32s(xs []float64, sizes ...int64) *ir.Constant {
	raw := make([]byte, 0, 4*len(xs))
	for _, x := range xs {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(x)))
	}
	return &ir.Constant{Type: ir.StaticTensor(ir.Float32, sizes...), Data: ir.Bytes(raw)}
}
