package rows

import "math"

// Winograd is Conv with 3x3 taps that move by one, over images with padding, by
// Winograd's minimal filtering: tiles of results are made of products at tile_side by
// tile_side points, which is 6 or 4. The points are 0, infinity and ±1, or ±sqrt(1/2) and
// ±sqrt(2): the roots keep rounding errors near those of plain sums. in_channels is a
// multiple of 16. The weights are their values at the points, packed:
// w[ceil(out_channels/32)][tile_side][tile_side][in_channels][32], the last panel 16 wide
// where that is enough; bias is padded likewise. The scratch holds the values at the
// points of a block of tiles, and sums for a panel.
func Winograd(y, x, w, bias, scratch []float32, a *WinogradParams, f *Epilogue) {
	WinogradPart(alone(0), y, x, w, bias, scratch, a, f)
}

// WinogradPart does a piece of Winograd's one step: a share of the tiles, by way of a
// share of the scratch.
func WinogradPart(d Piece, y, x, w, bias, scratch []float32, a *WinogradParams, f *Epilogue) {
	d.parts = min(d.parts, a.block/2)
	if d.part >= d.parts {
		return
	}
	begin, end := d.of(a.tiles)
	most := a.block / d.parts / 2 * 2
	points := a.tileSide * a.tileSide
	size := most * points * (a.inChannels + panel)
	values := scratch[d.part*size:][:size]
	g := carried{a, begin, 0, values, values[most*points*a.inChannels:]}
	for b := range a.batch {
		for g.first = begin; g.first < end; g.first += g.count {
			g.count = min(evenly(end-g.first, most), end-g.first)
			g.lift(x[b*a.inH*a.inW*a.inChannels:])
			for j := 0; j < a.outChannels; j += panel {
				g.panel(y, w, bias, b, j, f)
			}
		}
	}
}

// evenly returns the length of the first of blocks, of at most so many, that n are
// taken in. It is even: sums for a single tile have another order.
func evenly(n, most int) int { return max(2, (lengths(n, most)+1)/2*2) }

// carried is a block of count tiles from the first on, at the points: their values,
// and sums for a panel.
type carried struct {
	*WinogradParams
	first, count int
	values, sums []float32
}

// even is the number of tiles with the last one twice if that makes it even.
func (g *carried) even() int { return g.count + g.count%2 }

// lift carries the tiles of the block to the points.
func (g *carried) lift(x []float32) {
	side, row := g.tileSide, g.inW*g.inChannels
	t := lift{x: x[:g.inH*row], xh: row, xw: g.inChannels, channels: g.inChannels,
		step: g.even() * g.inChannels}
	for i := range g.even() {
		n := g.first + min(i, g.count-1)
		t.tile(side, n/g.tilesAcross*(side-2)-g.padH, n%g.tilesAcross*(side-2)-g.padW, g.inH, g.inW)
		t.v = g.values[i*g.inChannels:]
		t.run(side)
	}
}

// panel makes results of image b from channel j on.
func (g *carried) panel(y, w, bias []float32, b, j int, f *Epilogue) {
	var zero [panel]float32
	even, side, cin := g.even(), g.tileSide, g.inChannels
	points, height := side*side, evenly(even, tileRows)
	columns, width := panelOf(g.outChannels, j)
	t := tile{bias: zero[:], next: cin, step: panel, outer: 1, middle: 1, depth: cin,
		width: width, columns: width,
		low: float32(math.Inf(-1)), high: float32(math.Inf(1))}
	// A point's products fetch the weights of the next one, or of the next panel's first.
	first, size := j*points*cin, width*cin
	last := first + points*size
	if j+panel < g.outChannels {
		last += min(size, len(w)-last)
	}
	t.prefetch(w[first+size:last], points*((even+height-1)/height)*cin)
	for k := range points {
		t.w, t.fetched = w[first+k*size:], 4*k*size
		for i := 0; i < even; i += height {
			t.rows = min(height, even-i)
			t.x, t.y = g.values[(k*even+i)*cin:], g.sums[(k*even+i)*panel:]
			product(&t)
		}
	}
	r := land{bias: bias[j:], from: even * panel, yh: g.outW * g.outChannels,
		yw: g.outChannels, channels: columns, low: f.low, high: f.high}
	for i := range g.count {
		p := (g.first + i) / g.tilesAcross * (side - 2)
		q := (g.first + i) % g.tilesAcross * (side - 2)
		r.rows, r.cols = min(side-2, g.outH-p), min(side-2, g.outW-q)
		o := ((b*g.outH+p)*g.outW+q)*g.outChannels + j
		r.m = g.sums[i*panel:]
		r.y, r.add = f.aim(y, o)
		r.run(side)
		if f.apply != nil {
			r.call(y, f.apply, o, j)
		}
	}
}

// lift takes a square of an image's elements to values at points.
type lift struct {
	v        []float32 // values: those at point k from k·step on
	x        []float32 // the image
	at       int       // where in x the square begins, though that may be outside
	xh, xw   int       // steps of x from row to row and from pixel to pixel
	step     int
	channels int
	// partly is 1 if a part of the square is outside of the image, where there are
	// zeros; inside has ones in all bits for the others then, row by row.
	partly int
	inside [36]uint32
}

// tile aims t at the square from row p and column q on.
func (t *lift) tile(side, p, q, ih, iw int) {
	t.at, t.partly = p*t.xh+q*t.xw, 0
	if p >= 0 && q >= 0 && p+side <= ih && q+side <= iw {
		return
	}
	t.partly = 1
	for i := range side {
		for k := range side {
			t.inside[i*side+k] = 0
			if p+i >= 0 && p+i < ih && q+k >= 0 && q+k < iw {
				t.inside[i*side+k] = math.MaxUint32
			}
		}
	}
}

// run computes the values of all channels.
func (t *lift) run(side int) {
	_ = t.v[:(side*side-1)*t.step+t.channels]
	if t.partly == 0 {
		_ = t.x[t.at:][:(side-1)*(t.xh+t.xw)+t.channels]
	} else {
		for k, in := range t.inside[:side*side] {
			if in != 0 {
				_ = t.x[t.at+k/side*t.xh+k%side*t.xw:][:t.channels]
			}
		}
	}
	if !liftFast(t, side) {
		liftPlain(t, side)
	}
}

// liftPlain is lift without vectors.
func liftPlain(t *lift, side int) {
	for c := range t.channels {
		var square [6][6]float32 // [column][row]
		for k := range side {
			var d [6]float32
			for i := range side {
				if t.partly == 0 || t.inside[i*side+k] != 0 {
					d[i] = t.x[t.at+i*t.xh+k*t.xw+c]
				}
			}
			square[k] = atPoints(side, d)
		}
		for i := range side {
			var d [6]float32
			for k := range side {
				d[k] = square[k][i]
			}
			for k, v := range atPoints(side, d) {
				if k < side {
					t.v[(i*side+k)*t.step+c] = v
				}
			}
		}
	}
}

// near and far are points besides zero and infinity, with either sign.
const near, far = math.Sqrt2 / 2, math.Sqrt2

// atPoints takes a line of an image's elements to their values.
func atPoints(side int, d [6]float32) (r [6]float32) {
	if side == 4 {
		return [6]float32{d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]}
	}
	a, b := d[4]-2*d[2], d[3]-2*d[1]
	e, f := d[4]-0.5*d[2], d[3]-0.5*d[1]
	return [6]float32{d[0] + d[4] - 2.5*d[2], a + near*b, a - near*b, e + far*f, e - far*f,
		d[1] + d[5] - 2.5*d[3]}
}

// land takes a square of sums at points to results.
type land struct {
	m        []float32 // sums: those at point k from k·from on
	y, add   []float32 // results; add, if not nil, is laid out likewise and added
	bias     []float32
	from     int
	yh, yw   int // steps of y from row to row and from pixel to pixel
	rows     int // how many of the results there are
	cols     int
	channels int
	low      float32
	high     float32
}

// run computes the results of all channels.
func (t *land) run(side int) {
	wide := t.channels
	if rest := wide % (panel / 2); rest != 0 {
		wide += panel/2 - rest
	}
	_ = t.m[:(side*side-1)*t.from+wide]
	_ = t.bias[:wide]
	last := (t.rows-1)*t.yh + (t.cols-1)*t.yw + t.channels
	_ = t.y[:last]
	if t.add != nil {
		_ = t.add[:last]
	}
	if !landFast(t, side) {
		landPlain(t, side, 0)
	}
}

// landPlain is land without vectors, for the channels from one on.
func landPlain(t *land, side, channel int) {
	for c := channel; c < t.channels; c++ {
		var square [6][6]float32 // [column][row]
		for k := range side {
			var m [6]float32
			for i := range side {
				m[i] = t.m[(i*side+k)*t.from+c]
			}
			square[k] = fromPoints(side, m)
		}
		for i := range t.rows {
			var m [6]float32
			for k := range side {
				m[k] = square[k][i]
			}
			line := fromPoints(side, m)
			for k := range t.cols {
				v, o := line[k]+t.bias[c], i*t.yh+k*t.yw+c
				if t.add != nil {
					v += t.add[o]
				}
				t.y[o] = bounded(v, t.low, t.high)
			}
		}
	}
}

// fromPoints takes a line of sums to results, the first side - 2 of r.
func fromPoints(side int, m [6]float32) (r [6]float32) {
	if side == 4 {
		return [6]float32{m[0] + (m[1] + m[2]), m[1] - m[2] - m[3]}
	}
	a, b, e, f := m[1]+m[2], m[1]-m[2], m[3]+m[4], m[3]-m[4]
	return [6]float32{m[0] + (a + e), near*b + far*f, 0.5*a + 2*e, m[5] + (near/2*b + 2*far*f)}
}

// call calls the epilogue on the results, of which the first is number o of y and of
// channel c.
func (t *land) call(y []float32, e EpilogueFunc, o, c int) {
	for i := range t.rows {
		for k := range t.cols {
			at := o + i*t.yh + k*t.yw
			e(y[at:][:t.channels], at, c)
		}
	}
}
