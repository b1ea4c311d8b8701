// Package plan places the buffers of a compiled program in memory.
//
// It knows nothing of tensors or operators. A [Problem] is a list of plain
// buffers (bytes, alignment, the steps that read and write them), a region
// tree, and pairs of buffers that may lie over one another for the duration of
// one step. A [Plan] gives each buffer a byte offset.
//
//	p := &plan.Problem{
//		Buffers: []plan.Buffer{
//			{Name: "x", Size: 4096, Align: 16, Writes: []int{0}, Reads: []int{1}},
//			{Name: "y", Size: 4096, Align: 16, Writes: []int{1}, Reads: []int{2}},
//		},
//		Shares: []plan.Share{{Step: 1, Dst: 1, Src: 0}},
//	}
//	pl, err := plan.Best{}.Plan(p) // pl.Offsets = [0 0], pl.Size() = 4096
//	err = plan.Check(p, pl)        // on every compile
//
// # Steps
//
// Everything that happens takes a step, numbered 0, 1, 2, … in the order in
// which the program is written down. A step is one kernel call, and a decision
// is a step too: "if p" reads p in a step just before its [Cond] region, and
// "while p" reads p in the last step of its [Test] region. A planned input is
// written by a step that stands for the call's entry, a planned output is read
// by a step that stands for its return.
//
// All buffers a step touches are in memory at once while it runs: a kernel may
// write its outputs and scratch before it has read all its inputs. A Share is
// the exception, granted by a kernel that knows better.
//
// # Reads and writes
//
// A step in Writes replaces the whole buffer; what it held is not wanted after
// that. A step that wants or keeps any of the old bytes (it updates a part, it
// adds to what is there, it may write or not) is in Reads as well. Writes
// through a view that does not cover its root keep the rest of the root; that
// needs no special mention.
//
// This is what makes carried values cheap. In
//
//	loop { t = f(c); c = copy(t) }
//
// c is dead between f's read and the copy, because the copy replaces all of
// it. With the shares (t over c at f) and (c over t at the copy) both lie at
// one place, and whoever emits code for a copy between equal offsets emits
// nothing.
//
// # Regions and lifetimes
//
// The region tree says which step can follow which: a [Body] runs in order, a
// [Loop] repeats, zero times included, and is left after its [Test] (without
// one: before its first step), of a [Cond] one arm runs. A buffer holds its
// memory at a step if the step touches it, or if some execution passes the step
// between a write and a read of what was written. All familiar rules are
// consequences, none is a special case:
//
//   - What a loop captures lives for the whole loop. From any of its steps an
//     execution can come round to the read in the next iteration. That covers
//     arms of a Cond inside the loop that do not use the value.
//   - Arms share memory. No execution passes from one arm to a sibling (in a
//     loop it may: in the next iteration, and then the value is a captured one).
//   - A value from outside whose last read is in arm A is dead in A after that
//     read, and dead in all of arm B, wherever B stands in the linear order:
//     once B has been entered nothing reads the value any more. If it is read
//     after the Cond it is live in all arms.
//   - A result that both arms write is live in each arm from that arm's own
//     write, not from the first in the linear order.
//   - A carried value belongs to the region outside the loop and is live over
//     the back edge; a buffer of the body does not survive it. The field
//     Buffer.Region says which: bytes are forgotten whenever that region is
//     entered anew (for a Loop: at each iteration). Region 0, the zero value, is
//     the whole program and always safe.
//
// # Planners
//
// [Greedy] places by descending size at the lowest free offset, in place over
// a share partner if that costs nothing. [Best] tries several orders and then
// searches exactly for a smaller plan, until it meets the lower bound, proves that
// none is smaller or has used up a fixed amount of work; it is never worse than
// Greedy. [Disjoint] gives each buffer a place
// of its own, the reference for tests that compare a planned program with an
// unplanned one; [Dead] tells them what to poison when. All are deterministic.
//
// # Order
//
// [Order] finds an order of the steps in which less is alive at once, for those who may
// choose it.
//
// # Checks
//
// [Check] does not use the planner's notion of a lifetime. It follows the
// program, with the plan at hand, and asks at every read whether another write
// may have destroyed the bytes. [LowerBound] states what no plan can go below,
// and [NewReport] holds a plan against it.
package plan
