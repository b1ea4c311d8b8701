//go:build js

// Command browser tells digits in a web page, as WebAssembly.
package main

import (
	"syscall/js"

	"example.com/browser/digits"
)

//go:generate etgen digits.pt2 --lang=go -o digits

func main() {
	model := digits.New()
	js.Global().Set("classify", js.FuncOf(func(_ js.Value, args []js.Value) any {
		var image [64]float32 // 8×8, 0 to 1
		var scores [10]float32
		for i := range image {
			image[i] = float32(args[0].Index(i).Float())
		}
		if err := model.Forward(&image, &scores); err != nil {
			return err.Error()
		}
		best := 0
		for i, score := range scores {
			if score > scores[best] {
				best = i
			}
		}
		return best
	}))
	js.Global().Call("ready")
	select {} // the page calls
}
