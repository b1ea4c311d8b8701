package pt2

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/sym"
)

// object is one of JSON.
type object = map[string]any

// WriteRecord writes the record of a functional program, whose nodes have the debug handles under
// which rec's methods name them. Inputs and outputs are written as flat tuples.
func WriteRecord(w io.Writer, p *ir.Program, rec Record) (err error) {
	defer must.Catch(&err)
	z := zip.NewWriter(w)
	member := func(name string) io.Writer {
		return must.Get(z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store}))
	}
	encode := func(name string, v any) {
		text := must.Get(json.Marshal(v))
		for _, word := range []string{"Infinity", "-Infinity", "NaN"} {
			text = bytes.ReplaceAll(text, []byte(`"\u0000`+word+`"`), []byte(word))
		}
		must.Get(member(name).Write(text))
	}
	member(recordMember)
	handles, delegates, outs := object{}, object{}, object{}
	for _, m := range p.Methods {
		r := rec[m.Name]
		if r == nil {
			r = &RecordMethod{}
		}
		handles[m.Name], delegates[m.Name], outs[m.Name] = r.Handles, r.Delegates, r.Outs
		must.Do(func() {
			e := newEdgeWriter(m, r)
			name := edgeMember + "/" + m.Name
			encode(name, e.program())
			must.Check(writeTensors(member(name+"_state_dict"), e.state))
			must.Check(writeTensors(member(name+"_constants"), e.constants))
			member(name + "_example_inputs")
		}, "the ETRecord of method %s", foreign.Message(m.Name))
	}
	encode(handlesMember, handles)
	encode(delegatesMember, delegates)
	encode(outsMember, outs)
	encode("export_graph_id", 0) // of the program before the edge program, which is not in it
	return z.Close()
}

// edgeWriter makes the JSON of an edge program, in the schema of ExecuTorch's exir/serde.
type edgeWriter struct {
	m                *ir.Method
	handles          map[string]int // of nodes
	state, constants []savedValue
	regions          int // that have names
	names            *ir.Names
	ranges           object // of symbols
}

// savedValue is a tensor that is written beside the graph.
type savedValue struct {
	name      string
	parameter bool
	data      *ir.Constant
}

func newEdgeWriter(m *ir.Method, r *RecordMethod) *edgeWriter {
	e := &edgeWriter{m: m, handles: map[string]int{}, ranges: object{}, names: ir.NewNames(m)}
	for h, nodes := range r.Nodes {
		for _, n := range nodes {
			e.handles[n.Node] = h
		}
	}
	return e
}

func (e *edgeWriter) program() object {
	g, inputs := *e.m.Graph, []object{}
	for i, v := range g.Inputs {
		inputs = append(inputs, e.input(e.m.Inputs[i], v))
	}
	// Constants that lowering made are inputs here, too.
	g.Inputs = slices.Clone(g.Inputs)
	e.m.Graph.Walk(func(r *ir.Graph) {
		for _, v := range r.Constants {
			g.Inputs = append(g.Inputs, v)
			inputs = append(inputs, e.input(ir.InputSpec{Kind: ir.TensorConstant, Target: v.Name}, v))
		}
	})
	outputs, users := []object{}, 0
	for i, a := range g.Outputs {
		outputs = append(outputs, outputSpec(e.m.Outputs[i], argument(a)))
		if e.m.Outputs[i].Kind == ir.UserOutput {
			users++
		}
	}
	for _, s := range e.m.Symbols {
		lo, hi := s.Expr().Bounds()
		e.ranges[s.Name] = object{"min_val": lo, "max_val": hi}
	}
	args := tupleSpec(tupleSpec(slices.Repeat([]object{leafSpec}, countInputs(e.m))...),
		object{"type": "builtins.dict", "context": "[]", "children_spec": []object{}})
	spec := func(of object) string { return string(must.Get(json.Marshal([]any{1, of}))) }
	return object{
		"graph_module": object{
			"graph":     e.graph(&g),
			"signature": object{"input_specs": inputs, "output_specs": outputs},
			"module_call_graph": []object{{"fqn": "", "signature": object{"inputs": []object{},
				"outputs": []object{}, "in_spec": spec(args),
				"out_spec": spec(tupleSpec(slices.Repeat([]object{leafSpec}, users)...))}}},
		},
		"opset_version":     object{"aten": atenVersion},
		"range_constraints": e.ranges,
		"schema_version":    object{"major": 5, "minor": 4},
		"dialect":           "",
		"verifiers":         []string{}, // those of Core ATen refuse what portable kernels compute
	}
}

// The treespecs of PyTorch.
var leafSpec = object{"type": nil, "context": nil, "children_spec": []object{}}

func tupleSpec(children ...object) object {
	return object{"type": "builtins.tuple", "context": "null", "children_spec": children}
}

// input makes the spec of a graph input, and keeps its data.
func (e *edgeWriter) input(s ir.InputSpec, v *ir.Value) object {
	arg := object{"name": v.Name}
	saved := savedValue{s.Target, s.Kind == ir.Parameter, v.Const}
	switch {
	case s.Kind == ir.ConstantInput:
		return object{"constant_input": object{"name": v.Name, "value": argument(s.Fixed)}}
	case s.Kind == ir.UserInput:
		return object{"user_input": object{"arg": argument(ir.Ref{Value: v})}}
	case v.Const == nil || s.Kind > ir.TensorConstant:
		must.Fail("its input %s is no tensor with data", foreign.Message(v.Name))
	case s.Kind == ir.Parameter:
		e.state = append(e.state, saved)
		return object{"parameter": object{"arg": arg, "parameter_name": s.Target}}
	case s.Kind == ir.TensorConstant:
		e.constants = append(e.constants, saved)
		return object{"tensor_constant": object{"arg": arg, "tensor_constant_name": s.Target}}
	case s.Persistent:
		e.state = append(e.state, saved)
	default:
		e.constants = append(e.constants, saved)
	}
	return object{"buffer": object{"arg": arg, "buffer_name": s.Target, "persistent": s.Persistent}}
}

func outputSpec(s ir.OutputSpec, arg object) object {
	kind, target := "user_input_mutation", "user_input_name"
	switch s.Kind {
	case ir.UserOutput:
		return object{"user_output": object{"arg": arg}}
	case ir.UserInputMutation:
	case ir.BufferMutation, ir.ParameterMutation:
		kind, target = "buffer_mutation", "buffer_name"
	default:
		must.Fail("it has outputs that are for training")
	}
	return object{kind: object{"arg": arg["as_tensor"], target: s.Target}}
}

// graph makes the JSON of a graph, whose inputs are all values that it does not compute.
func (e *edgeWriter) graph(g *ir.Graph) object {
	tensors, ints, bools := object{}, object{}, object{}
	nodes, inputs, outputs := []object{}, []object{}, []object{}
	note := func(v *ir.Value) {
		switch v.Type.Kind {
		case ir.TensorKind:
			tensors[v.Name] = e.tensor(v.Type)
		case ir.IntKind:
			if ints[v.Name] = e.size(v.Type.Expr); !v.Type.HasExpr {
				ints[v.Name] = object{"as_expr": object{"expr_str": v.Name}}
				e.ranges[v.Name] = object{"min_val": math.MinInt64, "max_val": math.MaxInt64}
			}
		case ir.BoolKind:
			bools[v.Name] = object{"as_bool": true} // an example
		}
	}
	for _, v := range g.Inputs {
		note(v)
		inputs = append(inputs, argument(ir.Ref{Value: v}))
	}
	for _, n := range e.forwards(g.Nodes) {
		outs := []object{}
		for _, v := range n.Outputs {
			if v == nil {
				outs = append(outs, argument(ir.None{}))
				continue
			}
			note(v)
			outs = append(outs, argument(ir.Ref{Value: v}))
		}
		if len(n.Regions) > 0 && len(outs) == 1 && n.Outputs[0] != nil { // a tuple, also of one
			outs = []object{argument(ir.List{ir.Ref{Value: n.Outputs[0]}})}
		}
		nodes = append(nodes, object{"name": n.Name, "target": edgeTarget(n),
			"inputs":  must.At(func() []object { return e.arguments(n) }, "node %q", n.Name),
			"outputs": outs, "metadata": e.metadata(n)})
	}
	for _, a := range g.Outputs {
		outputs = append(outputs, argument(a))
	}
	return object{"inputs": inputs, "outputs": outputs, "nodes": nodes, "tensor_values": tensors,
		"sym_int_values": ints, "sym_bool_values": bools, "custom_obj_values": object{},
		"is_single_tensor_return": false}
}

// forwards gives nodes, of which no scan runs from the end: PyTorch turns what such a one runs
// over, and the results of its steps.
func (e *edgeWriter) forwards(nodes []*ir.Node) (list []*ir.Node) {
	turned := func(v *ir.Value) *ir.Value {
		return &ir.Value{Name: e.names.Fresh(v.Name), Type: v.Type}
	}
	flip := func(n *ir.Node, from, to *ir.Value) {
		list = append(list, &ir.Node{Name: to.Name, Op: "aten.flip.default", Loc: n.Loc,
			Args: []ir.NamedArg{{Name: "self", Value: ir.Ref{Value: from}},
				{Name: "dims", Value: ir.List{ir.Int(0)}}}, Outputs: []*ir.Value{to}})
	}
	for _, n := range nodes {
		at := slices.IndexFunc(n.Args, func(a ir.NamedArg) bool { return a.Name == "reverse" })
		if at < 0 || !strings.HasSuffix(n.Op, ".scan") {
			list = append(list, n)
			continue
		}
		scan := *n
		scan.Args = slices.Delete(slices.Clone(n.Args), at, at+1)
		if n.Args[at].Value == ir.BoolArg(false) {
			list = append(list, &scan)
			continue
		}
		xs := slices.Clone(n.Args[1].Value.(ir.List))
		for i, x := range xs {
			from := x.(ir.Ref).Value
			to := turned(from)
			flip(n, from, to)
			xs[i] = ir.Ref{Value: to}
		}
		scan.Args[1].Value, scan.Outputs = xs, slices.Clone(n.Outputs)
		list = append(list, &scan)
		for i, to := range n.Outputs {
			if i >= len(n.Args[0].Value.(ir.List)) && to != nil {
				scan.Outputs[i] = turned(to)
				flip(n, scan.Outputs[i], to)
			}
		}
	}
	return list
}

// edgeTarget is how edge programs name a node's operator.
func edgeTarget(n *ir.Node) string {
	switch {
	case strings.HasPrefix(n.Op, "_operator.") || n.Op == ir.CallDelegate:
		return n.Op
	case len(n.Regions) > 0 || strings.HasPrefix(n.Op, "aten.sym_"):
		return "torch.ops." + n.Op
	}
	return edgePrefix + n.Op
}

func (e *edgeWriter) metadata(n *ir.Node) map[string]string {
	meta := map[string]string{}
	if h := e.handles[n.Name]; h != 0 {
		meta["debug_handle"] = strconv.Itoa(h)
	}
	if n.Loc.File != "" {
		meta["stack_trace"] = fmt.Sprintf("File %q, line %d, in forward", n.Loc.File, n.Loc.Line)
	}
	if m := n.Loc.Module; m != "" && !strings.ContainsAny(m, ",;()[]") {
		meta["nn_module_stack"] = "L__self__" + m + "," + m + ",torch.nn.Module"
	}
	return meta
}

// arguments are a node's, regions among them: behind the condition of cond, else first. What
// regions read of the values around comes last, as additional operands.
func (e *edgeWriter) arguments(n *ir.Node) []object {
	list := []object{}
	add := func(name string, arg object) { list = append(list, object{"name": name, "arg": arg}) }
	for _, a := range n.Args {
		add(a.Name, must.At(func() object { return argument(a.Value) }, "argument %q", a.Name))
	}
	if len(n.Regions) == 0 {
		return list
	}
	captured := capturedBy(n)
	graphs := []object{}
	for i, r := range n.Regions {
		inner := *r
		inner.Inputs = slices.Concat(r.Inputs, captured)
		e.regions++
		graph := e.graph(&inner)
		// The condition of a loop is a tensor; what other regions give is a tuple.
		graph["is_single_tensor_return"] = i == 0 && strings.HasSuffix(n.Op, ".while_loop")
		graphs = append(graphs, object{"name": "", "arg": object{"as_graph": object{
			"name": fmt.Sprintf("region_%d", e.regions), "graph": graph}}})
	}
	operands, numbers := ir.List{}, ir.List{}
	for _, v := range captured {
		if v.Type.Kind == ir.TensorKind {
			operands = append(operands, ir.Ref{Value: v})
		} else {
			numbers = append(numbers, ir.Ref{Value: v})
		}
	}
	at := 0
	if strings.HasSuffix(n.Op, ".cond") {
		at = 1
	}
	for i := range list {
		list[i]["name"] = "" // control flow takes operands by position
	}
	list = slices.Insert(list, min(at, len(list)), graphs...)
	add("", argument(operands))
	for _, x := range numbers { // no list in the schema is of tensors and numbers
		add("", argument(x))
	}
	return list
}

// capturedBy are the values that n's regions read and do not compute, constants among them.
func capturedBy(n *ir.Node) (list []*ir.Value) {
	own := map[*ir.Value]bool{}
	use := func(v *ir.Value) {
		if !own[v] {
			own[v] = true
			list = append(list, v)
		}
	}
	for _, r := range n.Regions {
		r.Walk(func(g *ir.Graph) {
			for _, v := range g.Inputs {
				own[v] = true
			}
			for _, n := range g.Nodes {
				for _, v := range n.Outputs {
					own[v] = true
				}
			}
		})
	}
	for _, r := range n.Regions {
		r.Walk(func(g *ir.Graph) {
			for _, n := range g.Nodes {
				for _, a := range n.Args {
					ir.EachRef(a.Value, use)
				}
			}
			for _, a := range g.Outputs {
				ir.EachRef(a, use)
			}
		})
	}
	return list
}

// argument is the Argument of a.
func argument(a ir.Arg) object {
	switch a := a.(type) {
	case ir.Ref:
		switch a.Value.Type.Kind {
		case ir.TensorKind:
			return object{"as_tensor": object{"name": a.Value.Name}}
		case ir.IntKind:
			return object{"as_sym_int": object{"as_name": a.Value.Name}}
		case ir.BoolKind:
			return object{"as_sym_bool": object{"as_name": a.Value.Name}}
		}
		must.Fail("ETRecords have no form for %s, which is no tensor, integer or bool",
			foreign.Message(a.Value.Name))
	case ir.None:
		return object{"as_none": []int{}}
	case ir.Int:
		return object{"as_int": int64(a)}
	case ir.Float:
		return object{"as_float": floatLiteral(float64(a))}
	case ir.BoolArg:
		return object{"as_bool": bool(a)}
	case ir.Str:
		return object{"as_string": string(a)}
	case ir.OpArg:
		return object{"as_operator": "torch.ops." + string(a)}
	case ir.DTypeArg:
		return object{"as_scalar_type": edgeDType(ir.DType(a))}
	case ir.LayoutArg:
		return object{"as_layout": int(a)}
	case ir.MemoryFormat:
		return object{"as_memory_format": int(a)}
	case ir.Device:
		return object{"as_device": object{"type": "cpu"}}
	case ir.List:
		return listArgument(a)
	case nil:
		return argument(ir.None{})
	}
	must.Fail("ETRecords have no form for a %T", a)
	return nil
}

// listArgument is the Argument of a list: the first kind that all its elements fit.
func listArgument(list ir.List) object {
	var elements []object
	tags := map[string]bool{}
	for _, x := range list {
		el := argument(x)
		elements = append(elements, el)
		for tag := range el {
			tags[tag] = true
		}
	}
	for _, kind := range []struct {
		tag  string
		of   []string
		bare string // the member that stands for the element; "" is the element
	}{
		{"as_ints", []string{"as_int"}, "as_int"},
		{"as_floats", []string{"as_float"}, "as_float"},
		{"as_floats", []string{"as_float", "as_int"}, "*"},
		{"as_bools", []string{"as_bool"}, "as_bool"},
		{"as_strings", []string{"as_string"}, "as_string"},
		{"as_tensors", []string{"as_tensor"}, "as_tensor"},
		{"as_optional_tensors", []string{"as_tensor", "as_none"}, ""},
		{"as_sym_ints", []string{"as_sym_int", "as_int"}, "as_sym_int"},
		{"as_sym_bools", []string{"as_sym_bool", "as_bool"}, "as_sym_bool"},
	} {
		if slices.ContainsFunc(slices.Collect(maps.Keys(tags)),
			func(tag string) bool { return !slices.Contains(kind.of, tag) }) {
			continue
		}
		all := []any{}
		for _, el := range elements {
			x, ok := el[kind.bare]
			for _, own := range el {
				if kind.bare == "*" {
					x, ok = own, true
				}
			}
			if !ok {
				x = el // of a list of both kinds, or of optional tensors
			}
			all = append(all, x)
		}
		return object{kind.tag: all}
	}
	must.Fail("ETRecords have no form for a list of %q", slices.Sorted(maps.Keys(tags)))
	return nil
}

// floatLiteral is a float as Python writes it: what is not finite as marked text, from which
// encoding takes the marks, since JSON has no word for it.
func floatLiteral(x float64) any {
	switch {
	case math.IsInf(x, 1):
		return "\x00Infinity"
	case math.IsInf(x, -1):
		return "\x00-Infinity"
	case math.IsNaN(x):
		return "\x00NaN"
	}
	text := strconv.FormatFloat(x, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return json.RawMessage(text)
}

// edgeDType is the number of a dtype in exir/serde's schema, which is older than PyTorch's.
func edgeDType(d ir.DType) int {
	own := map[ir.DType]int{ir.Uint16: 14, ir.Float8E5M2: 15, ir.Float8E4M3FN: 16}
	if n, ok := own[d]; ok {
		return n
	}
	n := slices.Index(scalarTypes[:], d)
	if n < 0 || n > 13 {
		must.Fail("ETRecords have no tensors of %s", d)
	}
	return n
}

func (e *edgeWriter) tensor(t ir.Type) object {
	sizes := func(list []sym.Expr) (all []object) {
		all = []object{}
		for _, x := range list {
			all = append(all, e.size(x))
		}
		return all
	}
	return object{"dtype": edgeDType(t.DType), "sizes": sizes(t.Sizes), "strides": sizes(t.Strides),
		"storage_offset": object{"as_int": 0}, "requires_grad": false, "layout": layoutStrided,
		"device": object{"type": "cpu"}}
}

// size is the SymInt of x. PyTorch wants an example of what is symbolic: its value for sizes as
// large as they may be, up to some bound.
func (e *edgeWriter) size(x sym.Expr) object {
	if n, ok := x.Const(); ok {
		return object{"as_int": n}
	}
	const most = 64
	n, err := x.Eval(func(s *sym.Symbol) (int64, bool) {
		lo, hi := s.Expr().Bounds()
		return max(lo, min(hi, most)), true
	})
	expr := object{"expr_str": strings.NewReplacer("max(", "Max(", "min(", "Min(").Replace(x.String())}
	if err == nil {
		expr["hint"] = object{"as_int": n}
	}
	return object{"as_expr": expr}
}
