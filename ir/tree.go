package ir

import (
	"fmt"
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
	for _, s := range p {
		if s.Keyed {
			return true
		}
	}
	return false
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
