// Package inspect describes model files: what goes in and out, which operators
// they use, what their bytes are for and how their memory is planned. It reads
// exported programs, ExecuTorch programs, bundles of these and external tensor
// data; see [File].
package inspect

import (
	"github.com/etgen/etgen/ir/pte"
)

// Info describes a model file. What a format does not have is absent.
type Info struct {
	File    string     `json:"file"`   // base name
	Format  string     `json:"format"` // "exported program", "ExecuTorch program", …
	Bytes   int64      `json:"bytes,omitempty"`
	Parts   *pte.Parts `json:"parts,omitempty"`
	Methods []Method   `json:"methods,omitempty"`
	// Data is what a file holds by name, or of a .pte what other files hold for it.
	Data  []Tensor `json:"data,omitempty"`
	Tests []Tests  `json:"tests,omitempty"`

	// Of an exported program: the bytes of constants in generated code, and the
	// number of functions it has.
	Weights int64 `json:"weights,omitempty"`
	Kernels int   `json:"kernels,omitempty"`

	// Problems are what is wrong, a line for each: why an exported program cannot be
	// compiled, what the verifier says of an ExecuTorch program.
	Problems []string `json:"problems,omitempty"`
}

// Method describes a method.
type Method struct {
	Name         string        `json:"name"`
	Inputs       []Port        `json:"inputs"`
	Outputs      []Port        `json:"outputs"`
	Symbols      []Symbol      `json:"symbols,omitempty"`
	Instructions *Instructions `json:"instructions,omitempty"`
	Operators    []Operator    `json:"operators"`
	Constants    []Tensor      `json:"constants,omitempty"` // largest first
	State        []Tensor      `json:"state,omitempty"`     // what calls change
	Delegates    []Delegate    `json:"delegates,omitempty"`
	Memory       *Memory       `json:"memory,omitempty"` // absent if it cannot be told
}

// Port describes an input or output.
type Port struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"` // "f32[s0, 8]"; in an ExecuTorch program "f32[≤32, 8]"
	// Value is that of a scalar, for which the program was made.
	Value   string `json:"value,omitempty"`
	Mutated bool   `json:"mutated,omitempty"` // an input that the call changes
	// Place says where a tensor of an ExecuTorch program is: "planned", "the
	// caller's", "constant".
	Place string `json:"place,omitempty"`
}

// Symbol describes a dynamic size.
type Symbol struct {
	Name string `json:"name"`
	Min  int64  `json:"min"`
	Max  *int64 `json:"max,omitempty"` // absent: unbounded
}

// Instructions counts the instructions of an ExecuTorch method by their kind.
type Instructions struct {
	Total         int `json:"total"`
	KernelCalls   int `json:"kernel_calls"`
	DelegateCalls int `json:"delegate_calls"`
	Moves         int `json:"moves"`
	Jumps         int `json:"jumps"`
	Frees         int `json:"frees"`
}

// Operator counts the calls of an operator.
type Operator struct {
	Name      string   `json:"name"`
	Count     int      `json:"count"`
	DTypes    []string `json:"dtypes"`    // of its results, sorted
	Supported bool     `json:"supported"` // etgen knows what it computes
	// Kernel says of an operator in an ExecuTorch program that etgen's runtime has
	// a kernel for it.
	Kernel *bool `json:"kernel,omitempty"`
}

// Tensor describes a constant, a piece of state or named data.
type Tensor struct {
	Name  string `json:"name"`
	Type  string `json:"type,omitempty"`
	Bytes int64  `json:"bytes"`
	// Kind is "parameter", "buffer", "constant", "external", or "named data".
	Kind string `json:"kind"`
	User string `json:"user,omitempty"` // the first operator that takes it, and as what
}

// Delegate describes a part of a method that a backend runs.
type Delegate struct {
	Backend string   `json:"backend"`
	Bytes   int64    `json:"bytes"`
	Inline  bool     `json:"inline,omitempty"` // the data is in the flatbuffer
	Specs   []string `json:"specs,omitempty"`  // keys of its compile specs
	Calls   int      `json:"calls"`
	// Nodes are those of the payload, and Problem is why there are none, if etgen reads such
	// payloads.
	Nodes   []DelegateNodes `json:"nodes,omitempty"`
	Problem string          `json:"problem,omitempty"`
}

// DelegateNodes counts the nodes of a kind, as the payload calls it.
type DelegateNodes struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// Tests describes a bundle's test cases of a method.
type Tests struct {
	Method string     `json:"method"`
	Cases  []TestCase `json:"cases"`
}

// TestCase describes a test case.
type TestCase struct {
	Inputs  []string `json:"inputs"`
	Outputs []string `json:"outputs"`
}

// total returns the bytes of tensors.
func total(tensors []Tensor) int64 {
	n := int64(0)
	for _, t := range tensors {
		n += t.Bytes
	}
	return n
}
