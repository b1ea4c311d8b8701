package strip

//go:generate go -C ../tuned/gokernels/asm run ./strips -dir ../../../strip

// Many primitives have vector forms for float32, which are tried first: they
// report whether the machine has them. Generic functions try them on what f32s
// and f32 make of their operands, which is nothing to do for other types.

// f32s returns x if its elements are float32, else nil.
func f32s[T any](x []T) []float32 {
	y, _ := any(x).([]float32)
	return y
}

// as returns x if its elements are of type T, else nil.
func as[T, S any](x []S) []T {
	y, _ := any(x).([]T)
	return y
}

// f32 returns x if it is a float32, else 0.
func f32[T any](x T) float32 {
	y, _ := any(x).(float32)
	return y
}
