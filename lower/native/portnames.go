package native

import (
	"fmt"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
)

// outputNames returns what the user outputs of m are called and where they stand
// in what it returns. Keys of dicts and fields of classes are kept; others are
// called by their number.
func (b *builder) outputNames(m *ir.Method) (names, paths []foreign.Text) {
	leaves := m.Out.Leaves()
	n := 0
	for _, out := range m.Outputs {
		if out.Kind == ir.UserOutput {
			n++
		}
	}
	for i := range n {
		name, path := fmt.Sprintf("out%d", i), ""
		if len(leaves) == n && leaves[i].Keyed() {
			name, path = identifier(leaves[i].Name("out")), leaves[i].String()
			// Parameters and results stand in one scope, in which inputs come first.
			taken := slices.ContainsFunc(b.m.Inputs, func(p Port) bool {
				return p.Name.Identifier() == name
			})
			if taken || reservedPort(name) || name[0] == '_' {
				name = "out_" + name
			}
		}
		names, paths = append(names, foreign.Of(name)), append(paths, foreign.Of(path))
	}
	return names, paths
}

// inputPaths returns where the arguments of m that are inside dicts or classes
// stand among args and kwargs; "" for those that are arguments themselves, whose
// names say it.
func inputPaths(m *ir.Method) []foreign.Text {
	leaves := m.In.Leaves()
	var paths []foreign.Text
	for _, in := range m.Inputs {
		switch in.Kind {
		case ir.UserInput, ir.ConstantInput:
			paths = append(paths, foreign.Text{})
		}
	}
	if len(leaves) != len(paths) {
		return paths
	}
	for i, leaf := range leaves {
		// The outermost steps are the pair of args and kwargs and the argument.
		if len(leaf) > 2 && leaf[2:].Keyed() {
			paths[i] = foreign.Of([...]string{"args", "kwargs"}[min(leaf[0].Index, 1)] +
				leaf[1:].String())
		}
	}
	return paths
}

// reservedPort reports whether a name stands for a parameter that functions have
// besides ports.
func reservedPort(name string) bool {
	return name == "arena" || name == "state" || name == "sizes"
}
