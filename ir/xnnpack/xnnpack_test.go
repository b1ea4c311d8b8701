package xnnpack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/etgen/etgen/golden/schematest"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
)

// sample has a node of every kind, values of every type and quantization, constants with a key
// and without.
func sample() *Graph {
	g := &Graph{Version: "0", Externs: 2, Inputs: []uint32{0}, Outputs: []uint32{1},
		Constants: []Constant{{}, {Key: "w", Size: 8}, {Data: ir.Bytes("abcdefgh")},
			{Data: ir.Bytes("xy")}}}
	add := func(v Value) uint32 {
		v.ID = uint32(len(g.Values))
		g.Values = append(g.Values, v)
		return v.ID
	}
	x := add(Value{Type: FP32, Dims: []uint32{1, 2}, Flags: ExternalInput})
	add(Value{Type: FP32, Dims: []uint32{1, 2}, External: 1, Flags: ExternalOutput})
	w := add(Value{Type: FP32, Dims: []uint32{2}, Constant: 1, External: None})
	for _, v := range []Value{
		{Type: QInt8, Quant: PerTensor{0.5, -3}},
		{Type: QCInt8, Dims: []uint32{2}, Constant: 2,
			Quant: PerChannel{Scales{List: []float32{1, 2}}, 0}},
		{Type: QDInt8, Dims: []uint32{1, 2}, Quant: PerToken{1}},
		{Type: QBInt4, Dims: []uint32{1, 4}, Constant: 3,
			Quant: PerGroup{Scales{Buffer: 3, Count: 2}, 0, 2}},
	} {
		v.External = None
		add(v)
	}
	last := x
	for k := Kind(1); int(k) < len(kinds); k++ {
		f := k.Form()
		n := Node{Kind: k, Handle: uint32(k)}
		for i := range f.Inputs {
			n.Inputs = append(n.Inputs, []uint32{last, w, x}[min(i, 2)])
		}
		for range f.Outputs {
			last = add(Value{Type: FP32, Dims: []uint32{1, 2}, External: None})
			n.Outputs = append(n.Outputs, last)
		}
		for i := range f.Ints {
			n.Ints = append(n.Ints, uint32(i+1))
		}
		for i := range f.Lists {
			n.Lists = append(n.Lists, []uint32{uint32(i), 7})
		}
		if f.Float != "" {
			n.Float = 0.25
		}
		if k%5 == 0 {
			n.Clamp = &Clamp{Max: float32(math.Inf(1))}
		}
		g.Nodes = append(g.Nodes, n)
	}
	g.Nodes[len(g.Nodes)-1].Outputs = []uint32{1}
	return g
}

func encode(t testing.TB, g *Graph) []byte {
	t.Helper()
	b, err := Encode(g)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What is written is read again, and is the same.
func TestRoundTrip(t *testing.T) {
	want := sample()
	if err := Verify(want); err != nil {
		t.Error(err)
	}
	got, err := Read(ir.Bytes(encode(t, want)))
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, want)
}

// same compares graphs, and constants by their bytes.
func same(t *testing.T, got, want *Graph) {
	t.Helper()
	if len(got.Constants) != len(want.Constants) {
		t.Fatalf("%d constants, want %d", len(got.Constants), len(want.Constants))
	}
	for i, c := range got.Constants {
		w := want.Constants[i]
		if c.Key != w.Key || c.Size != w.Size || (c.Data == nil) != (w.Data == nil) {
			t.Errorf("constant %d: %+v, want %+v", i, c, w)
		} else if c.Data != nil {
			x, err1 := ReadBytes(c.Data)
			y, err2 := ReadBytes(w.Data)
			if err1 != nil || err2 != nil || !bytes.Equal(x, y) {
				t.Errorf("constant %d: %q, want %q", i, x, y)
			}
		}
	}
	a, b := *got, *want
	a.Constants, b.Constants = nil, nil
	if d := cmp.Diff(b, a, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}

// sharedPayloads are those of the programs that ExecuTorch's exporter wrote.
func sharedPayloads(t testing.TB) map[string]ir.Blob {
	t.Helper()
	paths, err := filepath.Glob("../../../shared/pte-delegated/*/model.pte")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]ir.Blob{}
	for _, path := range paths {
		p, c, err := pte.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		for _, plan := range p.Plans {
			for i, d := range plan.Delegates {
				if d.ID == ID {
					all[fmt.Sprintf("%s/%s/%d", filepath.Base(filepath.Dir(path)), plan.Name, i)] =
						d.Processed
				}
			}
		}
	}
	if len(all) == 0 {
		t.Skip("no files ../shared/pte-delegated beside the repository")
	}
	return all
}

// What ExecuTorch's exporter wrote is read, passes, and is written as it was.
func TestShared(t *testing.T) {
	for name, data := range sharedPayloads(t) {
		g, err := Read(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := Verify(g); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		again, err := Read(ir.Bytes(encode(t, g)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		same(t, again, g)
	}
}

// A payload of old form is a flatbuffer, which holds the constants. Both identifiers go.
func TestBareFlatbuffer(t *testing.T) {
	g := sample()
	g.Constants = nil
	for i := range g.Values {
		g.Values[i].Constant = 0
	}
	b := encode(t, g)[32:]
	for _, id := range []string{"XN00", "XN01"} {
		copy(b[4:], id)
		got, err := Read(ir.Bytes(b))
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, g)
	}
}

// Each damage is named.
func TestDamagedHeader(t *testing.T) {
	good := encode(t, sample())
	size := uint32(len(good))
	for name, c := range map[string]struct {
		at    int
		value uint32
		want  string
	}{
		"length":              {8, 29, "a header that ends early"},
		"flatbuffer offset":   {10, size + 1, "a flatbuffer of"},
		"flatbuffer size":     {14, size, "a flatbuffer of"},
		"constants offset":    {18, size + 1, "bytes of constants at"},
		"constants before":    {18, 32, "bytes of constants at"},
		"constants size":      {22, 4096, "bytes of constants at"},
		"constants size high": {26, 1, "bytes of constants at"},
		"identifier":          {36, 0, "identifier"},
		"root":                {32, size, "leaves the buffer"},
	} {
		b := bytes.Clone(good)
		if c.at == 8 {
			binary.LittleEndian.PutUint16(b[8:], uint16(c.value))
		} else {
			binary.LittleEndian.PutUint32(b[c.at:], c.value)
		}
		if _, err := Read(ir.Bytes(b)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	for n := range len(good) {
		if _, err := Read(ir.Bytes(good[:n])); err == nil {
			t.Errorf("the first %d of %d bytes are accepted", n, len(good))
		}
	}
}

// What is wrong with a graph is said of its node or value.
func TestVerifyErrors(t *testing.T) {
	for want, damage := range map[string]func(*Graph){
		"more than 4096":        func(g *Graph) { g.Externs = 4097 },
		"its id 3 is another's": func(g *Graph) { g.Values[4].ID = 3 },
		"argument 0 is another value's": func(g *Graph) {
			g.Values[1].External = 0
		},
		"value 0: datatype 99": func(g *Graph) { g.Values[0].Type = 99 },
		"it has 7 dimensions":  func(g *Graph) { g.Values[0].Dims = make([]uint32, 7) },
		"value 0: flags 3":     func(g *Graph) { g.Values[0].Flags = 3 },
		"flags 1 of argument":  func(g *Graph) { g.Values[0].External = None },
		"argument 9 of 2":      func(g *Graph) { g.Values[0].External = 9 },
		"constant 9 of 4":      func(g *Graph) { g.Values[2].Constant = 9 },
		"a dimension of":       func(g *Graph) { g.Values[0].Dims[0] = 1 << 31 },
		"quantized by <nil>":   func(g *Graph) { g.Values[0].Type = QInt8 },
		"Scale:0":              func(g *Graph) { g.Values[3].Quant = PerTensor{} },
		"ZeroPoint:128":        func(g *Graph) { g.Values[3].Quant = PerTensor{1, 128} },
		"Dim:1":                func(g *Graph) { g.Values[4].Quant = PerChannel{Dim: 1} },
		"List:[1 -1]": func(g *Graph) {
			g.Values[4].Quant = PerChannel{
				Scales{List: []float32{1, -1}}, 0}
		},
		"NonBatch:3":             func(g *Graph) { g.Values[5].Quant = PerToken{3} },
		"Size:3":                 func(g *Graph) { g.Values[6].Quant = PerGroup{Size: 3} },
		"input1_id: there is no": func(g *Graph) { g.Nodes[0].Inputs[0] = 999 },
		"is read before it is made": func(g *Graph) {
			g.Nodes[0].Inputs[0] = g.Nodes[1].Outputs[0]
		},
		"is an input, a constant, or made before": func(g *Graph) { g.Nodes[0].Outputs[0] = 0 },
		"perm of 7 numbers": func(g *Graph) {
			g.Nodes[4].Lists[0] = make([]uint32,
				7)
		},
		"to 2 at least and 1 at most":             func(g *Graph) { g.Nodes[0].Clamp = &Clamp{2, 1} },
		"no node makes it, an output":             func(g *Graph) { g.Nodes = g.Nodes[:3] },
		"it has 0 nodes":                          func(g *Graph) { g.Nodes = nil },
		"cannot be quantized as qint8 by the run": func(g *Graph) { g.Values[2].Dynamic = QInt8 },
	} {
		g := sample()
		damage(g)
		if err := Verify(g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// The table of kinds is that of the schema.
func TestKinds(t *testing.T) {
	l, err := schema().Layout("XNode")
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(kinds); i++ {
		if got := l.Selector(kinds[i].name); got != uint64(i) {
			t.Errorf("%s is %d in the schema, %d here", kinds[i].name, got, i)
		}
	}
	if l.Selector("XNNCos") != uint64(len(kinds)-1) {
		t.Error("the schema has other kinds")
	}
	if l := tables(); len(l) < len(kinds) {
		t.Errorf("%d tables", len(l))
	}
}

// docs/formats.md decides about every field of the schema, once.
func TestEveryFieldIsDecided(t *testing.T) {
	fields := schematest.Schema(t, "xnnpack.fbs")
	if len(fields) < 90 {
		t.Fatalf("%d fields", len(fields))
	}
	schematest.SameFields(t, fields, schematest.Fields(t, "../../docs/formats.md",
		"## Payloads of XNNPACK"))
}

// check reads a payload, whatever it is, in the memory that is stated.
func check(t *testing.T, data []byte) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g, err := Read(ir.Bytes(data))
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<16+ReadExpansion*uint64(len(data)) {
		t.Errorf("%d bytes of payload make %d", len(data), n)
	}
	if err != nil {
		return
	}
	_ = Verify(g)
	if _, err := Read(ir.Bytes(encode(t, g))); err != nil {
		t.Errorf("what was read and written again: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(encode(f, sample()))
	f.Add(encode(f, sample())[32:])
	f.Fuzz(check)
}

// Payloads with some bytes changed are read or refused.
func TestMutants(t *testing.T) {
	good := encode(t, sample())
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		b := bytes.Clone(good)
		for range 1 + r.IntN(6) {
			b[r.IntN(len(b))] = byte(r.Uint32() >> r.IntN(8))
		}
		check(t, b)
	}
}
