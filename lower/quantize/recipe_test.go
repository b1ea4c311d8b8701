package quantize

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/ops"
)

const small = `program "m.pt2"

method forward {
  input %x: f32[2, 2]
  const %w: f32[2, 2] = [1.0, 0.5, -0.5, 0.25]
  const %b: f32[2] = [1.0, 2.0]

  %y: f32[2, 2] = aten.linear.default(input=%x, weight=%w, bias=%b)
  %z: i64[2, 2] = aten._to_copy.default(self=%y, dtype=i64)
  return (%y, %z)
}
`

func parsed(t testing.TB, text string) *ir.Program {
	t.Helper()
	p, err := ir.Parse("m.pt2", text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What is wrong with a recipe is said by value.
func TestRecipeErrors(t *testing.T) {
	head := `{"etgen_recipe": 1, "arithmetic": "etgen.int8.v5", "scheme": "int8", "model": "m.pt2", "methods": [{"name": "forward", `
	for _, tt := range []struct{ text, want string }{
		{`{`, "it is no recipe: unexpected EOF"},
		{`{"etgen_recipe": 2}`, "etgen_recipe is 2; this etgen reads 1"},
		{`{"etgen_recipe": 1, "arithmetic": "x"}`, `its arithmetic is "x"`},
		{`{"etgen_recipe": 1, "arithmetic": "etgen.int8.v1"}`,
			"in which fixed point, means, PReLU and resizing give other integers: quantize"},
		{`{"etgen_recipe": 1, "arithmetic": "etgen.int8.v2"}`,
			"in which sums of int16, and of a layer and a tensor, give other integers in fixed point: " +
				"quantize"},
		{`{"etgen_recipe": 1, "arithmetic": "etgen.int8.v3"}`,
			"in which products with weights in groups, averages, resizing and halves in fixed point " +
				"differ: quantize"},
		{`{"etgen_recipe": 1, "arithmetic": "etgen.int8.v4"}`,
			"in which means, averages in fixed point and results of int16 differ: quantize"},
		{`{"etgen_recipe": 1, "extra": 1}`, `unknown field "extra"`},
		{head + `"activations": [{"value": "x", "dtype": "int9"}]}]}`, `value "x": dtype "int9"`},
		{head + `"activations": [{"value": "x", "dtype": "int8", "scale": -1}]}]}`, "a scale of -1"},
		{head + `"activations": [{"value": "x", "dtype": "int8", "scale": 1e-300}]}]}`, "a scale of"},
		{head + `"activations": [{"value": "x", "dtype": "int8", "scale": 1, "zero_point": 128}]}]}`,
			"a zero point of 128, which int8 does not hold"},
		{head + `"activations": [{"value": "x", "dtype": "int8", "scale": 1, "dynamic": "per_row"}]}]}`,
			`dynamic is "per_row"`},
		{head + `"activations": [{"value": "x", "dtype": "int8", "scale": 1}, {"value": "x", "dtype": "int8", "scale": 1}]}]}`,
			`value "x": it is there twice`},
		{head + `"activations": [{"value": "q", "dtype": "int8", "scale": 1}]}]}`,
			`the recipe names a value "q", which the model lacks`},
		{head + `"activations": [{"value": "w", "dtype": "int8", "scale": 1}]}]}`,
			`value "w": a weight or bias is a constant, an activation is none`},
		{head + `"activations": [{"value": "z", "dtype": "int8", "scale": 1}]}]}`,
			`value "z" is i64[2, 2], not a tensor of float32`},
		{head + `"weights": [{"value": "w", "dtype": "int8", "axis": 2}]}]}`,
			`value "w" has 2 dimensions, none is 2`},
		{head + `"weights": [{"value": "w", "dtype": "int8", "axis": 0, "scales": [1]}]}]}`,
			`value "w" has 1 scales, not 2`},
		{head + `"weights": [{"value": "w", "dtype": "int4", "axis": 0, "group": 3}]}]}`,
			`value "w" of sizes [2 2] has no groups of 3 in what its channels hold`},
		{head + `"weights": [{"value": "w", "dtype": "int8", "factors": [{"axis": 1, "by": [1]}]}]}]}`,
			`value "w" of sizes [2 2] has no 1 factors along dimension 1`},
		{head + `"biases": [{"value": "b", "add": [1]}]}]}`, `value "b" has 2 elements, not 1`},
		{strings.Replace(head, "forward", "other", 1) + `"weights": []}]}`,
			`the recipe is of a method "other", which the model lacks`},
	} {
		r, err := Unmarshal([]byte(tt.text))
		if err == nil {
			err = Convert(ops.Standard(), parsed(t, small), r)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s:\n%v\nwant %s", tt.text, err, tt.want)
		}
	}
}

// A recipe of another model is refused.
func TestDigest(t *testing.T) {
	p := parsed(t, small)
	r := recipeOf(t, ir.Clone(p), Options{Scheme: Schemes[0]})
	if _, err := Pipeline(p, r.Recipe, lowerBackend); err != nil {
		t.Error(err)
	}
	other := parsed(t, strings.Replace(small, "0.25", "0.26", 1))
	_, err := Pipeline(other, r.Recipe, lowerBackend)
	if err == nil || !strings.Contains(err.Error(), "m.pt2: the recipe is of another model") {
		t.Errorf("error %v", err)
	}
}

// No recipe panics, and what is converted is a program.
func FuzzRecipe(f *testing.F) {
	p := parsed(f, small)
	for _, scheme := range Schemes {
		r := recipeOf(f, ir.Clone(p), Options{Scheme: scheme, Equalize: true})
		text, err := r.Recipe.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Unmarshal(text)
		if err != nil {
			return
		}
		if err := Convert(ops.Standard(), ir.Clone(p), r); err == nil {
			if _, err := r.Marshal(); err != nil {
				t.Error(err)
			}
		}
	})
}
