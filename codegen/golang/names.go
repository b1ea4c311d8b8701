package golang

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"
	"unicode"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
)

// camel makes s, in any style, an unexported Go identifier: "conv2d_relu" gives
// "conv2dRelu".
func camel(s string) string {
	var b strings.Builder
	up := false
	for _, r := range s {
		switch {
		case r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r):
			up = b.Len() > 0
			continue
		case b.Len() == 0 && unicode.IsDigit(r):
			b.WriteByte('v')
		case b.Len() == 0:
			r = unicode.ToLower(r)
		case up:
			r = unicode.ToUpper(r)
		}
		up = false
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		return "v"
	}
	return b.String()
}

// pascal is camel with an upper-case first letter, an exported identifier.
func pascal(s string) string {
	s = camel(s)
	return strings.ToUpper(s[:1]) + s[1:]
}

// SizeField returns the field of a method's Sizes struct that has a dimension of
// a port.
func SizeField(port foreign.Text, axis int) string {
	return fmt.Sprintf("%sDim%d", pascal(port.Identifier()), axis)
}

// newScope returns the scope of package-level names. Keywords and predeclared
// identifiers are never free in it, nor are the packages the output imports.
func newScope() *codegen.Scope {
	s := codegen.NewScope(nil)
	s.Reserve(types.Universe.Names()...)
	for t := token.BREAK; t <= token.VAR; t++ {
		s.Reserve(t.String())
	}
	for name := range packages {
		s.Reserve(name)
	}
	s.Reserve("init", "main", "_")
	return s
}

// packageName makes a Go package name of s: lower-case letters and digits.
func packageName(s string) string {
	name := strings.ToLower(camel(s))
	if reserved := newScope(); reserved.Has(name) || codegen.IsDevice(name) ||
		name == "kernels" || name == "memory" || name == "support" || name == "threads" ||
		name == "weights" {
		name += "model"
	}
	return name
}

// ElementType returns the Go type that methods take elements of dtype d as. It
// must be one that Go output has.
func ElementType(d ir.DType) string { return goType(d) }

// goType returns the Go type of elements of dtype d. Float16 and BFloat16 are
// held by their bits.
func goType(d ir.DType) string {
	switch d {
	case ir.Bool, ir.Uint8, ir.Int8, ir.Int16, ir.Int32, ir.Int64, ir.Uint16, ir.Uint32, ir.Uint64,
		ir.Float32, ir.Float64:
		return d.String()
	case ir.Float16, ir.BFloat16:
		return "uint16"
	}
	must.Fail("Go output has no elements of dtype %s", d)
	return ""
}
