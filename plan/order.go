package plan

import "slices"

// Task is a run of steps that stays together when the order of a program is chosen: a
// step, or a region with all that is in it.
type Task struct {
	First int   // step; the last is that before the next task's first
	After []int // the tasks before it that it has to follow
}

// Order returns an order of tasks, which are all steps of p in the order in which it has
// them, for which the most that is alive at once is as little as is found. Values are held
// from the first task that touches them to the last; a task that may write over what it is
// the last to want needs no memory for that. Where the order is not to blame for the peak,
// it stays as it is. Gaps are not in it: whether a plan is smaller only a plan can tell.
//
// A task between all earlier and all later ones divides the program in parts, for each of
// which the order is searched by itself: exactly, as long as a fixed effort suffices, else
// with a few of the best beginnings of each length.
func Order(p *Problem, tasks []Task) ([]int, error) {
	a, err := analyse(p)
	if err != nil {
		return nil, err
	}
	o := newOrdering(a, tasks)
	parts := o.parts()
	least := int64(0) // of the peak, whatever the order
	for _, x := range parts {
		least = max(least, x.least)
	}
	peak := least
	for _, x := range parts {
		if x.given > peak {
			x.search(least)
			peak = max(peak, x.peak)
		}
	}
	order := make([]int, 0, len(tasks))
	for _, x := range parts {
		for i := range x.count {
			if x.given > peak {
				order = append(order, x.order[i])
			} else {
				order = append(order, x.from+i)
			}
		}
	}
	return order, nil
}

// value is a buffer that several tasks touch.
type value struct {
	size  int64
	tasks []int // sorted
}

// ordering is a program as Order sees it.
type ordering struct {
	tasks  []Task
	values []value
	// by task
	touched [][]int    // values
	inner   []int64    // bytes that nothing but the task touches, at most at once
	over    [][][2]int // values that it may write, and over which
	cut     []bool     // every earlier task comes before it, every later one after it
}

func newOrdering(a *analysis, tasks []Task) *ordering {
	n := len(tasks)
	o := &ordering{tasks: tasks, touched: make([][]int, n), inner: make([]int64, n),
		over: make([][][2]int, n), cut: make([]bool, n)}
	of := make([]int, a.steps) // task, by step
	for i, t := range tasks {
		end := a.steps
		if i+1 < n {
			end = tasks[i+1].First
		}
		for s := t.First; s < end; s++ {
			of[s] = i
		}
	}
	single := func(t int) bool { // of one step, in which all that it touches is there at once
		return (t+1 == n && tasks[t].First == a.steps-1) ||
			t+1 < n && tasks[t].First == tasks[t+1].First-1
	}
	valueOf := make([]int, len(a.problem.Buffers)) // 1 + that of a root
	change := make([]int64, a.steps+1)
	for i, touches := range a.tasksOf(of) {
		node := &a.nodes[i]
		if len(touches) > 1 || len(touches) == 1 && single(touches[0]) {
			for _, t := range touches {
				o.touched[t] = append(o.touched[t], len(o.values))
			}
			o.values = append(o.values, value{node.size, touches})
			valueOf[node.id] = len(o.values)
			continue
		}
		for _, s := range node.live {
			change[s.First] += node.size
			change[s.Last+1] -= node.size
		}
	}
	live := int64(0)
	for s := range a.steps {
		live += change[s]
		o.inner[of[s]] = max(o.inner[of[s]], live)
	}
	for _, sh := range a.problem.Shares {
		dst, _ := a.problem.Root(sh.Dst)
		src, _ := a.problem.Root(sh.Src)
		if d, s := valueOf[dst], valueOf[src]; d > 0 && s > 0 && d != s {
			t := of[sh.Step]
			o.over[t] = append(o.over[t], [2]int{d - 1, s - 1})
		}
	}
	o.cuts()
	return o
}

// tasksOf returns the tasks that touch each node, sorted.
func (a *analysis) tasksOf(of []int) [][]int {
	p := a.problem
	byRoot := make([][]int, len(p.Buffers))
	for i := range p.Buffers {
		root, _ := p.Root(BufferID(i))
		for _, steps := range [][]int{p.Buffers[i].Reads, p.Buffers[i].Writes} {
			for _, s := range steps {
				byRoot[root] = append(byRoot[root], of[s])
			}
		}
	}
	list := make([][]int, len(a.nodes))
	for i, n := range a.nodes {
		slices.Sort(byRoot[n.id])
		list[i] = slices.Compact(byRoot[n.id])
	}
	return list
}

// cuts finds the tasks that divide the program: among it and those before it, it alone has
// none that follows, and among it and those after it, it alone has none that goes before.
func (o *ordering) cuts() {
	n := len(o.tasks)
	next, before := make([]int, n), make([]int, n) // the first that follows, the last before
	for i, t := range o.tasks {
		next[i], before[i] = n, -1
		for _, j := range t.After {
			next[j] = min(next[j], i)
			before[i] = max(before[i], j)
		}
	}
	ends, begins := make([]int, n+1), make([]int, n+1) // how many leave, or begin to be, one
	for i := range n {
		ends[next[i]]++
		begins[before[i]+1]++
	}
	open, sources := 0, 0
	free := make([]int, n) // of the tasks from i on, those that follow none of them
	for i := n - 1; i >= 0; i-- {
		sources += 1 - begins[i+1]
		free[i] = sources
	}
	for i := range n {
		open += 1 - ends[i]
		o.cut[i] = open == 1 && free[i] == 1
	}
}

// Smaller reports whether the plan of a takes less than that of b. It plans no more than it has to.
func Smaller(how Planner, a, b *Problem) (bool, error) {
	leastA, err := least(a)
	if err != nil {
		return false, err
	}
	leastB, err := least(b)
	if err != nil {
		return false, err
	}
	var ofA *Plan
	if leastA < leastB {
		if ofA, err = how.Plan(a); err != nil || ofA.Size() < leastB {
			return err == nil, err
		}
	}
	ofB, err := how.Plan(b)
	if err != nil || leastA >= ofB.Size() {
		return false, err
	}
	if ofA == nil {
		if ofA, err = how.Plan(a); err != nil {
			return false, err
		}
	}
	return ofA.Size() < ofB.Size(), nil
}

// least is what no plan of p takes less than.
func least(p *Problem) (sum int64, err error) {
	peaks, err := LowerBound(p)
	for _, peak := range peaks {
		sum += peak.Bytes
	}
	return sum, err
}
