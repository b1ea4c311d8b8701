package executorch

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir/pte"
)

var update = flag.Bool("update", false, "write the table in docs/executorch.md")

const document = "../../docs/executorch.md"

// In no figure is a program of etgen's larger than ExecuTorch's, and the document
// says what is so.
func TestNeverLarger(t *testing.T) {
	const cases = "../../../shared"
	if !there(cases) {
		t.Skip("../shared is not here")
	}
	pairs, err := Pairs(cases)
	if err != nil {
		t.Fatal(err)
	}
	if len(pairs) < 40 {
		t.Errorf("%d pairs are found", len(pairs))
	}
	var rows []Row
	for _, p := range pairs {
		row, err := p.Compare()
		if err != nil {
			t.Error(err)
			continue
		}
		if row.Etgen.Inputs != row.Theirs.Inputs {
			t.Errorf("%s: inputs of %d bytes are held against some of %d", row.Name,
				row.Etgen.Inputs, row.Theirs.Inputs)
		}
		for _, figure := range row.Etgen.Larger(row.Theirs) {
			t.Errorf("%s: %s", row.Name, figure)
		}
		rows = append(rows, row)
	}
	have, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Replace(string(have), Table(rows))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(document, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(have), want); diff != "" {
		t.Errorf("docs/executorch.md is stale, run go test ./golden/executorch -update:\n%s", diff)
	}
}

// What is counted, on a case of the repository: two convolutions, pools and
// activations and a linear layer.
func TestMeasure(t *testing.T) {
	pair := Pair{Name: "lenet.external", Model: "../cases/lenet/model.pt2"}
	got, err := pair.etgen()
	if err != nil {
		t.Fatal(err)
	}
	model, closer, err := compile.Read(pair.Model)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	pkg, err := compile.Package(model, compile.Options{Lang: "pte", ExternalWeights: true})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := pkg.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, pkg.Name+".pte"),
		filepath.Join(dir, "model.pte")); err != nil {
		t.Fatal(err)
	}
	pair.Program = filepath.Join(dir, "model.pte")
	theirs, err := pair.theirs()
	if err != nil {
		t.Fatal(err)
	}
	if got != theirs {
		t.Errorf("the program made is %+v, that in the file %+v", got, theirs)
	}
	if got.Calls == 0 || got.Calls != got.Instructions || got.Planned == 0 || got.File < 1000 {
		t.Errorf("%+v", got)
	}
	if larger := got.Larger(theirs); larger != nil {
		t.Errorf("it is larger than itself: %v", larger)
	}
	theirs.Planned--
	theirs.Calls--
	if larger := got.Larger(theirs); len(larger) != 2 {
		t.Errorf("larger in two figures: %v", larger)
	}
}

// Of the inputs that ExecuTorch's program takes, a program made of it plans no
// more memory either, to the byte: bounds, which may differ from the model's, are
// the same.
func TestNeverLargerAtEqualBounds(t *testing.T) {
	tier.Needs(t, tier.Normal)
	const cases = "../../../shared"
	if !there(cases) {
		t.Skip("../shared is not here")
	}
	pairs, err := Pairs(cases)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, p := range pairs {
		theirs, err := p.theirs()
		if err != nil {
			t.Fatal(err)
		}
		again, err := (Pair{Name: p.Name, Model: p.Program}).etgen()
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		if again.Inputs != theirs.Inputs {
			t.Errorf("%s: inputs of %d bytes, not %d", p.Name, again.Inputs, theirs.Inputs)
		}
		if compared++; again.Planned > theirs.Planned {
			t.Errorf("%s: %d bytes of planned memory, not %d", p.Name, again.Planned,
				theirs.Planned)
		}
	}
	if compared < 40 {
		t.Errorf("only %d programs", compared)
	}
}

func TestMeasureRefusesDelegates(t *testing.T) {
	p := &pte.Program{Plans: []*pte.ExecutionPlan{{Name: "forward",
		Delegates: []pte.Delegate{{ID: "a"}}}}}
	if _, err := Measure(p, 1); err == nil {
		t.Error("a program with delegates is measured")
	}
}

func TestReplace(t *testing.T) {
	text, err := Replace("a\n"+begin+"old\n"+end+"b\n", "new\n")
	if err != nil || text != "a\n"+begin+"new\n"+end+"b\n" {
		t.Errorf("%q, %v", text, err)
	}
	for _, bad := range []string{"", begin, end} {
		if _, err := Replace(bad, ""); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567",
		123456: "123,456"} {
		if got := grouped(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}
