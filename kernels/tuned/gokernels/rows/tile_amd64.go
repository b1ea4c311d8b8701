//go:build !purego

package rows

// level is what the machine has: 2 AVX-512, 1 AVX2 and FMA, 0 neither. It is
// never written.
var level = machine()

func machine() int {
	const (
		fma, osxsave = 1 << 12, 1 << 27     // leaf 1, ecx
		avx2         = 1 << 5               // leaf 7, ebx
		avx512       = 1<<8 | 1<<16 | 1<<17 // bit manipulation, foundation, doublewords and quadwords
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

// largest512 is largest with AVX-512, for up to 6 rows.
//
//go:noescape
func largest512(t *tile)

// largest256 is largest with AVX2, for up to 6 rows of a multiple of 16
// channels.
//
//go:noescape
func largest256(t *tile)

// cpuid executes CPUID.
func cpuid(leaf, part uint32) (a, b, c, d uint32)

// xgetbv returns the low half of extended control register 0.
func xgetbv() uint32
