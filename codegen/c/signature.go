package c

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/lower/native"
)

// port is a port with its name, "" if it is left out.
type port struct {
	codegen.Port
	name string
}

// method is a method with its C names.
type method struct {
	*native.Method
	name    string
	sizes   string // the type of its sizes, "" if it has none
	binding *native.Binding
	scope   *codegen.Scope // of the function: its parameters
	ports   []port
	fields  codegen.SizeNames // members of the struct of sizes
	words   *codegen.SizeWords
	macros  []portMacro
	rows    string                    // the macro of how many rows the input has that comes by rows
	bytes   map[*native.Buffer]string // macros of the bytes of ports
	state   bool
	arena   int64
	// functions counts those of its sections.
	functions int
}

const (
	sizesParam = "sizes"
	stateParam = "state"
)

// signatures names the methods and their parameters.
func (g *gen) signatures() {
	for _, nm := range g.p.Methods {
		word := nm.Name.Identifier()
		if nm.Rows != nil {
			word += "_rows"
		}
		binding := must.Get(native.Bind(nm))
		m := &method{
			Method: nm, binding: binding, name: g.names.Take(g.prefix + "_" + word),
			scope: codegen.NewScope(g.locals), arena: codegen.ArenaSize(nm),
		}
		m.scope.Reserve(sizesParam, stateParam, arenaParam, arenasParam, arenaBase, rowsParam)
		for _, b := range g.p.Banks {
			m.scope.Reserve(arenaBase + "_" + b.Name)
		}
		for _, p := range codegen.Ports(nm) {
			name := ""
			if isPassed(p, binding) {
				name = m.scope.Take(codegen.PortName(nm, p.Output, p.Index).Identifier())
			}
			m.ports = append(m.ports, port{p, name})
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
					if g.p.Banks == nil {
						m.arena = max(m.arena, 1)
					}
				}
			}
		})
		if len(m.fields) > 0 {
			m.sizes = g.names.Take(m.name + "_sizes")
		}
		g.methods = append(g.methods, m)
	}
}

// isPassed reports whether a port is a parameter: fixed inputs are none, nor are results
// that the compiler knows.
func isPassed(p codegen.Port, b *native.Binding) bool {
	switch {
	case p.Value != nil:
		return false
	case p.Buf != nil || p.Var != nil || p.Sym != nil && !p.Output:
		return true
	case p.Type.Kind != ir.IntKind:
		return false
	case !p.Output:
		return hasDim(b.In, p.Index)
	}
	_, known := p.Type.Expr.Const()
	return p.Type.HasExpr && !known
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
	for _, p := range m.ports {
		typ, elem := "int64_t", 8
		switch {
		case p.name == "":
			continue
		case p.Buf != nil:
			typ, elem = storageOf(p.Buf.DType).String(), p.Buf.DType.Size()
			if !p.Output && !p.Mutated {
				typ = "const " + typ
			}
		case p.Var != nil:
			typ, elem = typeOf(p.Var.DType).String(), max(1, p.Var.DType.Size())
		}
		if p.Buf != nil || p.Output {
			out = append(out, param{typ + " *" + p.name, p.name, elem})
			if m.Rows != nil && !p.Output {
				out = append(out, param{"uint32_t " + rowsParam, rowsParam, 0})
			}
		} else {
			out = append(out, param{typ + " " + p.name, p.name, 0})
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
		out = append(out, g.arenaParameter())
	}
	return out
}

// prototype returns the declaration of m without what ends it.
func (g *gen) prototype(m *method) string {
	decls := seq.Map(g.params(m), func(p param) string { return p.decl })
	if len(decls) == 0 {
		decls = []string{"void"}
	}
	return g.prefix + "_status " + m.name + "(" + strings.Join(decls, ", ") + ")"
}
