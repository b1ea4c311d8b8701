package golang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/lower/native"
)

// doc is the method's documentation.
func (p *methodPrinter) doc() string {
	var b strings.Builder
	fmt.Fprintf(&b, "// %s runs the model's method %s.\n//\n", p.name, p.m.Name.Comment())
	var halves []ir.DType
	row := func(name string, out bool, i int, port native.Port, notes ...string) {
		text := codegen.TypeText(port.Type, p.dimText(out, i, port.Type.Sizes))
		if !port.Path.IsEmpty() {
			notes = append([]string{port.Path.Comment()}, notes...)
		}
		if port.Buf != nil && isHalf(port.Buf.DType) && !slices.Contains(halves, port.Buf.DType) {
			halves = append(halves, port.Buf.DType)
		}
		if len(notes) > 0 {
			text += " (" + strings.Join(notes, "; ") + ")"
		}
		fmt.Fprintf(&b, "//   - %s: %s\n", name, text)
	}
	for i, port := range p.m.Inputs {
		switch {
		case port.Buf != nil:
			var notes []string
			if port.Mutated {
				notes = append(notes, "updated in place")
			}
			row(strings.TrimSuffix(p.ports[port.Buf], "[:]"), false, i, port, notes...)
		case port.Value == nil && numberType(port) != "":
			var notes []string
			if port.Type.Kind == ir.IntKind && port.Type.HasExpr {
				notes = append(notes, p.words.Input(native.Dim{Port: i, Axis: -1,
					Size: port.Type.Expr}))
			}
			row(p.numbers[i], false, i, port, notes...)
		}
	}
	for i, port := range p.m.Outputs {
		switch {
		case port.Buf != nil:
			notes := []string{"written"}
			if p.late[port.Buf] {
				notes = append(notes, fmt.Sprintf("must have room for %d elements",
					port.Buf.MaxLen))
			}
			row(strings.TrimSuffix(p.ports[port.Buf], "[:]"), true, i, port, notes...)
		case numberType(port) != "":
			var notes []string
			if port.Value == nil && port.Type.Kind == ir.IntKind && port.Type.HasExpr {
				notes = append(notes, p.words.Output(native.Dim{Port: i, Axis: -1,
					Size: port.Type.Expr}))
			}
			row("result", true, i, port, notes...)
		}
	}
	b.WriteString("//\n")
	notes := "Tensors are row-major and must not overlap."
	for _, d := range halves {
		if p.g.internal {
			break
		}
		notes += fmt.Sprintf(" Elements of %s are given by their bits: %s and %s convert.", d,
			p.halfFunc(d, true), p.halfFunc(d, false))
	}
	for _, text := range []string{codegen.Requirements(p.m, p.words), codegen.ClampText(p.m)} {
		if text != "" {
			notes += " " + text
		}
	}
	if !p.fails {
		notes += " The error is always nil."
	}
	b.WriteString(comment(notes))
	return b.String()
}

// halfFunc makes an exported function of the conversion between d and float32.
func (p *methodPrinter) halfFunc(d ir.DType, to bool) string {
	short, long := halfName(d), pascal(d.String())
	internal, public := "F32To"+short, long+"FromFloat32"
	if to {
		internal, public = short+"ToF32", long+"ToFloat32"
	}
	p.unit.helpers[internal] = public
	return public
}
