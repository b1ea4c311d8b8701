package native

import (
	"slices"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/schedule"
	"github.com/etgen/etgen/kernels/tuned"
)

// Divided reports whether threads share the kernel.
func (k *Kernel) Divided() bool {
	if k.Tuned != nil {
		return k.Tuned.Divided
	}
	return Shared(k.Loop.Body) != nil
}

// divide has threads share the loop kernels of m that are worth it.
func divide(m *Method, t tuned.Target) {
	if t.Threads < 2 {
		return
	}
	eachCall(m.Body, func(c *Call) {
		if c.Kernel.Loop == nil || c.Kernel.Copy ||
			loopTime*schedule.Work(c.Kernel.Loop) < t.DividedFrom || !ownable(c.Kernel.Loop) {
			return
		}
		f := schedule.Divide(c.Kernel.Loop, t.Threads)
		if f == nil || !staysApart(c, f) {
			return
		}
		k := *c.Kernel
		k.Loop, c.Kernel = f, &k
		for i, b := range f.Bufs {
			if b.Role == loop.Scratch {
				s := *c.Args[i]
				s.Len = sym.Int(OwnScratch(b) * int64(t.Threads))
				s.Sizes, s.MaxLen = []sym.Expr{s.Len}, bound(s.Len)
				c.Args[i] = &s
			}
		}
	})
}

// loopTime is how long an operation of a loop kernel takes, in multiply-accumulates
// of the best tuned kernels.
const loopTime = 20

// ownable reports whether the scratch memory of f is of known size.
func ownable(f *loop.Func) bool {
	return !slices.ContainsFunc(f.Bufs, func(b loop.Buf) bool {
		_, known := b.Len.Const()
		return b.Role == loop.Scratch && !known
	})
}

// line is the bytes of a line of the cache.
const line = 64

// OwnScratch returns how many elements after the scratch memory of a thread that of
// the next begins: so many that they have no line of the cache in common.
func OwnScratch(b loop.Buf) int64 {
	n, _ := b.Len.Const()
	size := int64(b.DType.Size())
	return ((n*size+line-1)/line + 1) * line / size
}

// Shared returns the numbers of iterations of the loops in body that threads share.
func Shared(body []loop.Stmt) (all []sym.Expr) {
	loop.Walk(body, func(st loop.Stmt) {
		l, ok := st.(*loop.For)
		if ok && l.Divided && !slices.ContainsFunc(all, l.Extent.Equal) {
			all = append(all, l.Extent)
		}
	})
	return all
}

// staysApart reports whether threads may share f where results of c already lie
// over its operands.
func staysApart(c *Call, f *loop.Func) bool {
	for i, out := range f.Bufs {
		for j := range f.Bufs {
			if i != j && out.Role != loop.In && overlap(c.Args[i], c.Args[j]) &&
				!schedule.InPlace(f, i, j) {
				return false
			}
		}
	}
	return true
}
