package main

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
)

// held are images that the model was not trained with, and their digits.
const held = "../../../golden/cases/digits/"

func post(t *testing.T, url, kind string, body []byte) (a answer, status int) {
	t.Helper()
	response, err := http.Post(url+"/classify", kind, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		if err := json.NewDecoder(response.Body).Decode(&a); err != nil {
			t.Error(err)
		}
	}
	return a, response.StatusCode
}

// All clients at once get the same answer for an image as JSON and as a PNG of twice its size,
// and 356 of 360 are right, as in PyTorch.
func TestClassify(t *testing.T) {
	server := httptest.NewServer(newHandler())
	defer server.Close()
	images, err := os.ReadFile(held + "images.bin") // bytes of 0 to 16
	if err != nil {
		t.Fatal(err)
	}
	labels, err := os.ReadFile(held + "labels.bin")
	if err != nil {
		t.Fatal(err)
	}
	right := make([]int, 8)
	var clients sync.WaitGroup
	for client := range right {
		clients.Go(func() {
			for i := client; i < len(labels); i += len(right) {
				var pixels [side * side]float32
				img := image.NewGray16(image.Rect(0, 0, 2*side, 2*side))
				for k, v := range images[len(pixels)*i:][:len(pixels)] {
					pixels[k] = float32(v) / 16
					for j := range 4 {
						img.SetGray16(2*(k%side)+j%2, 2*(k/side)+j/2,
							color.Gray16{Y: uint16(0xFFFF * int(v) / 16)})
					}
				}
				text, err := json.Marshal(map[string]any{"pixels": pixels})
				if err != nil {
					t.Error(err)
				}
				var file bytes.Buffer
				if err := png.Encode(&file, img); err != nil {
					t.Error(err)
				}
				a, status := post(t, server.URL, "application/json", text)
				b, _ := post(t, server.URL, "image/png", file.Bytes())
				if status != http.StatusOK || a.Class != b.Class {
					t.Errorf("image %d: status %d, %d as JSON, %d as PNG", i, status, a.Class, b.Class)
				}
				if a.Class == int(labels[i]) {
					right[client]++
				}
			}
		})
	}
	clients.Wait()
	sum := 0
	for _, n := range right {
		sum += n
	}
	if sum != 356 {
		t.Errorf("%d of %d are right", sum, len(labels))
	}
}

// What is no image of a digit is the client's mistake.
func TestBadRequests(t *testing.T) {
	server := httptest.NewServer(newHandler())
	defer server.Close()
	var small bytes.Buffer
	if err := png.Encode(&small, image.NewGray(image.Rect(0, 0, 7, 100))); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		kind, body string
		status     int
	}{
		{"text/plain", "7", http.StatusBadRequest},
		{"application/json", `{"pixels": [1, 2]}`, http.StatusBadRequest},
		{"application/json", `{"pixels": [` + strings.Repeat("1,", 64) + `1]}`, http.StatusBadRequest},
		{"application/json", `{"pixels": "x"}`, http.StatusBadRequest},
		{"image/png", "\x89PNG", http.StatusBadRequest},
		{"image/png", small.String(), http.StatusBadRequest},
		{"image/png", strings.Repeat("x", maxBytes+1), http.StatusRequestEntityTooLarge},
	} {
		if _, status := post(t, server.URL, tt.kind, []byte(tt.body)); status != tt.status {
			t.Errorf("%s %.20q: status %d, not %d", tt.kind, tt.body, status, tt.status)
		}
	}
}
