package pt2

import (
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
)

// storageTypes are the typed storages a pickle may name, with the element type
// of each.
var storageTypes = map[pickleGlobal]ir.DType{
	"torch FloatStorage":           ir.Float32,
	"torch DoubleStorage":          ir.Float64,
	"torch HalfStorage":            ir.Float16,
	"torch BFloat16Storage":        ir.BFloat16,
	"torch LongStorage":            ir.Int64,
	"torch IntStorage":             ir.Int32,
	"torch ShortStorage":           ir.Int16,
	"torch CharStorage":            ir.Int8,
	"torch ByteStorage":            ir.Uint8,
	"torch BoolStorage":            ir.Bool,
	"torch ComplexFloatStorage":    ir.Complex64,
	"torch ComplexDoubleStorage":   ir.Complex128,
	"torch.storage UntypedStorage": ir.InvalidDType,
	"torch UntypedStorage":         ir.InvalidDType,
}

// The functions and types a pickle may call.
const (
	globalOrderedDict    = "collections OrderedDict"
	globalTensorType     = "torch Tensor"
	globalParameterType  = "torch.nn.parameter Parameter"
	globalTensorV2       = "torch._utils _rebuild_tensor_v2"
	globalTensorV3       = "torch._utils _rebuild_tensor_v3"
	globalParameter      = "torch._utils _rebuild_parameter"
	globalParameterState = "torch._utils _rebuild_parameter_with_state"
	globalFromType       = "torch._tensor _rebuild_from_type_v2"
)

func allowed(g pickleGlobal) bool {
	switch g {
	case globalOrderedDict, globalTensorType, globalParameterType, globalTensorV2, globalTensorV3,
		globalParameter, globalParameterState, globalFromType:
		return true
	}
	if _, ok := storageTypes[g]; ok {
		return true
	}
	_, ok := dtypeGlobal(g)
	return ok
}

// dtypeGlobal recognises "torch uint16" and the like.
func dtypeGlobal(g pickleGlobal) (ir.DType, bool) {
	name, ok := strings.CutPrefix(string(g), "torch ")
	if !ok {
		return ir.InvalidDType, false
	}
	d, ok := ir.ParseDType(name)
	return d, ok && d.String() == name
}

// storageOf makes the storage of a persistent id: ("storage", type, key,
// device, number of elements; of bytes if it is untyped).
func storageOf(id any) *savedStorage {
	t, _ := id.(pickleTuple)
	if len(t) < 5 || t[0] != "storage" {
		panic(problem("bad storage"))
	}
	g, ok1 := t[1].(pickleGlobal)
	key, ok2 := t[2].(string)
	n, ok3 := t[4].(int64)
	d, ok4 := storageTypes[g]
	if !ok1 || !ok2 || !ok3 || !ok4 || n < 0 || key == "" || strings.ContainsAny(key, `/\`) {
		panic(problem("bad storage"))
	}
	size := n
	if d != ir.InvalidDType {
		if size = n * int64(d.Size()); size/int64(d.Size()) != n {
			panic(problem("a storage has %d elements", n))
		}
	}
	return &savedStorage{key, d, size}
}

// reduce calls one of the allowed functions.
func reduce(fn, args any) any {
	g, ok1 := fn.(pickleGlobal)
	a, ok2 := args.(pickleTuple)
	if !ok1 || !ok2 {
		panic(problem("it calls what is no function"))
	}
	switch g {
	case globalOrderedDict:
		if len(a) == 0 {
			return &pickleDict{}
		}
	case globalTensorV2:
		return tensorV2(a)
	case globalTensorV3:
		if len(a) >= 7 {
			if dg, ok := a[6].(pickleGlobal); ok {
				if d, ok := dtypeGlobal(dg); ok {
					return rebuildTensor(a, d)
				}
			}
		}
	case globalParameter, globalParameterState:
		if len(a) >= 1 {
			if t, ok := a[0].(*savedTensor); ok {
				return t
			}
		}
	case globalFromType:
		// (function, type, its arguments, state); a plain tensor or parameter
		// keeps its meaning, a subclass may not.
		if len(a) >= 3 && (a[1] == pickleGlobal(globalTensorType) ||
			a[1] == pickleGlobal(globalParameterType)) {
			if inner, _ := a[0].(pickleGlobal); inner != globalFromType {
				return reduce(a[0], a[2])
			}
		}
	}
	panic(problem("bad call of %q", g))
}

func tensorV2(a pickleTuple) any {
	if len(a) > 0 {
		if s, ok := a[0].(*savedStorage); ok && s.dtype != ir.InvalidDType {
			return rebuildTensor(a, s.dtype)
		}
	}
	panic(problem("bad tensor"))
}

// rebuildTensor makes a tensor of (storage, offset, sizes, strides, …).
func rebuildTensor(a pickleTuple, d ir.DType) any {
	if len(a) < 4 {
		panic(problem("bad tensor"))
	}
	s, ok1 := a[0].(*savedStorage)
	offset, ok2 := a[1].(int64)
	sizes, ok3 := intTuple(a[2])
	strides, ok4 := intTuple(a[3])
	if !ok1 || !ok2 || !ok3 || !ok4 {
		panic(problem("bad tensor"))
	}
	typ := savedType(d, sizes, strides, offset)
	return &savedTensor{typ, s}
}

func intTuple(v any) ([]int64, bool) {
	t, ok := v.(pickleTuple)
	if !ok || len(t) > maxRank {
		return nil, false
	}
	out := make([]int64, len(t))
	for i, x := range t {
		if out[i], ok = x.(int64); !ok {
			return nil, false
		}
	}
	return out, true
}

// maxPickle bounds the bytes of a data.pkl, which holds no tensor data.
const maxPickle = 1 << 28

// torchSave is an archive written by torch.save: one folder with data.pkl, the
// storages in data/KEY, and byteorder.
type torchSave struct {
	arch  *archive
	dir   string // ends in "/"
	root  any
	blobs map[string]ir.Blob
}

func openTorchSave(b ir.Blob) *torchSave {
	var a *archive
	within(func() { a = openZip(b, b.Size()) }, "weights written by torch.save")
	t := &torchSave{arch: a, blobs: map[string]ir.Blob{}}
	for _, f := range a.zip.File {
		if dir, ok := strings.CutSuffix(f.Name, "/data.pkl"); ok && !strings.Contains(dir, "/") {
			t.dir = dir + "/"
		}
	}
	if t.dir == "" {
		panic(problem("it was not written by torch.save: it has no data.pkl"))
	}
	if a.exists(t.dir + "byteorder") {
		order := must.Get(a.read(t.dir+"byteorder", 16))
		if s := strings.TrimSpace(string(order)); s != "little" {
			panic(problem("its byte order is %q",
				s).hint("export the model on a little-endian machine"))
		}
	}
	t.root = must.Get(unpickle(must.Get(a.read(t.dir+"data.pkl", maxPickle))))
	return t
}

// tensors returns the tensors of a saved dict by name.
func (t *torchSave) tensors() map[string]*savedTensor {
	m := map[string]*savedTensor{}
	if d, ok := t.root.(*pickleDict); ok {
		for i, k := range d.keys {
			name, ok1 := k.(string)
			x, ok2 := d.values[i].(*savedTensor)
			if ok1 && ok2 {
				m[name] = x
			}
		}
	}
	return m
}

// storage returns the bytes of s; tensors that share it share the Blob.
func (t *torchSave) storage(s *savedStorage) ir.Blob {
	if b := t.blobs[s.key]; b != nil {
		return b
	}
	b := t.arch.blob(t.dir + "data/" + s.key)
	if b.Size() < s.size {
		panic(problem("a storage of %d bytes has only %d in the file", s.size, b.Size()).
			hint("the file is damaged; export the model again"))
	}
	t.blobs[s.key] = b
	return b
}
