package pt2

import (
	"encoding/binary"
	"math"
)

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
