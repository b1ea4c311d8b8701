package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/kernels/ops"
)

// archive is a .pt2 taken apart: its members in order, JSON ones parsed.
type archive struct {
	names []string
	data  map[string][]byte
	graph string         // the member that holds the graph
	doc   map[string]any // the graph
	// config says what tensors the weights and constants are, by member.
	config map[string]map[string]any
}

func openArchive(file []byte) (*archive, error) {
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	a := &archive{data: map[string][]byte{}, config: map[string]map[string]any{}}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		a.names = append(a.names, f.Name)
		a.data[f.Name] = data
		switch {
		case strings.HasSuffix(f.Name, "_config.json"):
			a.config[f.Name], err = parseJSON(data)
		case path.Base(path.Dir(f.Name)) == "models" && strings.HasSuffix(f.Name, ".json"),
			f.Name == "serialized_exported_program.json": // of PyTorch 2.6
			a.graph = f.Name
			a.doc, err = parseJSON(data)
		}
		if err != nil {
			return nil, err
		}
	}
	if a.doc == nil {
		return nil, fmt.Errorf("there is no graph in it")
	}
	return a, nil
}

func parseJSON(data []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // integers have 64 bits
	var doc map[string]any
	err := d.Decode(&doc)
	return doc, err
}

// bytes packs the archive.
func (a *archive) bytes() ([]byte, error) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range a.names {
		data := a.data[name]
		doc := a.config[name]
		if name == a.graph {
			doc = a.doc
		}
		if doc != nil {
			var err error
			if data, err = json.Marshal(doc); err != nil {
				return nil, err
			}
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(data); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return out.Bytes(), err
}

// sites are what can be changed in a file, by class. A class is drawn first, so that
// the few ranges of a model change as often as its many sizes.
type sites map[string][]func()

func (s sites) add(class string, change func()) { s[class] = append(s[class], change) }

// draw makes one change. Three in four are of the classes that are preferred, if
// there are any.
func (s sites) draw(r *rand.Rand, preferred []string) {
	classes := slices.Sorted(maps.Keys(s))
	if len(preferred) > 0 && r.IntN(4) > 0 {
		classes = slices.DeleteFunc(classes, func(c string) bool {
			return !slices.Contains(preferred, c)
		})
	}
	if len(classes) > 0 {
		pick(r, s[pick(r, classes)])()
	}
}

// mutator changes an archive.
type mutator struct {
	r     *rand.Rand
	a     *archive
	names []string // of values
	// values are the recorded types of the top graph.
	values map[string]any
	sites  sites
}

// mutant returns file changed in one to three places, drawn by r. Half of the
// mutants have the recorded types that follow from what was changed.
func mutant(r *rand.Rand, file []byte) ([]byte, error) {
	a, err := openArchive(file)
	if err != nil {
		return nil, err
	}
	changes := 1
	if r.IntN(3) == 0 {
		changes = 2 + r.IntN(2)
	}
	for range changes {
		m := &mutator{r: r, a: a, sites: sites{}}
		m.collect()
		m.sites.draw(r, deep)
	}
	out, err := a.bytes()
	if err == nil && r.IntN(2) == 0 && a.repair(out) {
		out, err = a.bytes()
	}
	return out, err
}

// deep are the classes of changes that often pass the reader and the check of
// records.
var deep = []string{"argument", "constant sizes", "dynamic", "input sizes", "kind", "list",
	"operand", "operator", "range", "symbol"}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func (m *mutator) collect() {
	module, _ := m.a.doc["graph_module"].(map[string]any)
	if g, ok := module["graph"].(map[string]any); ok {
		m.graph(g)
	}
	if s, ok := module["signature"].(map[string]any); ok {
		m.list(s, "input_specs", "signature")
		m.list(s, "output_specs", "signature")
		m.scalars("signature", s)
	}
	if ranges, ok := m.a.doc["range_constraints"].(map[string]any); ok {
		m.scalars("range", ranges)
	}
	for _, name := range slices.Sorted(maps.Keys(m.a.config)) {
		entries, _ := m.a.config[name]["config"].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			entry, _ := entries[key].(map[string]any)
			m.sites.add("constant sizes", func() { m.resize(key, entry) })
			m.scalars("constant", entry["tensor_meta"])
			m.sites.add("constant", func() {
				entry["path_name"] = fmt.Sprintf("weight_%d", m.r.IntN(4))
			})
		}
	}
	for _, name := range m.a.names {
		if a := m.a; a.config[name] == nil && name != a.graph && strings.Contains(name, "/data/") {
			m.sites.add("data", func() {
				n := len(a.data[name])
				switch m.r.IntN(3) {
				case 0:
					a.data[name] = a.data[name][:m.r.IntN(n+1)]
				case 1:
					a.data[name] = append(slices.Clone(a.data[name]), make([]byte, m.r.IntN(64))...)
				default:
					for i := range a.data[name] {
						a.data[name][i] = byte(m.r.Uint32())
					}
				}
			})
		}
	}
}

func (m *mutator) graph(g map[string]any) {
	tensors, _ := g["tensor_values"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		m.names = append(m.names, name)
		t, ok := tensors[name].(map[string]any)
		if !ok {
			continue
		}
		m.list(t, "sizes", "record")
		m.scalars("record", t)
		m.sites.add("dtype", func() { t["dtype"] = json.Number(strconv.Itoa(m.r.IntN(16))) })
		m.sites.add("rank", func() {
			one := map[string]any{"as_int": json.Number("1")}
			sizes, _ := t["sizes"].([]any)
			strides, _ := t["strides"].([]any)
			t["sizes"], t["strides"] = append([]any{one}, sizes...), append([]any{one}, strides...)
		})
	}
	for _, key := range []string{"sym_int_values", "sym_bool_values", "sym_float_values"} {
		values, _ := g[key].(map[string]any)
		m.names = append(m.names, slices.Sorted(maps.Keys(values))...)
		m.scalars("symbol", values)
	}
	if tensors != nil && m.values == nil {
		m.values = tensors
		m.inputs(tensors)
	}
	m.list(g, "inputs", "inputs")
	m.list(g, "outputs", "outputs")
	m.scalars("outputs", g["outputs"])
	m.list(g, "nodes", "nodes")
	nodes, _ := g["nodes"].([]any)
	for _, x := range nodes {
		n, ok := x.(map[string]any)
		if !ok {
			continue
		}
		m.sites.add("target", func() {
			if m.r.IntN(2) == 0 {
				n["target"] = "torch.ops." + pick(m.r, ops.Standard().Names())
			} else if other, ok := pick(m.r, nodes).(map[string]any); ok {
				n["target"] = other["target"]
			}
		})
		m.sites.add("operator", func() {
			if like := alike(n); len(like) > 0 {
				n["target"] = "torch.ops." + pick(m.r, like)
			}
		})
		m.list(n, "inputs", "argument order")
		m.list(n, "outputs", "results")
		m.scalars("results", n["outputs"])
		args, _ := n["inputs"].([]any)
		for _, x := range args {
			a, ok := x.(map[string]any)
			if !ok {
				continue
			}
			arg, ok := a["arg"].(map[string]any)
			if !ok {
				continue
			}
			if region, ok := arg["as_graph"].(map[string]any); ok {
				if inner, ok := region["graph"].(map[string]any); ok {
					m.graph(inner)
				}
				continue
			}
			if ref, ok := arg["as_tensor"].(map[string]any); ok {
				m.sites.add("operand", func() { ref["name"] = m.earlier(nodes, n, tensors) })
			}
			m.scalars("argument", arg)
			m.scalars("argument", arg) // what operators are told is most of it
			m.sites.add("kind", func() { a["arg"] = m.anyArgument() })
			m.sites.add("kind", func() {
				if other, ok := pick(m.r, args).(map[string]any); ok {
					a["arg"] = other["arg"]
				}
			})
			for key, value := range arg {
				if _, ok := value.([]any); ok {
					m.list(arg, key, "list")
				}
			}
		}
	}
}

// list makes sites of the order and number of a list's elements.
func (m *mutator) list(of map[string]any, key, class string) {
	list, ok := of[key].([]any)
	if !ok || len(list) == 0 {
		return
	}
	m.sites.add(class, func() {
		list := slices.Clone(list)
		i, k := m.r.IntN(len(list)), m.r.IntN(len(list))
		switch m.r.IntN(5) {
		case 0:
			list = slices.Delete(list, i, i+1)
		case 1:
			list = append(list, list[i])
		default:
			list[i], list[k] = list[k], list[i]
		}
		of[key] = list
	})
}

// scalars makes a site of each number, word and truth value in x.
func (m *mutator) scalars(class string, x any) {
	each := func(v any, set func(any)) {
		switch v := v.(type) {
		case json.Number:
			m.sites.add(class, func() { set(m.number(v)) })
		case float64:
			m.sites.add(class, func() { set(m.float()) })
		case bool:
			m.sites.add(class, func() { set(!v) })
		case string:
			m.sites.add(class, func() { set(m.word(v)) })
		default:
			m.scalars(class, v)
		}
	}
	switch x := x.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(x)) {
			each(x[key], func(v any) { x[key] = v })
		}
	case []any:
		for i := range x {
			each(x[i], func(v any) { x[i] = v })
		}
	}
}

// number is another integer: near the old one, or one that is hard.
func (m *mutator) number(old json.Number) json.Number {
	n, err := old.Int64()
	if err != nil {
		f, _ := old.Float64()
		return json.Number(strconv.FormatFloat(f*float64(m.r.IntN(7)-3), 'g', -1, 64))
	}
	switch m.r.IntN(8) {
	case 0:
		n++
	case 1:
		n--
	case 2:
		n *= 2
	case 3:
		n = -n
	case 4, 5:
		n = int64(m.r.IntN(12)) - 3
	case 6:
		n += int64(m.r.IntN(64)) - 16
	default:
		n = pick(m.r, []int64{
			100, 1000, 65535, 100000, 1 << 20, 1<<24 + 1, math.MaxInt32, math.MaxInt32 + 1,
			math.MinInt32, 1 << 32, 1<<32 + 1, 1 << 40,
			math.MaxInt64 / 8, 1 << 62, math.MaxInt64 - 1, math.MaxInt64, math.MinInt64, -100,
			-(1 << 40),
		})
	}
	return json.Number(strconv.FormatInt(n, 10))
}

func (m *mutator) float() any {
	return pick(m.r, []any{0.0, math.Copysign(0, -1), 1.0, -1.0, 0.5, 1e-30, 1e30, -1e300,
		json.Number("3")})
}

// word is another name, or a size expression with another number in it.
func (m *mutator) word(old string) string {
	if digit := strings.IndexAny(old, "0123456789"); digit >= 0 && strings.Contains(old, "(") {
		return old[:digit] + string(m.number("2")) + old[digit+1:]
	}
	if m.r.IntN(8) == 0 || len(m.names) == 0 {
		return pick(m.r, []string{"", "nothing", "none", "mean", "sum", "same", "valid", "reflect",
			"circular", "floor", "tanh", "ij", "ij,jk->ik"})
	}
	return pick(m.r, m.names)
}

func (m *mutator) anyArgument() map[string]any {
	number := func() any { return m.number("2") }
	switch m.r.IntN(8) {
	case 0:
		return map[string]any{"as_int": number()}
	case 1:
		return map[string]any{"as_float": m.float()}
	case 2:
		return map[string]any{"as_none": true}
	case 3:
		return map[string]any{"as_bool": m.r.IntN(2) == 0}
	case 4:
		return map[string]any{"as_ints": []any{number(), number()}}
	case 5:
		return map[string]any{"as_scalar_type": json.Number(strconv.Itoa(m.r.IntN(15)))}
	case 6:
		return map[string]any{"as_string": m.word("x")}
	}
	return map[string]any{"as_tensor": map[string]any{"name": m.word("x")}}
}
