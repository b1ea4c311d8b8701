package raise

import (
	"encoding/json"

	"github.com/etgen/etgen/ir"
)

// treeSpec is a node of PyTorch's description of containers.
type treeSpec struct {
	Type     *string     `json:"type"`
	Context  any         `json:"context"`
	Children []*treeSpec `json:"children_spec"`
}

// maxTree bounds how deep containers nest.
const maxTree = 100

// parseTree reads [1, node]; nil is what is none.
func parseTree(text string) *ir.Tree {
	var parts []json.RawMessage
	if json.Unmarshal([]byte(text), &parts) != nil || len(parts) != 2 {
		return nil
	}
	var node *treeSpec
	if json.Unmarshal(parts[1], &node) != nil {
		return nil
	}
	return node.tree(0)
}

func (n *treeSpec) tree(depth int) *ir.Tree {
	switch {
	case n == nil || depth > maxTree:
		return nil
	case n.Type == nil || *n.Type == "":
		return &ir.Tree{}
	}
	t := &ir.Tree{Type: *n.Type}
	for _, c := range n.Children {
		child := c.tree(depth + 1)
		if child == nil {
			return nil
		}
		t.Children = append(t.Children, child)
	}
	if text, ok := n.Context.(string); ok {
		var keys []any
		if json.Unmarshal([]byte(text), &keys) == nil && len(keys) == len(t.Children) {
			for _, k := range keys {
				name, ok := k.(string)
				if !ok {
					t.Keys = nil
					break
				}
				t.Keys = append(t.Keys, name)
			}
		}
	}
	return t
}
