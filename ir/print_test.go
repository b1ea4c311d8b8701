package ir

import (
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/ir/sym"
)

// everything is a program that uses every form of the text.
func everything(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/everything.txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func parse(t testing.TB, text string) *Program {
	t.Helper()
	p, err := Parse("test", text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRoundTrip(t *testing.T) {
	text := everything(t)
	p := parse(t, text)
	if diff := cmp.Diff(strings.Split(text, "\n"), strings.Split(p.String(), "\n")); diff != "" {
		t.Errorf("Print(Parse(text)) (-want +got):\n%s", diff)
	}
	if err := Verify(p); err != nil {
		t.Error(err)
	}
}

func TestParsedProgram(t *testing.T) {
	p := parse(t, everything(t))
	m := p.Methods[0]
	if p.Source != "every \"thing\".pt2" || m.Name != "forward" || len(m.Symbols) != 3 {
		t.Fatalf("Source %q, method %q, %d symbols", p.Source, m.Name, len(m.Symbols))
	}
	if n, _ := m.Symbols[0].Hi.Const(); n != 64 || !m.Symbols[1].Hi.Equal(sym.Inf()) {
		t.Errorf("bounds of %v and %v", m.Symbols[0].Hi, m.Symbols[1].Hi)
	}
	if in := m.In; in.Type != "builtins.tuple" || in.Children[1].Keys[0] != "scale" ||
		in.Children[0].Children[0].Type != "" {
		t.Errorf("calling convention %+v", in)
	}
	v := m.Graph.Inputs[1]
	if s := m.Inputs[1]; s.Kind != Buffer || s.Target != "n" || !s.Persistent ||
		v.Const.Name != "n" {
		t.Errorf("buffer %+v", s)
	}
	if !v.Type.Strides[0].Is(2) || !v.Type.Offset.Is(3) {
		t.Errorf("type %v", v.Type)
	}
	n := m.Graph.Nodes[0]
	if want := (Location{"model.py", 12, "layers.0"}); n.Loc != want {
		t.Errorf("location %v, want %v", n.Loc, want)
	}
	if n.Outputs[0].Def != n || n.Output(0).Index != 0 {
		t.Error("the output does not point back to its node")
	}
}

func TestPrintArgs(t *testing.T) {
	for _, c := range []struct {
		arg  Arg
		want string
	}{
		{None{}, "none"},
		{Int(math.MinInt64), "-9223372036854775808"},
		{Int(math.MaxInt64), "9223372036854775807"},
		{Float(1), "1.0"},
		{Float(math.Copysign(0, -1)), "-0.0"},
		{Float(1e300), "1e+300"},
		{Float(0.1), "0.1"},
		{Float(math.SmallestNonzeroFloat64), "5e-324"},
		{Float(math.Inf(1)), "inf"},
		{Float(math.Inf(-1)), "-inf"},
		{Float(math.NaN()), "nan"},
		{BoolArg(true), "true"},
		{Str("a\n\"b\" # é"), `"a\n\"b\" # é"`},
		{Complex(complex(1, math.Inf(-1))), "complex(1.0, -inf)"},
		{DTypeArg(Float8E4M3FN), "f8e4m3fn"},
		{DTypeArg(0), "dtype(0)"},
		{LayoutArg(7), "layout(7)"},
		{Device("cuda:1"), `device("cuda:1")`},
		{ChannelsLast3d, "channels_last_3d"},
		{MemoryFormat(9), "memory_format(9)"},
		{OpArg("aten.add_.Tensor"), "op(aten.add_.Tensor)"},
		{OpArg("my::op"), `op("my::op")`},
		{List{}, "[]"},
		{List{Int(1), List{None{}, Str("")}}, `[1, [none, ""]]`},
	} {
		if got := ArgString(c.arg); got != c.want {
			t.Errorf("%#v prints as %s, want %s", c.arg, got, c.want)
		}
		p := parse(t, `program "" method f { return (`+c.want+`) }`)
		back := p.Methods[0].Graph.Outputs[0]
		if got := ArgString(back); got != c.want {
			t.Errorf("%s parses as %#v", c.want, back)
		}
		if f, ok := c.arg.(Float); ok {
			b, ok := back.(Float)
			if !ok || math.Float64bits(float64(f)) != math.Float64bits(float64(b)) {
				t.Errorf("%s parses as %#v", c.want, back)
			}
		} else if diff := cmp.Diff(c.arg, back); diff != "" {
			t.Errorf("%s parses differently:\n%s", c.want, diff)
		}
	}
}

func TestPrintElements(t *testing.T) {
	for _, c := range []struct {
		dtype DType
		data  string
		want  string
	}{
		{Float32, "\x00\x00\x80\x3f\xcd\xcc\xcc\x3d", "[1.0, 0.1]"},
		{Float32, "\x00\x00\xc0\x7f\x01\x00\xc0\x7f\x00\x00\x80\xff", "[nan, 0x7fc00001, -inf]"},
		{Float64, "\x01\x00\x00\x00\x00\x00\x00\x00", "[5e-324]"},
		{Float64, "\x00\x00\x00\x00\x00\x00\xf8\xff", "[0xfff8000000000000]"},
		{Int8, "\x80\x7f", "[-128, 127]"},
		{Uint8, "\x80", "[128]"},
		{Int64, "\x00\x00\x00\x00\x00\x00\x00\x80", "[-9223372036854775808]"},
		{Uint64, "\xff\xff\xff\xff\xff\xff\xff\xff", "[18446744073709551615]"},
		{Bool, "\x00\x01\x02", "[false, true, 0x02]"},
		{BFloat16, "\x80\x3f", "[0x3f80]"},
		{Complex64, "\x00\x00\x80\x3f\x00\x00\x00\x00", "[0x000000003f800000]"},
		{Float32, "", "[]"},
		{Int16, "abc", "data(ba7816bf8f01cfea, 3)"},
	} {
		k := &Constant{Type: StaticTensor(c.dtype, 0), Data: Bytes(c.data)}
		got, err := constantText(k, digestCache{})
		if err != nil || got != c.want {
			t.Errorf("%v %q prints as %s, %v, want %s", c.dtype, c.data, got, err, c.want)
		}
		if strings.HasPrefix(c.want, "data") {
			continue
		}
		p := parse(t,
			`program "" method f { const %c: `+c.dtype.Short()+`[0] = `+c.want+` return () }`)
		if got := string(p.Methods[0].Graph.Constants[0].Const.Data.(Bytes)); got != c.data {
			t.Errorf("%v %s parses as %q, want %q", c.dtype, c.want, got, c.data)
		}
	}
}

func TestLargeConstants(t *testing.T) {
	data := Bytes(strings.Repeat("x", 68))
	k := &Constant{Type: StaticTensor(Float32, 17), Data: data}
	v := &Value{Name: "c", Type: k.Type, Const: k}
	w := &Value{Name: "d", Type: k.Type, Const: &Constant{Name: "w", Type: StaticTensor(Float32, 4),
		Data: data}}
	p := &Program{Methods: []*Method{{Name: "f", Graph: &Graph{Constants: []*Value{v, w}}}}}
	text := p.String()

	if got := parse(t, text).String(); got != text {
		t.Errorf("without data it prints\n%s, want\n%s", got, text)
	}
	asked := 0
	q, err := ParseWith("test", text, func(digest string, size int64) (Blob, error) {
		if asked++; size != 68 {
			t.Errorf("asked for %d bytes", size)
		}
		return data, nil
	})
	if err != nil || asked != 1 {
		t.Fatalf("asked %d times, %v", asked, err)
	}
	if got := q.String(); got != text {
		t.Errorf("resolved it prints\n%s, want\n%s", got, text)
	}
	if _, err := ParseWith("test", text, func(string, int64) (Blob, error) {
		return nil, errors.New("lost")
	}); err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("error %v, want that of the resolver", err)
	}
	u := parse(t, text).Methods[0].Graph.Constants[0].Const.Data
	if _, err := u.ReadAt(make([]byte, 1), 0); err == nil {
		t.Error("data that is not at hand can be read")
	}
}

type badBlob struct{}

func (badBlob) ReadAt([]byte, int64) (int, error) { return 0, errors.New("disk on fire") }
func (badBlob) Size() int64                       { return 4 }

func TestUnreadableConstant(t *testing.T) {
	k := &Constant{Type: StaticTensor(Float32), Data: badBlob{}}
	p := &Program{Methods: []*Method{{Name: "f", Graph: &Graph{
		Constants: []*Value{{Name: "c", Type: k.Type, Const: k}},
	}}}}
	err := Print(io.Discard, p)
	if err == nil || !strings.Contains(err.Error(), "%c") ||
		!strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("error %v", err)
	}
	if text := p.String(); !strings.Contains(text, "data(unreadable, 4)") {
		t.Errorf("it prints\n%s", text)
	}
}

func TestLocations(t *testing.T) {
	for _, l := range []Location{
		{},
		{File: "model.py", Line: 12},
		{File: "model.py", Line: 12, Module: "layers.0.attn"},
		{Module: "layers.0"},
		{File: "<eval_with_key>.13", Line: 9},
		{File: "my model.py", Line: 1, Module: "a b"},
		{File: "in x:3.py", Line: 1},
		{File: "", Line: 7, Module: "in"},
		{File: "a\nb\"c.py", Line: 1, Module: "x\ty"},
	} {
		if got := parseLocation(l.String()); got != l {
			t.Errorf("%#v prints as %s, which parses as %#v", l, l, got)
		}
	}
	for _, s := range []string{"a plain comment", "model.py:", "model.py:99999999999999999999"} {
		if l := parseLocation(s); l != (Location{}) {
			t.Errorf("%s parses as %#v", s, l)
		}
	}
}

// Programs that do not verify must print too.
func TestPrintBroken(t *testing.T) {
	p := &Program{Methods: []*Method{{Name: "f", Graph: &Graph{
		Inputs:  []*Value{{Name: "x", Type: Type{Kind: TensorKind, Sizes: Ints([]int64{1})}}},
		Nodes:   []*Node{{Op: "no op", Args: []NamedArg{{"a", nil}, {"b", Ref{}}}}},
		Outputs: []Arg{nil},
	}}}}
	want := "program \"\"\n\nmethod f {\n  input %x: dtype(0)[1][]\n\n  () = \"no op\"(a=nil, " +
		"b=nil)\n  return (nil)\n}\n"
	if diff := cmp.Diff(want, p.String()); diff != "" {
		t.Error(diff)
	}
}
