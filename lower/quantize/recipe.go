package quantize

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/etgen/etgen/ir"
)

// RecipeVersion is the version of the form of a recipe.
const RecipeVersion = 1

// Recipe says how a program is quantized: a file that a person can read, compare and edit.
// Values have the names that etgen lower --stop-after=fold-batch-norm shows.
type Recipe struct {
	Version    int    `json:"etgen_recipe"`
	Arithmetic string `json:"arithmetic"`
	Scheme     string `json:"scheme"`
	Model      string `json:"model"` // the file's name, for the reader
	// IO is IntegerIO if user inputs and outputs are integers, else empty.
	IO string `json:"io,omitempty"`
	// Digest is that of the program before anything was done to it. A recipe without one fits
	// any program that has the values it names.
	Digest      string         `json:"digest,omitempty"`
	Calibration *Calibration   `json:"calibration,omitempty"`
	Methods     []MethodRecipe `json:"methods"`
}

// Calibration says where the ranges come from.
type Calibration struct {
	Samples    int     `json:"samples"`
	Observer   string  `json:"observer"`
	Percentile float64 `json:"percentile,omitempty"`
}

// MethodRecipe is what is quantized in a method.
type MethodRecipe struct {
	Name        string             `json:"name"`
	Activations []ActivationRecipe `json:"activations"`
	Weights     []WeightRecipe     `json:"weights"`
	Biases      []BiasRecipe       `json:"biases,omitempty"`
}

// ActivationRecipe is how an activation is quantized. Its integers q stand for
// (q - ZeroPoint)·Scale.
type ActivationRecipe struct {
	Value     string  `json:"value"`
	DType     string  `json:"dtype"`
	Scale     Float32 `json:"scale"`
	ZeroPoint int64   `json:"zero_point"`
	// Range is what was observed, or what the observer made of it.
	Range *[2]Float32 `json:"range,omitempty"`
	// Dynamic ones have the scale of each call: "per_tensor" or "per_token". Then Scale and
	// ZeroPoint mean nothing.
	Dynamic string `json:"dynamic,omitempty"`
	Op      string `json:"op,omitempty"` // what makes it, and where, for the reader
	At      string `json:"at,omitempty"`
}

// WeightRecipe is how a constant is quantized: with the zero point 0.
type WeightRecipe struct {
	Value string `json:"value"`
	DType string `json:"dtype"` // int8 or int4
	// Axis is the dimension with a scale for each index; without one there is one scale.
	Axis *int `json:"axis,omitempty"`
	// Group is how many elements of a row share a scale.
	Group int `json:"group,omitempty"`
	// Scales are those of the indices of Axis. Those of groups follow from the weight.
	Scales []Float32 `json:"scales,omitempty"`
	// Factors multiply the weights before, by the index of an axis: equalization.
	Factors []FactorRecipe `json:"factors,omitempty"`
	Op      string         `json:"op,omitempty"`
	At      string         `json:"at,omitempty"`
}

// FactorRecipe multiplies a constant along an axis.
type FactorRecipe struct {
	Axis int       `json:"axis"`
	By   []Float32 `json:"by"`
}

// BiasRecipe changes a bias.
type BiasRecipe struct {
	Value   string    `json:"value"`
	Factors []Float32 `json:"factors,omitempty"`
	Add     []Float32 `json:"add,omitempty"`
}

// Float32 is a number that is written with the digits that a float32 has.
type Float32 float64

// MarshalJSON implements json.Marshaler.
func (f Float32) MarshalJSON() ([]byte, error) {
	if x := float64(f); math.IsNaN(x) || math.IsInf(x, 0) {
		return nil, fmt.Errorf("%v is no number", x)
	}
	return strconv.AppendFloat(nil, float64(f), 'g', -1, 32), nil
}

func toFloat32s(xs []float64) []Float32 {
	out := make([]Float32, len(xs))
	for i, x := range xs {
		out[i] = Float32(float32(x))
	}
	return out
}

func toFloats(xs []Float32) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = float64(x)
	}
	return out
}

// Marshal writes a recipe as JSON, with a line for each value.
func (r *Recipe) Marshal() ([]byte, error) {
	head := *r
	head.Methods = nil
	text, err := json.MarshalIndent(head, "", "  ")
	if err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(bytes.TrimSuffix(text, []byte("null\n}")))
	list := func(name string, n int, line func(i int) any, last bool) error {
		fmt.Fprintf(b, "      %q: [", name)
		for i := range n {
			text, err := json.Marshal(line(i))
			if err != nil {
				return err
			}
			sep := ","
			if i == n-1 {
				sep = "\n      "
			}
			fmt.Fprintf(b, "\n        %s%s", text, sep)
		}
		b.WriteString("]")
		if !last {
			b.WriteString(",")
		}
		b.WriteString("\n")
		return nil
	}
	b.WriteString("[\n")
	for i, m := range r.Methods {
		name, err := json.Marshal(m.Name)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(b, "    {\n      \"name\": %s,\n", name)
		err = errors.Join(
			list("activations", len(m.Activations), func(i int) any { return m.Activations[i] }, false),
			list("weights", len(m.Weights), func(i int) any { return m.Weights[i] }, false),
			list("biases", len(m.Biases), func(i int) any { return m.Biases[i] }, true))
		if err != nil {
			return nil, err
		}
		b.WriteString("    }")
		if i < len(r.Methods)-1 {
			b.WriteString(",")
		}
		b.WriteString("\n")
	}
	b.WriteString("  ]\n}\n")
	return b.Bytes(), nil
}

// Unmarshal reads a recipe and checks what can be checked without the program.
func Unmarshal(data []byte) (*Recipe, error) {
	r := &Recipe{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("it is no recipe: %w", err)
	}
	switch {
	case r.Version != RecipeVersion:
		return nil, fmt.Errorf("etgen_recipe is %d; this etgen reads %d", r.Version, RecipeVersion)
	case r.Arithmetic != Arithmetic:
		return nil, fmt.Errorf("its arithmetic is %q; this etgen has %q%s: quantize the model again",
			r.Arithmetic, Arithmetic, since[r.Arithmetic])
	}
	if r.IO != "" && r.IO != IntegerIO {
		return nil, fmt.Errorf("io is %q; it is %s or left out", r.IO, IntegerIO)
	}
	for i := range r.Methods {
		if err := r.Methods[i].check(); err != nil {
			return nil, fmt.Errorf("method %q: %w", r.Methods[i].Name, err)
		}
	}
	return r, nil
}

func (m *MethodRecipe) check() error {
	var errs []error
	seen := map[string]bool{}
	fault := func(value, format string, args ...any) {
		errs = append(errs, fmt.Errorf("value %q: "+format, append([]any{value}, args...)...))
	}
	once := func(value string) {
		if seen[value] {
			fault(value, "it is there twice")
		}
		seen[value] = true
	}
	for _, a := range m.Activations {
		once(a.Value)
		d, known := ir.ParseDType(a.DType)
		if !known || d != ir.Int8 && d != ir.Int16 {
			fault(a.Value, "dtype %q; activations are int8 or int16", a.DType)
			continue
		}
		switch to := integersOf(d, false); {
		case a.Dynamic == "per_tensor" || a.Dynamic == "per_token":
			if d != ir.Int8 {
				fault(a.Value, "dynamic activations are int8")
			}
		case a.Dynamic != "":
			fault(a.Value, "dynamic is %q; it is per_tensor or per_token", a.Dynamic)
		case !scaleIs(a.Scale):
			fault(a.Value, "a scale of %v", float64(a.Scale))
		case a.ZeroPoint < to.least || a.ZeroPoint > to.most:
			fault(a.Value, "a zero point of %d, which %s does not hold", a.ZeroPoint, a.DType)
		}
	}
	for _, w := range m.Weights {
		once(w.Value)
		if w.DType != "int8" && w.DType != "int4" {
			fault(w.Value, "dtype %q; weights are int8 or int4", w.DType)
		}
		if w.Group < 0 || w.Group > 0 && len(w.Scales) > 0 {
			fault(w.Value, "a group of %d and %d scales", w.Group, len(w.Scales))
		}
		for _, s := range w.Scales {
			if !scaleIs(s) {
				fault(w.Value, "a scale of %v", float64(s))
			}
		}
	}
	for _, b := range m.Biases {
		once(b.Value)
	}
	return errors.Join(errs...)
}

// scaleIs reports whether s is a scale: a float32 over 0 whose reciprocal is one.
func scaleIs(s Float32) bool {
	x := float64(float32(s))
	return x > 0x1p-126 && x < math.MaxFloat32
}
