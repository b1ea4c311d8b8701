// Package tuned knows the hand-made kernels: which operator calls each one
// accepts, what it costs, and how it wants constant operands packed. The code
// itself is elsewhere: C in templates/c, Go in kernels/tuned/gokernels. A
// tuned kernel is a second form for speed; its meaning is the table's entry.
package tuned

import (
	"cmp"
	"encoding/binary"
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/kernels/tuned/gokernels/panels"
)

// Kernel is one hand-made kernel.
//
// In C it is the function whose text templates/c/NAME.c.tmpl gives. In Go it is a
// function of a package in gokernels. Both take the buffers that Instance.Slots names
// and the integers of the descriptor; Go takes what becomes of results besides, which
// package rows tells of.
type Kernel struct {
	Name       string   // of its C template, e.g. "conv2d_f32"
	Forms      []string // names of further C templates of it: see Instance.Form
	Descriptor *Descriptor
	// qualified Go function of a package in gokernels, e.g. "rows.Conv"; "" if there is none
	Go string

	Operands []string // names in the code of the operands that an instance reads
	Optional bool     // not all calls have all of them: Go takes them in a struct
	Buffers  []string // that Go takes besides: packed constants, and scratch if some calls need it
	C        bool     // there is a template of it
	Head     string   // what a helper wants before the function's head in C
	// Phases name the steps of the kernel that several threads may share, each
	// beginning when the one before has ended; nil if the kernel runs whole. Go has
	// a function for parts of them, called as the kernel's with Part at its end: which
	// part of which step comes first. It does the phases for each image of a batch.
	Phases []string
	// OwnScratch says that Match asks for the scratch of one thread. Each thread of a
	// call needs as much; their scratch lies one behind the other.
	OwnScratch bool
	// Apart says that almost all of its time is spent in helpers, which take what differs between
	// calls as arguments: text of its own makes no call faster. So calls share it that differ in
	// integers, or in numbers of their epilogues, those of forms with vectors apart.
	Apart     bool
	Windows   bool   // it has a window for each channel, so that each product loads what it multiplies
	Whole     bool   // its results are stored as they are: nothing else is computed with them
	Fails     bool   // its function returns whether it has succeeded
	Include   string // header of a library that it calls; "" if it calls none
	Composite bool   // the operator decomposes; it is left whole for this kernel
	Bounds    bool   // Go's function adds and bounds: see Epilogue.Bounds
	Rescales  bool   // and rescales, on machines for which it returns so: see Epilogue.Rescaling
	// Primitives are functions on slices that Go's function is given: primitives of package
	// strip and functions of kernels/math.
	Primitives []string

	// InPatches reports whether a convolution in patches of rows gives the same bits as
	// the whole convolution that an instance was made for. Nil: never.
	InPatches func(in *Instance, whole Window, patches []Rows) bool
	// ScalarPatches says that InPatches holds only on targets without vectors.
	ScalarPatches bool
	tiling        func(in *Instance) tiling // what Instructions counts; nil: it counts products

	// InPlace reports whether an instance has read what results see of its first operand before
	// it stores them where that begins. Nil: never.
	InPlace func(in *Instance) bool

	// Match returns an instance for a call it accepts, or nil. Operands and
	// result are dense; kernels that know row-major ones only look at
	// Request.RowMajor.
	Match func(*Request) *Instance
}

// Standard returns all kernels, by families.
func Standard() []*Kernel {
	return []*Kernel{
		// products of matrices
		Linear(), Matmul(), MixedLinear(), MatmulInt8(), GroupsInt8(), GroupsRows(),
		Conv2D(), Conv2DRows(), Winograd(), ConvEdges(), ConvFew(), // convolutions
		DepthwiseConv2D(), DepthwiseRows(),
		MixedConv2D(), MixedDepthwise(),
		Conv2DInt8(), DepthwiseInt8(), ConvBytes(), ConvFewBytes(), DepthwiseBytes(), // of bytes
		MaxPool2D(), AvgPool2D(),
		Attention(),
	}
}

// Request asks for a kernel for one operator call.
type Request struct {
	Call   *ops.Call
	Target Target
	// Const returns the dense row-major bytes of operand k if it is constant.
	Const func(k int) ([]byte, bool)
	// Later, if not nil, reports whether operand k is a constant whose elements
	// are not known yet: it is packed when the program is loaded. Kernels that
	// need to know them do not accept such calls.
	Later func(k int) bool
	// Order returns the dimensions of operand k from the outermost in memory to
	// the innermost, nil if it is row-major; Out is the order of the result.
	// Without Order all are row-major.
	Order func(k int) []int
	Out   []int
	// Rows, if not nil, are all that is wanted of a convolution: see Patches.
	Rows *Rows
	// Spare asks for an instance whose results may lie over its first operand, if there is one.
	Spare bool

	read        bool // convolution is what the call is, nil if it is none
	convolution *convolution
}

// RowMajor reports whether the result and all operands are row-major.
func (r *Request) RowMajor() bool {
	for k := range r.Call.Operands() {
		if r.order(k) != nil {
			return false
		}
	}
	return r.Out == nil
}

// constant returns the elements of float32 operand k if it is constant, nil if
// they are known later.
func (r *Request) constant(k int) (xs []float32, ok bool) {
	if r.Later != nil && r.Later(k) {
		return nil, true
	}
	data, ok := r.Const(k)
	return floats(data), ok
}

func (r *Request) order(k int) []int {
	if r.Order == nil {
		return nil
	}
	return r.Order(k)
}

// Instance is a kernel chosen for a call.
type Instance struct {
	Kernel *Kernel
	// Form is what the instance is called if the kernel has several texts, or ways of packing,
	// for which its properties decide; "" for the kernel's Name.
	Form string
	Head string // of the form, if the kernel has none
	// Params are the values of the fields of the kernel's descriptor, in their order. At
	// a call site they are constants or dynamic.
	Params []Param
	// Operands are the operator's operands the code reads, in its own order.
	// Packed constants follow them.
	Operands []int
	// Added are operands that the code does not know: the epilogue adds them
	// to its results. Each has an element for every result, for every channel,
	// or one in all.
	Added []int
	// Rest says that the code computes only the one sum in the definition: what that
	// makes of the sum is the beginning of the epilogue.
	Rest  bool
	Exact bool // float32 holds the sums
	// StoresBytes says that results may be stored as bytes, by way of the field out_bytes, if they
	// are rescaled; ReadsBytes that the first operand may have them, by way of in_bytes.
	StoresBytes, ReadsBytes bool
	// PassesBytes says that each result is an element of the operand, so that both may be bytes, by
	// way of in_bytes.
	PassesBytes bool
	// Once says that each result is stored once, when its epilogue has read what it reads at
	// the result's position.
	Once bool
	// Within is how many operations of floats there are for a result of sums of integers, before
	// the epilogue.
	Within int
	// operands that have an element for each channel, which the sum of Rest has begun with
	Begun    []int
	Packed   []Packed
	Epilogue *Epilogue // nil: the plain result; set by lower/native
	Channels Channels  // how an epilogue finds the channel of a result
	// RunChannels tells the channel of run[i] of Go's epilogue: c+i if true, c for the
	// whole run if false.
	RunChannels bool
	Scratch     sym.Expr // bytes, zero if none
	Tile        Tile     // the same for all kernels of a target
	MACs        sym.Expr // multiply-accumulates, for reports and specialisation
	Work        float64  // if not 0, what it does instead of MACs, in as many; for Divided
	Divided     bool     // threads share it; set by Select
	Cost        float64  // estimated time in arbitrary units, for choosing among instances
	Spent       float64  // what Instructions counts besides products
}

// Packed is a constant operand rearranged.
type Packed struct {
	Name  string // of the code's parameter, e.g. "w"
	DType ir.DType
	Data  []byte // nil if the operand's elements are known later
	From  []int  // operands it was made of; nil for zeros
	// Panels says how Data is made of operand From[0], nil if it is not so.
	Panels *panels.Shape
}

// Epilogue is an expression applied to every result before it is stored. It
// reads Acc (the plain result), and Extra operands either at O, the flat
// position of the result in the output, or at C, its channel.
type Epilogue struct {
	Acc   *expr.Var
	O, C  *sym.Symbol
	Body  *expr.Expr // Load.Buf indexes Extra, with one flat coordinate; Scalar.Buf indexes Numbers
	Extra []ir.DType
	// Numbers are given by each call; set by lower/native where calls share a kernel.
	Numbers []Number
	// Largest are bounds of the absolute values of the Extra operands that are constant floats,
	// powers of two; of the others infinite.
	Largest []float64
	Sum     float64  // bound of the absolute value of Acc, a float; 0: none is known
	DType   ir.DType // of the stored result
}

// Number is a number that calls give to an epilogue, and between which all of them lie.
type Number struct {
	DType     ir.DType
	Low, High float64
}

// Channels tells how a result's channel follows from its flat position o in
// the output: (o / Inner) % Count.
type Channels struct{ Inner, Count sym.Expr }

// Select returns the cheapest instance of kernels for r, or nil if none
// accepts it and the table's definition is to be used.
func Select(kernels []*Kernel, r *Request) *Instance {
	var best *Instance
	for _, k := range kernels {
		if in := k.match(r); in != nil && (best == nil || in.Cost < best.Cost) {
			in.Kernel = k
			best = in
		}
	}
	if best != nil {
		best.Divided = r.Target.Threads > 1 && len(best.Phases()) > 0 &&
			best.Most() >= r.Target.DividedFrom
		if best.Divided && best.Kernel.OwnScratch {
			best.Scratch = sym.Mul(num(r.Target.Threads), best.Scratch)
		}
	}
	return best
}

// MayOverwrite reports whether results may be stored where buffer i of a call begins, which has
// elements as large as they are, and as many or more.
func (in *Instance) MayOverwrite(i int) bool {
	switch in.KindOf(i) {
	case Operand:
		return i == in.First(Operand) && in.Kernel.InPlace != nil && in.Kernel.InPlace(in)
	case Extra:
		if !in.Once {
			return false
		}
		there, elsewhere := in.Epilogue.Reads(i - in.First(Extra))
		return there && !elsewhere
	}
	return false
}

// Name is that of the kernel's form: of the C template, if there is one.
func (in *Instance) Name() string { return cmp.Or(in.Form, in.Kernel.Name) }

// FormHead is Head, or that of the kernel.
func (in *Instance) FormHead() string { return cmp.Or(in.Head, in.Kernel.Head) }

// Most is the most work that a call does, in multiply-accumulates.
func (in *Instance) Most() float64 { return max(cost(in.MACs), in.Work) }

// Phases are those of the kernel, without the copy that an instance has no scratch for.
func (in *Instance) Phases() []string {
	if names := in.Kernel.Phases; len(names) == 0 || names[0] != "gather" || !in.Scratch.IsZero() {
		return names
	}
	return in.Kernel.Phases[1:]
}

// match is Match of kernels that the target's language has.
func (k *Kernel) match(r *Request) *Instance {
	if !r.Target.Language.Has(k) {
		return nil
	}
	return k.Match(r)
}

// Key is equal for epilogues that are the same code.
func (e *Epilogue) Key() string {
	key := e.DType.Short() + " " + e.Body.String()
	if e.Sum != 0 {
		key += " limited"
	}
	for _, d := range e.Extra {
		key += " " + d.Short()
	}
	return key
}

// Reads tells whether extra operand k is read at the result's position, and whether it is read
// elsewhere.
func (e *Epilogue) Reads(k int) (there, elsewhere bool) {
	expr.Walk(e.Body, func(x *expr.Expr) {
		if x.Op == expr.OpLoad && x.Buf == k {
			if x.Coords[0].Equal(e.O.Expr()) {
				there = true
			} else {
				elsewhere = true
			}
		}
	})
	return there, elsewhere
}

// Bounds is the part of an epilogue that kernels with Bounds carry out
// themselves.
type Bounds struct {
	Add       int // of Extra, -1: nothing
	Low, High float64
}

// Unbounded are bounds that change nothing.
func Unbounded() Bounds { return Bounds{Add: -1, Low: math.Inf(-1), High: math.Inf(1)} }

// Bounds returns b if
//
//	min(High, max(Low, Acc + Extra[Add][O]))
//
// is all that e does, a missing bound being infinite.
func (e *Epilogue) Bounds() (b Bounds, ok bool) {
	b = Unbounded()
	body := e.Body
	if e.DType != ir.Float32 || e.Acc.DType != ir.Float32 {
		return b, false
	}
	// The constant comes first: a result that is no number stays so.
	for ; (body.Op == expr.OpMin || body.Op == expr.OpMax) &&
		body.Args[0].Op == expr.OpConst; body = body.Args[1] {
		x := body.Args[0].Float
		switch {
		case body.Op == expr.OpMin && math.IsInf(b.High, 1) && math.IsInf(b.Low, -1):
			b.High = x
		case body.Op == expr.OpMax && math.IsInf(b.Low, -1) && x <= b.High:
			b.Low = x
		default:
			return b, false
		}
	}
	if body.Op == expr.OpAdd {
		acc, z := body.Args[0], body.Args[1]
		if acc.Op == expr.OpLoad {
			acc, z = z, acc
		}
		if z.Op != expr.OpLoad || z.DType != ir.Float32 || !z.Coords[0].Equal(e.O.Expr()) {
			return b, false
		}
		b.Add, body = z.Buf, acc
	}
	return b, body.Op == expr.OpLocal && body.Var == e.Acc
}

// Rescaling is what an epilogue begins with that makes integers of the sums of an integer network,
// kept as floats: see Epilogue of package rows.
type Rescaling struct {
	Shift, Scale      int // of Extra
	Least, Most, Plus float64
	First             *Epilogue // it by itself
	Rest              *Epilogue // of what it gives, nil if that is all
}

// MultipliesIntegers reports whether the kernel's sums are of products of integers.
func (in *Instance) MultipliesIntegers() bool { return in.Rest || in.Within > 0 }

// Rescaling returns what in's epilogue begins with that its kernel may do.
func (in *Instance) Rescaling() (r Rescaling, ok bool) {
	if in.Epilogue == nil || !in.Kernel.Rescales || in.Divided || !in.RunChannels {
		return r, false
	}
	return in.Epilogue.Rescaling()
}

// Rescaling returns what e begins with if that is a rescaling,
//
//	float32(int8(min(high, max(low, round((Acc + Extra[Shift][C])·Extra[Scale][C]) + zero)))) - less
//
// of whole numbers, perhaps without less, or neither less nor float32, and sums are finite.
func (e *Epilogue) Rescaling() (r Rescaling, ok bool) {
	if e.DType != ir.Float32 || e.Acc.DType != ir.Float32 || e.Sum == 0 {
		return r, false
	}
	given := &expr.Var{Name: e.Acc.Name, DType: ir.Float32} // to the rest
	acc := &expr.Expr{Op: expr.OpLocal, DType: ir.Float32, Var: given}
	var whole, first, then *expr.Expr
	expr.Walk(e.Body, func(x *expr.Expr) { // operands come first: the largest is found last
		y, z := x, acc
		if x.DType == ir.Int8 { // kernels store floats: the rest makes bytes of them
			y, z = expr.Cast(ir.Float32, x), expr.Cast(ir.Int8, acc)
		}
		if found, ok := e.rescales(y); ok {
			r, whole, first, then = found, x, y, z
		}
	})
	if whole == nil {
		return r, false
	}
	rest := expr.Rewrite(e.Body, func(x *expr.Expr) *expr.Expr {
		if x == whole {
			return then
		}
		return x
	})
	part := func(acc *expr.Var, body *expr.Expr) *Epilogue {
		own := *e
		own.Acc, own.Body = acc, body
		return &own
	}
	if r.First = part(e.Acc, first); rest != acc {
		r.Rest = part(given, rest)
	}
	return r, !expr.Any(rest, func(x *expr.Expr) bool {
		return x.Op == expr.OpLocal && x.Var == e.Acc
	})
}

// rescales returns the numbers of x if it is a rescaling.
func (e *Epilogue) rescales(x *expr.Expr) (r Rescaling, ok bool) {
	zero, body := added(x)
	plus := zero
	for _, d := range []ir.DType{ir.Float32, ir.Int8} {
		if body.Op != expr.OpCast || body.DType != d {
			return r, false
		}
		body = body.Args[0]
	}
	if body.Op != expr.OpMin || body.Args[1].Op != expr.OpMax || body.DType != ir.Float32 {
		return r, false
	}
	most, least := body.Args[0], body.Args[1].Args[0]
	zero, body = added(body.Args[1].Args[1])
	if body.Op != expr.OpRound || most.Op != expr.OpConst || least.Op != expr.OpConst {
		return r, false
	}
	r.Plus, r.Least, r.Most = plus+zero, least.Float-zero, most.Float-zero
	for _, n := range []float64{r.Least, r.Most, r.Plus} {
		if n != math.Trunc(n) || math.Abs(n) > 1<<12 {
			return r, false
		}
	}
	single := e.O.Hi.Equal(e.C.Hi) // results are of a channel each
	channel := func(x *expr.Expr) bool {
		return x.Op == expr.OpLoad && x.DType == ir.Float32 &&
			(x.Coords[0].Equal(e.C.Expr()) || single && x.Coords[0].Equal(e.O.Expr()))
	}
	product := body.Args[0]
	if product.Op != expr.OpMul || product.Args[0].Op != expr.OpAdd || !channel(product.Args[1]) {
		return r, false
	}
	sum := product.Args[0]
	r.Shift, r.Scale = sum.Args[1].Buf, product.Args[1].Buf
	return r, sum.Args[0].Op == expr.OpLocal && sum.Args[0].Var == e.Acc && channel(sum.Args[1])
}

// added returns the number that an expression adds to another one, which it returns, too.
func added(e *expr.Expr) (float64, *expr.Expr) {
	if (e.Op == expr.OpAdd || e.Op == expr.OpSub) && e.Args[1].Op == expr.OpConst {
		if e.Op == expr.OpSub {
			return -e.Args[1].Float, e.Args[0]
		}
		return e.Args[1].Float, e.Args[0]
	}
	return 0, e
}

// num is a number as a constant expression.
func num[T int | int64](n T) sym.Expr { return sym.Int(int64(n)) }

// inPanels makes a Packed of the elements of a constant, of zeros if it is none
// of the operands; nil elements are known later.
func inPanels(name string, s panels.Shape, xs []float32, from ...int) Packed {
	p := Packed{Name: name, DType: ir.Float32, From: from, Panels: &s}
	if xs != nil {
		p.Data = packed(name, panels.Pack(s, xs)).Data
	}
	return p
}

// floats reads little-endian float32 elements.
func floats(data []byte) []float32 {
	return seq.Of(len(data)/4, func(i int) float32 {
		return math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	})
}

// packed makes a Packed of float32 elements.
func packed(name string, xs []float32, from ...int) Packed {
	data := make([]byte, 0, 4*len(xs))
	for _, x := range xs {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return Packed{Name: name, DType: ir.Float32, Data: data, From: from}
}
