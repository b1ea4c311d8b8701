package rows

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// Everything in assembly that stands there for single cases is reached by calls of which
// nothing is known, and these reach nothing else.
func TestCases(t *testing.T) {
	mark := regexp.MustCompile(`(?m)^// func (\w+)\(|^\t// case (\S+)$`)
	var there []string
	for _, file := range []string{"tile_amd64.s", "tile_arm64.s"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		function := ""
		for _, m := range mark.FindAllStringSubmatch(string(text), -1) {
			if m[1] != "" {
				function = m[1]
			} else {
				there = append(there, function+" "+m[2])
			}
		}
	}
	var reached []string
	for kernel := range casesOf {
		v := make([]int, 64)
		for i := range v {
			v[i] = Unknown
		}
		form := func(field int, values ...int) {
			for _, v[field] = range values {
				reached = append(reached, Cases(kernel, v, false, true)...)
			}
		}
		switch kernel { // some differ in form
		case "MaxPool":
			form(15, 0, 1)
		case "ConvFew", "ConvFewBytes":
			form(2, 1, 2, 3, 4, 5, 6, 7, 8)
		default:
			form(0, Unknown)
		}
	}
	slices.Sort(there)
	slices.Sort(reached)
	if reached = slices.Compact(reached); !slices.Equal(there, reached) {
		t.Errorf("there are %q, reached are %q", there, reached)
	}
}

// Shapes whose cases were counted by hand.
func TestCasesOfShapes(t *testing.T) {
	for _, c := range []struct {
		kernel string
		v      []int
		want   []string
	}{
		{"Linear", []int{1, 4, 2}, []string{"product256 rows1x2", "product512 rows1x1",
			"productNEON rows1"}},
		{"Linear", []int{13, 48, 2}, []string{"product256 rows5x2", "product256 rows3x2",
			"product512 rows7x1", "product512 rows7x2",
			"product512 rows6x1", "product512 rows6x2", "productNEON rows5", "productNEON rows3"}},
		{"ConvBytes", convBytes(3, 8, 1, 5), []string{"bytes512 rows5x1", "bytesNEON rows5",
			"product256 rows5x2", "product512 rows5x1", "productNEON rows5", "squaresNEON rows5"}},
		{"ConvBytes", convBytes(4, 8, 1, 5), []string{"bytes512 rows5x1", "bytesNEON rows5",
			"pairs256 rows5", "product512 rows5x1", "productNEON rows5", "squaresNEON rows5"}},
	} {
		got := Cases(c.kernel, c.v, false, false)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %v: got %q, want %q", c.kernel, c.v, got, c.want)
		}
	}
}

// convBytes are the parameters of a convolution of bytes with so many channels and results.
func convBytes(in, out, height, width int) []int {
	v := make([]int, 64)
	v[2], v[3], v[15], v[16] = in, out, height, width
	return v
}
