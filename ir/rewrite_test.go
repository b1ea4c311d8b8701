package ir

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rewrite runs visit on the only method of text; both program and result
// must verify.
func rewrite(t *testing.T, text string, visit func(e *Emitter,
	n *Node) ([]*Value, bool, error)) (string, error) {
	t.Helper()
	p := parse(t, text)
	if err := Verify(p); err != nil {
		t.Fatal(err)
	}
	rw := &Rewriter{Visit: visit}
	err := rw.Run(p.Methods[0])
	if err != nil {
		return "", err
	}
	if err := Verify(p); err != nil {
		t.Errorf("%v in\n%v", err, p)
	}
	return p.String(), nil
}

// program wraps lines in a program whose inputs are the tensors %x and %y and
// the boolean tensor %p.
func program(lines string) string {
	return "program \"\"\n\nmethod f {\n  input %x: f32[2]\n  input %y: f32[2]\n  input %p: " +
		"b8[]\n\n" + lines + "}\n"
}

func check(t *testing.T, got, wantLines string) {
	t.Helper()
	if diff := cmp.Diff(strings.Split(program(wantLines), "\n"), strings.Split(got, "\n")); diff !=
		"" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func keepAll(*Emitter, *Node) ([]*Value, bool, error) { return nil, true, nil }

func TestRewriteNothing(t *testing.T) {
	for _, text := range []string{everything(t), sound} {
		p := parse(t, text)
		want := p.String()
		for _, m := range p.Methods {
			if err := (&Rewriter{Visit: keepAll}).Run(m); err != nil {
				t.Fatal(err)
			}
		}
		if got := p.String(); got != want {
			t.Errorf("%s", cmp.Diff(want, got))
		}
	}
}

// A replacement reaches uses in regions, in outputs of regions and of the
// method, and in nested lists.
func TestReplace(t *testing.T) {
	got, err := rewrite(t, program(`  %relu: f32[2] = aten.relu.default(self=%x)  # model.py:3
  %cat: f32[4] = aten.cat.default(tensors=[%relu, %relu])
  %cond: f32[2] = cond(%p)
    region () {
      %inner: f32[2] = cond(%p)
        region () {
          %neg: f32[2] = aten.neg.default(self=%relu)
          return (%neg)
        }
        region () {
          return (%relu)
        }
      return (%inner)
    }
    region () {
      return (%relu)
    }
  return (%relu, %cat, %cond)
`), func(e *Emitter, n *Node) ([]*Value, bool, error) {
		if n.Op != "aten.relu.default" {
			return nil, true, nil
		}
		m := e.Emit("aten.clamp.default", []NamedArg{{"self", n.Arg("self")}, {"min", Int(0)}},
			n.Outputs[0].Type)
		return m.Outputs, false, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	check(t, got, `  %clamp: f32[2] = aten.clamp.default(self=%x, min=0)  # model.py:3
  %cat: f32[4] = aten.cat.default(tensors=[%clamp, %clamp])
  %cond: f32[2] = cond(%p)
    region () {
      %inner: f32[2] = cond(%p)
        region () {
          %neg: f32[2] = aten.neg.default(self=%clamp)
          return (%neg)
        }
        region () {
          return (%clamp)
        }
      return (%inner)
    }
    region () {
      return (%clamp)
    }
  return (%clamp, %cat, %cond)
`)
}

// Nodes in a region are replaced too, by nodes and constants of the region;
// several outputs and none get their names.
func TestEmitInRegion(t *testing.T) {
	got, err := rewrite(t, program(`  %cond: f32[2] = cond(%p)
    region () {
      %a: f32[2], %b: f32[2] = my.two.default(%x)
      return (%b)
    }
    region () {
      return (%x)
    }
  return (%cond)
`), func(e *Emitter, n *Node) ([]*Value, bool, error) {
		if n.Op != "my.two.default" {
			return nil, true, nil
		}
		typ := n.Outputs[0].Type
		c := e.Constant("c", &Constant{Type: StaticTensor(Int8, 1), Data: Bytes{7}})
		e.Emit("my.effect.default", []NamedArg{{"", Ref{c}}})
		m := e.Emit("my.three.default", n.Args, typ, Type{}, typ)
		return []*Value{nil, m.Outputs[2]}, false, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	check(t, got, `  %cond: f32[2] = cond(%p)
    region () {
      const %c: i8[1] = [7]
      () = effect: my.effect.default(%c)
      %three_out: f32[2], none, %three_out_1: f32[2] = three: my.three.default(%x)
      return (%three_out_1)
    }
    region () {
      return (%x)
    }
  return (%cond)
`)
}

// inline replaces each cond by its first region.
func inline(e *Emitter, n *Node) ([]*Value, bool, error) {
	if n.Op != "cond" {
		return nil, true, nil
	}
	var args []*Value
	for _, a := range n.Args[1:] {
		EachRef(a.Value, func(v *Value) { args = append(args, v) })
	}
	out := e.Inline(n.Regions[0], args)
	var repl []*Value
	for i, a := range out {
		if ref, ok := a.(Ref); ok {
			repl = append(repl, ref.Value)
			continue
		}
		repl = append(repl, nil)
		e.SubstituteArg(n.Outputs[i], a)
	}
	return repl, false, nil
}

// The region that is moved has operands used in a region of its own, names
// that its sibling and a later cond have too, a constant and a literal result.
func TestInline(t *testing.T) {
	got, err := rewrite(t, program(`  %relu: f32[2] = aten.relu.default(self=%x)
  %first: f32[2], %n: int = cond(%p, [%relu, %y])
    region (%a: f32[2], %b: f32[2]) {
      const %k: f32[2] = [1.0, 2.0]
      %add: f32[2] = aten.add.Tensor(self=%a, other=%k)
      %loop: f32[2] = while_loop([%add])
        region (%i: f32[2]) {
          %lt: b8[] = my.less.default(%i, %b)
          return (%lt)
        }
        region (%i: f32[2]) {
          %add_2: f32[2] = aten.add.Tensor(self=%i, other=%a)
          return (%b)
        }
      return (%loop, 5)
    }
    region (%a: f32[2], %b: f32[2]) {
      %add: f32[2] = aten.sub.Tensor(self=%a, other=%b)
      return (%add, 6)
    }
  %second: f32[2] = cond(%p, [%first])
    region (%a: f32[2]) {
      const %k: f32[2] = [3.0, 4.0]
      %add: f32[2] = aten.add.Tensor(self=%a, other=%k, alpha=%n)
      %pair: f32[2], %add_1: f32[2] = my.pair.default(%add)
      return (%add_1)
    }
    region (%a: f32[2]) {
      return (%a)
    }
  return (%second, %n)
`), inline)
	if err != nil {
		t.Fatal(err)
	}
	check(t, strings.Replace(got, "  const", "\n  const", 1), `  const %k_1: f32[2] = [1.0, 2.0]
  const %k: f32[2] = [3.0, 4.0]

  %relu: f32[2] = aten.relu.default(self=%x)
  %add_3: f32[2] = aten.add.Tensor(self=%relu, other=%k_1)
  %loop: f32[2] = while_loop([%add_3])
    region (%i: f32[2]) {
      %lt: b8[] = my.less.default(%i, %y)
      return (%lt)
    }
    region (%i: f32[2]) {
      %add_2: f32[2] = aten.add.Tensor(self=%i, other=%relu)
      return (%y)
    }
  %add_4: f32[2] = aten.add.Tensor(self=%loop, other=%k, alpha=5)
  %pair: f32[2], %add_1: f32[2] = my.pair.default(%add_4)
  return (%add_1, 5)
`)
}

func TestInlineNested(t *testing.T) {
	got, err := rewrite(t, program(`  %outer: f32[2] = cond(%p, [%x])
    region (%a: f32[2]) {
      %inner: f32[2] = cond(%p, [%a])
        region (%b: f32[2]) {
          %neg: f32[2] = aten.neg.default(self=%b)
          return (%neg)
        }
        region (%b: f32[2]) {
          return (%b)
        }
      %abs: f32[2] = aten.abs.default(self=%inner)
      return (%abs)
    }
    region (%a: f32[2]) {
      return (%a)
    }
  return (%outer)
`), inline)
	if err != nil {
		t.Fatal(err)
	}
	check(t, got, `  %neg: f32[2] = aten.neg.default(self=%x)
  %abs: f32[2] = aten.abs.default(self=%neg)
  return (%abs)
`)
}

// A visitor may put the node itself in the middle of what it emits.
func TestAppendVisited(t *testing.T) {
	got, err := rewrite(t, program(`  %neg: f32[2] = aten.neg.default(self=%x)
  %abs: f32[2] = aten.abs.default(self=%neg)
  return (%neg, %abs)
`), func(e *Emitter, n *Node) ([]*Value, bool, error) {
		e.Append(n)
		if n.Name == "abs" {
			return n.Outputs, false, nil
		}
		m := e.Emit("aten.clone.default", []NamedArg{{"self", Ref{n.Outputs[0]}}},
			n.Outputs[0].Type)
		return m.Outputs, false, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	check(t, got, `  %neg: f32[2] = aten.neg.default(self=%x)
  %clone: f32[2] = aten.clone.default(self=%neg)
  %abs: f32[2] = aten.abs.default(self=%clone)
  return (%clone, %abs)
`)
}

// A visitor that remembers values, as common subexpressions do, may use one
// that was replaced meanwhile.
func TestSubstituteChain(t *testing.T) {
	var first *Value
	got, err := rewrite(t, program(`  %neg: f32[2] = aten.neg.default(self=%x)
  %abs: f32[2] = aten.abs.default(self=%neg)
  %cos: f32[2] = aten.cos.default(self=%abs)
  return (%neg, %abs, %cos)
`), func(e *Emitter, n *Node) ([]*Value, bool, error) {
		switch n.Name {
		case "neg":
			first = n.Outputs[0]
			return nil, true, nil
		case "abs":
			e.Substitute(n.Outputs[0], first)
			e.Substitute(first, n.Outputs[0]) // would be a cycle
			e.Substitute(first, first.Def.Args[0].Value.(Ref).Value)
			return nil, false, nil
		}
		m := e.Emit("aten.sin.default", []NamedArg{{"self", Ref{first}}}, n.Outputs[0].Type)
		return m.Outputs, false, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	check(t, got, `  %neg: f32[2] = aten.neg.default(self=%x)
  %sin: f32[2] = aten.sin.default(self=%x)
  return (%x, %x, %sin)
`)
}

func TestRewriteErrors(t *testing.T) {
	text := program(`  %neg: f32[2] = aten.neg.default(self=%x)  # model.py:3
  %abs: f32[2] = aten.abs.default(self=%neg)
  %cond: f32[2] = cond(%p)
    region () {
      %cos: f32[2] = aten.cos.default(self=%abs)
      return (%cos)
    }
    region () {
      return (%x)
    }
  return (%abs, %cond)
`)
	sentinel := errors.New("unsupported")
	for _, c := range []struct {
		name  string
		visit func(e *Emitter, n *Node) ([]*Value, bool, error)
		want  []string
	}{
		{"all at once", func(e *Emitter, n *Node) ([]*Value, bool, error) {
			if n.Op == "cond" {
				return nil, true, nil
			}
			e.Emit("my.half.done", nil)
			return nil, false, sentinel
		}, []string{
			"node neg (aten.neg.default) at model.py:3: unsupported",
			"node abs (aten.abs.default): unsupported",
			"node cos (aten.cos.default): unsupported",
		}},
		{"dropped but used", func(e *Emitter, n *Node) ([]*Value, bool, error) {
			return nil, n.Name != "abs", nil
		}, []string{"node abs (aten.abs.default): its output %abs is used but was replaced by nothing"}},
		{"too many replacements", func(e *Emitter, n *Node) ([]*Value, bool, error) {
			return []*Value{n.Outputs[0], n.Outputs[0]}, n.Name != "abs", nil
		}, []string{"node abs (aten.abs.default): 2 replacements for 1 outputs"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := rewrite(t, text, c.visit)
			if err == nil {
				t.Fatal("no error")
			}
			if got := strings.Split(err.Error(), "\n"); !slices.Equal(got, c.want) {
				t.Errorf("have %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	ns := NewNames(parse(t, sound).Methods[0])
	for _, c := range [][2]string{
		{"x", "x_1"}, {"x", "x_2"}, {"x_1", "x_1_1"}, {"new", "new"}, {"new", "new_1"},
		{"pair", "pair_1"}, {"two", "two_1"}, {"neg", "neg_1"}, {"a", "a_1"}, {"c", "c_1"},
		{"", "v"}, {"", "v_1"},
	} {
		if got := ns.Fresh(c[0]); got != c[1] {
			t.Errorf("Fresh(%q) = %s, want %s", c[0], got, c[1])
		}
	}
}

func TestUses(t *testing.T) {
	p := parse(t, program(`  %cat: f32[4] = aten.cat.default(tensors=[%x, %x])
  %cond: f32[2] = cond(%p, [%x])
    region (%a: f32[2]) {
      %add: f32[2] = aten.add.Tensor(self=%a, other=%y)
      return (%add)
    }
    region (%a: f32[2]) {
      return (%y)
    }
  return (%cond, %cond, 3)
`))
	got := map[string]int{}
	for v, n := range Uses(p.Methods[0].Graph) {
		got[v.Name] += n
	}
	want := map[string]int{"x": 3, "p": 1, "y": 2, "a": 1, "add": 1, "cond": 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOpBase(t *testing.T) {
	for op, want := range map[string]string{"aten.add.Tensor": "add", "_operator.mul": "mul",
		"cond": "cond", "": ""} {
		if got := OpBase(op); got != want {
			t.Errorf("OpBase(%q) = %q, want %q", op, got, want)
		}
	}
}
