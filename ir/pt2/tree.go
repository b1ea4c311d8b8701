package pt2

import (
	"strings"

	"github.com/etgen/etgen/ir"
)

// tree reads a treespec, a JSON text of the form [1, node], and checks that it
// has leaves leaves.
func (c *converter) tree(what, text string, leaves int) (*ir.Tree, error) {
	if text == "" {
		return nil, nil
	}
	s := &scanner{data: []byte(text)}
	var t *ir.Tree
	n, count := 0, 0
	s.array(func() {
		if n++; n == 2 {
			t = c.treeNode(s, &count)
		} else {
			s.skip()
		}
	})
	s.end()
	if s.err != nil {
		return nil, within(s.err, "%s", what)
	}
	if t == nil || count != leaves {
		return nil, problem("the calling convention (%s) has %d leaves, the signature %d", what,
			count, leaves)
	}
	return t, nil
}

func (c *converter) treeNode(s *scanner, leaves *int) *ir.Tree {
	t := &ir.Tree{}
	context := ""
	s.object(func(key string) {
		switch key {
		case "type":
			t.Type = s.str()
		case "context":
			if s.peek() == '"' {
				context = s.str()
			} else {
				s.skip()
			}
		case "children_spec":
			s.array(func() { t.Children = append(t.Children, c.treeNode(s, leaves)) })
		default:
			s.skip()
		}
	})
	if t.Type == "" {
		*leaves++
		return t
	}
	keys := treeKeys(context)
	switch {
	case t.Type == "collections.namedtuple":
		keys = c.wire.namedtuples[context]
	case !ir.IsDict(t.Type) && strings.HasPrefix(context, "[[") && len(keys) == 2:
		// A dataclass: the fields that are there, and those that are None.
		keys = treeKeys(keys[0])
	}
	if len(keys) == len(t.Children) {
		t.Keys = keys
	}
	return t
}

// treeKeys returns the keys in the context of a dict: a JSON list, or for a
// defaultdict an object that holds one. Keys that are no strings are returned
// as they are written.
func treeKeys(context string) (keys []string) {
	s := &scanner{data: []byte(context)}
	list := func() {
		s.array(func() {
			if s.peek() == '"' {
				keys = append(keys, s.str())
				return
			}
			start := s.pos
			s.skip()
			keys = append(keys, string(s.data[start:s.pos]))
		})
	}
	switch s.peek() {
	case '[':
		list()
	case '{':
		s.object(func(key string) {
			if key == "dict_context" && s.peek() == '[' {
				list()
			} else {
				s.skip()
			}
		})
	}
	return keys
}
