package tuned

// Target is what a program is compiled for.
type Target struct {
	Language *Language
	Machine  *Machine
	Speed    bool // optimise for speed rather than size
	// parts that kernels are divided into, which need memory each; 0 and 1: none
	Threads     int
	DividedFrom float64 // multiply-accumulates of the smallest kernel that is worth dividing
}

// WorthThreads is Target.DividedFrom on hosts. It was measured with kernels of small
// networks in two goroutines of which one watches for the next kernel, on a loaded
// machine: those of half a million multiply-accumulates, which take 5 or 6 µs, came
// out as fast as before, those of a million and more 1.2 to 1.7 times as fast. A call
// pays some 10 µs besides for starting a goroutine, which these kernels earn.
const WorthThreads = 1_000_000

// WorthAssembly is how many multiply-accumulates the calls of a program are to have in all
// for which it carries assembly of Go's kernels. It was measured with products of one row:
// those of 64 take 0.11 µs without and 0.12 with it, of 128 0.17 and 0.12, and of more a
// nanosecond each without.
const WorthAssembly = 128

// Running returns the target of code that runs where it is made: Go's kernels, for speed.
func Running() Target { return Target{Language: Go, Machine: machines[0], Speed: true} }

// tile returns the register tile for t. It depends on nothing else, so that all
// kernels of a program have the same.
func (t Target) tile() Tile {
	if t.Language.Tile != nil {
		return *t.Language.Tile
	}
	return t.Machine.Tile
}

// BytesTile is the tile of kernels of bytes. Those have text for vectors where time counts alone:
// it is written for another packing of weights.
func (t Target) BytesTile() Tile {
	tile := t.tile()
	tile.Vector = tile.Vector && ChannelsLast(t)
	return tile
}

// vectors reports whether kernels may use vectors: as the machine is known to have them,
// or as they find.
func (t Target) vectors() bool { return t.Language.FindsVectors || t.tile().Vector }

// Wide reports whether the kernels of a target may use the widest vectors there are. The
// alignment of memory matters to these.
func Wide(t Target) bool { return t.Speed && t.tile().Vector }

// Scarce reports whether memory is scarcer than time: see Machine.Microcontroller.
func (t Target) Scarce() bool {
	return t.Machine.Microcontroller && t.Machine.For(t.Language)
}
