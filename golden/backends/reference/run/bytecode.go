package run

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

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
	Inputs, Outputs uint32
	Constants       []string // keys of named data, 64 bytes each
	Code            []Instruction
}

// Instruction computes tensor To of others.
type Instruction struct{ Op, To, A, B, C uint32 }

// A payload is magic, four counts, the keys and the code. Numbers have 32 bits, little endian.
const magic, keySize = "REF1", 64

// Encode returns the payload of a program.
func (p *Program) Encode() []byte {
	out, _ := binary.Append([]byte(magic), binary.LittleEndian, []uint32{p.Inputs, p.Outputs,
		uint32(len(p.Constants)), uint32(len(p.Code))})
	out = append(out, strings.Join(p.Constants, "")...)
	out, _ = binary.Append(out, binary.LittleEndian, p.Code)
	return out
}

// Decode reads a payload.
func Decode(data []byte) (*Program, error) {
	var n [4]uint32
	if _, err := binary.Decode(data[min(4, len(data)):], binary.LittleEndian, &n); err != nil ||
		string(data[:4]) != magic || uint64(len(data)) != 20+keySize*uint64(n[2])+20*uint64(n[3]) ||
		max(n[0], n[1]) > 1<<16 {
		return nil, errors.New("it is no payload of the reference backend")
	}
	p := &Program{Inputs: n[0], Outputs: n[1], Code: make([]Instruction, n[3])}
	for data = data[20:]; len(p.Constants) < int(n[2]); data = data[keySize:] {
		p.Constants = append(p.Constants, string(data[:keySize]))
	}
	_, err := binary.Decode(data, binary.LittleEndian, p.Code)
	return p, err
}

// Operand is a tensor in row-major order. Sizes of constants are not known; b and c need none.
type Operand struct {
	Sizes []int
	Data  []float32
}

// Run computes the outputs of the inputs and constants, believing nothing of the program.
func (p *Program) Run(inputs, constants []Operand) (outputs []Operand, err error) {
	t := append(slices.Clip(inputs), make([]Operand, p.Outputs)...)
	t = append(append(t, constants...), make([]Operand, len(p.Code))...)
	at := func(i uint32) (x Operand) {
		if uint64(i) < uint64(len(t)) {
			x = t[i]
		}
		return x
	}
	for k, i := range p.Code {
		if uint64(i.To) >= uint64(len(t)) {
			return nil, fmt.Errorf("instruction %d: there is no tensor %d", k, i.To)
		}
		if t[i.To], err = i.result(at(i.A), at(i.B).Data, at(i.C).Data); err != nil {
			return nil, fmt.Errorf("instruction %d: %w", k, err)
		}
	}
	return t[p.Inputs:][:p.Outputs], nil
}

func (i Instruction) result(a Operand, b, c []float32) (out Operand, err error) {
	out.Sizes = slices.Clone(a.Sizes)
	fits := i.Op < Linear && (len(b) == 1 || len(b) == len(a.Data))
	depth, width, last := 1, 1, len(a.Sizes)-1
	if i.Op == Linear && last >= 0 && a.Sizes[last] > 0 {
		depth, width = a.Sizes[last], len(b)/a.Sizes[last]
		fits = width > 0 && width*depth == len(b) && (i.C == None || len(c) == width)
		out.Sizes[last] = width
	}
	if !fits {
		return out, fmt.Errorf("operands of sizes %v, %d and %d", a.Sizes, len(b), len(c))
	}
	out.Data = make([]float32, len(a.Data)/depth*width)
	for k := range out.Data {
		switch i.Op {
		case Add:
			out.Data[k] = a.Data[k] + b[k%len(b)]
		case Mul:
			out.Data[k] = a.Data[k] * b[k%len(b)]
		case Linear:
			sum := 0.0
			if i.C != None {
				sum = float64(c[k%width])
			}
			for d, x := range a.Data[k/width*depth:][:depth] {
				sum += float64(x) * float64(b[k%width*depth+d])
			}
			out.Data[k] = float32(sum)
		}
	}
	return out, nil
}
