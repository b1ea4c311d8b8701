// Package native builds and holds the native form: an ordered list, with
// nested regions, of kernel calls over dense buffers. Printers turn it into C
// and Go, codegen adds nothing to it but text.
package native

import (
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/schedule"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/kernels/tuned/gokernels/panels"
	"github.com/etgen/etgen/plan"
)

// Program is a compiled program. What a file says is a foreign.Text in it; names
// that are strings are identifiers, and those of buffers, constants and kernels
// unique.
type Program struct {
	Source  foreign.Text // base name of the model file
	Methods []*Method
	Kernels []*Kernel // every instance called, in order of first call
	Consts  []*Const  // distinct constant data, in order of first use
	State   []*Buffer // mutable buffers, shared by all methods
	// Delegates are the parts that backends run.
	Delegates []*Delegate
	// Banks are the memories that the arena is divided into; nil: it is one.
	Banks []plan.Bank
	// Arithmetic names what the integers of a quantized program are computed with, "" if it is
	// none.
	Arithmetic string

	// Tile is that of kernels of bytes.
	Tile tuned.Tile

	convolves bool // some node is a convolution
}

// Method is one entry point.
type Method struct {
	Name    foreign.Text
	Symbols []*sym.Symbol // dynamic sizes the caller determines through input shapes
	Inputs  []Port
	Outputs []Port
	Buffers []*Buffer // all but constants, in order of first use
	Body    []Stmt
	// Clamps are the operators that take the nearest element where an index of the
	// caller's is out of range, each once.
	Clamps []string

	// Rows says, if not nil, that the input comes by rows.
	Rows *Rows

	Problem *plan.Problem
	Plan    *plan.Plan
	// Steps are the steps of Problem that statements are, for a While that of its test.
	Steps map[Stmt]int
	// Bank maps each root Buffer with Storage Arena to its plan.BufferID.
	Bank map[*Buffer]plan.BufferID
}

// Port is a user input or output.
type Port struct {
	Name foreign.Text // unique in the method, also as an identifier
	// position in the Python calling convention, e.g. `args[0]["x"]`, for comments
	Path foreign.Text
	Type ir.Type
	// Quantized tells what integers stand for, nil if for themselves.
	Quantized *ir.QParams
	Buf       *Buffer // nil for scalars
	// Value is an output or fixed input that is a literal or an integer
	// expression; a scalar input that is read at run time has Sym or Var set.
	Value ir.Arg
	Sym   *sym.Symbol
	Var   *expr.Var
	// Mutated tells that the method writes the caller's input memory.
	Mutated bool
	// Packs, if not nil, says that the caller makes the port's elements once, of
	// constants that it knows later than the compiler.
	Packs *Packing
}

// Packing makes an operand of a tuned kernel from an input.
type Packing struct {
	Of     foreign.Text // the name of an input; "" makes zeros
	Panels panels.Shape
}

// Storage is where a buffer lives.
type Storage uint8

// The storages.
const (
	Arena  Storage = iota // planned
	Input                 // the caller's input memory
	Output                // the caller's output memory
	State                 // the state struct
	Weight                // constant data
)

// Buffer is a dense run of elements.
type Buffer struct {
	Name    string
	DType   ir.DType
	Sizes   []sym.Expr // row-major shape, for comments; the product is Len
	Len     sym.Expr   // elements, actual
	MaxLen  int64      // elements at the bound of every symbol; what is planned for
	Storage Storage
	Const   *Const // Weight: the data; State: the initial value
	// Root is not nil for a view: the buffer is the run of Root's elements
	// that starts at element At (which may mention a surrounding loop's
	// variable). Root is never itself a view.
	Root *Buffer
	At   sym.Expr
	// Offset in bytes in the arena (Arena roots, once planned), and which of Program.Banks
	// it is in.
	Offset int64
	Bank   int
}

// Const is constant data.
type Const struct {
	Name  string       // an identifier, unique in the program
	From  foreign.Text // qualified names it was made of, for comments
	DType ir.DType
	Data  []byte
}

// Stmt is a step of a method.
type Stmt interface {
	origins() []Origin // the nodes that it came from
}

// The statements.
type (
	// Call runs a kernel.
	Call struct {
		Kernel *Kernel
		// Args are the operand buffers in the kernel's order: a loop kernel's
		// Bufs; a tuned kernel's result, operands, packed constants, epilogue
		// operands, scratch.
		Args []*Buffer
		// Ints are the values of Kernel.Params at this call.
		Ints []sym.Expr
		// Scalars are the values of the loop kernel's Scalars, or of the Numbers of a tuned
		// kernel's epilogue.
		Scalars []*expr.Expr
		From    []Origin
	}
	// Cond runs Then if the Bool scalar Pred holds, else Else.
	Cond struct {
		Pred       *Buffer
		Then, Else []Stmt
		From       []Origin
	}
	// While runs Head, tests the Bool scalar Pred, and as long as it holds
	// runs Body and begins again.
	While struct {
		Head []Stmt
		Pred *Buffer
		Body []Stmt
		From []Origin
	}
	// For runs Body for Var = 0 … Extent-1 (descending if Reverse).
	For struct {
		Var     *sym.Symbol
		Extent  sym.Expr
		Reverse bool
		Body    []Stmt
		From    []Origin
	}
	// Await waits for rows of the input: it runs Body Extent times, for Var = 0 … Extent-1
	// (Var is nil if that is once), each when the rows before Until + Var·Step have come.
	// Window then begins with row From + Var·Step. Position is the state in which the rows
	// that have come are counted. Awaits stand in the body of a method with Rows, and fill it.
	Await struct {
		Window, Position  *Buffer
		From, Until, Step int64
		Var               *sym.Symbol
		Extent            int64
		Body              []Stmt
		Origins           []Origin
	}
	// Let reads a run-time scalar: Var or Sym gets Value, whose Loads index Args.
	Let struct {
		Var   *expr.Var
		Sym   *sym.Symbol
		Value *expr.Expr
		Args  []*Buffer
		From  []Origin
	}
	// Assert stops the method with an assertion error unless Cond holds; with a
	// shape error if it is about sizes and numbers that the caller gives (Given),
	// with an index error if it is about indices (Index).
	Assert struct {
		Cond    *expr.Expr
		Args    []*Buffer
		Message foreign.Text
		Given   bool
		Index   bool
		From    []Origin
	}
	// Poison overwrites a dead buffer. Only tests ask for it (Options.Poison).
	Poison struct{ Buf *Buffer }
	// Section runs Body. Package codegen puts it around what is to be a function of
	// its own in the text; Build makes none, and the text form has none.
	Section struct{ Body []Stmt }
)

func (s *Call) origins() []Origin   { return s.From }
func (s *Cond) origins() []Origin   { return s.From }
func (s *While) origins() []Origin  { return s.From }
func (s *For) origins() []Origin    { return s.From }
func (s *Await) origins() []Origin  { return s.Origins }
func (s *Let) origins() []Origin    { return s.From }
func (s *Assert) origins() []Origin { return s.From }
func (*Poison) origins() []Origin   { return nil }
func (*Section) origins() []Origin  { return nil }

// Origins returns the graph nodes that s comes from.
func Origins(s Stmt) []Origin { return s.origins() }

// Origin is a graph node that a statement came from.
type Origin struct {
	Node foreign.Text
	Op   foreign.Text
	Loc  Location
}

// Location is where a node is in the model's source, as [ir.Location].
type Location struct {
	File   foreign.Text
	Line   int
	Module foreign.Text
}

// Kernel is a kernel instance: the same code for every call of it. Exactly one
// of Loop and Tuned is set.
type Kernel struct {
	Name   string        // an identifier, unique in the program, without prefix
	Params []*sym.Symbol // integer parameters that differ between calls or are dynamic
	Loop   *loop.Func
	Tuned  *tuned.Instance // its Params' Values are constants or expressions of Kernel.Params
	Doc    foreign.Text    // what it computes
	Copy   bool            // a plain copy of its second buffer to its first
	whole  *tuned.Instance // of a kernel that makes a patch of rows: that of all rows
}

// form is a value that has no buffer: the expression of the node that defines it.
type form struct {
	node   *ir.Node
	call   *ops.Call
	tensor expr.Tensor // Load.Buf indexes the call's operands, Scalar.Buf its scalars
}

// fusion is values of equal sizes as expressions over values that have buffers: what one
// kernel computes.
type fusion struct {
	vals    []*ir.Value
	tensors []expr.Tensor // of vals: Load.Buf indexes args, Scalar.Buf indexes scalars
	args    []*ir.Value
	scalars []*ir.Value
	from    []Origin
}

// fuse adds v, which is f, to out, with the expression of every operand that has no buffer of
// its own inlined, and so on. All is put together at once: however many nodes are
// fused, each of their expressions is gone through a constant number of times.
func (b *builder) fuse(v *ir.Value, f *form, out *fusion) {
	fu := &fuser{b: b, out: out, memo: map[fusedAt]*expr.Expr{}, seen: map[*form]bool{}}
	t := f.tensor
	t.Vars = schedule.InOrder(b.orders[v], t.Vars)
	t.Body = expr.Simplify(expr.Rewrite(t.Body, fu.inline(f)))
	out.vals, out.tensors = append(out.vals, v), append(out.tensors, t)
	fu.origins(f)
}

// fuser puts one fused expression together.
type fuser struct {
	b    *builder
	out  *fusion
	memo map[fusedAt]*expr.Expr
	seen map[*form]bool // whose origins are noted
}

// fusedAt is an element of a value: at equal coordinates it is computed once.
type fusedAt struct {
	value  *ir.Value
	coords string
}

// inline returns what takes a node of f's expression to the numbering of what is
// put together, with operands inlined.
func (fu *fuser) inline(f *form) func(*expr.Expr) *expr.Expr {
	return func(e *expr.Expr) *expr.Expr {
		switch e.Op {
		case expr.OpScalar:
			n := *e
			n.Buf = add(&fu.out.scalars, f.call.Scalars()[e.Buf])
			return &n
		case expr.OpLoad:
			return fu.load(f.call.Operands()[e.Buf], e)
		}
		return e
	}
}

// load returns what stands for a load of v.
func (fu *fuser) load(v *ir.Value, e *expr.Expr) *expr.Expr {
	sub := fu.b.forms[v]
	if sub == nil {
		if t, ok := fu.b.uniform(v); ok {
			return t.Body
		}
		n := *e
		n.Buf = add(&fu.out.args, v)
		return &n
	}
	t := sub.tensor
	if len(e.Coords) != len(t.Vars) || e.DType != t.DType || t.Body.DType != t.DType {
		must.Fail("%s is loaded as %s of rank %d, but is %s of rank %d", v.Name, e.DType,
			len(e.Coords), t.Body.DType, len(t.Vars))
	}
	key := fusedAt{v, expr.CoordsKey(e.Coords)}
	if x, ok := fu.memo[key]; ok {
		return x
	}
	m := make(expr.Subst, len(e.Coords))
	for i, s := range t.Vars {
		m[s] = e.Coords[i]
	}
	x := expr.RewriteFresh(t.Body, m, fu.inline(sub))
	fu.memo[key] = x
	return x
}

// origins notes the nodes that f is computed by, operands first.
func (fu *fuser) origins(f *form) {
	if fu.seen[f] {
		return
	}
	fu.seen[f] = true
	for _, k := range expr.Loads(f.tensor.Body) {
		if sub := fu.b.forms[f.call.Operands()[k]]; sub != nil {
			fu.origins(sub)
		}
	}
	add(&fu.out.from, originOf(f.node))
}

// add appends v to a list, unless it has it, and returns its place there.
func add[T comparable](list *[]T, v T) int {
	if i := slices.Index(*list, v); i >= 0 {
		return i
	}
	*list = append(*list, v)
	return len(*list) - 1
}

func originOf(n *ir.Node) Origin {
	return Origin{Node: foreign.Of(n.Name), Op: foreign.Of(n.Op), Loc: LocationOf(n.Loc)}
}

// wrap says of an error that it is about the node.
func (o Origin) wrap(err error) error {
	return &ir.Error{Node: o.Node.Raw(), Op: o.Op.Raw(), Loc: o.Loc.graph(), Err: err}
}

// Base returns the plain name of the operator.
func (o Origin) Base() foreign.Text { return foreign.Of(ir.OpBase(o.Op.Raw())) }

// LocationOf makes l a location of the native form.
func LocationOf(l ir.Location) Location {
	return Location{File: foreign.Of(l.File), Line: l.Line, Module: foreign.Of(l.Module)}
}

// String returns what l is in the text form.
func (l Location) String() string { return l.graph().String() }

// graph returns l as a graph has it.
func (l Location) graph() ir.Location {
	return ir.Location{File: l.File.Raw(), Line: l.Line, Module: l.Module.Raw()}
}

// access is one use of a buffer by a statement.
type access struct {
	buf         **Buffer // where the statement refers to it
	read, write bool
}

// accesses returns the buffers a statement uses itself, nested blocks left out.
func accesses(s Stmt) []access {
	var list []access
	eachOwn(s, func(a access) { list = append(list, a) })
	return list
}

// eachOwn calls f for every use in s itself, nested blocks left out.
func eachOwn(s Stmt, f func(access)) {
	read := func(bufs []*Buffer) {
		for i := range bufs {
			f(access{buf: &bufs[i], read: true})
		}
	}
	switch s := s.(type) {
	case *Call:
		for i := range s.Args {
			r, w := s.Kernel.Uses(i)
			f(access{buf: &s.Args[i], read: r, write: w})
		}
	case *Cond:
		f(access{buf: &s.Pred, read: true})
	case *Await:
		f(access{buf: &s.Window, read: s.From > 0 || s.Var != nil, write: true})
		f(access{buf: &s.Position, read: true, write: true})
	case *Let:
		read(s.Args)
	case *Assert:
		read(s.Args)
	}
}

// Operands returns the buffers that s itself uses, its blocks left out. The
// predicate of a While is among them. A Poison uses none: it writes bytes of the
// arena, and stands where its buffer's size may not be known yet.
func Operands(s Stmt) (list []*Buffer) {
	eachOwn(s, func(a access) { list = append(list, *a.buf) })
	if w, ok := s.(*While); ok {
		list = append(list, w.Pred)
	}
	return list
}

// Role is how the kernel uses its operand i.
func (k *Kernel) Role(i int) loop.Role {
	if k.Tuned == nil {
		return k.Loop.Bufs[i].Role
	}
	switch k.Tuned.KindOf(i) {
	case tuned.Result:
		return loop.Out
	case tuned.Scratch:
		return loop.Scratch
	}
	return loop.In
}

// Fails reports whether k may fail: it calls the kernel of a custom operator, or a library.
func (k *Kernel) Fails() bool {
	return len(k.Invokes()) > 0 || k.Tuned != nil && k.Tuned.Kernel.Fails
}

// Invokes returns the calls of custom operators' kernels in k.
func (k *Kernel) Invokes() []*loop.Invoke {
	if k.Loop == nil {
		return nil
	}
	return k.Loop.Invokes()
}

// Uses tells whether the kernel reads its operand i, and whether it writes it.
func (k *Kernel) Uses(i int) (read, write bool) {
	r := k.Role(i)
	return r == loop.In || r == loop.InOut, r != loop.In
}

// Fields are the values that a call of a tuned kernel gives the fields of its descriptor.
func (c *Call) Fields() []sym.Expr {
	ints := map[*sym.Symbol]sym.Expr{}
	for i, s := range c.Kernel.Params {
		ints[s] = c.Ints[i]
	}
	return seq.Map(c.Kernel.Tuned.Params, func(p tuned.Param) sym.Expr {
		return p.Value.Subst(func(s *sym.Symbol) (sym.Expr, bool) {
			e, ok := ints[s]
			return e, ok
		})
	})
}

// IsScratch reports whether operand i is scratch memory.
func (k *Kernel) IsScratch(i int) bool { return k.Role(i) == loop.Scratch }

// Blocks returns the nested blocks of a statement with their order of
// execution.
func Blocks(s Stmt) []*[]Stmt {
	switch s := s.(type) {
	case *Cond:
		return []*[]Stmt{&s.Then, &s.Else}
	case *While:
		return []*[]Stmt{&s.Head, &s.Body}
	case *For:
		return []*[]Stmt{&s.Body}
	case *Await:
		return []*[]Stmt{&s.Body}
	case *Section:
		return []*[]Stmt{&s.Body}
	}
	return nil
}

// eachAccess calls f for every use in s, nested ones included, in program
// order. The predicate of a While is used after its head.
func eachAccess(s Stmt, f func(access)) {
	eachOwn(s, f)
	for i, block := range Blocks(s) {
		for _, t := range *block {
			eachAccess(t, f)
		}
		if w, ok := s.(*While); ok && i == 0 {
			f(access{buf: &w.Pred, read: true})
		}
	}
}

// Root returns the buffer that owns b's memory.
func Root(b *Buffer) *Buffer {
	if b.Root != nil {
		return b.Root
	}
	return b
}

// overlap reports whether two buffers may share memory.
func overlap(a, b *Buffer) bool {
	if Root(a) != Root(b) {
		return false
	}
	return !sym.LessEq(sym.Add(a.At, a.Len), b.At) && !sym.LessEq(sym.Add(b.At, b.Len), a.At)
}

// sameMemory reports whether two buffers are the same run of memory.
func sameMemory(a, b *Buffer) bool {
	return Root(a) == Root(b) && a.At.Equal(b.At) && a.Len.Equal(b.Len)
}

// Options steer Build.
type Options struct {
	Table   *ops.Table
	Kernels []*tuned.Kernel // candidates for selection; nil: definitions only
	Target  tuned.Target
	Planner plan.Planner
	// Banks, if not nil, are the memories that the arena is divided into, the fastest first.
	Banks []plan.Bank
	// Later, if not nil, reports whether an input never changes once the program
	// is loaded, so that tuned kernels may have it packed then: each packed
	// operand becomes an input with Packs, and the input itself is left out if
	// nothing else reads it.
	Later func(*ir.Value) bool
	// Specialise gives calls whose constants differ kernels of their own, for
	// programs that are run and not printed.
	Specialise bool
	// Patches, if over 0, makes all convolutions that can be made in patches of rows so,
	// of so many rows or the next higher number that is possible, and if under 0
	// none, for tests; else those are for which it pays.
	Patches int
	// Checked says that the program asserts that indices are in range.
	Checked bool
	// Done, if not nil, ends Build with an error soon after it is closed.
	Done <-chan struct{}
	// Rows makes a method whose input comes by rows: see await.go.
	Rows bool
	// rowsInLoops computes what reads rows of the input with no micro-kernel.
	rowsInLoops bool
	// sparing makes images channels-last and takes patches for memory: see patchchoice.go.
	sparing bool
	// Poison makes the program overwrite every buffer after its last use, so
	// that reading one that is dead shows.
	Poison bool
}
