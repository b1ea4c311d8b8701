package loop

import (
	"fmt"
	"strings"
)

var roleNames = [...]string{In: "in", Out: "out", InOut: "inout", Scratch: "scratch"}

// String returns the role's name in dumps.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("role(%d)", uint8(r))
}

// String returns a readable form for dumps. Buffers appear as %k in
// expressions, by number.
func (f *Func) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "func %s(", f.Name)
	for i, buf := range f.Bufs {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%%%d %s %s %s[%s]", i, buf.Name, buf.Role, buf.DType.Short(), buf.Len)
	}
	for _, s := range f.Syms {
		fmt.Fprintf(&b, "; %s", s.Name)
	}
	for i, v := range f.Scalars {
		fmt.Fprintf(&b, "; $%d %s %s", i, v.Name, v.DType.Short())
	}
	b.WriteString(") {\n")
	format(&b, f.Body, 1)
	b.WriteString("}\n")
	return b.String()
}

func format(b *strings.Builder, body []Stmt, depth int) {
	for _, s := range body {
		b.WriteString(strings.Repeat("\t", depth))
		switch s := s.(type) {
		case *For:
			fmt.Fprintf(b, "for %s < %s", s.Var.Name, s.Extent)
			if s.Strip {
				b.WriteString(" strip")
			}
			if s.Unroll {
				b.WriteString(" unroll")
			}
			formatBlock(b, s.Body, depth)
			b.WriteString("\n")
		case *While:
			fmt.Fprintf(b, "while %s", s.Cond)
			formatBlock(b, s.Body, depth)
			b.WriteString("\n")
		case *If:
			fmt.Fprintf(b, "if %s", s.Cond)
			formatBlock(b, s.Then, depth)
			if len(s.Else) > 0 {
				b.WriteString(" else")
				formatBlock(b, s.Else, depth)
			}
			b.WriteString("\n")
		case *Let:
			word := "let"
			if s.Mutable {
				word = "var"
			}
			fmt.Fprintf(b, "%s %s %s", word, s.Var.Name, s.Var.DType.Short())
			if s.Var.Len > 0 {
				fmt.Fprintf(b, "[%d]", s.Var.Len)
			}
			if s.Value != nil {
				fmt.Fprintf(b, " = %s", s.Value)
			}
			b.WriteString("\n")
		case *Assign:
			b.WriteString(s.Var.Name)
			if s.Var.Len > 0 {
				fmt.Fprintf(b, "[%s]", s.At)
			}
			fmt.Fprintf(b, " = %s\n", s.Value)
		case *LetIndex:
			fmt.Fprintf(b, "index %s = %s\n", s.Sym.Name, s.Value)
		case *Store:
			fmt.Fprintf(b, "%%%d[%s] = %s\n", s.Buf, s.At, s.Value)
		case *Break:
			b.WriteString("break\n")
		}
	}
}

func formatBlock(b *strings.Builder, body []Stmt, depth int) {
	b.WriteString(" {\n")
	format(b, body, depth+1)
	b.WriteString(strings.Repeat("\t", depth) + "}")
}
