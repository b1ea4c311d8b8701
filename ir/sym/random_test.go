package sym

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/etgen/etgen/golden/tier"
)

// tree is an expression as written, evaluated without any simplification.
type tree struct {
	op   byte // n s + * / % < >
	n    int64
	s    *Symbol
	args []*tree
}

// build makes the simplified expression.
func (t *tree) build() Expr {
	var x []Expr
	for _, a := range t.args {
		x = append(x, a.build())
	}
	switch t.op {
	case 'n':
		return Int(t.n)
	case 's':
		return t.s.Expr()
	case '+':
		return Add(x...)
	case '-':
		return Sub(x[0], x[1])
	case '*':
		return Mul(x...)
	case '/':
		return FloorDiv(x[0], x[1])
	case '^':
		return CeilDiv(x[0], x[1])
	case '%':
		return Mod(x[0], x[1])
	case '<':
		return Min(x...)
	}
	return Max(x...)
}

// eval returns nil where the value does not exist.
func (t *tree) eval(env map[*Symbol]int64) *big.Int {
	var x []*big.Int
	for _, a := range t.args {
		v := a.eval(env)
		if v == nil {
			return nil
		}
		x = append(x, v)
	}
	switch t.op {
	case 'n':
		return big.NewInt(t.n)
	case 's':
		return big.NewInt(env[t.s])
	}
	out := new(big.Int).Set(x[0])
	for _, v := range x[1:] {
		switch t.op {
		case '+':
			out.Add(out, v)
		case '-':
			out.Sub(out, v)
		case '*':
			out.Mul(out, v)
		case '/', '^', '%':
			if v.Sign() == 0 {
				return nil
			}
			if t.op == '^' {
				out.Neg(out)
			}
			q, m := new(big.Int).QuoRem(out, v, new(big.Int))
			if m.Sign() != 0 && m.Sign() != v.Sign() {
				q.Sub(q, big.NewInt(1))
				m.Add(m, v)
			}
			switch t.op {
			case '/':
				out = q
			case '^':
				out = q.Neg(q)
			default:
				out = m
			}
		case '<':
			if v.Cmp(out) < 0 {
				out = v
			}
		case '>':
			if v.Cmp(out) > 0 {
				out = v
			}
		}
	}
	return out
}

func (t *tree) String() string {
	switch t.op {
	case 'n':
		return fmt.Sprint(t.n)
	case 's':
		return t.s.Name
	}
	return fmt.Sprintf("%c%v", t.op, t.args)
}

// world is a set of symbols, those with bounds that mention others behind them.
type world struct {
	r       *rand.Rand
	symbols []*Symbol
}

func newWorld(r *rand.Rand) *world {
	w := &world{r: r}
	add := func(s *Symbol) Expr {
		w.symbols = append(w.symbols, s)
		return s.Expr()
	}
	n := add(NewSymbol("n", 1, math.MaxInt64))
	m := add(NewSymbol("m", 2, 9))
	add(NewSymbol("u", math.MinInt64, math.MaxInt64))
	add(NewSymbol("w", -3, 5))
	i := add(NewVar("i", n))
	add(NewVar("j", m))
	add(NewVar("k", Int(4)))
	add(NewVar("l", Add(i, Int(1))))
	add(NewVar("x", Mul(n, m)))
	add(NewVar("y", Add(Mul(Int(2), n), Int(-1))))
	return w
}

// values draws values in range for all symbols.
func (w *world) values(t *testing.T) map[*Symbol]int64 {
	env := map[*Symbol]int64{}
	look := func(s *Symbol) (int64, bool) { v, ok := env[s]; return v, ok }
	for _, s := range w.symbols {
		lo, err := s.Lo.Eval(look)
		if err != nil {
			t.Fatal(err)
		}
		hi, err := s.Hi.Eval(look)
		if err != nil {
			t.Fatal(err)
		}
		lo = max(lo, -20)
		hi = min(hi, lo+40)
		switch v := w.r.Int64N(4); v {
		case 0:
			env[s] = lo
		case 1:
			env[s] = hi
		default:
			env[s] = lo + w.r.Int64N(hi-lo+1)
		}
	}
	return env
}

func (w *world) tree(depth int) *tree {
	if depth == 0 || w.r.IntN(8) == 0 {
		if w.r.IntN(3) == 0 {
			return &tree{op: 'n', n: w.r.Int64N(14) - 3}
		}
		return &tree{op: 's', s: w.symbols[w.r.IntN(len(w.symbols))]}
	}
	t := &tree{op: "+++-***/////^%%%%<>"[w.r.IntN(19)]}
	t.args = []*tree{w.tree(depth - 1), w.tree(depth - 1)}
	if t.op != '+' && t.op != '*' && t.op != '-' && w.r.IntN(2) == 0 {
		t.args[1] = &tree{op: 'n', n: w.r.Int64N(12) + 1}
	}
	if (t.op == '+' || t.op == '>') && w.r.IntN(2) == 0 {
		t.args = append(t.args, w.tree(depth-1))
	}
	return t
}

// index is a tree as reshapes and slices make them: sums of few variables with
// few factors, divided by the same factors.
func (w *world) index(depth int) *tree {
	factor := func() *tree {
		switch w.r.IntN(8) {
		case 0:
			return &tree{op: 's', s: w.symbols[w.r.IntN(2)]}
		case 1:
			return &tree{op: '*', args: []*tree{{op: 's', s: w.symbols[0]},
				{op: 's', s: w.symbols[1]}}}
		}
		return &tree{op: 'n', n: []int64{2, 2, 3, 4, 4, 6, 8, 12}[w.r.IntN(8)]}
	}
	if depth == 0 {
		v := &tree{op: 's', s: w.symbols[w.r.IntN(len(w.symbols))]}
		switch w.r.IntN(4) {
		case 0:
			return v
		case 1:
			return &tree{op: '-', args: []*tree{v, {op: 'n', n: w.r.Int64N(5)}}}
		}
		return &tree{op: '*', args: []*tree{factor(), v}}
	}
	switch x := w.index(depth - 1); w.r.IntN(6) {
	case 0:
		return &tree{op: '/', args: []*tree{x, factor()}}
	case 1:
		return &tree{op: '%', args: []*tree{x, factor()}}
	case 2:
		return &tree{op: '*', args: []*tree{x, factor()}}
	case 3: // both halves of a division
		f, g := factor(), factor()
		div := &tree{op: '/', args: []*tree{x, f}}
		mod := &tree{op: '%', args: []*tree{x, f}}
		if w.r.IntN(2) == 0 {
			div = &tree{op: '%', args: []*tree{div, factor()}}
		}
		return &tree{op: '+', args: []*tree{{op: '*', args: []*tree{f, g, div}},
			{op: '*', args: []*tree{g, mod}}}}
	case 4:
		return &tree{op: '-', args: []*tree{x, w.index(depth - 1)}}
	default:
		return &tree{op: '+', args: []*tree{x, w.index(depth - 1)}}
	}
}

func seeds(t *testing.T) int {
	return tier.Of(1000, 20000, 200_000)
}

// TestRandom compares simplified expressions with plain evaluation, and checks
// the bounds, what was proved, and that the text form reads back.
func TestRandom(t *testing.T) {
	reread := 0
	for seed := range seeds(t) {
		w := newWorld(rand.New(rand.NewPCG(uint64(seed), 1)))
		tr := w.tree(1 + seed%5)
		if seed%2 == 0 {
			tr = w.index(1 + seed%5)
		}
		e := tr.build()
		lo, hi := e.Bounds()
		nonneg := NonNegative(e)
		f := w.tree(2)
		fe := f.build()
		less := LessEq(e, fe)
		find := func(name string) *Symbol {
			for _, s := range w.symbols {
				if s.Name == name {
					return s
				}
			}
			return nil
		}
		back, err := Parse(e.String(), find)
		if err != nil {
			t.Fatalf("seed %d: %v = %s: %v", seed, tr, e, err)
		}
		if !back.Equal(e) {
			reread++
			t.Logf("seed %d: %s reads back as %s", seed, e, back)
		}
		for range 30 {
			env := w.values(t)
			want := tr.eval(env)
			if want == nil {
				continue
			}
			look := func(s *Symbol) (int64, bool) { v, ok := env[s]; return v, ok }
			got, err := e.Eval(look)
			if err != nil {
				if e.Undefined() || err == errOverflow {
					continue
				}
				t.Fatalf("seed %d: %v = %s: %v", seed, tr, e, err)
			}
			if !want.IsInt64() || want.Int64() != got {
				t.Fatalf("seed %d: %v = %s: %d, want %d with %v", seed, tr, e, got, want,
					named(env))
			}
			if got < lo || got > hi {
				t.Fatalf("seed %d: %v = %s: %d is outside %d..%d with %v", seed, tr, e, got, lo, hi,
					named(env))
			}
			if nonneg && got < 0 {
				t.Fatalf("seed %d: %v = %s: %d proved not negative with %v", seed, tr, e, got,
					named(env))
			}
			if v := f.eval(env); less && v != nil && want.Cmp(v) > 0 {
				t.Fatalf("seed %d: %s ≤ %s proved, but %d > %d with %v", seed, e, fe, want, v,
					named(env))
			}
			if again, err := back.Eval(look); err == nil && again != got {
				t.Fatalf("seed %d: %s = %d reads back as %s = %d", seed, e, got, back, again)
			}
		}
	}
	if reread > 0 {
		t.Errorf("%d expressions changed when read back", reread)
	}
}

func named(env map[*Symbol]int64) string {
	s := ""
	for k, v := range env {
		s += fmt.Sprintf(" %s=%d", k.Name, v)
	}
	return s
}
