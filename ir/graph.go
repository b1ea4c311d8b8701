package ir

import (
	"io"

	"github.com/etgen/etgen/ir/sym"
)

// SourceOf returns the base name of the file that a method of p was read from.
func (p *Program) SourceOf(m *Method) string {
	if m.Source != "" {
		return m.Source
	}
	return p.Source
}

// IsState reports whether graph inputs of the kind hold what the model owns and
// may change: they are known by their targets, to all methods of a program.
func (k InputKind) IsState() bool { return k == Parameter || k == Buffer }

// Written returns the targets of the parameters and buffers that methods of p
// write to.
func (p *Program) Written() map[string]bool {
	written := map[string]bool{}
	for _, m := range p.Methods {
		for _, o := range m.Outputs {
			if o.Kind == BufferMutation || o.Kind == ParameterMutation {
				written[o.Target] = true
			}
		}
	}
	return written
}

// SharedState returns the targets of the parameters and buffers that more than
// one method of p has and one writes to: what it leaves there the others find.
func (p *Program) SharedState() map[string]bool {
	written, seen, shared := p.Written(), map[string]bool{}, map[string]bool{}
	for _, m := range p.Methods {
		for _, spec := range m.Inputs {
			if !spec.Kind.IsState() || !written[spec.Target] {
				continue
			}
			if seen[spec.Target] {
				shared[spec.Target] = true
			}
			seen[spec.Target] = true
		}
	}
	return shared
}

// Dialect says what a program may hold. The words are ExecuTorch's, as far as it has
// them; lower has the rules of each and the pipelines that lead there.
type Dialect string

const (
	// ATen is what torch.export writes: any operator, in-place ones, views.
	ATen Dialect = "aten"
	// Functional is ATen in which no node writes to an operand.
	Functional Dialect = "functional"
	// CoreATen is functional and has the operators of Core ATen.
	CoreATen Dialect = "core"
	// Edge is Core ATen without dead nodes.
	Edge Dialect = "edge"
	// Backend is what native form is made of: functional, of operators that have
	// kernels, every tensor dense and row-major.
	Backend Dialect = "backend"
	// ExecuTorch is what instructions of a .pte are made of: out variants that the
	// portable kernel library has.
	ExecuTorch Dialect = "executorch"
)

// Program is what one model file holds.
type Program struct {
	Source  string // base name of the file it was read from, for messages
	Methods []*Method
	// Delegates are what nodes of CallDelegate run, called by their names.
	Delegates []*Delegate
	Dialect   Dialect // "" if nobody has said it: then only Verify's rules hold
	// Custom are the schemas of the custom operators that it may call, whose kernels are the
	// user's.
	Custom []string
	// SeparateState tells that buffers and parameters of one name are still one for each
	// method that changes them; else those of a name are one in all methods.
	SeparateState bool
	// Warnings are what readers and checks found that does not stop a compilation
	// but that its user has to know: a guard that cannot be parsed, a record that is
	// known to be wrong. Each names its file. Whoever compiles shows them.
	Warnings []error
}

// Method is one entry point of a program.
type Method struct {
	Name    string
	Graph   *Graph
	Inputs  []InputSpec  // parallel to Graph.Inputs
	Outputs []OutputSpec // parallel to Graph.Outputs
	Symbols []*sym.Symbol

	// Source is the base name of the file it was read from, where the program's
	// methods come from several; else "".
	Source string

	// In and Out are the calling convention: how user inputs and outputs nest
	// in Python containers. Nil when the file does not tell.
	In, Out *Tree
}

// Tree is a Python container structure (torch's TreeSpec). A leaf has an empty
// Type.
type Tree struct {
	Type     string   // "builtins.tuple", "builtins.dict", …; "" for a leaf
	Keys     []string // of dicts and named tuples, parallel to Children
	Children []*Tree
}

// InputKind tells where a graph input comes from.
type InputKind uint8

// The kinds of graph inputs.
const (
	UserInput InputKind = iota
	Parameter
	Buffer         // registered buffer; may be mutated
	TensorConstant // lifted tensor constant
	ConstantInput  // a Python constant or None that the caller passes; its value is fixed
	TokenInput
	CustomInput
)

// InputSpec describes one graph input.
type InputSpec struct {
	Kind       InputKind
	Target     string // fully qualified name of a parameter, buffer or constant
	Persistent bool   // of a buffer: part of the state_dict
	Fixed      Arg    // of a ConstantInput: its value
	// Quantized tells what integers of a user input stand for, nil if for themselves.
	Quantized *QParams
}

// QParams say what an integer q stands for: (q - ZeroPoint)·Scale.
type QParams struct {
	Scale     float64
	ZeroPoint int64
}

// OutputKind tells where a graph output goes.
type OutputKind uint8

// The kinds of graph outputs.
const (
	UserOutput OutputKind = iota
	BufferMutation
	ParameterMutation
	UserInputMutation
	TokenOutput
	LossOutput
	GradientOutput
)

// OutputSpec describes one graph output.
type OutputSpec struct {
	Kind OutputKind
	// the mutated buffer's or parameter's qualified name, the mutated input's value name
	Target string
	// Quantized tells what integers of a user output stand for, nil if for themselves.
	Quantized *QParams
}

// Graph is a list of nodes in execution order. A region's Inputs are its
// parameters (the carried values of a loop).
type Graph struct {
	Inputs    []*Value
	Constants []*Value // values with Const set that are no Inputs, in order of first appearance
	Nodes     []*Node
	Outputs   []Arg // Ref to a value, or a literal
}

// Value is one tensor or scalar. Its definition is either a graph input, a
// constant or output Index of node Def.
type Value struct {
	Name  string
	Type  Type
	Def   *Node // nil for inputs and constants
	Index int
	// the data of a parameter, buffer or folded constant: for mutable state its initial value
	Const *Constant
}

// Constant is tensor data. Sizes, strides and offset that select the tensor
// from Data are in Type.
type Constant struct {
	Name string // qualified name, "" for folded constants
	Type Type
	Data Blob // the whole storage; constants that share a storage share the Blob
}

// Blob is a run of bytes read when needed.
type Blob interface {
	io.ReaderAt
	Size() int64
}

// Node is one operation.
type Node struct {
	Name    string
	Op      string     // "aten.add.Tensor", "cond", …
	Args    []NamedArg // in schema order once bound to a schema
	Outputs []*Value   // nil entries for results that are None; Tensor[] results flattened
	Regions []*Graph
	Loc     Location
}

// NamedArg is an argument with its name in the operator's schema ("" for the
// operands of control flow).
type NamedArg struct {
	Name  string
	Value Arg
}

// Location is where in the user's model a node comes from.
type Location struct {
	File   string // base name of the Python file of the innermost frame outside PyTorch
	Line   int
	Module string // path of the nn.Module, e.g. "layers.0.attn"
}

// Arg returns the argument called name, nil if there is none.
func (n *Node) Arg(name string) Arg {
	for _, a := range n.Args {
		if a.Name == name {
			return a.Value
		}
	}
	return nil
}

// SetArg replaces or appends the argument called name.
func (n *Node) SetArg(name string, v Arg) {
	for i := range n.Args {
		if n.Args[i].Name == name {
			n.Args[i].Value = v
			return
		}
	}
	n.Args = append(n.Args, NamedArg{name, v})
}

// Output returns output i, or nil.
func (n *Node) Output(i int) *Value {
	if i < len(n.Outputs) {
		return n.Outputs[i]
	}
	return nil
}

// Arg is an argument of a node: a reference to a value or a literal.
type Arg interface{ isArg() }

// The forms an argument takes. Ref.Value is never nil; an absent optional
// argument is None.
type (
	Ref          struct{ Value *Value }
	None         struct{}
	Int          int64
	Float        float64
	BoolArg      bool
	Str          string
	Complex      complex128
	DTypeArg     DType
	LayoutArg    int // torch.layout in the numbering of the export schema; 7 is strided
	Device       string
	MemoryFormat uint8
	OpArg        string // an operator passed to auto_functionalized or with_effects
	List         []Arg
)

// The memory formats.
const (
	ContiguousFormat MemoryFormat = iota + 1
	ChannelsLast
	ChannelsLast3d
	PreserveFormat
)

func (Ref) isArg()          {}
func (None) isArg()         {}
func (Int) isArg()          {}
func (Float) isArg()        {}
func (BoolArg) isArg()      {}
func (Str) isArg()          {}
func (Complex) isArg()      {}
func (DTypeArg) isArg()     {}
func (LayoutArg) isArg()    {}
func (Device) isArg()       {}
func (MemoryFormat) isArg() {}
func (OpArg) isArg()        {}
func (List) isArg()         {}

// EachRef calls f for every value that a refers to, in order.
func EachRef(a Arg, f func(*Value)) {
	switch a := a.(type) {
	case Ref:
		f(a.Value)
	case List:
		for _, x := range a {
			EachRef(x, f)
		}
	}
}

// MapRefs returns a with every reference replaced by f's result; it shares
// what does not change.
func MapRefs(a Arg, f func(*Value) Arg) Arg {
	switch a := a.(type) {
	case Ref:
		return f(a.Value)
	case List:
		out := make(List, len(a))
		for i, x := range a {
			out[i] = MapRefs(x, f)
		}
		return out
	}
	return a
}
