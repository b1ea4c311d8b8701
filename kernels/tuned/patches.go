package tuned

import (
	"math"
	"slices"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// Rows are a patch of a convolution: of its results, and of its image from the
// first row on that they see, or that there is.
type Rows struct {
	In, Out int64
	Pad     int64 // rows of zeros that the first result sees before the image
	Pixels  bool  // rows are of one pixel
}

// Window says how results of a convolution see the rows of its image, of which
// there are In: result p sees Reach rows from p·Stride-Pad on. Out are the rows of
// results.
type Window struct {
	In, Out, Stride, Reach, Pad int64
	Pixels                      bool // rows are of one pixel
}

// WindowOf returns the window of a convolution of one image, if its rows are
// numbers that are known; with pixels, as if each pixel were a row, if each result sees the one
// where it is.
func WindowOf(c *ops.Call, t Target, pixels bool) (w Window, ok bool) {
	cv := floatConvolution(&Request{Call: c})
	if cv == nil || cv.transposed {
		cv = nil
		if bytes := int8Of(&Request{Call: c, Target: t}); bytes != nil && !bytes.linear {
			cv = &bytes.convolution
		}
	}
	if cv == nil || !cv.batch.Is(1) || len(c.Outs[0].Sizes) != 4 {
		return w, false
	}
	if pixels {
		n, ok := cv.axes[1].out.Const()
		return Window{In: n, Out: n, Stride: 1, Reach: 1, Pixels: true}, ok && cv.point && n > 0
	}
	rows := cv.rows
	for _, f := range []struct {
		to *int64
		of sym.Expr
	}{
		{&w.In, rows.in}, {&w.Out, rows.out}, {&w.Stride, rows.stride}, {&w.Pad, rows.pad},
		{&w.Reach, sym.Add(sym.Mul(num(rows.kernel-1), rows.dilation), sym.Int(1))},
	} {
		if *f.to, ok = f.of.Const(); !ok {
			return w, false
		}
	}
	return w, w.In > 0 && w.Out > 0
}

// Patches returns the instances that compute the results of in patch by patch, or
// nil if its kernel cannot, or would take the sum of some result in another
// order. r is what in was selected for, and whole its window. made are the instances
// for rows of calls that differ from this one in constants alone; Patches adds to it.
func Patches(in *Instance, whole Window, r *Request, patches []Rows,
	made map[Rows]*Instance) []*Instance {
	if in.Kernel.ScalarPatches && r.Target.vectors() {
		return nil
	}
	if r.Out == nil || in.Kernel.InPatches == nil || !in.Kernel.InPatches(in, whole, patches) {
		return nil
	}
	own := map[Rows]*Instance{}
	var out []*Instance
	for _, rows := range patches {
		if own[rows] == nil {
			if made[rows] == nil {
				ask := *r
				ask.Rows, ask.read = &rows, false
				ask.Later = func(int) bool { return true } // they are packed already
				if made[rows] = in.Kernel.Match(&ask); made[rows] == nil {
					return nil
				}
			}
			part := *made[rows]
			if !slices.EqualFunc(part.Packed, in.Packed, samePanels) ||
				in.Scratch.IsZero() && !part.Scratch.IsZero() {
				return nil
			}
			part.become(in)
			own[rows] = &part
		}
		out = append(out, own[rows])
	}
	return out
}

// Spare returns the instance that makes the results of in with the least memory, or nil if there
// is no other. r is what in was selected for; made, if not nil, is that of a call that differs from
// this one in constants alone.
func Spare(in *Instance, r *Request, made *Instance) *Instance {
	if made == nil {
		ask := *r
		ask.Spare, ask.read = true, false
		ask.Later = func(int) bool { return true } // they are packed already
		if made = in.Kernel.Match(&ask); made == nil {
			return nil
		}
	}
	other := *made
	other.become(in)
	if slices.EqualFunc(other.Params, in.Params, func(a, b Param) bool {
		return a.Value.Equal(b.Value)
	}) {
		return nil
	}
	return &other
}

// become gives in what is not its own but the call's, as another instance for it has.
func (in *Instance) become(other *Instance) {
	in.Kernel, in.Epilogue, in.Packed, in.Begun, in.Divided = other.Kernel, other.Epilogue,
		other.Packed, other.Begun, other.Divided
}

// samePanels reports whether a and b are packed alike.
func samePanels(a, b Packed) bool {
	return (a.Panels == nil) == (b.Panels == nil) && (a.Panels == nil || *a.Panels == *b.Panels)
}

// tileRows are the most rows of results that a tile has on some machine: tiles
// of one row alone may sum in another order than others.
var tileRows = []int64{2, 6, rowsMax}

// eachAlone is Kernel.InPatches of kernels whose results are sums by themselves,
// wherever they stand in a tile.
func eachAlone(*Instance, Window, []Rows) bool { return true }

// flatInPatches is that of kernels whose tiles run along all pixels.
func flatInPatches(in *Instance, whole Window, patches []Rows) bool {
	columns, static := in.param("out_w").Const()
	rows, known := in.param("out_h").Const()
	if !static || !known {
		return false
	}
	return rows == whole.Out || flatAlone(columns/whole.Out, whole, patches)
}

// edgesInPatches is that of ConvEdges.
func edgesInPatches(in *Instance, whole Window, patches []Rows) bool {
	kernel, static := in.param("kernel_h").Const()
	dilation, known := in.param("dilation_h").Const()
	return static && known && edgesAlone(whole, kernel, dilation, patches)
}

// depthwiseInPatches is that of DepthwiseRows. In C results are sums by themselves. Go's
// windows take the same columns downwards in patches as in whole, in another order of
// taps: fewer than there are rows, and than a tile may have.
func depthwiseInPatches(in *Instance, whole Window, patches []Rows) bool {
	if in.Form != depthwiseLanes {
		return true
	}
	const most = 6
	columns, _ := in.param("out_w").Const()
	taps, _ := in.param("kernel_w").Const()
	apart, _ := in.param("dilation_w").Const()
	wide := columns-2*taps*apart >= most // that see all taps: at least so many
	return !slices.ContainsFunc(patches, func(patch Rows) bool {
		return min(patch.Out, most) != min(whole.Out, most) && !(wide && patch.Out > 1)
	})
}

// param returns the value of a parameter.
func (in *Instance) param(name string) sym.Expr {
	for _, p := range in.Params {
		if p.Name == name {
			return p.Value
		}
	}
	return sym.Expr{}
}

// flatAlone reports whether tiles along all pixels of patches of rows of so many
// columns leave one alone where those of the whole image do: at its end.
func flatAlone(columns int64, whole Window, patches []Rows) bool {
	for _, most := range tileRows {
		for i, patch := range patches {
			want := i == len(patches)-1 && lastAlone(whole.Out*columns, most)
			if lastAlone(patch.Out*columns, most) != want {
				return false
			}
		}
	}
	return true
}

// lastAlone reports whether the last of equal tiles of n results has one.
func lastAlone(n, most int64) bool {
	length := TileLength(n, most)
	return (n-1)%length == 0
}

// TileLength is the length of the tiles of equal length, at most of so many, that
// kernels take n results in.
func TileLength(n, most int64) int64 {
	tiles := (n + most - 1) / most
	return (n + tiles - 1) / tiles
}

// edgesAlone reports whether ConvEdges takes the same rows of results alone in
// patches as in whole: those at the left and right edges, whose tiles go downwards.
func edgesAlone(whole Window, kernel, dilation int64, patches []Rows) bool {
	for _, most := range tileRows[1:] { // of two rows none goes downwards
		var parts []bool
		for _, patch := range patches {
			w := Window{In: patch.In, Out: patch.Out, Stride: whole.Stride, Reach: whole.Reach,
				Pad: patch.Pad}
			parts = append(parts, w.alone(kernel, dilation, most)...)
		}
		if !slices.Equal(parts, whole.alone(kernel, dilation, most)) {
			return false
		}
	}
	return true
}

// alone tells of every row of results whether it is a tile by itself, where rows
// are tiles that see all of the taps, and of the others each is one.
func (w Window) alone(kernel, dilation, most int64) []bool {
	out := make([]bool, 0, w.Out)
	for p := int64(0); p < w.Out; {
		n := int64(1)
		if at := p*w.Stride - w.Pad; at >= 0 && at+(kernel-1)*dilation < w.In {
			n = TileLength(min(w.Out-p, (w.In-1-at-(kernel-1)*dilation)/w.Stride+1), most)
		}
		for range n {
			out = append(out, n == 1)
		}
		p += n
	}
	return out
}

// What kernels for microcontrollers do besides their products, in instructions of a
// Cortex-M4, as counted in an emulator: whole networks take 1.4 times as many as
// Instructions says, and patches change them as it says within a few percent.
const (
	Moved   = 4 // of an element that a patch leaves to the next
	perTile = 60
	perCall = 100
	perByte = 3   // of each product of kernels without tiling, those of bytes
	perCopy = 60  // of what these copy for a result
	perKept = 1.5 // of a byte of the rows that they keep
)

// tiling is how a kernel of convolution without vectors makes a row of results.
type tiling struct {
	size     float64 // results in a tile
	blocks   float64 // tiles side by side
	together float64 // instructions for each product of a tile
	alone    float64 // and of a result alone
	pair     float64 // and of a tile of two results, of those left over; 0: there is none
	overlap  bool    // the last tile of a row may lie over the one before, so none is left over
	even     bool    // all results of a row, whatever they see, are in tiles of about equal length
}

// slidingTiles are those of DepthwiseConv2D.
func slidingTiles(in *Instance) tiling {
	t := windowTiles(in)
	if in.Form == depthwiseThree {
		t.size, t.together, t.even = 16, 3, true
	}
	return t
}

// windowTiles are those of a kernel with a window for each channel.
func windowTiles(in *Instance) tiling {
	size := float64(in.Tile.Cols)
	return tiling{size: size, blocks: in.number("channels") * in.number("multiplier"),
		together: (2*size + 4) / size, alone: 5, overlap: true}
}

// pairedTiles are productTiles with tiles of two rows of what is left over.
func pairedTiles(in *Instance) tiling {
	t, wide := productTiles(in), float64(in.Tile.Cols)
	if in.Tile.Pairs() {
		t.pair, t.alone = (2+3*wide+3)/(2*wide), (1+2*wide+1)/wide
	}
	return t
}

// productTiles are those of a kernel that multiplies rows with columns of weights.
func productTiles(in *Instance) tiling {
	size, wide := float64(in.Tile.Rows), float64(in.Tile.Cols)
	blocks := math.Ceil(in.number("out_channels")/wide) * in.number("groups")
	return tiling{size: size, blocks: blocks,
		together: (size + wide + size*wide + 3) / (size * wide), alone: (2*wide + 4) / wide}
}

// row returns how many tiles, pairs and results made alone a row has, inner of whose cols results
// see all taps.
func (t tiling) row(inner, cols float64) (tiles, pairs, alone float64) {
	switch {
	case t.even:
		return math.Ceil(cols / t.size), 0, 0
	case !t.overlap:
		tiles = math.Floor(inner / t.size)
		if t.pair > 0 {
			pairs = math.Floor((inner - tiles*t.size) / 2)
		}
		return tiles, pairs, cols - tiles*t.size - 2*pairs
	case inner < t.size:
		return 0, 0, cols
	}
	return math.Ceil(inner / t.size), 0, cols - inner
}

// Instructions estimates what the kernel of a convolution takes on a
// microcontroller. Results that have not enough neighbours in a row, or a patch of
// rows, are made alone, with more instructions for each product.
func (in *Instance) Instructions() float64 {
	var t tiling
	if in.Kernel.tiling != nil {
		t = in.Kernel.tiling(in)
	}
	if t.size == 0 {
		return perCall + perByte*cost(in.MACs) + in.Spent
	}
	rows, cols := in.number("out_h"), in.number("out_w")
	tiles, pairs, alone := t.row(max(0, in.number("interior_end")-in.number("interior_begin")), cols)
	products := cost(in.MACs) / (rows * cols)
	whole := tiles * t.size
	if t.even {
		whole = cols
	}
	each := (whole*t.together + 2*pairs*t.pair + alone*t.alone) * products
	return perCall + rows*(each+(tiles+pairs+alone)*t.blocks*perTile)
}

// number is an integer parameter, the largest value if it is not constant.
func (in *Instance) number(name string) float64 { return cost(in.param(name)) }

// secondCache is the bytes of the cache behind the first that kernels for hosts
// count on.
const secondCache = 1 << 20

// What patches of rows cost and save on a host, in nanoseconds, as measured on a
// machine of 3.6 GHz whose second cache reads 115 GB/s and writes 58, and whose
// third does 30 of either: MobileNetV2's blocks of 112, 56 and 28 rows, in patches
// of 1 to 28, agree with it within a tenth of what they gain.
const (
	missedByte = 1/30.0 - 1/115.0 // written to or read from the third cache instead of the second
	copiedByte = 1/115.0 + 1/58.0 // moved within the second cache
	patchCall  = 150              // a call more of a kernel: its prologue, tiles that are not full
	macTime    = 1 / 80.0         // a multiply-accumulate of the best tiles
	leastGain  = 5000             // that is worth three calls in the program instead of one
)

// PatchCost is what is known of calls that may be made patch by patch.
type PatchCost struct {
	Calls   int     // of kernels in a patch
	Shared  int     // of these, how many are divided among threads
	Patches int64   // number
	Images  []int64 // bytes of what lies between the calls
	Held    int64   // bytes of it that a patch has in memory
	Copied  int64   // bytes of it that a patch leaves to the next
}

// Gain estimates how many nanoseconds patches save, less than nothing if they
// cost some. What a patch holds has to stay in the second cache.
func (t Target) Gain(c PatchCost) float64 {
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
	more := float64(c.Patches - 1)
	spent := more * (patchCall*float64(c.Calls) + copiedByte*float64(c.Copied))
	if t.Threads > 1 { // who wait for each other after each call
		spent += more * float64(c.Shared) * t.DividedFrom * macTime
	}
	return saved - spent - leastGain
}
