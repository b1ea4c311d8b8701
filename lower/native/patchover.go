package native

import (
	"cmp"

	"github.com/etgen/etgen/ir/sym"
)

// What a chain makes may lie over the image it is made of: a row of results is
// stored where rows of the image stood that no patch sees any more. The image begins
// so many elements behind the results that they never reach a row that is still to
// be read, at most a few rows. Patches that go from the last row to the first have it so
// far before the results: in a run of calls that go there and back, it takes only the
// most of these rows once. All are views of one buffer.

// over is such a chain's image and result.
type over struct {
	image, result *Buffer
	behind        int64 // elements, from the first of the results to the first of the image
	whole         bool  // one call makes all of it, and they are alike
}

// over returns how the results of patches lie over the image, or nil if they cannot.
// The image must not be in use later, nor the result before: that is the caller's
// to know.
func (p *patches) over() *over {
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
	before := int64(0) // from the first of the image to the first of the results, backwards
	for i := range p.number {
		until := last.ends[i] * made // results there are after patch i
		for j := range p.calls {
			c := &p.calls[j]
			at := i + 1 // the first patch that reads while these results are there
			if j == len(p.calls)-1 {
				at = i
			}
			if at == p.number {
				continue
			}
			for k, a := range c.call.Args[1:] {
				read, _ := c.call.Kernel.Uses(k + 1)
				var from, to int64 // rows that it reads
				switch {
				case !read || Root(a) != o.image:
					continue
				case j == 0 && k == 0:
					from = max(0, p.first(0, at))
					to = from + p.rows(0, at).In
				case a == o.image && c.moving[k+1]:
					from, to = p.done(j, at), c.ends[at]
				default:
					return nil
				}
				o.behind = max(o.behind, until-from*row)
				before = max(before, to*row-p.done(j, i)*made)
			}
		}
	}
	if p.backwards {
		o.behind = before
	}
	const step = arenaAlign // elements, so that the image is aligned as a buffer is
	o.behind = (o.behind + step - 1) / step * step
	if p.backwards {
		o.behind = -o.behind
	}
	return o
}

// overlay is what takes the place of buffers.
type overlay map[*Buffer]*Buffer

// of returns what takes the place of b.
func (o overlay) of(b *Buffer) *Buffer {
	if b.Root != nil && o[b] == nil && o[b.Root] != nil {
		o[b] = viewAt(b, o[b.Root], b.At)
	}
	return cmp.Or(o[b], b)
}

// layer is a buffer in which results lie over images: elements from low to high, the first image
// beginning with 0.
type layer struct {
	name      string
	low, high int64
}

// layOver gives images and results their places in common buffers. A result may be an image
// later.
func layOver(laid []*over) overlay {
	layers, at := map[*Buffer]*layer{}, map[*Buffer]int64{}
	put := func(b *Buffer, l *layer, from int64) {
		layers[b], at[b] = l, from
		l.low, l.high = min(l.low, from), max(l.high, from+b.MaxLen)
	}
	for _, o := range laid {
		if layers[o.image] == nil {
			put(o.image, &layer{}, 0)
		}
		l := layers[o.image]
		l.name = o.image.Name + "_" + o.result.Name
		put(o.result, l, at[o.image]-o.behind)
	}
	moved, made := overlay{}, map[*layer]*Buffer{}
	for _, o := range laid {
		l := layers[o.image]
		if made[l] == nil {
			made[l] = dense(l.name, o.image.DType, sym.Int(l.high-l.low))
		}
		for _, b := range []*Buffer{o.image, o.result} {
			moved[b] = cmp.Or(moved[b], viewOf(made[l], b.Name, b.Sizes, sym.Int(at[b]-l.low)))
		}
		if o.whole {
			moved[o.result] = moved[o.image]
		}
	}
	return moved
}
