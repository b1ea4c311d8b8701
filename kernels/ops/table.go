package ops

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// Op is one entry of the table. Infer is always there, and at least one of
// Compute, Loops, Decompose, View, Value, ScalarOp and Effect.
type Op struct {
	// Schema is the operator's ATen schema line, as in
	// "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor".
	// Names, defaults, mutation and aliasing are read from it.
	Schema string

	// Infer returns the type of every result: dtype by PyTorch's promotion,
	// sizes (symbolic too) and the strides eager PyTorch gives.
	Infer func(*Call) ([]ir.Type, error)

	// Compute gives every result as a tensor expression over the operands.
	Compute func(*Call) ([]expr.Tensor, error)

	// Loops gives an imperative body. Its buffers are the results, then the
	// tensor operands in order, then scratch.
	Loops func(*Call) (*loop.Func, error)

	// Permuted, of an operator with Loops, gives the call that does the same to
	// tensors whose dimensions are all permuted to an order, nil if there is none.
	Permuted func(c *Call, order []int) *Call

	// Decompose writes the operator in terms of other entries and returns one
	// value per result.
	Decompose func(*Builder, *Call) ([]*ir.Value, error)

	// Settle says a call that PyTorch takes otherwise because of its operand's layout in
	// operators that do not look at it, while types have strides. It returns nil for a
	// call that means what the entry does.
	Settle func(*Builder, *Call) ([]*ir.Value, error)

	// Writes is set for operators that may write to arguments beside giving
	// results, as batch norm does in training: it says such a call in
	// functional operators and Builder.Write. It returns nil for a call that
	// writes nothing; only these have another meaning.
	Writes func(*Builder, *Call) ([]*ir.Value, error)

	// View tells how each result aliases an operand. It returns nil for a call
	// that makes a copy, as contiguous may; then another form is there.
	View func(*Call) ([]View, error)

	// Value computes the result of an operator on scalars (sym_size.int,
	// _operator.mul) as an integer expression over the method's symbols. It
	// is used if the call has no run-time scalar operands.
	Value func(*Call) (sym.Expr, error)

	// ScalarOp gives the result of an operator on scalars that is known only
	// at run time, as an expression over Call.Scalars and sizes.
	ScalarOp func(*Call) (*expr.Expr, error)

	// Effect is set for operators that are kept though nobody uses their
	// results: assertions.
	Effect bool

	// Random is set for operators that draw numbers: two equal calls give
	// different results, and no call is computed beforehand.
	Random bool

	// Synonym is the operator that this one is another name of, or empty.
	Synonym string

	// Custom, of a custom operator, is the schema of the kernel, which is not etgen's: see
	// Table.With.
	Custom *aten.Schema

	entry *entry
	sch   *aten.Schema
}

// entry is an operator as a family writes it. Its forms are those of Op; they end with
// the errors that check, must and Call.errorIf raise. An entry without Infer has the
// types of what it decomposes into, as in PyTorch, which has no kernel for it either:
// its Decompose does not ask for Outs.
//
// Functions that make entries, and the short ones of Call that all forms call, are not inlined:
// closures are copied with them, which was a megabyte of every program that links the table.
type entry struct {
	Schema    string
	Infer     func(*Call) []ir.Type
	Compute   func(*Call) []expr.Tensor
	Loops     func(*Call) *loop.Func
	Permuted  func(c *Call, order []int) *Call
	Decompose func(*Builder, *Call) []*ir.Value
	Settle    func(*Builder, *Call) []*ir.Value
	Writes    func(*Builder, *Call) []*ir.Value
	View      func(*Call) []View
	Value     func(*Call) sym.Expr
	ScalarOp  func(*Call) *expr.Expr
	Effect    bool
	Random    bool
	Custom    *aten.Schema
	// variant returns another entry of the same schema for calls that this one
	// does not mean, nil for all others.
	variant func(*Call) *entry
	numbers bool   // a number may stand for a Tensor argument
	synonym string // the operator that this is another name of
	// complex is set for composites that become operators on complex numbers, even if all
	// that they take and give is real.
	complex bool
}

// op returns the operator of an entry of t, whose forms return the errors that end them.
func (e *entry) op(t *Table, s *aten.Schema) *Op {
	if e.Infer == nil && e.Decompose != nil {
		e.Infer = func(c *Call) []ir.Type { return typesOf(t, c, e.Decompose) }
	}
	return &Op{
		Schema: e.Schema, Effect: e.Effect, Random: e.Random, Custom: e.Custom, Synonym: e.synonym,
		entry: e, sch: s,
		Infer: caught(e.Infer), View: caught(e.View), Value: caught(e.Value),
		Compute: caught(onReals(e.Compute)), Loops: caught(onReals(e.Loops)),
		ScalarOp: caught(onReals(e.ScalarOp)), Permuted: e.Permuted,
		Decompose: built(e.Decompose), Settle: built(e.Settle), Writes: built(e.Writes),
	}
}

// View is a result that shares its operand's memory: element c of the result
// is element Map(c) of operand Of.
type View struct {
	Of  int
	Map func(coords []sym.Expr) []sym.Expr
}

// Results returns the results of c as expressions over its operands, nil if the operator
// has neither a view nor an expression, and whether they are views of operands. An
// operator that is sometimes a view and sometimes a copy gives no views in the second
// case.
func (c *Call) Results() (ts []expr.Tensor, view bool, err error) {
	if c.Op.View != nil {
		views, err := c.Op.View(c)
		ts = make([]expr.Tensor, len(views))
		for i, v := range views {
			vars := expr.Over(c.Outs[i].Sizes)
			ts[i] = expr.Tensor{DType: c.Outs[i].DType, Vars: vars,
				Body: c.LoadAt(v.Of, v.Map(expr.Coords(vars))...)}
		}
		if err != nil || views != nil {
			return ts, true, err
		}
	}
	if c.Op.Compute == nil {
		return nil, false, nil
	}
	ts, err = c.Op.Compute(c)
	return ts, false, err
}

// Table is a set of operators by name ("aten.add.Tensor").
type Table struct {
	byName map[string]*Op
	names  []string // sorted
}

// Standard returns the table of every operator etgen has.
var Standard = sync.OnceValue(func() *Table {
	t, err := newTable(append(groups(), onceMore(groups()))...)
	if err != nil {
		panic("ops: " + err.Error()) // a defect of an entry; TestStandard fails
	}
	return t
})

// newTable returns a table of the entries of groups. It fails on a schema that
// does not parse, a name that occurs twice and an entry without a meaning.
func newTable(groups ...[]entry) (*Table, error) {
	t := &Table{byName: map[string]*Op{}}
	for _, g := range groups {
		for i := range g {
			op := &g[i]
			s, err := aten.Parse(op.Schema)
			if err != nil {
				return nil, err
			}
			switch {
			case t.byName[s.Name] != nil:
				return nil, fmt.Errorf("%s is in the table twice", s.Name)
			case op.Infer == nil && op.Decompose == nil:
				return nil, fmt.Errorf("%s has no Infer", s.Name)
			case op.Compute == nil && op.Loops == nil && op.Decompose == nil && op.View == nil &&
				op.Value == nil && op.ScalarOp == nil && op.Writes == nil && !op.Effect &&
				s.Name != ComplexOp && complexForms[s.Name] == nil &&
				complexFunctions[ir.OpBase(s.Name)] == nil:
				return nil, fmt.Errorf("%s has no meaning", s.Name)
			}
			t.byName[s.Name] = op.op(t, s)
			t.names = append(t.names, s.Name)
		}
	}
	slices.Sort(t.names)
	return t, nil
}

// Lookup returns the entry of an operator, which for the in-place form of a
// functional operator is the functional one (see Functional).
func (t *Table) Lookup(name string) (*Op, bool) {
	if op, ok := t.byName[name]; ok {
		return op, true
	}
	if f, ok := t.Functional(name); ok {
		return t.byName[f.Name], true
	}
	if name == ir.CallDelegate {
		return anyDelegate, true
	}
	return nil, false
}

// Names returns the names of the entries, sorted.
func (t *Table) Names() []string { return slices.Clone(t.names) }

// InPlace tells how an in-place operator follows from a functional one: the
// result of Name, given the same arguments, is written to argument Mutated,
// which is also what the in-place operator returns.
type InPlace struct {
	Name    string // the functional operator
	Mutated int    // index among its arguments
	// Rebind is set if the functional operator is a view: then the argument's
	// tensor takes the view's sizes and strides and no data is written.
	Rebind bool
}

// irregular are functional forms that are not called as their in-place forms are.
var irregular = map[string]string{
	"aten.normal.default":        "aten.normal_functional.default",
	"aten.bernoulli.float":       "aten.bernoulli.p",
	"aten.floor_divide.Tensor":   "aten.floor_divide.default",
	"aten.fill_diagonal.default": "etgen.fill_diagonal.default",
}

// Functional returns what name does if it is the in-place form of an entry:
// "aten.add_.Tensor" is "aten.add.Tensor" written to its first argument.
func (t *Table) Functional(name string) (InPlace, bool) {
	parts := strings.SplitN(name, ".", 3)
	if len(parts) < 2 {
		return InPlace{}, false
	}
	switch base := parts[1]; {
	case strings.HasPrefix(base, "__i") && strings.HasSuffix(base, "__") && len(base) > 5:
		parts[1] = "__" + base[3:]
	case strings.HasSuffix(base, "_") && !strings.HasSuffix(base, "__"):
		parts[1] = strings.TrimSuffix(base, "_")
	default:
		return InPlace{}, false
	}
	f := strings.Join(parts, ".")
	if name := irregular[f]; name != "" {
		f = name
	}
	op, ok := t.byName[f]
	if !ok || len(op.sch.Args) == 0 || op.sch.Args[0].Type.Name != "Tensor" {
		return InPlace{}, false
	}
	return InPlace{Name: f, Rebind: op.View != nil}, true
}

// ParsedSchema returns the entry's schema. The caller must not change it.
func (op *Op) ParsedSchema() *aten.Schema { return op.sch }

// Name returns the name nodes use, e.g. "aten.add.Tensor".
func (op *Op) Name() string { return op.sch.Name }

// Bind binds the arguments of n by name, or by position where they have none,
// fills in defaults, checks their kinds and infers the result types. Of an
// in-place operator it binds the functional form; the result's type is that of
// the argument written to.
func (t *Table) Bind(n *ir.Node) (*Call, error) {
	op, ok := t.Lookup(n.Op)
	if !ok {
		return nil, fmt.Errorf("operator %s is not supported", n.Op)
	}
	if n.Op == ir.CallDelegate {
		var err error
		if op, err = delegateOp(t, n); err != nil {
			return nil, err
		}
	}
	c, err := bindArgs(op, n)
	if err != nil {
		return nil, err
	}
	if op.entry.variant != nil {
		if other := op.entry.variant(c); other != nil {
			op = other.op(t, op.sch)
			c.Op = op
		}
	}
	if c.Outs, err = op.Infer(c); err != nil {
		return nil, c.wrap(err)
	}
	for _, n := range c.needs {
		if sym.LessEq(n, sym.Int(0)) {
			return nil, c.Errorf("it needs a size of %s to be over 0", n)
		}
	}
	if op.sch.Name == n.Op {
		return c, nil
	}
	if f, ok := t.Functional(n.Op); ok && !f.Rebind {
		ref, ok := c.Args[f.Mutated].(ir.Ref)
		if !ok {
			return nil, c.Errorf("what is written in place is %s, no tensor",
				describe(c.Args[f.Mutated]))
		}
		self := ref.Value.Type
		if !sym.AllEqual(c.Outs[0].Sizes, self.Sizes) {
			return nil, c.Errorf("a result of %s does not fit in place of %s",
				sizesOf(c.Outs[:1]), sizesOf([]ir.Type{self}))
		}
		c.Outs[0] = self
	}
	return c, nil
}

// Schema returns the schema of an operator as instructions call it: of an entry
// its own, of an out variant the entry's with the out arguments, of an in-place
// form the entry's with the argument written to marked.
func (t *Table) Schema(name string) (*aten.Schema, bool) {
	if v, ok := aten.OutNamed(name); ok {
		op, ok := t.Lookup(v.Functional)
		if !ok {
			return nil, false
		}
		return v.Schema(op.ParsedSchema()), true
	}
	op, ok := t.Lookup(name)
	if !ok {
		if s, ok := t.CustomNamed(name); ok {
			return OutForm(s), true
		}
		return nil, false
	}
	if f, inPlace := t.Functional(name); inPlace && op.Name() != name {
		s := *op.ParsedSchema()
		s.Name = name
		s.Args = append([]aten.Param(nil), s.Args...)
		if f.Mutated < len(s.Args) {
			typ := *s.Args[f.Mutated].Type
			typ.Alias = aten.Alias{Set: "a", Write: true}
			s.Args[f.Mutated].Type = &typ
		}
		return &s, true
	}
	return op.ParsedSchema(), true
}

// CustomNamed returns the schema of the custom operator that a program calls name: see OutForm.
func (t *Table) CustomNamed(name string) (*aten.Schema, bool) {
	for _, op := range t.byName {
		if op.Custom != nil && OutForm(op.Custom).Name == name {
			return op.Custom, true
		}
	}
	return nil, false
}

// groups lists the families of the standard table.
func groups() [][]entry {
	return [][]entry{
		arithmeticOps(),
		complexOps(),
		fftOps(),
		spectrumOps(),
		activationOps(),
		comparisonOps(),
		roundingOps(),
		transcendentalOps(),
		selectionOps(),
		copyOps(),
		dimOrderOps(),
		creationOps(),
		reductionOps(),
		cumulativeOps(),
		sortOps(),
		compositeOps(),
		searchOps(),
		integerOps(),
		quantOps(),
		torchaoOps(),
		cortexMOps(),
		scalarOps(),
		primOps(),
		assertionOps(),
		viewOps(),
		rankOps(),
		luOps(),
		matmulOps(),
		einsumOps(),
		softmaxOps(),
		normOps(),
		{batchNormGiven("aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, " +
			"Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, " +
			"float eps) -> (Tensor, Tensor, Tensor)"),
			batchNormGiven("aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, " +
				"Tensor? running_mean, Tensor? running_var, bool training, float momentum, " +
				"float eps) -> (Tensor, Tensor, Tensor)")},
		updatedBatchNormOps(),
		convOps(),
		integerProducts(),
		integerElementwise(),
		{fixedMean()},
		integerNorms(),
		integerSoftmaxes(),
		integerWindows(),
		poolOps(),
		joinOps(),
		rearrangeOps(),
		padOps(),
		indexOps(),
		dataSizeOps(),
		uniqueOps(),
		modeOps(), histogramsOf(),
		triangleIndexOps(),
		polynomialOps(),
		specialOps(), besselOps(), incompleteGammaOps(),
		scatterOps(),
		upsampleOps(),
		distanceOps(),
		backwardOps(),
		normBackwardOps(),
		floatBitOps(),
		randomOps(),
		gridOps(),
		torchvisionOps(),
		attentionOps(),
		rnnOps(),
		cellOps(),
		diagonalOps(),
		unfoldOps(),
		tensorCompositeOps(),
		lossOps(),
		combineOps(),
		matrixOps(),
		gradientOps(),
		maskedOps(),
		unpoolOps(),
		{fractionalPool(2), fractionalPool(3)},
		{segmentReduce()},
		{matrixExp(), derived("aten::matrix_exp(Tensor self) -> Tensor",
			sameAs("aten.linalg_matrix_exp.default"))},
		measureOps(),
		marginLossOps(),
		quantileOps(),
		trapezoidOps(),
		fakeQuantOps(),
		embeddingBagOps(),
		seldomOps(),
		linalgOps(),
		factorOps(),
		eigenOps(),
		singularOps(),
		linalgNormOps(),
	}
}

// derived is a composite with one result, whose type is that of what it becomes.
func derived(schema string, f func(*Builder, *Call) *ir.Value) entry {
	return entry{Schema: schema}.core(f)
}

// typesOf decomposes c for the types of its results only.
func typesOf(t *Table, c *Call, decompose func(*Builder, *Call) []*ir.Value) []ir.Type {
	node := &ir.Node{Name: c.node.Name, Op: c.Op.Name(), Loc: c.node.Loc}
	var types []ir.Type
	check((&ir.Rewriter{Visit: func(e *ir.Emitter, n *ir.Node) ([]*ir.Value, bool, error) {
		if n != node {
			return nil, true, nil
		}
		b := NewBuilder(t, e)
		return nil, false, b.Do(func() error {
			for _, v := range decompose(b, c) {
				types = append(types, v.Type)
			}
			return nil
		})
	}}).Run(&ir.Method{Graph: &ir.Graph{Nodes: []*ir.Node{node}}}))
	return types
}
