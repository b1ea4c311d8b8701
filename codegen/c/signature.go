package c

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/lower/native"
)

// method is a method with its C names.
type method struct {
	*native.Method
	name    string
	sizes   string // the type of its sizes, "" if it has none
	binding *native.Binding
	scope   *codegen.Scope    // of the function: its parameters
	in, out []string          // names of the ports, "" for those left out
	fields  codegen.SizeNames // members of the struct of sizes
	words   *codegen.SizeWords
	macros  []portMacro
	bytes   map[*native.Buffer]string // macros of the bytes of ports
	state   bool
	arena   int64
	// functions counts those of its sections.
	functions int
}

const (
	sizesParam = "sizes"
	stateParam = "state"
	arenaParam = "arena"
	arenaBase  = "mem" // the arena as bytes
)

// signatures names the methods and their parameters.
func (g *gen) signatures() {
	for _, nm := range g.p.Methods {
		binding := must.Get(native.Bind(nm))
		m := &method{
			Method: nm, binding: binding, name: g.names.Take(g.prefix + "_" + nm.Name.Identifier()),
			scope: codegen.NewScope(g.locals), arena: codegen.ArenaSize(nm),
		}
		m.scope.Reserve(sizesParam, stateParam, arenaParam, arenaBase)
		for i, p := range nm.Inputs {
			name := ""
			if isArgument(p) || p.Value == nil && p.Type.Kind == ir.IntKind &&
				hasDim(binding.In, i) {
				name = m.scope.Take(p.Name.Identifier())
			}
			m.in = append(m.in, name)
		}
		for i, p := range nm.Outputs {
			name := ""
			if isResult(p) {
				name = m.scope.Take(codegen.OutputName(nm, i).Identifier())
			}
			m.out = append(m.out, name)
		}
		m.fields = codegen.NameSizes(nm, binding, codegen.NewScope(g.names),
			func(port foreign.Text, axis int) string {
				return fmt.Sprintf("%s_dim%d", port.Identifier(), axis)
			})
		m.words = codegen.NewSizeWords(binding, m.sizeName)
		g.portMacros(m)
		codegen.Walk(nm.Body, func(s native.Stmt) {
			for _, b := range native.Operands(s) {
				switch native.Root(b).Storage {
				case native.State:
					m.state = true
				case native.Arena: // buffers without elements have a place too
					m.arena = max(m.arena, 1)
				}
			}
		})
		if len(m.fields) > 0 {
			m.sizes = g.names.Take(m.name + "_sizes")
		}
		g.methods = append(g.methods, m)
	}
}

// isArgument reports whether an input is passed; fixed ones are not.
func isArgument(p native.Port) bool {
	return p.Value == nil && (p.Buf != nil || p.Sym != nil || p.Var != nil)
}

// isResult reports whether an output is passed; numbers known to the compiler
// are not.
func isResult(p native.Port) bool {
	if p.Value != nil {
		return false
	}
	_, known := p.Type.Expr.Const()
	return p.Buf != nil || p.Var != nil || p.Type.Kind == ir.IntKind && p.Type.HasExpr && !known
}

func hasDim(dims []native.Dim, port int) bool {
	for _, d := range dims {
		if _, known := d.Size.Const(); d.Port == port && !known {
			return true
		}
	}
	return false
}

// param is a parameter of a method.
type param struct {
	decl string // "const float *x"
	name string
	elem int // of pointers: bytes of an element, for alignment; else 0
}

// params returns the parameters of m in order: inputs, outputs, sizes, state,
// arena.
func (g *gen) params(m *method) []param {
	var out []param
	for i, p := range m.Inputs {
		switch name := m.in[i]; {
		case name == "":
		case p.Buf != nil:
			constant := "const "
			if p.Mutated {
				constant = ""
			}
			out = append(out, pointer(constant, p.Buf.DType, name))
		case p.Var != nil:
			out = append(out, param{decl: typeOf(p.Var.DType).String() + " " + name, name: name})
		default:
			out = append(out, param{decl: "int64_t " + name, name: name})
		}
	}
	for i, p := range m.Outputs {
		switch name := m.out[i]; {
		case name == "":
		case p.Buf != nil:
			out = append(out, pointer("", p.Buf.DType, name))
		case p.Var != nil:
			out = append(out, param{decl: typeOf(p.Var.DType).String() + " *" + name, name: name,
				elem: max(1, p.Var.DType.Size())})
		default:
			out = append(out, param{decl: "int64_t *" + name, name: name, elem: 8})
		}
	}
	if len(m.fields) > 0 {
		out = append(out, param{decl: m.sizes + " *" + sizesParam, name: sizesParam,
			elem: g.idx.bits() / 8})
	}
	if m.state {
		out = append(out, param{decl: g.prefix + "_state *" + stateParam, name: stateParam,
			elem: g.stateAlign()})
	}
	if m.arena > 0 {
		out = append(out, param{decl: "void *" + arenaParam, name: arenaParam})
	}
	return out
}

func pointer(constant string, d ir.DType, name string) param {
	return param{decl: constant + storageOf(d).String() + " *" + name, name: name, elem: d.Size()}
}

// prototype returns the declaration of m without what ends it.
func (g *gen) prototype(m *method) string {
	var decls []string
	for _, p := range g.params(m) {
		decls = append(decls, p.decl)
	}
	if decls == nil {
		decls = []string{"void"}
	}
	return g.prefix + "_status " + m.name + "(" + strings.Join(decls, ", ") + ")"
}
