package pt2

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/etgen/etgen/ir"
)

// wantError checks that err is an *Error that names its file and contains
// parts.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.File == "" {
		t.Fatalf("error %v (%T) is none of the package, or without file", err, err)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not mention %q", err, p)
		}
	}
}

// TestTruncated cuts each archive at many places; wherever the directory of
// the zip is missing there must be an error, and never a panic.
func TestTruncated(t *testing.T) {
	for _, f := range testArchives(t) {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(data); n += 1 + len(data)/400 {
			p, err := ReadZip(bytes.NewReader(data[:n]), int64(n), "cut.pt2")
			if err == nil {
				t.Fatalf("%s cut at %d reads as %v", f, n, p)
			}
			wantError(t, err, "cut.pt2")
		}
	}
}

// TestDamaged flips bytes; whatever is read must verify or be an error.
func TestDamaged(t *testing.T) {
	for _, f := range testArchives(t) {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(data); i += 1 + len(data)/500 {
			bad := bytes.Clone(data)
			bad[i] ^= 0x41
			checkUntrusted(t, bad)
		}
	}
}

// checkUntrusted reads a zip of unknown content.
func checkUntrusted(t *testing.T, data []byte) {
	t.Helper()
	p, err := ReadZip(bytes.NewReader(data), int64(len(data)), "x.pt2")
	if err != nil {
		wantError(t, err)
		return
	}
	useProgram(t, p)
}

// useProgram does what users of a program do first.
func useProgram(t *testing.T, p *ir.Program) {
	for _, m := range p.Methods {
		for _, v := range m.Graph.Inputs {
			if v.Const == nil {
				continue
			}
			if _, err := ir.Tensor(v.Const); err != nil && ir.CheckConstant(v.Const) != nil {
				t.Errorf("%s lies outside its storage: %v", v.Name, err)
			}
		}
	}
	_ = p.String()
}

// edited returns a model with old replaced by new in one of its files.
func edited(t *testing.T, archive, file, old, repl string) fstest.MapFS {
	t.Helper()
	files := unpack(t, archive)
	for name, f := range files {
		if filepath.Base(name) != file {
			continue
		}
		if !strings.Contains(string(f.Data), old) {
			t.Fatalf("%s has no %q", file, old)
		}
		text := strings.Replace(string(f.Data), old, repl, 1)
		files[name] = &fstest.MapFile{Data: []byte(text)}
		return files
	}
	t.Fatalf("%s has no %s", archive, file)
	return nil
}

// TestBadGraphs damages the graph of a model in one place each.
func TestBadGraphs(t *testing.T) {
	const (
		linear = "testdata/linear.pt2"
		old    = "testdata/tied-2.6.pt2"
		dyn    = "testdata/dynamic.pt2"
		scan   = "testdata/scan-2.6.pt2"
	)
	for name, c := range map[string]struct {
		archive, old, repl string
		want               []string
	}{
		"dangling": {linear, `"as_tensor": {"name": "p_bias"}}, "kind"`,
			`"as_tensor": {"name": "ghost"}}, "kind"`,
			[]string{`node "linear" (aten.linear.default)`, `"ghost", which nothing defines`}},
		"cycle": {dyn, `"as_tensor": {"name": "linear"}}, "kind"`,
			`"as_tensor": {"name": "mean"}}, "kind"`,
			[]string{`node "relu" (aten.relu.default) at export_zoos.py:382`,
				`"mean" before node "mean" defines it`, "cycle"}},
		"self reference": {linear, `"as_tensor": {"name": "input"}}, "kind"`,
			`"as_tensor": {"name": "linear"}}, "kind"`,
			[]string{`"linear" before node "linear"`}},
		"duplicate": {dyn, `"outputs": [{"as_tensor": {"name": "relu"}}]`,
			`"outputs": [{"as_tensor": {"name": "linear"}}]`,
			[]string{`node "relu"`, `"linear" is defined twice`}},
		"dangling output": {linear, `"outputs": [{"as_tensor": {"name": "linear"}}], "nodes"`,
			`"outputs": [{"as_tensor": {"name": "ghost"}}], "nodes"`,
			[]string{"output 0 of the graph", `"ghost"`}},
		"dtype": {linear, `"linear": {"dtype": 7`, `"linear": {"dtype": 99`,
			[]string{`node "linear"`, "unknown dtype number 99"}},
		"dtype zero": {linear, `"linear": {"dtype": 7`, `"linear": {"dtype": 0`,
			[]string{"unknown dtype number 0"}},
		"negative dtype": {linear, `"linear": {"dtype": 7`, `"linear": {"dtype": -7`,
			[]string{"unknown dtype number -7"}},
		"sparse": {linear, `"layout": 7}}, "sym_int`, `"layout": 1}}, "sym_int`,
			[]string{"layout sparse_coo"}},
		"no type": {linear, `"linear": {"dtype"`, `"other": {"dtype"`,
			[]string{"records no type"}},
		"ranks": {linear, `"strides": [{"as_int": 10}, {"as_int": 1}]`,
			`"strides": [{"as_int": 10}]`, []string{"2 sizes and 1 strides"}},
		"negative size": {linear, `[{"as_int": 1}, {"as_int": 5}]`,
			`[{"as_int": 1}, {"as_int": -5}]`, []string{"size -5"}},
		"huge size": {linear, `[{"as_int": 1}, {"as_int": 5}]`,
			`[{"as_int": 9223372036854775807}, {"as_int": 5}]`, []string{"64 bits"}},
		"beyond 64 bits": {linear, `[{"as_int": 1}, {"as_int": 5}]`,
			`[{"as_int": 9223372036854775808}, {"as_int": 5}]`, []string{"64-bit integer"}},
		"fraction": {linear, `[{"as_int": 1}, {"as_int": 5}]`,
			`[{"as_int": 1.5}, {"as_int": 5}]`, []string{`"1.5"`}},
		"two tags": {linear, `{"as_int": 5}`, `{"as_int": 5, "as_expr": {"expr_str": "x"}}`,
			[]string{"2 tags"}},
		"no tag": {linear, `{"as_int": 5}`, `{}`, []string{"0 tags"}},
		"unknown tag": {linear, `"arg": {"as_tensor": {"name": "input"}}, "kind"`,
			`"arg": {"as_wonder": 1}, "kind"`, []string{"as_wonder"}},
		"expression": {dyn, `Symbol('s77', positive=True, integer=True)`, `Symbol(`,
			[]string{"bad size expression"}},
		"symbol": {dyn, `Symbol('s77'`, `Symbol('s 77\u0000'`,
			[]string{"bad size expression"}},
		"empty range": {dyn, `"min_val": 1`, `"min_val": 65`, []string{"s77", "[65, 64]"}},
		"no weight": {linear, `"parameter_name": "weight"`, `"parameter_name": "wait"`,
			[]string{`"wait"`, "data is missing"}},
		"swapped weights": {linear, `"parameter_name": "weight"`, `"parameter_name": "bias"`,
			[]string{"f32[5, 10]", "f32[5]"}},
		"input specs": {linear,
			`{"parameter": {"arg": {"name": "p_bias"}, "parameter_name": "bias"}}, `, ``,
			[]string{"3 inputs", "signature 2"}},
		"input order": {linear, `{"arg": {"name": "p_bias"}`, `{"arg": {"name": "p_weight"}`,
			[]string{`"p_bias"`, `"p_weight"`}},
		"output specs": {linear, `"output_specs": [{`,
			`"output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "linear"}}}}, {`,
			[]string{"1 outputs", "signature 2"}},
		"input kind":  {linear, `{"user_input"`, `{"telepathy"`, []string{"telepathy"}},
		"output kind": {linear, `{"user_output"`, `{"telepathy"`, []string{"telepathy"}},
		"mutation": {linear, `{"user_output": {"arg": {"as_tensor": {"name": "linear"}}}}`,
			`{"buffer_mutation": {"arg": {"name": "linear"}, "buffer_name": "ghost"}}`,
			[]string{`writes to "ghost"`}},
		"leaves": {linear, `"children_spec\": []}]}, {`,
			`"children_spec\": []}, {\"type\": null}]}, {`, []string{"in_spec", "2 leaves"}},
		"schema": {linear, `"major": 8`, `"major": 9`, []string{"version 9"}},
		"no graph": {linear, `{"graph_module"`, `{"grapes"`,
			[]string{"no exported program"}},
		"bad json": {linear, `"nodes": [`, `"nodes": [,`, []string{"bad JSON",
			"model.json"}},
		"trailing": {linear, `"guards_code": []}`, `"guards_code": []}}`,
			[]string{"after the end"}},
		"device": {old, `"torch.ops.aten.relu.default"`, `""`, []string{"no target"}},
		"region results": {scan,
			`"outputs": [{"as_tensor": {"name": "add"}}, {"as_tensor": {"name": "clone"}}]`,
			`"outputs": [{"as_tensor": {"name": "add"}}]`,
			[]string{"scan", "region 0 returns 1 values, want 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := "model.json"
			if c.archive == old || c.archive == scan {
				file = oldGraph
			}
			_, err := ReadFS(edited(t, c.archive, file, c.old, c.repl), ".")
			wantError(t, err, c.want...)
		})
	}
}

// TestBadWeights damages the table of weights in one place each.
func TestBadWeights(t *testing.T) {
	const config = "model_weights_config.json"
	for name, c := range map[string]struct {
		file, old, repl string
		want            []string
	}{
		"missing file": {config, `"weight_1"`, `"weight_9"`, []string{`"bias"`, "weight_9",
			"missing"}},
		"outside": {config, `"weight_1"`, `"../../models/model.json"`,
			[]string{"bad path_name"}},
		"too short": {config, `"weight_0"`, `"weight_1"`, []string{`"weight"`, "20 bytes"}},
		"offset": {config, `"storage_offset": {"as_int": 0}`,
			`"storage_offset": {"as_int": 1}`, []string{"200 bytes"}},
		"huge offset": {config, `"storage_offset": {"as_int": 0}`,
			`"storage_offset": {"as_int": 9223372036854775807}`, []string{`"weight"`}},
		"huge stride": {config, `{"as_int": 10}, {"as_int": 1}`,
			`{"as_int": 9223372036854775807}, {"as_int": 1}`, []string{"beyond 64 bits"}},
		"negative": {config, `{"as_int": 10}, {"as_int": 1}`,
			`{"as_int": -10}, {"as_int": 1}`, []string{"stride -10"}},
		"dtype": {config, `"dtype": 7`, `"dtype": 70`,
			[]string{"unknown dtype number 70"}},
		"other dtype": {config, `"dtype": 7`, `"dtype": 4`, []string{"f32[5, 10]",
			"i32[5, 10]"}},
		"symbolic": {config, `{"as_int": 10}`, `{"as_expr": {"expr_str": "Symbol('s0')"}}`,
			[]string{"symbolic size"}},
		"object": {config, `"tensor_meta": {`, `"tensor_meta": null, "x": {`,
			[]string{"Python object"}},
		"pickled": {config, `"use_pickle": false`, `"use_pickle": true`,
			[]string{"torch.save", "weight_0"}},
		"truncated JSON": {config, `"layout": 7}}}}`, ``, []string{"ends early", config}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadFS(edited(t, "testdata/linear.pt2", c.file, c.old, c.repl), ".")
			wantError(t, err, c.want...)
		})
	}
	files := unpack(t, "testdata/linear.pt2")
	delete(files, rootOf(files)+"/data/weights/"+config)
	_, err := ReadFS(files, ".")
	wantError(t, err, `"weight"`, config, "serialized_state_dict.pt", "keep the weights beside")
}

// TestDeepJSON checks that nesting cannot exhaust the stack.
func TestDeepJSON(t *testing.T) {
	for _, text := range []string{
		strings.Repeat(`{"graph_module":`, 1<<20),
		`{"x":` + strings.Repeat("[", 1<<22),
		`{"graph_module":{"graph":{"inputs":[` + strings.Repeat(`{"as_optional_tensor":`, 1<<18),
		`{"graph_module":{"graph":` +
			strings.Repeat(`{"nodes":[{"inputs":[{"arg":{"as_graph":{"graph":`, 1<<16),
	} {
		_, err := ReadFS(fstest.MapFS{"m.json": {Data: []byte(text)}}, "m.json")
		wantError(t, err, "nested")
	}
	deep := `[1,` + strings.Repeat(`{\"children_spec\":[`, 1<<16)
	_, err := ReadFS(edited(t, "testdata/linear.pt2", "model.json", `"out_spec": "[1, `,
		`"out_spec": "`+deep), ".")
	wantError(t, err, "nested", "out_spec")
}

// TestZipBomb refuses members that inflate beyond the limits, before and while
// inflating them.
func TestZipBomb(t *testing.T) {
	files := unpack(t, "testdata/linear.pt2")
	root := rootOf(files)
	files[root+"/data/weights/weight_0"] = &fstest.MapFile{Data: make([]byte, 8<<20)}
	data := pack(t, files, zip.Deflate)
	_, err := ReadZip(strings.NewReader(data), int64(len(data)), "bomb.pt2")
	wantError(t, err, "weight_0", "compressed beyond", "zip -0")

	// A header that tells a smaller size than what the data inflates to.
	var packed bytes.Buffer
	w, _ := flate.NewWriter(&packed, 9)
	zeros := make([]byte, 8<<20)
	_, _ = w.Write(zeros)
	_ = w.Close()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	m, err := z.CreateRaw(&zip.FileHeader{Name: oldGraph, Method: zip.Deflate,
		CRC32:            crc32.ChecksumIEEE(zeros),
		CompressedSize64: uint64(packed.Len()), UncompressedSize64: 100})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = m.Write(packed.Bytes())
	_ = z.Close()
	_, err = ReadZip(bytes.NewReader(out.Bytes()), int64(out.Len()), "liar.pt2")
	wantError(t, err, oldGraph)
}

// TestZipLies has stored members whose sizes do not fit the archive.
func TestZipLies(t *testing.T) {
	data, err := os.ReadFile("testdata/linear.pt2")
	if err != nil {
		t.Fatal(err)
	}
	// The directory entry of weight_0: sizes at 20 and 24, name at 46.
	i := bytes.LastIndex(data, []byte("data/weights/weight_0"))
	entry := bytes.LastIndex(data[:i], []byte("PK\x01\x02"))
	for _, size := range []uint32{1 << 31, 1 << 20, 100} {
		bad := bytes.Clone(data)
		binary.LittleEndian.PutUint32(bad[entry+20:], size)
		binary.LittleEndian.PutUint32(bad[entry+24:], size)
		_, err := ReadZip(bytes.NewReader(bad), int64(len(bad)), "lies.pt2")
		wantError(t, err, "weight_0")
	}
}

// TestNotAModel names what other files are.
func TestNotAModel(t *testing.T) {
	dir := t.TempDir()
	file := func(name, data string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	empty := filepath.Join(dir, "folder")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	// A device has no end.
	link := func(name, to string) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(to, path)); err !=
			nil {
			t.Fatal(err)
		}
		return path
	}
	link("endless/models/model.json", "/dev/zero")
	endless := filepath.Join(dir, "endless")
	saved := unpack(t, "testdata/linear-2.6.pt2")["serialized_state_dict.pt"].Data
	for path, want := range map[string]string{
		filepath.Join(dir, "nothing.pt2"):     "no such file",
		file("empty.pt2", ""):                 "neither",
		file("text.pt2", "hello"):             "neither",
		file("x.json", `{"a": 1}`):            "no exported program",
		file("x.pte", "\x20\x00\x00\x00ET12"): ".pte program",
		file("zip.pt2", "PK\x03\x04"):         "not a readable zip",
		file("saved.pt", string(saved)):       "torch.save",
		empty:                                 "no exported program",
		link("zero.pt2", "/dev/zero"):         "no regular file",
		endless:                               "(models/model.json): it is no regular file",
	} {
		_, c, err := Read(path)
		if c != nil {
			t.Error("a closer beside an error")
		}
		wantError(t, err, path, want) // as it was given
		if strings.Count(err.Error(), dir) > 1 {
			t.Errorf("%q has the path twice", err)
		}
	}
}
