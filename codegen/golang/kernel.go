package golang

import (
	"fmt"
	"go/token"
	"slices"
	"strings"
	"unicode"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/kernels/loop"
)

// loopKernel returns the Go function of a loop kernel. Its parameters are the
// buffers, the integers and the scalars, in the kernel's order.
func (u *unit) loopKernel(name string, doc foreign.Text, f *loop.Func) string {
	params, body := u.loopFunction(f, 0)
	result := ""
	if len(f.Invokes()) > 0 {
		result = " (" + customError + " error)"
	}
	return kernelDoc(name, doc) + fmt.Sprintf("func %s(%s)%s {\n%s}\n", name, signature(params),
		result, body)
}

// loopFunction returns the parameters and the body of a loop kernel: if threads is
// not 0, of a part of it, of which there may be more than that.
func (u *unit) loopFunction(f *loop.Func, threads int) ([]param, string) {
	stmts := loop.WithoutDead(f.Body)
	p := u.newPrinter(stmts)
	if threads > 0 {
		p.scope.Reserve("s", "c", "step", partName, partsName)
	}
	var params []param
	if slices.ContainsFunc(f.Invokes(), func(s *loop.Invoke) bool {
		return s.Op.Name == ir.CallDelegate
	}) {
		p.scope.Reserve(runnerName)
		params = append(params, param{runnerName, "Runner"})
	}
	for _, b := range f.Bufs {
		n := p.scope.Take(camel(b.Name))
		p.bufs, p.lens = append(p.bufs, n), append(p.lens, b.Len)
		p.dtypes = append(p.dtypes, b.DType)
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
	if threads > 0 {
		p.parts = p.shares(stmts)
	}
	live := *f
	live.Body = stmts
	p.stmts(p.vectorized(&live))
	body := p.declareTemps() + joinVars(joinFirst(p.b.String()))
	if threads > 0 {
		body = p.ownScratch(f, threads) + body
	}
	return params, body
}

// kernelDoc is the comment of a kernel that does what doc lists.
func kernelDoc(name string, doc foreign.Text) string {
	if doc.IsEmpty() || doc == foreign.Of(name) {
		return ""
	}
	parts := strings.Split(doc.Comment(), ", ")
	for i, part := range parts {
		parts[i] = strings.TrimSuffix(part, ".default")
	}
	return comment(name + " computes " + strings.Join(parts, ", ") + ".")
}

// joinFirst declares variables with their first value where that is a call of
// a primitive on their initial value, before which nobody reads them:
//
//	var sum float32
//	sum = vecSum(sum, x)
//
// is sum := vecSum(0, x).
func joinFirst(body string) string {
	lines := strings.Split(body, "\n")
	for i, line := range lines {
		name, init, ok := declared(line)
		if !ok {
			continue
		}
		for k, next := range lines[i+1:] {
			head, args, ok := strings.Cut(next, "("+name+", ")
			if fn, isSet := strings.CutPrefix(head, name+" = vec"); ok && isSet &&
				!strings.ContainsAny(fn, "( ") {
				lines[i+1+k] = name + " := vec" + fn + "(" + init + ", " + args
				lines[i] = ""
				break
			}
			if strings.ContainsAny(next, "{}") || mentions(next, name) {
				break
			}
		}
	}
	return strings.Join(slices.DeleteFunc(lines[:len(lines)-1], func(s string) bool {
		return s == ""
	}), "\n") + "\n"
}

// declared returns the variable that a line declares, and its value.
func declared(line string) (name, init string, ok bool) {
	if f := strings.Fields(line); len(f) == 3 && f[0] == token.VAR.String() && f[2] != "bool" &&
		!strings.Contains(f[2], "[") {
		return f[1], "0", true
	}
	name, init, ok = strings.Cut(line, " := ")
	return name, init, ok && !strings.Contains(name, " ")
}

// mentions reports whether a line of Go has the identifier name.
func mentions(line, name string) bool {
	return slices.Contains(strings.FieldsFunc(line, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), name)
}

// joinVars declares neighbouring variables of one type together.
func joinVars(body string) string {
	lines := strings.Split(body, "\n")
	var out []string
	typ := "" // of the declaration that out ends with
	for _, line := range lines {
		f := strings.Fields(line)
		isVar := len(f) == 3 && f[0] == token.VAR.String() && !strings.Contains(line, "=")
		if isVar && f[2] == typ {
			last := len(out) - 1
			out[last] = strings.TrimSuffix(out[last], " "+typ) + ", " + f[1] + " " + typ
			continue
		}
		typ = ""
		if isVar {
			typ = f[2]
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}
