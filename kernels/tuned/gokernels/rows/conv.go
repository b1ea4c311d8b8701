package rows

// Conv convolves batch images, xb apart, of cin channels, which lie innermost,
// into ones of cout channels, oh rows and ow columns. The kernel has kh rows and
// kw columns of taps, dh and dw apart, and moves by sh and sw; there is no
// padding. xh and xw are the steps of x over rows and columns. A row of taps is
// runs runs of run elements, dw·xw apart, that are contiguous in x. The weights
// are packed: w[ceil(cout/32)][kh][kw][cin][32], the last panel 16 wide where that
// is enough, zero where there is no channel; bias is padded likewise. Results
// are finished as Linear's are, c being a channel.
func Conv(y, x, w, bias []float32, batch, cin, cout, oh, ow, kh, kw, sh, sw, dh, dw, runs, run, xb, xh, xw int,
	add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	f := finish{y, add, low, high}
	for b := range batch {
		image(&f, epilogue, b*oh*ow*cout, x[b*xb:], w, bias, cin, cout, oh, ow, kh, kw, sh, sw, dh, dw, runs, run, xh, xw)
	}
}

// ConvGather is Conv for images with padding, ph and pw zeros around them, in
// any layout, fc, fh and fw being the steps of x over channels, rows and
// columns: each is copied into scratch first. There it has gh rows, xh apart, of
// which given columns are those of x.
func ConvGather(y, x, w, bias, scratch []float32, batch, cin, cout, oh, ow, kh, kw, sh, sw, dh, dw, runs, run, xb, xh, xw,
	gh, ih, ph, pw, given, fc, fh, fw int, add []float32, low, high float32, epilogue func(run []float32, o, c int)) {
	f := finish{y, add, low, high}
	for b := range batch {
		from := x[b*xb:]
		for r := range gh {
			to := scratch[r*xh:][:xh]
			if r < ph || r-ph >= ih {
				clear(to)
				continue
			}
			gather(to, from[(r-ph)*fh:], cin, pw, given, fc, fw)
		}
		image(&f, epilogue, b*oh*ow*cout, scratch, w, bias, cin, cout, oh, ow, kh, kw, sh, sw, dh, dw, runs, run, xh, xw)
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

// image convolves one image into the results from o on.
func image(f *finish, e epilogue, o int, x, w, bias []float32, cin, cout, oh, ow, kh, kw, sh, sw, dh, dw, runs, run, xh, xw int) {
	t := tile{next: sw * xw, step: cout, outer: kh, xOuter: dh * xh, middle: runs, xMiddle: dw * xw, depth: run}
	length := part(ow, tileRows)
	for j := 0; j < cout; j += panel {
		columns, width := panelOf(cout, j)
		t.w, t.bias, t.width = w[j*kh*kw*cin:], bias[j:], width
		for p := range oh {
			for q := 0; q < ow; q += length {
				t.rows = min(length, ow-q)
				t.x = x[p*sh*xh+q*sw*xw:]
				f.product(&t, o+(p*ow+q)*cout+j, j, columns, e)
			}
		}
	}
}
