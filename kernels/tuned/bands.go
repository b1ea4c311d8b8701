package tuned

import (
	"slices"

	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/ops"
)

// Rows are a band of a convolution: of its results, and of its image from the
// first row on that they see, or that there is.
type Rows struct {
	In, Out int64
	Pad     int64 // rows of zeros that the first result sees before the image
}

// Window says how results of a convolution see the rows of its image, of which
// there are In: result p sees Reach rows from p·Stride-Pad on. Out are the rows of
// results.
type Window struct{ In, Out, Stride, Reach, Pad int64 }

// WindowOf returns the window of a convolution of one image, if its rows are
// numbers that are known.
func WindowOf(c *ops.Call, t Target) (w Window, ok bool) {
	cv := convolutionOf(&Request{Call: c})
	if cv == nil {
		if bytes := int8Of(&Request{Call: c, Target: t}); bytes != nil && !bytes.linear {
			cv = &bytes.convolution
		}
	}
	if cv == nil || !cv.batch.Is(1) || len(c.Outs[0].Sizes) != 4 {
		return w, false
	}
	rows := cv.rows
	for _, f := range []struct {
		to *int64
		of sym.Expr
	}{
		{&w.In, rows.in}, {&w.Out, rows.out}, {&w.Stride, rows.stride}, {&w.Pad, rows.pad},
		{&w.Reach, sym.Add(sym.Mul(sym.Int(int64(rows.kernel-1)), rows.dilation), sym.Int(1))},
	} {
		if *f.to, ok = f.of.Const(); !ok {
			return w, false
		}
	}
	return w, w.In > 0 && w.Out > 0
}

// Bands returns the instances that compute the results of in band by band, or
// nil if its kernel cannot, or would take the sum of some result in another
// order. r is what in was selected for, and whole its window. made are the instances
// for rows of calls that differ from this one in constants alone; Bands adds to it.
func Bands(in *Instance, whole Window, r *Request, bands []Rows,
	made map[Rows]*Instance) []*Instance {
	if in.Kernel.ScalarBands && r.Target.vectors() {
		return nil
	}
	if r.Out == nil || in.Kernel.InBands == nil || !in.Kernel.InBands(in, whole, bands) {
		return nil
	}
	own := map[Rows]*Instance{}
	var out []*Instance
	for _, rows := range bands {
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
			part.Kernel, part.Epilogue, part.Packed, part.Begun, part.Divided = in.Kernel,
				in.Epilogue, in.Packed, in.Begun, in.Divided
			own[rows] = &part
		}
		out = append(out, own[rows])
	}
	return out
}

// tileRows are the most rows of results that a tile has on some machine: tiles
// of one row alone may sum in another order than others.
var tileRows = []int64{2, 6, rowsMax}

// eachAlone is Kernel.InBands of kernels whose results are sums by themselves,
// wherever they stand in a tile.
func eachAlone(*Instance, Window, []Rows) bool { return true }

// flatInBands is that of kernels whose tiles run along all pixels.
func flatInBands(in *Instance, whole Window, bands []Rows) bool {
	columns, static := in.param("out_w").Const()
	rows, known := in.param("out_h").Const()
	if !static || !known {
		return false
	}
	return rows == whole.Out || flatAlone(columns/whole.Out, whole, bands)
}

// edgesInBands is that of ConvEdges.
func edgesInBands(in *Instance, whole Window, bands []Rows) bool {
	kernel, static := in.param("kernel_h").Const()
	dilation, known := in.param("dilation_h").Const()
	return static && known && edgesAlone(whole, kernel, dilation, bands)
}

// lanesInBands is that of DepthwiseLanes: Go's windows take the same columns
// downwards in bands as in whole, in another order of taps: fewer than there are
// rows, and than a tile may have.
func lanesInBands(in *Instance, whole Window, bands []Rows) bool {
	const most = 6
	columns, _ := in.param("out_w").Const()
	taps, _ := in.param("kernel_w").Const()
	apart, _ := in.param("dilation_w").Const()
	wide := columns-2*taps*apart >= most // that see all taps: at least so many
	for _, band := range bands {
		if min(band.Out, most) != min(whole.Out, most) && !(wide && band.Out > 1) {
			return false
		}
	}
	return true
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

// flatAlone reports whether tiles along all pixels of bands of rows of so many
// columns leave one alone where those of the whole image do: at its end.
func flatAlone(columns int64, whole Window, bands []Rows) bool {
	for _, most := range tileRows {
		for i, band := range bands {
			want := i == len(bands)-1 && lastAlone(whole.Out*columns, most)
			if lastAlone(band.Out*columns, most) != want {
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
// bands as in whole: those at the left and right edges, whose tiles go downwards.
func edgesAlone(whole Window, kernel, dilation int64, bands []Rows) bool {
	for _, most := range tileRows[1:] { // of two rows none goes downwards
		var parts []bool
		for _, band := range bands {
			w := Window{In: band.In, Out: band.Out, Stride: whole.Stride, Reach: whole.Reach,
				Pad: band.Pad}
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
