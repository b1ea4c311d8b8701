package tuned

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned/gokernels/panels"
)

// GroupsInt8 multiplies rows of bytes with constant columns of integers, each group of which has a
// scale. w is packed as for Conv2DInt8, with zeros up to a multiple of four columns, so that a
// group of two columns lies together; scales are [ceil(n/4)][k/group][4], and so are zeros, the
// zero points of w, if zeroed is set. Only m may be dynamic.
func GroupsInt8() *Kernel {
	return &Kernel{Name: "groups_i8", Forms: []string{groupsMVE, groupsLanes},
		Descriptor: groupsParams, Operands: []string{"x"}, C: true, Match: matchGroups}
}

// groupsMVE is the form for MVE, of groups of a multiple of 16: w is packed as for its Conv2DInt8,
// of 4 bits such that a byte has an element of either half of 32.
const groupsMVE = "groups_mve_i8"

// groupsLanes is the form for vectors, with w as for Conv2DInt8 there, less its zero points. Scales
// are [k/group][ceil(n/16)·16], and so is start, which has what 128 more in x makes of a sum.
const groupsLanes = "groups_lanes_i8"

// groups is a call of ops.IntegerMatmul with scales.
type groups struct {
	x, w, scales   int
	n, k, of       int // columns, elements of one, and of a group
	weights, zeros []int64
	given          []float32 // scales
}

// groupsOf reads r as one, or returns nil.
func groupsOf(r *Request) *groups {
	c := r.Call
	if c.Op.Name() != ops.IntegerMatmul || !c.Has("scales") || !r.RowMajor() ||
		c.Tensor("mat2").DType != ir.Int8 || !c.Bool("transposed") ||
		!isNumber(c, "self_zero_point", 0) || !isNumber(c, "mat2_zero_point", 0) {
		return nil
	}
	v := &groups{x: c.Operand("self"), w: c.Operand("mat2"), scales: c.Operand("scales")}
	data, ok1 := r.Const(v.w)
	scales, ok2 := r.Const(v.scales)
	size, ok := c.Tensor("mat2").StaticSizes()
	if !ok || !ok1 || !ok2 || len(data) == 0 || len(scales) == 0 {
		return nil
	}
	v.n, v.k, v.given = int(size[0]), int(size[1]), floats(scales)
	v.of = v.n * v.k / len(v.given)
	for _, b := range data {
		v.weights = append(v.weights, int64(int8(b)))
	}
	v.zeros = make([]int64, len(v.given))
	if c.Has("mat2_zero_points") {
		raw, ok := r.Const(c.Operand("mat2_zero_points"))
		if !ok {
			return nil
		}
		for i := range v.zeros {
			v.zeros[i] = int64(int32(binary.LittleEndian.Uint32(raw[4*i:])))
		}
	}
	return v
}

func isNumber(c *ops.Call, name string, want int64) bool {
	n, err := c.Int(name)
	return err == nil && n == want
}

// far is the largest of a group's sums of weights without their signs, or more.
func (v *groups) far() int64 {
	far := int64(0)
	for i, z := range v.zeros {
		sum := int64(v.of) * max(z, -z)
		for _, w := range v.weights[i*v.of : (i+1)*v.of] {
			sum += max(w, -w)
		}
		far = max(far, sum)
	}
	return far
}

// lessZeros takes the zero points from the weights, and reports whether these are bytes then.
func (v *groups) lessZeros() bool {
	for i := range v.weights {
		v.weights[i] -= v.zeros[i/v.of]
	}
	clear(v.zeros)
	return slices.Min(v.weights) >= math.MinInt8 && slices.Max(v.weights) <= math.MaxInt8
}

// inColumns packs a number of each group, so many columns beside each other:
// [across][groups][columns].
func inColumns[T any](v *groups, columns int, of []T) []T {
	each := v.k / v.of
	list := make([]T, int(roundUp(int64(v.n), columns))*each)
	for i, x := range of {
		j, g := i/each, i%each
		list[(j/columns*each+g)*columns+j%columns] = x
	}
	return list
}

func matchGroups(r *Request) *Instance {
	v := groupsOf(r)
	if v == nil || r.Call.Tensor("self").DType != ir.Int8 || v.of%4 != 0 ||
		v.far() > math.MaxInt32/128 {
		return nil
	}
	if ChannelsLast(r.Target) {
		return v.vectors(r)
	}
	int4 := slices.Min(v.weights) >= -8 && slices.Max(v.weights) <= 7 &&
		v.far() <= math.MaxInt32/(16*128)
	t, form := interleaving{columns: 2, elements: 4}, ""
	if r.Target.Machine.MVE && v.of%16 == 0 && (!int4 || v.of%32 == 0) {
		t, form = interleaving{columns: 4, elements: 16}, groupsMVE
	}
	bytes := make([]byte, int(roundUp(int64(v.n), 4))*v.k)
	for i, w := range v.weights {
		bytes[t.place(i/v.k, i%v.k, v.k)] = byte(w)
	}
	if int4 {
		bytes = t.inHalves(bytes)
	}
	zeroed := slices.ContainsFunc(v.zeros, func(z int64) bool { return z != 0 })
	in := v.instance(r,
		Values{"int4": truth(int4), "zeroed": truth(zeroed), "whole_range": sym.Int(0)},
		bytes, inColumns(v, 4, v.given))
	if zeroed {
		zeros := starts(inColumns(v, 4, v.zeros))
		zeros.Name, zeros.From = "zeros", []int{r.Call.Operand("mat2_zero_points")}
		in.Packed = append(in.Packed, zeros)
	}
	if in.Form = form; form != "" {
		in.Head = headMVE
	}
	return in
}

// vectors makes an instance of groupsLanes.
func (v *groups) vectors(r *Request) *Instance {
	if !v.lessZeros() {
		return nil
	}
	across, each := int(roundUp(int64(v.n), byteColumns)), v.k/v.of
	bytes, start := make([]byte, across*v.k), make([]int64, across*each)
	scales := make([]float32, across*each)
	for i, w := range v.weights {
		j, k := i/v.k, i%v.k
		bytes[j/byteColumns*byteColumns*v.k+k/4*4*byteColumns+j%byteColumns*4+k%4] = byte(w)
		start[k/v.of*across+j] -= 128 * w
		scales[k/v.of*across+j] = v.given[i/v.of]
	}
	in := v.instance(r, Values{"int4": sym.Int(0), "zeroed": sym.Int(0),
		"whole_range": truth(slices.Contains(bytes, 0x80))}, bytes, scales)
	in.Packed = append(in.Packed, starts(start))
	in.Form, in.Scratch = groupsLanes, num(roundUp(int64(laneResults*v.k*r.Target.byteSize()), 16))
	return in
}

func (v *groups) instance(r *Request, own Values, w []byte, scales []float32) *Instance {
	in := v.common(r, own, Packed{Name: "w", DType: ir.Int8, Data: w, From: []int{v.w}},
		packed("scales", scales, v.scales))
	in.Tile, in.Within = r.Target.BytesTile(), 3*v.k/v.of // each sum is converted, scaled and added
	if r.Target.Machine.MVE {                             // four at once
		in.Within /= 3
	}
	return in
}

func (v *groups) common(r *Request, own Values, data ...Packed) *Instance {
	xs := r.Call.Tensor("self").Sizes
	m := sym.Mul(xs[:len(xs)-1]...)
	in := &Instance{
		Params: groupsParams.params(own, Values{"m": m, "n": num(v.n), "k": num(v.k),
			"group": num(v.of)}),
		Operands: []int{v.x}, Packed: data,
		Channels: Channels{Inner: num(1), Count: num(v.n)}, RunChannels: true,
		MACs: sym.Mul(m, num(v.n*v.k)),
	}
	in.Cost = cost(in.MACs)
	return in
}

// GroupsRows multiplies rows of floats that are whole numbers of 8 bits with constant columns of
// integers, each group of which has a scale. Weights less their zero points, and scales, are in
// panels as Linear's. Float32 holds each sum. Only m may be dynamic.
func GroupsRows() *Kernel {
	return &Kernel{Name: "groups_rows", Descriptor: groupsParams, Go: "rows.Groups",
		Buffers: []string{"w", "scales"}, Bounds: true, Operands: []string{"x"},
		Match: matchGroupsRows}
}

func matchGroupsRows(r *Request) *Instance {
	v := groupsOf(r)
	if v == nil || !r.Target.Language.FindsVectors || r.Call.Tensor("self").DType != ir.Float32 ||
		128*v.far() > ops.ExactSum {
		return nil
	}
	w, each := make([]float32, len(v.weights)), v.k/v.of
	for i, x := range v.weights {
		w[i] = float32(x - v.zeros[i/v.of])
	}
	shape := panels.Shape{Groups: 1, N: v.n, A: v.k, B: 1, C: 1, Cols: rowsCols,
		Last: lastCols(v.n), Column: v.k, StepA: 1}
	of := shape
	of.A, of.Column = each, each
	in := v.common(r, Values{"int4": sym.Int(0), "zeroed": sym.Int(0), "whole_range": sym.Int(0)},
		inPanels("w", shape, w, v.w), inPanels("scales", of, v.given, v.scales))
	in.Tile = r.Target.tile()
	return in
}
