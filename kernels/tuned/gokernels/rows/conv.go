package rows

// Conv convolves batch images, xb apart, of cin channels, which lie innermost,
// into ones of cout channels, oh rows and ow columns. The kernel has kh rows and
// kw columns of taps, dh and dw apart, and moves by sh and sw; there is no
// padding. xh and xw are the steps of x over rows and columns. A row of taps is
// runs runs of run elements, dw·xw apart, that are contiguous in x. The weights
// are packed: w[ceil(cout/32)][kh][kw][cin][32], the last panel 16 wide where that
// is enough, zero where there is no channel; bias is padded likewise. Results
// are finished as Linear's are, c being a channel.
func Conv(y, x, w, bias []float32, batch, cin, cout, oh, ow, kh, kw, sh, sw, dh, dw, runs, run, xb,
	xh, xw int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	ConvPart(0, 0, 1, y, x, w, bias, batch, cin, cout, oh, ow, kh, kw, sh, sw, dh, dw, runs, run,
		xb, xh, xw, add, low, high, epilogue)
}

// ConvPart does one of the parts that Conv's one step is divided into.
func ConvPart(_, part, parts int, y, x, w, bias []float32, batch, cin, cout, oh, ow, kh, kw, sh, sw,
	dh, dw, runs, run, xb, xh, xw int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	f := finish{y, add, low, high}
	s := divide(part, parts, cout, oh, ow, oh*sh*xh, cout*kh*kw*cin)
	for b := range batch {
		image(&f, epilogue, &s, b*oh*ow*cout, x[b*xb:], w, bias, cin, cout, ow, kh, kw, sh, sw, dh,
			dw, runs, run, xh, xw)
	}
}

// ConvGather is Conv for images with padding, ph and pw zeros around them, in
// any layout, fc, fh and fw being the steps of x over channels, rows and
// columns: each is copied into scratch first. There it has gh rows, xh apart, of
// which given columns are those of x.
func ConvGather(y, x, w, bias, scratch []float32, batch, cin, cout, oh, ow, kh, kw, sh, sw, dh, dw,
	runs, run, xb, xh, xw,
	gh, ih, ph, pw, given, fc, fh, fw int, add []float32, low, high float32,
	epilogue func(run []float32, o, c int)) {
	for step := range 2 * batch {
		ConvGatherPart(step, 0, 1, y, x, w, bias, scratch, batch, cin, cout, oh, ow, kh, kw, sh, sw,
			dh, dw, runs, run, xb, xh, xw,
			gh, ih, ph, pw, given, fc, fh, fw, add, low, high, epilogue)
	}
}

// ConvGatherPart does one of the parts that a step of ConvGather is divided
// into: steps copy an image and convolve it in turn, and each begins when the one
// before has ended.
func ConvGatherPart(step, part, parts int, y, x, w, bias, scratch []float32, _, cin, cout, oh, ow,
	kh, kw, sh, sw, dh, dw, runs, run, xb, xh, xw,
	gh, ih, ph, pw, given, fc, fh, fw int, add []float32, low, high float32,
	epilogue func(run []float32, o, c int)) {
	b := step / 2
	if step%2 == 1 {
		f := finish{y, add, low, high}
		s := divide(part, parts, cout, oh, ow, oh*sh*xh, cout*kh*kw*cin)
		image(&f, epilogue, &s, b*oh*ow*cout, scratch, w, bias, cin, cout, ow, kh, kw, sh, sw, dh,
			dw, runs, run, xh, xw)
		return
	}
	from := x[b*xb:]
	for r := gh * part / parts; r < gh*(part+1)/parts; r++ {
		to := scratch[r*xh:][:xh]
		if r < ph || r-ph >= ih {
			clear(to)
			continue
		}
		gather(to, from[(r-ph)*fh:], cin, pw, given, fc, fw)
	}
}

// gather copies a row of an image, with pw zeros before it and some after.
func gather(to, from []float32, cin, pw, given, fc, fw int) {
	clear(to[:pw*cin])
	to = to[pw*cin:]
	clear(to[given*cin:])
	if fc == 1 {
		copy(to, from[:given*cin])
		return
	}
	for c := range cin {
		line := from[c*fc:]
		if fw == 1 {
			for i, v := range line[:given] {
				to[i*cin+c] = v
			}
			continue
		}
		for i := range given {
			to[i*cin+c] = line[i*fw]
		}
	}
}

// image convolves a share of one image into the results from o on.
func image(f *finish, e epilogue, s *share, o int, x, w, bias []float32, cin, cout, ow, kh, kw, sh,
	sw, dh, dw, runs, run, xh, xw int) {
	t := tile{next: sw * xw, step: cout, outer: kh, xOuter: dh * xh, middle: runs, xMiddle: dw * xw,
		depth: run}
	taps := kh * kw * cin
	for j := s.panels[0]; j < s.panels[1]; j += panel {
		columns, width := panelOf(cout, j)
		t.w, t.bias, t.width = w[j*taps:], bias[j:], width
		t.follow(behind(w, taps, cout, j, s.panels[1]), s.tiles()*taps)
		for p := s.rows[0]; p < s.rows[1]; p++ {
			for q := s.columns[0]; q < s.columns[1]; q += s.length {
				t.rows = min(s.length, ow-q)
				t.x = x[p*sh*xh+q*sw*xw:]
				f.product(&t, o+(p*ow+q)*cout+j, j, columns, e)
			}
		}
	}
}
