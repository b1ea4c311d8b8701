package rt_test

import (
	"context"
	"fmt"
	"log"

	"github.com/etgen/etgen/rt"
)

// Load a program, run it and read what comes out. The program is 2·x + [1, 2, 3];
// the kernels would be portable.Registry() of rt/portable, or those that etgen
// registry wrote.
func Example() {
	program, err := rt.Open("testdata/affine.pte", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer program.Close()
	method, err := program.LoadMethod("forward", &rt.MethodOptions{Registry: testKernels()})
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
	fmt.Println(outputs[0].Tensor.Sizes, y)
	// Output: [3] [3 6 9]
}

// What a program expects is known before it is loaded.
func ExampleProgram_MethodMeta() {
	program, err := rt.Open("testdata/affine.pte", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer program.Close()
	for _, name := range program.MethodNames() {
		meta, err := program.MethodMeta(name)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(name, "calls", meta.Operators)
		for _, in := range meta.Inputs {
			fmt.Println("takes a", in.Kind, "of", in.DType, in.Sizes)
		}
		for _, out := range meta.Outputs {
			fmt.Println("gives a", out.Kind, "of", out.DType, out.Sizes)
		}
	}
	// Output:
	// forward calls [aten::add.out aten::mul.out]
	// takes a Tensor of float32 [3]
	// gives a Tensor of float32 [3]
}

// A loop that runs a method many times sets the inputs and reads the outputs
// where they lie; nothing is allocated.
func ExampleMethod_Execute() {
	program, err := rt.Open("testdata/affine.pte", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer program.Close()
	method, err := program.LoadMethod("forward", &rt.MethodOptions{Registry: testKernels()})
	if err != nil {
		log.Fatal(err)
	}
	samples := make([]float32, 3)
	x, err := rt.TensorOf([]int64{3}, samples) // over samples, not a copy
	if err != nil {
		log.Fatal(err)
	}
	for i := range 3 {
		samples[0] = float32(i)
		if err := method.SetInput(0, x); err != nil {
			log.Fatal(err)
		}
		if err := method.Execute(context.Background()); err != nil {
			log.Fatal(err)
		}
		y, err := rt.Data[float32](method.Output(0).Tensor)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(y)
	}
	// Output:
	// [1 2 3]
	// [3 2 3]
	// [5 2 3]
}

// A profile sums up the time of each operator.
func ExampleProfile() {
	program, err := rt.Open("testdata/affine.pte", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer program.Close()
	profile := rt.NewProfile(nil)
	method, err := program.LoadMethod("forward", &rt.MethodOptions{Registry: testKernels(),
		Tracer: profile})
	if err != nil {
		log.Fatal(err)
	}
	x, err := rt.TensorOf([]int64{3}, []float32{1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}
	for range 10 {
		if _, err := method.Forward(context.Background(), x); err != nil {
			log.Fatal(err)
		}
	}
	for _, op := range profile.Ops() {
		fmt.Println(op.Calls) // op.Op took op.Time
	}
	// Output:
	// 10
	// 10
}
