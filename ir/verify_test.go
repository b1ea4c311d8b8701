package ir

import (
	"strings"
	"testing"

	"github.com/etgen/etgen/ir/sym"
)

// sound is a program without faults that the tests break in one place each.
const sound = `program "sound.pt2"
method forward {
  symbol s0 in [1, 64]
  parameter %w: f32[2] "w" = [1.0, 2.0]
  buffer %n: i64[] "n" persistent = [0]
  input %x: f32[s0, 2]
  input %p: b8[]
  fixed %k: int(3) = 3
  const %c: f32[2] = [3.0, 4.0]

  %mul: f32[s0, 2] = aten.mul.Tensor(self=%x, other=%w)  # model.py:7 in layers.0
  %cond: f32[s0, 2] = higher_order.cond(%p, [%mul])  # model.py:8
    region (%a: f32[s0, 2]) {
      %neg: f32[s0, 2] = aten.neg.default(self=%a)
      return (%neg)
    }
    region (%a: f32[s0, 2]) {
      %add: f32[s0, 2] = aten.add.Tensor(self=%a, other=%c)
      return (%add)
    }
  %one: i64[], %two: i64[] = pair: my.pair.default(%n)
  return (%cond, mutates_buffer "n" = %one)
}
`

// The parts of sound.
type parts struct {
	p           *Program
	m           *Method
	g           *Graph
	mul, cond   *Node
	pair        *Node
	then, other *Graph
}

func TestVerifySound(t *testing.T) {
	if err := Verify(parse(t, sound)); err != nil {
		t.Error(err)
	}
	if err := Verify(parse(t, everything(t))); err != nil {
		t.Error(err)
	}
}

func TestVerifyFaults(t *testing.T) {
	f32 := StaticTensor(Float32, 2)
	for _, c := range []struct {
		name  string
		fault func(s parts)
		want  []string
	}{
		{"method nil", func(s parts) { s.p.Methods[0] = nil }, []string{"method 0 is nil"}},
		{"method name", func(s parts) { s.m.Name = "" }, []string{"method 0 has no name"}},
		{"method twice", func(s parts) { s.p.Methods = append(s.p.Methods, Clone(s.p).Methods...) },
			[]string{"two methods are called forward"}},
		{"graph nil", func(s parts) { s.m.Graph = nil }, []string{"no graph"}},

		{"input nil", func(s parts) { s.g.Inputs[2] = nil },
			[]string{"an entry of the input list is nil", "uses %x before"}},
		{"input specs", func(s parts) { s.m.Inputs = s.m.Inputs[1:] },
			[]string{"5 inputs have 4 specs"}},
		{"input kind", func(s parts) { s.m.Inputs[2].Kind = 99 },
			[]string{"%x has the unknown kind 99"}},
		{"parameter target", func(s parts) { s.m.Inputs[0].Target = "" },
			[]string{"parameter %w has no qualified name"}},
		{"buffer twice", func(s parts) { s.m.Inputs[0] = s.m.Inputs[1] },
			[]string{`buffer "n" is an input twice`}},
		{"parameter type", func(s parts) {
			s.g.Inputs[0].Type = Type{Kind: FloatKind}
			s.g.Inputs[0].Const = nil
		}, []string{"parameter %w is no tensor"}},
		{"input data", func(s parts) { s.g.Inputs[2].Const = s.g.Inputs[0].Const },
			[]string{"%x has constant data but"}},
		{"fixed missing", func(s parts) { s.m.Inputs[4].Fixed = nil }, []string{"%k: exactly"}},
		{"fixed extra", func(s parts) { s.m.Inputs[2].Fixed = Int(1) }, []string{"%x: exactly"}},
		{"input def", func(s parts) { s.g.Inputs[2].Def = s.mul },
			[]string{"input %x claims to be defined by node mul"}},

		{"output specs", func(s parts) { s.m.Outputs = nil }, []string{"2 outputs have 0 specs"}},
		{"output kind", func(s parts) { s.m.Outputs[0].Kind = 99 },
			[]string{"output 0 has the unknown kind 99"}},
		{"output nil", func(s parts) { s.g.Outputs[0] = nil }, []string{"output 0 is nil"}},
		{"output ref nil", func(s parts) { s.g.Outputs[0] = Ref{} },
			[]string{"output 0 refers to no value"}},
		{"output scope", func(s parts) { s.g.Outputs[0] = Ref{s.then.Nodes[0].Outputs[0]} },
			[]string{"output 0 uses %neg, which is defined in a region"}},
		{"buffer target", func(s parts) { s.m.Outputs[1].Target = "m" },
			[]string{`mutates_buffer "m", which is no such input`}},
		{"parameter mutation target", func(s parts) { s.m.Outputs[1].Kind = ParameterMutation },
			[]string{`mutates_parameter "n", which is no such input`}},
		{"input target", func(s parts) {
			s.m.Outputs[1] = OutputSpec{Kind: UserInputMutation,
				Target: "w"}
		}, []string{`mutates_input "w", which is no such input`}},
		{"mutation twice", func(s parts) {
			s.g.Outputs, s.m.Outputs = append(s.g.Outputs, s.g.Outputs[1]),
				append(s.m.Outputs, s.m.Outputs[1])
		}, []string{`output 2 mutates_buffer "n", and so does one before it`}},
		{"mutation literal", func(s parts) { s.g.Outputs[1] = Int(0) },
			[]string{`mutates_buffer "n" to a literal`}},
		{"mutation type", func(s parts) { s.g.Outputs[1] = s.g.Outputs[0] },
			[]string{`"n", a i64[], to a f32[s0, 2]`}},

		{"node nil", func(s parts) { s.g.Nodes[0] = nil },
			[]string{"entry 0 of a node list is nil"}},
		{"node twice", func(s parts) { s.g.Nodes = append(s.g.Nodes, s.mul) },
			[]string{"node mul (aten.mul.Tensor) at model.py:7: it is in the graph twice"}},
		{"op", func(s parts) { s.mul.Op = "" },
			[]string{"node mul () at model.py:7: it has no operator"}},
		{"node name", func(s parts) { s.mul.Name = "pair" },
			[]string{"node pair (my.pair.default): its name is taken"}},
		{"node name is a value's", func(s parts) { s.pair.Name = "x" },
			[]string{"node x (my.pair.default): its name is taken"}},
		{"arg nil", func(s parts) { s.mul.Args[1].Value = nil },
			[]string{"node mul (aten.mul.Tensor) at model.py:7: argument other is nil"}},
		{"arg element nil", func(s parts) { s.cond.Args[1].Value = List{nil} },
			[]string{"argument 1 has a nil element"}},
		{"arg ref nil", func(s parts) { s.mul.Args[1].Value = Ref{} },
			[]string{"argument other refers to no value"}},
		{"arg twice", func(s parts) { s.mul.Args[1].Name = "self" },
			[]string{"argument self is given twice"}},
		{"use before definition", func(s parts) {
			s.g.Nodes[0], s.g.Nodes[1] = s.g.Nodes[1], s.g.Nodes[0]
		}, []string{
			"node cond (higher_order.cond) at model.py:8: argument 1 uses %mul before its definition"}},
		{"own output", func(s parts) { s.mul.Args[0].Value = Ref{s.mul.Outputs[0]} },
			[]string{"argument self uses %mul before"}},
		{"value of nowhere", func(s parts) {
			s.mul.Args[0].Value = Ref{&Value{Name: "x", Type: f32}}
		}, []string{"argument self uses %x before"}},
		{"sibling region", func(s parts) {
			s.other.Nodes[0].Args[1].Value = Ref{s.then.Nodes[0].Outputs[0]}
		}, []string{"node add (aten.add.Tensor): argument other uses %neg, which is defined in a " +
			"region and not visible"}},
		{"region sees result", func(s parts) { s.then.Outputs[0] = Ref{s.cond.Outputs[0]} },
			[]string{"output 0 uses %cond before"}},

		{"back link", func(s parts) { s.pair.Outputs[1].Def = s.mul },
			[]string{"node pair (my.pair.default): output 1, %two, does not point back"}},
		{"back index", func(s parts) { s.pair.Outputs[1].Index = 0 },
			[]string{"output 1, %two, does not point back"}},
		{"result data", func(s parts) { s.mul.Outputs[0].Const = s.g.Inputs[0].Const },
			[]string{"output %mul has constant data"}},
		{"value twice", func(s parts) { s.pair.Outputs[0] = s.mul.Outputs[0] },
			[]string{"%mul is defined twice"}},
		{"input twice", func(s parts) { s.g.Inputs[0] = s.g.Inputs[1] },
			[]string{"%n is defined twice"}},
		{"value name", func(s parts) { s.pair.Outputs[0].Name = "x" },
			[]string{"the name of %x is taken"}},
		{"value name is a node's", func(s parts) { s.pair.Outputs[0].Name = "cond" },
			[]string{"the name of %cond is taken"}},
		{"value name in region", func(s parts) { s.then.Nodes[0].Outputs[0].Name = "mul" },
			[]string{"node neg (aten.neg.default): the name of %mul is taken"}},
		{"value without name", func(s parts) { s.pair.Outputs[0].Name = "" },
			[]string{"a value has no name"}},

		{"region nil", func(s parts) { s.cond.Regions[0] = nil }, []string{"region 0 is nil"}},
		{"region twice", func(s parts) { s.cond.Regions[0] = s.other },
			[]string{"a graph occurs twice"}},
		{"region around itself", func(s parts) { s.cond.Regions[0] = s.g },
			[]string{"a graph occurs twice"}},
		{"regions of cond", func(s parts) { s.cond.Regions = s.cond.Regions[:1] },
			[]string{"it has 1 regions, want 2"}},
		{"cond without predicate", func(s parts) { s.cond.Args = nil },
			[]string{"it has 0 operands, want at least 1"}},
		{"region inputs", func(s parts) { s.cond.Args[1].Value = List{} },
			[]string{"region 0 has 1 inputs for 0 operands", "region 1 has 1 inputs for 0"}},
		{"region input type", func(s parts) { s.cond.Args[1].Value = List{Ref{s.g.Inputs[1]}} },
			[]string{"region 0 takes %a, a f32[s0, 2], where the operand is a i64[]"}},
		{"region outputs", func(s parts) { s.then.Outputs = nil },
			[]string{
				"node cond (higher_order.cond) at model.py:8: region 0 returns 0 values, want 1"}},
		{"region input data", func(s parts) { s.then.Inputs[0].Const = s.g.Inputs[0].Const },
			[]string{"input %a of a region has constant data"}},
		{"while_loop", func(s parts) { s.cond.Op = "while_loop" },
			[]string{"has 1 inputs for 2 operands", "region 1 has 1 inputs"}},
		{"while_loop results", func(s parts) {
			s.cond.Op, s.cond.Args[0].Value = "while_loop", List{}
			s.then.Outputs = append(s.then.Outputs, Int(0))
		}, []string{"region 0 returns 2 values, want 1"}},
		{"scan", func(s parts) { s.cond.Op = "scan" }, []string{"it has 2 regions, want 1"}},

		{"kind", func(s parts) { s.g.Inputs[2].Type.Kind = 99 },
			[]string{"%x has the unknown kind 99"}},
		{"dtype", func(s parts) { s.mul.Outputs[0].Type.DType = numDTypes },
			[]string{"%mul has no known dtype"}},
		{"strides", func(s parts) { s.mul.Outputs[0].Type.Strides = nil },
			[]string{"%mul has 2 sizes and 0 strides"}},
		{"negative size", func(s parts) { s.mul.Outputs[0].Type.Sizes[1] = sym.Int(-1) },
			[]string{"size 1 of %mul is -1"}},
		{"negative stride", func(s parts) { s.mul.Outputs[0].Type.Strides[1] = sym.Int(-1) },
			[]string{"stride 1 of %mul is -1"}},
		{"negative offset", func(s parts) { s.mul.Outputs[0].Type.Offset = sym.Int(-1) },
			[]string{"offset 0 of %mul is -1"}},
		{"scalar with sizes", func(s parts) { s.g.Inputs[2].Type.Kind = FloatKind },
			[]string{"%x is no tensor but has"}},
		{"float with value", func(s parts) { s.g.Inputs[4].Type.Kind = FloatKind },
			[]string{"%k has a value but is no int"}},
		{"class", func(s parts) { s.g.Inputs[2].Type.Class = "C" }, []string{"%x has a class but"}},
		{"symbol", func(s parts) { s.m.Symbols = nil },
			[]string{"size 0 of %x uses the symbol s0, which the method does not declare"}},
		{"another symbol of the name", func(s parts) {
			s.m.Symbols[0] = sym.NewSymbol("s0", 1, 64)
		}, []string{"size 0 of %x uses the symbol s0"}},
		{"symbol nil", func(s parts) { s.m.Symbols = append(s.m.Symbols, nil) },
			[]string{"symbol 1 is nil"}},
		{"symbol twice", func(s parts) {
			s.m.Symbols = append(s.m.Symbols, sym.NewSymbol("s0", 1, 2))
		}, []string{"symbol s0 is declared twice"}},
		{"undefined size", func(s parts) {
			s.mul.Outputs[0].Type.Sizes[0] = sym.FloorDiv(sym.Int(1), sym.Int(0))
		}, []string{"size 0 of %mul is undefined"}},

		{"constant data", func(s parts) { s.g.Constants[0].Const = nil },
			[]string{"constant %c has no data"}},
		{"constant nil", func(s parts) { s.g.Constants[0] = nil },
			[]string{"an entry of the constant list is nil"}},
		{"constant type", func(s parts) { s.g.Constants[0].Const.Type = StaticTensor(Float32, 3) },
			[]string{"%c is a f32[2], its data a f32[3]"}},
		{"constant size", func(s parts) { s.g.Constants[0].Const.Data = Bytes("1234567") },
			[]string{"the data of %c: its storage has 7 bytes"}},
		{"constant offset", func(s parts) { s.g.Inputs[0].Const.Type.Offset = sym.Int(1) },
			[]string{"the data of %w: its storage has 8 bytes"}},
		{"constant overflow", func(s parts) {
			s.g.Inputs[0].Const.Type.Strides = Ints([]int64{1 << 62})
		}, []string{"the data of %w: "}},
		{"constant symbolic", func(s parts) {
			s.g.Inputs[0].Const.Type.Strides = []sym.Expr{s.m.Symbols[0].Expr()}
		}, []string{"the data of %w: its strides are not constant"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := parse(t, sound)
			g := p.Methods[0].Graph
			s := parts{p: p, m: p.Methods[0], g: g, mul: g.Nodes[0], cond: g.Nodes[1],
				pair: g.Nodes[2],
				then: g.Nodes[1].Regions[0], other: g.Nodes[1].Regions[1]}
			c.fault(s)
			err := Verify(p)
			if err == nil {
				t.Fatal("no fault found")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("have\n%v\nwant %s", err, want)
				}
			}
			_ = p.String() // whatever is wrong, it prints
		})
	}
}

func TestVerifyReportsAll(t *testing.T) {
	p := parse(t, sound)
	g := p.Methods[0].Graph
	g.Nodes[0].Args[0].Value = nil
	g.Nodes[2].Outputs[1].Index = 5
	g.Nodes[1].Regions[0].Nodes[0].Op = ""
	err := Verify(p)
	if err == nil {
		t.Fatal("no fault found")
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != 3 {
		t.Errorf("%d faults, want 3:\n%v", n, err)
	}
}
