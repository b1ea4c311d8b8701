package ir

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Step is one step from a container to what is in it.
type Step struct {
	Type  string // of the container
	Key   string // of a dict or named tuple
	Keyed bool
	Index int
}

// TreePath leads from the outermost container to a leaf.
type TreePath []Step

// Leaves returns the paths of all leaves in order; nil for no tree.
func (t *Tree) Leaves() []TreePath {
	var list []TreePath
	var walk func(t *Tree, path TreePath)
	walk = func(t *Tree, path TreePath) {
		if t.Type == "" {
			list = append(list, append(TreePath(nil), path...))
			return
		}
		for i, c := range t.Children {
			s := Step{Type: t.Type, Index: i}
			if t.Keys != nil {
				s.Key, s.Keyed = t.Keys[i], true
			}
			walk(c, append(path, s))
		}
	}
	if t != nil {
		walk(t, nil)
	}
	return list
}

// Keyed reports whether a key is on the way.
func (p TreePath) Keyed() bool {
	return slices.ContainsFunc(p, func(s Step) bool { return s.Keyed })
}

// Name words the path as a name that begins with base unless a key comes first:
// ["logits"] is logits, [1]["loss"] is out1_loss for the base "out".
func (p TreePath) Name(base string) string {
	var parts []string
	for i, s := range p {
		switch {
		case s.Keyed:
			parts = append(parts, s.Key)
		case i == 0:
			parts = append(parts, base+strconv.Itoa(s.Index))
		default:
			parts = append(parts, strconv.Itoa(s.Index))
		}
	}
	return strings.Join(parts, "_")
}

// String is the path as Python writes it, e.g. ["aux"][0]: fields of named
// tuples and other classes with a point.
func (p TreePath) String() string {
	var b strings.Builder
	for _, s := range p {
		switch {
		case !s.Keyed:
			fmt.Fprintf(&b, "[%d]", s.Index)
		case IsDict(s.Type):
			fmt.Fprintf(&b, "[%q]", s.Key)
		default:
			b.WriteString("." + s.Key)
		}
	}
	return b.String()
}

// IsDict reports whether a container type of PyTorch's is a dict.
func IsDict(t string) bool {
	return t == "builtins.dict" || t == "collections.OrderedDict" || t == "collections.defaultdict"
}

// treeSpec is a container in a treespec, a leaf if it has no type.
type treeSpec struct {
	Type     string          `json:"type"`
	Context  json.RawMessage `json:"context"`
	Children []*treeSpec     `json:"children_spec"`
}

// MaxTree is how deep containers may be nested.
const MaxTree = 100

// ReadTree reads PyTorch's description of containers, a JSON text of the form [1, node].
// Named are the fields of named tuples.
func ReadTree(text string, named map[string][]string) (*Tree, error) {
	var parts []json.RawMessage
	if err := json.Unmarshal([]byte(text), &parts); err != nil {
		return nil, err
	}
	if len(parts) != 2 {
		return nil, fmt.Errorf("%d parts, want a version and a tree", len(parts))
	}
	var root *treeSpec
	if err := json.Unmarshal(parts[1], &root); err != nil {
		return nil, err
	}
	return root.tree(named, 0)
}

func (n *treeSpec) tree(named map[string][]string, depth int) (*Tree, error) {
	switch {
	case n == nil:
		return nil, errors.New("a container is missing")
	case depth > MaxTree:
		return nil, fmt.Errorf("containers are nested more than %d deep", MaxTree)
	case n.Type == "":
		return &Tree{}, nil
	}
	t := &Tree{Type: n.Type}
	for _, c := range n.Children {
		child, err := c.tree(named, depth+1)
		if err != nil {
			return nil, err
		}
		t.Children = append(t.Children, child)
	}
	var context string
	_ = json.Unmarshal(n.Context, &context) // else it is null, or of no container that has keys
	keys := treeKeys(context)
	switch {
	case t.Type == "collections.namedtuple":
		keys = named[context]
	case !IsDict(t.Type) && strings.HasPrefix(context, "[[") && len(keys) == 2:
		// A dataclass: the fields that are there, and those that are None.
		keys = treeKeys(keys[0])
	}
	if len(keys) == len(t.Children) {
		t.Keys = keys
	}
	return t, nil
}

// treeKeys returns the keys in the context of a dict: a JSON list, or for a
// defaultdict an object that holds one. Keys that are no strings are returned
// as they are written.
func treeKeys(context string) []string {
	var list []json.RawMessage
	if json.Unmarshal([]byte(context), &list) != nil {
		var dict struct {
			Keys []json.RawMessage `json:"dict_context"`
		}
		if json.Unmarshal([]byte(context), &dict) != nil {
			return nil
		}
		list = dict.Keys
	}
	var keys []string
	for _, raw := range list {
		key := string(raw)
		if key[0] == '"' {
			_ = json.Unmarshal(raw, &key)
		}
		keys = append(keys, key)
	}
	return keys
}
