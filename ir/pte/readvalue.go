package pte

import (
	"fmt"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/etgen/etgen/ir/pte/fb/program"
)

func (d *decoder) value(s *program.EValue, at path) (EValue, error) {
	var tab flatbuffers.Table
	if !s.Val(&tab) {
		if s.ValType() == program.KernelTypesNull { // it has no contents to be absent
			return Null{}, nil
		}
		return nil, fmt.Errorf("%v: a value without contents", at)
	}
	switch s.ValType() {
	case program.KernelTypesNull:
		return Null{}, nil
	case program.KernelTypesInt:
		var x program.Int
		x.Init(tab.Bytes, tab.Pos)
		return Int(x.IntVal()), nil
	case program.KernelTypesBool:
		var x program.Bool
		x.Init(tab.Bytes, tab.Pos)
		return Bool(x.BoolVal()), nil
	case program.KernelTypesDouble:
		var x program.Double
		x.Init(tab.Bytes, tab.Pos)
		return Double(x.DoubleVal()), nil
	case program.KernelTypesString:
		var x program.String
		x.Init(tab.Bytes, tab.Pos)
		d.need(tab, 0, at, "string_val")
		return String(d.string(x.StringVal())), nil
	case program.KernelTypesTensor:
		var x program.Tensor
		x.Init(tab.Bytes, tab.Pos)
		d.need(tab, 2, at, "sizes")
		d.need(tab, 3, at, "dim_order")
		return d.tensor(&x, at)
	}
	d.need(tab, 0, at, "items")
	switch s.ValType() {
	case program.KernelTypesIntList:
		var x program.IntList
		x.Init(tab.Bytes, tab.Pos)
		return IntList(list(x.ItemsLength(), x.Items)), nil
	case program.KernelTypesDoubleList:
		var x program.DoubleList
		x.Init(tab.Bytes, tab.Pos)
		return DoubleList(list(x.ItemsLength(), x.Items)), nil
	case program.KernelTypesBoolList:
		var x program.BoolList
		x.Init(tab.Bytes, tab.Pos)
		return BoolList(list(x.ItemsLength(), x.Items)), nil
	case program.KernelTypesTensorList:
		var x program.TensorList
		x.Init(tab.Bytes, tab.Pos)
		return TensorList(list(x.ItemsLength(), x.Items)), nil
	default: // a type that the schema's check let through
		var x program.OptionalTensorList
		x.Init(tab.Bytes, tab.Pos)
		return OptionalTensorList(list(x.ItemsLength(), x.Items)), nil
	}
}

func (d *decoder) tensor(s *program.Tensor, at path) (EValue, error) {
	t := &Tensor{
		ScalarType:    ScalarType(s.ScalarType()),
		StorageOffset: s.StorageOffset(),
		Sizes:         list(s.SizesLength(), s.Sizes),
		DimOrder:      append([]uint8(nil), s.DimOrderBytes()...),
		RequiresGrad:  s.RequiresGrad(),
		DataIndex:     s.DataBufferIdx(),
		Layout:        s.Layout(),
		Dynamism:      Dynamism(s.ShapeDynamism()),
	}
	if a := s.AllocationInfo(nil); a != nil {
		t.Allocation = &Allocation{MemoryID: a.MemoryId(),
			Offset: uint64(a.MemoryOffsetHigh())<<32 | uint64(a.MemoryOffsetLow())}
	}
	if e := s.ExtraTensorInfo(nil); e != nil {
		if loc := e.Location(); loc != 0 && loc != 1 {
			return nil, fmt.Errorf("%v: data at the unknown location %d", at, loc)
		}
		t.ExtraInfo = &ExtraTensorInfo{
			MutableSegment: e.MutableDataSegmentsIdx(),
			Name:           d.string(e.FullyQualifiedName()),
			External:       e.Location() == 1,
			DeviceType:     e.DeviceType(),
			DeviceIndex:    e.DeviceIndex(),
		}
	}
	return t, nil
}
