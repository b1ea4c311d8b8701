package etdump

import (
	_ "embed"
	"encoding/binary"
	"math"
	"sync"

	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte/flat"
)

//go:embed etdump.fbs
var schemaText string

// schema is that of the flatbuffer, which is aligned with its size before it.
var schema = sync.OnceValue(func() *flat.Schema {
	s := flat.Once(&schemaText)()
	s.Prefix = prefix
	return s
})

// prefix is the size of the flatbuffer's size.
const prefix = 4

// Is reports whether a file begins as an ETDump does.
func Is(file []byte) bool {
	at := prefix + 4 // behind the place of the root
	return len(file) >= at+4 && string(file[at:at+4]) == schema().Identifier
}

// Read reads a file. What it allocates is bounded by the file's size. The error says where the file
// is wrong.
func Read(file []byte) (_ *Dump, err error) {
	defer must.Catch(&err)
	return must.At(func() *Dump { return read(file) }, "ETDump"), nil
}

func read(file []byte) *Dump {
	if len(file) < prefix {
		must.Fail("%d bytes", len(file))
	}
	size := uint64(binary.LittleEndian.Uint32(file))
	buffer := file[prefix:]
	if size > uint64(len(buffer)) {
		must.Fail("a flatbuffer of %d bytes in %d", size, len(buffer))
	}
	buffer = buffer[:size]
	must.Check(schema().Check(buffer))
	root := schema().Root(buffer)
	return &Dump{Version: uint32(root.Number("version")), Runs: flat.Each(root, "run_data", run)}
}

func run(t flat.Table) Run {
	return Run{Name: string(t.Bytes("name")), Input: int32(t.Number("bundled_input_index")),
		Allocators: flat.Each(t, "allocators",
			func(t flat.Table) string { return string(t.Bytes("name")) }),
		Events: flat.Each(t, "events", event)}
}

func event(t flat.Table) Event {
	var found []Event
	if p, ok := t.Sub("profile_event"); ok {
		found = append(found, &Profile{Name: string(p.Bytes("name")),
			Origin:   origin(p, int64(int32(p.Number("chain_index")))),
			Metadata: append([]byte(nil), p.Bytes("delegate_debug_metadata")...),
			Start:    p.Number("start_time"), End: p.Number("end_time")})
	}
	if a, ok := t.Sub("allocation_event"); ok {
		found = append(found, &Allocation{int32(a.Number("allocator_id")), a.Number("allocation_size")})
	}
	if d, ok := t.Sub("debug_event"); ok {
		e := &Debug{Name: string(d.Bytes("name")), Origin: origin(d, int64(d.Number("chain_index"))),
			Value: Null{}}
		if v, ok := d.Sub("debug_entry"); ok {
			e.Value = value(v)
			if o, ok := v.Sub("output"); ok {
				e.Output = o.Number("bool_val") != 0
			}
		}
		found = append(found, e)
	}
	if len(found) != 1 {
		must.Fail("%d kinds of event in one", len(found))
	}
	return found[0]
}

func origin(t flat.Table, chain int64) Origin {
	return Origin{Chain: chain, Instruction: int32(t.Number("instruction_id")),
		Delegate:   int32(t.Number("delegate_debug_id_int")),
		DelegateID: string(t.Bytes("delegate_debug_id_str"))}
}

func value(t flat.Table) Value {
	kind := t.Number("val")
	part := func(name string) flat.Table {
		x, ok := t.Sub(name)
		if !ok {
			must.Fail("a value of kind %d without %s", kind, name)
		}
		return x
	}
	switch kind {
	case nullValue:
		return Null{}
	case intValue:
		return Int(part("int_value").Number("int_val"))
	case boolValue:
		return Bool(part("bool_value").Number("bool_val") != 0)
	case floatValue:
		return Float(math.Float32frombits(uint32(part("float_value").Number("float_val"))))
	case doubleValue:
		return Double(math.Float64frombits(part("double_value").Number("double_val")))
	case tensorValue:
		return tensor(part("tensor"))
	case listValue:
		return TensorList(flat.Each(part("tensor_list"), "tensors", tensor))
	}
	must.Fail("a value of kind %d", kind)
	return nil
}

func tensor(t flat.Table) *Tensor {
	return &Tensor{ScalarType: int8(t.Number("scalar_type")), Sizes: flat.List[int64](t, "sizes"),
		Strides: flat.List[int64](t, "strides"), Offset: int64(t.Number("offset"))}
}
