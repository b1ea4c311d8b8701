package cli

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const linear = "../../golden/cases/linear/model.pt2"

// member is a file of an archive.
type member struct {
	name string
	data []byte
	size uint64 // claimed when unpacked, if not 0
}

func readArchive(t *testing.T, path string) []member {
	t.Helper()
	r, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []member
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, member{name: f.Name, data: data})
	}
	return all
}

func writeArchive(t *testing.T, members []member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		if m.size > 0 {
			out, err := w.CreateRaw(&zip.FileHeader{Name: m.name, Method: zip.Deflate,
				UncompressedSize64: m.size, CompressedSize64: uint64(len(m.data))})
			if err != nil {
				t.Fatal(err)
			}
			out.Write(m.data)
			continue
		}
		out, err := w.CreateHeader(&zip.FileHeader{Name: m.name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		out.Write(m.data)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// edited is the linear model with text of its graph replaced.
func edited(t *testing.T, pairs ...string) []byte {
	t.Helper()
	members := readArchive(t, linear)
	for i, m := range members {
		if !strings.HasSuffix(m.name, "models/model.json") {
			continue
		}
		for k := 0; k < len(pairs); k += 2 {
			if !bytes.Contains(members[i].data, []byte(pairs[k])) {
				t.Fatalf("the graph does not contain %q", pairs[k])
			}
			members[i].data = bytes.Replace(members[i].data, []byte(pairs[k]),
				[]byte(pairs[k+1]), 1)
		}
	}
	return writeArchive(t, members)
}

// without is the linear model with a member changed, or dropped if change
// returns nil.
func without(t *testing.T, suffix string, change func([]byte) *member) []byte {
	t.Helper()
	var kept []member
	for _, m := range readArchive(t, linear) {
		if strings.HasSuffix(m.name, suffix) {
			changed := change(m.data)
			if changed == nil {
				continue
			}
			changed.name = m.name
			m = *changed
		}
		kept = append(kept, m)
	}
	return writeArchive(t, kept)
}

const relu = `{"target": "torch.ops.aten.%s.default", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "%s"}}, "kind": 1}],
	"outputs": [{"as_tensor": {"name": "%s"}}], "metadata": {"stack_trace": "File \"net.py\", line %s, in forward\n    return x"}, "is_hop_single_tensor_return": null},`

func fill(form string, words ...string) string {
	for _, w := range words {
		form = strings.Replace(form, "%s", w, 1)
	}
	return form
}

// twice is an archive's members, and again in another folder.
func twice(members []member) []member {
	for _, m := range members {
		m.name = "other/" + m.name[strings.Index(m.name, "/")+1:]
		members = append(members, m)
	}
	return members
}

// badModels are inputs that must give a clear error each.
func badModels(t *testing.T) map[string]struct {
	data  []byte
	wants []string // in the message
} {
	whole, err := os.ReadFile(linear)
	if err != nil {
		t.Fatal(err)
	}
	pickle := func(code string) []byte {
		members := readArchive(t, "../../ir/pt2/testdata/linear-2.6.pt2")
		for i, m := range members {
			if m.name == "serialized_state_dict.pt" {
				members[i].data = writeArchive(t,
					[]member{{name: "archive/data.pkl", data: []byte(code)},
						{name: "archive/version", data: []byte("3\n")}})
			}
		}
		return writeArchive(t, members)
	}
	sizes := `"linear": {"dtype": 7, "sizes"`
	more := func(name string) string {
		return `"` + name +
			`": {"dtype": 7, "sizes": [{"as_int": 2}, {"as_int": 3}, {"as_int": 5}], "requires_grad": false, ` +
			`"device": {"type": "cpu", "index": null}, "strides": [{"as_int": 15}, {"as_int": 5}, {"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}, `
	}
	return map[string]struct {
		data  []byte
		wants []string
	}{
		"two programs": {writeArchive(t, twice(readArchive(t, linear))),
			[]string{"bad.pt2", "two exported programs"}},
		"truncated": {whole[:len(whole)/2], []string{"bad.pt2"}},
		"empty":     {nil, []string{"bad.pt2", "neither"}},
		"text":      {[]byte("hello, world\n"), []string{"bad.pt2", "neither"}},
		"unknown dtype": {edited(t, `"dtype": 7`, `"dtype": 99`),
			[]string{"bad.pt2", "dtype", "99"}},
		"wrong dtype": {edited(t, `"linear": {"dtype": 7`, `"linear": {"dtype": 8`),
			[]string{"bad.pt2", "linear", "f64[2, 3, 3]"}},
		"weight of another dtype": {without(t, "model_weights_config.json", func(b []byte) *member {
			return &member{data: bytes.Replace(b, []byte(`"dtype": 7`), []byte(`"dtype": 8`), 1)}
		}), []string{"bad.pt2", "weight"}},
		"wrong rank": {
			edited(t,
				`"linear": {"dtype": 7, "sizes": [{"as_int": 2}, {"as_int": 3}, {"as_int": 3}]`,
				`"linear": {"dtype": 7, "sizes": [{"as_int": 6}, {"as_int": 3}]`,
				`"strides": [{"as_int": 9}, {"as_int": 3}, {"as_int": 1}]`,
				`"strides": [{"as_int": 3}, {"as_int": 1}]`), []string{"bad.pt2", "linear",
				"f32[6, 3]", "f32[2, 3, 3]"}},
		"missing weight": {without(t, "weight_1", func([]byte) *member { return nil }),
			[]string{"bad.pt2", "bias"}},
		"short weight": {without(t, "weight_0", func(b []byte) *member {
			return &member{data: b[:8]}
		}),
			[]string{"bad.pt2", "weight"}},
		"two unsupported operators": {edited(t, `"nodes": [`, `"nodes": [`+fill(relu, "nosuch",
			"input", "a", "3")+fill(relu, "norsuch", "a", "b", "4"),
			`{"name": "input", "arg": {"as_tensor": {"name": "input"}}`,
			`{"name": "input", "arg": {"as_tensor": {"name": "b"}}`,
			sizes, more("a")+more("b")+sizes),
			[]string{"bad.pt2", "aten.nosuch.default", "net.py:3", "aten.norsuch.default",
				"net.py:4"}},
		"dangling value": {edited(t, `{"name": "input", "arg": {"as_tensor": {"name": "input"}}`,
			`{"name": "input", "arg": {"as_tensor": {"name": "ghost"}}`),
			[]string{"bad.pt2", "ghost"}},
		"cycle": {edited(t, `{"name": "input", "arg": {"as_tensor": {"name": "input"}}`,
			`{"name": "input", "arg": {"as_tensor": {"name": "linear"}}`),
			[]string{"bad.pt2", "linear"}},
		"dangling output": {edited(t, `"outputs": [{"as_tensor": {"name": "linear"}}], "nodes"`,
			`"outputs": [{"as_tensor": {"name": "ghost"}}], "nodes"`),
			[]string{"bad.pt2", "ghost"}},
		"zip bomb": {without(t, "models/model.json", func(b []byte) *member {
			return &member{data: b, size: 1 << 40}
		}),
			[]string{"bad.pt2"}},
		"hostile pickle": {pickle("cos\nsystem\n(S'touch pwned'\ntR."),
			[]string{"bad.pt2", "os system"}},
		"pickle recursion": {pickle(strings.Repeat("(", 1<<20)), []string{"bad.pt2"}},
	}
}

// Each bad model gives a clear error, a line for each thing that is wrong, and
// leaves what was there as it was.
func TestBadModels(t *testing.T) {
	for name, c := range badModels(t) {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.WriteFile("bad.pt2", c.data, 0o666); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll("out", 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile("out/bad.c", []byte("old"), 0o666); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{
				{"bad.pt2", "--lang=c", "-o", "out"},
				{"bad.pt2", "--lang=go", "-o", "out"},
				{"run", "bad.pt2", "-i", "bad.pt2", "-o", "out"},
				{"lower", "bad.pt2", "--dump-after=native"},
			} {
				var out, stderr bytes.Buffer
				code := run(t.Context(), args, &out, &stderr)
				text := stderr.String()
				if code != exitModel && !(args[0] == "run" && code == exitUsage) {
					t.Errorf("etgen %v: exit code %d, want %d\n%s", args, code, exitModel, text)
				}
				if args[0] != "run" { // which fails on its input first, where the model can be read
					for _, want := range c.wants {
						if !strings.Contains(text, want) {
							t.Errorf("etgen %v: no word of %q in\n%s", args, want, text)
						}
					}
				}
				for line := range strings.Lines(text) {
					if !strings.HasPrefix(line, "etgen: ") ||
						strings.Contains(line, "internal error") ||
						strings.Contains(line, "goroutine") {
						t.Errorf("etgen %v: the line %q", args, line)
					}
				}
			}
			entries, err := filepath.Glob("*/*")
			if err != nil || len(entries) != 1 {
				t.Errorf("after failed runs there are %v %v", entries, err)
			}
			if old, _ := os.ReadFile("out/bad.c"); string(old) != "old" {
				t.Errorf("the old output is now %q", old)
			}
			if _, err := os.Stat("pwned"); err == nil {
				t.Error("the pickle ran")
			}
		})
	}
}
