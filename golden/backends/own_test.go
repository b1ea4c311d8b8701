package backends

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	codepte "github.com/etgen/etgen/codegen/pte"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir/pte"
)

// ownModule makes a module of the main package in the folder etgen, as go mod tidy would complete
// it: it needs what this module does.
func ownModule(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, requires, _ := strings.Cut(read(filepath.Join(root, "go.mod")), "\nrequire (")
	for name, text := range map[string]string{
		"main.go": read("etgen/main.go"),
		"go.mod": strings.Replace(read("etgen/go.mod"), "../../..", root, 1) + "\nrequire (" +
			requires,
		"go.sum": read(filepath.Join(root, "go.sum")),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// An etgen of one's own, as the folder etgen has it, has its backend.
func TestOwn(t *testing.T) {
	tier.Needs(t, tier.Normal)
	exe := filepath.Join(t.TempDir(), "etgen")
	build := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-o", exe, ".")
	build.Dir = ownModule(t)
	build.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	etgen := func(args ...string) (stdout, stderr string, err error) {
		var out, errs bytes.Buffer
		cmd := exec.CommandContext(t.Context(), exe, args...)
		cmd.Stdout, cmd.Stderr = &out, &errs
		err = cmd.Run()
		return out.String(), errs.String(), err
	}
	const lenet = "../cases/lenet/model.pt2"
	dir := t.TempDir()
	for _, c := range []struct {
		args       string
		fails      bool
		out, wrong []string // what standard output and error have
	}{
		{"backends", false, []string{"reference  ReferenceBackend", "ops=…"}, nil},
		{lenet + " --lang=pte --backend=reference --show-backends --debug-map --name=net -o " + dir,
			false, []string{"reference lowered_module_0  linear ", "aten.linear.default",
				"aten.relu.default                     layers.py:43  reference: it has no such operation"},
			nil},
		{lenet + " --lang=pte --backend=reference --max-fallbacks=0 --name=net -o " + dir, true, nil,
			[]string{"model.pt2: 8 operators fall back to etgen, more than 0:",
				"node convolution (aten.convolution.default) at layers.py:41: reference: it has no such " +
					"operation"}},
		{lenet + " --lang=pte --backend=reference:whole --name=net -o " + dir, true, nil,
			[]string{"backend reference cannot take the method whole: it has no such operation"}},
		{lenet + " --lang=pte --backend=reference:module=absent:whole --name=net -o " + dir, true, nil,
			[]string{"backend reference is to take module absent, in which there is nothing"}},
		{lenet + " --lang=pte --backend=refernce -o " + dir, true, nil,
			[]string{`there is no backend "refernce": etgen backends lists them`}},
		{lenet + " --lang=pte --backend=reference:fast=1 -o " + dir, true, nil,
			[]string{`the backend reference takes no "fast=1"`}},
		{lenet + " --lang=pte --max-fallbacks=3 -o " + dir, true, nil,
			[]string{"--max-fallbacks is for --backend=NAME"}},
	} {
		out, wrong, err := etgen(strings.Fields(c.args)...)
		if (err != nil) != c.fails {
			t.Errorf("%s: %v\n%s", c.args, err, wrong)
		}
		for _, want := range c.out {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", c.args, want, out)
			}
		}
		for _, want := range c.wrong {
			if !strings.Contains(wrong, want) {
				t.Errorf("%s: no %q in\n%s", c.args, want, wrong)
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "net.debug.json"))
	if err != nil {
		t.Fatal(err)
	}
	var debug codepte.DebugMap
	if err := json.Unmarshal(text, &debug); err != nil {
		t.Fatal(err)
	}
	inside := debug.Delegates["forward"]
	for k, in := range debug.Methods[0].Instructions {
		if in.Op != "DelegateCall ReferenceBackend" {
			continue
		}
		if len(in.Events) != 1 || in.Events[0].Nodes[0].Op != "aten.linear.default" ||
			in.Events[0].Nodes[0].File != "layers.py" || in.Events[0].Nodes[0].Line != 43 {
			t.Errorf("instruction %d: %+v", k, in)
		}
		h := in.Events[0].Nodes[0].Handle
		if d := inside[k]; d.Backend != "ReferenceBackend" || !slices.Equal(d.Events["0"], []int{h}) ||
			!slices.Equal(debug.Handles["forward"][k], []int{h}) {
			t.Errorf("instruction %d: %+v, handles %v", k, d, debug.Handles["forward"][k])
		}
	}
	if len(inside) != 2 {
		t.Errorf("the map has %d delegates", len(inside))
	}
	p, closer, err := pte.Open(filepath.Join(dir, "net.pte"))
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	if d := p.Plans[0].Delegates; len(d) != 2 || d[0].ID != "ReferenceBackend" || d[0].Inline ||
		len(p.Named) != 4 {
		t.Errorf("%d delegates, %d named data", len(d), len(p.Named))
	}
}
