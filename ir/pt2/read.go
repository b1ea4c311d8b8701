package pt2

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
)

// Read reads the model at path: a .pt2 file, a folder it was unpacked to, or
// the graph's JSON file in such a folder. Weights are read when asked for, so
// the closer must stay open until then. Errors are of type *Error.
func Read(path string) (*ir.Program, io.Closer, error) {
	var p *ir.Program
	c := io.NopCloser(nil)
	if err := must.Try(func() { p = read(path, &c) }); err != nil {
		e := asError(err)
		// The name is as the user gave it; what a part of the file is called comes behind.
		if part, ok := strings.CutPrefix(e.File, filepath.Base(path)); ok || e.File == "" {
			e.File = path + part
		}
		c.Close()
		return nil, nil, e
	}
	return p, c, nil
}

// read reads the model called name; what closes its file goes to c.
func read(name string, c *io.ReadCloser) *ir.Program {
	cannot := func(err error) {
		if err != nil {
			panic(&Error{Problem: "cannot open it", Err: pathCause(err)})
		}
	}
	info, err := os.Stat(name)
	cannot(err)
	if info.IsDir() {
		return (&archive{FS: os.DirFS(name)}).program(".", absBase(name))
	}
	if !info.Mode().IsRegular() {
		panic(problem("it is no regular file").hint(
			"a model is read where it lies, in parts: write it to a file"))
	}
	f, err := os.Open(name)
	cannot(err)
	*c = f
	head := make([]byte, 64)
	n, _ := f.ReadAt(head, 0)
	switch form(head[:n]) {
	case jsonForm:
		abs, err := filepath.Abs(name)
		cannot(err)
		// The root of an archive holds models/NAME.json.
		dir, file := filepath.Split(abs)
		dir = filepath.Clean(dir)
		if filepath.Base(dir) == "models" {
			dir, file = filepath.Dir(dir), "models/"+file
		}
		return must.Get(ReadFS(os.DirFS(dir), file))
	case zipForm:
		return must.Get(ReadZip(f, info.Size(), filepath.Base(name)))
	case pteForm:
		panic(problem("it is a .pte program, not an exported model").hint("name it NAME.pte"))
	}
	panic(problem("it is neither a .pt2 archive nor a model.json nor an ExecuTorch program").hint(
		"write the model with torch.export.save"))
}

func absBase(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		return filepath.Base(abs)
	}
	return filepath.Base(name)
}

// pathCause drops the path from an error, which is named already.
func pathCause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

type fileForm int

const (
	unknownForm fileForm = iota
	zipForm
	jsonForm
	pteForm
)

// form tells a file's form by its first bytes.
func form(head []byte) fileForm {
	switch trimmed := bytes.TrimLeft(head, " \t\r\n"); {
	case bytes.HasPrefix(head, []byte("PK")):
		return zipForm
	case len(trimmed) > 0 && trimmed[0] == '{':
		return jsonForm
	case len(head) >= 8 && string(head[4:6]) == "ET":
		return pteForm
	}
	return unknownForm
}

// ReadZip reads a .pt2 archive of size bytes; name is for messages. The
// program's weights are read from r when asked for.
func ReadZip(r io.ReaderAt, size int64, name string) (p *ir.Program, err error) {
	defer must.Catch(&err)
	inFile(name, func() { p = openZip(r, size).program(".", name) })
	return p, nil
}

// ReadFS reads an unpacked model: name is its folder ("." for fsys itself; it
// or one folder in it holds the files) or the graph's JSON file. Weights
// belonging to a JSON file DIR/NAME.json are looked for
//
//   - if DIR is called models, in DIR/../data/weights and DIR/../data/constants;
//   - else in DIR/data/weights, DIR/weights and DIR itself, and the same for constants,
//
// as NAME_weights_config.json with its raw files, NAME.pt (not in DIR itself),
// serialized_state_dict.pt or serialized_state_dict.json.
func ReadFS(fsys fs.FS, name string) (p *ir.Program, err error) {
	source := path.Base(name)
	if source == "." {
		source = "model"
	}
	err = must.Try(func() { p = (&archive{FS: fsys}).program(name, source) })
	return p, err
}

// inFile runs f; what it fails with names the file.
func inFile(name string, f func()) {
	amend(f, func(e *Error) { e.File = cmp.Or(e.File, name) })
}

// program reads the program at name; source is the name for messages.
func (a *archive) program(name, source string) *ir.Program {
	p := &ir.Program{Source: source, Dialect: ir.ATen}
	inFile(source, func() {
		graphs := a.graphs(name)
		for _, g := range graphs {
			var m *ir.Method
			var warnings []error
			amend(func() { m, warnings = a.method(g) }, func(e *Error) {
				if e.Member == "" && len(graphs) > 1 {
					e.Member = g
				}
			})
			for _, w := range warnings {
				asError(w).File = source
			}
			p.Warnings = append(p.Warnings, warnings...)
			if len(graphs) > 1 {
				m.Name = stem(g)
			}
			p.Methods = append(p.Methods, m)
		}
		if err := ir.Verify(p); err != nil {
			panic(&Error{Problem: "the graph is not well formed", Err: err})
		}
	})
	return p
}

// oldGraph is the name of the graph in archives of torch 2.6.
const oldGraph = "serialized_exported_program.json"

func stem(name string) string { return strings.TrimSuffix(path.Base(name), ".json") }

// graphs returns the graph files of the model at name, which is one of them
// or the folder they are in: that one or one below it holds models/*.json or
// serialized_exported_program.json.
func (a *archive) graphs(name string) []string {
	info, err := fs.Stat(a.FS, name)
	if err != nil {
		panic(missing(name, err))
	}
	if !info.IsDir() {
		return []string{name}
	}
	roots := []string{name}
	entries, err := fs.ReadDir(a.FS, name)
	if err != nil {
		panic(&Error{Problem: "cannot list it", Err: pathCause(err)})
	}
	for _, e := range entries {
		if e.IsDir() {
			roots = append(roots, path.Join(name, e.Name()))
		}
	}
	var found []string
	for _, root := range roots {
		before := len(found)
		if g := path.Join(root, oldGraph); a.exists(g) {
			found = append(found, g)
		}
		models := path.Join(root, "models")
		entries, err := fs.ReadDir(a.FS, models)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if !e.IsDir() && strings.HasSuffix(e.Name(), ".json") {
				found = append(found, path.Join(models, e.Name()))
			}
		}
		if before > 0 && len(found) > before {
			panic(problem("there are two exported programs in it, %s and %s",
				foreign.Message(found[0]), foreign.Message(found[before])).
				hint("take one of them out"))
		}
		if root == name && len(found) > 0 {
			break // its folders are its parts
		}
	}
	if len(found) == 0 {
		e := problem("there is no exported program in it").hint(
			"write the model with torch.export.save")
		for _, root := range roots {
			if a.exists(path.Join(root, "data.pkl")) {
				e.Problem = "it was written by torch.save or torch.jit.save"
			}
		}
		panic(e)
	}
	sort.Strings(found)
	return found
}

// method reads the graph called name with its weights.
func (a *archive) method(name string) (*ir.Method, []error) {
	data := must.Get(a.read(name, maxJSON))
	s := &scanner{data: data}
	w := s.program()
	switch {
	case s.err != nil:
		s.err.Member = name
		must.Check(s.err.hint("the file is truncated or damaged; copy or export it again"))
		return nil, nil
	case !w.hasGraph || !w.hasSig:
		panic(&Error{Member: name, Problem: "it is no exported program"})
	case w.opset != 0 && w.opset != atenVersion:
		panic(&Error{Member: name,
			Problem: fmt.Sprintf("its operators are those of version %d of aten, etgen knows %d",
				w.opset, atenVersion),
			Hint: "export the model with a version of torch that etgen supports"})
	case w.major != 8:
		panic(&Error{Member: name, Problem: "its schema has the major version " +
			strconv.FormatInt(w.major, 10) + ", etgen knows 8",
			Hint: "export the model with torch 2.6 or later"})
	}
	a.properties(root(name))
	return must.Get2(w.method("forward", a.weights(name)))
}

// atenVersion is the version of what aten's operators mean: torch 2.6 to 2.14.
const atenVersion = 10

// root is the folder of an archive that a graph file belongs to.
func root(graph string) string {
	dir := path.Dir(graph)
	if path.Base(dir) == "models" {
		return path.Dir(dir)
	}
	return dir
}

// properties checks what an archive says of itself at its root.
func (a *archive) properties(root string) {
	for _, p := range []struct{ member, want string }{{"byteorder", "little"},
		{"archive_version", "0"}} {
		member, want := path.Join(root, p.member), p.want
		if !a.exists(member) {
			continue
		}
		text := must.Get(a.read(member, 64))
		if got := strings.TrimSpace(string(text)); got != want {
			panic(&Error{Member: member, Problem: fmt.Sprintf("it is %s, etgen reads %s only",
				quoted(got), want),
				Hint: "export the model again, on a machine like the one it is for"})
		}
	}
}

// weights tells where the weights of a graph file may lie.
func (a *archive) weights(graph string) *weights {
	dir, name, root := path.Dir(graph), stem(graph), root(graph)
	store := func(kind, config, old string) (s store) {
		for _, d := range []string{path.Join(root, "data", kind), path.Join(dir, kind), dir} {
			s.configs = append(s.configs, path.Join(d, name+config))
			if d != dir {
				s.pickles = append(s.pickles, path.Join(d, name+".pt"))
			}
			s.pickles = append(s.pickles, path.Join(d, old+".pt"), path.Join(d, old+".json"))
		}
		return s
	}
	return &weights{
		arch:      a,
		state:     store("weights", "_weights_config.json", "serialized_state_dict"),
		constants: store("constants", "_constants_config.json", "serialized_constants"),
	}
}
