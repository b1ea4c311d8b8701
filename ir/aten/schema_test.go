package aten

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
)

// TestParseEverySchema parses every schema of PyTorch, prints it and parses
// what it printed.
func TestParseEverySchema(t *testing.T) {
	data, err := os.ReadFile("../../../shared/reference/aten_schemas_2.14.txt")
	if err != nil {
		t.Skip("../shared/reference is not here: ", err)
	}
	n := 0
	for _, line := range strings.Split(string(data), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		line = strings.TrimSpace(strings.TrimPrefix(line, "*"))
		s, err := Parse(line)
		if err != nil {
			t.Error(err)
			continue
		}
		again, err := Parse(s.String())
		if err != nil {
			t.Errorf("printed form of %q: %v", line, err)
		} else if !reflect.DeepEqual(s, again) {
			t.Errorf("%q\nprinted as %q\nparses differently", line, s)
		}
		n++
	}
	if n < 3000 {
		t.Errorf("only %d schemas seen", n)
	}
}

func TestParse(t *testing.T) {
	s, err := Parse("aten::foo_.bar(Tensor(a!) self, Tensor?[] indices, SymInt[2]? size=None, " +
		"int[2] pad=0, *, float eps=1e-05, bool b=False, str how=\"none\", MemoryFormat? " +
		"memory_format=0, ScalarType? dtype=None) -> (Tensor(a!) x, Tensor[])")
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "aten.foo_.bar" || len(s.Args) != 9 || len(s.Returns) != 2 || !s.Mutates() {
		t.Errorf("got %+v", s)
	}
	if a := s.Args[1]; !a.Type.IsList() || !a.Type.Base().Optional ||
		a.Type.Base().Name != "Tensor" {
		t.Errorf("indices: %+v", a.Type)
	}
	if a := s.Args[2]; !a.Type.Optional || a.Type.Size != 2 || a.Default != (ir.None{}) {
		t.Errorf("size: %+v", a)
	}
	if a := s.Args[4]; !a.KwOnly || a.Default != ir.Float(1e-5) {
		t.Errorf("eps: %+v", a)
	}
	if a := s.Args[7]; a.Default != ir.ContiguousFormat {
		t.Errorf("memory_format: %+v", a)
	}
	if s.Args[3].KwOnly || s.Returns[0].Name != "x" {
		t.Errorf("got %+v", s)
	}
}

func TestParseSchemaErrors(t *testing.T) {
	for _, line := range []string{
		"", "aten", "aten::", "aten::f", "aten::f(", "aten::f(Tensor", "aten::f(Tensor x",
		"aten::f(Tensor x=", "aten::f() -> ", "aten::f(Tensor x) Tensor",
		"aten::f(Tensor x y) -> Tensor", "aten::f(Tensor x) -> Tensor z w",
		"aten::f(str x=\"a) -> Tensor", "aten::f(int[x] y) -> Tensor",
		"aten::f(Tensor(a x) -> Tensor", "aten::f(int x=$) -> int",
	} {
		if s, err := Parse(line); err == nil {
			t.Errorf("%q parses as %v", line, s)
		}
	}
}
