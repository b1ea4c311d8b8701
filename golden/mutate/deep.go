package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/etgen/etgen/kernels/ops"
)

// specs returns the specifications of the inputs of a kind.
func (m *mutator) specs(kind string) []map[string]any {
	module, _ := m.a.doc["graph_module"].(map[string]any)
	signature, _ := module["signature"].(map[string]any)
	list, _ := signature["input_specs"].([]any)
	var out []map[string]any
	for _, x := range list {
		s, _ := x.(map[string]any)
		if spec, ok := s[kind].(map[string]any); ok {
			out = append(out, spec)
		}
	}
	return out
}

// inputs makes sites of the sizes of user inputs: other constants, and symbols.
func (m *mutator) inputs(tensors map[string]any) {
	for _, spec := range m.specs("user_input") {
		arg, _ := spec["arg"].(map[string]any)
		ref, _ := arg["as_tensor"].(map[string]any)
		name, _ := ref["name"].(string)
		t, _ := tensors[name].(map[string]any)
		sizes, _ := t["sizes"].([]any)
		for i := range sizes {
			size, _ := sizes[i].(map[string]any)
			old, ok := size["as_int"].(json.Number)
			if !ok {
				continue
			}
			m.sites.add("input sizes", func() {
				size["as_int"] = m.number(old)
				dense(t)
			})
			m.sites.add("dynamic", func() { m.dynamic(old, m.r.IntN(2) == 0, size) })
		}
	}
}

// dynamic makes a size of an input a symbol, or all sizes of inputs that are equal
// to it.
func (m *mutator) dynamic(old json.Number, all bool, only map[string]any) {
	n, _ := old.Int64()
	name := fmt.Sprintf("s%d", 70+m.r.IntN(4))
	symbol := func() map[string]any {
		return map[string]any{"expr_str": "Symbol('" + name + "', positive=True, integer=True)",
			"hint": map[string]any{"as_int": old}}
	}
	ranges, ok := m.a.doc["range_constraints"].(map[string]any)
	if !ok {
		return
	}
	if ranges[name] == nil {
		ranges[name] = map[string]any{
			"min_val": json.Number(strconv.FormatInt(max(n-int64(m.r.IntN(4)), 0), 10)),
			"max_val": json.Number(strconv.FormatInt(n+int64(m.r.IntN(6)), 10)),
		}
	}
	change := func(size map[string]any) {
		delete(size, "as_int")
		size["as_expr"] = symbol()
	}
	if !all {
		change(only)
		return
	}
	for _, spec := range m.specs("user_input") {
		arg, _ := spec["arg"].(map[string]any)
		ref, _ := arg["as_tensor"].(map[string]any)
		name, _ := ref["name"].(string)
		t, _ := m.values[name].(map[string]any)
		sizes, _ := t["sizes"].([]any)
		for i := range sizes {
			if size, ok := sizes[i].(map[string]any); ok && size["as_int"] == old {
				change(size)
			}
		}
	}
}

// dense gives a recorded tensor of constant sizes row-major strides.
func dense(t map[string]any) {
	sizes, _ := t["sizes"].([]any)
	strides := make([]int64, len(sizes))
	stride := int64(1)
	for i := len(sizes) - 1; i >= 0; i-- {
		strides[i] = stride
		size, _ := sizes[i].(map[string]any)
		number, _ := size["as_int"].(json.Number)
		n, err := number.Int64()
		if err != nil || n < 0 || n > 0 && stride > math.MaxInt64/n {
			return
		}
		stride *= max(n, 1)
	}
	t["strides"] = ints(strides)
}

// resize makes a size of a stored constant smaller, there and in the graph.
func (m *mutator) resize(target string, entry map[string]any) {
	meta, _ := entry["tensor_meta"].(map[string]any)
	sizes, _ := meta["sizes"].([]any)
	if len(sizes) == 0 {
		return
	}
	size, _ := pick(m.r, sizes).(map[string]any)
	old, _ := size["as_int"].(json.Number)
	n, _ := old.Int64()
	if n < 1 {
		return
	}
	size["as_int"] = json.Number(strconv.FormatInt(m.r.Int64N(n), 10))
	dense(meta)
	for kind, key := range map[string]string{"parameter": "parameter_name", "buffer": "buffer_name",
		"tensor_constant": "tensor_constant_name"} {
		for _, spec := range m.specs(kind) {
			arg, _ := spec["arg"].(map[string]any)
			name, _ := arg["name"].(string)
			if t, ok := m.values[name].(map[string]any); ok && spec[key] == target {
				t["sizes"], t["strides"] = meta["sizes"], meta["strides"]
			}
		}
	}
}

// earlier returns the name of a tensor that is there before a node.
func (m *mutator) earlier(nodes []any, node any, tensors map[string]any) string {
	later := map[string]bool{}
	seen := false
	for _, x := range nodes {
		n, _ := x.(map[string]any)
		this, _ := node.(map[string]any)
		if !seen && fmt.Sprintf("%p", n) != fmt.Sprintf("%p", this) {
			continue
		}
		seen = true
		m.outputs(n["outputs"], later)
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(tensors)), func(name string) bool {
		return later[name]
	})
	if len(names) == 0 {
		return "x"
	}
	return pick(m.r, names)
}

// outputs collects the names in x.
func (m *mutator) outputs(x any, names map[string]bool) {
	switch x := x.(type) {
	case []any:
		for _, e := range x {
			m.outputs(e, names)
		}
	case map[string]any:
		for _, e := range x {
			if name, ok := e.(string); ok {
				names[name] = true
			}
			m.outputs(e, names)
		}
	}
}

// alike returns operators that take arguments called as those of n.
func alike(n map[string]any) []string {
	list, _ := n["inputs"].([]any)
	var names []string
	for _, x := range list {
		a, _ := x.(map[string]any)
		name, _ := a["name"].(string)
		names = append(names, name)
	}
	var out []string
	for _, name := range ops.Standard().Names() {
		op, _ := ops.Standard().Lookup(name)
		s := op.ParsedSchema()
		ok := len(names) > 0
		for _, arg := range names {
			ok = ok && s.Index(arg) >= 0
		}
		if ok {
			out = append(out, name)
		}
	}
	return out
}
