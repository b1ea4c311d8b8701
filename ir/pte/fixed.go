package pte

// FixedBools returns the bools, by index in Values, that neither an instruction
// nor the caller changes, with what they are: a jump on one of them is decided.
func (ep *ExecutionPlan) FixedBools() map[int32]bool {
	fixed := map[int32]bool{}
	for i, v := range ep.Values {
		if b, ok := v.(Bool); ok {
			fixed[int32(i)] = bool(b)
		}
	}
	for _, i := range ep.Inputs {
		delete(fixed, i)
	}
	for _, c := range ep.Chains {
		for _, in := range c.Instructions {
			switch in := in.(type) {
			case KernelCall:
				if n := len(in.Args); n > 0 { // the result
					delete(fixed, in.Args[n-1])
				}
			case DelegateCall:
				for _, a := range in.Args {
					delete(fixed, a)
				}
			case MoveCall:
				delete(fixed, in.To)
			}
		}
	}
	return fixed
}
