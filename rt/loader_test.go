package rt_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/rt"
)

// sequential hides that files can be read at any place.
type sequential struct{ fs.FS }

func (s sequential) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	return struct{ fs.File }{f}, err
}

// counting counts the bytes that are read.
type counting struct {
	rt.DataLoader
	read atomic.Int64
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	c.read.Add(int64(len(p)))
	return c.DataLoader.ReadAt(p, off)
}

// large has a constant of 1 MiB.
func large() *build {
	b := newBuild("forward")
	x, w, out := b.planned(1<<18), b.constant(make([]float32, 1<<18), 1<<18), b.planned(1<<18)
	b.kernel("aten::add", "out", x, w, out)
	return b.inputs(x).outputs(out)
}

// Constants are read when needed, once for all methods; not at all if they are
// in memory.
func TestLazyConstants(t *testing.T) {
	data := large().bytes(t)
	c := &counting{DataLoader: rt.Bytes(data)}
	p, err := rt.Load(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := c.read.Load(); n > 1<<16 {
		t.Errorf("loading read %d bytes", n)
	}
	for range 2 {
		if _, err := load(p, "forward", nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.read.Load(); n < 1<<20 || n > 1<<20+1<<16 {
		t.Errorf("two methods read %d bytes", n)
	}

	b := large()
	b.outputs(1) // the constant
	data = b.bytes(t)
	if p, err = rt.Load(rt.Bytes(data), nil); err != nil {
		t.Fatal(err)
	}
	m, err := load(p, "forward", nil)
	if err != nil {
		t.Fatal(err)
	}
	out, _ := m.OutputTensor(0)
	if first, last := &out.Data[0], &out.Data[len(out.Data)-1]; !inside(data, first) ||
		!inside(data, last) {
		t.Error("the constant is a copy")
	}
}

func inside(data []byte, p *byte) bool {
	for i := range data {
		if &data[i] == p {
			return true
		}
	}
	return false
}

func TestLoadErrors(t *testing.T) {
	data := affine().bytes(t)
	for name, load := range map[string]func() (*rt.Program, error){
		"empty": func() (*rt.Program, error) { return rt.Load(rt.Bytes(nil), nil) },
		"no pte": func() (*rt.Program, error) {
			return rt.Load(rt.Bytes(strings.Repeat("nonsense", 100)), nil)
		},
		"truncated": func() (*rt.Program, error) {
			return rt.Load(rt.Bytes(data[:len(data)/2]), nil)
		},
	} {
		if _, err := load(); !errors.Is(err, rt.ErrInvalidProgram) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := rt.Open("testdata/no such file", nil); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "no such file") {
		t.Errorf("no file: %v", err)
	}
	fsys := fstest.MapFS{"bad.pte": {Data: data[:40]}}
	if _, err := rt.OpenFS(fsys, "bad.pte", nil); !errors.Is(err, rt.ErrInvalidProgram) ||
		!strings.Contains(err.Error(), "bad.pte") {
		t.Errorf("a bad file: %v", err)
	}
	if _, err := rt.OpenData(os.DevNull); !errors.Is(err, rt.ErrInvalidProgram) {
		t.Errorf("no data file: %v", err)
	}
}

// external has its weight in a data file, and state that begins with data from
// there.
func external() (*build, *pte.DataFile) {
	b := newBuild("forward")
	x, out := b.planned(2), b.planned(2)
	w := describe(2)
	w.ExtraInfo = &pte.ExtraTensorInfo{External: true, Name: "weight"}
	s := b.place(describe(2))
	s.ExtraInfo = &pte.ExtraTensorInfo{External: true, Name: "state"}
	weight, state := b.value(w), b.value(s)
	b.kernel("aten::mul", "out", weight, x, out)
	b.kernel("aten::add", "out", out, state, state)
	layout := &pte.TensorLayout{ScalarType: 6, Sizes: []int32{2}, DimOrder: []uint8{0}}
	return b.inputs(x).outputs(state), &pte.DataFile{Entries: []pte.DataEntry{
		{Key: "weight", Layout: layout, Data: ir.Bytes(floatBytes(2, 3))},
		{Key: "state", Layout: layout, Data: ir.Bytes(floatBytes(100, 200))},
	}}
}

func TestExternalData(t *testing.T) {
	b, data := external()
	p := b.program(t)
	var file bytes.Buffer
	if err := pte.WriteData(&file, data); err != nil {
		t.Fatal(err)
	}
	opened, err := rt.OpenDataFS(fstest.MapFS{"weights.ptd": {Data: file.Bytes()}}, "weights.ptd")
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	// The state's data are copied, the file's stay.
	for _, d := range []*rt.DataFile{rt.NewDataFile(data), rt.NewDataFile(data), opened} {
		m, err := load(p, "forward", &rt.MethodOptions{Data: []*rt.DataFile{d}})
		if err != nil {
			t.Fatal(err)
		}
		forward(t, m, tensor(t, []float32{1, 2}, 2))
		forward(t, m, tensor(t, []float32{1, 2}, 2))
		wantFloats(t, m, 0, 104, 212)
	}
	if got := m0(p).Attributes; len(got) != 2 || got[0].Name != "weight" {
		t.Errorf("attributes are %v", got)
	}
	for name, change := range map[string]func(){
		"another size": func() {
			data.Entries[0].Layout = &pte.TensorLayout{ScalarType: 6, Sizes: []int32{1},
				DimOrder: []uint8{0}}
		},
		"another dtype": func() {
			data.Entries[0].Layout = &pte.TensorLayout{ScalarType: 3, Sizes: []int32{2},
				DimOrder: []uint8{0}}
		},
		"no tensor": func() { data.Entries[0].Layout = nil },
		"absent":    func() { data.Entries = data.Entries[1:] },
	} {
		b, data = external()
		change()
		_, err := load(b.program(t), "forward",
			&rt.MethodOptions{Data: []*rt.DataFile{rt.NewDataFile(data)}})
		if !errors.Is(err, rt.ErrMissingData) || !strings.Contains(err.Error(), `"weight"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func m0(p *rt.Program) *rt.MethodMeta {
	meta, _ := p.MethodMeta(p.MethodNames()[0])
	return meta
}
