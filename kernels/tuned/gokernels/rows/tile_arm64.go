//go:build !purego

package rows

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
