// Command rhymes goes on with a text, character by character.
package main

import (
	"fmt"
	"log"
	"os"
	"strings"

	"example.com/rhymes/text"
)

//go:generate etgen text.pt2 --lang=go -o text

const context = 128 // characters that the model's cache holds

// best returns the character with the highest score.
func best(scores *[128]float32) byte {
	c := 0
	for i, score := range scores {
		if score > scores[c] {
			c = i
		}
	}
	return byte(c)
}

// goOn returns the prompt and what the model writes behind it, up to an empty line.
func goOn(m *text.Model, prompt string) (string, error) {
	m.Reset()
	var scores [128]float32
	out := []byte(prompt)
	for i := 0; i < context && !strings.HasSuffix(string(out), "\n\n"); i++ {
		if i == len(out) {
			out = append(out, best(&scores))
		}
		if err := m.Forward(&[1]int64{int64(out[i])}, &[1]int64{int64(i)}, &scores); err != nil {
			return "", err
		}
	}
	return string(out), nil
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: rhymes PROMPT")
	}
	out, err := goOn(text.New(), os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.TrimSpace(out))
}
