package raise

// Memory is a method's planned memory: its buffers behind one another.
type Memory struct {
	Method string
	Size   int64
	Places map[string]Range // where instructions write values, by the values' names
}

// Range is a range of bytes.
type Range struct{ Offset, Size int64 }

// memoryAlign is what the start of a planned buffer is aligned to, in bytes.
const memoryAlign = 16

// memory tells where what was raised lies.
func (r *raiser) memory() Memory {
	m := Memory{Method: r.Name, Places: map[string]Range{}}
	start := make([]int64, len(r.BufferSizes))
	for i, n := range r.BufferSizes {
		start[i] = m.Size
		if n > 0 {
			m.Size = (m.Size + n + memoryAlign - 1) / memoryAlign * memoryAlign
		}
	}
	for v, p := range r.placed {
		if p.memory < int64(len(start)) {
			m.Places[v.Name] = Range{start[p.memory] + p.lo, p.hi - p.lo}
		}
	}
	return m
}
