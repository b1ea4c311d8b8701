package pt2

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/etgen/etgen/ir"
)

// checkProgram requires that what a reader accepts is well formed.
func checkProgram(t *testing.T, p *ir.Program, err error) {
	t.Helper()
	if err != nil {
		wantError(t, err)
		return
	}
	for _, m := range p.Methods {
		if len(m.Inputs) != len(m.Graph.Inputs) || len(m.Outputs) != len(m.Graph.Outputs) {
			t.Fatal("specs do not match the graph")
		}
		for _, v := range m.Graph.Inputs {
			if v.Const == nil {
				continue
			}
			if err := ir.CheckConstant(v.Const); err != nil {
				t.Fatal(err)
			}
			if n, ok := v.Type.Numel().Const(); ok && n < 1<<16 {
				if _, err := ir.Tensor(v.Const); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func FuzzZip(f *testing.F) {
	for _, name := range testArchives(f) {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, data string) {
		p, err := ReadZip(strings.NewReader(data), int64(len(data)), "fuzz.pt2")
		checkProgram(t, p, err)
	})
}

// FuzzGraph puts the input in place of the graph of a model with weights.
func FuzzGraph(f *testing.F) {
	for _, name := range testArchives(f) {
		for member, file := range unpack(f, name) {
			if member == oldGraph || strings.HasSuffix(member, "/models/model.json") {
				f.Add(file.Data)
			}
		}
	}
	files := unpack(f, "testdata/linear.pt2")
	graph := rootOf(files) + "/models/model.json"
	f.Fuzz(func(t *testing.T, data []byte) {
		model := fstest.MapFS{}
		for name, file := range files {
			model[name] = file
		}
		model[graph] = &fstest.MapFile{Data: data}
		p, err := ReadFS(model, ".")
		checkProgram(t, p, err)
	})
}

func FuzzPickle(f *testing.F) {
	for _, name := range testArchives(f) {
		for member, file := range unpack(f, name) {
			if strings.HasSuffix(member, ".pt") {
				f.Add(unpackBytes(f, file.Data)[memberPickle(f, file.Data)].Data)
			}
		}
	}
	f.Add([]byte("cos\nsystem\n(" + str("id") + "tR."))
	f.Fuzz(func(t *testing.T, data []byte) {
		root, err := unpickle(data)
		if err != nil {
			return
		}
		for _, x := range (&torchSave{root: root}).tensors() {
			if x.typ.Kind != ir.TensorKind || len(x.typ.Sizes) != len(x.typ.Strides) ||
				x.storage == nil {
				t.Fatalf("malformed tensor %+v", x)
			}
		}
	})
}

func memberPickle(t testing.TB, data []byte) string {
	for name := range unpackBytes(t, data) {
		if strings.HasSuffix(name, "/data.pkl") {
			return name
		}
	}
	t.Fatal("no data.pkl")
	return ""
}
