package plan

// The reason of a bound is a set of placed items. Most follow from one alone,
// whose number stands for the set; others have a set in fitting.reasons, and -2-i
// stands for the one that begins there at word i.
const nothing = -1

// reason gives an item that was saved a new reason, which contains the one that it had.
func (x *fitting) reason(k int) []uint64 {
	n := len(x.reasons)
	for range x.words {
		x.reasons = append(x.reasons, 0)
	}
	set := x.reasons[n:]
	x.because(set, x.why[k])
	x.why[k] = -2 - n
	return set
}

// drop gives an item back the reason that it had before.
func (x *fitting) drop(k, why int) {
	if now := x.why[k]; now <= -2 && now != why {
		x.reasons = x.reasons[:-2-now]
	}
	x.why[k] = why
}

// because adds a reason to a set.
func (x *fitting) because(set []uint64, why int) {
	switch {
	case why >= 0:
		set[why/64] |= 1 << (why % 64)
	case why <= -2:
		for i, w := range x.reasons[-2-why : -2-why+x.words] {
			set[i] |= w
		}
	}
}

// explain adds to a set what follows from what is near an item: what is placed
// there, and why no other lies lower than its bound.
func (x *fitting) explain(set []uint64, k int) {
	x.because(set, x.why[k])
	for i := range x.items[k].near {
		q := x.items[k].near[i].to
		if x.at[q] >= 0 {
			x.because(set, q)
		} else {
			x.because(set, x.why[q])
		}
	}
	x.work.left -= len(x.items[k].near)
}

// take removes an item from a set and reports whether it was in it.
func take(set []uint64, k int) bool {
	bit := uint64(1) << (k % 64)
	was := set[k/64]&bit != 0
	set[k/64] &^= bit
	return was
}
