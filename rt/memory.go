package rt

import (
	"fmt"
	"math"

	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pte"
)

// DefaultMemoryLimit is the most bytes that a method allocates for tensors
// unless its MemoryManager says otherwise: 4 GiB, or half the address space
// where that is less.
const DefaultMemoryLimit = min(4<<30, math.MaxInt/2)

// MemoryManager is where a method's memory comes from. The zero value allocates
// all of it.
type MemoryManager struct {
	// Planned are the planned buffers: Planned[i] is that of memory id i+1 and
	// has at least the size that MethodMeta.PlannedBuffers[i] tells. What is nil
	// or beyond the end is allocated. Different ids may lie in memories of
	// different speed. A buffer belongs to one method at a time, and the state of
	// the method is in it. It should be aligned to 16 bytes.
	//
	// Methods that share state have it in the buffer of memory id 2: give all of
	// them the same one, load all of them before the first executes, since loading
	// writes what state begins with, and let no two execute at the same time.
	Planned [][]byte

	// Limit is the most bytes that are allocated for tensors: planned buffers
	// that are not given, copies of inputs, outputs without planned memory. 0
	// stands for DefaultMemoryLimit. A method that needs more does not load
	// (ErrOutOfMemory).
	Limit int64
}

// memory hands out the memory of one method.
type memory struct {
	planned [][]byte // by memory id - 1
	left    int64    // what may still be allocated
}

func newMemory(m *MemoryManager) *memory {
	if m == nil {
		m = &MemoryManager{}
	}
	limit := m.Limit
	if limit == 0 {
		limit = DefaultMemoryLimit
	}
	return &memory{planned: m.Planned, left: limit}
}

// plan makes the buffers of the sizes, entry 0 of which is reserved.
func (m *memory) plan(sizes []int64) {
	given := m.planned
	m.planned = make([][]byte, max(len(sizes)-1, 0))
	for i := range m.planned {
		size := sizes[i+1]
		switch {
		case size < 0:
			panic(fmt.Errorf("%w: planned buffer %d has the size %d", ErrInvalidProgram, i+1, size))
		case i < len(given) && given[i] != nil:
			if int64(len(given[i])) < size {
				panic(fmt.Errorf("%w: planned buffer %d takes %d bytes, the one given has %d",
					ErrInvalidArgument, i+1, size, len(given[i])))
			}
			m.planned[i] = given[i][:size:size]
		default:
			b := must.At(func() []byte { return m.allocate(size) }, "planned buffer %d", i+1)
			m.planned[i] = b
		}
	}
}

// at returns n bytes of planned memory.
func (m *memory) at(a *pte.Allocation, n int) ([]byte, error) {
	if a.MemoryID < 1 || int64(a.MemoryID) > int64(len(m.planned)) {
		return nil, fmt.Errorf("%w: memory id %d, the method has %d planned buffers",
			ErrInvalidProgram, a.MemoryID, len(m.planned))
	}
	b := m.planned[a.MemoryID-1]
	if a.Offset > uint64(len(b)) || uint64(n) > uint64(len(b))-a.Offset {
		return nil, fmt.Errorf(
			"%w: %d bytes at offset %d are outside of planned buffer %d of %d bytes",
			ErrInvalidProgram, n, a.Offset, a.MemoryID, len(b))
	}
	return b[a.Offset : a.Offset+uint64(n) : a.Offset+uint64(n)], nil
}

// reserve counts n bytes that are going to be allocated.
func (m *memory) reserve(n int64) error {
	if n > m.left {
		return fmt.Errorf(
			"%w: %d bytes more than the memory limit; raise MemoryManager.Limit if the program is to be "+
				"trusted", ErrOutOfMemory, n-m.left)
	}
	m.left -= n
	return nil
}

// allocate returns n zero bytes.
func (m *memory) allocate(n int64) []byte {
	must.Check(m.reserve(n))
	return alignedBytes(int(n))
}
