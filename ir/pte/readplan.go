package pte

import (
	"fmt"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte/fb/program"
)

// plan reads a method; path names it in lists of what is absent.
func (d *decoder) plan(s *program.ExecutionPlan, root *program.Program, path string) (*ExecutionPlan, error) {
	for _, f := range []struct {
		id   int
		name string
	}{{0, "name"}, {2, "values"}, {3, "inputs"}, {4, "outputs"}, {5, "chains"}, {6, "operators"}, {7, "delegates"}, {8, "non_const_buffer_sizes"}} {
		d.need(s.Table(), f.id, "%s.%s", path, f.name)
	}
	p := &ExecutionPlan{
		Name:        d.string(s.Name()),
		Inputs:      list(s.InputsLength(), s.Inputs),
		Outputs:     list(s.OutputsLength(), s.Outputs),
		BufferSizes: list(s.NonConstBufferSizesLength(), s.NonConstBufferSizes),
	}
	if c := s.ContainerMetaType(nil); c != nil {
		p.Container = &ContainerMeta{Input: d.string(c.EncodedInpStr()), Output: d.string(c.EncodedOutStr())}
	}
	var err error
	p.Values, err = each(s.ValuesLength(), s.Values, func(x *program.EValue, i int) (EValue, error) {
		v, err := d.value(x, func() string { return fmt.Sprintf("%s.values[%d]", path, i) })
		if err != nil {
			return nil, fmt.Errorf("values[%d]: %w", i, err)
		}
		return v, nil
	})
	if err != nil {
		return nil, err
	}
	p.Chains, err = each(s.ChainsLength(), s.Chains, func(x *program.Chain, i int) (*Chain, error) {
		c, err := d.chain(x, fmt.Sprintf("%s.chains[%d]", path, i))
		if err != nil {
			return nil, fmt.Errorf("chains[%d]: %w", i, err)
		}
		return c, nil
	})
	if err != nil {
		return nil, err
	}
	p.Operators, _ = each(s.OperatorsLength(), s.Operators, func(x *program.Operator, i int) (Operator, error) {
		d.need(x.Table(), 0, "%s.operators[%d].name", path, i)
		return Operator{Name: d.string(x.Name()), Overload: d.string(x.Overload())}, nil
	})
	p.Delegates, err = each(s.DelegatesLength(), s.Delegates, func(x *program.BackendDelegate, i int) (Delegate, error) {
		v, err := d.delegate(x, root, fmt.Sprintf("%s.delegates[%d]", path, i))
		if err != nil {
			return v, fmt.Errorf("delegates[%d]: %w", i, err)
		}
		return v, nil
	})
	p.BufferDevices, _ = each(s.NonConstBufferDeviceLength(), s.NonConstBufferDevice, func(x *program.NonConstBufferDevice, _ int) (BufferDevice, error) {
		return BufferDevice{Buffer: x.BufferIdx(), DeviceType: x.DeviceType(), DeviceIndex: x.DeviceIndex()}, nil
	})
	return p, err
}

func (d *decoder) delegate(s *program.BackendDelegate, root *program.Program, path string) (Delegate, error) {
	d.need(s.Table(), 0, "%s.id", path)
	d.need(s.Table(), 1, "%s.processed", path)
	v := Delegate{ID: d.string(s.Id()), Processed: ir.Bytes(nil), Inline: true}
	v.Specs, _ = each(s.CompileSpecsLength(), s.CompileSpecs, func(x *program.CompileSpec, i int) (CompileSpec, error) {
		d.need(x.Table(), 0, "%s.compile_specs[%d].key", path, i)
		d.need(x.Table(), 1, "%s.compile_specs[%d].value", path, i)
		return CompileSpec{Key: d.string(x.Key()), Value: append([]byte(nil), x.ValueBytes()...)}, nil
	})
	ref := s.Processed(nil)
	if ref == nil {
		return v, nil
	}
	index := int64(ref.Index())
	switch ref.Location() {
	case 0:
		var x program.BackendDelegateInlineData
		if index >= int64(root.BackendDelegateDataLength()) {
			return v, fmt.Errorf("backend_delegate_data %d of %d", index, root.BackendDelegateDataLength())
		}
		root.BackendDelegateData(&x, int(index))
		v.Processed = d.inline(x.Table())
	case 1:
		if index >= int64(len(d.segments)) {
			return v, fmt.Errorf("segment %d of %d", index, len(d.segments))
		}
		v.Inline, v.Processed = false, d.segments[index]
	default:
		return v, fmt.Errorf("unknown data location %d", ref.Location())
	}
	return v, nil
}

func (d *decoder) chain(s *program.Chain, path string) (*Chain, error) {
	d.need(s.Table(), 2, "%s.instructions", path)
	c := &Chain{Inputs: list(s.InputsLength(), s.Inputs), Outputs: list(s.OutputsLength(), s.Outputs)}
	var err error
	c.Instructions, err = each(s.InstructionsLength(), s.Instructions, func(x *program.Instruction, i int) (Instruction, error) {
		v, err := d.instruction(x, func() string { return fmt.Sprintf("%s.instructions[%d]", path, i) })
		if err != nil {
			return nil, fmt.Errorf("instructions[%d]: %w", i, err)
		}
		return v, nil
	})
	if err != nil {
		return nil, err
	}
	c.Stacktrace, _ = each(s.StacktraceLength(), s.Stacktrace, func(x *program.FrameList, _ int) ([]Frame, error) {
		return each(x.ItemsLength(), x.Items, func(y *program.Frame, _ int) (Frame, error) {
			return Frame{Filename: d.string(y.Filename()), Line: y.Lineno(), Name: d.string(y.Name()), Context: d.string(y.Context())}, nil
		})
	})
	return c, nil
}

func (d *decoder) instruction(s *program.Instruction, path func() string) (Instruction, error) {
	var tab flatbuffers.Table
	if !s.InstrArgs(&tab) {
		return nil, fmt.Errorf("an instruction without arguments")
	}
	switch s.InstrArgsType() {
	case program.InstructionArgumentsKernelCall:
		var x program.KernelCall
		x.Init(tab.Bytes, tab.Pos)
		d.need(tab, 1, "%s.args", lazy(path))
		return KernelCall{Op: x.OpIndex(), Args: list(x.ArgsLength(), x.Args)}, nil
	case program.InstructionArgumentsDelegateCall:
		var x program.DelegateCall
		x.Init(tab.Bytes, tab.Pos)
		d.need(tab, 1, "%s.args", lazy(path))
		return DelegateCall{Delegate: x.DelegateIndex(), Args: list(x.ArgsLength(), x.Args)}, nil
	case program.InstructionArgumentsMoveCall:
		var x program.MoveCall
		x.Init(tab.Bytes, tab.Pos)
		return MoveCall{From: x.MoveFrom(), To: x.MoveTo()}, nil
	case program.InstructionArgumentsJumpFalseCall:
		var x program.JumpFalseCall
		x.Init(tab.Bytes, tab.Pos)
		return JumpFalseCall{Cond: x.CondValueIndex(), Destination: x.DestinationInstruction()}, nil
	default: // a type that the schema's check let through
		var x program.FreeCall
		x.Init(tab.Bytes, tab.Pos)
		return FreeCall{Value: x.ValueIndex()}, nil
	}
}

// lazy makes a Stringer of a path, so that only paths of absent fields are made.
type lazy func() string

func (l lazy) String() string { return l() }
