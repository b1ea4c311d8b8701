package etdump

import (
	"fmt"
	"io"

	"github.com/etgen/etgen/ir/etdump"
	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/rt"
)

// alignment is that of tensors in the debug buffer.
const alignment = 64

// KeepValues has the recorder note what instructions write, too, in a debug buffer of at most so
// many bytes, of methods that are loaded later. What finds no room in it is an error of WriteTo. Of
// delegates' own events those are noted then that have values, without times.
func (r *Recorder) KeepValues(limit int64) { r.limit = limit }

// ReadsValues implements [rt.ValueTracer].
func (r *Recorder) ReadsValues() bool { return r.limit > 0 }

// Outputs notes what the method gave that Call executed, if values are kept. A nil Recorder notes
// nothing.
func (r *Recorder) Outputs(values []*rt.EValue) {
	if r == nil || len(r.dump.Runs) == 0 {
		return
	}
	r.values(&r.dump.Runs[len(r.dump.Runs)-1], etdump.Origin{Chain: -1, Delegate: -1}, values, true)
}

// values notes values that an event gave.
func (r *Recorder) values(run *etdump.Run, at etdump.Origin, values []*rt.EValue, output bool) {
	if r.limit == 0 {
		return
	}
	for _, v := range values {
		if x := r.value(v); x != nil {
			run.Events = append(run.Events, &etdump.Debug{Origin: at, Value: x, Output: output})
		}
	}
}

// value is v in a dump, nil for what ExecuTorch does not note.
func (r *Recorder) value(v *rt.EValue) etdump.Value {
	switch v.Kind {
	case rt.Int:
		return etdump.Int(v.Int)
	case rt.Bool:
		return etdump.Bool(v.Bool)
	case rt.Double:
		return etdump.Double(v.Double)
	case rt.TensorKind:
		if t := r.tensor(v.Tensor); t != nil {
			return t
		}
	case rt.TensorList:
		list := etdump.TensorList{}
		for _, x := range v.List {
			if x != nil && x.Kind == rt.TensorKind {
				if t := r.tensor(x.Tensor); t != nil {
					list = append(list, t)
				}
			}
		}
		return list
	}
	return nil
}

// tensor puts the elements of t into the debug buffer.
func (r *Recorder) tensor(t *rt.Tensor) *etdump.Tensor {
	kind, ok := pte.ScalarTypeOf(t.DType)
	if !ok || t.Data == nil {
		return nil
	}
	at := (int64(len(r.buffer)) + alignment - 1) / alignment * alignment
	if at+int64(len(t.Data)) > r.limit {
		r.full = fmt.Errorf("the values of a run take more than %d bytes", r.limit)
		return nil
	}
	r.buffer = append(r.buffer, make([]byte, at-int64(len(r.buffer)))...)
	r.buffer = append(r.buffer, t.Data...)
	x := &etdump.Tensor{ScalarType: int8(kind), Sizes: append([]int64(nil), t.Sizes...),
		Strides: make([]int64, len(t.Sizes)), Offset: at}
	stride := int64(1)
	for i := len(t.DimOrder) - 1; i >= 0; i-- {
		x.Strides[t.DimOrder[i]] = stride
		stride *= max(t.Sizes[t.DimOrder[i]], 1)
	}
	return x
}

// WriteBuffer writes the debug buffer, in which offsets of tensors point. The error is that of w.
func (r *Recorder) WriteBuffer(w io.Writer) error {
	_, err := w.Write(r.buffer)
	return err
}
