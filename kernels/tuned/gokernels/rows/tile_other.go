//go:build !amd64 || purego

package rows

// tileRows is the most rows of a product's tile, windowRows of a window's.
const tileRows, windowRows = 2, 1

func (t *tile) productFast() bool { return false }

func (t *tile) windowFast() bool { return false }
