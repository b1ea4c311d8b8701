// Package panels packs constant matrices for kernels that read them a panel of
// columns at a time. Compilers pack when they know the constants, programs that
// load them when they do.
package panels

// Shape says which elements of a constant go where: the packed matrices are
// [Groups][ceil(N/Cols)][A][B][C][Cols], zero where there is no column. Column n of
// group g is the elements g·Group + n·Column + a·StepA + b·StepB + c·StepC of
// the constant.
type Shape struct {
	Groups, N, A, B, C, Cols           int
	Group, Column, StepA, StepB, StepC int
}

// Len returns how many elements the packed matrices have.
func (s Shape) Len() int { return s.Groups * ((s.N + s.Cols - 1) / s.Cols) * s.A * s.B * s.C * s.Cols }

// Pack returns the matrices of constant w packed.
func Pack[T any](s Shape, w []T) []T {
	out := make([]T, s.Len())
	at := 0
	for g := range s.Groups {
		for first := 0; first < s.N; first += s.Cols {
			count := min(s.Cols, s.N-first)
			for a := range s.A {
				for b := range s.B {
					from := g*s.Group + first*s.Column + a*s.StepA + b*s.StepB
					for range s.C {
						for n := range count {
							out[at+n] = w[from+n*s.Column]
						}
						at += s.Cols
						from += s.StepC
					}
				}
			}
		}
	}
	return out
}
