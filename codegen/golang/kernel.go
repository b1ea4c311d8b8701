package golang

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/kernels/loop"
)

// loopKernel returns the Go function of a loop kernel. Its parameters are the
// buffers, the integers and the scalars, in the kernel's order.
func (u *unit) loopKernel(name, doc string, f *loop.Func) string {
	p := u.newPrinter(f.Body)
	var params []param
	for _, b := range f.Bufs {
		n := p.scope.Take(camel(b.Name))
		p.bufs, p.lens = append(p.bufs, n), append(p.lens, b.Len)
		params = append(params, param{n, "[]" + goType(b.DType)})
	}
	for _, s := range f.Syms {
		n := p.scope.Take(camel(s.Name))
		p.syms[s] = n
		params = append(params, param{n, "int"})
	}
	for _, v := range f.Scalars {
		n := p.scope.Take(camel(v.Name))
		p.scalars = append(p.scalars, n)
		params = append(params, param{n, goType(v.DType)})
	}
	p.stmts(f.Body)
	var b strings.Builder
	if doc != "" {
		b.WriteString(comment(name + " computes " + codegen.PlainText(doc) + "."))
	}
	fmt.Fprintf(&b, "func %s(%s) {\n%s%s}\n", name, signature(params), p.declareTemps(), p.b)
	return b.String()
}
