package eval_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/reference"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/half"
	"github.com/etgen/etgen/kernels/loop"
)

var dtypes = []ir.DType{ir.Bool, ir.Int8, ir.Uint8, ir.Int16, ir.Uint16, ir.Int32, ir.Uint32,
	ir.Int64, ir.Uint64,
	ir.Float16, ir.BFloat16, ir.Float32, ir.Float64, ir.Float8E4M3FN}

func randomValue(r *rand.Rand, d ir.DType) eval.Value {
	if d.IsFloat() {
		special := []float64{0, math.Copysign(0, -1), math.Inf(1), math.NaN(), 0.5, -1.5,
			3e9, 1e-40}
		if i := r.IntN(12); i < len(special) {
			return eval.Value{F: expr.RoundTo(d, special[i])}
		}
		return eval.Value{F: expr.RoundTo(d, r.NormFloat64()*10)}
	}
	special := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MinInt32, 127, 128}
	if i := r.IntN(12); i < len(special) {
		return eval.Value{I: expr.Wrap(d, special[i])}
	}
	return eval.Value{I: expr.Wrap(d, r.Int64N(1000)-500)}
}

func same(a, b eval.Value) bool {
	return a.I == b.I && (math.Float64bits(a.F) == math.Float64bits(b.F) || a.F != a.F &&
		b.F != b.F)
}

// apply runs an expression over the scalars args through compiled loops.
func apply(t *testing.T, e *expr.Expr, types []ir.DType, args []eval.Value) (eval.Value, error) {
	t.Helper()
	f := &loop.Func{Name: "f", Bufs: []loop.Buf{{Name: "out", DType: e.DType, Role: loop.Out,
		Len: sym.Int(1)}}}
	for _, d := range types {
		f.Scalars = append(f.Scalars, &expr.Var{Name: "s", DType: d})
	}
	f.Body = []loop.Stmt{&loop.Store{Buf: 0, At: sym.Int(0), Value: e}}
	out := make([]byte, e.DType.Size())
	err := eval.Run(f, [][]byte{out}, nil, args)
	return eval.Get(e.DType, out, 0), err
}

// Every operation on every dtype computes what expr.Apply defines.
func TestOperations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for op := expr.OpAdd; op <= expr.OpGe; op++ {
		for _, d := range dtypes {
			if op == expr.OpBitcast || half.Is(d) || op == expr.OpFMA && !d.IsFloat() {
				continue
			}
			n := map[expr.Op]int{expr.OpNeg: 1, expr.OpAbs: 1, expr.OpSqrt: 1, expr.OpFloor: 1,
				expr.OpCeil: 1, expr.OpTrunc: 1, expr.OpRound: 1, expr.OpNot: 1, expr.OpFMA: 3}[op]
			if n == 0 {
				n = 2
			}
			e := &expr.Expr{Op: op, DType: d}
			if op >= expr.OpEq {
				e.DType = ir.Bool
			}
			var types []ir.DType
			for i := range n {
				e.Args = append(e.Args, expr.ScalarRef(i, d))
				types = append(types, d)
			}
			for range 30 {
				var args []eval.Value
				for range n {
					args = append(args, randomValue(r, d))
				}
				want, err := expr.Apply(op, e.DType, d, args...)
				got, gotErr := apply(t, e, types, args)
				if (err != nil) != (gotErr != nil) {
					t.Fatalf("%s of %s %v: error %v, want %v", op, d, args, gotErr, err)
				}
				if err == nil && !same(got, want) {
					t.Fatalf("%s of %s %v is %v, want %v", op, d, args, got, want)
				}
			}
		}
	}
}

// Every conversion is expr.Convert; select and bitcast choose and keep bits.
func TestConversions(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for _, from := range dtypes {
		for _, to := range dtypes {
			for range 30 {
				v := randomValue(r, from)
				got, err := apply(t, expr.Cast(to, expr.ScalarRef(0, from)), []ir.DType{from},
					[]eval.Value{v})
				if err != nil {
					t.Fatal(err)
				}
				if want := expr.Convert(v, from, to); !same(got, want) {
					t.Fatalf("%v of %s as %s is %v, want %v", v, from, to, got, want)
				}
				if from.Size() != to.Size() || from == ir.Bool || to == ir.Bool {
					continue
				}
				back := expr.Bitcast(from, expr.Bitcast(to, expr.ScalarRef(0, from)))
				if got, err = apply(t, back, []ir.DType{from}, []eval.Value{v}); err != nil ||
					!same(got, v) && !hasNaN(v, from, to) {
					t.Fatalf("%v of %s by bits of %s is %v, %v", v, from, to, got, err)
				}
			}
		}
	}
}

// hasNaN reports whether the bits of v are a NaN in either type: its payload
// may change.
func hasNaN(v eval.Value, from, to ir.DType) bool {
	w, err := expr.Apply(expr.OpBitcast, to, from, v)
	return err != nil || w.F != w.F || v.F != v.F
}

func TestMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for _, d := range dtypes {
		buf := make([]byte, 5*d.Size())
		for range 50 {
			v := randomValue(r, d)
			eval.Put(d, buf, 3, v)
			if got := eval.Get(d, buf, 3); !same(got, v) {
				t.Errorf("%v of %s came back as %v", v, d, got)
			}
		}
	}
}

// Statements: loops, conditions, arrays, breaks and data-dependent indices.
func TestStatements(t *testing.T) {
	i64 := ir.Int64
	i := sym.NewVar("i", sym.Int(10))
	p := &sym.Symbol{Name: "p", Hi: sym.Int(3)}
	count := &expr.Var{Name: "count", DType: i64}
	hist := &expr.Var{Name: "hist", DType: i64, Len: 4}
	n := expr.Get(count)
	k := sym.NewVar("k", sym.Int(4))
	f := &loop.Func{
		Name: "histogram",
		Bufs: []loop.Buf{{Name: "out", DType: i64, Role: loop.Out, Len: sym.Int(5)},
			{Name: "in", DType: i64, Len: sym.Int(10)}},
		Body: []loop.Stmt{
			&loop.Let{Var: hist},
			&loop.Let{Var: count, Value: expr.Int(i64, 0), Mutable: true},
			&loop.For{Var: i, Extent: sym.Int(10), Body: []loop.Stmt{
				&loop.LetIndex{Sym: p, Value: expr.At(1, i64, i.Expr())},
				&loop.If{Cond: expr.Lt(expr.Idx(i64, p.Expr()), expr.Int(i64, 0)),
					Then: []loop.Stmt{&loop.Break{}}, Else: []loop.Stmt{
						&loop.Assign{Var: hist, At: p.Expr(),
							Value: expr.Add(expr.GetAt(hist, p.Expr()), expr.Int(i64, 1))},
					}},
			}},
			&loop.While{Cond: expr.Lt(n, expr.Int(i64, 100)), Body: []loop.Stmt{
				&loop.Assign{Var: count, Value: expr.Add(n, expr.Int(i64, 7))},
			}},
			&loop.For{Var: k, Extent: sym.Int(4),
				Body: []loop.Stmt{&loop.Store{Buf: 0, At: k.Expr(), Value: expr.GetAt(hist,
					k.Expr())}}},
			&loop.Store{Buf: 0, At: sym.Int(4), Value: n},
		},
	}
	if r := reference.Verify(f); len(r.Errors) > 0 {
		t.Fatal(r.Errors)
	}
	run := func(values ...int64) ([]int64, error) {
		in, out := make([]byte, 80), make([]byte, 40)
		for i, v := range values {
			eval.Put(i64, in, int64(i), eval.Value{I: v})
		}
		err := eval.Run(f, [][]byte{out, in}, nil, nil)
		var got []int64
		for i := range int64(5) {
			got = append(got, eval.Get(i64, out, i).I)
		}
		return got, err
	}
	got, err := run(0, 1, 1, 3, 3, 3, -1, 2)
	want := []int64{1, 2, 0, 3, 105}
	for i := range want {
		if err != nil || got[i] != want[i] {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
	}
	if _, err := run(4); err == nil || !strings.Contains(err.Error(), "hist") {
		t.Errorf("index beyond the array: %v", err)
	}
}

// Bad access, bad arguments and bad functions are errors.
func TestErrors(t *testing.T) {
	f32 := ir.Float32
	i := sym.NewVar("i", sym.Int(4))
	n := sym.NewSymbol("n", 0, 10)
	store := func(at sym.Expr, v *expr.Expr) []loop.Stmt {
		return []loop.Stmt{&loop.For{Var: i, Extent: sym.Int(4),
			Body: []loop.Stmt{&loop.Store{Buf: 0, At: at, Value: v}}}}
	}
	one := expr.Float(f32, 1)
	ok := store(i.Expr(), one)
	x := &expr.Var{Name: "x", DType: f32}
	for name, c := range map[string]struct {
		body []loop.Stmt
		buf  int
		syms []int64
		want string
	}{
		"fine": {ok, 16, []int64{1}, ""},
		"store beyond": {store(sym.Add(i.Expr(), sym.Int(1)), one), 16, []int64{1},
			"element 4 of buffer out"},
		"store before": {store(sym.Sub(i.Expr(), sym.Int(1)), one), 16, []int64{1},
			"element -1"},
		"load beyond": {store(i.Expr(), expr.At(0, f32, sym.Mul(i.Expr(), sym.Int(2)))), 16,
			[]int64{1}, "element 4"},
		"short buffer": {ok, 12, []int64{1}, "element 3"},
		"odd buffer":   {ok, 15, []int64{1}, "no multiple"},
		"missing size": {ok, 16, nil, "sizes"},
		"division by size": {store(sym.FloorDiv(i.Expr(), n.Expr()), one), 16, []int64{0},
			"division"},
		"wrong dtype": {store(i.Expr(), expr.Float(ir.Float64, 1)), 16, []int64{1}, "float64"},
		"undeclared":  {store(i.Expr(), expr.Get(x)), 16, []int64{1}, "declared"},
		"unbound": {[]loop.Stmt{&loop.Store{Buf: 0, At: i.Expr(), Value: one}}, 16,
			[]int64{1}, "not bound"},
		"no such buffer": {[]loop.Stmt{&loop.Store{Buf: 7, At: sym.Int(0), Value: one}}, 16,
			[]int64{1}, "does not exist"},
	} {
		f := &loop.Func{Name: "f", Bufs: []loop.Buf{{Name: "out", DType: f32, Role: loop.InOut,
			Len: sym.Int(4)}}, Syms: []*sym.Symbol{n}, Body: c.body}
		err := eval.Run(f, [][]byte{make([]byte, c.buf)}, c.syms, nil)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}
