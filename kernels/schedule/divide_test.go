package schedule_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/reference"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/schedule"
)

// Which loops two threads share.
func TestDivide(t *testing.T) {
	const head = "func f(n in [1, 900], out y: f32[640], x: f32[640], i0: i64[640], scratch s: f32[64])"
	for _, c := range []struct{ name, want, body string }{
		{"elements", "for i < n strip divided", `for i < n strip { y[i] = x[i] }`},
		{"rows", "for i < 10 divided",
			`for i < 10 { var t: f32 = 0.0 for j < 64 { t = t + x[64*i + j] } for j < 64 strip { y[64*i + j] = x[64*i + j]/t } }`},
		{"columns", "for i < 8 divided", `for i < 8 { for j < 10 { y[8*j + i] = x[10*i + j] } }`},
		{"results read again", "for i < 10 divided",
			`for i < 10 { for j < 64 { y[64*i + j] = x[j] } for j < 64 { y[64*i + j] = y[64*i - j + 63] } }`},
		{"results of others read", "",
			`for i < 10 { for j < 64 { y[64*i + j] = x[j] } for j < 64 { y[64*i + j] = y[j] } }`},
		{"results read after the loop", "",
			`for i < 640 { y[i] = x[i] } for i < 10 { y[i] = y[i + 10] }`},
		{"two nests", "for i < 10 divided",
			`for i < 10 { for j < 32 { y[64*i + j] = x[j] } } for i < 10 { for j < 32 { y[64*i + j + 32] = x[j] } }`},
		{"two nests in one place", "", `for i < 10 { y[i] = x[i] } for i < 5 { y[2*i] = x[i] }`},
		{"too few iterations", "for j < 64 divided",
			`for i < 3 { for j < 64 { y[64*i + j] = x[j] } }`},
		{"few iterations that come out even", "for i < 2 divided",
			`for i < 2 { for j < 64 { y[64*i + j] = x[j] } }`},
		{"short rows of few", "for i < 3 divided",
			`for i < 3 { for j < 16 { y[16*i + j] = x[j] } }`},
		{"one iteration", "", `for i < 1 { y[i] = x[i] }`},
		{"sums over a loop around", "for j < 64 divided",
			`for j < 64 { y[j] = 0.0 } for i < 10 { for j < 64 { y[j] = y[j] + x[64*i + j] } }`},
		{"a total", "", `var t: f32 = 0.0 for i < 640 { t = t + x[i] } y[0] = t`},
		{"a total before", "",
			`var t: f32 = 0.0 for i < 640 { t = t + x[i] } for i < 640 { y[i] = t }`},
		{"a carried number", "", `var t: f32 = 0.0 for i < 640 { t = t + x[i] y[i] = t }`},
		{"windows", "", `for i < 100 { for j < 2 { y[i + j] = x[i] } }`},
		{"elements that data chooses", "",
			`for i < 640 { index k in [0, 639] = i0[i] y[k] = x[i] }`},
		{"elements of a row that data chooses", "for i < 10 divided",
			`for i < 10 { for j < 64 { index k in [0, 63] = i0[j] y[64*i + k] = x[j] } }`},
		{"loads that data chooses", "for i < 640 divided",
			`for i < 640 { index k in [0, 639] = i0[i] y[i] = x[k] }`},
		{"a loop that is left", "", `for i < 640 { if x[i] > 0.0 { break } y[i] = x[i] }`},
		{"a loop inside that is left", "for i < 10 divided",
			`for i < 10 { for j < 64 { if x[j] > 0.0 { break } y[64*i + j] = x[j] } }`},
		{"scratch of an iteration", "for i < 10 divided",
			`for i < 10 { for j < 64 { s[j] = 0.0 } for k < 4 { for j < 64 { s[j] = s[j] + x[16*i + j] } } for j < 64 { y[64*i + j] = s[j] } }`},
		{"scratch of the iteration before", "",
			`for j < 64 { s[j] = 0.0 } for i < 10 { for j < 64 { y[64*i + j] = s[63 - j] s[j] = x[64*i + j] } }`},
		{"scratch of the iteration before, of the same lane", "for j < 64 divided",
			`for j < 64 { s[j] = 0.0 } for i < 10 { for j < 64 { y[64*i + j] = s[j] s[j] = x[64*i + j] } }`},
		{"scratch of which some is old", "",
			`for i < 10 { for j < 63 { s[j] = x[j] } for j < 64 { y[64*i + j] = s[j] } }`},
		{"scratch that may be old", "",
			`for i < 10 { if x[i] > 0.0 { for j < 64 { s[j] = x[j] } } for j < 64 { y[64*i + j] = s[j] } }`},
		{"a table", "for i < 10 divided",
			`for j < 16 { s[j] = x[j] } for i < 10 { for j < 64 { y[64*i + j] = s[j % 16] } }`},
		{"a dear table", "",
			`for j < 4 { s[j] = x[j]/x[j + 1]/x[j + 2] } for i < 10 { y[i] = s[0] }`},
		{"lanes", "for j < 64 divided",
			`for j < 64 { s[j] = 0.0 } for i < 10 { for j < 64 { s[j] = s[j] + x[64*i + j] } } for j < 64 { y[j] = s[j] }`},
		{"lanes that are too few", "",
			`for j < 32 { s[j] = 0.0 } for i < 10 { for j < 32 { s[j] = s[j] + x[64*i + j] } } for j < 32 { y[j] = s[j] }`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := loop.Parse(c.name, head+" {\n"+c.body+"\n}", nil)
			if err != nil {
				t.Fatal(err)
			}
			before := f.String()
			g := schedule.Divide(f, 2)
			if f.String() != before {
				t.Fatalf("it has changed its operand:\n%s", f)
			}
			switch {
			case g == nil && c.want != "":
				t.Fatal("nothing is divided")
			case g == nil:
				return
			case c.want == "" || !strings.Contains(g.String(), c.want+" {"):
				t.Fatalf("want %q in\n%s", c.want, g)
			}
			again, err := loop.Parse(c.name, g.String(), nil)
			if err != nil || again.String() != g.String() {
				t.Errorf("read again, error %v:\n%s", err, again)
			}
		})
	}
}

// A result whose loops threads share may lie over an operand only if none of them
// reads what another writes.
func TestDividedInPlace(t *testing.T) {
	for _, c := range []struct {
		name string
		want bool
		body string
	}{
		{"elements", true, `for i < 640 { y[i] = x[i] }`},
		{"rows", true,
			`for i < 10 { var t: f32 = 0.0 for j < 64 { t = t + x[64*i + j] } for j < 64 { y[64*i + j] = t } }`},
		{"rows further on", false, `for i < 9 { for j < 64 { y[64*i + j] = x[64*i + j + 64] } }`},
		{"elements of another size", false, `for i < 640 { y[i] = f32(z[i]) }`},
		{"a number of all", false, `let t: f32 = x[639] for i < 639 { y[i] = t }`},
	} {
		f, err := loop.Parse(c.name,
			"func f(out y: f32[640], x: f32[640], z: i64[640]) {\n"+c.body+"\n}", nil)
		if err != nil {
			t.Fatal(err)
		}
		g, in := schedule.Divide(f, 2), 1
		if strings.Contains(c.body, "z[") {
			in = 2
		}
		if !schedule.InPlace(f, 0, in) || g == nil {
			t.Fatalf("%s: nothing to tell", c.name)
		}
		if got := schedule.InPlace(g, 0, in); got != c.want {
			t.Errorf("%s: in place %v, want %v\n%s", c.name, got, c.want, g)
		}
	}
}

// checkParts has threads share f, if they can, one after the other from the last to
// the first, each with scratch memory of its own; with results at places of their own,
// and where operands are, if they may lie there. bufs are what f has been run with.
func checkParts(t *testing.T, f *loop.Func, bufs [][]byte, values []int64, scalars []eval.Value) {
	t.Helper()
	env := func(s *sym.Symbol) (int64, bool) {
		i := slices.Index(f.Syms, s)
		if i < 0 {
			return 0, false
		}
		return values[i], true
	}
	for _, threads := range []int{2, 3, 7} {
		g := schedule.Divide(f, threads)
		if g == nil {
			continue
		}
		if r := reference.Verify(g); len(r.Errors) > 0 {
			t.Fatalf("%v\n%s", r.Errors, g)
		}
		run := func(over, at int) {
			own := slices.Clone(bufs)
			for k, b := range f.Bufs {
				if b.Role == loop.Out {
					own[k] = bytes.Repeat([]byte{0x5A}, len(bufs[k]))
				}
			}
			if over >= 0 {
				own[at] = slices.Clone(bufs[at])
				own[over] = own[at][:len(bufs[over])]
			}
			for part := threads - 1; part >= 0; part-- {
				h := partOf(g, part, threads, env)
				copy(own[len(own)-len(scratchOf(f)):], scratchOf(f))
				if err := eval.Run(h, own, values, scalars); err != nil {
					t.Fatalf("%v\n%s", err, h)
				}
			}
			for k, b := range f.Bufs {
				if b.Role == loop.Out && (over < 0 || k == over) && !bytes.Equal(own[k], bufs[k]) {
					t.Fatalf("%d threads, result %d over operand %d, compute something else\n%s",
						threads, k, at, g)
				}
			}
		}
		run(-1, -1)
		for k, out := range f.Bufs {
			for at, in := range f.Bufs {
				if out.Role == loop.Out && in.Role == loop.In && len(bufs[k]) <= len(bufs[at]) &&
					schedule.InPlace(g, k, at) {
					run(k, at)
				}
			}
		}
	}
}

// partOf returns what one of so many threads does of f.
func partOf(f *loop.Func, part, parts int, env func(*sym.Symbol) (int64, bool)) *loop.Func {
	g := *f
	var block func(body []loop.Stmt) []loop.Stmt
	block = func(body []loop.Stmt) []loop.Stmt {
		out := slices.Clone(body)
		for i, st := range out {
			l, ok := st.(*loop.For)
			if !ok {
				continue
			}
			c := *l
			out[i] = &c
			if !l.Divided {
				c.Body = block(l.Body)
				continue
			}
			n, err := l.Extent.Eval(env)
			if err != nil {
				panic(err)
			}
			from, to := n*int64(part)/int64(parts), n*int64(part+1)/int64(parts)
			c.Extent, c.Divided = sym.Int(to-from), false
			c.Var = sym.NewVar(l.Var.Name, c.Extent)
			m := expr.Subst{l.Var: sym.Add(c.Var.Expr(), sym.Int(from))}
			c.Body = loop.MapAll(l.Body, func(e *expr.Expr) *expr.Expr {
				return expr.SubstIndex(e, m)
			}, func(x sym.Expr) sym.Expr {
				return x.Subst(func(s *sym.Symbol) (sym.Expr, bool) { e, ok := m[s]; return e, ok })
			})
		}
		return out
	}
	g.Body = block(f.Body)
	return &g
}
