package pt2

import (
	"bytes"
	"encoding/binary"
	"math"
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

func (m *pickleMachine) number(op byte) error {
	switch op {
	case opBinInt1:
		v, err := m.uint(1)
		return firstError(err, m.push(int64(v)))
	case opBinInt2:
		v, err := m.uint(2)
		return firstError(err, m.push(int64(v)))
	case opBinInt:
		v, err := m.uint(4)
		return firstError(err, m.push(int64(int32(v))))
	case opBinFloat:
		b, err := m.take(8)
		if err != nil {
			return err
		}
		return m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
	}
	n, err := m.uint(1) // opLong1: two's complement of n bytes
	if err != nil {
		return err
	}
	if n > 8 {
		return problem("a number has more than 64 bits")
	}
	v, err := m.uint(int(n))
	if err != nil {
		return err
	}
	shift := 64 - 8*n
	return m.push(int64(v<<shift) >> shift)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *pickleMachine) unicode(op byte) error {
	width := 4
	if op == opShortUnicode {
		width = 1
	}
	n, err := m.uint(width)
	if err != nil {
		return err
	}
	if n > maxPickleString {
		return problem("a string has %d bytes", n)
	}
	b, err := m.take(int(n))
	if err != nil {
		return err
	}
	return m.push(string(b))
}

// fill adds items to the list or dict below them on the stack.
func (m *pickleMachine) fill(op byte) error {
	var items []any
	var err error
	switch op {
	case opAppend:
		items, err = m.popN(1)
	case opSetItem:
		items, err = m.popN(2)
	default:
		items, err = m.popMark()
	}
	if err != nil {
		return err
	}
	into, err := m.top()
	if err != nil {
		return err
	}
	switch c := into.(type) {
	case *pickleList:
		if op == opAppend || op == opAppends {
			c.items = append(c.items, items...)
			return nil
		}
	case *pickleDict:
		if (op == opSetItem || op == opSetItems) && len(items)%2 == 0 {
			for i := 0; i < len(items); i += 2 {
				c.keys, c.values = append(c.keys, items[i]), append(c.values, items[i+1])
			}
			return nil
		}
	}
	return problem("items are added to what is no container for them")
}

func (m *pickleMachine) useMemo(op byte) error {
	width := 1
	if op == opLongBinPut || op == opLongBinGet {
		width = 4
	}
	i, err := m.uint(width)
	if err != nil {
		return err
	}
	if op == opBinPut || op == opLongBinPut {
		v, err := m.top()
		if err != nil {
			return err
		}
		if len(m.memo) >= maxStack {
			return problem("its memo overflows")
		}
		m.memo[uint32(i)] = v
		return nil
	}
	v, ok := m.memo[uint32(i)]
	if !ok {
		return problem("memo %d is empty", i)
	}
	return m.push(v)
}

func (m *pickleMachine) global() error {
	module, err := m.line()
	if err != nil {
		return err
	}
	name, err := m.line()
	if err != nil {
		return err
	}
	g := pickleGlobal(module + " " + name)
	if !allowed(g) {
		return problem("it names %q, which has no place in a model's weights", g).
			hint("do not load this file in Python: it may run code")
	}
	return m.push(g)
}
