package pte

import (
	"fmt"
	"math"

	"github.com/etgen/etgen/ir/pte/fb/program"
)

// value writes an entry of a value table; equal ones are one.
func (e *encoder) value(v EValue) (offset, error) {
	switch v := v.(type) {
	case Null:
		return e.evalue(program.KernelTypesNull, "Null", nil, func() offset {
			program.NullStart(e.Builder)
			return program.NullEnd(e.Builder)
		}), nil
	case Int:
		return e.evalue(program.KernelTypesInt, "Int", []uint64{uint64(v)}, func() offset {
			program.IntStart(e.Builder)
			program.IntAddIntVal(e.Builder, int64(v))
			return program.IntEnd(e.Builder)
		}), nil
	case Bool:
		bit := uint64(0)
		if v {
			bit = 1
		}
		return e.evalue(program.KernelTypesBool, "Bool", []uint64{bit}, func() offset {
			program.BoolStart(e.Builder)
			program.BoolAddBoolVal(e.Builder, bool(v))
			return program.BoolEnd(e.Builder)
		}), nil
	case Double:
		return e.evalue(program.KernelTypesDouble, "Double", []uint64{math.Float64bits(float64(v))},
			func() offset {
				program.DoubleStart(e.Builder)
				// -0 equals the default, and is another number
				if math.Float64bits(float64(v)) != 0 {
					e.PrependFloat64(float64(v))
					e.Slot(0)
				}
				return program.DoubleEnd(e.Builder)
			}), nil
	case String:
		text := e.text(string(v))
		return e.evalue(program.KernelTypesString, "String", []uint64{uint64(text)}, func() offset {
			program.StringStart(e.Builder)
			program.StringAddStringVal(e.Builder, text)
			return program.StringEnd(e.Builder)
		}), nil
	case *Tensor:
		if v == nil {
			break
		}
		return e.tensor(v), nil
	case IntList:
		return e.listValue(program.KernelTypesIntList, "IntList", e.int64s(v)), nil
	case DoubleList:
		items := e.vector(8, len(v), func(i int) uint64 { return math.Float64bits(v[i]) },
			func(i int) { e.PrependFloat64(v[i]) })
		return e.listValue(program.KernelTypesDoubleList, "DoubleList", items), nil
	case BoolList:
		bytes := make([]byte, len(v))
		for i, b := range v {
			if b {
				bytes[i] = 1
			}
		}
		return e.listValue(program.KernelTypesBoolList, "BoolList", e.bytes(bytes)), nil
	case TensorList:
		return e.listValue(program.KernelTypesTensorList, "TensorList", e.int32s(v)), nil
	case OptionalTensorList:
		return e.listValue(program.KernelTypesOptionalTensorList, "OptionalTensorList",
			e.int32s(v)), nil
	}
	return 0, fmt.Errorf("no kind of value: %T", v)
}

// evalue writes a value's table and the table of its contents.
func (e *encoder) evalue(kind program.KernelTypes, name string, contents []uint64,
	write func() offset) offset {
	val := e.share(name, contents, write)
	return e.share("EValue", []uint64{uint64(kind), uint64(val)}, func() offset {
		program.EValueStart(e.Builder)
		program.EValueAddVal(e.Builder, val)
		program.EValueAddValType(e.Builder, kind)
		return program.EValueEnd(e.Builder)
	})
}

// listValue writes a list. All lists are tables of one vector and may
// be the same table; long ones have a vector of their own, see maxShared.
func (e *encoder) listValue(kind program.KernelTypes, name string, items offset) offset {
	return e.evalue(kind, name, []uint64{uint64(items)}, func() offset {
		program.IntListStart(e.Builder)
		program.IntListAddItems(e.Builder, items)
		return program.IntListEnd(e.Builder)
	})
}

func (e *encoder) tensor(t *Tensor) offset {
	sizes, order := e.int32s(t.Sizes), e.bytes(t.DimOrder)
	allocation, extra := offset(0), offset(0)
	if a := t.Allocation; a != nil {
		allocation = e.share("AllocationDetails", []uint64{uint64(a.MemoryID), a.Offset},
			func() offset {
				program.AllocationDetailsStart(e.Builder)
				program.AllocationDetailsAddMemoryId(e.Builder, a.MemoryID)
				program.AllocationDetailsAddMemoryOffsetLow(e.Builder, uint32(a.Offset))
				program.AllocationDetailsAddMemoryOffsetHigh(e.Builder, uint32(a.Offset>>32))
				return program.AllocationDetailsEnd(e.Builder)
			})
	}
	if x := t.ExtraInfo; x != nil {
		name := e.optional(x.Name)
		location := int8(0)
		if x.External {
			location = 1
		}
		contents := []uint64{x.MutableSegment, uint64(name), uint64(location),
			uint64(uint8(x.DeviceType)), uint64(uint8(x.DeviceIndex))}
		extra = e.share("ExtraTensorInfo", contents, func() offset {
			program.ExtraTensorInfoStart(e.Builder)
			program.ExtraTensorInfoAddMutableDataSegmentsIdx(e.Builder, x.MutableSegment)
			program.ExtraTensorInfoAddFullyQualifiedName(e.Builder, name)
			program.ExtraTensorInfoAddLocation(e.Builder, location)
			program.ExtraTensorInfoAddDeviceType(e.Builder, x.DeviceType)
			program.ExtraTensorInfoAddDeviceIndex(e.Builder, x.DeviceIndex)
			return program.ExtraTensorInfoEnd(e.Builder)
		})
	}
	grad := uint64(0)
	if t.RequiresGrad {
		grad = 1
	}
	contents := []uint64{
		uint64(uint8(t.ScalarType)), uint64(uint32(t.StorageOffset)), uint64(sizes),
		uint64(order), grad,
		uint64(t.DataIndex), uint64(allocation), uint64(uint8(t.Layout)), uint64(uint8(t.Dynamism)),
		uint64(extra),
	}
	return e.evalue(program.KernelTypesTensor, "Tensor", contents, func() offset {
		program.TensorStart(e.Builder)
		// By size, so that nothing is padded in between.
		program.TensorAddSizes(e.Builder, sizes)
		program.TensorAddDimOrder(e.Builder, order)
		program.TensorAddAllocationInfo(e.Builder, allocation)
		program.TensorAddExtraTensorInfo(e.Builder, extra)
		program.TensorAddStorageOffset(e.Builder, t.StorageOffset)
		program.TensorAddDataBufferIdx(e.Builder, t.DataIndex)
		program.TensorAddScalarType(e.Builder, int8(t.ScalarType))
		program.TensorAddRequiresGrad(e.Builder, t.RequiresGrad)
		program.TensorAddLayout(e.Builder, t.Layout)
		program.TensorAddShapeDynamism(e.Builder, int8(t.Dynamism))
		return program.TensorEnd(e.Builder)
	})
}
