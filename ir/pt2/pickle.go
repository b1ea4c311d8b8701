package pt2

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/etgen/etgen/ir"
)

// unpickle runs the pickles that torch.save writes for dicts of tensors
// (protocol 2). It is a machine of a few opcodes that can build containers,
// numbers, strings and tensors and nothing else: a name that is not on the
// list of allowed ones ends it. Every opcode costs a byte of the file, stack
// and memo are bounded, and no step is recursive.
func unpickle(data []byte) (any, error) {
	m := &pickleMachine{data: data, memo: map[uint32]any{}}
	for {
		done, err := m.step()
		if err != nil {
			e := asError(err)
			return nil, within(e, "bad pickle, byte %d", m.op)
		}
		if done {
			return m.result, nil
		}
	}
}

// Values of the machine besides nil, bool, int64, float64, string.
type (
	pickleTuple  []any
	pickleList   struct{ items []any }
	pickleDict   struct{ keys, values []any } // in order of insertion; later keys win
	pickleGlobal string                       // "module name", on the list of allowed ones
)

// savedStorage is a storage of a torch.save archive. dtype is InvalidDType for
// untyped ones; size is in bytes.
type savedStorage struct {
	key   string
	dtype ir.DType
	size  int64
}

// savedTensor is a tensor of a torch.save archive.
type savedTensor struct {
	typ     ir.Type
	storage *savedStorage
}

// maxStack bounds stack and memo of the machine.
const maxStack = 1 << 24

type pickleMachine struct {
	data   []byte
	pos    int
	op     int // position of the current opcode
	stack  []any
	marks  []int
	memo   map[uint32]any
	result any
}

func (m *pickleMachine) take(n int) ([]byte, error) {
	if n < 0 || n > len(m.data)-m.pos {
		return nil, problem("it ends early")
	}
	b := m.data[m.pos : m.pos+n]
	m.pos += n
	return b, nil
}

func (m *pickleMachine) uint(n int) (uint64, error) {
	b, err := m.take(n)
	if err != nil {
		return 0, err
	}
	var buf [8]byte
	copy(buf[:], b)
	return binary.LittleEndian.Uint64(buf[:]), nil
}

func (m *pickleMachine) line() (string, error) {
	i := bytes.IndexByte(m.data[m.pos:], '\n')
	if i < 0 {
		return "", problem("it ends early")
	}
	b, err := m.take(i + 1)
	return strings.TrimSuffix(string(b), "\n"), err
}

func (m *pickleMachine) push(v any) error {
	if len(m.stack) >= maxStack {
		return problem("its stack overflows")
	}
	m.stack = append(m.stack, v)
	return nil
}

// pop never reaches below the last mark.
func (m *pickleMachine) pop() (any, error) {
	floor := 0
	if len(m.marks) > 0 {
		floor = m.marks[len(m.marks)-1]
	}
	if len(m.stack) <= floor {
		return nil, problem("its stack underflows")
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return v, nil
}

func (m *pickleMachine) popN(n int) ([]any, error) {
	out := make([]any, n)
	for i := n - 1; i >= 0; i-- {
		v, err := m.pop()
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func (m *pickleMachine) popMark() ([]any, error) {
	if len(m.marks) == 0 {
		return nil, problem("it has no mark")
	}
	at := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	out := append([]any(nil), m.stack[at:]...)
	m.stack = m.stack[:at]
	return out, nil
}

func (m *pickleMachine) top() (any, error) {
	v, err := m.pop()
	if err == nil {
		m.stack = append(m.stack, v)
	}
	return v, err
}

// The opcodes, with the names of Python's pickletools.
const (
	opMark         = '('
	opStop         = '.'
	opPop          = '0'
	opProto        = 0x80
	opNone         = 'N'
	opNewTrue      = 0x88
	opNewFalse     = 0x89
	opBinInt       = 'J'
	opBinInt1      = 'K'
	opBinInt2      = 'M'
	opLong1        = 0x8a
	opBinFloat     = 'G'
	opBinUnicode   = 'X'
	opShortUnicode = 0x8c
	opEmptyDict    = '}'
	opEmptyList    = ']'
	opEmptyTuple   = ')'
	opTuple        = 't'
	opTuple1       = 0x85
	opTuple2       = 0x86
	opTuple3       = 0x87
	opAppend       = 'a'
	opAppends      = 'e'
	opSetItem      = 's'
	opSetItems     = 'u'
	opBinPut       = 'q'
	opLongBinPut   = 'r'
	opBinGet       = 'h'
	opLongBinGet   = 'j'
	opGlobal       = 'c'
	opReduce       = 'R'
	opBuild        = 'b'
	opBinPersID    = 'Q'
)

// maxPickleString bounds a string, which is a name, in bytes.
const maxPickleString = 1 << 20

// step runs one opcode.
func (m *pickleMachine) step() (done bool, err error) {
	m.op = m.pos
	b, err := m.take(1)
	if err != nil {
		return false, err
	}
	switch op := b[0]; op {
	case opProto:
		if v, err := m.uint(1); err != nil || v > 5 {
			return false, problem("unknown protocol")
		}
	case opStop:
		m.result, err = m.pop()
		return err == nil, err
	case opMark:
		m.marks = append(m.marks, len(m.stack))
	case opPop:
		_, err = m.pop()
	case opNone:
		err = m.push(nil)
	case opNewTrue, opNewFalse:
		err = m.push(op == opNewTrue)
	case opBinInt, opBinInt1, opBinInt2, opLong1, opBinFloat:
		err = m.number(op)
	case opBinUnicode, opShortUnicode:
		err = m.unicode(op)
	case opEmptyDict:
		err = m.push(&pickleDict{})
	case opEmptyList:
		err = m.push(&pickleList{})
	case opEmptyTuple:
		err = m.push(pickleTuple(nil))
	case opTuple1, opTuple2, opTuple3:
		var items []any
		if items, err = m.popN(int(op) - opTuple1 + 1); err == nil {
			err = m.push(pickleTuple(items))
		}
	case opTuple:
		var items []any
		if items, err = m.popMark(); err == nil {
			err = m.push(pickleTuple(items))
		}
	case opAppend, opAppends, opSetItem, opSetItems:
		err = m.fill(op)
	case opBinPut, opLongBinPut, opBinGet, opLongBinGet:
		err = m.useMemo(op)
	case opGlobal:
		err = m.global()
	case opReduce:
		var fa []any
		if fa, err = m.popN(2); err == nil {
			var v any
			if v, err = reduce(fa[0], fa[1]); err == nil {
				err = m.push(v)
			}
		}
	case opBuild: // the state of a dict or tensor (version numbers, hooks) is of no use
		_, err = m.pop()
	case opBinPersID:
		var id any
		if id, err = m.pop(); err == nil {
			var s *savedStorage
			if s, err = storageOf(id); err == nil {
				err = m.push(s)
			}
		}
	default:
		err = problem("the opcode %#02x is not allowed", op)
	}
	return false, err
}
