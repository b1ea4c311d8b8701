package codegen

import (
	"slices"

	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/lower/native"
)

// Alone is p with the method m and what that uses: see Options.Separate.
func Alone(p *native.Program, m *native.Method) *native.Program {
	part, own := *p, *m
	own.Name = foreign.Of("forward")
	part.Methods, part.Kernels, part.State, part.Delegates = []*native.Method{&own}, nil, nil, nil
	called, read := map[*native.Kernel]bool{}, map[*native.Buffer]bool{}
	uses := func(m *native.Method, kernel func(*native.Kernel), root func(*native.Buffer)) {
		Walk(m.Body, func(s native.Stmt) {
			if c, ok := s.(*native.Call); ok {
				kernel(c.Kernel)
			}
			for _, b := range native.Operands(s) {
				root(native.Root(b))
			}
		})
	}
	uses(m, func(k *native.Kernel) { called[k] = true }, func(b *native.Buffer) { read[b] = true })
	for _, k := range p.Kernels {
		if called[k] {
			part.Kernels = append(part.Kernels, k)
			for _, d := range p.DelegatesOf(k) {
				if !slices.Contains(part.Delegates, d) {
					part.Delegates = append(part.Delegates, d)
				}
			}
		}
	}
	for _, b := range p.State {
		if read[b] {
			part.State = append(part.State, b)
		}
	}
	for _, other := range p.Methods {
		if other == m {
			continue
		}
		uses(other, func(*native.Kernel) {}, func(b *native.Buffer) {
			if read[b] && b.Storage == native.State {
				must.Fail("the models %s and %s share state, which separate ones do not",
					m.Name.String(), other.Name.String())
			}
		})
	}
	return &part
}
