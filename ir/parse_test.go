package ir

import (
	"strings"
	"testing"
)

func TestParseErrors(t *testing.T) {
	head := "program \"\"\nmethod f {\n"
	deep := strings.Repeat("[", 10000)
	for _, c := range []struct{ text, want string }{
		{"", "test:1: want “program”, have end of text"},
		{"program x", "test:1: want the quoted file name, have “x”"},
		{`program "x`, "test:1: string is not closed"},
		{`program "\q"`, "test:1: string is not closed or has a bad escape"},
		{"program \"\"\nmethod", "test:2: want a method name, have end of text"},
		{head, "test:3: want a value to define, have end of text"},
		{head + "}", "want a value to define, have “}”"},
		{head + "return (%x)", "test:3: %x is used but not defined above"},
		{head + "return (% )", "“%” without a name"},
		{head + "return (1", "test:3: want “,”, have end of text"},
		{head + "return (1 2) }", "want “,”, have “2”"},
		{head + "return (99999999999999999999) }", "99999999999999999999 is no 64-bit integer"},
		{head + "return (1.2.3) }", "want a float, have “1.2.3”"},
		{head + "return (frob) }", "want “(”, have “)”"},
		{head + "return (frob(1)) }", "want an argument, have “frob”"},
		{head + "return (memory_format(256)) }", "256 is not a memory format"},
		{head + "return (nil) }", "want “(”, have “)”"},
		{head + "return (" + deep, "nested deeper than 500"},
		{head + "takes " + strings.Repeat("a(", 10000), "nested deeper than 500"},
		{head + strings.Repeat("%a: int = cond() region () {", 10000), "nested deeper than 500"},
		{head + "takes t(\"a\": *, *)", "either all children of a container have a key or none"},
		{head + "input %x: f32[2] input %x: int", "%x is defined twice"},
		{head + "input %x: f33[2]", "f33 is no type"},
		{head + "input %x: tensor", "tensor is no type"},
		{head + "input %x: f32[s0]", "s0"},
		{head + "input %x: f32[2", "test:3: “[” is not closed by “]” in its line"},
		{head + "input %x: f32[2][1, 1]", "2 strides for 1 sizes"},
		{head + "input %x: f32[2] offset(1, 2)", "a tensor has one offset"},
		{head + "input %x: int()", "an int has one value"},
		{head + "symbol s in 1", "want “[”, have “1”"},
		{head + "symbol s in [1]", "test:3: want “,”, have “]”"},
		{head + "symbol s in [1, 2] symbol s in [1, 2]", "symbol s is declared twice"},
		{head + "symbol s in [1, t]", "t"},
		{head + "const %c: f32[1] = [one]", "one is no element of type float32"},
		{head + "const %c: f32[1] = [1.0.0]", "1.0.0 is no element of type float32"},
		{head + "const %c: i8[1] = [128]", "128 is no element of type int8"},
		{head + "const %c: i8[1] = [0x100]", "0x100 is no element of type int8"},
		{head + "const %c: i8[1] = [0x-1]", "0x-1 is no element of type int8"},
		{head + "const %c: int = [1]", "a constant of type int has no elements"},
		{head + "const %c: i8[1] = data(1, x)", "want the size of the data, have “x”"},
		{head + "const %c: i8[1] = data(1, -1)", "data has the size -1"},
		{head + "const %c: i8[1]", "test:3: want “=”, have end of text"},
		{head + "() = (1)", "want an operator, have “(”"},
		{head + "() = a.b(x y)", "want “(”, have “y”"},
	} {
		_, err := Parse("test", c.text)
		if err == nil {
			t.Errorf("%.80s: no error", c.text)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s:\nhave %v\nwant %s", c.text, err, c.want)
		}
	}
}

// Blanks, line breaks and comments may stand anywhere between tokens.
func TestParseFree(t *testing.T) {
	p := parse(t, "# a test\nprogram\"\"method f{input %x:f32[ 2 ]# here\n\t%y : f32[2]=o.p( a = 1 "+
		",\n# there\n%x) # m.py:3\nreturn(%y)}\r\n")
	want := "program \"\"\n\nmethod f {\n  input %x: f32[2]\n\n  %y: f32[2] = o.p(a=1, " +
		"%x)  # m.py:3\n  return (%y)\n}\n"
	if got := p.String(); got != want {
		t.Errorf("have\n%swant\n%s", got, want)
	}
}

// Whatever parses prints a text that parses to the same text, and nothing
// panics.
func FuzzParse(f *testing.F) {
	f.Add(sound)
	f.Add(`program "" method f { symbol s in [-inf, 2*t] return (complex(1.0, nan), [op("a b"), layout(7)]) }`)
	f.Add("program \"\"\nmethod f {\n  buffer %b: f32[2][1] offset(3) \"b\" persistent = named " +
		"\"c\" typed f32[2] values [0x7fc00001, -0.0]\n  return ()\n}")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse("fuzz", text)
		if err != nil {
			return
		}
		once := p.String()
		q, err := Parse("fuzz", once)
		if err != nil {
			t.Fatalf("%v in\n%s", err, once)
		}
		if twice := q.String(); twice != once {
			t.Fatalf("first\n%s\nthen\n%s", once, twice)
		}
		if got := Clone(p).String(); got != once {
			t.Fatalf("original\n%s\nclone\n%s", once, got)
		}
		_ = Verify(p) // must not panic
	})
}
