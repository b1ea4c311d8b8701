package ops

import (
	"math"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
)

// spectrumOps are short-time Fourier transforms, and the windows that they take.
func spectrumOps() []entry {
	out := []entry{
		insideComplex("aten::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "+
			"Tensor? window=None, bool normalized=False, bool? onesided=None, bool? return_complex=None, "+
			"bool? align_to_window=None) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			x := c.Value("self")
			last := x.Type.Rank() - 1
			c.errorIf(last != 0 && last != 1, "a signal with %d dimensions", last+1)
			n, hop, window := b.frames(c)
			x = b.aten("unfold", x, last, n, hop)
			if window != nil {
				x = b.aten("mul.Tensor", x, window)
			}
			norm := 0
			if c.Bool("normalized") {
				norm = 1
			}
			onesided := !x.Type.DType.IsComplex()
			if c.Has("onesided") {
				onesided = c.Bool("onesided")
			}
			dim := []int{last + 1}
			if x.Type.DType.IsComplex() {
				c.errorIf(onesided, "a half of the spectrum of complex numbers")
				x = b.aten("_fft_c2c", x, dim, norm, true)
			} else {
				x = b.aten("_fft_r2c", x, dim, norm, onesided)
			}
			x = b.aten("transpose.int", x, last, last+1)
			if c.Has("return_complex") && c.Bool("return_complex") {
				return x
			}
			return b.aten("view_as_real", x)
		}),
		// istft adds up the frames, each times the window, and divides by the sum of the squared
		// windows.
		insideComplex("aten::istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, "+
			"Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, "+
			"int? length=None, bool return_complex=False) -> Tensor", func(b *Builder, c *Call) *ir.Value {
			x := c.Value("self")
			c.errorIf(c.Bool("return_complex") || c.Has("onesided") && !c.Bool("onesided"),
				"only real signals of half spectra are supported")
			lead := x.Type.Rank() - 2
			c.errorIf(lead != 0 && lead != 1, "a spectrum with %d dimensions", lead+2)
			n, hop, window := b.frames(c)
			norm := 2
			if c.Bool("normalized") {
				norm = 1
			}
			frames := x.Type.Sizes[lead+1]
			y := b.aten("_fft_c2r", b.aten("transpose.int", x, lead, lead+1), []int{lead + 1}, norm, n)
			if window == nil {
				window = b.aten("ones", []int64{n}, Kw("dtype", y.Type.DType))
			}
			total := sym.Add(sym.Int(n), sym.Mul(sym.Int(hop), sym.Sub(frames, sym.Int(1))))
			add := func(x *ir.Value) *ir.Value {
				x = b.aten("transpose.int", x, -2, -1)
				x = b.aten("col2im", x, []sym.Expr{sym.Int(1), total}, []int64{1, n}, []int{1, 1},
					[]int{0, 0}, []int64{1, hop})
				return b.aten("select.int", b.aten("select.int", x, -2, 0), -2, 0)
			}
			square := b.aten("expand", b.mul(window, window), []sym.Expr{frames, sym.Int(n)})
			y, square = add(b.mul(y, window)), add(square)
			from, to := sym.Int(0), total
			if c.Bool("center") {
				from, to = sym.Int(n/2), sym.Sub(total, sym.Int(n/2))
			}
			length := sym.Sub(to, from)
			if c.Has("length") {
				length = sym.Int(must(c.Int("length")))
				to = sym.Min(sym.Add(from, length), total)
			}
			cut := func(x *ir.Value) *ir.Value { return b.aten("slice.Tensor", x, -1, from, to) }
			return b.fitted(b.div(cut(y), cut(square)), lead, length)
		}),
	}
	for _, w := range windows {
		out = append(out, w.entries()...)
	}
	return out
}

// frames returns the length of the frames of a short-time transform, the steps between them and
// the window, nil for ones.
func (b *Builder) frames(c *Call) (n, hop int64, window *ir.Value) {
	n = must(c.Int("n_fft"))
	c.errorIf(n < 1 || n > maxPlaces, "frames of %d", n)
	hop, wide := n/4, n
	if c.Has("hop_length") {
		hop = must(c.Int("hop_length"))
	}
	if c.Has("win_length") {
		wide = must(c.Int("win_length"))
	}
	c.errorIf(hop < 1 || wide < 1 || wide > n, "windows of %d, steps of %d", wide, hop)
	if c.Has("window") {
		window = c.Value("window")
		c.errorIf(window.Type.Rank() != 1 || !window.Type.Sizes[0].Is(wide), "a window of %s for %d",
			sizesOf{window.Type}, wide)
	} else if wide < n {
		window = b.aten("ones", []int64{wide}, Kw("dtype", c.Tensor("self").DType.Part()))
	}
	if left := (n - wide) / 2; wide < n {
		window = b.aten("constant_pad_nd", window, []int64{left, n - wide - left})
	}
	return n, hop, window
}

// windowForm is a window of torch. Its overloads take more and more of some numbers, which have
// defaults. shape is element i of a window that ends before element n.
type windowForm struct {
	name  string
	more  []string // overloads that take one number more each
	args  []string
	def   []float64
	shape func(i, n float64, given []float64) float64
}

var windows = []windowForm{
	{"hann_window", nil, nil, nil, func(i, n float64, _ []float64) float64 {
		return 0.5 - 0.5*math.Cos(2*math.Pi*i/n)
	}},
	{"hamming_window", []string{"periodic_alpha", "periodic_alpha_beta"},
		[]string{"alpha", "beta"}, []float64{0.54, 0.46},
		func(i, n float64, given []float64) float64 {
			return given[0] - given[1]*math.Cos(2*math.Pi*i/n)
		}},
	{"blackman_window", nil, nil, nil, func(i, n float64, _ []float64) float64 {
		x := 2 * math.Pi * i / n
		return 0.42 - 0.5*math.Cos(x) + 0.08*math.Cos(2*x)
	}},
	{"kaiser_window", []string{"beta"}, []string{"beta"}, []float64{12},
		func(i, n float64, given []float64) float64 {
			x := 2*i/n - 1
			return besselI0(given[0]*math.Sqrt(max(1-x*x, 0))) / besselI0(given[0])
		}},
	{"bartlett_window", nil, nil, nil, func(i, n float64, _ []float64) float64 {
		return 1 - math.Abs(2*i/n-1)
	}},
}

// besselI0 is the modified Bessel function of the first kind of order 0.
func besselI0(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > 1e-17*sum; k++ {
		term *= x * x / (4 * k * k)
		sum += term
	}
	return sum
}

func (w windowForm) entries() []entry {
	schema := "aten::" + w.name + "(int window_length, " + factoryTail + ") -> Tensor"
	out := []entry{w.entry(schema, nil)}
	overload, args := "periodic", "int window_length, bool periodic"
	for k := 0; ; k++ {
		schema := "aten::" + w.name + "." + overload + "(" + args + ", " + factoryTail + ") -> Tensor"
		out = append(out, w.entry(schema, w.args[:k]))
		if k == len(w.args) {
			return out
		}
		overload, args = w.more[k], args+", float "+w.args[k]
	}
}

// entry is the window of an overload with the arguments args.
func (w windowForm) entry(schema string, args []string) entry {
	return derived(schema, func(b *Builder, c *Call) *ir.Value {
		n := must(c.Int("window_length"))
		d := c.DType("dtype", defaultFloat)
		c.errorIf(n < 0 || n > maxPlaces || d != ir.Float32 && d != ir.Float64,
			"a window of %d elements of %s", n, d)
		given := append([]float64(nil), w.def...)
		for i, name := range args {
			given[i] = must(c.Float(name))
		}
		last := float64(n) // of a period
		if c.Op.sch.Index("periodic") >= 0 && !c.Bool("periodic") {
			last--
		}
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = 1
			if n > 1 {
				xs[i] = w.shape(float64(i), last, given)
			}
		}
		return b.floats(d, xs, n)
	})
}

// frequencies are those of a transform's results: fft_fftfreq, fft_rfftfreq.
func frequencies(name string, real bool) entry {
	return derived("aten::"+name+"(int n, float d=1., "+factoryTail+") -> Tensor",
		func(b *Builder, c *Call) *ir.Value {
			n, d := must(c.Int("n")), must(c.Float("d"))
			c.errorIf(n < 1 || n > maxPlaces, "a transform of %d elements", n)
			count, dt := n, c.DType("dtype", defaultFloat)
			if real {
				count = n/2 + 1
			}
			c.errorIf(dt != ir.Float32 && dt != ir.Float64, "frequencies of %s", dt)
			xs := make([]float64, count)
			for i := range xs {
				if k := int64(i); real || k < (n+1)/2 {
					xs[i] = float64(k)
				} else {
					xs[i] = float64(k - n)
				}
				xs[i] *= 1 / (float64(n) * d)
			}
			return b.floats(dt, xs, count)
		})
}
