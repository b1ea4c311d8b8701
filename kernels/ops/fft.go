package ops

import (
	"math"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/ir/sym"
)

// largestDirect is the number of elements up to which a Fourier transform is one product with
// a matrix. A longer one is made of shorter ones.
const largestDirect = 32

// largestMatrix is the bound of a dynamic number of elements up to which its transform is one
// product with a matrix.
const largestMatrix = 128

// fftOps are Fourier transforms: those of three kinds that PyTorch has kernels for, and the
// functions of torch.fft, which come to these.
func fftOps() []entry {
	out := []entry{
		fourierKernel(
			"aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
			func(c *Call, dims []int, t ir.Type) ir.Type {
				c.errorIf(!t.DType.IsFloat(), "not defined on %s", t.DType)
				if c.Bool("onesided") && len(dims) > 0 {
					last := dims[len(dims)-1]
					t.Sizes[last] = half(t.Sizes[last])
				}
				return ir.TensorOf(complexOf(t.DType), t.Sizes...)
			}, func(b *Builder, c *Call, dims []int) *ir.Value {
				x := c.Value("self")
				if len(dims) == 0 {
					return b.complex(pair{x, nil})
				}
				f := newFourier(b, c, -1, dims, x.Type.Sizes)
				last := dims[len(dims)-1]
				p := f.along(pair{x, nil}, last)
				if n := c.Outs[0].Sizes[last]; c.Bool("onesided") {
					p = p.each(func(x any) any { return b.aten("slice.Tensor", x, last, 0, n) })
				}
				return b.complex(f.all(p, dims[:len(dims)-1]))
			}),
		fourierKernel(
			"aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor",
			func(c *Call, _ []int, t ir.Type) ir.Type {
				c.errorIf(!t.DType.IsComplex(), "not defined on %s", t.DType)
				return t
			}, func(b *Builder, c *Call, dims []int) *ir.Value {
				x := c.Value("self")
				sign := 1.0
				if c.Bool("forward") {
					sign = -1
				}
				f := newFourier(b, c, sign, dims, x.Type.Sizes)
				return b.complex(f.all(b.split(x), dims))
			}),
		fourierKernel(
			"aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor",
			func(c *Call, dims []int, t ir.Type) ir.Type {
				n := must(c.SymInt("last_dim_size"))
				c.errorIf(!t.DType.IsComplex() || len(dims) == 0 || sym.Less(n, sym.Int(1)),
					"not defined on %s of %s elements in %d dimensions", t.DType, n, len(dims))
				last := dims[len(dims)-1]
				have := t.Sizes[last]
				c.errorIf(sym.Less(have, half(n)), "%s elements of %s", n, sizesOf{t})
				c.need(n)
				c.need(sym.Sub(have, sym.FloorDiv(n, sym.Int(2))))
				t.Sizes[last] = n
				return ir.TensorOf(t.DType.Part(), t.Sizes...)
			}, func(b *Builder, c *Call, dims []int) *ir.Value {
				last := dims[len(dims)-1]
				n := c.Outs[0].Sizes[last]
				f := newFourier(b, c, 1, dims, c.Outs[0].Sizes)
				p := f.all(b.split(c.Value("self")), dims[:len(dims)-1])
				return valueOf(f.along(f.mirrored(p, last, n), last).re)
			}),
	}
	for _, t := range transforms {
		out = append(out, t.entry())
	}
	out = append(out, frequencies("fft_fftfreq", false), frequencies("fft_rfftfreq", true))
	return append(out, shifts()...)
}

// fourierKernel is a transform for which PyTorch has a kernel. Of is given a dense type of the
// operand, whose sizes it may change.
func fourierKernel(schema string, of func(c *Call, dims []int, t ir.Type) ir.Type,
	f func(b *Builder, c *Call, dims []int) *ir.Value) entry {
	e := insideComplex(schema, func(b *Builder, c *Call) *ir.Value { return f(b, c, c.transformed()) })
	e.Infer = func(c *Call) []ir.Type {
		t, dims := c.Tensor("self"), c.transformed()
		for _, d := range dims {
			c.errorIf(t.Sizes[d].IsZero(), "a transform of 0 elements")
			c.need(t.Sizes[d])
		}
		return one(of(c, dims, ir.TensorOf(t.DType, slices.Clone(t.Sizes)...)))
	}
	return e
}

// half is how many of n elements the transform of a real tensor keeps.
func half(n sym.Expr) sym.Expr { return sym.Add(sym.FloorDiv(n, sym.Int(2)), sym.Int(1)) }

// transformed returns the dimensions of a transform.
func (c *Call) transformed() []int {
	rank := c.Tensor("self").Rank()
	var dims []int
	c.errorIf(rank == 0, "a tensor without dimensions")
	for _, n := range must(c.Ints("dim")) {
		d := c.wrapDim(n, rank)
		c.errorIf(slices.Contains(dims, d), "dimension %d is given twice", d)
		dims = append(dims, d)
	}
	return dims
}

// each is f of both parts.
func (p pair) each(f func(any) any) pair {
	p.re = f(p.re)
	if p.im != nil {
		p.im = f(p.im)
	}
	return p
}

// split returns the parts of complex numbers.
func (b *Builder) split(x *ir.Value) pair {
	return pair{b.aten("real", x), b.aten("imag", x)}
}

// fourier emits discrete Fourier transforms: the sum over j of x[j]·e^(sign·2πi·jk/n) for
// each k. The first over a constant n is multiplied by scale, each over a dynamic one by n to
// the power of norm.
type fourier struct {
	b           *Builder
	c           *Call
	sign, scale float64
	norm        float64
}

// newFourier makes what transforms dims of a tensor of the given sizes. Normalization is 0 for
// 1, 1 for 1/√n and 2 for 1/n in PyTorch's kernels.
func newFourier(b *Builder, c *Call, sign float64, dims []int, sizes []sym.Expr) *fourier {
	norm := 0.0
	if k := must(c.Int("normalization")); k == 1 || k == 2 {
		norm = -float64(k) / 2
	}
	n := int64(1)
	for _, d := range dims {
		if m, ok := sizes[d].Const(); ok {
			c.errorIf(m < 1 || m > maxPlaces || n*m > maxPlaces, "a transform of %d elements", m)
			n *= m
		}
	}
	return &fourier{b, c, sign, math.Pow(float64(n), norm), norm}
}

// all transforms dims of p, one after the other.
func (f *fourier) all(p pair, dims []int) pair {
	for _, d := range dims {
		p = f.along(p, d)
	}
	if f.scale != 1 { // there was nothing to transform
		p = p.each(func(x any) any { return f.b.mul(x, f.scale) })
		f.scale = 1
	}
	return p
}

// along transforms dimension d of p.
func (f *fourier) along(p pair, d int) pair {
	t := valueOf(p.re).Type
	swap := func(p pair) pair {
		if d == t.Rank()-1 {
			return p
		}
		return p.each(func(x any) any { return f.b.aten("transpose.int", x, d, t.Rank()-1) })
	}
	if n, ok := t.Sizes[d].Const(); ok {
		return swap(f.last(swap(p), n))
	}
	return swap(f.dynamic(swap(p), t.Sizes[d]))
}

// dynamic transforms the n elements of the last dimension of p. Few of them take a product with
// a matrix that is computed. For more, jk is (j² + k² - (k-j)²)/2: a convolution, which two
// transforms of a constant size compute (Bluestein).
func (f *fourier) dynamic(p pair, n sym.Expr) pair {
	b := f.b
	t := valueOf(p.re).Type
	factor := b.aten("pow.Tensor_Scalar", b.scalarOf(n), f.norm)
	at := b.aten("arange", n)
	_, most := n.Bounds()
	if most <= largestMatrix || most > maxPlaces/4 {
		w := f.turns(b.mul(b.aten("unsqueeze", at, 1), at), n, f.sign, factor)
		return b.bilinear(p, w, func(x, w any) *ir.Value { return b.aten("matmul", x, w) })
	}
	size := int64(1)
	for size < 2*most-1 {
		size *= 2
	}
	chirp := func(at *ir.Value, sign float64, factor *ir.Value) pair {
		return f.turns(b.mul(at, at), sym.Mul(sym.Int(2), n), sign, factor)
	}
	places := b.aten("arange", size)
	from := b.aten("minimum", places, b.aten("rsub.Scalar", places, size))
	near := b.aten("lt.Scalar", from, n)
	kernel := chirp(from, -f.sign, nil).each(func(x any) any {
		return b.where(near, x, 0, t.DType)
	})
	last := b.aten("clamp", places, nil, sym.Sub(n, sym.Int(1)))
	inside := b.aten("lt.Scalar", places, n)
	padded := b.times(p, chirp(at, f.sign, nil)).each(func(x any) any {
		return b.where(inside, b.aten("index_select", x, -1, last), 0, t.DType)
	})
	forth, back := &fourier{b, f.c, -1, 1, 0}, &fourier{b, f.c, 1, 1 / float64(size), 0}
	q := back.last(b.times(forth.last(padded, size), forth.last(kernel, size)), size)
	q = q.each(func(x any) any { return b.aten("slice.Tensor", x, -1, 0, n) })
	return b.times(q, chirp(at, f.sign, factor))
}

// turns is e^(sign·2πi·k/n) times factor, for integers k. It is computed in float64.
func (f *fourier) turns(k *ir.Value, n sym.Expr, sign float64, factor *ir.Value) pair {
	b, d := f.b, f.part()
	angle := b.mul(b.cast(b.aten("remainder.Scalar", k, n), ir.Float64), sign*2*math.Pi)
	angle = b.div(angle, b.scalarOf(n))
	part := func(name string) *ir.Value {
		x := b.aten(name, angle)
		if factor != nil {
			x = b.mul(x, factor)
		}
		return b.cast(x, d)
	}
	return pair{part("cos"), part("sin")}
}

// part is the dtype of the parts of the result.
func (f *fourier) part() ir.DType {
	d := f.c.Tensor("self").DType
	f.c.errorIf(d == ir.Complex32 || d == ir.Float16 || d == ir.BFloat16, "not defined on %s", d)
	return d.Part()
}

// last transforms the last dimension of p, which has n elements. An n that is a product r·m
// takes, with j = m·j1 + j2 and k = k1 + r·k2, transforms of r elements over j1, a factor for
// each k1 and j2, and transforms of m elements over j2 (Cooley and Tukey).
func (f *fourier) last(p pair, n int64) pair {
	r := factor(n)
	if n <= largestDirect || r == n {
		return f.direct(p, n)
	}
	m := n / r
	lead := valueOf(p.re).Type.Sizes
	lead = slices.Clone(lead[:len(lead)-1])
	shape := func(p pair, sizes ...int64) pair {
		return p.each(func(x any) any {
			return f.b.reshaped(valueOf(x), slices.Concat(lead, ir.Ints(sizes))...)
		})
	}
	swap := func(p pair) pair {
		return p.each(func(x any) any { return f.b.aten("transpose.int", x, -1, -2) })
	}
	p = f.last(swap(shape(p, r, m)), r)
	p = f.b.times(p, f.roots(m, r, n))
	p = f.last(swap(p), m)
	return shape(swap(p), n)
}

// factor returns a factor of n for which a transform is one product: the largest one, or if
// there is none the smallest prime of n.
func factor(n int64) int64 {
	for r := int64(largestDirect / 2); r > 1; r-- {
		if n%r == 0 {
			return r
		}
	}
	for r := int64(largestDirect/2 + 1); r*r <= n; r++ {
		if n%r == 0 {
			return r
		}
	}
	return n
}

// direct transforms the n elements of the last dimension of p by products with matrices.
func (f *fourier) direct(p pair, n int64) pair {
	if n == 1 {
		scale := f.scale
		f.scale = 1
		if scale == 1 {
			return p
		}
		return p.each(func(x any) any { return f.b.mul(x, scale) })
	}
	w := f.roots(n, n, n)
	return f.b.bilinear(p, w, func(x, w any) *ir.Value { return f.b.aten("matmul", x, w) })
}

// roots is the matrix of e^(sign·2πi·jk/n) for j < rows and k < columns, times scale.
func (f *fourier) roots(rows, columns, n int64) pair {
	d := f.part()
	f.b.limit(f.c, rows, columns)
	re, im := make([]float64, 0, rows*columns), make([]float64, 0, rows*columns)
	for j := range rows {
		for k := range columns {
			at := j * k % n
			sin, cos := math.Sincos(2 * math.Pi * float64(at) / float64(n))
			if 4*at%n == 0 { // quarter turns are exact, and no zero is -0
				cos, sin = []float64{1, 0, -1, 0}[4*at/n], []float64{0, f.sign, 0, -f.sign}[4*at/n]
			} else {
				sin *= f.sign
			}
			re, im = append(re, f.scale*cos), append(im, f.scale*sin)
		}
	}
	f.scale = 1
	return pair{f.b.floats(d, re, rows, columns), f.b.floats(d, im, rows, columns)}
}

// mirrored makes all n elements of dimension d of what a real tensor is transformed to of the
// first half: x[n-k] is the conjugate of x[k].
func (f *fourier) mirrored(p pair, d int, n sym.Expr) pair {
	two := sym.Int(2)
	part := func(x any, from, to sym.Expr) *ir.Value {
		return f.b.aten("slice.Tensor", x, d, from, to)
	}
	rest := func(x any) *ir.Value {
		return f.b.aten("flip", part(x, sym.Int(1), sym.FloorDiv(sym.Add(n, sym.Int(1)), two)), []int{d})
	}
	join := func(x any, rest *ir.Value) *ir.Value {
		return f.b.aten("cat", []*ir.Value{part(x, sym.Int(0), half(n)), rest}, d)
	}
	return pair{join(p.re, rest(p.re)), join(p.im, f.b.aten("neg", rest(p.im)))}
}

// transform is a function of torch.fft.
type transform struct {
	name    string
	real    bool // the input of r2c, the output of c2r
	inverse bool
	dims    int // 1, 2, or 0 for any number
}

var transforms = []transform{
	{"fft_fft", false, false, 1}, {"fft_ifft", false, true, 1},
	{"fft_rfft", true, false, 1}, {"fft_irfft", true, true, 1},
	{"fft_fft2", false, false, 2}, {"fft_ifft2", false, true, 2},
	{"fft_rfft2", true, false, 2}, {"fft_irfft2", true, true, 2},
	{"fft_fftn", false, false, 0}, {"fft_ifftn", false, true, 0},
	{"fft_rfftn", true, false, 0}, {"fft_irfftn", true, true, 0},
	{"fft_hfft", true, true, 1}, {"fft_ihfft", true, false, 1},
	{"fft_hfft2", true, true, 2}, {"fft_ihfft2", true, false, 2},
	{"fft_hfftn", true, true, 0}, {"fft_ihfftn", true, false, 0},
}

func (t transform) entry() entry {
	args := "SymInt[1]? s=None, int[1]? dim=None"
	switch t.dims {
	case 1:
		args = "SymInt? n=None, int dim=-1"
	case 2:
		args = "SymInt[1]? s=None, int[1] dim=[-2, -1]"
	}
	return insideComplex("aten::"+t.name+"(Tensor self, "+args+", str? norm=None) -> Tensor", t.emit)
}

// emit says the function in kernels: it brings the dimensions to the sizes that are asked for
// and chooses the factor.
func (t transform) emit(b *Builder, c *Call) *ir.Value {
	x := c.Value("self")
	if d := x.Type.DType; d.IsInt() || d == ir.Bool {
		x = b.cast(x, defaultFloat)
	}
	hermitian := strings.Contains(t.name, "hfft")
	dims, sizes := t.sizes(c, x.Type)
	back := t.real && t.inverse
	for i, d := range dims {
		n := sizes[i]
		if back && i == len(dims)-1 {
			n = half(n)
		}
		x = b.fitted(x, d, n)
	}
	// hfft is irfft with the factor of rfft, ihfft the other way.
	norm := int64(0)
	switch word := c.word("norm", "backward"); {
	case word == "ortho":
		norm = 1
	case word == "forward" && t.inverse == hermitian, word == "backward" && t.inverse != hermitian:
		norm = 2
	default:
		c.errorIf(word != "forward" && word != "backward", "norm %q", word)
	}
	conjugate := func(x *ir.Value) *ir.Value {
		if hermitian {
			x = b.aten("conj", x)
		}
		return x
	}
	switch {
	case back:
		if !x.Type.DType.IsComplex() {
			x = b.complex(pair{x, nil})
		}
		return b.aten("_fft_c2r", conjugate(x), dims, norm, sizes[len(sizes)-1])
	case !x.Type.DType.IsComplex() && (t.real || !t.inverse):
		return conjugate(b.aten("_fft_r2c", x, dims, norm, t.real))
	case t.real:
		panic(c.Errorf("not defined on %s", x.Type.DType))
	case !x.Type.DType.IsComplex():
		x = b.complex(pair{x, nil})
	}
	return b.aten("_fft_c2c", x, dims, norm, !t.inverse)
}

// word is a text argument, def if it is absent.
func (c *Call) word(name, def string) string {
	if !c.Has(name) {
		return def
	}
	return c.Str(name)
}

// sizes returns the dimensions of a transform of t and how many elements each has in the real
// or larger one of input and output.
func (t transform) sizes(c *Call, x ir.Type) (dims []int, sizes []sym.Expr) {
	c.errorIf(x.Rank() == 0, "a tensor without dimensions")
	size := func(d int, last bool) sym.Expr {
		if t.real && t.inverse && last {
			return sym.Mul(sym.Int(2), sym.Sub(x.Sizes[d], sym.Int(1)))
		}
		return x.Sizes[d]
	}
	if t.dims == 1 {
		d := c.dim("dim", x.Rank())
		n := size(d, true)
		if c.Has("n") {
			n = must(c.SymInt("n"))
		}
		c.errorIf(sym.Less(n, sym.Int(1)), "a transform of %s elements", n)
		return []int{d}, []sym.Expr{n}
	}
	var given []sym.Expr
	if c.Has("s") {
		given = must(c.SymInts("s"))
	}
	switch {
	case c.Has("dim"):
		for _, n := range must(c.Ints("dim")) {
			dims = append(dims, c.wrapDim(n, x.Rank()))
		}
	case given != nil:
		c.errorIf(len(given) > x.Rank(), "%d sizes for %d dimensions", len(given), x.Rank())
		dims = upTo(x.Rank())[x.Rank()-len(given):]
	default:
		dims = upTo(x.Rank())
	}
	c.errorIf(given != nil && len(given) != len(dims), "%d sizes for %d dimensions", len(given),
		len(dims))
	c.errorIf(len(dims) == 0, "no dimension")
	for i, d := range dims {
		n := size(d, i == len(dims)-1)
		if given != nil && !given[i].Is(-1) {
			n = given[i]
		}
		c.errorIf(sym.Less(n, sym.Int(1)), "a transform of %s elements", n)
		sizes = append(sizes, n)
	}
	return dims, sizes
}

// fitted is x with n elements in dimension d: zeros behind the last, or the first ones.
func (b *Builder) fitted(x *ir.Value, d int, n sym.Expr) *ir.Value {
	have := x.Type.Sizes[d]
	switch {
	case have.Equal(n):
		return x
	case sym.Less(n, have):
		return b.aten("slice.Tensor", x, d, 0, n)
	}
	pad := seq.Of(2*(x.Type.Rank()-d), func(i int) sym.Expr { return sym.Int(0) })
	pad[len(pad)-1] = sym.Sub(n, have)
	return b.aten("constant_pad_nd", x, pad)
}

// shifts move the middle of a transform to the front or back.
func shifts() []entry {
	shift := func(name string, by func(n sym.Expr) sym.Expr) entry {
		return derived("aten::"+name+"(Tensor self, int[1]? dim=None) -> Tensor",
			func(b *Builder, c *Call) *ir.Value {
				x := c.Value("self")
				dims := upTo(x.Type.Rank())
				if c.Has("dim") {
					dims = c.transformed()
				}
				if len(dims) == 0 {
					return b.aten("clone", x)
				}
				places := seq.Map(dims, func(d int) sym.Expr { return by(x.Type.Sizes[d]) })
				return b.aten("roll", x, places, dims)
			})
	}
	two := sym.Int(2)
	return []entry{
		shift("fft_fftshift", func(n sym.Expr) sym.Expr { return sym.FloorDiv(n, two) }),
		shift("fft_ifftshift", func(n sym.Expr) sym.Expr {
			return sym.FloorDiv(sym.Add(n, sym.Int(1)), two)
		}),
	}
}
