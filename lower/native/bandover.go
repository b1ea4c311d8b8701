package native

import (
	"slices"

	"github.com/etgen/etgen/ir/sym"
)

// What a chain makes may lie over the image it is made of: a row of results is
// stored where rows of the image stood that no band sees any more. The image begins
// so many elements behind the results that they never reach a row that is still to
// be read, at most a few rows; both are views of one buffer.

// over is such a chain's image and result.
type over struct {
	image, result *Buffer
	behind        int64 // elements, from the first of the results to the first of the image
}

// size is how many elements both take, if the image is the beginning of a buffer
// of so many.
func (o *over) size(buffer int64) int64 { return max(o.behind+buffer, o.result.MaxLen) }

// over returns how the results of bands lie over the image, or nil if they cannot.
// The image must not be in use later, nor the result before: that is the caller's
// to know.
func (p *bands) over() *over {
	first, last := &p.calls[0], &p.calls[len(p.calls)-1]
	o := &over{image: first.call.Args[1], result: last.call.Args[0]}
	for _, b := range []*Buffer{o.image, o.result} {
		if b.Root != nil || b.Storage != Arena {
			return nil
		}
	}
	if first.planes || o.image.DType != o.result.DType {
		return nil
	}
	row := o.image.MaxLen / first.window.In
	made := o.result.MaxLen / last.window.Out
	for i := range p.number {
		until := last.ends[i] * made // results there are after band i
		for j := range p.calls {
			c := &p.calls[j]
			at := i + 1 // the first band that reads while these results are there
			if j == len(p.calls)-1 {
				at = i
			}
			if at == p.number {
				continue
			}
			for k, a := range c.call.Args[1:] {
				read, _ := c.call.Kernel.Uses(k + 1)
				switch {
				case !read || Root(a) != o.image:
				case j == 0 && k == 0:
					o.behind = max(o.behind, until-max(0, p.first(0, at))*row)
				case a == o.image && c.moving[k+1]:
					o.behind = max(o.behind, until-p.done(j, at)*row)
				default:
					return nil
				}
			}
		}
	}
	const step = arenaAlign // elements, so that the image is aligned as a buffer is
	o.behind = (o.behind + step - 1) / step * step
	return o
}

// layOver gives images and results their places in common buffers, in all
// statements of a method. A result that is an image later is the beginning of a
// buffer that lies in a larger one.
func layOver(laid []*over, body []Stmt) {
	boths := make([]*Buffer, len(laid))
	unders := make([]*Buffer, len(laid)) // the image, or what it is the beginning of
	inside := map[*Buffer]*Buffer{}
	for i, o := range laid {
		unders[i] = o.image
		if b := inside[o.image]; b != nil {
			unders[i] = b
		}
		n := sym.Int(o.size(unders[i].MaxLen))
		boths[i] = &Buffer{Name: o.image.Name + "_" + o.result.Name, DType: o.image.DType,
			Sizes: []sym.Expr{n}, Len: n, MaxLen: bound(n)}
		inside[o.result] = boths[i]
	}
	moved := map[*Buffer]*Buffer{}
	for i, o := range slices.Backward(laid) { // what is around first
		both := boths[i]
		if around := moved[both]; around != nil {
			both = around
		}
		moved[unders[i]] = viewOf(both, unders[i].Name, unders[i].Sizes, sym.Int(o.behind))
		moved[o.result] = viewOf(both, o.result.Name, o.result.Sizes, sym.Expr{})
	}
	for _, s := range body {
		eachAccess(s, func(a access) {
			b := *a.buf
			if b.Root != nil && moved[b] == nil && moved[b.Root] != nil {
				moved[b] = viewAt(b, moved[b.Root], b.At)
			}
			if moved[b] != nil {
				*a.buf = moved[b]
			}
		})
	}
}

// cloned returns statements that can be changed without changing list.
func cloned(list []Stmt) []Stmt {
	out := slices.Clone(list)
	for i, s := range out {
		switch s := s.(type) {
		case *Call:
			c := *s
			c.Args = slices.Clone(s.Args)
			out[i] = &c
		case *Cond:
			c := *s
			c.Then, c.Else = cloned(s.Then), cloned(s.Else)
			out[i] = &c
		case *While:
			c := *s
			c.Head, c.Body = cloned(s.Head), cloned(s.Body)
			out[i] = &c
		case *For:
			c := *s
			c.Body = cloned(s.Body)
			out[i] = &c
		case *Let:
			c := *s
			c.Args = slices.Clone(s.Args)
			out[i] = &c
		case *Assert:
			c := *s
			c.Args = slices.Clone(s.Args)
			out[i] = &c
		}
	}
	return out
}
