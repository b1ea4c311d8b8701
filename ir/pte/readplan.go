package pte

import (
	"fmt"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/pte/fb/program"
)

// plan reads the method at a place.
func (d *decoder) plan(s *program.ExecutionPlan, root *program.Program,
	at path) (*ExecutionPlan, error) {
	for _, f := range []struct {
		id   int
		name string
	}{{0, "name"}, {2, "values"}, {3, "inputs"}, {4, "outputs"}, {5, "chains"}, {6, "operators"},
		{7, "delegates"}, {8, "non_const_buffer_sizes"}} {
		d.need(s.Table(), f.id, at, f.name)
	}
	p := &ExecutionPlan{
		Name:        d.string(s.Name()),
		Inputs:      list(s.InputsLength(), s.Inputs),
		Outputs:     list(s.OutputsLength(), s.Outputs),
		BufferSizes: list(s.NonConstBufferSizesLength(), s.NonConstBufferSizes),
	}
	if c := s.ContainerMetaType(nil); c != nil {
		p.Container = &ContainerMeta{Input: d.string(c.EncodedInpStr()),
			Output: d.string(c.EncodedOutStr())}
	}
	var err error
	p.Values, err = each(s.ValuesLength(), s.Values, func(x *program.EValue,
		i int) (EValue, error) {
		return d.value(x, path{&at, "values", i})
	})
	if err != nil {
		return nil, err
	}
	p.Chains, err = each(s.ChainsLength(), s.Chains, func(x *program.Chain, i int) (*Chain, error) {
		return d.chain(x, path{&at, "chains", i})
	})
	if err != nil {
		return nil, err
	}
	p.Operators, _ = each(s.OperatorsLength(), s.Operators, func(x *program.Operator,
		i int) (Operator, error) {
		d.need(x.Table(), 0, path{&at, "operators", i}, "name")
		return Operator{Name: d.string(x.Name()), Overload: d.string(x.Overload())}, nil
	})
	p.Delegates, err = each(s.DelegatesLength(), s.Delegates, func(x *program.BackendDelegate,
		i int) (Delegate, error) {
		return d.delegate(x, root, path{&at, "delegates", i})
	})
	p.BufferDevices, _ = each(s.NonConstBufferDeviceLength(), s.NonConstBufferDevice,
		func(x *program.NonConstBufferDevice, _ int) (BufferDevice, error) {
			return BufferDevice{Buffer: x.BufferIdx(), DeviceType: x.DeviceType(),
				DeviceIndex: x.DeviceIndex()}, nil
		})
	return p, err
}

func (d *decoder) delegate(s *program.BackendDelegate, root *program.Program,
	at path) (Delegate, error) {
	d.need(s.Table(), 0, at, "id")
	d.need(s.Table(), 1, at, "processed")
	v := Delegate{ID: d.string(s.Id()), Processed: ir.Bytes(nil), Inline: true}
	v.Specs, _ = each(s.CompileSpecsLength(), s.CompileSpecs, func(x *program.CompileSpec,
		i int) (CompileSpec, error) {
		d.need(x.Table(), 0, path{&at, "compile_specs", i}, "key")
		d.need(x.Table(), 1, path{&at, "compile_specs", i}, "value")
		return CompileSpec{Key: d.string(x.Key()), Value: append([]byte(nil), x.ValueBytes()...)},
			nil
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
			return v, fmt.Errorf("%v: backend_delegate_data %d of %d", at, index,
				root.BackendDelegateDataLength())
		}
		root.BackendDelegateData(&x, int(index))
		v.Processed = d.inline(x.Table(), 0)
	case 1:
		if index >= int64(len(d.segments)) {
			return v, fmt.Errorf("%v: segment %d of %d", at, index, len(d.segments))
		}
		v.Inline, v.Processed = false, d.segments[index]
	default:
		return v, fmt.Errorf("%v: unknown data location %d", at, ref.Location())
	}
	return v, nil
}

func (d *decoder) chain(s *program.Chain, at path) (*Chain, error) {
	d.need(s.Table(), 2, at, "instructions")
	c := &Chain{Inputs: list(s.InputsLength(), s.Inputs), Outputs: list(s.OutputsLength(),
		s.Outputs)}
	var err error
	c.Instructions, err = each(s.InstructionsLength(), s.Instructions, func(x *program.Instruction,
		i int) (Instruction, error) {
		return d.instruction(x, path{&at, "instructions", i})
	})
	if err != nil {
		return nil, err
	}
	c.Stacktrace, _ = each(s.StacktraceLength(), s.Stacktrace, d.frameList)
	return c, nil
}

func (d *decoder) frameList(s *program.FrameList, _ int) ([]Frame, error) {
	pos := s.Table().Pos
	frames, ok := d.frames[pos]
	if !ok {
		frames, _ = each(s.ItemsLength(), s.Items, func(x *program.Frame, _ int) (Frame, error) {
			return Frame{Filename: d.string(x.Filename()), Line: x.Lineno(),
				Name: d.string(x.Name()), Context: d.string(x.Context())}, nil
		})
		d.frames[pos] = frames
	}
	return frames, nil
}

func (d *decoder) instruction(s *program.Instruction, at path) (Instruction, error) {
	var tab flatbuffers.Table
	if !s.InstrArgs(&tab) {
		return nil, fmt.Errorf("%v: an instruction without arguments", at)
	}
	switch s.InstrArgsType() {
	case program.InstructionArgumentsKernelCall:
		var x program.KernelCall
		x.Init(tab.Bytes, tab.Pos)
		d.need(tab, 1, at, "args")
		return KernelCall{Op: x.OpIndex(), Args: list(x.ArgsLength(), x.Args)}, nil
	case program.InstructionArgumentsDelegateCall:
		var x program.DelegateCall
		x.Init(tab.Bytes, tab.Pos)
		d.need(tab, 1, at, "args")
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
