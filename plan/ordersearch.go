package plan

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"slices"
)

const (
	orderEffort = 1 << 20 // values looked at in the exact search of a part
	orderBeam   = 8       // beginnings of each length that are kept without it
	orderReady  = 32      // tasks of which the next is chosen then, the first as given
)

// part is the tasks behind a cut up to the next one, which is its last. Places are counted
// from its first.
type part struct {
	*ordering
	from, count int
	held        int64 // bytes of values that are touched before and after, but not in it
	start       int64 // and of those touched before and in it
	used        []use
	follow      [][]int   // by place, the places of the tasks that follow it
	left        int       // effort
	free        [][]int32 // memory of beginnings that are not needed any more

	given int64 // peak in the order as given
	least int64 // and what it is not below in any
	peak  int64 // in the order found
	order []int // tasks
}

// use is what a part does with a value: how many of its tasks touch it, and whether others
// do before and after.
type use struct {
	size          int64
	count         int32
	before, after bool
}

// parts divides the program.
func (o *ordering) parts() (list []*part) {
	n := len(o.tasks)
	for from := 0; from < n; {
		end := from + 1
		for end < n && !o.cut[end-1] {
			end++
		}
		list = append(list, &part{ordering: o, from: from, count: end - from})
		from = end
	}
	// What a value holds between the tasks that touch it, by part: of those of a part itself
	// only what is alive at its start counts.
	of := make([]int, n)
	for k, x := range list {
		for i := range x.count {
			of[x.from+i] = k
		}
	}
	across := make([]int64, len(list)+1)
	for _, v := range o.values {
		first := of[v.tasks[0]]
		for _, t := range v.tasks[1:] {
			if k := of[t]; k > first {
				across[first+1] += v.size
				across[k] -= v.size
				list[k].start += v.size
				first = k
			}
		}
	}
	held := int64(0)
	for k, x := range list {
		held += across[k]
		x.held = held
		x.prepare()
	}
	return list
}

// prepare finds what the search needs to know.
func (x *part) prepare() {
	x.follow = make([][]int, x.count)
	for i := range x.count {
		for _, j := range x.tasks[x.from+i].After {
			if j >= x.from {
				x.follow[j-x.from] = append(x.follow[j-x.from], i)
			}
		}
	}
	number := map[int]int{} // of a value, in the part
	for i := range x.count {
		t := x.from + i
		for k, v := range x.touched[t] {
			n, known := number[v]
			if !known {
				n = len(x.used)
				number[v] = n
				tasks := x.values[v].tasks
				x.used = append(x.used, use{size: x.values[v].size, before: tasks[0] < x.from,
					after: tasks[len(tasks)-1] >= x.from+x.count})
			}
			x.used[n].count++
			x.touched[t][k] = n
		}
		for k, o := range x.over[t] {
			x.over[t][k] = [2]int{number[o[0]], number[o[1]]}
		}
	}
	s := x.begin(0)
	for i := range x.count {
		x.least = max(x.least, x.alone(x.from+i))
		s = x.after(s, i)
		x.key(s)
		s.only = true
		x.complete(s)
		s.prev = nil
	}
	x.given = s.peak
}

// alone is what a task needs if all is dead that it does not touch.
func (x *part) alone(t int) int64 {
	sum := x.held + x.inner[t]
	for _, v := range x.touched[t] {
		sum += x.used[v].size
	}
	return sum - x.saved(t, func(int) bool { return true })
}

// saved is what a task needs less because it writes over what it is the last to want, of
// the pairs of values that may.
func (x *part) saved(t int, may func(pair int) bool) (sum int64) {
	var used [][2]int
	for i, o := range x.over[t] {
		taken := slices.ContainsFunc(used, func(u [2]int) bool { return u[0] == o[0] || u[1] == o[1] })
		if !taken && may(i) {
			used = append(used, o)
			sum += min(x.used[o[0]].size, x.used[o[1]].size)
		}
	}
	return sum
}

// beginning is some of the tasks of a part, done first.
type beginning struct {
	done  []uint64
	only  bool    // nothing else follows the one before: what that knew may be taken over
	todo  []int32 // by value, how many of the part's tasks that touch it are not done
	ready []int   // places of those that can follow, those first that follow the last
	count int
	live  int64 // bytes that are held after it
	peak  int64
	last  int
	prev  *beginning
	seq   int
}

// begin is the empty one. Of its peak no more is wanted to be known than that it is not
// over most.
func (x *part) begin(most int64) *beginning {
	s := &beginning{done: make([]uint64, (x.count+63)/64), live: x.held + x.start, peak: most}
	for _, u := range x.used {
		s.todo = append(s.todo, u.count)
	}
	for i := range x.count {
		if x.isReady(s, i) {
			s.ready = append(s.ready, i)
		}
	}
	return s
}

func (s *beginning) has(i int) bool { return s.done[i/64]>>(i%64)&1 != 0 }

func (x *part) isReady(s *beginning, i int) bool {
	return !slices.ContainsFunc(x.tasks[x.from+i].After, func(j int) bool {
		return j >= x.from && !s.has(j-x.from)
	})
}

// state tells whether a value is touched before one of the tasks that are not done, and
// after it.
func (x *part) state(s *beginning, v int) (before, after bool) {
	u := &x.used[v]
	return u.before || s.todo[v] < u.count, u.after || s.todo[v] > 1
}

// weigh returns what is alive while the task at place i runs behind s, and after that.
func (x *part) weigh(s *beginning, i int) (peak, live int64) {
	t := x.from + i
	live = s.live
	peak = live + x.inner[t]
	for _, v := range x.touched[t] {
		before, after := x.state(s, v)
		size := x.used[v].size
		if !before {
			peak += size
			live += size
		}
		if !after {
			live -= size
		}
	}
	x.left -= 1 + len(x.touched[t]) + len(x.over[t])
	return peak - x.saved(t, func(pair int) bool {
		dst, _ := x.state(s, x.over[t][pair][0])
		_, src := x.state(s, x.over[t][pair][1])
		return !dst && !src
	}), live
}

// after returns s with the task at place i behind it, of which not all is known yet.
func (x *part) after(s *beginning, i int) *beginning {
	peak, live := x.weigh(s, i)
	return &beginning{count: s.count + 1, live: live, peak: max(s.peak, peak), last: i, prev: s}
}

// key tells beginnings of different tasks apart.
func (x *part) key(s *beginning) string {
	if s.prev != nil && s.done == nil {
		s.done = slices.Clone(s.prev.done)
		s.done[s.last/64] |= 1 << (s.last % 64)
	}
	var b []byte
	for _, w := range s.done {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	x.left -= len(s.done)
	return string(b)
}

// complete makes known what is not, of a beginning that has a key.
func (x *part) complete(s *beginning) {
	if s.prev == nil {
		return
	}
	switch n := len(x.free); {
	case s.only:
		s.todo, s.prev.todo = s.prev.todo, nil
	case n > 0:
		s.todo = append(x.free[n-1][:0], s.prev.todo...)
		x.free = x.free[:n-1]
	default:
		s.todo = slices.Clone(s.prev.todo)
	}
	for _, v := range x.touched[x.from+s.last] {
		s.todo[v]--
	}
	var now []int
	for _, f := range x.follow[s.last] {
		if !slices.Contains(now, f) && x.isReady(s, f) {
			now = append(now, f)
		}
	}
	rest := s.prev.ready
	if !s.only {
		rest = slices.Clone(rest)
	}
	rest = slices.DeleteFunc(rest, func(r int) bool { return r == s.last })
	s.ready = slices.Insert(rest, 0, now...)
	if s.only {
		s.prev.ready = nil
	}
	x.left -= (len(s.ready) + len(s.todo)) / 8
}

// next returns the tasks that may follow s in less than the peak of the order as given. One
// that needs no more than has been needed, and leaves no more than there was, is best done
// now: at any later place it would leave as much less, and keep others from no memory.
func (x *part) next(s *beginning, most int) (list []int) {
	for _, i := range s.ready[:min(most, len(s.ready))] {
		peak, live := x.weigh(s, i)
		if peak <= s.peak && live <= s.live {
			return []int{i}
		}
		if peak < x.given {
			list = append(list, i)
		}
	}
	return list
}

// search finds an order whose peak is not above least, or as low as it can.
func (x *part) search(least int64) {
	x.peak, x.order = x.given, make([]int, x.count)
	for i := range x.order {
		x.order[i] = x.from + i
	}
	x.left = orderEffort
	end := x.exact(max(least, x.least))
	if end == nil && x.left < 0 {
		end = x.beam(max(least, x.least))
	}
	if end == nil || end.peak >= x.given {
		return
	}
	x.peak = end.peak
	for s := end; s.prev != nil; s = s.prev {
		x.order[s.count-1] = x.from + s.last
	}
}

// queue has the beginnings with the lowest peaks first, and of those the longest.
type queue []*beginning

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return before(q[i], q[j]) < 0 }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(*beginning)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func before(a, b *beginning) int {
	return cmp.Or(cmp.Compare(a.peak, b.peak), b.count-a.count, cmp.Compare(a.live, b.live),
		a.seq-b.seq)
}

// exact goes through the beginnings in the order of their peaks: the first that is all
// tasks has the least peak. It returns nil if none is below that of the order as given, or
// if the effort is used up.
func (x *part) exact(least int64) *beginning {
	seen := map[string]bool{}
	q := queue{x.begin(least)}
	for seq := 1; len(q) > 0 && x.left >= 0; {
		s := heap.Pop(&q).(*beginning)
		if s.count == x.count {
			return s
		}
		key := x.key(s)
		if seen[key] {
			continue
		}
		seen[key] = true
		x.complete(s)
		list := x.next(s, x.count)
		for _, i := range list {
			n := x.after(s, i)
			n.only = len(list) == 1
			n.seq, seq = seq, seq+1
			heap.Push(&q, n)
		}
	}
	return nil
}

// beam makes beginnings longer, and keeps a few of each length.
func (x *part) beam(least int64) *beginning {
	level := []*beginning{x.begin(least)}
	for range x.count {
		seen := map[string]bool{}
		var longer []*beginning
		for _, s := range level {
			for _, i := range x.next(s, orderReady) {
				n := x.after(s, i)
				n.seq = len(longer)
				longer = append(longer, n)
			}
		}
		slices.SortFunc(longer, before)
		done := slices.Clone(level)
		level = level[:0]
		for _, s := range longer {
			if len(level) == orderBeam {
				break
			}
			if key := x.key(s); !seen[key] {
				seen[key] = true
				x.complete(s)
				level = append(level, s)
			}
		}
		for _, s := range done { // only its place in the order is asked for now
			x.free = append(x.free, s.todo)
			s.todo, s.ready = nil, nil
		}
	}
	if len(level) == 0 {
		return nil
	}
	return level[0]
}
