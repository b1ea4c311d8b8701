package golang

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/lower/native"
	"github.com/etgen/etgen/templates/golang"
)

// memory prints memory.go, the one file that is unsafe, nil if there is
// neither an arena nor weights.
func (g *generator) memory() []byte {
	var roots []string
	if codegen.ArenaBytes(g.p) > 0 && g.views() {
		roots = append(roots, "newArena", "view")
	}
	if len(g.weights.Consts) > 0 {
		roots = append(roots, "elements")
	}
	if g.poisons() {
		roots = append(roots, "poison")
	}
	if roots == nil {
		return nil
	}
	return g.unit.file(g.header(), ourCode(roots...))
}

// arenaType returns the type of the elements of all buffers in the arena,
// Uint8 if they are not all of one.
func (g *generator) arenaType() ir.DType {
	d := ir.Uint8
	first, same := true, !g.poisons()
	for _, m := range g.p.Methods {
		codegen.Walk(m.Body, func(s native.Stmt) {
			for _, b := range native.Operands(s) {
				root := native.Root(b)
				if root.Storage != native.Arena || root.MaxLen == 0 {
					continue
				}
				if first {
					d, first = b.DType, false
				}
				same = same && goType(b.DType) == goType(d) && goType(root.DType) == goType(d) &&
					root.Offset%int64(d.Size()) == 0
			}
		})
	}
	if !same {
		return ir.Uint8
	}
	return d
}

// views reports whether the arena is bytes that buffers are views of.
func (g *generator) views() bool { return g.arena == ir.Uint8 }

func (g *generator) poisons() bool {
	found := false
	for _, m := range g.p.Methods {
		codegen.Walk(m.Body, func(s native.Stmt) {
			_, ok := s.(*native.Poison)
			found = found || ok
		})
	}
	return found
}

// ourCode returns functions of templates/golang as they are, with all they need.
func ourCode(roots ...string) string {
	lib := openLibrary(golang.Source, ".")
	parts := seq.Map(lib.closure(roots, nil), func(d *libDecl) string {
		return lib.text(d, func(name string) string { return name })
	})
	return strings.Join(parts, "\n\n")
}

// weightsFile prints weights.go.
func (g *generator) weightsFile() []byte {
	const weight = 4 // of an element: what is called, and with what
	most := max(1, g.opt.FunctionWeight/weight)
	var fields, inits, parts strings.Builder
	var calls []string
	for i, w := range g.weights.Consts {
		n := len(w.Data) / w.DType.Size()
		from := ""
		if !w.From.IsEmpty() {
			from = " // " + w.From.Comment()
		}
		fmt.Fprintf(&fields, "%s []%s%s\n", g.fields[w.Const], goType(w.DType), from)
		load := fmt.Sprintf("elements[%s](weightData, %d, %d)", goType(w.DType), w.Offset, n)
		if len(g.weights.Consts) <= most {
			fmt.Fprintf(&inits, "%s: %s,\n", g.fields[w.Const], load)
			continue
		}
		if i%most == 0 {
			name := g.unit.scope.TakeAround(fmt.Sprintf("loadWeights%d", len(calls)+2))
			calls = append(calls, name+"(w)\n")
			fmt.Fprintf(&parts, "\n// %s is a part of loadWeights.\nfunc %s(w *weights) {\n", name,
				name)
		}
		fmt.Fprintf(&parts, "w.%s = %s\n", g.fields[w.Const], load)
		if i%most == most-1 || i == len(g.weights.Consts)-1 {
			parts.WriteString("}\n")
		}
	}
	body := "return &weights{\n" + inits.String() + "}\n"
	if calls != nil {
		body = "w := &weights{}\n" + strings.Join(calls, "") + "return w\n"
	}
	text := fmt.Sprintf(`// weightData is the constants one after the other, little-endian.
//
//go:embed weights.bin
var weightData string

// weights are the constants of the model.
type weights struct {
%s}

// loadWeights returns the weights, which all models share.
var loadWeights = sync.OnceValue(func() *weights {
%s})
%s`, fields.String(), body, parts.String())
	// An embedded file needs package embed imported, for its effect alone.
	return []byte(strings.Replace(string(g.unit.file(g.header(), text)),
		"import \"sync\"\n",
		"import (\n\t_ \"embed\"\n\t\"sync\"\n)\n", 1))
}
