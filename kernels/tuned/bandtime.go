package tuned

import "math"

// What kernels for microcontrollers do besides their products, in instructions of a
// Cortex-M4, as counted in an emulator: whole networks take 1.4 times as many as
// Instructions says, and bands change them as it says within a few percent.
const (
	Moved   = 4 // of an element that a band leaves to the next
	perTile = 60
	perCall = 100
	perByte = 3 // of each product of kernels without tiling, those of bytes
)

// tiling is how a kernel of convolution without vectors makes a row of results.
type tiling struct {
	size     float64 // results in a tile
	blocks   float64 // tiles side by side
	together float64 // instructions for each product of a tile
	alone    float64 // and of a result alone
	overlap  bool    // the last tile of a row may lie over the one before, so none is left over
}

// slidingTiles are those of the kernel with a window for each channel.
func slidingTiles(in *Instance) tiling {
	size := float64(in.Tile.Cols)
	return tiling{size: size, blocks: in.number("channels") * in.number("multiplier"),
		together: (2*size + 4) / size, alone: 5, overlap: true}
}

// productTiles are those of the kernel that multiplies rows with columns of weights.
func productTiles(in *Instance) tiling {
	size, wide := float64(in.Tile.Rows), float64(in.Tile.Cols)
	return tiling{size: size, blocks: math.Ceil(in.number("out_channels")/wide) * in.number("groups"),
		together: (size + wide + size*wide + 3) / (size * wide), alone: (2*wide + 4) / wide}
}

// row returns how many tiles, and results made alone, a row has, inner of whose cols
// results see all taps.
func (t tiling) row(inner, cols float64) (tiles, alone float64) {
	switch {
	case !t.overlap:
		tiles = math.Floor(inner / t.size)
		return tiles, cols - tiles*t.size
	case inner < t.size:
		return 0, cols
	}
	return math.Ceil(inner / t.size), cols - inner
}

// Instructions estimates what the kernel of a convolution takes on a
// microcontroller. Results that have not enough neighbours in a row, or a band of
// rows, are made alone, with more instructions for each product.
func (in *Instance) Instructions() float64 {
	if in.Kernel.tiling == nil {
		return perCall + perByte*cost(in.MACs)
	}
	t := in.Kernel.tiling(in)
	rows, cols := in.number("out_h"), in.number("out_w")
	tiles, alone := t.row(max(0, in.number("interior_end")-in.number("interior_begin")), cols)
	products := cost(in.MACs) / (rows * cols)
	return perCall + rows*((tiles*t.size*t.together+alone*t.alone)*products+(tiles+alone)*t.blocks*perTile)
}

// number is an integer parameter, the largest value if it is not constant.
func (in *Instance) number(name string) float64 { return cost(in.param(name)) }
