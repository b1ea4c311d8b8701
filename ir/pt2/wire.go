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
	s.object(func(key string) {
		switch key {
		case "graph_module":
			s.object(func(key string) {
				switch key {
				case "graph":
					p.graph, p.hasGraph = s.graph(), true
				case "signature":
					s.signature(p)
				case "module_call_graph":
					s.array(func() { s.callEntry(p) })
				case "treespec_namedtuple_fields":
					p.namedtuples = s.namedtuples()
				default:
					s.skip()
				}
			})
		case "range_constraints":
			s.object(func(name string) { p.ranges[name] = s.rangeConstraint() })
		case "schema_version":
			s.object(func(key string) {
				if key == "major" {
					p.major = s.int()
				} else {
					s.skip()
				}
			})
		case "opset_version":
			s.object(func(key string) {
				if n := s.int(); key == "aten" {
					p.opset = n
				}
			})
		case "guards_code":
			s.array(func() { p.guards = append(p.guards, s.str()) })
		default:
			s.skip()
		}
	})
	s.end()
	return p
}

func (s *scanner) graph() wireGraph {
	g := wireGraph{tensors: map[string]*wireTensor{}, ints: map[string]wireSym{},
		classes: map[string]string{}}
	s.object(func(key string) {
		switch key {
		case "inputs":
			g.inputs = s.args()
		case "outputs":
			g.outputs = s.args()
		case "nodes":
			s.array(func() { g.nodes = append(g.nodes, s.node()) })
		case "tensor_values":
			s.object(func(name string) { g.tensors[name] = s.tensor() })
		case "sym_int_values":
			s.object(func(name string) { g.ints[name] = s.symInt() })
		case "custom_obj_values":
			s.object(func(name string) { g.classes[name] = s.fields("class_fqn") })
		default:
			s.skip()
		}
	})
	return g
}

// fields reads an object and returns its member called name, a string.
func (s *scanner) fields(name string) (val string) {
	s.object(func(key string) {
		if key == name {
			val = s.str()
		} else {
			s.skip()
		}
	})
	return val
}

func (s *scanner) node() wireNode {
	var n wireNode
	s.object(func(key string) {
		switch key {
		case "target":
			n.target = s.str()
		case "name":
			n.name = s.str()
		case "inputs":
			s.array(func() {
				var in wireNamed
				s.object(func(key string) {
					switch key {
					case "name":
						in.name = s.str()
					case "arg":
						in.arg = s.arg()
					default:
						s.skip()
					}
				})
				n.inputs = append(n.inputs, in)
			})
		case "outputs":
			n.outputs = s.args()
		case "metadata":
			s.object(func(key string) {
				switch key {
				case "stack_trace":
					n.loc.File, n.loc.Line = innermostFrame(s.str())
				case "nn_module_stack":
					n.loc.Module = innermostModule(s.str())
				default:
					s.skip()
				}
			})
		default:
			s.skip()
		}
	})
	return n
}

func (s *scanner) tensor() *wireTensor {
	t := &wireTensor{}
	s.object(func(key string) {
		switch key {
		case "dtype":
			t.dtype = s.int()
		case "layout":
			t.layout = s.int()
		case "sizes":
			s.array(func() { t.sizes = append(t.sizes, s.symInt()) })
		case "strides":
			s.array(func() { t.strides = append(t.strides, s.symInt()) })
		case "storage_offset":
			t.offset = s.symInt()
		default:
			s.skip()
		}
	})
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
	s.object(func(key string) {
		switch key {
		case "min_val":
			r.lo, r.hasLo = s.int(), true
		case "max_val":
			r.hi, r.hasHi = s.int(), true
		default:
			s.skip()
		}
	})
	return r
}

func (s *scanner) signature(p *wireProgram) {
	p.hasSig = true
	s.object(func(key string) {
		switch key {
		case "input_specs":
			s.array(func() { p.inputs = append(p.inputs, s.spec()) })
		case "output_specs":
			s.array(func() { p.outputs = append(p.outputs, s.spec()) })
		default:
			s.skip()
		}
	})
}

func (s *scanner) spec() (v wireSpec) {
	v.persistent = true
	s.union(func(tag string) {
		v.tag = tag
		s.object(func(key string) {
			switch key {
			case "arg":
				if tag == "user_input" || tag == "user_output" {
					v.arg = s.arg()
				} else {
					v.arg.name = s.fields("name")
				}
			case "name": // of a constant input
				v.arg.name = s.str()
			case "value":
				v.arg.lit = s.arg().lit
			case "parameter_name", "buffer_name", "tensor_constant_name", "custom_obj_name",
				"user_input_name":
				v.target = s.str()
			case "persistent":
				v.persistent = s.bool()
			default:
				s.skip()
			}
		})
	})
	return v
}

// callEntry reads one entry of module_call_graph; the one for "" carries the
// calling convention.
func (s *scanner) callEntry(p *wireProgram) {
	fqn, in, out := "", "", ""
	var names []string
	s.object(func(key string) {
		switch key {
		case "fqn":
			fqn = s.str()
		case "signature":
			s.object(func(key string) {
				switch key {
				case "in_spec":
					in = s.str()
				case "out_spec":
					out = s.str()
				case "forward_arg_names":
					s.array(func() { names = append(names, s.str()) })
				default:
					s.skip()
				}
			})
		default:
			s.skip()
		}
	})
	if fqn == "" {
		p.inSpec, p.outSpec, p.argNames = in, out, names
	}
}

func (s *scanner) namedtuples() map[string][]string {
	m := map[string][]string{}
	s.object(func(name string) {
		s.object(func(key string) {
			if key != "field_names" {
				s.skip()
				return
			}
			s.array(func() { m[name] = append(m[name], s.str()) })
		})
	})
	return m
}

func (s *scanner) args() []wireArg {
	var list []wireArg
	s.array(func() { list = append(list, s.arg()) })
	return list
}

// arg reads one value of the Argument union.
func (s *scanner) arg() (a wireArg) {
	s.union(func(tag string) {
		a = s.argOf(tag)
		a.tag = tag
	})
	return a
}

// argOf reads the payload of a tag.
func (s *scanner) argOf(tag string) (a wireArg) {
	switch tag {
	case "as_none":
		s.skip()
		a.lit = ir.None{}
	case "as_int", "as_scalar_type", "as_memory_format", "as_layout":
		a.lit = ir.Int(s.int())
	case "as_float":
		a.lit = ir.Float(s.float())
	case "as_bool":
		a.lit = ir.BoolArg(s.bool())
	case "as_string":
		a.lit = ir.Str(s.str())
	case "as_operator":
		a.lit = ir.OpArg(opName(s.str()))
	case "as_device":
		a.lit = s.device()
	case "as_complex":
		a.lit = s.complex()
	case "as_ints":
		a.lit = s.literals(func() ir.Arg { return ir.Int(s.int()) })
	case "as_floats":
		a.lit = s.literals(func() ir.Arg { return ir.Float(s.float()) })
	case "as_bools":
		a.lit = s.literals(func() ir.Arg { return ir.BoolArg(s.bool()) })
	case "as_strings":
		a.lit = s.literals(func() ir.Arg { return ir.Str(s.str()) })
	case "as_int_lists":
		a.lit = s.literals(func() ir.Arg {
			return s.literals(func() ir.Arg { return ir.Int(s.int()) })
		})
	case "as_float_lists":
		a.lit = s.literals(func() ir.Arg {
			return s.literals(func() ir.Arg { return ir.Float(s.float()) })
		})
	case "as_tensor", "as_custom_obj":
		if a.name = s.fields("name"); a.name == "" {
			s.fail("%s without a name", tag)
		}
	case "as_tensors":
		s.array(func() { a.list = append(a.list, s.tagged("as_tensor")) })
	case "as_nested_tensors":
		s.array(func() {
			inner := wireArg{tag: "as_tensors"}
			s.array(func() { inner.list = append(inner.list, s.tagged("as_tensor")) })
			a.list = append(a.list, inner)
		})
	case "as_optional_tensor":
		a = s.arg()
	case "as_optional_tensors":
		s.array(func() { a.list = append(a.list, s.arg()) })
	case "as_sym_int", "as_sym_float", "as_sym_bool":
		a = s.symArg()
	case "as_sym_ints", "as_sym_floats", "as_sym_bools":
		s.array(func() { a.list = append(a.list, s.symArg()) })
	case "as_graph":
		s.object(func(key string) {
			switch key {
			case "graph":
				g := s.graph()
				a.graph = &g
			default:
				s.skip()
			}
		})
		if a.graph == nil {
			s.fail("as_graph without a graph")
		}
	default:
		s.fail("unknown kind of argument %q", tag)
	}
	return a
}

// tagged reads the payload of a tag that is not written.
func (s *scanner) tagged(tag string) wireArg {
	a := s.argOf(tag)
	a.tag = tag
	return a
}

// symArg reads a SymIntArgument, SymFloatArgument or SymBoolArgument.
func (s *scanner) symArg() (a wireArg) {
	s.union(func(tag string) {
		switch tag {
		case "as_name":
			a.name = s.str()
		case "as_int":
			a.lit = ir.Int(s.int())
		case "as_float":
			a.lit = ir.Float(s.float())
		case "as_bool":
			a.lit = ir.BoolArg(s.bool())
		default:
			s.fail("unknown kind of symbolic argument %q", tag)
		}
	})
	return a
}

func (s *scanner) literals(elem func() ir.Arg) ir.List {
	list := ir.List{}
	s.array(func() { list = append(list, elem()) })
	return list
}

func (s *scanner) device() ir.Device {
	typ, index := "", int64(-1)
	s.object(func(key string) {
		switch key {
		case "type":
			typ = s.str()
		case "index":
			index = s.int()
		default:
			s.skip()
		}
	})
	return deviceName(typ, index)
}

func (s *scanner) complex() ir.Complex {
	var re, im float64
	s.object(func(key string) {
		switch key {
		case "real":
			re = s.float()
		case "imag":
			im = s.float()
		default:
			s.skip()
		}
	})
	return ir.Complex(complex(re, im))
}
