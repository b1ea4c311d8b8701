package schedule_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/reference"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/kernels/schedule"
)

// Which loops two threads share.
func TestDivide(t *testing.T) {
	sum, carried := f32Var("t"), f32Var("t")
	copies := func(to, from func(i, j ix) ix) func(i ix) block {
		return func(i ix) block {
			return block{over("j", 64, func(j ix) block { return block{y.put(to(i, j), x.at(from(i, j)))} })}
		}
	}
	row := func(i, j ix) ix { return lin(64, i, j) }
	column := func(_, j ix) ix { return j }
	addUp := func(at ix) loop.Stmt { return set(sum, expr.Add(expr.Get(sum), x.at(at))) }
	total := over("i", 640, func(i ix) block { return block{addUp(i)} })
	each := func(n int, from func(i ix) ix) *loop.For {
		return over("i", n, func(i ix) block { return block{y.put(i, x.at(from(i)))} })
	}
	same := func(i ix) ix { return i }
	clear := func(b buffer, n int) *loop.For {
		return over("j", n, func(j ix) block { return block{b.put(j, zero)} })
	}
	move := func(to buffer, n int, at func(j ix) ix, from buffer, fromAt func(j ix) ix) *loop.For {
		return over("j", n, func(j ix) block { return block{to.put(at(j), from.at(fromAt(j)))} })
	}
	rows := func(n int, body func(i ix) block) *loop.For { return over("i", n, body) }
	addTo := func(b buffer, n int, from func(j ix) ix) *loop.For {
		return over("j", n, func(j ix) block {
			return block{b.put(j, expr.Add(b.at(j), x.at(from(j))))}
		})
	}
	leave := func(at ix) loop.Stmt {
		return &loop.If{Cond: expr.Gt(x.at(at), zero), Then: block{&loop.Break{}}}
	}
	lanes := func(n int) block {
		return block{clear(s, n), rows(10, func(i ix) block {
			return block{addTo(s, n, func(j ix) ix { return lin(64, i, j) })}
		}), move(y, n, same, s, same)}
	}
	choose := func(name string, n int, at ix, then func(k ix) loop.Stmt) block {
		k := sym.NewVar(name, sym.Int(int64(n)))
		return block{&loop.LetIndex{Sym: k, Value: expr.At(i0, ir.Int64, at)}, then(k.Expr())}
	}
	n := sym.NewSymbol("n", 1, 900)
	for _, c := range []struct {
		name, want string
		body       block
	}{
		{"elements", "for i < n vectorizable divided",
			block{strip(over("i", n.Expr(), func(i ix) block { return block{y.put(i, x.at(i))} }))}},
		{"rows", "for i < 10 divided", block{rows(10, func(i ix) block {
			return block{let(sum, zero), over("j", 64, func(j ix) block { return block{addUp(row(i, j))} }),
				strip(over("j", 64, func(j ix) block {
					return block{y.put(row(i, j), expr.Div(x.at(row(i, j)), expr.Get(sum)))}
				}))}
		})}},
		{"columns", "for i < 8 divided", block{rows(8, func(i ix) block {
			return block{over("j", 10, func(j ix) block {
				return block{y.put(lin(8, j, i), x.at(lin(10, i, j)))}
			})}
		})}},
		{"results read again", "for i < 10 divided", block{rows(10, func(i ix) block {
			return append(copies(row, column)(i), over("j", 64, func(j ix) block {
				return block{y.put(row(i, j), y.at(lin(64, i, -1, j, 63)))}
			}))
		})}},
		{"results of others read", "", block{rows(10, func(i ix) block {
			return append(copies(row, column)(i), over("j", 64, func(j ix) block {
				return block{y.put(row(i, j), y.at(j))}
			}))
		})}},
		{"results read after the loop", "", block{each(640, same), over("i", 10, func(i ix) block {
			return block{y.put(i, y.at(lin(i, 10)))}
		})}},
		{"two nests", "for i < 10 divided", block{
			rows(10, func(i ix) block {
				return block{move(y, 32, func(j ix) ix { return row(i, j) }, x, same)}
			}),
			rows(10, func(i ix) block {
				return block{move(y, 32, func(j ix) ix { return lin(64, i, j, 32) }, x, same)}
			})}},
		{"two nests in one place", "", block{each(10, same), over("i", 5, func(i ix) block {
			return block{y.put(lin(2, i), x.at(i))}
		})}},
		{"too few iterations", "for j < 64 divided", block{rows(3, copies(row, column))}},
		{"few iterations that come out even", "for i < 2 divided", block{rows(2, copies(row, column))}},
		{"short rows of few", "for i < 3 divided", block{rows(3, func(i ix) block {
			return block{move(y, 16, func(j ix) ix { return lin(16, i, j) }, x, same)}
		})}},
		{"one iteration", "", block{each(1, same)}},
		{"sums over a loop around", "for j < 64 divided", block{clear(y, 64), rows(10, func(i ix) block {
			return block{addTo(y, 64, func(j ix) ix { return row(i, j) })}
		})}},
		{"a total", "", block{let(sum, zero), total, y.put(lin(0), expr.Get(sum))}},
		{"a total before", "", block{let(sum, zero), total, over("i", 640, func(i ix) block {
			return block{y.put(i, expr.Get(sum))}
		})}},
		{"a carried number", "", block{let(carried, zero), over("i", 640, func(i ix) block {
			return block{set(carried, expr.Add(expr.Get(carried), x.at(i))), y.put(i, expr.Get(carried))}
		})}},
		{"windows", "", block{over("i", 100, func(i ix) block {
			return block{over("j", 2, func(j ix) block { return block{y.put(lin(i, j), x.at(i))} })}
		})}},
		{"elements that data chooses", "", block{over("i", 640, func(i ix) block {
			return choose("k", 640, i, func(k ix) loop.Stmt { return y.put(k, x.at(i)) })
		})}},
		{"elements of a row that data chooses", "for i < 10 divided", block{rows(10, func(i ix) block {
			return block{over("j", 64, func(j ix) block {
				return choose("k", 64, j, func(k ix) loop.Stmt { return y.put(row(i, k), x.at(j)) })
			})}
		})}},
		{"loads that data chooses", "for i < 640 divided", block{over("i", 640, func(i ix) block {
			return choose("k", 640, i, func(k ix) loop.Stmt { return y.put(i, x.at(k)) })
		})}},
		{"a loop that is left", "", block{over("i", 640, func(i ix) block {
			return block{leave(i), y.put(i, x.at(i))}
		})}},
		{"a loop inside that is left", "for i < 10 divided", block{rows(10, func(i ix) block {
			return block{over("j", 64, func(j ix) block {
				return block{leave(j), y.put(row(i, j), x.at(j))}
			})}
		})}},
		{"scratch of an iteration", "for i < 10 divided", block{rows(10, func(i ix) block {
			return block{clear(s, 64), over("k", 4, func(ix) block {
				return block{addTo(s, 64, func(j ix) ix { return lin(16, i, j) })}
			}), move(y, 64, func(j ix) ix { return row(i, j) }, s, same)}
		})}},
		{"scratch of the iteration before", "", block{clear(s, 64), rows(10, func(i ix) block {
			return block{over("j", 64, func(j ix) block {
				return block{y.put(row(i, j), s.at(lin(-1, j, 63))), s.put(j, x.at(row(i, j)))}
			})}
		})}},
		{"scratch of the iteration before, of the same lane", "for j < 64 divided",
			block{clear(s, 64), rows(10, func(i ix) block {
				return block{over("j", 64, func(j ix) block {
					return block{y.put(row(i, j), s.at(j)), s.put(j, x.at(row(i, j)))}
				})}
			})}},
		{"scratch of which some is old", "", block{rows(10, func(i ix) block {
			return block{move(s, 63, same, x, same),
				move(y, 64, func(j ix) ix { return row(i, j) }, s, same)}
		})}},
		{"scratch that may be old", "", block{rows(10, func(i ix) block {
			return block{&loop.If{Cond: expr.Gt(x.at(i), zero), Then: block{move(s, 64, same, x, same)}},
				move(y, 64, func(j ix) ix { return row(i, j) }, s, same)}
		})}},
		{"a table", "for i < 10 divided", block{move(s, 16, same, x, same), rows(10, func(i ix) block {
			return block{move(y, 64, func(j ix) ix { return row(i, j) }, s,
				func(j ix) ix { return sym.Mod(j, sym.Int(16)) })}
		})}},
		{"a expensive table", "", block{over("j", 4, func(j ix) block {
			return block{s.put(j, expr.Div(expr.Div(x.at(j), x.at(lin(j, 1))), x.at(lin(j, 2))))}
		}), over("i", 10, func(i ix) block { return block{y.put(i, s.at(lin(0)))} })}},
		{"lanes", "for j < 64 divided", lanes(64)},
		{"lanes that are too few", "", lanes(32)},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := operands(c.body)
			f.Syms = []*sym.Symbol{n}
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
			if r := reference.Verify(g); len(r.Errors) > 0 {
				t.Errorf("%v\n%s", r.Errors, g)
			}
		})
	}
}

// A result whose loops threads share may lie over an operand only if none of them
// reads what another writes.
func TestDividedInPlace(t *testing.T) {
	sum := f32Var("t")
	for _, c := range []struct {
		name string
		want bool
		in   int
		body block
	}{
		{"elements", true, 1, block{over("i", 640, func(i ix) block {
			return block{y.put(i, x.at(i))}
		})}},
		{"rows", true, 1, block{over("i", 10, func(i ix) block {
			return block{let(sum, zero), over("j", 64, func(j ix) block {
				return block{set(sum, expr.Add(expr.Get(sum), x.at(lin(64, i, j))))}
			}), over("j", 64, func(j ix) block { return block{y.put(lin(64, i, j), expr.Get(sum))} })}
		})}},
		{"rows further on", false, 1, block{over("i", 9, func(i ix) block {
			return block{over("j", 64, func(j ix) block {
				return block{y.put(lin(64, i, j), x.at(lin(64, i, j, 64)))}
			})}
		})}},
		{"elements of another size", false, i0, block{over("i", 640, func(i ix) block {
			return block{y.put(i, expr.Cast(ir.Float32, expr.At(i0, ir.Int64, i)))}
		})}},
		{"a number of all", false, 1, block{&loop.Let{Var: sum, Value: x.at(lin(639))},
			over("i", 639, func(i ix) block { return block{y.put(i, expr.Get(sum))} })}},
	} {
		f := operands(c.body)
		g := schedule.Divide(f, 2)
		if !schedule.InPlace(f, 0, c.in) || g == nil {
			t.Fatalf("%s: nothing to tell", c.name)
		}
		if got := schedule.InPlace(g, 0, c.in); got != c.want {
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
