package c

import (
	"fmt"
	"math"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/lower/native"
)

// portMacro is a macro that tells a caller how much memory a tensor takes.
type portMacro struct {
	name, value string
}

// portMacros names the macros of m's tensors, so that a caller who allocates by
// them has room for every call.
func (g *gen) portMacros(m *method) {
	m.bytes = map[*native.Buffer]string{}
	prefix := g.upper + "_"
	if len(g.p.Methods) > 1 {
		prefix = strings.ToUpper(m.name) + "_"
	}
	ports := func(ports []native.Port, names []string) {
		for i, p := range ports {
			if p.Buf == nil || names[i] == "" || p.Buf.MaxLen < 0 {
				continue
			}
			base := prefix + strings.ToUpper(names[i])
			bytes := base + "_BYTES"
			for axis, s := range p.Type.Sizes {
				if _, known := s.Const(); known {
					continue
				}
				bytes = base + "_MAX_BYTES"
				if _, most := s.Bounds(); most != math.MaxInt64 {
					m.macros = append(m.macros,
						portMacro{g.names.TakeAround(fmt.Sprintf("%s_DIM%d_MAX", base, axis)),
							fmt.Sprint(most)})
				}
			}
			m.bytes[p.Buf] = g.names.TakeAround(bytes)
			m.macros = append(m.macros, portMacro{m.bytes[p.Buf],
				fmt.Sprintf("%du", codegen.MaxBytes(p.Buf))})
		}
	}
	ports(m.Inputs, m.in)
	ports(m.Outputs, m.out)
}

// printMacros defines what portMacros named.
func (g *gen) printMacros(w *writer, m *method) {
	if len(m.macros) == 0 {
		return
	}
	w.blank()
	w.raw(fmt.Sprintf("/* What the tensors of %s take, at most where sizes are dynamic. */",
		m.name))
	for _, x := range m.macros {
		w.raw("#define " + x.name + " " + x.value)
	}
}

// room says how many bytes a tensor of dynamic size may need; "" for others.
func (m *method) room(p native.Port) string {
	if _, known := p.Buf.Len.Const(); known {
		return ""
	}
	switch name := m.bytes[p.Buf]; {
	case name == "":
		return ", without a bound"
	case m.words.Late(p.Buf.Len):
		return ", must have room for " + name
	default:
		return ", up to " + name
	}
}

// sizeName is what the caller knows a dynamic size as: a member of the sizes
// struct, or a parameter.
func (m *method) sizeName(output bool, d native.Dim) string {
	if d.Axis >= 0 {
		return m.fields[field{output, d.Port, d.Axis}]
	}
	if output {
		return m.out[d.Port]
	}
	return m.in[d.Port]
}

// numberText words what an integer that is passed by itself may be or will be.
func (m *method) numberText(output bool, port int, e sym.Expr) string {
	d := native.Dim{Port: port, Axis: -1, Size: e}
	if output {
		return ": " + m.words.Output(d)
	}
	return ": " + m.words.Input(d)
}
