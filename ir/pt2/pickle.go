package pt2

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
)

// unpickle runs the pickles that torch.save writes for dicts of tensors
// (protocol 2). It is a machine of a few opcodes that can build containers,
// numbers, strings and tensors and nothing else: a name that is not on the
// list of allowed ones ends it. Every opcode costs a byte of the file, stack
// and memo are bounded, and no step is recursive.
func unpickle(data []byte) (result any, err error) {
	defer must.Catch(&err)
	m := &pickleMachine{data: data, memo: map[uint32]any{}}
	amend(func() {
		for done := false; !done; {
			m.op = m.pos
			done = m.step()
		}
	}, func(e *Error) {
		e.Problem = fmt.Sprintf("bad pickle, byte %d: %s", m.op, e.Problem)
	})
	return m.result, nil
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

func (m *pickleMachine) take(n int) []byte {
	if n < 0 || n > len(m.data)-m.pos {
		panic(problem("it ends early"))
	}
	b := m.data[m.pos : m.pos+n]
	m.pos += n
	return b
}

func (m *pickleMachine) uint(n int) uint64 {
	b := m.take(n)
	var buf [8]byte
	copy(buf[:], b)
	return binary.LittleEndian.Uint64(buf[:])
}

func (m *pickleMachine) line() string {
	i := bytes.IndexByte(m.data[m.pos:], '\n')
	if i < 0 {
		panic(problem("it ends early"))
	}
	return strings.TrimSuffix(string(m.take(i+1)), "\n")
}

func (m *pickleMachine) push(v any) {
	if len(m.stack) >= maxStack {
		panic(problem("its stack overflows"))
	}
	m.stack = append(m.stack, v)
}

// pop never reaches below the last mark.
func (m *pickleMachine) pop() any {
	floor := 0
	if len(m.marks) > 0 {
		floor = m.marks[len(m.marks)-1]
	}
	if len(m.stack) <= floor {
		panic(problem("its stack underflows"))
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return v
}

func (m *pickleMachine) popN(n int) []any {
	out := make([]any, n)
	for i := n - 1; i >= 0; i-- {
		out[i] = m.pop()
	}
	return out
}

func (m *pickleMachine) popMark() []any {
	if len(m.marks) == 0 {
		panic(problem("it has no mark"))
	}
	at := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	out := append([]any(nil), m.stack[at:]...)
	m.stack = m.stack[:at]
	return out
}

func (m *pickleMachine) top() any {
	v := m.pop()
	m.stack = append(m.stack, v)
	return v
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

// step runs one opcode and reports whether it was the last.
func (m *pickleMachine) step() (done bool) {
	switch op := m.take(1)[0]; op {
	case opProto:
		if m.uint(1) > 5 {
			panic(problem("unknown protocol"))
		}
	case opStop:
		m.result = m.pop()
		return true
	case opMark:
		m.marks = append(m.marks, len(m.stack))
	case opPop, opBuild: // the state of a dict or tensor (version numbers, hooks) is of no use
		m.pop()
	case opNone:
		m.push(nil)
	case opNewTrue, opNewFalse:
		m.push(op == opNewTrue)
	case opBinInt1:
		m.push(int64(m.uint(1)))
	case opBinInt2:
		m.push(int64(m.uint(2)))
	case opBinInt:
		m.push(int64(int32(m.uint(4))))
	case opLong1: // two's complement of n bytes
		n := m.uint(1)
		if n > 8 {
			panic(problem("a number has more than 64 bits"))
		}
		shift := 64 - 8*n
		m.push(int64(m.uint(int(n))<<shift) >> shift)
	case opBinFloat:
		m.push(math.Float64frombits(binary.BigEndian.Uint64(m.take(8))))
	case opBinUnicode:
		m.unicode(m.uint(4))
	case opShortUnicode:
		m.unicode(m.uint(1))
	case opEmptyDict:
		m.push(&pickleDict{})
	case opEmptyList:
		m.push(&pickleList{})
	case opEmptyTuple:
		m.push(pickleTuple(nil))
	case opTuple1, opTuple2, opTuple3:
		m.push(pickleTuple(m.popN(int(op) - opTuple1 + 1)))
	case opTuple:
		m.push(pickleTuple(m.popMark()))
	case opAppend:
		m.appendTo(m.popN(1))
	case opAppends:
		m.appendTo(m.popMark())
	case opSetItem:
		m.setIn(m.popN(2))
	case opSetItems:
		m.setIn(m.popMark())
	case opBinPut:
		m.put(m.uint(1))
	case opLongBinPut:
		m.put(m.uint(4))
	case opBinGet:
		m.get(m.uint(1))
	case opLongBinGet:
		m.get(m.uint(4))
	case opGlobal:
		m.global()
	case opReduce:
		call := m.popN(2)
		m.push(reduce(call[0], call[1]))
	case opBinPersID:
		m.push(storageOf(m.pop()))
	default:
		panic(problem("the opcode %#02x is not allowed", op))
	}
	return false
}

// unicode pushes a string of n bytes.
func (m *pickleMachine) unicode(n uint64) {
	if n > maxPickleString {
		panic(problem("a string has %d bytes", n))
	}
	m.push(string(m.take(int(n))))
}

// appendTo adds items to the list on the stack.
func (m *pickleMachine) appendTo(items []any) {
	list, ok := m.top().(*pickleList)
	if !ok {
		panic(problem("items are added to what is no container for them"))
	}
	list.items = append(list.items, items...)
}

// setIn adds keys and values to the dict on the stack.
func (m *pickleMachine) setIn(items []any) {
	d, ok := m.top().(*pickleDict)
	if !ok || len(items)%2 != 0 {
		panic(problem("items are added to what is no container for them"))
	}
	for i := 0; i < len(items); i += 2 {
		d.keys, d.values = append(d.keys, items[i]), append(d.values, items[i+1])
	}
}

func (m *pickleMachine) put(i uint64) {
	v := m.top()
	if len(m.memo) >= maxStack {
		panic(problem("its memo overflows"))
	}
	m.memo[uint32(i)] = v
}

func (m *pickleMachine) get(i uint64) {
	v, ok := m.memo[uint32(i)]
	if !ok {
		panic(problem("memo %d is empty", i))
	}
	m.push(v)
}

func (m *pickleMachine) global() {
	module := m.line()
	g := pickleGlobal(module + " " + m.line())
	if !allowed(g) {
		panic(problem("it names %q, which has no place in a model's weights", g).
			hint("do not load this file in Python: it may run code"))
	}
	m.push(g)
}
