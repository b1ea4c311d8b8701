// Package samples holds calls of every operator of the table for tests: small operand types
// and arguments, which a source of random numbers varies. Tests run each through the
// interpreter, C and Go. The samples of an operator stand under its name in the file of its
// family; adding an operator means adding them (TestEveryOperatorHasSamples).
package samples

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/kernels/ops"
)

// Sample is one call that exercises an entry.
type Sample struct {
	Inputs []Input // one per value the arguments refer to
	Args   []ir.NamedArg
}

// Input is a tensor or scalar operand of a sample.
type Input struct {
	Value  *ir.Value
	Values Values
}

// Values says what numbers an input takes.
type Values struct {
	Lo, Hi float64 // range, both included; both zero: chosen by dtype
	// Special mixes in NaN, infinities and signed zeros where the dtype has them.
	Special bool
	// Distinct makes all elements different (a permutation of steps of Lo..Hi).
	Distinct bool
	// NonZero avoids 0.
	NonZero bool
	// Sorted puts the elements of the last dimension in order.
	Sorted bool
}

// byName makes the samples of the operators named, bySchema from their schemas.
type (
	byName   map[string]func(*Rand) []Sample
	bySchema map[string]func(*Rand, *aten.Schema) []Sample
)

// The families.
var (
	named = []byName{createdSamples, indexSamples, lossSamples, moveSamples, normSamples,
		plainSamples, productSamples, factorSamples, eigenSamples, int8Samples, torchaoSamples,
		recurrentSamples, orderedSamples, viewSamples, windowSamples, seldomSamples,
		detectionSamples}
	read = []bySchema{copySamples, foundSamples, measureSamples, pointwiseSamples, quantSamples,
		reductionSamples, resampled}
)

// Of returns the samples of an operator that r varies, none for an operator that is none
// on tensors, or for a check. Another name of an operator has the operator's first.
func Of(op *ops.Op, r *Rand) []Sample {
	if op.Synonym != "" {
		return samplesOf(op.Synonym, op.ParsedSchema(), r)[:1]
	}
	return samplesOf(op.Name(), op.ParsedSchema(), r)
}

func samplesOf(name string, schema *aten.Schema, r *Rand) []Sample {
	for _, f := range named {
		if of := f[name]; of != nil {
			return of(r)
		}
	}
	for _, f := range read {
		if of := f[name]; of != nil {
			return of(r, schema)
		}
	}
	return nil
}

// Rand varies samples; the same seed gives the same ones.
type Rand struct{ *rand.Rand }

// NewRand returns a source of samples.
func NewRand(seed uint64) *Rand { return &Rand{rand.New(rand.NewPCG(seed, 1))} }

// Dim returns a small size.
func (r *Rand) Dim() int64 { return 1 + r.Int64N(6) }

// Shape returns rank small sizes.
func (r *Rand) Shape(rank int) []int64 {
	s := make([]int64, rank)
	for i := range s {
		s[i] = r.Dim()
	}
	return s
}

// BroadcastShape returns sizes that broadcast to shape.
func (r *Rand) BroadcastShape(shape []int64) []int64 {
	s := slices.Clone(shape[r.IntN(len(shape)+1):])
	for i := range s {
		if r.IntN(3) == 0 {
			s[i] = 1
		}
	}
	return s
}

// Tensor is a dense tensor operand of a sample under construction.
func Tensor(d ir.DType, v Values, shape ...int64) Input {
	return Input{Value: &ir.Value{Type: ir.StaticTensor(d, shape...)}, Values: v}
}

// NewSample makes a sample of arguments given as name, value, name, value, …;
// a value is an Input, a []Input, an ir.Arg or what ToArg takes.
func NewSample(args ...any) Sample {
	var s Sample
	for i := 0; i+1 < len(args); i += 2 {
		s.Args = append(s.Args, ir.NamedArg{Name: args[i].(string), Value: s.arg(args[i+1])})
	}
	return s
}

func (s *Sample) arg(x any) ir.Arg {
	switch x := x.(type) {
	case Input:
		x.Value.Name = "x" + strconv.Itoa(len(s.Inputs))
		s.Inputs = append(s.Inputs, x)
		return ir.Ref{Value: x.Value}
	case []Input:
		list := make(ir.List, len(x))
		for i, in := range x {
			list[i] = s.arg(in)
		}
		return list
	}
	a, err := ops.ToArg(x)
	if err != nil {
		panic("samples: " + err.Error()) // a defect of a sample, found by every test
	}
	return a
}

// Node returns the sample as a node that calls op.
func (s Sample) Node(op *ops.Op) *ir.Node {
	return &ir.Node{Name: "sample", Op: op.Name(), Args: s.Args}
}

// Data returns the little-endian bytes of an input: row-major elements, or one
// scalar (int64, float64, a bool byte).
func (in Input) Data(r *Rand) []byte {
	d, n := in.Value.Type.DType, int64(1)
	if in.Value.Type.Kind == ir.TensorKind {
		n, _ = in.Value.Type.Numel().Const()
	} else {
		d = ops.ScalarDType(in.Value.Type.Kind)
	}
	var order []int
	if in.Values.Distinct {
		order = r.Perm(int(n))
	}
	var out []byte
	var row []float64
	for i := range int(n) {
		if in.Values.Sorted {
			if len(row) == 0 {
				row = in.sortedRow(r)
			}
			out = tensor.Append(out, d, row[0])
			row = row[1:]
			continue
		}
		x := in.Values.draw(r, d)
		if order != nil {
			lo, hi := in.Values.bounds(d)
			x = lo + float64(order[i])*(hi-lo)/float64(max(n-1, 1))
			if !d.IsFloat() {
				x = lo + float64(order[i])
			}
		}
		out = tensor.Append(out, d, x)
	}
	return out
}

// sortedRow draws the elements of a row.
func (in Input) sortedRow(r *Rand) []float64 {
	sizes := in.Value.Type.Sizes
	n, _ := sizes[len(sizes)-1].Const()
	row := make([]float64, n)
	for i := range row {
		row[i] = in.Values.draw(r, in.Value.Type.DType)
	}
	slices.Sort(row)
	return row
}

func (v Values) bounds(d ir.DType) (lo, hi float64) {
	switch {
	case v.Lo != 0 || v.Hi != 0:
		return v.Lo, v.Hi
	case d == ir.Bool:
		return 0, 1
	case d.IsUnsigned():
		return 0, 20
	case d.IsInt():
		return -10, 10
	}
	return -3, 3
}

func (v Values) draw(r *Rand, d ir.DType) float64 {
	lo, hi := v.bounds(d)
	for {
		if v.Special && d.IsFloat() && r.IntN(5) == 0 {
			all := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1)}
			return all[r.IntN(len(all))]
		}
		x := lo + r.Float64()*(hi-lo)
		if !d.IsFloat() {
			lo, hi := math.Ceil(lo), math.Floor(hi)
			x = lo + math.Floor(r.Float64()*(hi-lo+1))
		}
		if !v.NonZero || x != 0 {
			return x
		}
	}
}

// dtypes are tried in the samples of operators that take several; the others are some of
// them.
var (
	dtypes = []ir.DType{ir.Float32, ir.Float64, ir.Float16, ir.BFloat16, ir.Int64, ir.Int32,
		ir.Int16, ir.Int8, ir.Uint8, ir.Bool}
	numbers         = dtypes[:9]
	floats          = dtypes[:4]
	integers        = dtypes[4:9]
	integersAndBool = dtypes[4:]
)

var inf = math.Inf(1)

// forDType widens a range that holds no integer.
func (v Values) forDType(d ir.DType) Values {
	if d == ir.Bool {
		return Values{}
	}
	if !d.IsFloat() && (v.Lo != 0 || v.Hi != 0) {
		if d.IsUnsigned() {
			v.Lo = max(v.Lo, 0)
		}
		if v.Hi-v.Lo < 1 {
			v.Hi = v.Lo + 1
		}
	}
	return v
}

// times returns n samples of f.
func times(n int, f func(r *Rand) Sample) func(*Rand) []Sample {
	return func(r *Rand) []Sample {
		out := make([]Sample, n)
		for i := range out {
			out[i] = f(r)
		}
		return out
	}
}

// f32 is a Float32 operand with values of all kinds.
func f32(shape ...int64) Input { return Tensor(ir.Float32, Values{}, shape...) }

// selfSamples give self alone.
func selfSamples(rank int) func(*Rand) []Sample {
	return times(2, func(r *Rand) Sample { return NewSample("self", f32(r.Shape(rank)...)) })
}
