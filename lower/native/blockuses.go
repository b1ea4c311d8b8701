package native

import (
	"slices"

	"github.com/etgen/etgen/ir/sym"
)

// blockUses is an index of the statements of one block, so that what concerns a
// buffer is found without going through all of them. A statement that goes leaves
// nil behind: places stay.
type blockUses struct {
	at    map[*Buffer][]int   // by root, the places of statements that use it, nested ones included
	count map[*Buffer]int     // by root, how often it is used
	fails []int               // places of statements that can end the method
	lets  map[*sym.Symbol]int // the last place that gives a symbol its value
	room  []int               // for of
}

func usesIn(block []Stmt) *blockUses {
	u := &blockUses{at: map[*Buffer][]int{}, count: map[*Buffer]int{}, lets: map[*sym.Symbol]int{}}
	for i, s := range block {
		if s == nil {
			continue
		}
		eachAccess(s, func(a access) {
			root := Root(*a.buf)
			u.count[root]++
			if list := u.at[root]; len(list) == 0 || list[len(list)-1] != i {
				u.at[root] = append(list, i)
			}
		})
		if l, ok := s.(*Let); ok && l.Sym != nil {
			u.lets[l.Sym] = i
		}
		if mayFail(s) {
			u.fails = append(u.fails, i)
		}
	}
	return u
}

// remove takes the statement at place i out of the index.
func (u *blockUses) remove(i int, s Stmt) {
	eachAccess(s, func(a access) {
		root := Root(*a.buf)
		u.count[root]--
		if k, ok := slices.BinarySearch(u.at[root], i); ok {
			u.at[root] = slices.Delete(u.at[root], k, k+1)
		}
	})
}

// move gives all uses of one root to another.
func (u *blockUses) move(src, dst *Buffer) {
	if at := u.at[src]; len(at) > 0 {
		first, end := at[0], at[len(at)-1]+1
		both := u.of(src, dst, first, end)
		from, to := spanOf(u.at[dst], first, end)
		u.at[dst] = slices.Replace(u.at[dst], from, to, both...)
	}
	u.count[dst] += u.count[src]
	delete(u.at, src)
	delete(u.count, src)
}

// of returns the places from first up to end of statements that use one of two
// roots, until the next call.
func (u *blockUses) of(a, b *Buffer, first, end int) []int {
	x, y := u.at[a], u.at[b]
	from, to := spanOf(x, first, end)
	x = x[from:to]
	from, to = spanOf(y, first, end)
	y = y[from:to]
	out := u.room[:0]
	for len(x) > 0 && len(y) > 0 {
		switch {
		case x[0] < y[0]:
			out, x = append(out, x[0]), x[1:]
		case x[0] > y[0]:
			out, y = append(out, y[0]), y[1:]
		default:
			out, x, y = append(out, x[0]), x[1:], y[1:]
		}
	}
	u.room = append(append(out, x...), y...)
	return u.room
}

// spanOf returns where the places from first up to end are in a list.
func spanOf(places []int, first, end int) (from, to int) {
	from, _ = slices.BinarySearch(places, first)
	n, _ := slices.BinarySearch(places[from:], end)
	return from, from + n
}

// known reports whether a position can be computed before the statement at place
// first: it mentions no number that is read from there on.
func (u *blockUses) known(first int, at sym.Expr) bool {
	for _, s := range at.Symbols() {
		if last, ok := u.lets[s]; ok && last >= first {
			return false
		}
	}
	return true
}

// mayFail reports whether a statement from first up to end can end the method.
func (u *blockUses) mayFail(first, end int) bool {
	k, _ := slices.BinarySearch(u.fails, first)
	return k < len(u.fails) && u.fails[k] < end
}
