package testcase

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/xnnpack"
)

// meta is meta.json.
type meta struct {
	Name    string   `json:"name"`
	Version string   `json:"torch_version"`
	Note    string   `json:"note,omitempty"`
	Labels  []string `json:"labels,omitempty"`
	Methods []string `json:"methods,omitempty"`
	Share   bool     `json:"share_mutable_buffers,omitempty"`
	metaCall
	Runs  []metaCall `json:"runs,omitempty"`
	Slack float64    `json:"exported_vs_eager_max_abs_diff"`
	// Of programs that ExecuTorch's exporter wrote: what they delegate, and how far off its
	// own runtime is.
	Delegates []metaDelegate `json:"delegates,omitempty"`
	Stock     *struct {
		MaxDiff *float64 `json:"max_diff"`
	} `json:"stock_runtime,omitempty"`
}

// metaDelegate is a delegate, with the number of nodes by operator.
type metaDelegate struct {
	Backend string         `json:"backend"`
	Ops     map[string]int `json:"ops"`
}

// slack is what a correct result may be off besides rounding. XNNPACK's integer kernels round
// otherwise than PyTorch, by a step: where some run, as much as ExecuTorch's runtime is off.
func (m *meta) slack() float64 {
	for _, d := range m.Delegates {
		for op := range d.Ops {
			if d.Backend == xnnpack.ID && strings.HasPrefix(op, "quantized_decomposed.") &&
				m.Stock != nil && m.Stock.MaxDiff != nil {
				return max(m.Slack, *m.Stock.MaxDiff)
			}
		}
	}
	return m.Slack
}

// metaCall is one call; the first is part of the top level.
type metaCall struct {
	Label   label       `json:"label,omitempty"`
	Method  string      `json:"method,omitempty"`
	Inputs  []metaValue `json:"inputs"`
	Outputs []metaValue `json:"outputs"`
	Refused string      `json:"refused,omitempty"`
}

// label is a name or the number of a class.
type label string

func (l *label) UnmarshalJSON(text []byte) error {
	var name string
	if json.Unmarshal(text, &name) != nil {
		name = string(text)
	}
	*l = label(name)
	return nil
}

// metaValue is one input or output.
type metaValue struct {
	Path        string          `json:"path"`
	Kind        string          `json:"kind"`
	DType       string          `json:"dtype,omitempty"`
	Shape       []int64         `json:"shape,omitzero"`
	File        string          `json:"file,omitempty"`
	MutatedFile string          `json:"mutated_file,omitempty"`
	Value       json.RawMessage `json:"value,omitempty"`
	// Of a float output: what an element may be off, in place of the usual limits.
	Atol *float64 `json:"atol,omitempty"`
	Rtol *float64 `json:"rtol,omitempty"`
}

// limits are those of an output, nil if it has the usual ones.
func (m metaValue) limits() (*compare.Limits, error) {
	if m.Atol == nil && m.Rtol == nil {
		return nil, nil
	}
	var l compare.Limits
	for _, x := range []struct {
		from *float64
		to   *float64
	}{{m.Atol, &l.Absolute}, {m.Rtol, &l.Relative}} {
		if x.from != nil {
			*x.to = *x.from
		}
	}
	if l.Absolute < 0 || l.Relative < 0 {
		return nil, fmt.Errorf("atol and rtol are %v and %v: they are not below 0", l.Absolute,
			l.Relative)
	}
	return &l, nil
}

func (m metaCall) read(dir string) (Call, error) {
	c := Call{Label: string(m.Label), Refused: m.Refused}
	for i, in := range m.Inputs {
		v, err := in.read(dir)
		if err != nil {
			return c, fmt.Errorf("input %d: %w", i, err)
		}
		var mutated *tensor.Tensor
		if in.MutatedFile != "" {
			if mutated, err = in.tensor(dir, in.MutatedFile); err != nil {
				return c, fmt.Errorf("input %d after the call: %w", i, err)
			}
		}
		c.Inputs = append(c.Inputs, v)
		c.Mutated = append(c.Mutated, mutated)
	}
	for i, out := range m.Outputs {
		v, err := out.read(dir)
		if err != nil {
			return c, fmt.Errorf("output %d: %w", i, err)
		}
		l, err := out.limits()
		if err != nil {
			return c, fmt.Errorf("output %d: %w", i, err)
		}
		c.Outputs = append(c.Outputs, v)
		if l != nil {
			c.Limits = append(c.Limits, make([]*compare.Limits, i+1-len(c.Limits))...)
			c.Limits[i] = l
		}
	}
	return c, nil
}

func (m metaValue) read(dir string) (tensor.Value, error) {
	if m.Kind == "tensor" {
		t, err := m.tensor(dir, m.File)
		return tensor.Value{Tensor: t}, err
	}
	a, err := scalar(m.Kind, m.Value)
	return tensor.Value{Scalar: a}, err
}

func (m metaValue) tensor(dir, file string) (*tensor.Tensor, error) {
	d, ok := ir.ParseDType(m.DType)
	if !ok {
		return nil, fmt.Errorf("dtype %q is unknown", m.DType)
	}
	if file != filepath.Base(file) {
		return nil, fmt.Errorf("file %q is not in the case's folder", file)
	}
	need, err := tensor.Bytes(d, m.Shape)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	data, err := readFile(filepath.Join(dir, file), max(need, mostMeta))
	if err != nil {
		return nil, err
	}
	t := &tensor.Tensor{DType: d, Shape: m.Shape, Data: data}
	if err := t.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return t.RealParts(), nil
}

// scalar reads a value whose kind is not "tensor".
func scalar(kind string, value json.RawMessage) (ir.Arg, error) {
	var err error
	switch kind {
	case "NoneType":
		return ir.None{}, nil
	case "int":
		var n int64
		err = json.Unmarshal(value, &n)
		return ir.Int(n), err
	case "bool":
		var b bool
		err = json.Unmarshal(value, &b)
		return ir.BoolArg(b), err
	case "str":
		var s string
		err = json.Unmarshal(value, &s)
		return ir.Str(s), err
	case "float":
		// Python writes NaN and Infinity as bare words, or they come quoted.
		var s string
		if json.Unmarshal(value, &s) != nil {
			s = string(value)
		}
		f, err := strconv.ParseFloat(s, 64)
		return ir.Float(f), err
	}
	return nil, fmt.Errorf("kind %q is unknown", kind)
}

// addCall adds the files of a call to pkg and returns what meta.json says of it.
func addCall(pkg *codegen.Package, prefix string, c Call) (metaCall, error) {
	m := metaCall{Label: label(c.Label), Refused: c.Refused, Inputs: []metaValue{},
		Outputs: []metaValue{}}
	for i, v := range c.Inputs {
		w, err := addValue(pkg, fmt.Sprintf("%sinput_%d.bin", prefix, i), v)
		if err != nil {
			return m, err
		}
		if i < len(c.Mutated) && c.Mutated[i] != nil {
			w.MutatedFile = fmt.Sprintf("%smutated_input_%d.bin", prefix, i)
			pkg.Files = append(pkg.Files, codegen.File{Name: w.MutatedFile,
				Data: c.Mutated[i].Data})
		}
		m.Inputs = append(m.Inputs, w)
	}
	for i, v := range c.Outputs {
		w, err := addValue(pkg, fmt.Sprintf("%soutput_%d.bin", prefix, i), v)
		if err != nil {
			return m, err
		}
		if i < len(c.Limits) && c.Limits[i] != nil {
			w.Atol, w.Rtol = &c.Limits[i].Absolute, &c.Limits[i].Relative
		}
		m.Outputs = append(m.Outputs, w)
	}
	return m, nil
}

func addValue(pkg *codegen.Package, file string, v tensor.Value) (metaValue, error) {
	if t := v.Tensor; t != nil {
		m := metaValue{Kind: "tensor", DType: t.DType.String(), Shape: t.Shape, File: file}
		if m.Shape == nil {
			m.Shape = []int64{}
		}
		pkg.Files = append(pkg.Files, codegen.File{Name: file, Data: t.Data})
		return m, nil
	}
	m, value := metaValue{}, any(nil)
	switch a := v.Scalar.(type) {
	case ir.None:
		m.Kind = "NoneType"
	case ir.Int:
		m.Kind, value = "int", int64(a)
	case ir.BoolArg:
		m.Kind, value = "bool", bool(a)
	case ir.Str:
		m.Kind, value = "str", string(a)
	case ir.Float:
		m.Kind, value = "float", float64(a)
		if f := float64(a); math.IsNaN(f) || math.IsInf(f, 0) {
			value = strconv.FormatFloat(f, 'g', -1, 64)
		}
	default:
		return m, fmt.Errorf("%s: %v cannot be written", file, v)
	}
	text, err := json.Marshal(value)
	m.Value = text
	return m, err
}
