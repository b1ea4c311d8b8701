package pt2

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
)

// writeTensors writes a dict of tensors as torch.save does: a pickle, and a member for each
// storage.
func writeTensors(w io.Writer, list []savedValue) (err error) {
	defer must.Catch(&err)
	z := zip.NewWriter(w)
	member := func(name string, data []byte) {
		to := must.Get(z.CreateHeader(&zip.FileHeader{Name: "archive/" + name, Method: zip.Store}))
		must.Get(to.Write(data))
	}
	var p pickler
	p.WriteString("\x80\x02}") // protocol 2, an empty dict
	for i, v := range list {
		p.text(v.name)
		if v.parameter {
			p.call(globalParameter, func() {
				p.tensor(v.data.Type, i)
				p.WriteString("\x89") // needs no gradient
				p.call(globalOrderedDict, func() {})
			})
		} else {
			p.tensor(v.data.Type, i)
		}
		p.WriteString("s")
	}
	p.WriteString(".")
	member("data.pkl", p.Bytes())
	member("byteorder", []byte("little"))
	for i, v := range list {
		member(fmt.Sprintf("data/%d", i), must.Get(ir.Tensor(v.data)))
	}
	member("version", []byte("3\n"))
	return z.Close()
}

// pickler writes the instructions of a pickle.
type pickler struct{ bytes.Buffer }

func (p *pickler) text(s string) {
	p.WriteString("X")
	p.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(s))))
	p.WriteString(s)
}

func (p *pickler) int(n int64) {
	if n == int64(int32(n)) {
		p.WriteString("J")
		p.Write(binary.LittleEndian.AppendUint32(nil, uint32(n)))
		return
	}
	p.WriteString("\x8a\x08")
	p.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
}

func (p *pickler) tuple(elements func()) {
	p.WriteString("(")
	elements()
	p.WriteString("t")
}

// global pushes what g, "module name", is.
func (p *pickler) global(g pickleGlobal) {
	module, name, _ := bytes.Cut([]byte(g), []byte(" "))
	fmt.Fprintf(p, "c%s\n%s\n", module, name)
}

func (p *pickler) call(g pickleGlobal, args func()) {
	p.global(g)
	p.tuple(args)
	p.WriteString("R")
}

// tensor pushes a dense tensor of type t, whose elements are the storage of a number.
func (p *pickler) tensor(t ir.Type, storage int) {
	of, rebuild := pickleGlobal("torch.storage UntypedStorage"), pickleGlobal(globalTensorV3)
	elements := int64(t.DType.Size())
	for g, d := range storageTypes {
		if d == t.DType {
			of, rebuild, elements = g, globalTensorV2, 1
		}
	}
	sizes, _ := t.StaticSizes()
	strides := make([]int64, len(sizes))
	for i, s := range ir.Contiguous(ir.Ints(sizes)) {
		strides[i], _ = s.Const()
	}
	for _, n := range sizes {
		elements *= n
	}
	p.call(rebuild, func() {
		p.tuple(func() {
			p.text("storage")
			p.global(of)
			p.text(fmt.Sprint(storage))
			p.text("cpu")
			p.int(elements)
		})
		p.WriteString("Q") // what has that persistent id
		p.int(0)
		for _, list := range [][]int64{sizes, strides} {
			p.tuple(func() {
				for _, n := range list {
					p.int(n)
				}
			})
		}
		p.WriteString("\x89")
		p.call(globalOrderedDict, func() {})
		if rebuild == globalTensorV3 {
			p.global(pickleGlobal("torch " + t.DType.String()))
		}
	})
}
