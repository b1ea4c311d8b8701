// Command service tells handwritten digits: POST an image to /classify.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"log"
	"net/http"
	"sync"
	"time"

	"example.com/digits/digits"
)

//go:generate etgen digits.pt2 --lang=go -o digits

const (
	side     = 8       // of the model's image
	maxBytes = 1 << 20 // of a request
	maxSide  = 4096    // of a PNG
)

// models are for a call each: a model has an arena, which one goroutine may use. They share
// their weights.
var models = sync.Pool{New: func() any { return digits.New() }}

// answer is what a client gets.
type answer struct {
	Class  int         `json:"class"`
	Scores [10]float32 `json:"scores"`
}

func classify(pixels *[side * side]float32) (answer, error) {
	m := models.Get().(*digits.Model)
	defer models.Put(m)
	var a answer
	err := m.Forward(pixels, &a.Scores)
	for i, score := range a.Scores {
		if score > a.Scores[a.Class] {
			a.Class = i
		}
	}
	return a, err
}

// decode reads the body of a request: a PNG, white on black, or JSON {"pixels": [64 numbers]}.
func decode(kind string, body []byte) (pixels [side * side]float32, err error) {
	switch kind {
	case "image/png":
		config, err := png.DecodeConfig(bytes.NewReader(body))
		if err != nil {
			return pixels, err
		}
		if min(config.Width, config.Height) < side || max(config.Width, config.Height) > maxSide {
			return pixels, fmt.Errorf("the image has %d by %d pixels, not %d to %d",
				config.Width, config.Height, side, maxSide)
		}
		img, err := png.Decode(bytes.NewReader(body))
		if err != nil {
			return pixels, err
		}
		return shrink(img), nil
	case "application/json":
		var request struct{ Pixels []float32 }
		if err := json.Unmarshal(body, &request); err != nil {
			return pixels, err
		}
		if copy(pixels[:], request.Pixels) != len(pixels) || len(request.Pixels) > len(pixels) {
			return pixels, fmt.Errorf("%d pixels, not %d", len(request.Pixels), len(pixels))
		}
		return pixels, nil
	}
	return pixels, fmt.Errorf("Content-Type is %q, not image/png or application/json", kind)
}

// shrink makes each pixel of the result the mean of a rectangle of the image.
func shrink(img image.Image) (pixels [side * side]float32) {
	b := img.Bounds()
	for i := range pixels {
		x0, x1 := b.Dx()*(i%side)/side, b.Dx()*(i%side+1)/side
		y0, y1 := b.Dy()*(i/side)/side, b.Dy()*(i/side+1)/side
		sum := 0
		for y := y0; y < y1; y++ {
			for x := x0; x < x1; x++ {
				sum += int(color.Gray16Model.Convert(img.At(b.Min.X+x, b.Min.Y+y)).(color.Gray16).Y)
			}
		}
		pixels[i] = float32(sum) / float32((x1-x0)*(y1-y0)) / 0xFFFF
	}
	return pixels
}

// newHandler returns the service.
func newHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /classify", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBytes))
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		pixels, err := decode(r.Header.Get("Content-Type"), body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a, err := classify(&pixels)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(a); err != nil {
			log.Print(err)
		}
	})
	return mux
}

func main() {
	listen := flag.String("listen", "localhost:8317", "the address to listen on")
	flag.Parse()
	server := &http.Server{Addr: *listen, Handler: newHandler(), ReadTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}
