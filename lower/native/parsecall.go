package native

import "github.com/etgen/etgen/ir/text"

func (p *parser) call() Stmt {
	c := &Call{}
	var results []*Buffer
	if p.Accept("(") {
		p.Expect(")")
	} else {
		p.commas(func() { results = append(results, p.buffer()) })
	}
	p.Expect("=")
	t := p.Peek()
	k := p.kernels[p.NameOrString("a kernel")]
	if k == nil {
		p.Fail(t.Pos, "there is no kernel %s", t.Text)
	}
	c.Kernel = k
	a := &arguments{parser: p, k: k, call: c, results: results}
	p.List("(", ")", func() { a.next() })
	if !a.fill() || len(a.results) > 0 || len(c.Ints) != len(k.Params) || k.Loop != nil &&
		len(c.Scalars) != len(k.Loop.Scalars) {
		p.Fail(t.Pos, "the results or arguments of %s are too few or too many", t.Text)
	}
	p.checkTypes(t, c)
	c.From = p.origins()
	return c
}

// arguments puts the buffers of a call into the kernel's order.
type arguments struct {
	*parser
	k       *Kernel
	call    *Call
	results []*Buffer // still to be placed
}

// operands returns the number of buffers that k takes; of a tuned kernel
// without its scratch.
func (k *Kernel) operands() int {
	if k.Loop != nil {
		return len(k.Loop.Bufs)
	}
	n := 1 + len(k.Tuned.Operands) + len(k.Tuned.Packed)
	if k.Tuned.Epilogue != nil {
		n += len(k.Tuned.Epilogue.Extra)
	}
	return n
}

// fill places the results that come next and reports whether all buffers are
// there.
func (a *arguments) fill() bool {
	n := a.k.operands()
	for len(a.call.Args) < n && a.k.isResult(len(a.call.Args)) && len(a.results) > 0 {
		a.call.Args = append(a.call.Args, a.results[0])
		a.results = a.results[1:]
	}
	have := len(a.call.Args)
	return have == n || a.k.Tuned != nil && have == n+1
}

// next parses an argument.
func (a *arguments) next() {
	t := a.Peek()
	a.Infix = true // == is one token
	named := t.Kind == text.Name && a.After(t).Is("=")
	a.Infix = false
	switch {
	case named:
		a.Next()
		a.Expect("=")
		if i := len(a.call.Ints); i >= len(a.k.Params) || a.k.Params[i].Name != t.Text {
			a.Fail(t.Pos, "%s has no parameter %s here", a.k.Name, t.Text)
		}
		a.call.Ints = append(a.call.Ints, a.Index(a.symbol))
	case !a.fill() || a.k.Tuned != nil && len(a.call.Args) == a.k.operands() &&
		len(a.call.Ints) == 0:
		if len(a.call.Args) < a.k.operands() && a.k.isResult(len(a.call.Args)) {
			a.Fail(t.Pos, "%s has more results", a.k.Name)
		}
		a.call.Args = append(a.call.Args, a.buffer())
	case a.k.Loop != nil && len(a.call.Scalars) < len(a.k.Loop.Scalars):
		x, args := a.value(a.k.Loop.Scalars[len(a.call.Scalars)].DType)
		if len(args) > 0 {
			a.Fail(t.Pos, "an argument reads memory: use let")
		}
		a.call.Scalars = append(a.call.Scalars, x)
	default:
		a.Fail(t.Pos, "%s takes fewer arguments", a.k.Name)
	}
}

// checkTypes fails unless the buffers of c have the dtypes its kernel wants.
func (p *parser) checkTypes(t text.Token, c *Call) {
	for i, b := range c.Args {
		want := b.DType
		switch tu := c.Kernel.Tuned; {
		case c.Kernel.Loop != nil:
			want = c.Kernel.Loop.Bufs[i].DType
		case i > len(tu.Operands) && i <= len(tu.Operands)+len(tu.Packed):
			want = tu.Packed[i-1-len(tu.Operands)].DType
		case tu.Epilogue != nil && i == 0:
			want = tu.Epilogue.DType
		}
		if b.DType != want {
			p.Fail(t.Pos, "%s is %s, %s wants %s", b.Name, b.DType, t.Text, want)
		}
	}
}
