package sym

// RowMajor returns the position of the element at coords in a dense row-major
// tensor of the given sizes. The coordinate of a dimension of size 1 can only
// be 0 and does not show.
func RowMajor(sizes, coords []Expr) Expr {
	var at Expr
	for d, c := range coords {
		if !sizes[d].Is(1) {
			at = Add(Mul(at, sizes[d]), c)
		}
	}
	return at
}
