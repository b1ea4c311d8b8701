//go:build !purego

package rows

// tileRows is the most rows of a product's tile.
const tileRows = 6

// windowRows is the most rows of a window's tile.
const windowRows = 6

// productFast computes a product with vectors, which every machine has.
func productFast(t *tile) bool {
	for j := 0; j < t.width; j += 16 {
		part := *t
		part.y, part.w, part.bias = t.y[j:], t.w[j:], t.bias[j:]
		if t.add != nil {
			part.add = t.add[j:]
		}
		productNEON(&part)
	}
	return true
}

// windowFast computes a window with vectors, or reports that it cannot.
func windowFast(t *tile) bool {
	if t.width%(panel/2) != 0 {
		return false
	}
	windowNEON(t)
	return true
}

// productNEON computes the first 16 columns of product.
//
//go:noescape
func productNEON(t *tile)

// windowNEON is window for a multiple of 16 channels.
//
//go:noescape
func windowNEON(t *tile)
