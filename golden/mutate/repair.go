package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pt2"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
)

// repair gives every value of the graph the type that follows, so that a change
// of what an operator is told reaches what comes behind the check of records. It
// is false if nothing can be repaired.
func (a *archive) repair(file []byte) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false // the mutant is tried as it is, and shows it
		}
	}()
	p, err := pt2.ReadZip(bytes.NewReader(file), int64(len(file)), "mutant.pt2")
	if err != nil {
		return false
	}
	check := lower.Pipeline{Passes: []lower.Pass{lower.InlineWrappers, lower.Capture,
		lower.CheckRecords}}
	_ = check.Run(&lower.Context{Table: ops.Standard()}, p, nil) // it may fail: the types are set
	types := map[string]ir.Type{}
	p.Methods[0].Graph.Walk(func(g *ir.Graph) {
		for _, n := range g.Nodes {
			for _, v := range n.Outputs {
				if v != nil && v.Type.Kind == ir.TensorKind {
					types[v.Name] = v.Type
				}
			}
		}
	})
	a.retype(a.doc["graph_module"], types)
	return true
}

// retype writes types into the records of all graphs in x.
func (a *archive) retype(x any, types map[string]ir.Type) {
	switch x := x.(type) {
	case []any:
		for _, e := range x {
			a.retype(e, types)
		}
	case map[string]any:
		for key, e := range x {
			if key != "tensor_values" {
				a.retype(e, types)
				continue
			}
			records, _ := e.(map[string]any)
			for name, rec := range records {
				t, known := types[name]
				r, ok := rec.(map[string]any)
				if sizes, static := t.StaticSizes(); known && ok && static {
					r["sizes"] = ints(sizes)
					var strides []int64
					for _, s := range t.Strides {
						n, _ := s.Const()
						strides = append(strides, n)
					}
					offset, _ := t.Offset.Const()
					r["strides"], r["storage_offset"] = ints(strides), ints([]int64{offset})[0]
					if n := slices.Index(dtypes, t.DType); n > 0 {
						r["dtype"] = json.Number(strconv.Itoa(n))
					}
				}
			}
		}
	}
}

// dtypes are the dtypes by their numbers in the export schema.
var dtypes = []ir.DType{
	1: ir.Uint8, 2: ir.Int8, 3: ir.Int16, 4: ir.Int32, 5: ir.Int64, 6: ir.Float16, 7: ir.Float32,
	8: ir.Float64, 12: ir.Bool, 13: ir.BFloat16,
}

func ints(ns []int64) []any {
	out := make([]any, len(ns))
	for i, n := range ns {
		out[i] = map[string]any{"as_int": json.Number(strconv.FormatInt(n, 10))}
	}
	return out
}
