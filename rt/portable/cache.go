package portable

import (
	"fmt"
	"strings"
	"sync"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/ops"
)

// maxPrograms bounds what a cache holds; when it is full it is emptied.
const maxPrograms = 1024

// cache has the programs of a registry: models repeat the same calls, and
// methods load again.
type cache struct {
	mu       sync.Mutex
	programs map[string]*program
}

// known returns the program of a call, or of some of its results, if an equal one
// was compiled before, else nil.
func (c *cache) known(key string) *program {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.programs[key]
}

func (c *cache) add(key string, p *program) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.programs) >= maxPrograms {
		clear(c.programs)
	}
	c.programs[key] = p
}

// loops returns the loops of a call, or of some of its results, which make makes
// if they are not known.
func (k *kernel) loops(c *ops.Call, only []int, o interp.Orders,
	make func() (*loop.Func, error)) *loops {
	if l := k.knownLoops(c, only, o); l != nil {
		return l
	}
	p := newProgram(must.Get(make()))
	k.cache.add(key(c, only, o), p)
	return p.loops(k.reserve)
}

// knownLoops returns nil if the loops are not known.
func (k *kernel) knownLoops(c *ops.Call, only []int, o interp.Orders) *loops {
	if c.Op.Random {
		return nil
	}
	p := k.cache.known(key(c, only, o))
	if p == nil {
		return nil
	}
	return p.loops(k.reserve)
}

// key is equal for calls that have the same loops.
func key(call *ops.Call, only []int, o interp.Orders) string {
	var b strings.Builder
	b.WriteString(call.Op.Name())
	for _, a := range call.Args {
		b.WriteByte(' ')
		argKey(&b, a)
	}
	for _, t := range call.Outs {
		fmt.Fprintf(&b, " %v%v", t.DType, t.Sizes)
	}
	fmt.Fprintf(&b, " %v %v %v", only, o.Outs, o.Operands)
	return b.String()
}

func argKey(b *strings.Builder, a ir.Arg) {
	switch a := a.(type) {
	case ir.Ref:
		t := a.Value.Type
		fmt.Fprintf(b, "%v%v%v%v", t.DType, t.Sizes, t.Strides, t.Offset)
	case ir.List:
		b.WriteByte('[')
		for _, x := range a {
			argKey(b, x)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case ir.Float:
		fmt.Fprintf(b, "%x", float64(a))
	default:
		fmt.Fprintf(b, "%T%v", a, a)
	}
}
