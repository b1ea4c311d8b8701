package rows

import "math"

// ConvBytes convolves images of floats that are whole numbers: bytes less padValue, which stands
// for padding. Weights are bytes, four of neighbouring taps of a column in an element, channels
// of a pixel being a multiple of four with zeros, in panels as those of Conv: w[ceil(out_channels/
// 32)][depth/4][32]. Sums of bytes to which 128 is added begin at start, which are int32.
//
// What results see is copied as the machine multiplies it: as bytes, as pairs of 16 bits, or as
// floats if they are not there already. For the last two a panel of weights is spread out at a time,
// but for a single row of pairs.
// It returns whether results are rescaled: see Epilogue.
func ConvBytes(y, x, w, start, scratch []float32, a *ConvI8Params, f *Epilogue) (rescaled bool) {
	single := a.outH*a.outW == 1
	s := sight{a: a, parts: partsFast(single), words: (a.inChannels + 3) / 4,
		height: (a.outH-1)*a.strideH + (a.kernelH-1)*a.dilationH + 1,
		width:  (a.outW-1)*a.strideW + (a.kernelW-1)*a.dilationW + 1}
	pixel, cout := s.parts*s.words, a.outChannels
	line := s.width * pixel
	taps := a.kernelH * a.kernelW * s.words
	t := tile{next: a.strideW * pixel, step: a.outStrideCol, outer: a.kernelH,
		xOuter: a.dilationH * line, middle: 1, depth: a.kernelW * pixel, low: f.low, high: f.high,
		parts: s.parts, bytes: single && s.parts == 2}
	if a.dilationW > 1 {
		t.middle, t.xMiddle, t.depth = a.kernelW, a.dilationW*pixel, pixel
	}
	rescaled = f.scale != nil && s.parts == 1 && a.outStrideChannel == 1
	t.least, t.most, t.plus = f.least, f.most, f.plus
	seen := scratch
	if a.direct && s.parts == 4 {
		seen = nil
	}
	spread := scratch[len(scratch)-4*panel*taps:]
	length := lengths(a.outW, tileRows)
	var sums [maxRows * panel]float32
	for b := range a.batch {
		image := x[b*a.inStrideBatch:]
		if seen != nil {
			s.copy(seen, image)
			image = seen
		}
		for j := 0; j < cout; j += panel {
			t.columns, t.width = panelOf(cout, j)
			t.w, t.bias = w[j*taps:][:taps*t.width], start[j:]
			if s.parts > 1 {
				t.bias = outside[:]
			}
			if s.parts > 1 && !t.bytes {
				spreadBytes(spread[:len(t.w)*s.parts], t.w, t.width, s.parts)
				t.w = spread[:len(t.w)*s.parts]
			}
			if rescaled {
				t.shift, t.scale = f.shift[j:], f.scale[j:]
				_, _ = t.shift[:t.columns], t.scale[:t.columns]
			}
			for p := range a.outH {
				for q := 0; q < a.outW; q += length {
					t.rows = min(length, a.outW-q)
					t.x = image[p*a.strideH*line+q*t.next:]
					o := b*a.outStrideBatch + p*a.outStrideRow + q*a.outStrideCol + j*a.outStrideChannel
					if a.outStrideChannel != 1 {
						whole := t.aside(&sums)
						productOf(&whole)
						f.take(y, &t, &sums, o, j, a.outStrideChannel)
						continue
					}
					t.y, t.add = f.aim(y, o)
					productOf(&t)
					if f.apply != nil {
						f.call(y, &t, o, j)
					}
				}
			}
		}
	}
	return rescaled
}

// productOf is product of elements of any parts.
func productOf(t *tile) {
	if t.parts == 4 {
		product(t)
		return
	}
	if t.bytes { // an element has twice as many products
		words := *t
		words.outer, words.middle, words.depth = 1, 1, t.outer*t.middle*t.depth/2
		words.checkProduct()
		_ = t.x[:(t.outer-1)*t.xOuter+(t.middle-1)*t.xMiddle+t.depth]
	} else {
		t.checkProduct()
	}
	productBytes(t)
}

// sight is what results of a convolution of bytes see: so many rows and columns of pixels of so
// many words, with padding. A word takes four elements of the image, and so many parts of the copy.
type sight struct {
	a                           *ConvI8Params
	parts, words, height, width int
}

// copy copies an image.
func (s *sight) copy(to, x []float32) {
	pixel := s.parts * s.words
	line := s.width * pixel
	if s.a.direct { // all rows are one
		s.pixels(to[:s.a.outH*line], x)
		return
	}
	begin := min(s.a.padW, s.width)
	end := max(begin, min(s.width, s.a.padW+s.a.inW))
	for r := range s.height {
		row, from := to[r*line:][:line], r-s.a.padH
		if from < 0 || from >= s.a.inH {
			s.blank(row)
			continue
		}
		s.blank(row[:begin*pixel])
		s.pixels(row[begin*pixel:end*pixel], x[from*s.a.inStrideRow:])
		s.blank(row[end*pixel:])
	}
}

// blank makes padding of a copy.
func (s *sight) blank(to []float32) {
	if s.parts > 1 {
		clear(to)
		return
	}
	pad := math.Float32frombits(uint32(uint8(s.a.padValue+128)) * 0x01010101)
	for i := range to {
		to[i] = pad
	}
}

// pixels copies neighbouring pixels.
func (s *sight) pixels(to, x []float32) {
	channels, pixel := s.a.inChannels, s.parts*s.words
	count, done := len(to)/pixel, 0
	if s.a.inStrideChannel == 1 && s.a.inStrideCol == channels {
		if channels%4 == 0 {
			channels, count = count*channels, 1
		}
		x = x[:count*channels]
		if count == 1 && s.parts == 4 {
			clear(to[copy(to, x):])
			return
		}
		if done = pixelsFast(to, x, channels, count, s.a.padValue+128); done == len(to) {
			return
		}
	}
	for i := range count {
		from, row := x[i*s.a.inStrideCol:], to[i*(len(to)/count):][:len(to)/count]
		switch s.parts {
		case 1:
			for k := done; k < len(row); k++ {
				row[k] = s.element(from, 4*k, channels, 8, s.a.padValue+128)
			}
		case 2:
			for k := done; k < len(row); k++ {
				row[k] = s.element(from, 2*k, channels, 16, 0)
			}
		default:
			if s.a.inStrideChannel == 1 {
				copy(row, from[:channels])
			} else {
				for c := range channels {
					row[c] = from[c*s.a.inStrideChannel]
				}
			}
			clear(row[channels:])
		}
	}
}

// element is that of a copy which has numbers of so many bits from a channel on, with an offset.
func (s *sight) element(from []float32, channel, channels, bits, offset int) float32 {
	all := uint32(0)
	for k := 0; k < 32 && channel < channels; k += bits {
		all |= uint32(int(from[channel*s.a.inStrideChannel])+offset) & (1<<bits - 1) << k
		channel++
	}
	return math.Float32frombits(all)
}

// spreadBytes makes rows of pairs of 16 bits, or of floats, of rows of bytes, width elements long:
// one row becomes so many parts.
func spreadBytes(to, from []float32, width, parts int) {
	if spreadFast(to, from, width, parts) {
		return
	}
	for i := 0; i < len(from); i += width {
		rows := to[i*parts:][:width*parts]
		for j, v := range from[i:][:width] {
			bits := math.Float32bits(v)
			for k := range 4 {
				rows[k*width+j] = float32(int8(bits >> (8 * k)))
			}
		}
	}
}
