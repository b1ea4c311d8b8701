package tuned

// secondCache is the bytes of the cache behind the first that kernels for hosts
// count on.
const secondCache = 1 << 20

// What bands of rows cost and save on a host, in nanoseconds, as measured on a
// machine of 3.6 GHz whose second cache reads 115 GB/s and writes 58, and whose
// third does 30 of either: MobileNetV2's blocks of 112, 56 and 28 rows, in bands
// of 1 to 28, agree with it within a tenth of what they gain.
const (
	missedByte = 1/30.0 - 1/115.0 // written to or read from the third cache instead of the second
	copiedByte = 1/115.0 + 1/58.0 // moved within the second cache
	bandCall   = 150              // a call more of a kernel: its prologue, tiles that are not full
	macTime    = 1 / 80.0         // a multiply-accumulate of the best tiles
	leastGain  = 5000             // that is worth three calls in the program instead of one
)

// BandCost is what is known of calls that may be made band by band.
type BandCost struct {
	Calls  int     // of kernels in a band
	Shared int     // of these, how many are divided among threads
	Bands  int64   // number
	Images []int64 // bytes of what lies between the calls
	Held   int64   // bytes of it that a band has in memory
	Copied int64   // bytes of it that a band leaves to the next
}

// Gain estimates how many nanoseconds bands save, less than nothing if they
// cost some. What a band holds has to stay in the second cache.
func (t Target) Gain(c BandCost) float64 {
	threads := max(1, t.Threads)
	cache := int64(secondCache)
	if c.Shared > 0 {
		cache *= int64(threads)
	}
	if c.Held > cache {
		return -1
	}
	saved := 0.0
	for _, size := range c.Images {
		saved += 2 * missedByte * float64(max(0, size-cache))
	}
	if c.Shared > 0 {
		saved /= float64(threads)
	}
	more := float64(c.Bands - 1)
	spent := more * (bandCall*float64(c.Calls) + copiedByte*float64(c.Copied))
	if t.Threads > 1 { // who wait for each other after each call
		spent += more * float64(c.Shared) * t.DividedFrom * macTime
	}
	return saved - spent - leastGain
}
