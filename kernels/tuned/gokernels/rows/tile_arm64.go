//go:build !purego

package rows

import (
	"encoding/binary"
	"math"
	"os"
	"runtime"
)

// tileRows is the most rows of a product's tile.
const tileRows = 6

// windowRows is the most rows of a window's tile.
const windowRows = 6

// windowUnit is what the widths of windows with vectors are multiples of.
const windowUnit = 16

// productFast computes a product with vectors, which every machine has.
func productFast(t *tile) bool {
	for j := 0; j < t.columns; j += panel / 2 {
		part := t.block(j)
		if part.columns == panel/2 {
			productNEON(&part)
			continue
		}
		var sums [maxRows * panel]float32
		whole := part.aside(&sums)
		productNEON(&whole)
		part.take(&sums, 0, part.columns)
	}
	return true
}

// windowFast computes a window with vectors, or reports that it cannot.
func windowFast(t *tile) bool {
	if t.width%windowUnit != 0 {
		return false
	}
	windowNEON(t)
	return true
}

// largestFast computes what largest does with vectors, or reports that it cannot.
func largestFast(t *tile) bool {
	if t.width%windowUnit != 0 {
		return false
	}
	largestNEON(t)
	return true
}

// sweepUnit is what channels of sweeps are multiples of: there are none.
const sweepUnit = math.MaxInt

// rescales reports that nothing rescales.
func rescales() bool { return false }

func sweepFast(*sweep) {}

// fewLanes is the results that a vector of few channels has.
const fewLanes = 4

// fewVectors is the most vectors of a tile of few channels.
const fewVectors = 3

// fewFast computes a tile of few channels with vectors.
func fewFast(t *few) bool {
	t.blocks()
	return true
}

// fewBlock computes a block of a tile.
func fewBlock(t *few) { fewNEON(t) }

// transposes reports that vectors do not rescale what transpose turns.
func transposes() bool { return false }

// transposeFast turns sums with vectors, or reports that it cannot.
func transposeFast(t *transpose) bool {
	if t.channels != fewChannels && t.channels != fewChannels/2 || t.columns < fewLanes ||
		t.rescaled {
		return false
	}
	transposeNEON(t)
	if rest := t.columns % fewLanes; rest > 0 {
		done := t.columns - rest
		end := *t
		end.sums, end.y, end.columns = t.sums[done:], t.y[done*t.channels:], rest
		if t.add != nil {
			end.add = t.add[done*t.channels:]
		}
		end.plain()
	}
	return true
}

// unzipFast takes pairs of elements with vectors, and returns how many.
func unzipFast(even, odd, from []float32) int {
	const unit = 4
	blocks := len(odd) / unit
	if blocks == 0 {
		return 0
	}
	unzipNEON(even, odd, from, blocks)
	return blocks * unit
}

// fewNEON is a tile of up to 4 channels and whole vectors.
//
//go:noescape
func fewNEON(t *few)

// transposeNEON is a transpose for whole vectors of 4 or 8 channels.
//
//go:noescape
func transposeNEON(t *transpose)

// unzipNEON takes blocks of 4 pairs.
//
//go:noescape
func unzipNEON(even, odd, from []float32, blocks int)

// productNEON is product for 16 columns.
//
//go:noescape
func productNEON(t *tile)

// windowNEON is window for a multiple of 16 channels.
//
//go:noescape
func windowNEON(t *tile)

// largestNEON is largest for a multiple of 16 channels.
//
//go:noescape
func largestNEON(t *tile)

// liftFast takes an image's elements to points with vectors, or reports that it
// cannot.
func liftFast(t *lift, side int) bool {
	switch {
	case t.channels%(panel/8) != 0 || t.channels == 0:
		return false
	case side == 6:
		liftSixNEON(t)
	default:
		liftFourNEON(t)
	}
	return true
}

// landFast takes sums at points to results with vectors: of four channels at a time,
// the last ones without.
func landFast(t *land, side int) bool {
	whole := *t
	if whole.channels -= whole.channels % (panel / 8); whole.channels > 0 {
		if side == 6 {
			landSixNEON(&whole)
		} else {
			landFourNEON(&whole)
		}
	}
	landPlain(t, side, whole.channels)
	return true
}

// liftSixNEON is lift for 6 by 6 points, for a multiple of 4 channels.
//
//go:noescape
func liftSixNEON(t *lift)

// liftFourNEON is liftSixNEON for 4 by 4 points.
//
//go:noescape
func liftFourNEON(t *lift)

// landSixNEON is land for 6 by 6 points, for a multiple of 4 channels.
//
//go:noescape
func landSixNEON(t *land)

// landFourNEON is landSixNEON for 4 by 4 points.
//
//go:noescape
func landFourNEON(t *land)

// dot and square tell whether the machine has products of bytes: SDOT, and SMMLA too. They are
// never written.
var dot, square = haveBytes()

// haveBytes asks Linux for the machine's capabilities. Other systems do not tell; all Macs have
// SDOT.
func haveBytes() (dot, square bool) {
	if runtime.GOOS == "darwin" {
		return true, false
	}
	auxv, err := os.ReadFile("/proc/self/auxv")
	for ; err == nil && len(auxv) >= 16; auxv = auxv[16:] {
		bits := binary.LittleEndian.Uint64(auxv[8:])
		switch binary.LittleEndian.Uint64(auxv) {
		case 16: // AT_HWCAP
			dot = bits&(1<<20) != 0
		case 26: // AT_HWCAP2
			square = bits&(1<<13) != 0
		}
	}
	return dot, dot && square
}

// partsFast is in how many elements products of bytes take four: as bytes or floats.
func partsFast(_, _ bool) int {
	if dot {
		return 1
	}
	return 4
}

// largestAreas reports that there are the largest of few rows alone.
func largestAreas() bool { return false }

// keepsBytes reports that kernels of bytes leave each other floats.
func keepsBytes() bool { return false }

// linesOfBytes is never called.
func linesOfBytes(_, _ []float32, _, _, _, _ int) {}

// largestBytesFast is never called.
func largestBytesFast(*tile) {}

// spaceFast is never called.
func spaceFast(_, _ []float32, _, _, _, _ int) {}

// depthwiseBytesFast is never called.
func depthwiseBytesFast(*depthwiseBytes) {}

// fewBytesFast is never called.
func fewBytesFast(*fewBytes) {}

// linesFast reports that products have rows for one tile.
func linesFast(int) bool { return false }

// byteFrom is what is added to bytes of images: instructions take them with their signs.
const byteFrom = 0

// productBytes is product of bytes.
func productBytes(t *tile) {
	for j := 0; j < t.columns; j += panel / 2 {
		part := t.block(j)
		if part.columns == panel/2 {
			bytesBlock(&part)
			continue
		}
		var sums [maxRows * panel]float32
		whole := part.aside(&sums)
		bytesBlock(&whole)
		part.take(&sums, 0, part.columns)
	}
}

// bytesBlock is a product of bytes for 16 columns.
func bytesBlock(t *tile) {
	if square && t.rows > 1 {
		squaresNEON(t)
	} else {
		bytesNEON(t)
	}
}

// pixelsFast copies pixels as bytes: a single one, which all are if their channels lie beside each
// other without zeros. It returns how many elements of the copy it has made.
func pixelsFast(to, from []float32, channels, apart, count, offset int) int {
	const unit = 16
	blocks := channels / unit
	if !dot || count != 1 || apart != 1 || blocks == 0 {
		return 0
	}
	_, _ = from[:blocks*unit], to[:blocks*unit/4]
	wordsNEON(to, from, blocks, offset)
	return blocks * unit / 4
}

// rowFast makes bytes of numbers, having added offset, and leaves what is behind them.
func rowFast(to, from []float32, offset int) {
	n := len(from)
	for i := pixelsFast(to[:n/4], from, n/4*4, 1, 1, offset); 4*i < n; i++ {
		bits := math.Float32bits(word(from, 4*i, min(n-4*i, 4), 1, 8, offset))
		if rest := n - 4*i; rest < 4 {
			bits |= math.Float32bits(to[i]) >> (8 * rest) << (8 * rest)
		}
		to[i] = math.Float32frombits(bits)
	}
}

// wordsFast makes words of the bytes of from, at places behind byte at.
func wordsFast(to, from, places []float32, at int) {
	for i := range to {
		at := at + int(math.Float32bits(places[i]))
		low := uint64(math.Float32bits(from[at/4]))
		if at%4 > 0 {
			low |= uint64(math.Float32bits(from[at/4+1])) << 32
		}
		to[i] = math.Float32frombits(uint32(low >> (8 * (at % 4))))
	}
}

// bytesNEON is product of bytes for 16 columns.
//
//go:noescape
func bytesNEON(t *tile)

// squaresNEON is product of bytes for 16 columns of 2 to 6 rows, with SMMLA.
//
//go:noescape
func squaresNEON(t *tile)

// wordsNEON makes blocks of 16 bytes of floats, having added offset.
//
//go:noescape
func wordsNEON(to, from []float32, blocks, offset int)

// spreadFast spreads rows of bytes as floats.
func spreadFast(to, from []float32, width, parts int) bool {
	_ = to[:parts*len(from)]
	spreadNEON(to, from, width, len(from)/width)
	return true
}

// spreadNEON makes four rows of floats of each row of bytes.
//
//go:noescape
func spreadNEON(to, from []float32, width, rows int)
