package partition

import "slices"

// graph is a graph whose nodes are being given to backends. Nodes are called by their indices.
type graph struct {
	count int
	deps  [][]int // what each node waits for, without itself
	part  []int   // the part that each node is in, -1 for none
	parts int

	// Of the backend that is asked.
	taken []bool
	group []int  // of a taken node the next towards the one that stands for its group
	apart []bool // the node's group is a part of its own
}

func newGraph(deps [][]int) *graph {
	g := &graph{count: len(deps), deps: deps, part: make([]int, len(deps))}
	for i := range g.part {
		g.part[i] = -1
	}
	return g
}

// ask begins the questions to a backend.
func (g *graph) ask() {
	g.taken, g.apart, g.group = make([]bool, g.count), make([]bool, g.count), make([]int, g.count)
	for i := range g.group {
		g.group[i] = i
	}
}

// take takes node i.
func (g *graph) take(i int) { g.taken[i] = true }

// join puts the groups of two nodes together.
func (g *graph) join(i, j int) { g.group[g.groupOf(j)] = g.groupOf(i) }

// groupOf returns the node that stands for the group of node i.
func (g *graph) groupOf(i int) int {
	for g.group[i] != i {
		g.group[i] = g.group[g.group[i]]
		i = g.group[i]
	}
	return i
}

// units are the nodes of a graph in which each group and each part is one.
type units struct {
	of    []int   // of each node
	nodes [][]int // of each unit
	deps  [][]int // without itself; some may be there twice
	mine  []bool  // those of the backend that is asked
	apart []bool  // of these, those that are parts of their own
}

// units makes the units of g.
func (g *graph) units() *units {
	u := &units{of: make([]int, g.count)}
	known := map[int]int{}
	for i := range g.count {
		key := i
		switch {
		case g.part[i] >= 0:
			key = -1 - g.part[i]
		case g.taken[i]:
			key = g.groupOf(i)
		}
		k, ok := known[key]
		if !ok {
			k = len(u.nodes)
			known[key] = k
			u.nodes, u.mine = append(u.nodes, nil), append(u.mine, g.taken[i] && g.part[i] < 0)
			u.apart = append(u.apart, false)
		}
		u.of[i] = k
		u.apart[k] = u.apart[k] || u.mine[k] && g.apart[i]
		u.nodes[k] = append(u.nodes[k], i)
	}
	u.deps = make([][]int, len(u.nodes))
	for i, deps := range g.deps {
		for _, d := range deps {
			if k := u.of[i]; u.of[d] != k {
				u.deps[k] = append(u.deps[k], u.of[d])
			}
		}
	}
	return u
}

// components returns the units that wait for one another, in lists, each behind those that it waits
// for: Tarjan's strongly connected components.
func (u *units) components() (all [][]int) {
	n := len(u.deps)
	number, low, next := make([]int, n), make([]int, n), make([]int, n)
	open := make([]bool, n) // on stack
	var stack, path []int
	count := 0
	for root := range n {
		if number[root] != 0 {
			continue
		}
		path = append(path[:0], root)
		for len(path) > 0 {
			k := path[len(path)-1]
			if number[k] == 0 {
				count++
				number[k], low[k], open[k] = count, count, true
				stack = append(stack, k)
			}
			if next[k] < len(u.deps[k]) {
				d := u.deps[k][next[k]]
				next[k]++
				if number[d] == 0 {
					path = append(path, d)
				} else if open[d] {
					low[k] = min(low[k], number[d])
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				up := path[len(path)-1]
				low[up] = min(low[up], low[k])
			}
			if low[k] != number[k] {
				continue
			}
			at := len(stack) - 1
			for stack[at] != k {
				at--
			}
			for _, d := range stack[at:] {
				open[d] = false
			}
			all = append(all, slices.Clone(stack[at:]))
			stack = stack[:at]
		}
	}
	return all
}

// settle makes parts of what the backend took, as few as can be, in which no part waits for its own
// results. It returns the nodes of groups that cannot be in one part, which belong to nobody.
//
// A unit of the backend's is on a level: one more than the highest from which a path leads to it
// that leaves the backend's nodes. The units of a level are a part: a path that leaves a part
// comes back on a higher level only. As many levels as there are need as many parts, so these
// are the fewest.
func (g *graph) settle() (dissolved []int) {
	u := g.units()
	order := u.components()
	for _, c := range order {
		if len(c) == 1 {
			continue
		}
		for _, k := range c {
			if !u.mine[k] || len(u.nodes[k]) == 1 {
				continue
			}
			for _, i := range u.nodes[k] {
				g.taken[i] = false
				dissolved = append(dissolved, i)
			}
		}
	}
	if len(dissolved) > 0 {
		slices.Sort(dissolved)
		u = g.units()
		order = u.components()
	}
	for k, apart := range u.apart { // to the others it is as if it were somebody else's
		if !apart {
			continue
		}
		u.mine[k] = false
		for _, i := range u.nodes[k] {
			g.part[i] = g.parts
		}
		g.parts++
	}
	level := u.levels(order)
	first, last := g.parts, g.parts
	for k, mine := range u.mine {
		if !mine {
			continue
		}
		for _, i := range u.nodes[k] {
			g.part[i] = first + level[k] - 1
		}
		last = max(last, first+level[k])
	}
	g.parts = last
	return dissolved
}

// levels returns the level of each unit: from 1 those of the backend's, 0 for what is before all
// of these. The order has one unit in each list.
func (u *units) levels(order [][]int) []int {
	level := make([]int, len(u.deps))
	users := make([][]int, len(u.deps))
	for _, c := range order {
		k := c[0]
		if u.mine[k] {
			level[k] = 1
		}
		for _, d := range u.deps[k] {
			at := level[d]
			if u.mine[k] && !u.mine[d] {
				at++
			}
			level[k] = max(level[k], at)
			users[d] = append(users[d], k)
		}
	}
	// What reads nothing of its own part may as well be in the part that reads its results: then
	// these do not leave.
	for i := len(order) - 1; i >= 0; i-- {
		k := order[i][0]
		if !u.mine[k] || len(users[k]) == 0 {
			continue
		}
		later := level[users[k][0]]
		for _, x := range users[k] {
			if !u.mine[x] {
				later = 0
			}
			later = min(later, level[x])
		}
		beside := slices.ContainsFunc(u.deps[k], func(d int) bool {
			return u.mine[d] && level[d] == level[k]
		})
		if later > level[k] && !beside {
			level[k] = later
		}
	}
	return level
}

// schedule returns the nodes in an order in which the nodes of a part stand together and nothing
// stands before what it waits for; else it is the order they have.
func (g *graph) schedule() []int {
	g.ask()
	u := g.units()
	var out []int
	done := make([]bool, len(u.deps))
	next := make([]int, len(u.deps))
	for i := range g.count {
		path := []int{u.of[i]}
		for len(path) > 0 {
			k := path[len(path)-1]
			switch {
			case done[k]:
				path = path[:len(path)-1]
			case next[k] < len(u.deps[k]):
				path = append(path, u.deps[k][next[k]])
				next[k]++
			default:
				done[k] = true
				out = append(out, u.nodes[k]...)
			}
		}
	}
	return out
}
