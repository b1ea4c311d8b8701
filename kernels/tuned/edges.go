package tuned

import (
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/tuned/gokernels/panels"
)

// ConvEdges is Conv2DRows without a copy: where a window reaches over an edge of
// the image, tiles of neighbouring results that see the same of its taps are
// summed over these alone. In a transposed convolution those are results as far
// apart as the input's elements, and Go takes these only.
func ConvEdges() *Kernel {
	return &Kernel{Name: "conv2d_edges_f32", Descriptor: convEdgesParams, InPatches: edgesInPatches,
		Go: "rows.ConvEdges", Buffers: []string{"w", "bias"}, Phases: []string{"rows"}, Bounds: true,
		Operands: []string{"x"}, C: true, Match: matchEdges}
}

func matchEdges(r *Request) *Instance {
	cv := convolutionOnRows(r, 4)
	if cv == nil {
		return nil
	}
	rows, cols, up := &cv.axes[0], &cv.axes[1], cv.up
	spread := !up[0].Is(1) || !up[1].Is(1)
	if !spread && (!rows.padded() && !cols.padded() || r.Target.Language.CopiesPadding) {
		return nil
	}
	pixel, xg := sym.Int(1), sym.Mul(num(cv.cin), cv.plane)
	if cv.xLast {
		pixel, xg = num(cv.groups*cv.cin), num(cv.cin)
	}
	row := sym.Mul(cols.in, pixel)
	s, ok := cv.sums(up, row, cv.plane)
	if !ok || !cv.constants(r) {
		return nil
	}
	in := cv.instanceOnRows(r, s, convEdgesParams, Values{"upsample_h": up[0],
		"upsample_w": up[1], "rows_in_middle": truth(!cv.xLast),
		"columns_in_middle": truth(s.flat), "outer_taps": num(s.panels.A),
		"inner_taps": num(s.depth), "column_taps": num(s.unit),
		"sum_taps":        num(rows.kernel * cols.kernel * cv.cin),
		"in_stride_batch": sym.Mul(num(cv.groups*cv.cin), cv.plane), "in_stride_group": xg,
		"in_stride_row": row, "in_stride_col": pixel, "in_stride_outer": s.xOuter,
		"in_stride_middle": s.xMiddle, "weight_stride_outer": s.wOuter,
		"weight_stride_middle": s.wMiddle, "weight_stride_row": num(s.wRow),
		"weight_stride_col": num(s.wCol)})
	in.Cost = cost(in.MACs) / 4 * (1 + 1/float64(s.depth)) * cv.narrow(rowsCols/2) * cv.edgeTiles()
	if !cv.yLast {
		in.Cost *= 1.25
	}
	return in
}

// narrow is how much more work panels are for want of channels, if so many lanes are
// computed at least.
func (cv *convolution) narrow(lanes int) float64 {
	return float64(max(lanes, cv.cout)) / float64(cv.cout)
}

// tapSums is how the sums over the taps of a convolution are nested.
type tapSums struct {
	panels panels.Shape // of the weights: the three loops
	// flat says that the middle loop counts columns; else the innermost one does.
	// Rows are counted by the outer loop if channels lie innermost in memory, else
	// the middle one does.
	flat        bool
	depth, unit int // of the innermost loop: elements of all its taps, of one column's
	// Steps of the loops in the image, and in the rows of a panel of weights; of
	// taps in these.
	xOuter, xMiddle, wOuter, wMiddle sym.Expr
	wRow, wCol                       int
}

// sums nests the sums over the taps of a convolution, of which a result sees
// every up-th, in an image whose rows and planes are so far apart. Not all can be.
func (cv *convolution) sums(up [2]sym.Expr, row, plane sym.Expr) (s tapSums, ok bool) {
	rows, cols := &cv.axes[0], &cv.axes[1]
	kh, kw, cin := rows.kernel, cols.kernel, cv.cin
	taps := kh * kw
	for d, a := range cv.axes {
		if !up[d].Is(1) && !a.dilation.Is(1) {
			return s, false
		}
	}
	p := panels.Shape{Groups: cv.groups, N: cv.cout, Cols: rowsCols, Last: lastCols(cv.cout),
		Group: cv.cout * cin * taps, Column: cin * taps}
	stepIn, stepRow, stepCol := taps, cv.kernel[1], 1
	if cv.transposed {
		p.Group, p.Column = cin*cv.cout*taps, taps
		stepIn, stepRow, stepCol = cv.cout*taps, -stepRow, -stepCol
	}
	single := kw == 1 || sym.LessEq(num(kw), up[1]) // tap of a row at most
	beside := cols.dilation.Is(1) && up[1].Is(1)
	if cv.xLast {
		pixel := num(cv.groups * cin)
		p.A, p.B, p.C, p.StepA, p.StepB, p.StepC = kh, kw, cin, stepRow, stepCol, stepIn
		s = tapSums{flat: true, depth: cin, unit: cin, wRow: kw * cin, wCol: cin,
			xOuter: sym.Mul(rows.dilation, row), xMiddle: sym.Mul(cols.dilation, pixel),
			wOuter: sym.Mul(up[0], num(kw*cin)), wMiddle: sym.Mul(up[1], num(cin))}
		if beside && cv.groups == 1 { // neighbouring pixels are one run
			s.flat, s.depth, s.wMiddle = false, kw*cin, sym.Int(0)
		}
	} else {
		switch {
		case beside || single:
			p.A, p.B, p.C, p.StepA, p.StepB, p.StepC = cin, kh, kw, stepIn, stepRow, stepCol
			depth := kw
			if !up[1].Is(1) {
				depth = 1
			}
			s = tapSums{depth: depth, unit: 1, wRow: kw, wCol: 1, xOuter: plane,
				xMiddle: sym.Mul(rows.dilation, row),
				wOuter:  num(taps), wMiddle: sym.Mul(up[0], num(kw))}
		case kh == 1:
			p.A, p.B, p.C, p.StepA, p.StepB = cin, kw, 1, stepIn, stepCol
			s = tapSums{flat: true, depth: 1, unit: 1, wRow: kw, wCol: 1, xOuter: plane,
				xMiddle: cols.dilation,
				wOuter:  num(taps), wMiddle: up[1]}
		default:
			return s, false
		}
	}
	s.panels = p
	return s, true
}

// edgeTiles estimates how much longer tiles take that end where the taps that
// results see change than full ones over a copy of the image with its padding.
func (cv *convolution) edgeTiles() float64 {
	const full, least = 12, 4 // rows of a tile; that are no faster if there are less
	spans := func(d int) (out []int64) {
		a := &cv.axes[d]
		var known [6]int64
		for i, x := range []sym.Expr{a.in, a.out, a.stride, a.pad, a.dilation, cv.up[d]} {
			var ok bool
			if known[i], ok = x.Const(); !ok {
				return nil
			}
		}
		in, n, stride, pad, dilation, apart := known[0], known[1], known[2], known[3], known[4], known[5]
		if n == 0 {
			return nil
		}
		if apart > 1 { // each phase by itself
			for range apart {
				out = append(out, max(1, n/apart))
			}
			return out
		}
		inside := int64(0)
		for p := range n {
			from := p*stride - pad
			if from >= 0 && from+int64(a.kernel-1)*dilation < in {
				inside++
				continue
			}
			out = append(out, 1)
		}
		if inside > 0 {
			out = append(out, inside)
		}
		return out
	}
	rows, cols := spans(0), spans(1)
	if rows == nil || cols == nil {
		return 1.25
	}
	work := func(lines, n int64) (sum int64) {
		tiles := (n + full - 1) / full
		return lines * tiles * max(least, (n+tiles-1)/tiles)
	}
	var sum, plain, height, width int64
	for _, v := range rows {
		height += v
		for _, h := range cols {
			sum += min(work(v, h), work(h, v))
		}
	}
	for _, h := range cols {
		width += h
	}
	plain = work(height, width)
	seen := 1.0 // of the taps
	for _, up := range cv.up {
		if n, ok := up.Const(); ok {
			seen /= float64(n)
		}
	}
	return seen * float64(sum) / float64(max(plain, 1))
}
