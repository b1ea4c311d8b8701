package names

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/raise"
)

// subject is a small program that can be had with other names.
type subject struct {
	name  string
	names int // how many it has, in files of its format
	// with returns the program with other names: rename is given all names, in
	// order, each any number of times.
	with func(rename func(string) string) (*ir.Program, *pte.Program, error)
}

// subjects are exported programs with state, dynamic sizes, assertions, weights and
// dictionaries, and ExecuTorch programs made of them.
var subjects = sync.OnceValue(func() []*subject {
	var all []*subject
	for _, name := range []string{"linear", "cache_at_item", "dynamic_two", "dict_io",
		"mutated_buffer"} {
		files := readArchive(filepath.Join("../cases", name, "model.pt2"))
		all = append(all, exported(name, files), executorch(name, files))
	}
	return all
})

func readArchive(path string) fstest.MapFS {
	r, err := zip.OpenReader(path)
	if err != nil {
		panic(err)
	}
	defer r.Close()
	files := fstest.MapFS{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			panic(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			panic(err)
		}
		_, name, _ := strings.Cut(f.Name, "/")
		files[name] = &fstest.MapFile{Data: data}
	}
	return files
}

// exported is the program of an archive. Its names are those of values, nodes,
// parameters, methods, the Python file, dictionary keys and messages.
func exported(name string, files fstest.MapFS) *subject {
	p, err := pt2.ReadFS(files, ".")
	if err != nil {
		panic(err)
	}
	known := map[string]bool{}
	for _, m := range p.Methods {
		for _, s := range m.Inputs {
			known[s.Target] = true
		}
		m.Graph.Walk(func(g *ir.Graph) {
			for _, v := range g.Inputs {
				known[v.Name] = true
			}
			for _, n := range g.Nodes {
				known[n.Name] = true
				for _, v := range n.Outputs {
					if v != nil {
						known[v.Name] = true
					}
				}
				if s, ok := n.Arg("assert_msg").(ir.Str); ok {
					known[string(s)] = true
				}
			}
		})
	}
	for _, key := range []string{"a", "b", "sum", "difference", "left", "right"} { // of dict_io
		known[key] = true
	}
	delete(known, "")
	with := func(rename func(string) string) (*ir.Program, *pte.Program, error) {
		other := fstest.MapFS{}
		change := func(s string) string {
			if known[s] {
				return rename(s)
			}
			return s
		}
		for _, file := range slices.Sorted(maps.Keys(files)) { // names are numbered as they come
			data := files[file].Data
			if strings.HasSuffix(file, ".json") {
				data = rewrite(data, change, rename)
			}
			other[file] = &fstest.MapFile{Data: data}
		}
		source := rename("model.pt2")
		p, err := pt2.ReadFS(other, ".")
		if err != nil {
			return nil, nil, err
		}
		p.Source = source
		for _, m := range p.Methods {
			m.Name = rename("method " + m.Name)
		}
		return p, nil, nil
	}
	return newSubject("pt2 "+name, with)
}

// rewrite changes the strings of JSON: keys and values that are names, what is in
// JSON within strings, and the files and modules of stack traces.
func rewrite(data []byte, change, rename func(string) string) []byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return data
	}
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			out := map[string]any{}
			argument, isArgument := v["name"].(string) // of an operator: its schema has the name
			_, hasValue := v["arg"]
			keys := make([]string, 0, len(v))
			for k := range v {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for _, k := range keys {
				x := walk(v[k])
				if s, ok := x.(string); ok && k == "stack_trace" {
					x = strings.ReplaceAll(s, "state.py", rename("state.py"))
				} else if ok && k == "nn_module_stack" {
					x = strings.ReplaceAll(s, "families", rename("families"))
				}
				out[change(k)] = x
			}
			if isArgument && hasValue {
				out["name"] = argument
			}
			return out
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
			return v
		case string:
			if strings.HasPrefix(v, "[") && json.Valid([]byte(v)) {
				return string(rewrite([]byte(v), change, rename))
			}
			return change(v)
		}
		return v
	}
	out, err := json.Marshal(walk(v))
	if err != nil {
		panic(err)
	}
	return out
}

// executorch is an ExecuTorch program. Its names are those of methods, tensors,
// named data, and frames of stack traces.
func executorch(name string, files fstest.MapFS) *subject {
	p, err := pt2.ReadFS(files, ".")
	if err != nil {
		panic(err)
	}
	out, err := compile.PTE(p, compile.Options{Lang: "pte", StackTraces: true})
	if err != nil {
		panic(err)
	}
	var b bytes.Buffer
	if err := pte.Write(&b, out.Program); err != nil {
		panic(err)
	}
	read := func() *pte.Program {
		p, err := pte.Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			panic(err)
		}
		return p
	}
	with := func(rename func(string) string) (*ir.Program, *pte.Program, error) {
		p := read()
		for _, plan := range p.Plans {
			plan.Name = rename(plan.Name)
			for i, v := range plan.Values {
				if t, ok := v.(*pte.Tensor); ok && t.ExtraInfo != nil {
					t.ExtraInfo.Name = rename(fmt.Sprintf("tensor%d", i))
				}
			}
			for _, c := range plan.Chains {
				c.Stacktrace = nil
				for i := range c.Instructions {
					c.Stacktrace = append(c.Stacktrace, []pte.Frame{{
						Filename: rename(fmt.Sprintf("dir/model%d.py", i)), Line: int32(i + 1),
						Name: rename("forward"), Context: rename("x = y"),
					}})
				}
			}
		}
		// As from a file.
		var b bytes.Buffer
		if err := pte.Write(&b, p); err != nil {
			return nil, nil, err
		}
		p, err := pte.Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			return nil, nil, err
		}
		raised, err := raise.Program(p, rename("model.pte"), ops.Standard())
		return raised, p, err
	}
	return newSubject("pte "+name, with)
}

func newSubject(name string,
	with func(func(string) string) (*ir.Program, *pte.Program, error)) *subject {
	seen := map[string]bool{}
	if _, _, err := with(func(s string) string { seen[s] = true; return s }); err != nil {
		panic(err)
	}
	return &subject{name, len(seen), with}
}

// renamed returns a function that gives some names of a subject others: that which
// it meets as number k the one that names has for k.
func renamed(names map[int]string) func(string) string {
	order := map[string]int{}
	return func(s string) string {
		k, ok := order[s]
		if !ok {
			k = len(order)
			order[s] = k
		}
		if other, ok := names[k]; ok {
			return other
		}
		return s
	}
}

// TestSubjects: the subjects have names.
func TestSubjects(t *testing.T) {
	for _, s := range subjects() {
		if s.names < 4 {
			t.Errorf("%s has only %d names", s.name, s.names)
		}
	}
}
