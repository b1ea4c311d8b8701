// Package fir has kernels of custom operators in Go: a fixed-point FIR filter, and small ones that
// show what arguments and results can be. etgen finds them with --kernels=golden/custom/fir.
// For package rt, etgen registry --kernels=golden/custom/fir -o kernels_gen.go writes kernels that
// call them.
package fir

import "errors"

// Filter is a FIR filter of samples and taps of 16 bits. Sums have 64 bits; they are rounded to the
// nearest, and saturated. delay holds the samples before x, one less than there are taps.
//
//etgen:kernel fir::filter(Tensor x, Tensor taps, Tensor(a!) delay, int shift) -> Tensor
func Filter(x, taps, delay []int16, shift int64, out []int16) error {
	if shift < 1 || shift > 31 || len(delay) != len(taps)-1 {
		return errors.New("the shift has to be 1 to 31, and delay to hold one sample less than taps")
	}
	sample := func(i int) int64 {
		if i < len(delay) {
			return int64(delay[i])
		}
		return int64(x[i-len(delay)])
	}
	for i := range out {
		sum := int64(1) << (shift - 1)
		for k, t := range taps {
			sum += sample(i+k) * int64(t)
		}
		out[i] = int16(min(max(sum>>shift, -32768), 32767))
	}
	for i := range delay { // ascending: what is read lies ahead of what is written
		delay[i] = int16(sample(len(x) + i))
	}
	return nil
}

// Tensor is a tensor of float32 with its sizes.
type Tensor struct {
	Data  []float32
	Sizes []int
}

// Range returns the least and the greatest element of a part of x, times scale.
//
//etgen:kernel fir::range(Tensor x, int[] ends, float scale, str name, bool both=True, Tensor? bias=None) -> (Tensor, Tensor)
func Range(x Tensor, ends []int, scale float64, name string, both bool, bias []float32,
	low, high []float32) {
	var least, most float32
	for i := ends[0]; i < min(ends[1], x.Sizes[0]); i++ {
		v := x.Data[i]
		if bias != nil {
			v += bias[i]
		}
		if i == ends[0] {
			least, most = v, v
		}
		least, most = min(least, v), max(most, v)
	}
	if !both {
		least = 0
	}
	low[0] = least * float32(scale)
	high[0] = most * float32(scale) * float32(len(name))
}

// Scale multiplies x.
//
//etgen:kernel fir::scale_(Tensor(a!) x, float by) -> ()
func Scale(x []float32, by float64) {
	for i := range x {
		x[i] *= float32(by)
	}
}

// Track adds x to a sum that decays, and keeps the greatest elements. It tells how far the sum is
// below these, and where x is a new one.
//
//etgen:kernel fir::track(Tensor x, Tensor(a!) sum, Tensor(b!) most, float decay) -> (Tensor, Tensor)
func Track(x, sum, most []float32, decay float64, below []float32, isNew []bool) {
	for i, v := range x {
		sum[i] = float32(sum[i]*float32(decay)) + v
		isNew[i] = v > most[i]
		most[i] = max(most[i], v)
		below[i] = most[i] - sum[i]
	}
}

// SquareSizes tells the sizes of what Square returns, for runtimes in which they are dynamic.
//
//etgen:shape fir::square
func SquareSizes(x []int) []int { return x }

// Square squares x.
//
//etgen:kernel fir::square(Tensor x) -> Tensor
func Square(x, out []float32) {
	for i, v := range x {
		out[i] = v * v
	}
}
