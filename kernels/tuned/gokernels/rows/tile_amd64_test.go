//go:build !purego

package rows

import "testing"

// productForms are the forms of products that this machine has.
func productForms() (out []form) {
	if level >= 1 {
		out = append(out, form{"product256", 6, 0, func(t *tile) {
			for j := 0; j < t.width; j += 16 {
				part := *t
				part.y, part.w, part.bias = t.y[j:], t.w[j:], t.bias[j:]
				if t.add != nil {
					part.add = t.add[j:]
				}
				product256(&part)
			}
		}})
	}
	if level >= 2 {
		out = append(out, form{"product512", 12, 0, func(t *tile) { product512(t) }})
	}
	return out
}

func windowForms() (out []form) {
	if level >= 1 {
		out = append(out, form{"window256", 6, 16, func(t *tile) { window256(t) }})
	}
	if level >= 2 {
		out = append(out, form{"window512", 6, 32, func(t *tile) { window512(t) }})
	}
	return out
}

// BenchmarkProduct times whole tiles.
func BenchmarkProduct(b *testing.B) {
	for _, f := range productForms() {
		b.Run(f.name, func(b *testing.B) {
			k := &tile{rows: f.rows, outer: 1, middle: 1, depth: 256, next: 256, width: 32, step: 32, high: 6,
				y: make([]float32, 12*32), x: make([]float32, 12*256), w: make([]float32, 256*32), bias: make([]float32, 32)}
			for b.Loop() {
				f.run(k)
			}
			b.ReportMetric(2e-9*float64(k.rows*k.depth*k.width)*float64(b.N)/b.Elapsed().Seconds(), "GFLOP/s")
		})
	}
}
