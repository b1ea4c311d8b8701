package rows

// ConvAround convolves batch images, xb apart, into ones of oh rows and ow
// columns, each of groups groups of cout channels from one of cin channels, which
// is xg after the one before. The sums run over outer, middle and depth taps, the
// first two xOuter and xMiddle apart in x, the last neighbours, and move by xh and
// xw from row to row and from column to column. The weights are packed:
// w[groups][ceil(cout/32)][outer][middle][depth][32], the last panel 16 wide where
// that is enough, zero where there is no channel; bias is padded to panels of 32.
// Results are yw apart from column to column and yc, which is 1, from channel to
// channel, and finished as Linear's are.
//
// If gh is not 0, each image is copied into scratch first, to which all of that
// applies then: planes planes of gh rows of gw elements. There an image begins
// after ph rows and pw elements; it has planes planes of ih rows of iw elements,
// given of which count, which consist of pixels of pixel elements. Its rows and
// pixels move uh and uw apart, with zeros between them.
func ConvAround(y, x, w, bias, scratch []float32, batch, groups, cin, cout, oh, ow, outer, middle,
	depth, xb, xg, xOuter, xMiddle, xh, xw, yw, yc, planes, gh, gw, ih, iw, ph, pw, given, pixel,
	uh, uw int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	for step := range 2 * batch {
		ConvAroundPart(step, 0, 1, y, x, w, bias, scratch, batch, groups, cin, cout, oh, ow, outer,
			middle, depth, xb, xg, xOuter, xMiddle, xh, xw, yw, yc, planes, gh, gw, ih, iw, ph, pw,
			given, pixel, uh, uw, add, low, high, epilogue)
	}
}

// ConvAroundPart does one of the parts that a step of ConvAround is divided
// into: steps copy an image and convolve it in turn, and each begins when the one
// before has ended.
func ConvAroundPart(step, part, parts int, y, x, w, bias, scratch []float32, batch, groups, cin,
	cout, oh, ow, outer, middle, depth, xb, xg, xOuter, xMiddle, xh, xw, yw, yc, planes, gh, gw, ih,
	iw, ph, pw, given, pixel, uh, uw int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	around(false, step, part, parts, y, x, w, bias, scratch, batch, groups, cin, cout, oh, ow,
		outer, middle, depth, xb, xg, xOuter, xMiddle, xh, xw, yw, yc, planes, gh, gw, ih, iw, ph,
		pw, given, pixel, uh, uw, add, low, high, epilogue)
}

// ConvAroundPlanes is ConvAround for row-major results: yw is 1. The epilogue's
// runs are neighbours in a plane, all of channel c.
func ConvAroundPlanes(y, x, w, bias, scratch []float32, batch, groups, cin, cout, oh, ow, outer,
	middle, depth, xb, xg, xOuter, xMiddle, xh, xw, yw, yc, planes, gh, gw, ih, iw, ph, pw, given,
	pixel, uh, uw int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	for step := range 2 * batch {
		ConvAroundPlanesPart(step, 0, 1, y, x, w, bias, scratch, batch, groups, cin, cout, oh, ow,
			outer, middle, depth, xb, xg, xOuter, xMiddle, xh, xw, yw, yc, planes, gh, gw, ih, iw,
			ph, pw, given, pixel, uh, uw, add, low, high, epilogue)
	}
}

// ConvAroundPlanesPart is to ConvAroundPlanes what ConvAroundPart is to ConvAround.
func ConvAroundPlanesPart(step, part, parts int, y, x, w, bias, scratch []float32, batch, groups,
	cin, cout, oh, ow, outer, middle, depth, xb, xg, xOuter, xMiddle, xh, xw, yw, yc, planes, gh,
	gw, ih, iw, ph, pw, given, pixel, uh, uw int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	around(true, step, part, parts, y, x, w, bias, scratch, batch, groups, cin, cout, oh, ow, outer,
		middle, depth, xb, xg, xOuter, xMiddle, xh, xw, yw, yc, planes, gh, gw, ih, iw, ph, pw,
		given, pixel, uh, uw, add, low, high, epilogue)
}

// around is ConvAroundPart, or ConvAroundPlanesPart: strides alone do not tell
// which where there is one pixel.
func around(turned bool, step, part, parts int, y, x, w, bias, scratch []float32, batch, groups,
	cin, cout, oh, ow, outer, middle, depth, xb, xg, xOuter, xMiddle, xh, xw, yw, yc, planes, gh,
	gw, ih, iw, ph, pw, given, pixel, uh, uw int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	b := step / 2
	x = x[b*xb:]
	if step%2 == 0 {
		for r := gh * part / parts; r < gh*(part+1)/parts; r++ {
			for p := range planes {
				to := scratch[(p*gh+r)*gw:][:gw]
				if from := r - ph; from < 0 || from%uh != 0 || from/uh >= ih {
					clear(to)
				} else {
					spread(to, x[(p*ih+from/uh)*iw:][:given], pw, pixel, uw)
				}
			}
		}
		return
	}
	if gh != 0 {
		x = scratch
	}
	f := finish{y, add, low, high}
	taps := outer * middle * depth
	s := divide(part, parts, cout, oh, ow, planes*oh*xh, groups*cout*taps)
	t := tile{next: xw, step: yw, outer: outer, xOuter: xOuter, middle: middle, xMiddle: xMiddle,
		depth: depth}
	var sums [maxRows * panel]float32
	for g := range groups {
		wide := (cout + panel - 1) / panel * panel
		_, last := panelOf(cout, wide-panel)
		weights := w[g*(wide-panel+last)*taps:]
		for j := s.panels[0]; j < s.panels[1]; j += panel {
			columns, width := panelOf(cout, j)
			t.w, t.bias, t.width = weights[j*taps:], bias[g*wide+j:], width
			t.follow(behind(weights, taps, cout, j, s.panels[1]), s.tiles()*taps)
			for p := s.rows[0]; p < s.rows[1]; p++ {
				for q := s.columns[0]; q < s.columns[1]; q += s.length {
					t.rows = min(s.length, ow-q)
					t.x = x[g*xg+p*xh+q*xw:]
					channel := g*cout + j
					o := b*groups*cout*oh*ow + (p*ow+q)*yw + channel*yc
					if turned {
						f.turned(&t, &sums, o, channel, columns, yc, epilogue)
					} else {
						f.product(&t, o, channel, columns, epilogue)
					}
				}
			}
		}
	}
}

// spread copies pixels to where they have zeros before, between and behind
// them.
func spread(to, from []float32, before, pixel, apart int) {
	before = min(before, len(to))
	clear(to[:before])
	to = to[before:]
	if apart == 1 {
		clear(to[copy(to, from):])
		return
	}
	clear(to)
	for i := 0; i < len(from); i += pixel {
		copy(to[i*apart:], from[i:i+pixel])
	}
}

// turned carries out t like product for results whose columns are yc apart and
// whose rows are neighbours, by way of sums.
func (f *finish) turned(t *tile, sums *[maxRows * panel]float32, o, c, columns, yc int,
	e epilogue) {
	t.columns = columns
	whole := t.aside(sums)
	product(&whole)
	t.fetched, t.lead = whole.fetched, whole.lead
	for j := range columns {
		at := o + j*yc
		run := f.y[at:][:t.rows]
		if f.add != nil {
			for i, v := range f.add[at:][:len(run)] {
				run[i] = bounded(sums[i*panel+j]+v, f.low, f.high)
			}
		} else {
			for i := range run {
				run[i] = bounded(sums[i*panel+j], f.low, f.high)
			}
		}
		if e != nil {
			e(run, at, c+j)
		}
	}
}
