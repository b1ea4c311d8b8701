package lower

import "github.com/etgen/etgen/ir"

// choose decides which candidates to fold.
func (f *folder) choose() {
	for _, group := range f.groups() {
		if f.grown(group) {
			f.chooseSingly(group)
			continue
		}
		for _, n := range group {
			f.fold[n] = true
		}
	}
}

// grown reports whether folding nodes makes the program bigger.
func (f *folder) grown(nodes []*ir.Node) bool {
	stored, freed := f.cost(nodes)
	return stored > f.widening*freed+f.slack
}

// groups returns the candidates that hang together by constants, in order.
func (f *folder) groups() [][]*ir.Node {
	parent := make([]int, len(f.nodes))
	var find func(int) int
	find = func(i int) int {
		if parent[i] != i {
			parent[i] = find(parent[i])
		}
		return parent[i]
	}
	first := map[*ir.Value]int{} // the candidate that a constant was met at
	for i, n := range f.nodes {
		parent[i] = i
		join := func(v *ir.Value) {
			if k, ok := first[v]; ok {
				parent[find(i)] = find(k)
			} else {
				first[v] = i
			}
		}
		operands(n, join)
		for _, v := range n.Outputs {
			if v != nil {
				join(v)
			}
		}
	}
	index := map[int]int{}
	var groups [][]*ir.Node
	for i, n := range f.nodes {
		root := find(i)
		at, ok := index[root]
		if !ok {
			at = len(groups)
			index[root] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], n)
	}
	return groups
}

// cost returns the bytes of the results of nodes that others read, and of the
// constants that others do not.
func (f *folder) cost(nodes []*ir.Node) (stored, freed int64) {
	inside := map[*ir.Value]int{} // uses by nodes
	var order []*ir.Value
	for _, n := range nodes {
		operands(n, func(v *ir.Value) {
			if inside[v] == 0 {
				order = append(order, v)
			}
			inside[v]++
		})
	}
	made := map[*ir.Value]bool{}
	for _, n := range nodes {
		for _, v := range n.Outputs {
			if v == nil {
				continue
			}
			made[v] = true
			if f.uses[v] > inside[v] {
				n, _ := denseBytes(v.Type)
				stored += n
			}
		}
	}
	for _, v := range order {
		if !made[v] && f.uses[v] == inside[v] {
			freed += storedBytes(v)
		}
	}
	return stored, freed
}

// chooseSingly folds those of a group that alone do not make the program
// bigger.
func (f *folder) chooseSingly(group []*ir.Node) {
	left := map[*ir.Value]bool{} // results that stay computed at run time
	for _, n := range group {
		ok := true
		operands(n, func(v *ir.Value) { ok = ok && !left[v] })
		if ok && !f.grown([]*ir.Node{n}) {
			f.fold[n] = true
			continue
		}
		for _, v := range n.Outputs {
			left[v] = true
		}
	}
}
