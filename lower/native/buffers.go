package native

import (
	"fmt"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
)

// collectBuffers lists the buffers of m in order of first use, with names that
// are unique in the method.
func collectBuffers(m *Method) error {
	c := &collector{m: m, seen: map[*Buffer]bool{}, names: newTaken("arena", "state", "sizes")}
	for _, ports := range [][]Port{m.Inputs, m.Outputs} {
		for i := range ports {
			name := c.names.unique(ports[i].Name.Identifier())
			ports[i].Name = foreign.Of(name)
			if b := ports[i].Buf; b != nil {
				c.seen[b] = true
				b.Name = name
				m.Buffers = append(m.Buffers, b)
			}
		}
	}
	for _, s := range m.Body {
		eachAccess(s, func(a access) { c.add(*a.buf, s) })
	}
	return c.err
}

type collector struct {
	m     *Method
	seen  map[*Buffer]bool
	names *taken
	err   error
}

// add adds a buffer that s reads or writes.
func (c *collector) add(b *Buffer, s Stmt) {
	if c.seen[b] {
		return
	}
	c.seen[b] = true
	if b.Root != nil {
		c.add(b.Root, s)
	}
	if b.Root != nil || b.Storage != State && b.Storage != Weight {
		b.Name = c.names.unique(identifier(b.Name))
	}
	if b.Storage == Arena && b.MaxLen < 0 && c.err == nil {
		c.err = fmt.Errorf("memory for %s elements is needed, which have no upper bound: %s", b.Len,
			ir.WantBound(b.Len))
		if from := c.origins(s, b); len(from) > 0 {
			o := from[0]
			c.err = &ir.Error{Node: o.Node.Raw(), Op: o.Op.Raw(), Loc: o.Loc.graph(), Err: c.err}
		}
	}
	c.m.Buffers = append(c.m.Buffers, b)
}

// origins returns the nodes that s came from; of a copy to b that stands for none of
// its own, the first that uses b or what is copied.
func (c *collector) origins(s Stmt, b *Buffer) []Origin {
	roots := []*Buffer{Root(b)}
	eachAccess(s, func(a access) { roots = append(roots, Root(*a.buf)) })
	from := originsOf(s)
	for _, root := range roots {
		for _, x := range c.m.Body {
			if len(from) == 0 && touches(x, root) {
				from = originsOf(x)
			}
		}
	}
	return from
}

// originsOf returns the nodes that s came from.
func originsOf(s Stmt) []Origin {
	switch s := s.(type) {
	case *Call:
		return s.From
	case *Cond:
		return s.From
	case *While:
		return s.From
	case *For:
		return s.From
	case *Let:
		return s.From
	case *Assert:
		return s.From
	}
	return nil
}
