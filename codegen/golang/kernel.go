package golang

import (
	"fmt"
	"go/token"
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
	fmt.Fprintf(&b, "func %s(%s) {\n%s%s}\n", name, signature(params), p.declareTemps(), joinFirst(p.b.String()))
	return b.String()
}

// joinFirst declares variables with their first value where that is a call of
// a primitive on their initial value, in the next line:
//
//	var sum float32
//	sum = vecSum(sum, x)
//
// is sum := vecSum(0, x).
func joinFirst(body string) string {
	lines := strings.Split(body, "\n")
	var out []string
	for i := 0; i < len(lines); i++ {
		out = append(out, lines[i])
		if i+1 == len(lines) {
			break
		}
		name, init := "", ""
		if f := strings.Fields(lines[i]); len(f) == 3 && f[0] == token.VAR.String() && f[2] != "bool" && !strings.Contains(f[2], "[") {
			name, init = f[1], "0"
		} else if n, v, ok := strings.Cut(lines[i], " := "); ok && !strings.Contains(n, " ") {
			name, init = n, v
		}
		head, args, ok := strings.Cut(lines[i+1], "("+name+", ")
		if fn, isSet := strings.CutPrefix(head, name+" = vec"); ok && isSet && name != "" && !strings.ContainsAny(fn, "( ") {
			out[len(out)-1] = name + " := vec" + fn + "(" + init + ", " + args
			i++
		}
	}
	return strings.Join(out, "\n")
}
