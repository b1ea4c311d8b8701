package inspect

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/lower/partition"
	"github.com/etgen/etgen/lower/partition/xnn"
	"github.com/etgen/etgen/plan"
)

var update = flag.Bool("update", false, "write testdata")

const cases = "../../golden/cases"

// options say of all operators but one that the runtime has kernels.
var options = Options{
	Compile:   compile.Options{Lang: "c"},
	HasKernel: func(name string) bool { return name != "aten::relu.out" },
}

// emit compiles a case to an ExecuTorch program in a file.
func emit(t *testing.T, name string, opt compile.Options) string {
	t.Helper()
	p, closer, err := compile.Read(filepath.Join(cases, name, "model.pt2"))
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	opt.Lang, opt.Name = "pte", name
	pkg, err := compile.Package(p, opt)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := pkg.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name+".pte")
}

// golden holds text against a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// What people read, of exported and of ExecuTorch programs: straight code, state,
// branches, loops, dynamic sizes, external weights.
func TestText(t *testing.T) {
	for _, c := range []struct{ name, path string }{
		{"lenet.pt2", filepath.Join(cases, "lenet", "model.pt2")},
		{"mutated_buffer.pt2", filepath.Join(cases, "mutated_buffer", "model.pt2")},
		{"dynamic_batch.pt2", filepath.Join(cases, "dynamic_batch", "model.pt2")},
		{"lenet.pte", emit(t, "lenet", compile.Options{})},
		{"mutated_buffer.pte", emit(t, "mutated_buffer", compile.Options{})},
		{"dynamic_batch.pte", emit(t, "dynamic_batch", compile.Options{})},
		{"cond.pte", emit(t, "cond", compile.Options{})},
		{"while_loop.pte", emit(t, "while_loop", compile.Options{})},
		{"external.pte", emit(t, "linear", compile.Options{ExternalWeights: true})},
	} {
		info, err := File(c.path, options)
		if err != nil {
			t.Error(err)
			continue
		}
		var text, colored bytes.Buffer
		if err := info.Text(&text, Style{}); err != nil {
			t.Fatal(err)
		}
		golden(t, c.name+".txt", text.String())
		if err := info.Text(&colored, Style{Color: true}); err != nil {
			t.Fatal(err)
		}
		if plain := strings.NewReplacer("\x1b[1m", "", "\x1b[1;31m", "", "\x1b[m", "").Replace(
			colored.String()); plain != text.String() {
			t.Errorf("%s is another text in colour:\n%s", c.name, plain)
		}
		var again Info
		line, err := json.Marshal(info)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(line, &again); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(info, &again); diff != "" {
			t.Errorf("%s loses in JSON:\n%s", c.name, diff)
		}
	}
}

func TestDataFile(t *testing.T) {
	path := emit(t, "linear", compile.Options{ExternalWeights: true})
	info, err := File(strings.TrimSuffix(path, ".pte")+".ptd", options)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := info.Text(&text, Style{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "external.ptd.txt", text.String())
	if err := info.SVG(io.Discard); err == nil {
		t.Error("a file without a plan is drawn")
	}
}

func TestCompiled(t *testing.T) {
	how := options
	how.Compiled = true
	info, err := File(emit(t, "lenet", compile.Options{}), how)
	if err != nil {
		t.Fatal(err)
	}
	if m := info.Methods[0].Memory; m == nil || m.Buffers[0].ID != 0 || info.Kernels == 0 {
		t.Errorf("%+v", info)
	}
}

// A drawing is well-formed, names its tensors and is the same every time.
func TestSVG(t *testing.T) {
	info, err := File(emit(t, "lenet", compile.Options{}), options)
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := errors.Join(info.SVG(&first), info.SVG(&second)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two drawings differ")
	}
	golden(t, "lenet.svg", first.String())
	boxes := 0
	for d := xml.NewDecoder(&first); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "rect" {
			boxes++
		}
	}
	if want := 1 + len(info.Methods[0].Memory.Boxes); boxes != want {
		t.Errorf("%d rectangles, want %d", boxes, want)
	}
}

// What the instructions of a file say of its tensors' lives is what the planner
// was told when it was made.
func TestLifetimes(t *testing.T) {
	folders, err := os.ReadDir(cases)
	if err != nil {
		t.Fatal(err)
	}
	seen, delegated := 0, 0
	for k, f := range tier.Some(folders, 60, -1) {
		var how compile.Options
		if k%2 == 0 {
			how.Backends = []*partition.Use{{Backend: xnn.Backend{}}}
		}
		path := filepath.Join(cases, f.Name(), "model.pt2")
		p, closer, err := compile.Read(path)
		if err != nil {
			continue // a case of another form
		}
		out, err := compile.PTE(p, how)
		closer.Close()
		if err != nil {
			continue // other tests tell which models compile
		}
		info := &Info{}
		info.program(out.Program, nil, options.HasKernel)
		for i, m := range info.Methods {
			delegated += min(len(m.Delegates), 1)
			bound, err := plan.LowerBound(out.Memory[i].Problem)
			if err != nil {
				t.Fatal(err)
			}
			seen++
			if m.Memory == nil || m.Memory.LowerBound != bound[0].Bytes ||
				m.Memory.Bytes != out.Memory[i].Plan.Size() {
				t.Errorf("%s: %+v, the planner knows of %d bytes of %d", f.Name(), m.Memory,
					bound[0].Bytes, out.Memory[i].Plan.Size())
			}
		}
	}
	if seen < 40 || delegated < 10 {
		t.Errorf("%d programs are held against their plans, %d with delegates", seen, delegated)
	}
}

// Nothing in files of other writers needs more memory than they plan.
func TestLifetimesOfOthers(t *testing.T) {
	paths, err := filepath.Glob("../../../shared/pte*/*/model.*pte")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Skip("../shared is not here")
	}
	for _, path := range paths {
		info, err := File(path, options)
		if err != nil {
			t.Error(err)
			continue
		}
		if len(info.Problems) > 0 {
			t.Errorf("%s: %q", path, info.Problems)
		}
		for _, m := range info.Methods {
			if m.Memory == nil || m.Memory.LowerBound > m.Memory.Bytes {
				t.Errorf("%s: method %s: %+v", path, m.Name, m.Memory)
			}
		}
	}
}

// Whatever a file holds, looking at it is no panic.
func TestBroken(t *testing.T) {
	for _, name := range []string{"cond", "while_loop", "mutated_buffer"} {
		file, err := os.ReadFile(emit(t, name, compile.Options{}))
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		read := 0
		for range 400 {
			broken := bytes.Clone(file)
			for range 1 + r.IntN(3) {
				broken[48+r.IntN(len(broken)-48)] = byte(r.Uint32())
			}
			p, err := pte.Read(bytes.NewReader(broken), int64(len(broken)))
			if err != nil {
				continue
			}
			read++
			info := &Info{}
			info.program(p, nil, options.HasKernel)
			if err := info.Text(io.Discard, Style{}); err != nil {
				t.Fatal(err)
			}
			if err := info.SVG(io.Discard); err != nil && info.Methods[0].Memory != nil {
				t.Error(err)
			}
		}
		if read < 50 {
			t.Errorf("%s: %d of the broken files could be read", name, read)
		}
	}
}

// A label is cut to what its place has room for, and left out where little of it
// would be.
func TestFitting(t *testing.T) {
	for _, name := range []string{"relu", "%18 max_pool2d_with_indices", "WWWWWWWWWW", "äöü…"} {
		for width := range 220 {
			switch got := fitting(name, float64(width)); {
			case got == "":
				if textWidth(name) <= float64(width) {
					t.Errorf("%q fits into %d", name, width)
				}
			case textWidth(got) > float64(width), got != name && len([]rune(got)) < 7:
				t.Errorf("%q in %d is %q", name, width, got)
			}
		}
	}
}

// Of delegates whose payloads are known the nodes are shown, or what is wrong with them.
func TestDelegates(t *testing.T) {
	info, err := File("../../golden/delegated/channels_last/model.pte", Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := info.Methods[0].Delegates
	if len(d) != 1 || len(d[0].Nodes) != 1 || d[0].Nodes[0] != (DelegateNodes{"XNNConv2d", 2}) {
		t.Errorf("%+v", d)
	}
	var text strings.Builder
	if err := info.Text(&text, Style{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "2  XNNConv2d\n") {
		t.Error(text.String())
	}
	bad := &pte.Delegate{ID: "XnnpackBackend", Processed: ir.Bytes("nothing of the kind")}
	out := delegate(&pte.ExecutionPlan{Delegates: []pte.Delegate{*bad}}, 0)
	if !strings.Contains(out.Problem, "XNNPACK payload: ") || out.Nodes != nil {
		t.Errorf("%+v", out)
	}
}
