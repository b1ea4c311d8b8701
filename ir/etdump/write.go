package etdump

import (
	"fmt"
	"math"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte/flat"
	"github.com/etgen/etgen/ir/seq"
)

// layouts are the tables of a dump, each with its fields in the order in which they are written.
var layouts = flat.Layouts(schema, `
	Tensor sizes strides offset scalar_type
	TensorList tensors
	Int int_val
	Float float_val
	Double double_val
	Bool bool_val
	Value tensor tensor_list int_value float_value double_value bool_value output val
	DebugEvent chain_index debug_entry delegate_debug_id_str name instruction_id
		delegate_debug_id_int
	ProfileEvent start_time end_time name delegate_debug_id_str delegate_debug_metadata chain_index
		instruction_id delegate_debug_id_int
	AllocationEvent allocation_size allocator_id
	Event profile_event allocation_event debug_event
	Allocator name
	RunData name allocators events bundled_input_index
	ETDump run_data version
`)

type offset = flatbuffers.UOffsetT

type encoder struct{ *flat.Encoder }

// Write returns the file of a dump.
func Write(d *Dump) (_ []byte, err error) {
	defer must.Catch(&err)
	e := &encoder{flat.NewEncoder(layouts())}
	runs := make([]offset, len(d.Runs))
	for i := range runs {
		must.Do(func() { runs[i] = e.run(&d.Runs[i]) }, "run %d", i)
	}
	e.FinishSizePrefixedWithFileIdentifier(e.Table("ETDump", uint64(e.CreateVectorOfTables(runs)),
		uint64(d.Version)), []byte(schema().Identifier))
	return e.FinishedBytes(), nil
}

// text writes a string; one that is empty is absent.
func (e *encoder) text(s string) uint64 {
	if s == "" {
		return 0
	}
	return uint64(e.CreateString(s))
}

func (e *encoder) run(r *Run) offset {
	allocators, events := make([]offset, len(r.Allocators)), make([]offset, len(r.Events))
	for i, name := range r.Allocators {
		allocators[i] = e.Table("Allocator", e.text(name))
	}
	for i, x := range r.Events {
		events[i] = e.event(x)
	}
	list := func(offsets []offset) uint64 {
		if len(offsets) == 0 {
			return 0
		}
		return uint64(e.CreateVectorOfTables(offsets))
	}
	return e.Table("RunData", e.text(r.Name), list(allocators), list(events), uint64(uint32(r.Input)))
}

func (e *encoder) event(x Event) offset {
	number := func(n int32) uint64 { return uint64(uint32(n)) }
	switch x := x.(type) {
	case *Profile:
		metadata := uint64(0)
		if len(x.Metadata) > 0 {
			metadata = uint64(e.CreateByteVector(x.Metadata))
		}
		return e.Table("Event", uint64(e.Table("ProfileEvent", x.Start, x.End, e.text(x.Name),
			e.text(x.DelegateID), metadata, number(int32(x.Chain)), number(x.Instruction),
			number(x.Delegate))))
	case *Allocation:
		return e.Table("Event", 0, uint64(e.Table("AllocationEvent", x.Bytes, number(x.Allocator))))
	case *Debug:
		return e.Table("Event", 0, 0, uint64(e.Table("DebugEvent", uint64(x.Chain),
			uint64(e.value(x.Value, x.Output)), e.text(x.DelegateID), e.text(x.Name),
			number(x.Instruction), number(x.Delegate))))
	}
	panic(fmt.Errorf("no kind of event: %T", x))
}

func (e *encoder) value(v Value, output bool) offset {
	var tensors, list, n, f, d, b, out uint64
	kind := uint64(nullValue)
	truth := func(t bool) uint64 {
		if t {
			return uint64(e.Table("Bool", 1))
		}
		return uint64(e.Table("Bool", 0))
	}
	switch v := v.(type) {
	case nil, Null:
	case Int:
		kind, n = intValue, uint64(e.Table("Int", uint64(v)))
	case Bool:
		kind, b = boolValue, truth(bool(v))
	case Float:
		kind, f = floatValue, uint64(e.Table("Float", uint64(math.Float32bits(float32(v)))))
	case Double:
		kind, d = doubleValue, uint64(e.Table("Double", math.Float64bits(float64(v))))
	case *Tensor:
		kind, tensors = tensorValue, uint64(e.tensor(v))
	case TensorList:
		kind = listValue
		all := seq.Map(v, e.tensor)
		list = uint64(e.Table("TensorList", uint64(e.CreateVectorOfTables(all))))
	}
	if output {
		out = truth(true)
	}
	return e.Table("Value", tensors, list, n, f, d, b, out, kind)
}

func (e *encoder) tensor(t *Tensor) offset {
	list := func(v []int64) uint64 {
		return uint64(e.Vector(8, len(v), func(i int) uint64 { return uint64(v[i]) }))
	}
	return e.Table("Tensor", list(t.Sizes), list(t.Strides), uint64(t.Offset),
		uint64(uint8(t.ScalarType)))
}
