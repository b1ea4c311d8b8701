package quantize

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/interp"
)

// counting adds its input to a state, and multiplies that.
const counting = `program "m.pt2"

method forward {
  buffer %s: f32[1, 2] "s" = [0.0, 0.0]
  input %x: f32[1, 2]
  const %w: f32[2, 2] = [1.0, 2.0, 3.0, 4.0]

  %t: f32[1, 2] = aten.add.Tensor(self=%s, other=%x)
  %y: f32[1, 2] = aten.linear.default(input=%t, weight=%w)
  return (mutates_buffer "s" = %t, %y)
}

method other {
  input %x: f32[1, 2]
  const %w: f32[2, 2] = [1.0, 2.0, 3.0, 4.0]

  %y: f32[1, 2] = aten.linear.default(input=%x, weight=%w)
  return (%y)
}
`

// ones are four samples of ones and minus ones.
func ones(continued bool) Samples {
	return Samples{Count: 4, Continued: continued, Get: func(int) ([]interp.Value, error) {
		return []interp.Value{interp.Tensor(ir.Float32, []int64{1, 2}, raw(1, -1))}, nil
	}}
}

// State starts anew with each sample, or goes on. Each method has its samples.
func TestContinued(t *testing.T) {
	for _, observer := range []string{"minmax", "percentile"} {
		for _, continued := range []bool{false, true} {
			p := parsed(t, counting)
			r, err := New(newContext(), p, map[string]Samples{"forward": ones(continued),
				"other": ones(false)}, Options{Scheme: Schemes[0], Compare: 4, Observer: observer,
				Percentile: 100})
			if err != nil {
				t.Fatal(err)
			}
			want := [2]Float32{-1, 1}
			if continued {
				want = [2]Float32{-4, 4}
			}
			for _, a := range r.Recipe.Methods[0].Activations {
				if a.Value == "t" && *a.Range != want {
					t.Errorf("%s, continued %v: %v", observer, continued, *a.Range)
				}
			}
			if out := r.Reports["forward"].Outputs; len(out) == 0 || out[len(out)-1].SQNR < 20 {
				t.Errorf("%s, continued %v: %v", observer, continued, out)
			}
			if len(r.Recipe.Methods) != 2 || len(r.Recipe.Methods[1].Activations) == 0 {
				t.Errorf("methods %+v", r.Recipe.Methods)
			}
		}
	}
	_, err := New(newContext(), parsed(t, counting), map[string]Samples{"forward": ones(false)},
		Options{Scheme: Schemes[0]})
	if err == nil || !strings.Contains(err.Error(),
		`m.pt2: method "other": there are no samples to calibrate with`) {
		t.Errorf("error %v", err)
	}
	_, err = New(newContext(), parsed(t, counting), nil, Options{Scheme: Schemes[3], KeepWorst: 1})
	if err == nil || !strings.Contains(err.Error(), "errors of layers are measured with samples") {
		t.Errorf("error %v", err)
	}
}
