package ops

import (
	"math"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/expr"
	"github.com/etgen/etgen/kernels/loop"
)

// torchvisionOps are torchvision's own operators of detection: which boxes stay, what is in
// regions of an image, and convolutions whose elements lie off the grid.
func torchvisionOps() []entry {
	const regions = "(Tensor input, Tensor rois, float spatial_scale, " +
		"SymInt pooled_height, SymInt pooled_width"
	return []entry{
		{
			Schema: "torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
			Infer: func(c *Call) []ir.Type {
				boxes, scores := c.Tensor("dets"), c.Tensor("scores")
				c.errorIf(boxes.Rank() != 2 || differ(boxes.Sizes[1], sym.Int(4)) || scores.Rank() != 1 ||
					differ(boxes.Sizes[0], scores.Sizes[0]), "boxes and scores of %s",
					sizesOf{boxes, scores})
				c.errorIf(!boxes.DType.IsFloat() || boxes.DType != scores.DType,
					"boxes of %s and scores of %s", boxes.DType, scores.DType)
				return []ir.Type{ir.TensorOf(ir.Int64, c.counted(0, boxes.Sizes[0]))}
			},
			Decompose: func(b *Builder, c *Call) []*ir.Value {
				order := b.Ops("aten.sort.stable", c.Value("scores"), Kw("stable", true), Kw("dim", 0),
					Kw("descending", true))[1]
				boxes := b.aten("index_select", c.Value("dets"), 0, order)
				kept := b.Op("etgen.nms.default", boxes, c.Arg("iou_threshold"))
				at := b.aten("select.int", b.nonzero(kept, c.Outs[0].Sizes[0]), 1, 0)
				return []*ir.Value{b.aten("index_select", order, 0, at)}
			},
		},
		suppression(),
		regionKind{corner: betweenPixels, extent: alignedExtent, body: samplesOf}.op(
			"torchvision::roi_align" + regions + ", int sampling_ratio, bool aligned) -> Tensor"),
		regionKind{spread: true, corner: betweenPixels, extent: alignedExtent, body: samplesOf}.op(
			"torchvision::ps_roi_align" + regions + ", int sampling_ratio) -> (Tensor, Tensor)"),
		regionKind{corner: onPixel, extent: atLeastOne(1), body: largestOfRegion}.op(
			"torchvision::roi_pool" + regions + ") -> (Tensor, Tensor)"),
		regionKind{spread: true, corner: onPixel, extent: atLeastOne(0), body: meanOfRegion}.op(
			"torchvision::ps_roi_pool" + regions + ") -> (Tensor, Tensor)"),
		deformedColumns(),
		{
			Schema: "torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, " +
				"Tensor bias, " + deformation + "SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor",
			Decompose: deformedConvolution,
		},
	}
}

// suppression tells which boxes stay, of boxes in the order of their scores: those that share no
// more than a part of their area with one before that stays.
func suppression() entry {
	return entry{
		Schema: "etgen::nms(Tensor boxes, float iou_threshold) -> Tensor",
		Infer: func(c *Call) []ir.Type {
			t := c.Tensor("boxes")
			c.errorIf(t.Rank() != 2 || differ(t.Sizes[1], sym.Int(4)) || !t.DType.IsFloat(),
				"boxes of %s in %s", t.DType, sizesOf{t})
			return []ir.Type{ir.TensorOf(ir.Bool, t.Sizes[0])}
		},
		Loops: func(c *Call) *loop.Func {
			t := c.Tensor("boxes")
			m, n := opmath(t.DType), t.Sizes[0]
			zero := expr.Num(m, 0)
			side := func(i sym.Expr, k int64) *expr.Expr {
				return expr.Cast(m, expr.At(1, t.DType, sym.Add(sym.Mul(i, sym.Int(4)), sym.Int(k))))
			}
			area := func(i sym.Expr) *expr.Expr {
				return expr.Mul(expr.Sub(side(i, 2), side(i, 0)), expr.Sub(side(i, 3), side(i, 1)))
			}
			stays := func(i sym.Expr, x bool) loop.Stmt {
				return &loop.Store{Buf: 0, At: i, Value: expr.Bool(x)}
			}
			both := func(i, j sym.Expr, k int64) *expr.Expr {
				first := expr.Max(side(i, k), side(j, k))
				return expr.Max(zero, expr.Sub(expr.Min(side(i, k+2), side(j, k+2)), first))
			}
			shared := newCounter("shared", m)
			// The threshold is a float64: a float32 is more than that if it is more than the next
			// one below.
			threshold := must(c.Float("iou_threshold"))
			if m == ir.Float32 && float64(float32(threshold)) > threshold {
				threshold = float64(math.Nextafter32(float32(threshold), float32(math.Inf(-1))))
			}
			limit := expr.Num(m, threshold)
			return &loop.Func{Name: "nms", Bufs: c.buffers(), Body: []loop.Stmt{
				each("z", n, func(i sym.Expr) []loop.Stmt { return []loop.Stmt{stays(i, true)} }),
				each("i", n, func(i sym.Expr) []loop.Stmt {
					return []loop.Stmt{&loop.If{Cond: expr.At(0, ir.Bool, i), Then: []loop.Stmt{
						behind("j", i, n, func(j sym.Expr) []loop.Stmt {
							share := expr.Div(shared.get(), expr.Sub(expr.Add(area(i), area(j)),
								shared.get()))
							return []loop.Stmt{
								shared.fixed(expr.Mul(both(i, j, 0), both(i, j, 1))),
								&loop.If{Cond: expr.Gt(share, limit), Then: []loop.Stmt{stays(j, false)}},
							}
						}),
					}}}
				}),
			}}
		},
	}
}

// A regionKind tells where the bins of regions of interest lie, and what is computed of each.
type regionKind struct {
	spread bool // each bin has channels of its own
	// corner is where a region begins or ends, by its coordinate times the scale.
	corner func(c *Call, x *expr.Expr) *expr.Expr
	// extent is how high or wide a region is, by the distance of its corners.
	extent func(c *Call, n *expr.Expr) *expr.Expr
	body   func(region) []loop.Stmt
}

// aligned reports whether the middle of the first pixel is at ½, not at 0. Only roi_align is asked.
func aligned(c *Call) bool { return c.Op.sch.Index("aligned") < 0 || c.Bool("aligned") }

func betweenPixels(c *Call, x *expr.Expr) *expr.Expr {
	if aligned(c) {
		return expr.Sub(x, like(x, 0.5))
	}
	return x
}

func alignedExtent(c *Call, n *expr.Expr) *expr.Expr {
	if aligned(c) {
		return n
	}
	return expr.Max(n, like(n, 1))
}

func onPixel(_ *Call, x *expr.Expr) *expr.Expr { return awayFromZero(x) }

// atLeastOne counts pixels: one is in a region if extra is added to the distance of its corners.
func atLeastOne(extra float64) func(*Call, *expr.Expr) *expr.Expr {
	return func(_ *Call, n *expr.Expr) *expr.Expr {
		return expr.Max(expr.Add(n, like(n, extra)), like(n, 1))
	}
}

// region is bin i, j of a region of an image. The region begins at y, x; its bins are high and
// wide; in pixels of dtype m.
type region struct {
	c                *Call
	m                ir.DType
	rows, columns    sym.Expr
	plane            sym.Expr // of the image's channel, where it begins in input
	into             sym.Expr // of the bin in the results
	i, j             sym.Expr
	y, x, high, wide *expr.Expr
	spread           bool
}

// op is an operator of that kind. Its second result is for the gradient.
//
//go:noinline
func (k regionKind) op(schema string) entry {
	return entry{
		Schema: schema,
		Infer:  k.infer,
		Loops: func(c *Call) *loop.Func {
			t, out := c.Tensor("input"), c.Outs[0]
			m := opmath(t.DType)
			vars, at := indexVars(out.Sizes)
			value := func(k int64) *expr.Expr {
				return expr.Cast(m, c.flatLoad(c.Operand("rois"), []sym.Expr{at[0], sym.Int(k)}))
			}
			image, bind := c.bindAt("image", value(0), t.Sizes[0], false)
			channel := at[1]
			if k.spread {
				channel = sym.RowMajor([]sym.Expr{t.Sizes[1], out.Sizes[2], out.Sizes[3]}, at[1:])
			}
			local := func(name string) counter { return newCounter(name, m) }
			y, x, high, wide := local("y"), local("x"), local("high"), local("wide")
			corner := func(n int64) *expr.Expr {
				return k.corner(c, expr.Mul(value(n), expr.Num(m, must(c.Float("spatial_scale")))))
			}
			size := func(n int64, from counter, bins sym.Expr) *expr.Expr {
				return expr.Div(k.extent(c, expr.Sub(corner(n), from.get())), expr.Idx(m, bins))
			}
			g := region{c: c, m: m, rows: t.Sizes[2], columns: t.Sizes[3],
				plane: sym.RowMajor(t.Sizes, []sym.Expr{image, channel, sym.Int(0), sym.Int(0)}),
				into:  sym.RowMajor(out.Sizes, at), i: at[2], j: at[3],
				y: y.get(), x: x.get(), high: high.get(), wide: wide.get(), spread: k.spread}
			body := []loop.Stmt{bind, y.fixed(corner(2)), x.fixed(corner(1)),
				high.fixed(size(4, y, out.Sizes[2])), wide.fixed(size(3, x, out.Sizes[3]))}
			if k.spread {
				body = append(body, &loop.Store{Buf: 1, At: g.into, Value: expr.Idx(ir.Int32, channel)})
			}
			_, name, _ := strings.Cut(c.Op.sch.Name, ".")
			return &loop.Func{Name: name, Bufs: c.buffers(),
				Body: nest(vars, append(body, k.body(g)...)...)}
		},
	}
}

func (k regionKind) infer(c *Call) []ir.Type {
	t, r := c.Tensor("input"), c.Tensor("rois")
	c.errorIf(t.Rank() != 4 || r.Rank() != 2 || differ(r.Sizes[1], sym.Int(5)),
		"an input and regions of %s", sizesOf{t, r})
	c.errorIf(!t.DType.IsFloat() || t.DType != r.DType, "an input of %s and regions of %s",
		t.DType, r.DType)
	h, w := must(c.SymInt("pooled_height")), must(c.SymInt("pooled_width"))
	for _, n := range []sym.Expr{h, w, t.Sizes[0], t.Sizes[2], t.Sizes[3]} {
		c.errorIf(sym.Less(n, sym.Int(1)), "bins of %s in images of %s",
			sizesOf{{Sizes: []sym.Expr{h, w}}}, sizesOf{t})
		c.need(n)
	}
	channels := t.Sizes[1]
	if k.spread {
		channels = sym.FloorDiv(channels, sym.Mul(h, w))
		c.errorIf(differ(sym.Mul(channels, h, w), t.Sizes[1]), "%s channels for %s bins", t.Sizes[1],
			sym.Mul(h, w))
	}
	out := ir.TensorOf(t.DType, r.Sizes[0], channels, h, w)
	if len(c.Op.sch.Returns) == 1 {
		return one(out)
	}
	return []ir.Type{out, ir.TensorOf(ir.Int32, out.Sizes...)}
}

// pixel is the input's element at a row and a column.
func (g region) pixel(row, column sym.Expr) *expr.Expr {
	at := sym.Add(g.plane, sym.Mul(row, g.columns), column)
	k := g.c.Operand("input")
	return expr.Cast(g.m, expr.At(len(g.c.Outs)+k, g.c.operands[k].Type.DType, at))
}

// store writes the bin's result.
func (g region) store(x *expr.Expr) loop.Stmt {
	return &loop.Store{Buf: 0, At: g.into, Value: expr.Cast(g.c.Outs[0].DType, x)}
}

// mostSamples ends the loops over the samples of a bin, whatever regions say.
const mostSamples = 1 << 12

// samplesOf is the mean of samples in a bin that lie between pixels. Without a number, there are as
// many along each side as pixels.
func samplesOf(g region) []loop.Stmt {
	ratio := must(g.c.Int("sampling_ratio"))
	count := func(side *expr.Expr) *expr.Expr {
		if ratio > 0 {
			return expr.Int(ir.Int64, min(ratio, mostSamples))
		}
		return expr.Cast(ir.Int64, expr.Min(expr.Ceil(side), expr.Num(g.m, mostSamples)))
	}
	number := func(name string) counter { return newCounter(name, ir.Int64) }
	high, wide, row, column := number("rows"), number("columns"), number("row"), number("column")
	sum, y, x := newCounter("sum", g.m), newCounter("at_y", g.m), newCounter("at_x", g.m)
	zero, one := expr.Int(ir.Int64, 0), expr.Num(g.m, 1)
	place := func(start, side *expr.Expr, bin sym.Expr, k, n counter) *expr.Expr {
		inBin := expr.Div(expr.Mul(expr.Add(expr.Cast(g.m, k.get()), expr.Num(g.m, 0.5)), side),
			expr.Cast(g.m, n.get()))
		return expr.Add(expr.Add(start, expr.Mul(expr.Idx(g.m, bin), side)), inBin)
	}
	outside := func(at *expr.Expr, n sym.Expr) *expr.Expr {
		return expr.Or(expr.Lt(at, expr.Neg(one)), expr.Gt(at, expr.Idx(g.m, n)))
	}
	// Two neighbours along each side, and how far the sample is behind the first.
	type pair struct {
		first, second sym.Expr
		behind        *expr.Expr
	}
	var binds []loop.Stmt
	pairOf := func(name string, at *expr.Expr, n sym.Expr) pair {
		at = expr.Max(at, expr.Num(g.m, 0))
		low := expr.Min(expr.Floor(at), expr.Idx(g.m, sym.Sub(n, sym.Int(1))))
		first, bind := clampedAt(name+"_first", low, n, false)
		second, bind2 := clampedAt(name+"_second", expr.Add(low, one), n, false)
		binds = append(binds, bind, bind2)
		inside := expr.Lt(low, expr.Idx(g.m, sym.Sub(n, sym.Int(1))))
		return pair{first, second, expr.Select(inside, expr.Sub(at, low), expr.Num(g.m, 0))}
	}
	py, px := pairOf("y", y.get(), g.rows), pairOf("x", x.get(), g.columns)
	before := func(p pair) *expr.Expr { return expr.Sub(one, p.behind) }
	var sample *expr.Expr
	for _, t := range []struct {
		row, column sym.Expr
		w           *expr.Expr
	}{
		{py.first, px.first, expr.Mul(before(py), before(px))},
		{py.first, px.second, expr.Mul(before(py), px.behind)},
		{py.second, px.first, expr.Mul(py.behind, before(px))},
		{py.second, px.second, expr.Mul(py.behind, px.behind)},
	} {
		v := expr.Mul(t.w, g.pixel(t.row, t.column))
		if sample != nil {
			v = expr.Add(sample, v)
		}
		sample = v
	}
	inner := []loop.Stmt{
		x.fixed(place(g.x, g.wide, g.j, column, wide)), column.add(1),
		&loop.If{Cond: expr.Not(expr.Or(outside(y.get(), g.rows), outside(x.get(), g.columns))),
			Then: append(binds, sum.plus(sample))},
	}
	all := expr.Mul(high.get(), wide.get())
	if !g.spread { // the mean of no samples is 0, not NaN
		all = expr.Max(all, expr.Int(ir.Int64, 1))
	}
	return []loop.Stmt{
		high.fixed(count(g.high)), wide.fixed(count(g.wide)), sum.start(expr.Num(g.m, 0)),
		row.start(zero), column.start(zero),
		&loop.While{Cond: expr.Lt(row.get(), high.get()), Body: []loop.Stmt{
			y.fixed(place(g.y, g.high, g.i, row, high)), row.add(1), column.set(zero),
			&loop.While{Cond: expr.Lt(column.get(), wide.get()), Body: inner},
		}},
		g.store(expr.Div(sum.get(), expr.Cast(g.m, all))),
	}
}

// span is the rows, or the columns, of a bin.
type span struct {
	begin, end, at counter
	n              sym.Expr // of the image
}

// spans are the rows and columns of a bin, cut at the image's edge, or before pixels before it,
// and the statements that compute them.
func (g region) spans(before int64) (rows, columns span, stmts []loop.Stmt) {
	of := func(name string, start, high *expr.Expr, bin, n sym.Expr) span {
		number := func(part string) counter { return newCounter(name+part, ir.Int64) }
		s := span{number("_begin"), number("_end"), number(""), n}
		most := expr.Idx(g.m, sym.Sub(n, sym.Int(before)))
		edge := func(x *expr.Expr) *expr.Expr {
			x = expr.Min(expr.Max(expr.Add(x, start), expr.Num(g.m, 0)), most)
			return expr.Cast(ir.Int64, x)
		}
		next := expr.Idx(g.m, sym.Add(bin, sym.Int(1)))
		stmts = append(stmts, s.begin.fixed(edge(expr.Floor(expr.Mul(expr.Idx(g.m, bin), high)))),
			s.end.fixed(edge(expr.Ceil(expr.Mul(next, high)))))
		return s
	}
	return of("row", g.y, g.high, g.i, g.rows), of("column", g.x, g.wide, g.j, g.columns), stmts
}

// length is how many rows or columns there are.
func (s span) length() *expr.Expr {
	return expr.Max(expr.Sub(s.end.get(), s.begin.get()), expr.Int(ir.Int64, 0))
}

// each runs body for every row or column.
func (s span) each(body func(i sym.Expr) []loop.Stmt) []loop.Stmt {
	i, bind := clampedAt(s.at.v.Name+"_at", s.at.get(), s.n, false)
	return []loop.Stmt{s.at.start(s.begin.get()), &loop.While{Cond: expr.Lt(s.at.get(), s.end.get()),
		Body: append(append([]loop.Stmt{bind}, body(i)...), s.at.add(1))}}
}

// largestOfRegion is the largest pixel of a bin, and which it is of its plane: 0 and -1 of none.
func largestOfRegion(g region) []loop.Stmt {
	rows, columns, stmts := g.spans(0)
	most, place := newCounter("most", g.m), newCounter("place", ir.Int32)
	found := expr.Gt(expr.Mul(rows.length(), columns.length()), expr.Int(ir.Int64, 0))
	stmts = append(stmts, most.start(expr.Select(found, expr.Num(g.m, -math.MaxFloat32),
		expr.Num(g.m, 0))), place.start(expr.Int(ir.Int32, -1)))
	stmts = append(stmts, rows.each(func(i sym.Expr) []loop.Stmt {
		return columns.each(func(j sym.Expr) []loop.Stmt {
			return []loop.Stmt{&loop.If{Cond: expr.Gt(g.pixel(i, j), most.get()), Then: []loop.Stmt{
				most.set(g.pixel(i, j)),
				place.set(expr.Idx(ir.Int32, sym.Add(sym.Mul(i, g.columns), j))),
			}}}
		})
	})...)
	return append(stmts, g.store(most.get()), &loop.Store{Buf: 1, At: g.into, Value: place.get()})
}

// meanOfRegion is the mean of the pixels of a bin, 0 of none.
func meanOfRegion(g region) []loop.Stmt {
	rows, columns, stmts := g.spans(1)
	sum, area := newCounter("sum", g.m), newCounter("area", ir.Int64)
	stmts = append(stmts, sum.start(expr.Num(g.m, 0)),
		area.fixed(expr.Mul(rows.length(), columns.length())))
	stmts = append(stmts, rows.each(func(i sym.Expr) []loop.Stmt {
		return columns.each(func(j sym.Expr) []loop.Stmt {
			return []loop.Stmt{sum.plus(g.pixel(i, j))}
		})
	})...)
	return append(stmts, g.store(expr.Div(sum.get(),
		expr.Cast(g.m, expr.Max(area.get(), expr.Int(ir.Int64, 1))))))
}

// deformation are the sizes of a deformable convolution.
const deformation = "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, " +
	"SymInt dilation_h, SymInt dilation_w, "

// deformed are the sizes of what a deformable convolution reads.
type deformed struct {
	kernel, out          [2]sym.Expr // rows and columns
	stride, pad, dilated [2]int64
	offsetGroups         sym.Expr
}

func deformedOf(c *Call, kernel [2]sym.Expr) deformed {
	x, offset := c.Tensor("input"), c.Tensor("offset")
	c.errorIf(x.Rank() != 4 || offset.Rank() != 4 || differ(x.Sizes[0], offset.Sizes[0]) ||
		!x.DType.IsFloat() || x.DType != offset.DType, "an input of %s and offsets of %s in %s",
		x.DType, offset.DType, sizesOf{x, offset})
	d := deformed{kernel: kernel, offsetGroups: must(c.SymInt("offset_groups"))}
	taps := sym.Mul(d.offsetGroups, kernel[0], kernel[1])
	c.errorIf(!sym.Less(sym.Int(0), d.offsetGroups) ||
		differ(offset.Sizes[1], sym.Mul(taps, sym.Int(2))) ||
		differ(sym.Mul(sym.FloorDiv(x.Sizes[1], d.offsetGroups), d.offsetGroups), x.Sizes[1]),
		"%s offsets of %s channels in %s groups", offset.Sizes[1], x.Sizes[1], d.offsetGroups)
	for i, side := range []string{"h", "w"} {
		d.stride[i], d.pad[i] = must(c.Int("stride_"+side)), must(c.Int("pad_"+side))
		d.dilated[i] = must(c.Int("dilation_" + side))
		c.errorIf(d.stride[i] < 1 || d.pad[i] < 0 || d.dilated[i] < 1,
			"a stride of %d, padding of %d and dilation of %d", d.stride[i], d.pad[i], d.dilated[i])
		reach := sym.Add(sym.Mul(sym.Int(d.dilated[i]), sym.Sub(kernel[i], sym.Int(1))), sym.Int(1))
		space := sym.Add(x.Sizes[2+i], sym.Int(2*d.pad[i]))
		d.out[i] = sym.Add(sym.FloorDiv(sym.Sub(space, reach), sym.Int(d.stride[i])), sym.Int(1))
		c.errorIf(differ(d.out[i], offset.Sizes[2+i]), "offsets of %s for an output of %s x %s",
			sizesOf{offset}, d.out[0], d.out[1])
		c.need(d.out[i])
		c.need(x.Sizes[2+i])
	}
	return d
}

// deformedColumns are the elements that each output of a deformable convolution is made of:
// [channels, kernel_h, kernel_w, images, rows, columns].
func deformedColumns() entry {
	kernel := func(c *Call) deformed {
		return deformedOf(c, [2]sym.Expr{must(c.SymInt("kernel_h")), must(c.SymInt("kernel_w"))})
	}
	return entry{
		Schema: "etgen::deformed_columns(Tensor input, Tensor offset, SymInt kernel_h, " +
			"SymInt kernel_w, " + deformation + "SymInt offset_groups) -> Tensor",
		Infer: func(c *Call) []ir.Type {
			d, x := kernel(c), c.Tensor("input")
			return one(ir.TensorOf(x.DType, x.Sizes[1], d.kernel[0], d.kernel[1], x.Sizes[0], d.out[0],
				d.out[1]))
		},
		Compute: element(func(c *Call, at []sym.Expr) *expr.Expr {
			d, x := kernel(c), c.Tensor("input")
			m := opmath(x.DType)
			channels := sym.Max(sym.FloorDiv(x.Sizes[1], d.offsetGroups), sym.Int(1)) // of a group
			group := sym.FloorDiv(at[0], channels)
			tap := sym.RowMajor([]sym.Expr{d.offsetGroups, d.kernel[0], d.kernel[1], sym.Int(2)},
				[]sym.Expr{group, at[1], at[2], sym.Int(0)})
			taps := make([][]gridTap, 2)
			for i := range taps {
				start := sym.Sub(sym.Add(sym.Mul(at[4+i], sym.Int(d.stride[i])),
					sym.Mul(at[1+i], sym.Int(d.dilated[i]))), sym.Int(d.pad[i]))
				off := expr.Cast(m, c.Load("offset", at[3], sym.Add(tap, sym.Int(int64(i))), at[4], at[5]))
				g := gridAxis{n: x.Sizes[2+i], size: expr.Idx(m, x.Sizes[2+i])}
				taps[i] = g.linear("at"+itoa(i), expr.Add(expr.Idx(m, start), off))
			}
			return c.sampled(m, []sym.Expr{at[3], at[0]}, taps, expr.Bool(true), nil)
		}),
	}
}

// deformedConvolution is the product of weights with the columns, group by group.
func deformedConvolution(b *Builder, c *Call) []*ir.Value {
	x, w := c.Value("input"), c.Value("weight")
	c.errorIf(w.Type.Rank() != 4 || w.Type.DType != x.Type.DType, "a weight of %s in %s", w.Type.DType,
		sizesOf{w.Type})
	d := deformedOf(c, [2]sym.Expr{w.Type.Sizes[2], w.Type.Sizes[3]})
	groups, outs := must(c.SymInt("groups")), w.Type.Sizes[0]
	c.errorIf(!sym.Less(sym.Int(0), groups) ||
		differ(sym.Mul(w.Type.Sizes[1], groups), x.Type.Sizes[1]) ||
		differ(sym.Mul(sym.FloorDiv(outs, groups), groups), outs), "a weight of %s in %s groups for %s",
		sizesOf{w.Type}, groups, sizesOf{x.Type})
	args := []any{x, c.Value("offset"), d.kernel[0], d.kernel[1]}
	for _, name := range []string{"stride_h", "stride_w", "pad_h", "pad_w", "dilation_h", "dilation_w",
		"offset_groups"} {
		args = append(args, c.Arg(name))
	}
	columns := b.Op("etgen.deformed_columns.default", args...)
	taps := sym.Mul(d.kernel[0], d.kernel[1])
	if c.Bool("use_mask") {
		mask := c.Value("mask")
		c.errorIf(differ(mask.Type.Numel(), sym.Mul(x.Type.Sizes[0], d.offsetGroups, taps, d.out[0],
			d.out[1])), "a mask of %s", sizesOf{mask.Type})
		// [images, offset groups, taps, rows, columns] as the columns have them.
		mask = b.reshaped(mask, x.Type.Sizes[0], d.offsetGroups, sym.Int(1), taps, d.out[0], d.out[1])
		mask = b.aten("permute", mask, []int{1, 2, 3, 0, 4, 5})
		columns = b.mul(b.reshaped(columns, d.offsetGroups, sym.FloorDiv(x.Type.Sizes[1], d.offsetGroups),
			taps, x.Type.Sizes[0], d.out[0], d.out[1]), mask)
	}
	each := sym.FloorDiv(outs, groups)
	pixels := sym.Mul(x.Type.Sizes[0], d.out[0], d.out[1])
	y := b.aten("bmm", b.reshaped(w, groups, each, sym.Mul(w.Type.Sizes[1], taps)),
		b.reshaped(columns, groups, sym.Mul(w.Type.Sizes[1], taps), pixels))
	y = b.aten("transpose.int", b.reshaped(y, outs, x.Type.Sizes[0], d.out[0], d.out[1]), 0, 1)
	return []*ir.Value{b.aten("contiguous", b.add(y, b.reshaped(c.Value("bias"), outs, sym.Int(1),
		sym.Int(1))))}
}
