package native

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/schedule"
	"github.com/etgen/etgen/kernels/tuned"
)

// hotShare is the part of a program's work above which --optimize=speed gives
// a kernel constants of its own instead of parameters.
const hotShare = 0.05

// share makes calls that differ only in integers call the same kernel, and
// names the kernels. Integers equal in all calls of a kernel become constants
// in its text, the others parameters; parameters that always have equal values
// are one.
func share(p *Program, opt Options) {
	var calls []*Call
	for _, m := range p.Methods {
		EachCall(m.Body, func(c *Call) { calls = append(calls, c) })
	}
	total := 0.0
	counted := map[*tuned.Instance]bool{}
	for _, c := range calls {
		whole := c.Kernel.whole
		if !counted[whole] {
			total += work(c.Kernel)
		}
		counted[whole] = whole != nil
	}
	var order []string
	groups := map[string][]*instance{}
	for _, c := range calls {
		in := newInstance(c, opt)
		special := in.skel.ints
		if whole := c.Kernel.whole; whole != nil && !opt.Specialise {
			special = values(whole) // all patches of a call share a kernel
		}
		apart := c.Kernel.Tuned != nil && c.Kernel.Tuned.Kernel.Apart
		if opt.Specialise || opt.Target.Speed && !apart && work(c.Kernel) > hotShare*total {
			var key strings.Builder
			for _, v := range special {
				key.WriteString("," + v.Key())
			}
			in.key += key.String()
		}
		if groups[in.key] == nil {
			order = append(order, in.key)
		}
		groups[in.key] = append(groups[in.key], in)
	}
	names := newTaken()
	for _, key := range order {
		k := merge(groups[key])
		k.Name = names.unique(k.Name)
		if k.Loop != nil {
			k.Loop.Name = k.Name
		}
		p.Kernels = append(p.Kernels, k)
	}
}

// EachCall calls f for every call of stmts and below.
func EachCall(stmts []Stmt, f func(*Call)) {
	for _, s := range stmts {
		if c, ok := s.(*Call); ok {
			f(c)
		}
		for _, nested := range Blocks(s) {
			EachCall(*nested, f)
		}
	}
}

// instance is one call with its kernel taken apart.
type instance struct {
	call *Call
	key  string
	skel *skeleton
	lens []sym.Expr // of a loop kernel's buffers
	// epilogue is that of a tuned kernel, with numbers taken out of it
	epilogue *tuned.Epilogue
}

// newInstance takes the kernel of c apart.
func newInstance(c *Call, opt Options) *instance {
	in := &instance{call: c}
	if c.Kernel.Loop != nil {
		in.skel = abstract(c.Kernel.Loop)
		in.key = "loop " + in.skel.key
		divided := c.Kernel.Divided()
		for _, b := range c.Kernel.Loop.Bufs {
			in.lens = append(in.lens, b.Len)
			if divided && b.Role == loop.Scratch { // the text depends on it
				in.key += " " + b.Len.Key()
			}
		}
		return in
	}
	t := c.Kernel.Tuned
	in.skel = &skeleton{}
	in.key = "tuned " + t.Name()
	if t.Divided {
		in.key += " divided"
	}
	if t.Scratch.IsZero() {
		in.key += " without scratch"
	}
	if len(t.Operands) < len(t.Kernel.Operands) {
		in.key += fmt.Sprint(" operands ", len(t.Operands))
	}
	for _, p := range t.Params {
		if t.Kernel.Descriptor.Field(p.Name).Form {
			in.key += " " + p.Name + "=" + p.Value.Key()
		}
	}
	in.skel.ints = values(t)
	if in.epilogue = t.Epilogue; in.epilogue != nil {
		if t.Kernel.Apart && t.Form == "" && !t.Tile.Vector && !opt.Specialise {
			in.takeNumbers()
		}
		in.key += " epilogue " + in.epilogue.Key()
		if opt.Target.Language.EpilogueOnRuns && in.epilogue.Body.Uses(in.epilogue.C) {
			in.key += " of " + t.Channels.Inner.Key() + " " + t.Channels.Count.Key()
		}
	}
	return in
}

// values returns the integers of a hand-made kernel.
func values(t *tuned.Instance) []sym.Expr {
	return seq.Map(t.Params, func(p tuned.Param) sym.Expr { return p.Value })
}

// merge makes one kernel of calls with equal skeletons.
func merge(group []*instance) *Kernel {
	k := *group[0].call.Kernel
	for _, in := range group {
		if in.call.Kernel.Copy { // say what it is, not what it came from
			k = *in.call.Kernel
		}
	}
	k.Params = nil
	ints := mergeInts(group, &k)
	if k.Loop != nil {
		scalars := k.Loop.Scalars
		consts, added := mergeConsts(group, len(scalars))
		k.Loop = refill(k.Loop, ints, consts)
		for i := range k.Loop.Bufs {
			n := &k.Loop.Bufs[i].Len
			for _, in := range group {
				if _, ok := n.Const(); !ok || !in.lens[i].Equal(*n) {
					*n = sym.Inf()
				}
			}
		}
		k.Loop.Scalars = append(scalars[:len(scalars):len(scalars)], added...)
		k.Loop.Syms = k.Params
	} else {
		t := *k.Tuned
		t.Params = append([]tuned.Param(nil), t.Params...)
		for i := range t.Params {
			t.Params[i].Value = ints[i]
		}
		t.Epilogue = giveNumbers(group)
		k.Tuned = &t
	}
	for _, in := range group {
		in.call.Kernel = &k
	}
	return &k
}

// mergeInts decides for every integer whether it stays a constant or becomes
// a parameter of k, and gives the calls their values.
func mergeInts(group []*instance, k *Kernel) []sym.Expr {
	params := map[string]*sym.Symbol{} // by the values in all calls
	ints := make([]sym.Expr, len(group[0].skel.ints))
	for h, v := range group[0].skel.ints {
		same := true
		var values strings.Builder
		if k.Tuned != nil { // parameters that mean different things stay apart
			values.WriteString(k.Tuned.Params[h].Name)
		}
		lo, hi := v.Bounds()
		for _, in := range group {
			u := in.skel.ints[h]
			same = same && u.Equal(v)
			values.WriteString(u.Key() + ",")
			l, h := u.Bounds()
			lo, hi = min(lo, l), max(hi, h)
		}
		if _, isConst := v.Const(); same && isConst {
			ints[h] = v
			continue
		}
		key := values.String()
		p := params[key]
		if p == nil {
			p = sym.NewSymbol(paramName(k, v, same, h), lo, hi)
			params[key] = p
			k.Params = append(k.Params, p)
			for _, in := range group {
				in.call.Ints = append(in.call.Ints, in.skel.ints[h])
			}
		}
		ints[h] = p.Expr()
	}
	return ints
}

// paramName keeps the names that mean something: a tuned kernel's own and
// those of dynamic sizes.
func paramName(k *Kernel, v sym.Expr, same bool, i int) string {
	if k.Tuned != nil {
		return k.Tuned.Params[i].Name
	}
	if syms := v.Symbols(); same && len(syms) == 1 && v.Equal(syms[0].Expr()) {
		return identifier(syms[0].Name)
	}
	return fmt.Sprintf("n%d", len(k.Params))
}

// mergeConsts decides for every constant whether it stays one or
// becomes a scalar parameter, and gives the calls their values. had is the
// number of scalar parameters there are already.
func mergeConsts(group []*instance, had int) (consts []*expr.Expr, added []*expr.Var) {
	for i, c := range group[0].skel.consts {
		same := true
		for _, in := range group {
			x := in.skel.consts[i]
			same = same && math.Float64bits(x.Float) == math.Float64bits(c.Float) && x.Int == c.Int
		}
		if same {
			consts = append(consts, c)
			continue
		}
		consts = append(consts, expr.ScalarRef(had+len(added), c.DType))
		added = append(added, &expr.Var{Name: fmt.Sprintf("c%d", len(added)), DType: c.DType})
		for _, in := range group {
			in.call.Scalars = append(in.call.Scalars, in.skel.consts[i])
		}
	}
	return consts, added
}

// work estimates the operations of a kernel, for finding the hot ones.
func work(k *Kernel) float64 {
	in := k.Tuned
	if k.whole != nil {
		in = k.whole
	}
	if in == nil {
		return schedule.Work(k.Loop)
	}
	return 2 * max(expr.Count(in.MACs), 1)
}

// skeleton is what abstract finds: a kernel's structure, and the integers and
// floating constants that were taken out of it in the order of the text.
// Kernels with equal keys differ in these only.
type skeleton struct {
	key    string
	ints   []sym.Expr   // extents, strides, offsets, dynamic sizes
	consts []*expr.Expr // floating constants
}

// abstract takes the numbers out of fn.
func abstract(fn *loop.Func) *skeleton {
	s := &skeleton{}
	a := newAbstracter(len(fn.Scalars))
	a.takeInt = func(v sym.Expr) sym.Expr {
		s.ints = append(s.ints, v)
		return v
	}
	a.takeConst = func(c *expr.Expr) *expr.Expr {
		s.consts = append(s.consts, c)
		return c
	}
	a.function(fn)
	s.key = a.key.String()
	return s
}

// refill returns fn with its numbers replaced, given in abstract's order. What
// buffers hold in all is no number of the text: where it is not the same in
// all calls, it is not known.
func refill(fn *loop.Func, ints []sym.Expr, consts []*expr.Expr) *loop.Func {
	a := newAbstracter(len(fn.Scalars))
	a.takeInt = func(sym.Expr) sym.Expr {
		v := ints[0]
		ints = ints[1:]
		return v
	}
	a.takeConst = func(*expr.Expr) *expr.Expr {
		c := consts[0]
		consts = consts[1:]
		return c
	}
	return a.function(fn)
}

// abstracter walks a function, writes its structure to key, and rebuilds it
// with the numbers that takeInt and takeConst put in place of the old.
type abstracter struct {
	takeInt   func(sym.Expr) sym.Expr
	takeConst func(*expr.Expr) *expr.Expr

	key     strings.Builder
	inner   map[*sym.Symbol]sym.Expr // symbols bound in the function, and what replaces them
	rank    map[*sym.Symbol]int      // order in which they are bound
	locals  map[*expr.Var]*expr.Var
	order   map[*expr.Var]int // the numbers of locals, as declared
	scalars int               // scalar parameters the function has
}

func newAbstracter(scalars int) *abstracter {
	return &abstracter{inner: map[*sym.Symbol]sym.Expr{}, rank: map[*sym.Symbol]int{},
		locals: map[*expr.Var]*expr.Var{}, order: map[*expr.Var]int{}, scalars: scalars}
}

func (a *abstracter) function(fn *loop.Func) *loop.Func {
	out := &loop.Func{Name: fn.Name, Scalars: fn.Scalars}
	for _, b := range fn.Bufs {
		fmt.Fprintf(&a.key, "%s/%d/%d;", b.DType.Short(), b.Role, b.Init)
		out.Bufs = append(out.Bufs, b)
	}
	out.Body = a.block(fn.Body)
	return out
}

// number abstracts a quantity that is constant in the function; 0 and 1 are
// structure.
func (a *abstracter) number(v sym.Expr) sym.Expr {
	if v.Is(0) || v.Is(1) {
		a.key.WriteString(v.String())
		return v
	}
	a.key.WriteByte('#')
	return a.takeInt(v)
}

func (a *abstracter) bound(e sym.Expr) bool {
	for _, s := range e.Symbols() {
		if _, ok := a.inner[s]; ok {
			return true
		}
	}
	return false
}

// part is a product of atoms that depend on variables, with its factor.
type part struct {
	id, shape string // which product it is, and what it looks like without its numbers
	atoms     []sym.Atom
	factor    sym.Expr
}

// parts splits an index expression by products of variables, in an order that
// depends on numbers only where nothing else tells products apart.
func (a *abstracter) parts(e sym.Expr) []*part {
	var list []*part
	byID := map[string]*part{}
	for _, t := range e.Terms() {
		p := &part{factor: sym.Int(t.Coef)}
		for _, at := range t.Atoms {
			x := at.Expr()
			if !a.bound(x) {
				p.factor = sym.Mul(p.factor, x)
				continue
			}
			p.atoms = append(p.atoms, at)
			p.id += x.Key() + "*"
			p.shape += a.shape(at) + "*"
		}
		if q := byID[p.id]; q != nil {
			q.factor = sym.Add(q.factor, p.factor)
			continue
		}
		byID[p.id] = p
		list = append(list, p)
	}
	seq.Sort(list, func(p, q *part) int { return strings.Compare(p.shape, q.shape) })
	return list
}

// shape names an atom by its structure.
func (a *abstracter) shape(at sym.Atom) string {
	if at.Kind == sym.SymbolAtom {
		return fmt.Sprintf("v%03d", a.rank[at.Sym])
	}
	s := fmt.Sprintf("x%d", at.Kind)
	for _, x := range at.Args {
		s += "("
		for _, p := range a.parts(x) {
			s += p.shape + "+"
		}
		s += ")"
	}
	return s
}

// index abstracts an index expression: for every product of loop variables its
// factor, then the constant part.
func (a *abstracter) index(e sym.Expr) sym.Expr {
	sum := sym.Int(0)
	a.key.WriteByte('(')
	for _, p := range a.parts(e) {
		prod := a.number(p.factor)
		for _, at := range p.atoms {
			prod = sym.Mul(prod, a.atom(at))
		}
		sum = sym.Add(sum, prod)
		a.key.WriteByte('+')
	}
	a.key.WriteByte(')')
	return sum
}

func (a *abstracter) atom(at sym.Atom) sym.Expr {
	if at.Kind == sym.SymbolAtom {
		fmt.Fprintf(&a.key, "v%d", a.rank[at.Sym])
		return a.inner[at.Sym]
	}
	fmt.Fprintf(&a.key, "x%d", at.Kind)
	at.Args = seq.Map(at.Args, a.index)
	return at.Expr()
}

// bind introduces a symbol bound in the function.
func (a *abstracter) bind(s *sym.Symbol, extent sym.Expr) *sym.Symbol {
	v := sym.NewVar(s.Name, extent)
	a.rank[s] = len(a.rank)
	a.inner[s] = v.Expr()
	return v
}

func (a *abstracter) block(stmts []loop.Stmt) []loop.Stmt {
	out := make([]loop.Stmt, len(stmts))
	a.key.WriteByte('{')
	for i, s := range stmts {
		out[i] = a.stmt(s)
		a.key.WriteByte(';')
	}
	a.key.WriteByte('}')
	return out
}

func (a *abstracter) stmt(s loop.Stmt) loop.Stmt {
	switch s := s.(type) {
	case *loop.For:
		fmt.Fprintf(&a.key, "for%t%t%t%t", s.Vectorizable, s.InOrder, s.Rolled, s.Divided)
		n := *s
		n.Extent = a.index(s.Extent)
		n.Var = a.bind(s.Var, n.Extent)
		n.Body = a.block(s.Body)
		return &n
	case *loop.While:
		a.key.WriteString("while")
		return &loop.While{Cond: a.value(s.Cond), Body: a.block(s.Body)}
	case *loop.If:
		a.key.WriteString("if")
		return &loop.If{Cond: a.value(s.Cond), Then: a.block(s.Then), Else: a.block(s.Else)}
	case *loop.Let:
		v := *s.Var
		a.locals[s.Var], a.order[s.Var] = &v, len(a.order)
		fmt.Fprintf(&a.key, "let%t%s%d=", s.Mutable, v.DType.Short(), v.Len)
		n := &loop.Let{Var: &v, Mutable: s.Mutable}
		if s.Value != nil {
			n.Value = a.value(s.Value)
		}
		return n
	case *loop.Assign:
		fmt.Fprintf(&a.key, "set%d", a.order[s.Var])
		return &loop.Assign{Var: a.locals[s.Var], At: a.index(s.At), Value: a.value(s.Value)}
	case *loop.LetIndex:
		a.key.WriteString("idx")
		val := a.value(s.Value)
		v := a.bind(s.Sym, a.index(expr.Extent(s.Sym)))
		return &loop.LetIndex{Sym: v, Value: val}
	case *loop.Store:
		fmt.Fprintf(&a.key, "st%d", s.Buf)
		return &loop.Store{Buf: s.Buf, At: a.index(s.At), Value: a.value(s.Value)}
	case *loop.Break:
		a.key.WriteString("break")
	case *loop.Invoke:
		fmt.Fprintf(&a.key, "invoke %s", s.Op)
		return &loop.Invoke{Op: s.Op, Args: a.actuals(s.Args)}
	}
	return s
}

// actuals abstracts the sizes and numbers that a custom operator's kernel gets.
func (a *abstracter) actuals(args []loop.Actual) []loop.Actual {
	out := make([]loop.Actual, len(args))
	for i, x := range args {
		fmt.Fprintf(&a.key, ",%d,%d,%d", x.Kind, x.Buf, len(x.Sizes))
		switch x.Kind {
		case loop.Constant:
			fmt.Fprintf(&a.key, "=%T%v", x.Const, x.Const)
		case loop.IndexNumber:
			x.Index = a.index(x.Index)
		case loop.Number, loop.ReadTensor:
			x.Value = a.value(x.Value)
		}
		x.Sizes = slices.Clone(x.Sizes)
		for d, n := range x.Sizes {
			x.Sizes[d] = a.index(n)
		}
		x.List = a.actuals(x.List)
		out[i] = x
	}
	return out
}

// value abstracts a scalar expression: index expressions, floating constants and large integers.
func (a *abstracter) value(e *expr.Expr) *expr.Expr {
	fmt.Fprintf(&a.key, "%d:%s", e.Op, e.DType.Short())
	n := *e
	switch e.Op {
	case expr.OpConst:
		if e.DType.IsFloat() && e.Float != 0 && e.Float != 1 ||
			e.Int > mostImmediate || e.Int < -mostImmediate {
			a.key.WriteByte('$')
			return a.takeConst(e)
		} else {
			fmt.Fprintf(&a.key, "%d,%x", e.Int, e.Float)
		}
	case expr.OpIndex:
		n.Idx = a.index(e.Idx)
	case expr.OpLocal:
		fmt.Fprintf(&a.key, "l%d", a.order[e.Var])
		if v := a.locals[e.Var]; v != nil {
			n.Var = v
		}
		n.Coords = a.indices(e.Coords)
	case expr.OpLoad, expr.OpScalar:
		fmt.Fprintf(&a.key, "b%d", e.Buf)
		n.Coords = a.indices(e.Coords)
	case expr.OpCall:
		a.key.WriteString(e.Fn.Name)
	}
	if len(e.Args) > 0 {
		n.Args = make([]*expr.Expr, len(e.Args))
		a.key.WriteByte('[')
		for i, x := range e.Args {
			n.Args[i] = a.value(x)
			a.key.WriteByte(',')
		}
		a.key.WriteByte(']')
	}
	return &n
}

// mostImmediate is the largest integer that is part of a kernel's structure: processors read
// larger ones from memory, as they do parameters.
const mostImmediate = 1 << 16

func (a *abstracter) indices(list []sym.Expr) []sym.Expr {
	return seq.Map(list, a.index)
}
