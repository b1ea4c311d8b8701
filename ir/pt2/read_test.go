package pt2

import (
	"archive/zip"
	"bytes"
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/etgen/etgen/ir"
)

var update = flag.Bool("update", false, "write the expected listings")

func testArchives(t testing.TB) []string {
	files, err := filepath.Glob("testdata/*.pt2")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	return files
}

// TestListings compares what is read with the listings beside the archives:
// nodes, types, signature, symbols, locations and the bytes of the weights.
func TestListings(t *testing.T) {
	for _, f := range testArchives(t) {
		p, c, err := Read(f)
		if err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		defer c.Close()
		if err := ir.Verify(p); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		got := p.String()
		listing := strings.TrimSuffix(f, ".pt2") + ".txt"
		if *update {
			if err := os.WriteFile(listing, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(listing)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f, diff)
		}
	}
}

// unpack returns a zip's files.
func unpack(t testing.TB, file string) fstest.MapFS {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return unpackBytes(t, data)
}

func unpackBytes(t testing.TB, data []byte) fstest.MapFS {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = &fstest.MapFile{Data: data}
	}
	return files
}

// textOf reads a program and prints it without the name of its file.
func textOf(t testing.TB, path string) string {
	p, c, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return textWithoutSource(p)
}

func textWithoutSource(p *ir.Program) string {
	p.Source = ""
	return p.String()
}

// TestUnpackedForms reads the folder that holds the archive's root, the root
// itself and the graph's JSON in it, and a folder with everything flat.
func TestUnpackedForms(t *testing.T) {
	for _, f := range testArchives(t) {
		want := textOf(t, f)
		files := unpack(t, f)
		dir := t.TempDir()
		if err := os.CopyFS(dir, files); err != nil {
			t.Fatal(err)
		}
		paths := []string{dir}
		flat := t.TempDir()
		for name, file := range files {
			base := filepath.Base(name)
			switch base {
			case "model.json":
				paths = append(paths, filepath.Join(dir, name), filepath.Join(dir, name, "../.."),
					filepath.Join(flat, base))
			case oldGraph:
				paths = append(paths, filepath.Join(dir, name), filepath.Join(flat, base))
			}
			if err := os.WriteFile(filepath.Join(flat, base), file.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range paths {
			if diff := cmp.Diff(want, textOf(t, path)); diff != "" {
				t.Errorf("%s as %s:\n%s", f, path, diff)
			}
		}
	}
}

// TestIntermediateForm reads a PT2 archive whose weights were written by
// torch.save, and one packed again with compression.
func TestIntermediateForm(t *testing.T) {
	const file = "testdata/linear-2.6.pt2"
	want := textOf(t, file)
	old := unpack(t, file)
	between := fstest.MapFS{
		"m/archive_format":          {Data: []byte("pt2")},
		"m/models/model.json":       old[oldGraph],
		"m/data/weights/model.pt":   old["serialized_state_dict.pt"],
		"m/data/constants/model.pt": old["serialized_constants.pt"],
	}
	p, err := ReadFS(between, ".")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, textWithoutSource(p)); diff != "" {
		t.Error(diff)
	}
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		data := pack(t, between, method)
		p, err := ReadZip(strings.NewReader(data), int64(len(data)), "between.pt2")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, textWithoutSource(p)); diff != "" {
			t.Errorf("method %d: %s", method, diff)
		}
	}
}

// TestSeveralPrograms reads an archive with two programs.
func TestSeveralPrograms(t *testing.T) {
	files := unpack(t, "testdata/linear.pt2")
	root := rootOf(files)
	for _, kind := range []string{"weights", "constants"} {
		dir := root + "/data/" + kind + "/"
		files[dir+"other_"+kind+"_config.json"] = files[dir+"model_"+kind+"_config.json"]
	}
	files[root+"/models/other.json"] = files[root+"/models/model.json"]
	p, err := ReadFS(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Methods) != 2 || p.Methods[0].Name != "model" || p.Methods[1].Name != "other" {
		t.Fatalf("methods %v", p.Methods)
	}
	if p.Methods[1].Graph.Inputs[0].Const == nil {
		t.Error("the second program has no weights")
	}
}

func rootOf(files fs.FS) string {
	names, _ := fs.Glob(files, "*/archive_format")
	return strings.TrimSuffix(names[0], "/archive_format")
}

// pack makes a zip of files.
func pack(t testing.TB, files fstest.MapFS, method uint16) string {
	var b strings.Builder
	w := zip.NewWriter(&b)
	for name, f := range files {
		if f.Mode.IsDir() {
			continue
		}
		m, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Write(f.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestSharedStorage checks that tensors on one storage share the Blob.
func TestSharedStorage(t *testing.T) {
	files := unpack(t, "testdata/linear.pt2")
	config := rootOf(files) + "/data/weights/model_weights_config.json"
	text := string(files[config].Data)
	files[config] = &fstest.MapFile{Data: []byte(strings.Replace(text, "weight_1", "weight_0", 1))}
	data := pack(t, files, zip.Store)
	inZip, err := ReadZip(strings.NewReader(data), int64(len(data)), "shared.pt2")
	if err != nil {
		t.Fatal(err)
	}
	inFolder, err := ReadFS(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*ir.Program{inZip, inFolder} {
		in := p.Methods[0].Graph.Inputs
		if in[0].Const.Data != in[1].Const.Data {
			t.Error("two tensors on one storage have different blobs")
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, name := range []string{"models/lstm_bidir/model.core.pt2",
		"models/hf_llama/model.core.pt2", "models/tv_resnet18/model.pt2",
		"models-torch2.6/lstm/model.core.pt2"} {
		file := filepath.Join(sharedDir, name)
		b.Run(name, func(b *testing.B) {
			if _, err := os.Stat(file); err != nil {
				b.Skip("the recorded cases are not beside the repository")
			}
			b.ReportAllocs()
			for b.Loop() {
				_, c, err := Read(file)
				if err != nil {
					b.Fatal(err)
				}
				c.Close()
			}
		})
	}
}
