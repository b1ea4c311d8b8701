package pte

import (
	"fmt"

	"github.com/etgen/etgen/ir/pte/fb/program"
)

func (e *encoder) plan(p *ExecutionPlan, d *fileData) (offset, error) {
	values, err := e.refsOf(len(p.Values), func(i int) (offset, error) {
		at, err := e.value(p.Values[i])
		if err != nil {
			return 0, fmt.Errorf("value %d: %w", i, err)
		}
		return at, nil
	})
	if err != nil {
		return 0, err
	}
	chains, err := e.refsOf(len(p.Chains), func(i int) (offset, error) {
		at, err := e.chain(p.Chains[i])
		if err != nil {
			return 0, fmt.Errorf("chain %d: %w", i, err)
		}
		return at, nil
	})
	if err != nil {
		return 0, err
	}
	operators, _ := e.refsOf(len(p.Operators), func(i int) (offset, error) {
		// An overload is written even where there is none: runtimes print it
		// without looking when a call fails.
		name, overload := e.text(p.Operators[i].Name), e.text(p.Operators[i].Overload)
		return e.share("Operator", []uint64{uint64(name), uint64(overload)}, func() offset {
			program.OperatorStart(e.Builder)
			program.OperatorAddName(e.Builder, name)
			program.OperatorAddOverload(e.Builder, overload)
			return program.OperatorEnd(e.Builder)
		}), nil
	})
	delegates, _ := e.refsOf(len(p.Delegates), func(i int) (offset, error) {
		return e.delegate(&p.Delegates[i], d.delegates[&p.Delegates[i]]), nil
	})
	devices := offset(0)
	if len(p.BufferDevices) > 0 {
		devices, _ = e.refsOf(len(p.BufferDevices), func(i int) (offset, error) {
			program.NonConstBufferDeviceStart(e.Builder)
			program.NonConstBufferDeviceAddBufferIdx(e.Builder, p.BufferDevices[i].Buffer)
			program.NonConstBufferDeviceAddDeviceType(e.Builder, p.BufferDevices[i].DeviceType)
			program.NonConstBufferDeviceAddDeviceIndex(e.Builder, p.BufferDevices[i].DeviceIndex)
			return program.NonConstBufferDeviceEnd(e.Builder), nil
		})
	}
	container := offset(0)
	if p.Container != nil {
		in, out := e.optional(p.Container.Input), e.optional(p.Container.Output)
		program.ContainerMetadataStart(e.Builder)
		program.ContainerMetadataAddEncodedInpStr(e.Builder, in)
		program.ContainerMetadataAddEncodedOutStr(e.Builder, out)
		container = program.ContainerMetadataEnd(e.Builder)
	}
	name, inputs, outputs, sizes := e.text(p.Name), e.int32s(p.Inputs), e.int32s(p.Outputs),
		e.int64s(p.BufferSizes)
	program.ExecutionPlanStart(e.Builder)
	program.ExecutionPlanAddName(e.Builder, name)
	program.ExecutionPlanAddContainerMetaType(e.Builder, container)
	program.ExecutionPlanAddValues(e.Builder, values)
	program.ExecutionPlanAddInputs(e.Builder, inputs)
	program.ExecutionPlanAddOutputs(e.Builder, outputs)
	program.ExecutionPlanAddChains(e.Builder, chains)
	program.ExecutionPlanAddOperators(e.Builder, operators)
	program.ExecutionPlanAddDelegates(e.Builder, delegates)
	program.ExecutionPlanAddNonConstBufferSizes(e.Builder, sizes)
	program.ExecutionPlanAddNonConstBufferDevice(e.Builder, devices)
	return program.ExecutionPlanEnd(e.Builder), nil
}

func (e *encoder) delegate(v *Delegate, index int) offset {
	specs := offset(0)
	if len(v.Specs) > 0 {
		specs, _ = e.refsOf(len(v.Specs), func(i int) (offset, error) {
			key, value := e.text(v.Specs[i].Key), e.bytes(v.Specs[i].Value)
			program.CompileSpecStart(e.Builder)
			program.CompileSpecAddKey(e.Builder, key)
			program.CompileSpecAddValue(e.Builder, value)
			return program.CompileSpecEnd(e.Builder), nil
		})
	}
	location := int8(1)
	if v.Inline {
		location = 0
	}
	program.BackendDelegateDataReferenceStart(e.Builder)
	program.BackendDelegateDataReferenceAddIndex(e.Builder, uint32(index))
	program.BackendDelegateDataReferenceAddLocation(e.Builder, location)
	processed := program.BackendDelegateDataReferenceEnd(e.Builder)
	id := e.text(v.ID)
	program.BackendDelegateStart(e.Builder)
	program.BackendDelegateAddId(e.Builder, id)
	program.BackendDelegateAddProcessed(e.Builder, processed)
	program.BackendDelegateAddCompileSpecs(e.Builder, specs)
	return program.BackendDelegateEnd(e.Builder)
}

func (e *encoder) chain(c *Chain) (offset, error) {
	if c == nil {
		return 0, fmt.Errorf("it is nil")
	}
	instructions, err := e.refsOf(len(c.Instructions), func(i int) (offset, error) {
		at, err := e.instruction(c.Instructions[i])
		if err != nil {
			return 0, fmt.Errorf("instruction %d: %w", i, err)
		}
		return at, nil
	})
	if err != nil {
		return 0, err
	}
	stacktrace, inputs, outputs := offset(0), offset(0), offset(0)
	if len(c.Stacktrace) > 0 {
		stacktrace, _ = e.refsOf(len(c.Stacktrace), func(i int) (offset, error) {
			return e.frames(c.Stacktrace[i]), nil
		})
	}
	if len(c.Inputs) > 0 {
		inputs = e.int32s(c.Inputs)
	}
	if len(c.Outputs) > 0 {
		outputs = e.int32s(c.Outputs)
	}
	program.ChainStart(e.Builder)
	program.ChainAddInputs(e.Builder, inputs)
	program.ChainAddOutputs(e.Builder, outputs)
	program.ChainAddInstructions(e.Builder, instructions)
	program.ChainAddStacktrace(e.Builder, stacktrace)
	return program.ChainEnd(e.Builder), nil
}

// frames writes a list of frames; lists of equal frames are one.
func (e *encoder) frames(frames []Frame) offset {
	refs, contents := make([]offset, len(frames)), make([]uint64, len(frames))
	for i, f := range frames {
		file, name, context := e.optional(f.Filename), e.optional(f.Name), e.optional(f.Context)
		refs[i] = e.share("Frame", []uint64{uint64(file), uint64(uint32(f.Line)), uint64(name),
			uint64(context)}, func() offset {
			program.FrameStart(e.Builder)
			program.FrameAddFilename(e.Builder, file)
			program.FrameAddLineno(e.Builder, f.Line)
			program.FrameAddName(e.Builder, name)
			program.FrameAddContext(e.Builder, context)
			return program.FrameEnd(e.Builder)
		})
		contents[i] = uint64(refs[i])
	}
	return e.share("FrameList", contents, func() offset {
		items := e.refs(refs)
		program.FrameListStart(e.Builder)
		program.FrameListAddItems(e.Builder, items)
		return program.FrameListEnd(e.Builder)
	})
}

// instruction writes an instruction. Its arguments may be shared, itself it is
// not: a file is larger than its instructions are many.
func (e *encoder) instruction(i Instruction) (offset, error) {
	var kind program.InstructionArguments
	var args offset
	switch i := i.(type) {
	case KernelCall:
		kind = program.InstructionArgumentsKernelCall
		list := e.int32s(i.Args)
		program.KernelCallStart(e.Builder)
		program.KernelCallAddOpIndex(e.Builder, i.Op)
		program.KernelCallAddArgs(e.Builder, list)
		args = program.KernelCallEnd(e.Builder)
	case DelegateCall:
		kind = program.InstructionArgumentsDelegateCall
		list := e.int32s(i.Args)
		program.DelegateCallStart(e.Builder)
		program.DelegateCallAddDelegateIndex(e.Builder, i.Delegate)
		program.DelegateCallAddArgs(e.Builder, list)
		args = program.DelegateCallEnd(e.Builder)
	case MoveCall:
		kind = program.InstructionArgumentsMoveCall
		program.MoveCallStart(e.Builder)
		program.MoveCallAddMoveFrom(e.Builder, i.From)
		program.MoveCallAddMoveTo(e.Builder, i.To)
		args = program.MoveCallEnd(e.Builder)
	case JumpFalseCall:
		kind = program.InstructionArgumentsJumpFalseCall
		program.JumpFalseCallStart(e.Builder)
		program.JumpFalseCallAddCondValueIndex(e.Builder, i.Cond)
		program.JumpFalseCallAddDestinationInstruction(e.Builder, i.Destination)
		args = program.JumpFalseCallEnd(e.Builder)
	case FreeCall:
		kind = program.InstructionArgumentsFreeCall
		program.FreeCallStart(e.Builder)
		program.FreeCallAddValueIndex(e.Builder, i.Value)
		args = program.FreeCallEnd(e.Builder)
	default:
		return 0, fmt.Errorf("no kind of instruction: %T", i)
	}
	program.InstructionStart(e.Builder)
	program.InstructionAddInstrArgs(e.Builder, args)
	program.InstructionAddInstrArgsType(e.Builder, kind)
	return program.InstructionEnd(e.Builder), nil
}
