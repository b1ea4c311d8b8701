//go:build (!amd64 && !arm64) || purego

package rows

import "math"

// tileRows is the most rows of a product's tile.
const tileRows = 2

// windowRows is the most rows of a window's tile.
const windowRows = 1

// windowUnit is what the widths of windows with vectors are multiples of.
const windowUnit = 1

func productFast(*tile) bool { return false }

func windowFast(*tile) bool { return false }

func largestFast(*tile) bool { return false }

func liftFast(*lift, int) bool { return false }

func landFast(*land, int) bool { return false }

// sweepUnit is what channels of sweeps are multiples of: there are none.
const sweepUnit = math.MaxInt

// rescales reports that nothing rescales.
func rescales() bool { return false }

func sweepFast(*sweep) {}

// fewLanes is the results that a vector of few channels has.
const fewLanes = 16

// fewVectors is the most vectors of a tile of few channels.
const fewVectors = fewCols / fewLanes

func fewFast(*few) bool { return false }

func fewBlock(*few) {}

// transposes reports that vectors do not rescale what transpose turns.
func transposes() bool { return false }

func transposeFast(*transpose) bool { return false }

func unzipFast(_, _, _ []float32) int { return 0 }

// partsFast is in how many elements products of bytes take four: as floats alone.
func partsFast(_, _ bool) int { return 4 }

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

// byteFrom is what would be added to bytes of images.
const byteFrom = 0

// productBytes is never called.
func productBytes(*tile) {}

func pixelsFast(_, _ []float32, _, _, _, _ int) int { return 0 }

// rowFast is never called.
func rowFast(_, _ []float32, _ int) {}

// wordsFast is never called.
func wordsFast(_, _, _ []float32, _ int) {}

func spreadFast(_, _ []float32, _, _ int) bool { return false }
