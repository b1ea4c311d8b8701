package pte

import (
	"encoding/json"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
)

// container returns how the inputs and outputs of m nest, nil if the model does
// not say.
func container(m *ir.Method) *pte.ContainerMeta {
	if m.In == nil && m.Out == nil {
		return nil
	}
	return &pte.ContainerMeta{Input: treeSpec(m.In), Output: treeSpec(m.Out)}
}

// treeSpec returns t as PyTorch writes a TreeSpec: the version of the form and
// the tree, in which a leaf has no type.
func treeSpec(t *ir.Tree) string {
	if t == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("[1, ")
	writeTree(&b, t)
	b.WriteString("]")
	return b.String()
}

func writeTree(b *strings.Builder, t *ir.Tree) {
	kind, context := "null", "null"
	if t.Type != "" {
		var keyed bool
		kind, keyed = containerType(t)
		kind, context = quote(kind), quote("null")
		if keyed {
			keys := make([]string, len(t.Keys))
			for i, k := range t.Keys {
				keys[i] = quote(k)
			}
			context = quote("[" + strings.Join(keys, ", ") + "]")
		}
	}
	b.WriteString(`{"type": ` + kind + `, "context": ` + context + `, "children_spec": [`)
	for i, c := range t.Children {
		if i > 0 {
			b.WriteString(", ")
		}
		writeTree(b, c)
	}
	b.WriteString("]}")
}

// containerType returns the type that t is written as and whether the names of
// its children go with it. Types of the model's own, which a reader would have
// to have, become plain ones that nest in the same way.
func containerType(t *ir.Tree) (name string, keyed bool) {
	switch {
	case t.Type == "builtins.tuple" || t.Type == "builtins.list":
		return t.Type, false
	case t.Type == "collections.defaultdict":
		return "builtins.dict", true
	case ir.IsDict(t.Type):
		return t.Type, true
	}
	return "builtins.tuple", false
}

// quote returns s as a JSON string.
func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return `""` // no string fails
	}
	return string(text)
}
