// Package scale has the kernel in Go of the operator that the case custom_op of the collection
// beside this repository calls.
package scale

//etgen:kernel refzoo::scale_add(Tensor x, Tensor y, float k) -> Tensor
func ScaleAdd(x, y []float32, k float64, out []float32) {
	for i := range out {
		out[i] = x[i]*float32(k) + y[i]
	}
}
