package golang

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/math"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/kernels/tuned/gokernels"
	"github.com/etgen/etgen/lower/native"
)

// tunedSource is a package of tuned kernels that the output gets a copy of.
type tunedSource struct {
	lib   *library
	names map[string]string // package-level names by what they are called here
	roots []string          // functions called
}

// tunedFunction returns the name of the Go function of a tuned kernel, or of the
// one that does its parts, whose source it adds to the output.
func (g *generator) tunedFunction(k *tuned.Kernel, part bool) (*tunedSource, string, error) {
	dir, fn, ok := strings.Cut(goFunction(k, part), ".")
	if !ok {
		return nil, "", fmt.Errorf("tuned kernel %s has no Go form", k.Name)
	}
	var src *tunedSource
	for _, t := range g.tuned {
		if t.lib.name == dir {
			src = t
		}
	}
	if src == nil {
		lib, err := openLibrary(gokernels.FS, dir)
		if err != nil {
			return nil, "", err
		}
		src = &tunedSource{lib: lib, names: map[string]string{}}
		g.tuned = append(g.tuned, src)
	}
	if src.names[fn] == "" {
		src.names[fn] = g.unit.scope.TakeAround(camel(dir + fn))
	}
	for _, r := range src.roots {
		if r == fn {
			return src, src.names[fn], nil
		}
	}
	src.roots = append(src.roots, fn)
	return src, src.names[fn], nil
}

// tunedFiles prints the functions of a tuned package that are called: those that
// all machines have, and what each of its variants has of its own.
func (g *generator) tunedFiles(t *tunedSource) ([]codegen.File, error) {
	rename := func(name string) string {
		if t.names[name] == "" {
			local := unexported(name)
			if g.unit.scope.Has(local) {
				local = camel(t.lib.name + "_" + name)
			}
			t.names[name] = g.unit.scope.TakeAround(local)
		}
		return t.names[name]
	}
	common, files, err := g.unit.copies(t.lib, t.roots, rename, g.header(), "kernel_")
	if err != nil {
		return nil, err
	}
	data, err := g.unit.file(g.header(), strings.Join(common, "\n\n"))
	if err != nil {
		return nil, err
	}
	return append([]codegen.File{{Name: "kernel_" + t.lib.name + ".go", Data: data}}, files...), nil
}

// tunedKernel prints the function of a kernel that calls tuned code, with the
// epilogue if it has one.
func (g *generator) tunedKernel(k *native.Kernel) (string, error) {
	in := k.Tuned
	divided := g.divides(k)
	src, fn, err := g.tunedFunction(in.Kernel, divided)
	if err != nil {
		return "", err
	}
	sig := src.lib.params(strings.TrimPrefix(goFunction(in.Kernel, divided), src.lib.name+"."))
	var args []string
	if divided {
		args = []string{"step", "part", "parts"}
		sig = sig[min(len(args), len(sig)):]
	}
	buffers := 1 + len(in.Kernel.Operands) + len(in.Packed)
	if !in.Scratch.IsZero() {
		buffers++
	}
	rest := 1
	if in.Kernel.Bounds {
		rest = 4
	}
	if want := buffers + len(in.Params) + len(in.Kernel.Strips) + rest; len(sig) != want {
		return "", fmt.Errorf("tuned kernel %s: Go function %s has %d parameters, not %d",
			in.Kernel.Name, in.Kernel.Go, len(sig), want)
	}
	p := g.unit.newPrinter(nil)
	if divided {
		p.scope.Reserve(append([]string{"s", "c"}, args...)...)
	}
	var params []param
	add := func(name, typ string) string {
		n := p.scope.Take(camel(name))
		params = append(params, param{n, typ})
		return n
	}
	scratch := !in.Scratch.IsZero()
	for i, s := range sig[:buffers] {
		if i < buffers-1 || !scratch {
			args = append(args, add(s.name, s.typ))
		}
	}
	var extra []string
	if e := in.Epilogue; e != nil {
		for i, d := range e.Extra {
			extra = append(extra, add(extraName(i, len(e.Extra)), "[]"+goType(d)))
		}
	}
	if scratch {
		args = append(args, add("scratch", sig[buffers-1].typ))
	}
	for _, s := range k.Params {
		p.syms[s] = add(s.Name, "int")
	}
	for _, x := range in.Params {
		args = append(args, p.index(x.Value, precAny))
	}
	named := "" // what a long list of numbers means
	if len(in.Params) > 4 {
		for i, x := range in.Params {
			name := sig[buffers+i].name
			if name == "_" {
				name = x.Name
			}
			named += name + "=" + p.index(x.Value, precUnary) + " "
		}
		named = comment(named)
	}
	for _, name := range in.Kernel.Strips {
		args = append(args, g.unit.stripFunction(name))
	}
	epilogue := "nil"
	bounds, all := tuned.Unbounded(), false
	if e := in.Epilogue; e != nil && in.Kernel.Bounds {
		if bounds, all = e.Bounds(); !all {
			bounds = tuned.Unbounded()
		}
	}
	if in.Kernel.Bounds {
		z := "nil"
		if bounds.Add >= 0 {
			z = extra[bounds.Add]
		}
		limit := func(x float64) string {
			return typedLiteral(&expr.Expr{Op: expr.OpConst, DType: ir.Float32, Float: x})
		}
		args = append(args, z, limit(bounds.Low), limit(bounds.High))
	}
	after := ""
	if e := in.Epilogue; e != nil && !all && !(e.Body.Op == expr.OpLocal && e.Body.Var == e.Acc) {
		if !divided && !usesSymbol(e.Body, e.C) {
			after = p.afterwards(in, sig[0].typ, args[0], extra)
		} else {
			epilogue = p.epilogue(in, sig[0].typ, extra)
		}
	}
	body := fmt.Sprintf("%s%s%s(%s, %s)\n%s", p.declareTemps(), named, fn, strings.Join(args, ", "),
		epilogue, after)
	if divided {
		return g.inParts(g.names[k], k.Doc, params, p.steps(in), body), nil
	}
	return kernelDoc(g.names[k], k.Doc) + fmt.Sprintf("func %s(%s) {\n%s}\n", g.names[k],
		signature(params), body), nil
}

// stripFunction returns the name of a function that a tuned kernel is given: a primitive of
// package strip, or one of kernels/math on vectors.
func (u *unit) stripFunction(name string) string {
	if fn := math.Func(name, ir.Float32); fn != nil {
		return u.vectorFunction(fn)
	}
	return u.helperAs(name, "vec"+name)
}
