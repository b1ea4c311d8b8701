// Package run is the run side of the reference backend: what its payloads are, and a backend for
// package rt that runs them. docs/backends.md goes through it.
package run

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ID is how programs call the backend.
const ID = "ReferenceBackend"

// The operations.
const (
	Add    uint32 = iota // to = a + b, where b may have one element
	Mul                  // to = a · b, where b may have one element
	Linear               // to = a · bᵀ + c, where c may be None
)

// None is an operand that is not there.
const None = ^uint32(0)

// Program is what a delegate does with float32 tensors. These are numbered: first the arguments
// of the call, inputs before outputs, then constants, then temporary ones.
type Program struct {
	Inputs, Outputs, Temporaries uint32
	Constants                    []Constant
	Code                         []Instruction
}

// Constant is a tensor that is there at the beginning: its data is the named data of that key.
type Constant struct {
	Sizes []uint32
	Key   string
}

// Instruction computes tensor To of others.
type Instruction struct{ Op, To, A, B, C uint32 }

// magic is what a payload begins with. Behind it all is in 32 bits, little endian.
const magic = "REF1"

// Encode returns the payload of a program.
func (p *Program) Encode() []byte {
	out := []byte(magic)
	put := func(all ...uint32) {
		for _, x := range all {
			out = binary.LittleEndian.AppendUint32(out, x)
		}
	}
	put(p.Inputs, p.Outputs, p.Temporaries, uint32(len(p.Constants)), uint32(len(p.Code)))
	for _, c := range p.Constants {
		put(uint32(len(c.Sizes)))
		put(c.Sizes...)
		put(uint32(len(c.Key)))
		out = append(out, c.Key...)
	}
	for _, i := range p.Code {
		put(i.Op, i.To, i.A, i.B, i.C)
	}
	return out
}

var errShort = errors.New("it ends too early")

// reader reads a payload. After an error it gives zeros.
type reader struct {
	data []byte
	err  error
}

func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.data)) {
		r.data, r.err = nil, errShort
		return nil
	}
	out := r.data[:n]
	r.data = r.data[n:]
	return out
}

func (r *reader) number() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Decode reads a payload, of which it believes nothing.
func Decode(data []byte) (*Program, error) {
	r := &reader{data: data}
	if string(r.bytes(4)) != magic {
		return nil, errors.New("it is no payload of the reference backend")
	}
	p := &Program{Inputs: r.number(), Outputs: r.number(), Temporaries: r.number()}
	constants, code := r.number(), r.number()
	for range constants {
		var c Constant
		for range r.number() {
			if c.Sizes = append(c.Sizes, r.number()); r.err != nil {
				return nil, r.err
			}
		}
		c.Key = string(r.bytes(r.number()))
		if p.Constants = append(p.Constants, c); r.err != nil {
			return nil, r.err
		}
	}
	for range code {
		i := Instruction{Op: r.number(), To: r.number(), A: r.number(), B: r.number(), C: r.number()}
		if p.Code = append(p.Code, i); r.err != nil {
			return nil, r.err
		}
	}
	switch {
	case r.err != nil:
		return nil, r.err
	case len(r.data) > 0:
		return nil, errors.New("something is behind its end")
	}
	return p, p.check()
}

// check is an error if an instruction uses what is not there, or overwrites what it must not.
func (p *Program) check() error {
	const most = 1 << 20 // tensors
	if p.Inputs > most || p.Outputs > most || p.Temporaries > most {
		return errors.New("it has too many tensors")
	}
	first := p.Inputs + p.Outputs // of the constants
	last := first + uint32(len(p.Constants))
	written := make([]bool, last+p.Temporaries)
	for i := range written {
		written[i] = uint32(i) < p.Inputs || uint32(i) >= first && uint32(i) < last
	}
	for k, i := range p.Code {
		operands := []uint32{i.A, i.B}
		switch {
		case i.Op > Linear:
			return fmt.Errorf("instruction %d: there is no operation %d", k, i.Op)
		case i.Op == Linear && i.C != None:
			operands = append(operands, i.C)
		}
		for _, x := range operands {
			if uint64(x) >= uint64(len(written)) || !written[x] {
				return fmt.Errorf("instruction %d: it reads tensor %d, which holds nothing", k, x)
			}
		}
		if uint64(i.To) >= uint64(len(written)) || written[i.To] {
			return fmt.Errorf("instruction %d: it writes tensor %d, which is not to be written", k, i.To)
		}
		written[i.To] = true
	}
	for i := p.Inputs; i < first; i++ {
		if !written[i] {
			return fmt.Errorf("nothing writes output %d", i-p.Inputs)
		}
	}
	return nil
}
