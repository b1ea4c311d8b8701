package xnnpack

import (
	"errors"
	"fmt"
	"math"
)

// The runtime's limits.
const (
	MaxExterns = 4096
	MaxDims    = 6
)

// maxProblems bounds how many problems Verify reports.
const maxProblems = 32

// Verify reports what is wrong with a graph: ids that are not there or there twice, values
// that are read before a node makes them, members that do not fit their kind. Whether shapes
// and types fit what nodes do is seen by who makes something of it. The error joins all.
func Verify(g *Graph) error {
	v := &verifier{g: g, values: map[uint32]*Value{}, ready: map[uint32]bool{}}
	if len(g.Nodes) == 0 || len(g.Values) == 0 {
		v.problem("it has %d nodes and %d values", len(g.Nodes), len(g.Values))
	}
	if g.Externs > MaxExterns {
		v.problem("it has %d arguments, more than %d", g.Externs, MaxExterns)
	}
	external := map[uint32]bool{}
	for i := range g.Values {
		x := &g.Values[i]
		at := fmt.Sprintf("value %d", i)
		if v.values[x.ID] != nil || x.ID == None {
			v.problem("%s: its id %d is another's", at, x.ID)
		}
		v.values[x.ID] = x
		v.value(at, x)
		if x.External != None {
			if external[x.External] {
				v.problem("%s: argument %d is another value's", at, x.External)
			}
			external[x.External] = true
		}
	}
	for i := range g.Nodes {
		v.node(fmt.Sprintf("node %d (%v)", i, g.Nodes[i].Kind), &g.Nodes[i])
	}
	for i := range g.Values {
		if x := &g.Values[i]; x.Flags == ExternalOutput && !v.ready[x.ID] {
			v.problem("value %d: no node makes it, an output", i)
		}
	}
	return errors.Join(v.problems...)
}

type verifier struct {
	g        *Graph
	values   map[uint32]*Value
	ready    map[uint32]bool // inputs and what nodes so far have made
	problems []error
}

func (v *verifier) problem(format string, args ...any) {
	if len(v.problems) < maxProblems {
		v.problems = append(v.problems, fmt.Errorf(format, args...))
	}
}

func (v *verifier) value(at string, x *Value) {
	switch {
	case x.Type <= Invalid || int(x.Type) >= len(dataTypes):
		v.problem("%s: %v", at, x.Type)
	case len(x.Dims) > MaxDims:
		v.problem("%s: it has %d dimensions", at, len(x.Dims))
	case x.Flags != 0 && x.Flags != ExternalInput && x.Flags != ExternalOutput:
		v.problem("%s: flags %d", at, x.Flags)
	case (x.Flags == 0) != (x.External == None):
		v.problem("%s: flags %d of argument %d", at, x.Flags, x.External)
	case x.External != None && x.External >= v.g.Externs:
		v.problem("%s: argument %d of %d", at, x.External, v.g.Externs)
	case x.Constant != 0 && (uint64(x.Constant) >= uint64(len(v.g.Constants)) || x.Flags != 0):
		v.problem("%s: constant %d of %d, flags %d", at, x.Constant, len(v.g.Constants), x.Flags)
	case x.Dynamic != Invalid && (x.Dynamic != QInt8 || x.Flags != ExternalInput ||
		x.Type != FP32 || x.Quant != nil):
		v.problem("%s: a %v of flags %d cannot be quantized as %v by the run", at, x.Type, x.Flags,
			x.Dynamic)
	}
	for _, d := range x.Dims {
		if d > math.MaxInt32 {
			v.problem("%s: a dimension of %d", at, d)
		}
	}
	if x.Flags == ExternalInput || x.Constant != 0 {
		v.ready[x.ID] = true
	}
	v.quant(at, x)
}

// quant checks that a value's quantization is one of its type.
func (v *verifier) quant(at string, x *Value) {
	var ok bool
	switch q := x.Quant.(type) {
	case nil:
		ok = x.Type == FP32 || x.Type == FP16 || x.Type == BF16 || x.Type == Int32
	case PerTensor:
		ok = (x.Type == QInt8 || x.Type == QUInt8 || x.Type == QInt32) && positive(q.Scale)
		least, most := int32(math.MinInt8), int32(math.MaxInt8)
		if x.Type == QUInt8 {
			least, most = 0, math.MaxUint8
		}
		ok = ok && q.ZeroPoint >= least && q.ZeroPoint <= most
	case PerChannel:
		ok = (x.Type == QCInt8 || x.Type == QCInt4 || x.Type == QCInt32) && x.Constant != 0 &&
			v.scales(q.Scales, x, q.Dim, 1)
	case PerToken:
		ok = (x.Type == QDInt8 || x.Type == QPInt8) && x.Constant == 0 && q.NonBatch >= 1 &&
			int(q.NonBatch) <= len(x.Dims)
	case PerGroup:
		ok = x.Type == QBInt4 && x.Constant != 0 && len(x.Dims) == 2 && q.Dim == 0 && q.Size > 0 &&
			x.Dims[1]%uint32(q.Size) == 0 && v.scales(q.Scales, x, 0, x.Dims[1]/uint32(q.Size))
	}
	if !ok {
		v.problem("%s: %v of %d dimensions is not quantized by %T%+v", at, x.Type, len(x.Dims), x.Quant,
			x.Quant)
	}
}

func positive(x float32) bool { return x > 0 && !math.IsInf(float64(x), 0) }

// scales reports whether there are as many as a dimension has indices, times so many.
func (v *verifier) scales(s Scales, x *Value, dim int32, times uint32) bool {
	if dim < 0 || int(dim) >= len(x.Dims) {
		return false
	}
	want := uint64(x.Dims[dim]) * uint64(times)
	if s.Buffer != 0 {
		return uint64(s.Count) == want && uint64(s.Buffer) < uint64(len(v.g.Constants))
	}
	for _, x := range s.List {
		if !positive(x) {
			return false
		}
	}
	return uint64(len(s.List)) == want
}

func (v *verifier) node(at string, n *Node) {
	for i, id := range n.Inputs {
		switch x := v.values[id]; {
		case id == None && n.Kind.Form().Inputs[i] == "bias_id":
		case x == nil:
			v.problem("%s: %s: there is no value %d", at, n.Kind.Form().Inputs[i], id)
		case !v.ready[id]:
			v.problem("%s: %s: value %d is read before it is made", at, n.Kind.Form().Inputs[i], id)
		}
	}
	for i, id := range n.Outputs {
		switch x := v.values[id]; {
		case x == nil:
			v.problem("%s: %s: there is no value %d", at, n.Kind.Form().Outputs[i], id)
		case v.ready[id]:
			v.problem("%s: %s: value %d is an input, a constant, or made before", at,
				n.Kind.Form().Outputs[i], id)
		}
		v.ready[id] = true
	}
	for i, l := range n.Lists {
		if len(l) > MaxDims {
			v.problem("%s: %s of %d numbers", at, n.Kind.Form().Lists[i], len(l))
		}
	}
	if c := n.Clamp; c != nil && !(c.Min <= c.Max) {
		v.problem("%s: it limits its result to %g at least and %g at most", at, c.Min, c.Max)
	}
}

// Bytes returns the bytes that a constant of the value's type and dimensions has; ok is false
// if there are none such.
func (v *Value) Bytes() (n uint64, ok bool) {
	bits := v.Type.bits()
	if bits == 0 || len(v.Dims) > MaxDims {
		return 0, false
	}
	rows, row := uint64(1), uint64(1)
	for i, d := range v.Dims {
		if i == len(v.Dims)-1 {
			row = uint64(d)
		} else {
			rows *= uint64(d)
		}
		if d > math.MaxInt32 || rows > math.MaxInt32 {
			return 0, false
		}
	}
	n = rows * ((row*bits + 7) / 8) // rows of half bytes begin with a byte
	return n, n <= math.MaxInt32
}
