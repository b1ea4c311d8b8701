package pte

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
)

// data is what a tensor holds when a program is loaded.
type data struct {
	index uint32 // in Program.Constants or Program.Mutable
	name  string // of external data, which has no index
}

// extra returns what a tensor says of its data besides the index.
func (d *data) extra() *pte.ExtraTensorInfo {
	if d.name == "" {
		return nil
	}
	return &pte.ExtraTensorInfo{Name: d.name, External: true}
}

// pool holds the data of a program. Equal data is there once.
type pool struct {
	external  bool
	constants []ir.Blob
	initials  []ir.Blob
	known     map[string]*data
	outside   map[string]pte.DataEntry
}

func newPool(external bool) *pool {
	return &pool{
		external: external, constants: []ir.Blob{nil}, initials: []ir.Blob{nil},
		known: map[string]*data{}, outside: map[string]pte.DataEntry{},
	}
}

// constant returns the data of c, which is called name in the model ("" for
// what is none of its own).
func (p *pool) constant(c *ir.Constant, name string) *data {
	blob, digest := elements(c)
	if p.external {
		return p.outsideData(c, blob, digest, name)
	}
	return p.add("constant "+digest, &p.constants, blob)
}

// initial returns the data that state begins with.
func (p *pool) initial(c *ir.Constant) *data {
	blob, digest := elements(c)
	return p.add("initial "+digest, &p.initials, blob)
}

func (p *pool) add(key string, list *[]ir.Blob, blob ir.Blob) *data {
	d := p.known[key]
	if d == nil {
		d = &data{index: uint32(len(*list))}
		p.known[key] = d
		*list = append(*list, blob)
	}
	return d
}

// outsideData gives data a name. What has none in the model, and what another
// tensor of that name took, is called after its bytes.
func (p *pool) outsideData(c *ir.Constant, blob ir.Blob, digest, name string) *data {
	t := must.At(func() *tensor { return newTensor(c.Type.Dense()) }, "constant %q", name)
	scalar, ok := pte.ScalarTypeOf(t.typ.DType)
	if !ok {
		panic(fmt.Errorf("constant %q: a .ptd cannot hold tensors of %v", name, t.typ.DType))
	}
	key := fmt.Sprintf("%s %d %v", digest, scalar, t.sizes)
	if d := p.known[key+" "+name]; d != nil {
		return d
	}
	d := &data{name: name}
	if _, taken := p.outside[name]; taken || name == "" {
		d.name = strings.TrimPrefix(fmt.Sprintf("%s.%s", name, digest[:16]), ".")
	}
	p.known[key+" "+name] = d
	p.outside[d.name] = pte.DataEntry{
		Key: d.name, Data: blob, Layout: &pte.TensorLayout{ScalarType: scalar, Sizes: t.sizes,
			DimOrder: t.dimOrder},
	}
	return d
}

// leaveOutside leaves delegates' data out of the program, too.
func (p *pool) leaveOutside(named []ir.NamedData) {
	for _, n := range named {
		if _, taken := p.outside[n.Key]; taken {
			panic(fmt.Errorf("a constant and data of a delegate are both called %s",
				foreign.Message(n.Key)))
		}
		p.outside[n.Key] = pte.DataEntry{Key: n.Key, Data: n.Data}
	}
}

// mutable returns the initial data of state, as a program holds it.
func (p *pool) mutable() [][]ir.Blob {
	if len(p.initials) == 1 {
		return nil
	}
	return [][]ir.Blob{p.initials}
}

// dataFile returns what is outside the program.
func (p *pool) dataFile() *pte.DataFile {
	if !p.external {
		return nil
	}
	f := &pte.DataFile{}
	for _, key := range slices.Sorted(maps.Keys(p.outside)) {
		f.Entries = append(f.Entries, p.outside[key])
	}
	return f
}

// elements returns the elements of c in row-major order, exactly these, and
// their digest. What lies so in its storage is not read into memory.
func elements(c *ir.Constant) (ir.Blob, string) {
	if c.Data == nil {
		panic(fmt.Errorf("constant %q has no data", c.Name))
	}
	var blob ir.Blob
	offset, fixed := c.Type.Offset.Const()
	count, static := c.Type.Numel().Const()
	width := int64(c.Type.DType.Size())
	if fixed && static && c.Type.IsContiguous() && ir.CheckConstant(c) == nil {
		blob = &section{of: c.Data, start: offset * width, size: count * width}
	} else {
		blob = ir.Bytes(must.Get(ir.Tensor(c)))
	}
	digest := must.At(func() string { return digestOf(blob) }, "constant %q", c.Name)
	return blob, digest
}

// digestOf returns the SHA-256 of a blob.
func digestOf(blob ir.Blob) string {
	hash := sha256.New()
	n := blob.Size() // of small blobs the copying takes a small buffer
	must.Get(io.Copy(hash, io.LimitReader(io.NewSectionReader(blob, 0, n), n)))
	return hex.EncodeToString(hash.Sum(nil))
}

// section is a part of a blob.
type section struct {
	of          ir.Blob
	start, size int64
}

// ReadAt implements io.ReaderAt.
func (s *section) ReadAt(p []byte, off int64) (int, error) {
	return io.NewSectionReader(s.of, s.start, s.size).ReadAt(p, off)
}

// Size returns the length in bytes.
func (s *section) Size() int64 { return s.size }
