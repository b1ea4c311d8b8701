//go:build !purego

package rows

import "math"

// level is what the machine has: 2 AVX-512, 1 AVX2 and FMA, 0 neither. It is
// never written.
var level = machine()

func machine() int {
	const (
		fma, osxsave = 1 << 12, 1 << 27 // leaf 1, ecx
		avx2         = 1 << 5           // leaf 7, ebx
		// bit manipulation, foundation, doublewords and quadwords
		avx512 = 1<<8 | 1<<16 | 1<<17
	)
	most, _, _, _ := cpuid(0, 0)
	if most < 7 {
		return 0
	}
	_, _, c, _ := cpuid(1, 0)
	if c&fma == 0 || c&osxsave == 0 {
		return 0
	}
	_, b, _, _ := cpuid(7, 0)
	saved := xgetbv() // registers that the operating system saves
	switch {
	case b&avx512 == avx512 && b&avx2 != 0 && saved&0xe6 == 0xe6:
		return 2
	case b&avx2 != 0 && saved&6 == 6:
		return 1
	}
	return 0
}

// tileRows is the most rows of a product's tile.
var tileRows = [...]int{2, 6, maxRows}[level]

// windowRows is the most rows of a window's tile.
var windowRows = [...]int{1, 6, 6}[level]

// windowUnit is what the widths of windows with vectors are multiples of.
var windowUnit = [...]int{1, 16, 1}[level]

// productFast computes a product with vectors, or reports that it cannot.
func productFast(t *tile) bool {
	switch level {
	case 2:
		product512(t)
	case 1:
		productBlocks(t)
	default:
		return false
	}
	return true
}

// productBlocks is product with AVX2 and FMA.
func productBlocks(t *tile) {
	for j := 0; j < t.columns; j += panel / 2 {
		part := t.block(j)
		if part.columns == panel/2 {
			product256(&part)
			continue
		}
		var sums [maxRows * panel]float32
		whole := part.aside(&sums)
		product256(&whole)
		part.take(&sums, 0, part.columns)
	}
}

// windowFast computes a window with vectors, or reports that it cannot.
func windowFast(t *tile) bool {
	switch {
	case level == 2:
		window512(t)
	case level == 1 && t.width%windowUnit == 0:
		window256(t)
	default:
		return false
	}
	return true
}

// largestFast computes what largest does with vectors, or reports that it cannot.
func largestFast(t *tile) bool {
	switch {
	case level == 2:
		largest512(t)
	case level == 1 && t.width%windowUnit == 0:
		largest256(t)
	default:
		return false
	}
	return true
}

// largestAreas reports whether there are the largest of any number of rows, in several lines.
func largestAreas() bool { return level == 2 }

// liftFast takes an image's elements to points with vectors, or reports that it
// cannot.
func liftFast(t *lift, side int) bool {
	switch {
	case level == 0 || t.channels%(panel/2) != 0 || t.channels == 0:
		return false
	case level == 2 && side == 6:
		liftSix512(t)
	case level == 2:
		liftFour512(t)
	case side == 6:
		liftSix256(t)
	default:
		liftFour256(t)
	}
	return true
}

// landFast takes sums at points to results with vectors, or reports that it cannot.
func landFast(t *land, side int) bool {
	switch {
	case level == 2 && side == 6:
		landSix512(t)
	case level == 2:
		landFour512(t)
	case level == 1:
		landBlocks(t, side)
	default:
		return false
	}
	return true
}

// landBlocks is landFast with AVX2 and FMA.
func landBlocks(t *land, side int) {
	whole := *t
	if whole.channels -= whole.channels % (panel / 4); whole.channels > 0 {
		if side == 6 {
			landSix256(&whole)
		} else {
			landFour256(&whole)
		}
	}
	landPlain(t, side, whole.channels)
}

// sweepUnit is what channels of sweeps are multiples of: where there are none, of
// more than there can be.
var sweepUnit = [...]int{math.MaxInt, 8, 1}[level]

// rescales reports whether sweeps rescale, and products but those of pairs.
func rescales() bool { return level == 2 }

// sweepFast computes a sweep.
func sweepFast(t *sweep) {
	if level == 2 {
		sweep512(t)
	} else {
		sweep256(t)
	}
}

// sweep512 is a sweep with AVX-512.
//
//go:noescape
func sweep512(t *sweep)

// sweep256 is a sweep for a multiple of 8 channels with AVX2 and FMA.
//
//go:noescape
func sweep256(t *sweep)

// fewLanes is the results that a vector of few channels has.
var fewLanes = [...]int{16, 8, 16}[level]

// fewVectors is the most vectors of a tile of few channels.
const fewVectors = fewCols / 16

// fewFast computes a tile of few channels with vectors, or reports that it cannot.
func fewFast(t *few) bool {
	switch level {
	case 2:
		few512(t)
	case 1:
		t.blocks()
	default:
		return false
	}
	return true
}

// transposes reports whether vectors rescale what transpose turns.
func transposes() bool { return level > 0 }

// transposeFast turns sums with vectors, or reports that it cannot.
func transposeFast(t *transpose) bool {
	switch level {
	case 2:
		transpose512(t)
	case 1:
		transpose256(t)
	default:
		return false
	}
	return true
}

// unzipFast takes pairs of elements with vectors, and returns how many.
func unzipFast(even, odd, from []float32) int {
	done := 0
	if blocks := len(odd) / 16; level == 2 && blocks > 0 {
		unzip512(even, odd, from, blocks)
		done = blocks * 16
	}
	if blocks := (len(odd) - done) / 8; level > 0 && blocks > 0 {
		unzip256(even[done:], odd[done:], from[2*done:], blocks)
		done += blocks * 8
	}
	return done
}

// partsFast is in how many elements products of bytes take four, of a single row or of several, of
// few channels or of more: see tile.
func partsFast(single, few bool) int {
	switch {
	case dot:
		return 1
	case !few && (level == 1 || level == 2 && single):
		return 2
	}
	return 4
}

// keepsBytes reports whether kernels of bytes leave them to each other.
func keepsBytes() bool { return dot }

// dot tells whether the machine has AVX-512's products of four bytes. It is never written.
var dot = level == 2 && haveDot()

func haveDot() bool {
	const vnni = 1 << 11 // leaf 7, ecx
	_, _, c, _ := cpuid(7, 0)
	return c&vnni != 0
}

// productBytes is product of pairs or of bytes.
func productBytes(t *tile) {
	if t.parts == 1 {
		t.left, t.xAt, t.yAt = t.rows, 0, 0
		bytes512(t)
		return
	}
	for j := 0; j < t.columns; j += panel / 2 {
		part := t.block(j)
		if part.columns == panel/2 {
			pairsBlock(&part)
			continue
		}
		var sums [maxRows * panel]float32
		whole := part.aside(&sums)
		pairsBlock(&whole)
		part.take(&sums, 0, part.columns)
	}
}

// pairsBlock is a product of pairs for 16 columns.
func pairsBlock(t *tile) {
	if t.bytes {
		pairRow256(t)
	} else {
		pairs256(t)
	}
}

// linesFast reports whether products of so many parts may have rows for several tiles.
func linesFast(parts int) bool { return parts == 1 }

// byteFrom is what is added to bytes of images: instructions take them without signs.
const byteFrom = 128

// pixelsFast copies count pixels as bytes, or one as pairs, and returns how many elements of the
// copy it has made. Their channels lie so far apart: if that is not 1, pixels lie beside each
// other.
func pixelsFast(to, from []float32, channels, apart, count, offset int) int {
	const unit = 8
	switch {
	case dot && len(to) > 0 && apart != 1:
		if channels > 4 {
			return 0
		}
		_ = from[:(channels-1)*apart+count]
		bytePlanes512(to, from, channels, apart, count, offset)
		return len(to)
	case dot && len(to) > 0:
		_ = from[:channels*count]
		bytePixels512(to, from, channels, count, 0, offset)
		return len(to)
	case level >= 1 && count == 1 && apart == 1 && channels >= 2*unit:
		_, _ = from[:channels], to[:channels/2]
		pairNeighbours256(to, from, channels/(2*unit))
		return channels / (2 * unit) * unit
	}
	return 0
}

// rowFast makes bytes of numbers, having added offset, and leaves what is behind them.
func rowFast(to, from []float32, offset int) {
	_ = to[:(len(from)+3)/4]
	bytePixels512(to, from, len(from), 1, 0, offset)
}

// linesOfBytes adds offset to the numbers of count lines and makes bytes of them. A line of the
// copy has line elements.
func linesOfBytes(to, from []float32, numbers, count, line, offset int) {
	_, _ = to[:(count-1)*line+(numbers+3)/4], from[:count*numbers]
	bytePixels512(to, from, numbers, count, line-(numbers+3)/4, offset)
}

// wordsFast makes words of the bytes of from, at places behind byte at.
func wordsFast(to, from, places []float32, at int) {
	_ = places[:len(to)]
	wordsAt512(to, from, places, at, len(to))
}

// fewBytesFast computes results of few channels.
func fewBytesFast(t *fewBytes) { fewBytes512(t) }

// spreadFast spreads rows of bytes with vectors, or reports that it cannot.
func spreadFast(to, from []float32, width, parts int) bool {
	if level == 0 {
		return false
	}
	if _ = to[:parts*len(from)]; parts == 2 {
		spreadPairs256(to, from, width, len(from)/width)
	} else {
		spreadFloats256(to, from, width, len(from)/width)
	}
	return true
}

// fewBlock computes a block of a tile.
func fewBlock(t *few) { few256(t) }

// few512 is a tile of few channels with AVX-512.
//
//go:noescape
func few512(t *few)

// few256 is the tile for up to 4 channels and whole vectors with AVX2 and FMA.
//
//go:noescape
func few256(t *few)

// transpose256 is a transpose with AVX2.
//
//go:noescape
func transpose256(t *transpose)

// transpose512 is a transpose with AVX-512.
//
//go:noescape
func transpose512(t *transpose)

// unzip512 takes blocks of 16 pairs with AVX-512.
//
//go:noescape
func unzip512(even, odd, from []float32, blocks int)

// unzip256 takes blocks of 8 pairs with AVX2.
//
//go:noescape
func unzip256(even, odd, from []float32, blocks int)

// pairs256 is a product of pairs of integers for 16 columns with AVX2, for up to 6 rows.
//
//go:noescape
func pairs256(t *tile)

// pairRow256 is a product of a row of pairs with bytes for 16 columns with AVX2.
//
//go:noescape
func pairRow256(t *tile)

// pairNeighbours256 makes blocks of 8 pairs with AVX2.
//
//go:noescape
func pairNeighbours256(pairs, from []float32, blocks int)

// bytes512 is product of bytes with AVX-512.
//
//go:noescape
func bytes512(t *tile)

// bytePixels512 makes bytes of pixels with AVX-512, having added offset: as many elements as
// channels, in whole elements, behind which so many are skipped.
//
//go:noescape
func bytePixels512(to, from []float32, channels, count, skip, offset int)

// bytePlanes512 makes words of bytes of so many planes with AVX-512, at most 4 that lie apart,
// having added offset: one of each of count pixels.
//
//go:noescape
func bytePlanes512(to, from []float32, planes, apart, count, offset int)

// wordsAt512 makes count words of those that begin at bytes of from, so many places behind byte at,
// with AVX-512. Places are int32.
//
//go:noescape
func wordsAt512(to, from, places []float32, at, count int)

// largestBytesFast computes the largest of bytes.
func largestBytesFast(t *tile) { largestBytes512(t) }

// largestBytes512 is largestBytes with AVX-512, for any number of rows and lines.
//
//go:noescape
func largestBytes512(t *tile)

// spaceFast copies count pixels of bytes, which begin behind so many, and zeros behind each up to
// so many bytes.
func spaceFast(to, from []float32, channels, pixel, count, first int) {
	_, _ = to[:count*pixel/4], from[:(first+count*channels+3)/4]
	space512(to, from, channels, pixel, count, first)
}

// space512 is spaceFast with AVX-512 for pixels of at most 64 bytes.
//
//go:noescape
func space512(to, from []float32, channels, pixel, count, first int)

// depthwiseBytesFast computes results of at most byteBlock channels.
func depthwiseBytesFast(t *depthwiseBytes) { depthwiseBytes512(t) }

// depthwiseBytes512 is depthwiseBytes with AVX-512.
//
//go:noescape
func depthwiseBytes512(t *depthwiseBytes)

// fewBytes512 is fewBytes with AVX-512.
//
//go:noescape
func fewBytes512(t *fewBytes)

// spreadPairs256 makes two rows of pairs of each row of bytes with AVX2.
//
//go:noescape
func spreadPairs256(to, from []float32, width, rows int)

// spreadFloats256 makes four rows of floats of each row of bytes with AVX2.
//
//go:noescape
func spreadFloats256(to, from []float32, width, rows int)

// product512 is product with AVX-512.
//
//go:noescape
func product512(t *tile)

// product256 is product for 16 columns with AVX2 and FMA, for up to 6 rows.
//
//go:noescape
func product256(t *tile)

// window512 is window with AVX-512, for up to 6 rows.
//
//go:noescape
func window512(t *tile)

// window256 is window with AVX2 and FMA, for up to 6 rows of a multiple of 16
// channels.
//
//go:noescape
func window256(t *tile)

// largest512 is largest with AVX-512, for any number of rows and lines.
//
//go:noescape
func largest512(t *tile)

// largest256 is largest with AVX2, for up to 6 rows of a multiple of 16
// channels.
//
//go:noescape
func largest256(t *tile)

// liftSix512 is lift for 6 by 6 points with AVX-512, for a multiple of 16 channels.
//
//go:noescape
func liftSix512(t *lift)

// liftFour512 is liftSix512 for 4 by 4 points.
//
//go:noescape
func liftFour512(t *lift)

// liftSix256 is lift for 6 by 6 points with AVX2 and FMA, for a multiple of 8
// channels.
//
//go:noescape
func liftSix256(t *lift)

// liftFour256 is liftSix256 for 4 by 4 points.
//
//go:noescape
func liftFour256(t *lift)

// landSix512 is land for 6 by 6 points with AVX-512.
//
//go:noescape
func landSix512(t *land)

// landFour512 is landSix512 for 4 by 4 points.
//
//go:noescape
func landFour512(t *land)

// landSix256 is land for 6 by 6 points with AVX2 and FMA, for a multiple of 8
// channels.
//
//go:noescape
func landSix256(t *land)

// landFour256 is landSix256 for 4 by 4 points.
//
//go:noescape
func landFour256(t *land)

// cpuid executes CPUID.
func cpuid(leaf, part uint32) (a, b, c, d uint32)

// xgetbv returns the low half of extended control register 0.
func xgetbv() uint32
