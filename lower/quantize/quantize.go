// Package quantize makes a float program one that computes with integers, in the four steps of
// ExecuTorch's quantizers: annotate says what is quantized and how, prepare brings the program
// into the form that this is said of, calibrate observes ranges on the user's data, and convert
// inserts quantize and dequantize nodes, as PT2E does. Between calibrate and convert stands a
// [Recipe], a file that a person can read and edit.
//
// What becomes of the nodes is the business of later passes, the same as for models that were
// quantized in Python: docs/quantisation.md.
package quantize

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

// Arithmetic names what integers mean and how they are computed with. It changes when results
// do.
const Arithmetic = "etgen.int8.v5"

// since tells of earlier versions what gives other integers now.
var since = map[string]string{
	"etgen.int8.v1": ", in which fixed point, means, PReLU and resizing give other integers",
	"etgen.int8.v2": ", in which sums of int16, and of a layer and a tensor, give other integers " +
		"in fixed point",
	"etgen.int8.v3": ", in which products with weights in groups, averages, resizing and halves in " +
		"fixed point differ",
	"etgen.int8.v4": ", in which means, averages in fixed point and results of int16 differ",
}

// Scheme says what is quantized to which integers.
type Scheme struct {
	Name, Doc string
	// Activations is the type of activations; InvalidDType leaves them float32.
	Activations ir.DType
	// Dynamic activations have a scale and a zero point for each call, or for each row of it.
	Dynamic bool
	// Bits of a weight, 8 or 4, which is symmetric.
	Bits int
	// Group is how many weights of a channel share a scale; 0: all of it. Embeddings, products by a
	// matrix and convolutions of single elements have groups, other layers have none.
	Group int
}

// Schemes lists the schemes by name.
var Schemes = []Scheme{
	{Name: "int8", Doc: "activations and weights of 8 bits, ranges from calibration",
		Activations: ir.Int8, Bits: 8},
	{Name: "int16x8", Doc: "activations of 16 bits, weights of 8 bits, ranges from calibration",
		Activations: ir.Int16, Bits: 8},
	{Name: "int8-dynamic", Doc: "inputs of products quantized with the range that they have " +
		"in the call, weights of 8 bits", Activations: ir.Int8, Dynamic: true, Bits: 8},
	{Name: "int8-weights", Doc: "weights of 8 bits, activations float32", Bits: 8},
	{Name: "int4-weights", Doc: "weights of 4 bits in groups, activations float32", Bits: 4,
		Group: 32},
}

// SchemeNamed looks a scheme up.
func SchemeNamed(name string) (Scheme, error) {
	i := slices.IndexFunc(Schemes, func(s Scheme) bool { return s.Name == name })
	if i < 0 {
		return Scheme{}, fmt.Errorf("there is no scheme %q", name)
	}
	return Schemes[i], nil
}

// Static reports whether the ranges of activations come from calibration.
func (s Scheme) Static() bool { return s.Activations != ir.InvalidDType && !s.Dynamic }

// Prepare brings a program as it was read into the form that quantizers annotate.
func Prepare(ctx *lower.Context, p *ir.Program) error {
	return lower.Quantizable.Run(ctx, p, nil)
}

// Digest identifies a program by its text form, constants by what they hold.
func Digest(p *ir.Program) (string, error) {
	h := sha256.New()
	named := *p
	named.Source = "" // the same model under another name
	if err := ir.Print(h, &named); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Model is a method that is to be quantized, as Prepare leaves it.
type Model struct {
	Table    *ops.Table
	Method   *ir.Method
	Constant map[*ir.Value]bool       // what is the same in each call
	Users    map[*ir.Value][]*ir.Node // of values of the method's own graph, regions included
	Returned map[*ir.Value]bool       // outputs of the method
	calls    map[*ir.Node]*ops.Call
}

// ModelOf looks at a method of p, which Prepare has brought into form.
func ModelOf(t *ops.Table, p *ir.Program, m *ir.Method) *Model {
	q := &Model{Table: t, Method: m, Constant: lower.Constants(p, m),
		Users: map[*ir.Value][]*ir.Node{}, Returned: map[*ir.Value]bool{},
		calls: map[*ir.Node]*ops.Call{}}
	for n := range m.Graph.All() {
		for _, a := range n.Args {
			ir.EachRef(a.Value, func(v *ir.Value) { q.Users[v] = append(q.Users[v], n) })
		}
		for _, r := range n.Regions {
			for _, a := range r.Outputs {
				ir.EachRef(a, func(v *ir.Value) { q.Users[v] = append(q.Users[v], n) })
			}
		}
	}
	for _, a := range m.Graph.Outputs {
		ir.EachRef(a, func(v *ir.Value) { q.Returned[v] = true })
	}
	for _, n := range m.Graph.Nodes {
		if len(n.Regions) > 0 {
			continue
		}
		if c, err := t.Bind(n); err == nil {
			q.calls[n] = c
		}
	}
	return q
}

// Activation reports whether v is a float32 tensor that differs from call to call.
func (m *Model) Activation(v *ir.Value) bool {
	return v != nil && v.Type.Kind == ir.TensorKind && v.Type.DType == ir.Float32 &&
		v.Type.Rank() > 0 && !m.Constant[v]
}

// activations returns the float32 operands of a call that are no constants.
func (m *Model) activations(c *ops.Call) []*ir.Value {
	var vs []*ir.Value
	for _, v := range c.Operands() {
		if m.Activation(v) {
			vs = append(vs, v)
		}
	}
	return vs
}
