package native

import (
	"fmt"
	"math"
	"strings"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
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
		eachCall(m.Body, func(c *Call) { calls = append(calls, c) })
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
		in := newInstance(c)
		special := in.skel.ints
		if whole := c.Kernel.whole; whole != nil && !opt.Specialise {
			special = values(whole) // all bands of a call share a kernel
		}
		if opt.Specialise || opt.Target.Speed && work(c.Kernel) > hotShare*total {
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

func eachCall(stmts []Stmt, f func(*Call)) {
	for _, s := range stmts {
		if c, ok := s.(*Call); ok {
			f(c)
		}
		for _, nested := range Blocks(s) {
			eachCall(*nested, f)
		}
	}
}

// instance is one call with its kernel taken apart.
type instance struct {
	call *Call
	key  string
	skel *skeleton
	lens []sym.Expr // of a loop kernel's buffers
}

func newInstance(c *Call) *instance {
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
	in.key = "tuned " + t.Kernel.Name
	if t.Divided {
		in.key += " divided"
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
	if t.Epilogue != nil {
		in.key += " epilogue " + t.Epilogue.Key()
	}
	return in
}

// values returns the integers of a hand-made kernel.
func values(t *tuned.Instance) (list []sym.Expr) {
	list = make([]sym.Expr, len(t.Params))
	for i, p := range t.Params {
		list[i] = p.Value
	}
	return list
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

// mergeConsts decides for every floating constant whether it stays one or
// becomes a scalar parameter, and gives the calls their values. had is the
// number of scalar parameters there are already.
func mergeConsts(group []*instance, had int) (consts []*expr.Expr, added []*expr.Var) {
	for i, c := range group[0].skel.consts {
		same := true
		for _, in := range group {
			same = same && math.Float64bits(in.skel.consts[i].Float) == math.Float64bits(c.Float)
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
	size := func(e sym.Expr) float64 {
		_, hi := e.Bounds()
		return float64(max(hi, 1))
	}
	switch {
	case k.whole != nil:
		return 2 * size(k.whole.MACs)
	case k.Tuned != nil:
		return 2 * size(k.Tuned.MACs)
	}
	return loopWork(k.Loop.Body, size)
}

// loopWork estimates the operations of a block.
func loopWork(body []loop.Stmt, size func(sym.Expr) float64) float64 {
	sum := 0.0
	for _, s := range body {
		loop.Exprs(s, func(e *expr.Expr) { sum += expr.Cost(e) })
		times := 1.0
		if f, ok := s.(*loop.For); ok {
			times = size(f.Extent)
		}
		for _, nested := range loop.Blocks(s) {
			sum += times * loopWork(nested, size)
		}
	}
	return sum
}
