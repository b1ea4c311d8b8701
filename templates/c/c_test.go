package c

import (
	"slices"
	"strings"
	"testing"
)

func TestMul(t *testing.T) {
	k := &Kernel{Ints: map[string]string{"one": "1", "zero": "0", "six": "6", "n": "n",
		"m": "rows"}}
	for _, c := range []struct {
		factors string
		want    string
	}{
		{"one one", "1"}, {"six six", "36"}, {"n zero", "0"}, {"n one", "n"}, {"i m", "i * rows"},
		{"six n six", "n * 36"}, {"i TILE one", "i * TILE"},
	} {
		if got := k.Mul(strings.Fields(c.factors)...); got != c.want {
			t.Errorf("%s is %q, want %q", c.factors, got, c.want)
		}
	}
	if got, err := k.Sub("a", "zero"); got != "a" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := k.Sub("a", "m"); got != "a - rows" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestText(t *testing.T) {
	if _, err := Text("matmul_f32", &Kernel{Index: "int32_t",
		Ints: map[string]string{"m": "3"}}); err == nil ||
		!strings.Contains(err.Error(), "no parameter") {
		t.Errorf("without parameters: %v", err)
	}
	if _, err := Text("none", &Kernel{}); err == nil {
		t.Error("a template that is not there is no error")
	}
}

func TestIndent(t *testing.T) {
	const text = `
#define A
/* two
      lines */
{
for (;;) {
a();
/* of
b */
} else {
b = (V){0};
}
}`
	const want = `
#define A
/* two
   lines */
{
    for (;;) {
        a();
        /* of
           b */
    } else {
        b = (V){0};
    }
}
`
	if got := indent(text); got != want {
		t.Errorf("got\n%s", got)
	}
}

// Names has what the templates declare: each of their functions, types and macros
// stands in one of these forms.
func TestNames(t *testing.T) {
	names := Names()
	for _, want := range []string{"TILE_LANES", "DEPTH_CASE", "edges_length", "edges_span", "taps",
		"tile_vec", "sums_four", "slide", "sums_even", "winograd_line"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if slices.Contains(names, "__attribute__") {
		t.Errorf("%q", names)
	}
}
