package rows

// Piece is the work of one of the threads that share a call: one of the parts of a step.
// A step begins when the one before has ended.
type Piece struct{ step, part, parts int }

// NewPiece returns a Piece for packages that run programs.
func NewPiece(step, part, parts int) Piece { return Piece{step, part, parts} }

// alone is all of a step.
func alone(step int) Piece { return Piece{step, 0, 1} }

// of returns which of n units a piece has: from the first up to before the second.
func (d Piece) of(n int) (first, end int) {
	return n * d.part / d.parts, n * (d.part + 1) / d.parts
}

// share is what of an image's results a part computes: channels, rows and
// columns from the first up to before the second. Parts consist of whole tiles,
// length columns long, so that results are the same in any number of parts.
type share struct {
	panels, rows, columns [2]int
	length                int
}

// divide returns a piece's share of the results of cout channels, oh rows and ow columns.
// Each part has some panels of weights and reads the whole image, x elements; or it has
// some rows (some tiles of a row, if there are fewer rows than parts) and reads all w
// weights. The way that gives equal parts is taken; if both do, the larger of weights and
// image is divided.
func (d Piece) divide(cout, oh, ow, x, w int) share {
	part, parts := d.part, d.parts
	s := share{panels: [2]int{0, cout}, rows: [2]int{0, oh}, columns: [2]int{0, ow},
		length: lengths(ow, tileRows)}
	panels, tiles := (cout+panel-1)/panel, (ow+s.length-1)/max(s.length, 1)
	lines := oh
	if oh < parts {
		lines = tiles
	}
	wide := even(panels, parts)
	if wide == even(lines, parts) {
		if wide {
			wide = w >= x
		} else {
			wide = panels >= lines
		}
	}
	switch {
	case wide:
		s.panels = [2]int{panels * part / parts * panel, min(cout, panels*(part+1)/parts*panel)}
	case oh >= parts:
		s.rows = [2]int{oh * part / parts, oh * (part + 1) / parts}
	default:
		s.columns = [2]int{tiles * part / parts * s.length, min(ow, tiles*(part+1)/parts*s.length)}
	}
	return s
}

// even reports whether parts of n are of about the same size.
func even(n, parts int) bool { return n%parts == 0 || n > 4*parts }

// tiles returns how many tiles the share has of a panel.
func (s *share) tiles() int {
	return (s.rows[1] - s.rows[0]) * ((s.columns[1] - s.columns[0] + s.length - 1) /
		max(s.length, 1))
}
