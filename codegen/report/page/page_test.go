package page_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/report/page"
	"github.com/etgen/etgen/golden/schematest"
	"github.com/etgen/etgen/ir/foreign"
)

var update = flag.Bool("update", false, "write schema.json anew")

// of makes the data of a case; of several, the data of a program whose methods are called as their
// numbers say.
func of(t testing.TB, name string, opt compile.Options) *page.Data {
	t.Helper()
	var files []compile.MethodFile
	for i, name := range strings.Fields(name) {
		files = append(files, compile.MethodFile{Name: fmt.Sprint("m", i),
			Path: "../../../golden/" + name})
	}
	if len(files) == 1 {
		files[0].Name = ""
	}
	p, closer, err := compile.ReadMethods(files, false)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	opt.Name = "net"
	d, err := page.New(p, opt)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return d
}

// The schema that is checked in is that of the types, and what etgen writes of models of all kinds
// meets it.
func TestSchema(t *testing.T) {
	meets := schematest.JSON(t, &page.Data{}, *update, [2]string{"codegen/report/page", "."},
		[2]string{"codegen/report", ".."}, [2]string{"plan", "../../../plan"})
	for name, opt := range cases {
		d := of(t, name, opt)
		if err := meets(d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		d.Methods = nil
		if meets(d) == nil {
			t.Errorf("%s: methods that are null meet the schema", name)
		}
	}
}

// cases are those that pages are made of.
var cases = map[string]compile.Options{
	"cases/lenet/model.pt2":           {Target: "cortex-m4"},
	"cases/cond/model.pt2":            {},
	"cases/input_as_output/model.pt2": {}, // calls without nodes
	"cases/add/model.pt2":             {}, // no weights
	"delegated/two_methods/model.pte": {Lang: "go"},
	"cases/lenet/model.pt2 cases/lstm/model.pt2": {Target: "cortex-m4",
		Separate: true},
}

// Indices are of what is there; nodes, calls, lines of the code and buffers belong to each other.
func TestLinks(t *testing.T) {
	for name, opt := range cases {
		d := of(t, name, opt)
		lines := strings.Split(d.Code.Text, "\n")
		for i, m := range d.Methods {
			from := 0
			for _, n := range m.After.Nodes {
				from += len(n.From)
				for _, k := range n.From {
					if before := m.Before.Nodes[k]; before.Line != n.Line || before.Module != n.Module {
						t.Errorf("%s: %v of %v is of another place", name, n.Name, before.Name)
					}
				}
			}
			if from < len(m.After.Nodes) {
				t.Errorf("%s: %d nodes come from %d", name, len(m.After.Nodes), from)
			}
			if len(m.Calls) == 0 {
				t.Errorf("%s: no calls", name)
			}
			for k, c := range m.Calls {
				layer := d.Takes.Methods[i].Layers[c.Layer]
				kernel := d.Code.Kernels[c.Kernel]
				if len(c.Nodes) == 0 && len(layer.Operators) > 0 || c.Lines == nil || kernel.Lines == nil {
					t.Errorf("%s: call %d of %s: %+v, kernel %+v", name, k, layer.Kernel, c, kernel)
					continue
				}
				text := strings.Join(lines[c.Lines.First-1:c.Lines.Last], "\n")
				if !strings.Contains(text, kernel.Name+"(") {
					t.Errorf("%s: call %d of %s is\n%s", name, k, kernel.Name, text)
				}
				text = lines[kernel.Lines.Last-1]
				if text != "}" {
					t.Errorf("%s: kernel %s ends with %q", name, kernel.Name, text)
				}
				if c.Reads+c.Writes == 0 {
					t.Errorf("%s: call %d moves nothing", name, k)
				}
			}
			for _, b := range m.Memory.Buffers {
				if bank := m.Memory.Banks[b.Bank]; b.Offset+b.Bytes > bank.Bytes {
					t.Errorf("%s: %v ends behind its memory", name, b.Name)
				}
			}
		}
	}
}

// Regions are in their nodes, with their own values.
func TestRegions(t *testing.T) {
	g := of(t, "cases/cond/model.pt2", compile.Options{}).Methods[0].Before
	if len(g.Regions) != 3 || g.Regions[1].Name != "then" || g.Regions[2].Name != "else" ||
		g.Nodes[g.Regions[1].Node].Op.String() != "higher_order.cond" {
		t.Fatalf("%+v", g.Regions)
	}
	in := make([]int, 3)
	for _, n := range g.Nodes {
		in[n.Region]++
	}
	if in[1] == 0 || in[2] == 0 || len(g.Regions[1].Outputs) != 1 {
		t.Errorf("%d nodes by region: %+v", in, g.Regions)
	}
}

// Text of a file stays text: it ends no element, and nothing of the page is loaded.
func TestHostileNames(t *testing.T) {
	d := of(t, "cases/lenet/model.pt2", compile.Options{})
	name := foreign.Of(`</script><script>alert(1)</script>{{script}}<!--`)
	d.Methods[0].Before.Nodes[0].Name, d.Weights[0].Name, d.Takes.Methods[0].Layers[0].Line = name,
		name, name
	var b bytes.Buffer
	if err := d.HTML(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if n := strings.Count(text, "</script"); n != 3 {
		t.Errorf("%d scripts end, not 3", n)
	}
	if strings.Contains(text, "alert(1)<") {
		t.Error("a name is in the page as it is")
	}
}

// The page's files load nothing and make no elements of text; its own are short, as Go's are.
func TestWeb(t *testing.T) {
	files, err := filepath.Glob("web/*")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, way := range []string{"src=", "href=", "@import", "url(http", "innerHTML", "fetch("} {
			if bytes.Contains(text, []byte(way)) {
				t.Errorf("%s has %q", file, way)
			}
		}
		if n := bytes.Count(text, []byte("\n")); n > 600 && !strings.Contains(file, "dagre") {
			t.Errorf("%s has %d lines", file, n)
		}
	}
}
