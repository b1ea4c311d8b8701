package rows

// Conv convolves images in any layout, group by group. The sums run over three loops, the
// last of which has neighbours in x. The weights are packed:
// w[groups][ceil(out_channels/32)][outer_taps][middle_taps][inner_taps][32], the last
// panel 16 wide where that is enough, zero where there is no channel; bias is padded to
// panels of 32.
//
// With a copy_mode each image is copied into scratch first, to which strides apply then.
// There an image begins after padding, and its rows and pixels are apart, with zeros
// between them.
func Conv(y, x, w, bias, scratch []float32, a *ConvRowsParams, f *Epilogue) {
	steps := 1
	if a.copyMode != 0 {
		steps = 2 * a.batch
	}
	for step := range steps {
		ConvPart(alone(step), y, x, w, bias, scratch, a, f)
	}
}

// ConvPart does a piece of a step of Conv: steps copy an image and convolve it in turn, or
// convolve all images.
func ConvPart(d Piece, y, x, w, bias, scratch []float32, a *ConvRowsParams, f *Epilogue) {
	if a.copyMode == 0 {
		for b := range a.batch {
			image(d, y, x[b*a.inStrideBatch:], w, bias, b, a, f)
		}
		return
	}
	b := d.step / 2
	if d.step%2 == 1 {
		image(d, y, scratch, w, bias, b, a, f)
		return
	}
	x = x[b*a.inStrideBatch:]
	first, end := d.of(a.paddedH)
	for r := first; r < end; r++ {
		for p := range a.planes {
			to := scratch[(p*a.paddedH+r)*a.paddedRow:][:a.paddedRow]
			from := r - a.padH
			if from < 0 || from%a.upsampleH != 0 || from/a.upsampleH >= a.inH {
				clear(to)
				continue
			}
			line := x[(p*a.inH+from/a.upsampleH)*a.inRow:]
			if a.sourceStrideChannel == 1 {
				spread(to, line[:a.copiedRow], a.padRow, a.pixel, a.upsampleW)
			} else {
				gather(to, line, a)
			}
		}
	}
}

// gather copies a row of planes, their channels beside each other, with padding before
// it and some after.
func gather(to, from []float32, a *ConvRowsParams) {
	columns := a.copiedRow / a.pixel
	before := min(a.padRow, len(to))
	clear(to[:before])
	to = to[before:]
	clear(to[a.copiedRow:])
	for c := range a.pixel {
		for i, v := range from[c*a.sourceStrideChannel:][:columns] {
			to[i*a.pixel+c] = v
		}
	}
}

// image convolves a share of image b, which is x.
func image(d Piece, y, x, w, bias []float32, b int, a *ConvRowsParams, f *Epilogue) {
	cout := a.outChannels
	taps := a.outerTaps * a.middleTaps * a.innerTaps
	s := d.divide(cout, a.outH, a.outW, a.planes*a.outH*a.inStrideRow, a.groups*cout*taps)
	t := tile{next: a.inStrideCol, step: a.outStrideCol, outer: a.outerTaps,
		xOuter: a.inStrideOuter, middle: a.middleTaps, xMiddle: a.inStrideMiddle,
		depth: a.innerTaps, low: f.low, high: f.high}
	var sums [maxRows * panel]float32
	for g := range a.groups {
		wide := (cout + panel - 1) / panel * panel
		_, last := panelOf(cout, wide-panel)
		weights := w[g*(wide-panel+last)*taps:]
		for j := s.panels[0]; j < s.panels[1]; j += panel {
			t.columns, t.width = panelOf(cout, j)
			t.w, t.bias = weights[j*taps:], bias[g*wide+j:]
			t.prefetch(behind(weights, taps, cout, j, s.panels[1]), s.tiles()*taps)
			for p := s.rows[0]; p < s.rows[1]; p++ {
				for q := s.columns[0]; q < s.columns[1]; q += s.length {
					t.rows = min(s.length, a.outW-q)
					t.x = x[g*a.inStrideGroup+p*a.inStrideRow+q*a.inStrideCol:]
					channel := g*cout + j
					o := b*a.groups*cout*a.outH*a.outW + (p*a.outW+q)*a.outStrideCol +
						channel*a.outStrideChannel
					if !a.channelsInner {
						f.transposed(y, &t, &sums, o, channel, a.outStrideChannel)
						continue
					}
					t.y, t.add = f.aim(y, o)
					product(&t)
					if f.apply != nil {
						f.call(y, &t, o, channel)
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

// transposed carries out t, a product, for results whose columns are apart and whose rows
// are neighbours, by way of sums. The first one is number o of y and of channel c.
func (f *Epilogue) transposed(y []float32, t *tile, sums *[maxRows * panel]float32, o, c,
	apart int) {
	whole := t.aside(sums)
	product(&whole)
	t.fetched, t.fetchStep = whole.fetched, whole.fetchStep
	f.take(y, t, sums, o, c, apart)
}

// take finishes the sums of t whose columns are results apart.
func (f *Epilogue) take(y []float32, t *tile, sums *[maxRows * panel]float32, o, c, apart int) {
	for j := range t.columns {
		at := o + j*apart
		run := y[at:][:t.rows]
		if f.add != nil {
			for i, v := range f.add[at:][:len(run)] {
				run[i] = bounded(sums[i*panel+j]+v, f.low, f.high)
			}
		} else {
			for i := range run {
				run[i] = bounded(sums[i*panel+j], f.low, f.high)
			}
		}
		if f.apply != nil {
			f.apply(run, at, c+j)
		}
	}
}
