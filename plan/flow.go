package plan

// flow is the control-flow graph of the region tree: a node per step, and an
// entry and an exit node per region that stand for no step. An edge says that
// control can pass directly from one node to the other.
type flow struct {
	steps int
	succ  [][]int32
	pred  [][]int32
}

func (f *flow) entry(region int) int32 { return int32(f.steps + 2*region) }
func (f *flow) exit(region int) int32  { return int32(f.steps + 2*region + 1) }

func (f *flow) edge(from, to int32) {
	f.succ[from] = append(f.succ[from], to)
	f.pred[to] = append(f.pred[to], from)
}

// newFlow builds the graph of a valid region tree.
func newFlow(regions []Region) *flow {
	steps := regions[0].Last + 1
	nodes := steps + 2*len(regions)
	f := &flow{steps: steps, succ: make([][]int32, nodes), pred: make([][]int32, nodes)}
	children := make([][]int, len(regions))
	for i, r := range regions[1:] {
		children[r.Parent] = append(children[r.Parent], i+1)
	}
	for i, r := range regions {
		if r.Kind == Cond {
			for _, c := range children[i] {
				f.edge(f.entry(i), f.entry(c))
				f.edge(f.exit(c), f.exit(i))
			}
			continue
		}
		// The items in step order, each following the one before.
		at, step := f.entry(i), r.First
		for _, c := range children[i] {
			for ; step < regions[c].First; step++ {
				f.edge(at, int32(step))
				at = int32(step)
			}
			f.edge(at, f.entry(c))
			at, step = f.exit(c), regions[c].Last+1
		}
		for ; step <= r.Last; step++ {
			f.edge(at, int32(step))
			at = int32(step)
		}
		if r.Kind != Loop {
			f.edge(at, f.exit(i))
			continue
		}
		f.edge(at, f.entry(i)) // the back edge
		leave := f.entry(i)
		if len(children[i]) > 0 && regions[children[i][0]].Kind == Test {
			leave = f.exit(children[i][0])
		}
		f.edge(leave, f.exit(i))
	}
	return f
}

// nextSteps lists, for each step, the steps that can run directly after it.
func (f *flow) nextSteps() [][]int {
	next := make([][]int, f.steps)
	seen := make([]int, len(f.succ)) // 1 + the step on whose behalf the node was seen
	var stack []int32
	for s := range next {
		stack = append(stack[:0], int32(s))
		for len(stack) > 0 {
			n := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, q := range f.succ[n] {
				switch {
				case seen[q] == s+1:
					continue
				case int(q) < f.steps:
					next[s] = append(next[s], int(q))
				default:
					stack = append(stack, q)
				}
				seen[q] = s + 1
			}
		}
	}
	return next
}
