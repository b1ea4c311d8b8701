package native_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/lower/native"
)

// sourcesOf gives what the text form of p does not spell out.
func sourcesOf(t testing.TB, p *native.Program) native.Sources {
	data := map[string][]byte{}
	for _, c := range p.Consts {
		d, err := ir.Digest(ir.Bytes(c.Data))
		if err != nil {
			t.Fatal(err)
		}
		data[d] = c.Data
	}
	return native.Sources{Tuned: tuned.Standard(), Data: func(digest string,
		size int64) ([]byte, error) {
		if d, ok := data[digest]; ok {
			return d, nil
		}
		return nil, fmt.Errorf("there is no such data")
	}}
}

// roundTrip parses the text of p, requires that it prints to the same, and
// returns what was parsed.
func roundTrip(t *testing.T, p *native.Program) *native.Program {
	t.Helper()
	once := p.String()
	q, err := native.Parse("text", once, sourcesOf(t, p))
	if err != nil {
		t.Fatalf("%v in\n%s", err, once)
	}
	if diff := cmp.Diff(once, q.String()); diff != "" {
		t.Fatalf("text changes (-first +second):\n%s", diff)
	}
	return q
}

// Programs of all models and cases print to text that parses to the same
// program: the same text, the same plan, and the same C and Go.
func TestTextOfModels(t *testing.T) {
	var files []string
	for _, glob := range []string{"../../../shared/models/*/*.pt2", "../../golden/cases/*/*.pt2"} {
		list, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, list...)
	}
	if len(files) == 0 {
		t.Skip("no models beside the repository")
	}
	for i, file := range files {
		lang := []string{"c", "go"}[i%2]
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file)+"/"+lang,
			func(t *testing.T) {
				checkModel(t, file, compile.Options{Lang: lang, Optimize: []string{"size",
					"speed"}[i/2%2]})
			})
	}
}

func checkModel(t *testing.T, file string, opt compile.Options) {
	if info, err := os.Stat(file); err != nil || testing.Short() && info.Size() > 1<<20 {
		t.Skip("large")
	}
	program, closer, err := compile.Read(file)
	if err != nil {
		t.Skipf("not readable: %v", err)
	}
	defer closer.Close()
	p, err := compile.Native(program, opt)
	if err != nil {
		t.Skipf("not compiled: %v", err)
	}
	q := roundTrip(t, p)
	comparePlans(t, p, q)
	want, err := compile.Print(p, opt)
	if err != nil {
		t.Skipf("not printed: %v", err)
	}
	got, err := compile.Print(q, opt)
	if err != nil {
		t.Fatal(err)
	}
	names := func(files []codegen.File) (list []string) {
		for _, f := range files {
			list = append(list, f.Name)
		}
		return list
	}
	if diff := cmp.Diff(names(want.Files), names(got.Files)); diff != "" {
		t.Errorf("other files (-of the program +of its text):\n%s", diff)
	}
	for _, f := range want.Files {
		i := slices.IndexFunc(got.Files, func(g codegen.File) bool { return g.Name == f.Name })
		if i < 0 || bytes.Equal(f.Data, got.Files[i].Data) {
			continue
		}
		if g := got.Files[i].Data; utf8.Valid(f.Data) && utf8.Valid(g) {
			t.Errorf("%s differs (-of the program +of its text):\n%s", f.Name,
				cmp.Diff(string(f.Data), string(g)))
		} else {
			t.Errorf("%s differs: %d and %d bytes", f.Name, len(f.Data), len(g))
		}
	}
}

func comparePlans(t *testing.T, p, q *native.Program) {
	t.Helper()
	for i, m := range p.Methods {
		n := q.Methods[i]
		if diff := cmp.Diff(m.Problem, n.Problem); diff != "" {
			t.Errorf("problem of %s: %s", m.Name, diff)
		}
		if diff := cmp.Diff(m.Plan, n.Plan); diff != "" {
			t.Errorf("plan of %s: %s", m.Name, diff)
		}
		if diff := cmp.Diff(flat(m.Buffers), flat(n.Buffers)); diff != "" {
			t.Errorf("buffers of %s: %s", m.Name, diff)
		}
	}
}

// flat returns what buffers are apart from what they refer to, equal weights
// once.
func flat(list []*native.Buffer) []string {
	var out []string
	for _, b := range list {
		s := fmt.Sprint(b.Name, b.DType, b.Sizes, b.Len, b.MaxLen, b.Storage, b.At, b.Offset)
		if b.Root != nil {
			s += " of " + b.Root.Name
		}
		if b.Const != nil {
			s += " = " + b.Const.Name
		}
		if b.Storage != native.Weight || !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
