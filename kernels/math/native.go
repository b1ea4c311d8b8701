package math

import (
	"math"

	"github.com/etgen/etgen/kernels/expr"
)

// Native returns the function that Go code generated for fn would be, nil if
// there is none here: the same bits, without a reader of expressions in between.
func Native(fn *expr.Func) func(float32) float32 {
	switch fn {
	case single["exp"]:
		return exp
	case single["tanh"]:
		return tanh
	case single["erf"]:
		return erf
	}
	return nil
}

// OnSlices returns f on slices: dst[i] = f(a[i]).
func OnSlices(f func(float32) float32) func(dst, a []float32) {
	return func(dst, a []float32) {
		for i, x := range a[:len(dst)] {
			dst[i] = f(x)
		}
	}
}

// exp returns exp(x) within 1 ulp.
func exp(x float32) float32 {
	t := x
	if x > 90 {
		t = 90
	} else if x < -176.05939 {
		t = -176.05939
	}
	t1 := float32(t*1.442695) + 1.2582912e+07
	t2 := t1 - 1.2582912e+07
	t3 := t - float32(t2*0.69311523) - float32(t2*3.1946183e-05)
	t4 := int32(math.Float32bits(t1)) - 1262485504
	t5 := t4 >> 1
	s := float32((float32((float32(0.0013926927*t3)+0.008363774)*t3) + 0.04166655) * t3)
	return float32((1 + (t3 + float32(t3*t3*(float32((s+0.16666573)*t3)+0.5)))) *
		math.Float32frombits(uint32((t5+127)<<23)) * math.Float32frombits(uint32((t4-t5+127)<<23)))
}

// tanh returns tanh(x) within 3 ulp.
func tanh(x float32) float32 {
	t := float32(math.Abs(float64(x)))
	t = min(20, t+t)
	t1 := float32(t*1.442695) + 1.2582912e+07
	t2 := t1 - 1.2582912e+07
	t3 := t - float32(t2*0.69311523) - float32(t2*3.1946183e-05)
	s := float32((float32((float32(0.0013926927*t3)+0.008363774)*t3) + 0.04166655) * t3)
	p := t3 + float32(t3*t3*(float32((s+0.16666573)*t3)+0.5))
	s2 := math.Float32frombits((math.Float32bits(t1) - 1262485504 + 127) << 23)
	e := float32(s2*p) + (s2 - 1)
	return copysign(e/(e+2), x)
}

// erf returns erf(x) within 2 ulp.
func erf(x float32) float32 {
	t := float32(math.Abs(float64(x)))
	if !(t < 0.925) {
		if x != x {
			return x
		}
		t3 := min(3.95, t)
		s := float32((float32(-3.0463409e-07*t3)+5.0154595e-06)*t3) - 1.6958213e-05
		s2 := float32((float32((float32(s*t3)-0.00025759122)*t3) + 0.0036181423) * t3)
		s3 := float32((float32((s2-0.023935594)*t3)+0.10658348)*t3) + 0.63488615
		return copysign(1-exp(-float32(t3*(float32(s3*t3)+1.1287231))), x)
	}
	t2 := float32(x * x)
	s := float32((float32(8.3343686e-05*t2)-0.0008134626)*t2) + 0.0052003614
	s2 := float32((float32((float32(s*t2)-0.02685915)*t2) + 0.11283691) * t2)
	return x + float32(x*(float32((s2-0.37612635)*t2)+0.12837917))
}

// copysign returns y, which is positive, with the sign of x.
func copysign(y, x float32) float32 {
	return math.Float32frombits(math.Float32bits(y)&(1<<31-1) | math.Float32bits(x)&(1<<31))
}
