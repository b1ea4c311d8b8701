package optimize_test

import (
	"context"
	"fmt"
	"log"

	"github.com/etgen/etgen/rt"
	"github.com/etgen/etgen/rt/optimize"
	"github.com/etgen/etgen/rt/portable"
)

// One option has a method compiled when it is loaded. The registry is for
// programs that cannot be; the program is 2·x + [1, 2, 3].
func Example() {
	program, err := rt.Open("../testdata/affine.pte", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer program.Close()
	method, err := program.LoadMethod("forward", &rt.MethodOptions{
		Registry: portable.Registry(),
		Optimize: optimize.Default,
	})
	if err != nil {
		log.Fatal(err)
	}
	x, err := rt.TensorOf([]int64{3}, []float32{1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}
	outputs, err := method.Forward(context.Background(), x)
	if err != nil {
		log.Fatal(err)
	}
	y, err := rt.Data[float32](outputs[0].Tensor)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(y)
	// Output: [3 6 9]
}
