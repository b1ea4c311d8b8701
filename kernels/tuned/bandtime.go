package tuned

import "math"

// What kernels for microcontrollers do besides their products, in instructions of a
// Cortex-M4, as counted in an emulator: whole networks take 1.4 times as many as
// Instructions says, and bands change them as it says within a few percent.
const (
	Moved   = 4 // of an element that a band leaves to the next
	perTile = 60
	perCall = 100
	perByte = 3 // of products of bytes, wherever they are made
)

// Instructions estimates what the kernel of a convolution takes on a
// microcontroller. Results that have not enough neighbours in a row, or a band of
// rows, are made alone, with more instructions for each product.
func (in *Instance) Instructions() float64 {
	if in.Rest {
		return perCall + perByte*cost(in.MACs)
	}
	number := func(name string) float64 { return cost(in.param(name)) }
	rows, cols := number("oh"), number("ow")
	inner := max(0, number("right")-number("left")) // results of a row that see all taps
	var size, tiles, alone, blocks float64          // results in a tile; tiles, others in a row; tiles side by side
	var together, single float64                    // instructions for each product
	if in.Kernel.Name == "depthwise_conv2d_f32" {
		size, blocks = float64(in.Tile.Cols), number("channels")*number("mult")
		if tiles, alone = math.Ceil(inner/size), cols-inner; inner < size {
			tiles, alone = 0, cols
		}
		together, single = (2*size+4)/size, 5
	} else {
		wide := float64(in.Tile.Cols)
		size, blocks = float64(in.Tile.Rows), math.Ceil(number("cout")/wide)*number("groups")
		tiles = math.Floor(inner / size)
		alone = cols - tiles*size
		together, single = (size+wide+size*wide+3)/(size*wide), (2*wide+4)/wide
	}
	products := cost(in.MACs) / (rows * cols)
	return perCall + rows*((tiles*size*together+alone*single)*products+(tiles+alone)*blocks*perTile)
}
