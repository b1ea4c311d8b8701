package tuned

// Rates are how many instructions a microcontroller executes, on average over the networks of
// golden/boards, compiled with gcc -O3, and how much code it has. A test there says how far
// estimates by them are from what is counted. They are for reports: kernels are chosen by
// [Instance.Cost] and [Instance.Instructions].
type Rates struct {
	Operation float64 // an operation of a loop, as schedule.Work counts them
	Whole     float64 // one of a loop that has no floats, where a processor does not compute with them
	Code      float64 // bytes of machine code for a character of C
	Floats    bool    // floats have rates: the processor computes with them
	floats    rate
	bytes     rate
}

// rate is how many instructions a kernel takes.
type rate struct {
	product float64 // for a multiply-accumulate of matrices or convolutions
	alone   float64 // for one of a product of a single row
	window  float64 // for one of a kernel that has a window for each channel
	result  float64 // besides, for a result
}

// Rates are those of a target, nil if it is a host, which has none.
func (t Target) Rates() *Rates {
	m := t.Machine
	switch {
	case !t.Scarce():
		return nil
	case m.MVE:
		return &Rates{Operation: 7, Code: 0.4, Floats: true,
			floats: rate{product: 0.8, alone: 1.1, window: 1.4, result: 20},
			bytes:  rate{product: 0.19, alone: 0.08, window: 0.9, result: 27}}
	case m.DSP:
		r := &Rates{Operation: 7, Code: 0.4, Floats: true,
			floats: rate{product: 1.6, alone: 2.6, window: 3.8, result: 35},
			bytes:  rate{product: 1.5, alone: 1.45, window: 7.5, result: 35}}
		if t.Speed {
			r.bytes = rate{product: 0.95, alone: 1.45, window: 3.5, result: 28}
		}
		return r
	case m.Low:
		return &Rates{Operation: 40, Whole: 2.2, Code: 0.85,
			bytes: rate{product: 6.5, alone: 6.5, window: 24, result: 80}}
	}
	return &Rates{Operation: 30, Whole: 0.9, Code: 0.85,
		bytes: rate{product: 3.3, alone: 3.3, window: 11, result: 55}}
}

// Instructions estimates what a call of an instance executes for so many multiply-accumulates,
// results, and rows or places of results.
func (r *Rates) Instructions(in *Instance, macs, results, rows int64) float64 {
	x := r.floats
	if in.MultipliesIntegers() {
		x = r.bytes
	}
	each := x.product
	switch {
	case in.Kernel.Windows:
		each = x.window
	case rows == 1:
		each = x.alone
	}
	return each*float64(macs) + (x.result+r.Operation*float64(in.Within))*float64(results)
}
