// Package panels packs constant matrices for kernels that read them a panel of
// columns at a time. Compilers pack when they know the constants, programs that
// load them when they do.
package panels

// Shape says which elements of a constant go where: the packed matrices are
// [Groups][ceil(N/Cols)][A][B][C][Cols], zero where there is no column. Column n of
// group g is the elements g·Group + n·Column + a·StepA + b·StepB + c·StepC of
// the constant; a step that is negative leads from the last to the first. With
// Last, the last panel of each group is Last columns wide.
type Shape struct {
	Groups, N, A, B, C, Cols, Last     int
	Group, Column, StepA, StepB, StepC int
}

// Len returns how many elements the packed matrices have.
func (s Shape) Len() int {
	columns := (s.N + s.Cols - 1) / s.Cols * s.Cols
	if s.Last > 0 && s.N > 0 {
		columns += s.Last - s.Cols
	}
	return s.Groups * columns * s.A * s.B * s.C
}

// Pack returns the matrices of constant w packed.
func Pack[T any](s Shape, w []T) []T {
	out := make([]T, s.Len())
	at, begin := 0, 0
	for _, axis := range [...][2]int{{s.A, s.StepA}, {s.B, s.StepB}, {s.C, s.StepC}} {
		begin += (axis[0] - 1) * max(0, -axis[1])
	}
	for g := range s.Groups {
		for first := 0; first < s.N; first += s.Cols {
			count, width := min(s.Cols, s.N-first), s.Cols
			if s.Last > 0 && first+s.Cols >= s.N {
				width = s.Last
			}
			for a := range s.A {
				for b := range s.B {
					from := begin + g*s.Group + first*s.Column + a*s.StepA + b*s.StepB
					for range s.C {
						for n := range count {
							out[at+n] = w[from+n*s.Column]
						}
						at += width
						from += s.StepC
					}
				}
			}
		}
	}
	return out
}
