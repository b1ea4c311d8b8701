package pt2

import "github.com/etgen/etgen/ir"

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
