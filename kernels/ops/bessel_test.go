package ops

import (
	"math"
	"testing"
)

// The coefficients are exact to double precision: of what Go's library has, and of Wronskians.
func TestBesselCoefficients(t *testing.T) {
	for _, x := range []float64{8.5, 20, 300} {
		for order := range 2 {
			h := hankel(float64(order), complex(0, -x))
			phase := x - math.Pi/4 - float64(order)*math.Pi/2
			j := math.Sqrt(2/math.Pi/x) * (real(h)*math.Cos(phase) - imag(h)*math.Sin(phase))
			if want := math.Jn(order, x); math.Abs(j-want) > 1e-15 {
				t.Errorf("J%d(%v) is %v, want %v", order, x, j, want)
			}
		}
	}
	for x := 0.5; x <= 2; x += 0.25 { // both forms of K
		for order := range 2 {
			far := math.Sqrt(math.Pi/2/x) * math.Exp(-x) * real(hankel(float64(order), complex(x, 0)))
			i := powers(x, order, func(int) float64 { return 1 })
			near := powers(x, 0, psi) - math.Log(x/2)*i
			if order == 1 {
				near = 1/x + math.Log(x/2)*x/2*i -
					x/4*powers(x, 1, func(k int) float64 { return psi(k) + psi(k+1) })
			}
			if math.Abs(far-near) > 1e-14*near {
				t.Errorf("K%d(%v) is %v near 0, %v far from it", order, x, near, far)
			}
		}
	}
	for i, s := range []chebyshev{waves[0].p, waves[0].q, waves[1].p, waves[1].q, nearJ0, nearJ1,
		smallY0, smallY1, nearI[0], nearI[1], smallK[0], smallK[1], decays[0], decays[1], airySeries,
		airyWave.p, airyWave.q, airyDecay} {
		if cs := s.coefficients(); math.Abs(cs[len(cs)-1]) > 1e-15 {
			t.Errorf("series %d does not end: %v", i, cs)
		}
	}
}
