package pt2

import "github.com/etgen/etgen/ir"

// The wire types mirror torch/_export/serde/schema.py as far as it is used.
// References are still names; convert.go resolves them.

type wireProgram struct {
	graph            wireGraph
	inputs, outputs  []wireSpec
	inSpec, outSpec  string // treespecs as JSON
	namedtuples      map[string][]string
	ranges           map[string]wireRange
	guards           []string            // conditions on the inputs, Python
	narrowed         map[string]interval // ranges that guards gave, by symbol
	argNames         []string            // of forward's parameters, for what was passed
	major            int64
	opset            int64 // version of the aten operators, 0 if none is given
	hasGraph, hasSig bool
}

type wireRange struct {
	lo, hi       int64
	hasLo, hasHi bool
}

type wireGraph struct {
	inputs, outputs []wireArg
	nodes           []wireNode
	tensors         map[string]*wireTensor
	ints            map[string]wireSym
	classes         map[string]string // of custom objects
}

type wireNode struct {
	target, name string
	inputs       []wireNamed
	outputs      []wireArg
	loc          ir.Location
	handle       string // debug_handle of an edge program
}

type wireNamed struct {
	name string
	arg  wireArg
}

// wireArg is one value of the Argument union.
type wireArg struct {
	tag   string
	name  string     // of what is referred to, "" for a literal
	lit   ir.Arg     // a literal; enums are still ir.Int
	list  []wireArg  // of lists that may hold references
	graph *wireGraph // of as_graph
}

type wireTensor struct {
	dtype, layout  int64
	sizes, strides []wireSym
	offset         wireSym
}

// wireSym is a SymInt: an expression if expr is not empty, else n.
type wireSym struct {
	expr string
	n    int64
}

// wireSpec is an InputSpec or OutputSpec.
type wireSpec struct {
	tag        string
	arg        wireArg // the value it is about
	target     string  // parameter_name, buffer_name, …
	persistent bool
}

func (s *scanner) program() *wireProgram {
	p := &wireProgram{ranges: map[string]wireRange{}, narrowed: map[string]interval{}}
	s.members("graph_module", func() {
		s.members("graph", func() { p.graph, p.hasGraph = s.graph(), true },
			"signature", func() {
				p.hasSig = true
				s.members("input_specs", each(s, &p.inputs, s.spec),
					"output_specs", each(s, &p.outputs, s.spec))
			},
			"module_call_graph", func() { s.array(func() { s.callEntry(p) }) },
			"treespec_namedtuple_fields", func() { p.namedtuples = s.namedtuples() })
	}, "range_constraints", byName(s, &p.ranges, s.rangeConstraint),
		"schema_version", func() { s.members("major", &p.major) },
		"opset_version", func() { s.members("aten", &p.opset) },
		"guards_code", each(s, &p.guards, s.str))
	s.end()
	return p
}

// members reads an object. Of the pairs the first is the name of a member, the second where
// its value goes, or what reads it.
func (s *scanner) members(pairs ...any) {
	s.object(func(key string) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] != key {
				continue
			}
			switch to := pairs[i+1].(type) {
			case *string:
				*to = s.str()
			case *int64:
				*to = s.int()
			case *float64:
				*to = s.float()
			case *bool:
				*to = s.bool()
			case func():
				to()
			}
			return
		}
		s.skip()
	})
}

// each reads a list whose elements read reads.
func each[T any](s *scanner, list *[]T, read func() T) func() {
	return func() { s.array(func() { *list = append(*list, read()) }) }
}

// byName reads an object whose values read reads.
func byName[T any](s *scanner, m *map[string]T, read func() T) func() {
	return func() {
		*m = map[string]T{}
		s.object(func(name string) { (*m)[name] = read() })
	}
}

func (s *scanner) graph() (g wireGraph) {
	s.members("inputs", each(s, &g.inputs, s.arg), "outputs", each(s, &g.outputs, s.arg),
		"nodes", each(s, &g.nodes, s.node), "tensor_values", byName(s, &g.tensors, s.tensor),
		"sym_int_values", byName(s, &g.ints, s.symInt),
		"custom_obj_values", byName(s, &g.classes, func() string { return s.fields("class_fqn") }))
	return g
}

// fields reads an object and returns its member called name, a string.
func (s *scanner) fields(name string) (val string) {
	s.members(name, &val)
	return val
}

func (s *scanner) node() (n wireNode) {
	s.members("target", &n.target, "name", &n.name, "inputs", each(s, &n.inputs, s.named),
		"outputs", each(s, &n.outputs, s.arg), "metadata", func() {
			s.members("debug_handle", &n.handle,
				"stack_trace", func() { n.loc.File, n.loc.Line = innermostFrame(s.str()) },
				"nn_module_stack", func() { n.loc.Module = innermostModule(s.str()) })
		})
	return n
}

func (s *scanner) named() (in wireNamed) {
	s.members("name", &in.name, "arg", func() { in.arg = s.arg() })
	return in
}

func (s *scanner) tensor() *wireTensor {
	t := &wireTensor{}
	s.members("dtype", &t.dtype, "layout", &t.layout, "sizes", each(s, &t.sizes, s.symInt),
		"strides", each(s, &t.strides, s.symInt),
		"storage_offset", func() { t.offset = s.symInt() })
	return t
}

func (s *scanner) symInt() (v wireSym) {
	s.union(func(tag string) {
		switch tag {
		case "as_int":
			v.n = s.int()
		case "as_expr":
			if v.expr = s.fields("expr_str"); v.expr == "" {
				s.fail("a symbolic size has no expr_str")
			}
		default:
			s.fail("unknown kind of size %q", tag)
		}
	})
	return v
}

func (s *scanner) rangeConstraint() (r wireRange) {
	s.members("min_val", func() { r.lo, r.hasLo = s.int(), true },
		"max_val", func() { r.hi, r.hasHi = s.int(), true })
	return r
}

func (s *scanner) spec() (v wireSpec) {
	v.persistent = true
	s.union(func(tag string) {
		v.tag = tag
		s.members("arg", func() {
			if tag == "user_input" || tag == "user_output" {
				v.arg = s.arg()
			} else {
				v.arg.name = s.fields("name")
			}
		}, "name", &v.arg.name, // of a constant input
			"value", func() { v.arg.lit = s.arg().lit }, "persistent", &v.persistent,
			"parameter_name", &v.target, "buffer_name", &v.target,
			"tensor_constant_name", &v.target, "custom_obj_name", &v.target,
			"user_input_name", &v.target)
	})
	return v
}

// callEntry reads one entry of module_call_graph; the one for "" carries the
// calling convention.
func (s *scanner) callEntry(p *wireProgram) {
	fqn, in, out := "", "", ""
	var names []string
	s.members("fqn", &fqn, "signature", func() {
		s.members("in_spec", &in, "out_spec", &out, "forward_arg_names", each(s, &names, s.str))
	})
	if fqn == "" {
		p.inSpec, p.outSpec, p.argNames = in, out, names
	}
}

func (s *scanner) namedtuples() (m map[string][]string) {
	byName(s, &m, func() (names []string) {
		s.members("field_names", each(s, &names, s.str))
		return names
	})()
	return m
}

// arg reads one value of the Argument union.
func (s *scanner) arg() (a wireArg) {
	s.union(func(tag string) { a = s.argOf(tag) })
	return a
}

// literals are how to read what tags say that refers to nothing, but for lists of these.
var literals = map[string]func(*scanner) ir.Arg{
	"as_none":          func(s *scanner) ir.Arg { s.skip(); return ir.None{} },
	"as_int":           (*scanner).intArg,
	"as_scalar_type":   (*scanner).intArg,
	"as_memory_format": (*scanner).intArg,
	"as_layout":        (*scanner).intArg,
	"as_float":         (*scanner).floatArg,
	"as_bool":          (*scanner).boolArg,
	"as_string":        (*scanner).strArg,
	"as_operator":      func(s *scanner) ir.Arg { return ir.OpArg(opName(s.str())) },
	"as_device":        (*scanner).device,
	"as_complex":       (*scanner).complex,
	"as_ints":          listOf((*scanner).intArg),
	"as_floats":        listOf((*scanner).floatArg),
	"as_bools":         listOf((*scanner).boolArg),
	"as_strings":       listOf((*scanner).strArg),
	"as_int_lists":     listOf(listOf((*scanner).intArg)),
	"as_float_lists":   listOf(listOf((*scanner).floatArg)),
}

func (s *scanner) intArg() ir.Arg   { return ir.Int(s.int()) }
func (s *scanner) floatArg() ir.Arg { return ir.Float(s.float()) }
func (s *scanner) boolArg() ir.Arg  { return ir.BoolArg(s.bool()) }
func (s *scanner) strArg() ir.Arg   { return ir.Str(s.str()) }

func listOf(read func(*scanner) ir.Arg) func(*scanner) ir.Arg {
	return func(s *scanner) ir.Arg {
		list := ir.List{}
		s.array(func() { list = append(list, read(s)) })
		return list
	}
}

// argOf reads the payload of a tag.
func (s *scanner) argOf(tag string) (a wireArg) {
	if read := literals[tag]; read != nil {
		return wireArg{tag: tag, lit: read(s)}
	}
	tensor := func() wireArg { return s.argOf("as_tensor") }
	switch tag {
	case "as_tensor", "as_custom_obj":
		if a.name = s.fields("name"); a.name == "" {
			s.fail("%s without a name", tag)
		}
	case "as_tensors":
		each(s, &a.list, tensor)()
	case "as_nested_tensors":
		each(s, &a.list, func() wireArg { return s.argOf("as_tensors") })()
	case "as_optional_tensor":
		a = s.arg()
	case "as_optional_tensors":
		each(s, &a.list, s.arg)()
	case "as_sym_int", "as_sym_float", "as_sym_bool":
		a = s.symArg()
	case "as_sym_ints", "as_sym_floats", "as_sym_bools":
		each(s, &a.list, s.symArg)()
	case "as_graph":
		s.members("graph", func() {
			g := s.graph()
			a.graph = &g
		})
		if a.graph == nil {
			s.fail("as_graph without a graph")
		}
	default:
		s.fail("unknown kind of argument %q", tag)
	}
	a.tag = tag
	return a
}

// symArg reads a SymIntArgument, SymFloatArgument or SymBoolArgument.
func (s *scanner) symArg() (a wireArg) {
	s.union(func(tag string) {
		switch tag {
		case "as_name":
			a.name = s.str()
		case "as_int", "as_float", "as_bool":
			a.lit = literals[tag](s)
		default:
			s.fail("unknown kind of symbolic argument %q", tag)
		}
	})
	return a
}

func (s *scanner) device() ir.Arg {
	typ, index := "", int64(-1)
	s.members("type", &typ, "index", &index)
	return deviceName(typ, index)
}

func (s *scanner) complex() ir.Arg {
	var re, im float64
	s.members("real", &re, "imag", &im)
	return ir.Complex(complex(re, im))
}
