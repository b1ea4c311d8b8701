package rows

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Unknown is the value of a parameter that is known at run time only.
const Unknown = math.MinInt

// Cases returns what calls of a kernel may come to of the functions in assembly that have
// cases: "product512 rows4x2" and so on. v are the values of the kernel's parameters in
// their order; shared tells that goroutines may share the calls, rescaled that results may be
// rescaled.
//
// A case that is missing here ends a generated program, which has no assembly for it. A
// case too many only makes the program larger.
func Cases(kernel string, v []int, shared, rescaled bool) []string {
	c := cases{shared: shared, rescaled: rescaled, names: map[string]bool{}}
	casesOf[kernel](&c, v)
	return slices.Sorted(maps.Keys(c.names))
}

// casesOf are the functions that collect the cases, by the names of kernels.
var casesOf = map[string]func(c *cases, v []int){
	"Linear": func(c *cases, v []int) {
		a := NewLinearParams(v)
		c.products(each(a.m), a.n)
	},
	"Matmul": func(c *cases, v []int) {
		a := NewMatmulParams(v)
		c.products(each(a.m), a.n)
	},
	"Groups": func(c *cases, v []int) {
		a := NewGroupsParams(v)
		c.products(each(a.m), a.n)
	},
	"Conv": func(c *cases, v []int) {
		a := NewConvRowsParams(v)
		c.products(each(a.outW), a.outChannels)
	},
	"ConvBytes": func(c *cases, v []int) {
		a := NewConvI8Params(v)
		lines := []int{a.outW}
		if a.outH != Unknown && a.beside() { // lines may be columns
			lines = append(lines, a.outH)
		}
		c.products(each(lines...), a.outChannels)
		for name := range maps.Clone(c.names) {
			switch function, rest, _ := strings.Cut(name, " "); function {
			case "product512":
				c.add("bytes512 %s", rest)
				if c.rescaled {
					c.add("bytes512 %s_rescaled", rest)
					c.add("product512 %s_rescaled", rest)
				}
				if c.rescaled && a.outBytes != 0 {
					c.add("bytes512 %s_bytes", rest)
					c.add("bytes512 %s_saturated", rest)
				}
			case "productNEON":
				c.add("bytesNEON %s", rest)
				if rest != "rows1" {
					c.add("squaresNEON %s", rest)
				}
			case "product256":
				if a.few() && a.inChannels != Unknown { // no pairs
					continue
				}
				delete(c.names, name)
				c.add("pairs256 %s", strings.TrimSuffix(rest, "x2"))
			}
		}
	},
	"ConvEdges": func(c *cases, v []int) {
		c.products(each(Unknown), NewConvEdgesParams(v).outChannels)
	},
	"Winograd": func(c *cases, v []int) {
		even := func(most int) (rows []int) {
			for n := 2; n <= most; n += 2 {
				rows = append(rows, n)
			}
			return rows
		}
		c.products(even, NewWinogradParams(v).outChannels)
	},
	"Attention": func(c *cases, v []int) {
		a := NewAttentionParams(v)
		blocks := []int{a.queries}
		if a.queries > queryRows {
			blocks = []int{queryRows, a.queries % queryRows}
		}
		c.products(each(blocks...), a.keys)
		c.products(each(blocks...), a.valueDim)
	},
	"ConvFew": func(c *cases, v []int) {
		c.fewOf(NewConvFewParams(v))
	},
	"ConvFewBytes": func(c *cases, v []int) {
		a := NewConvFewBytesParams(v)
		c.fewOf(a.floats())
	},
	"Depthwise": func(c *cases, v []int) {
		a := NewDepthwiseRowsParams(v)
		s := a.slide()
		c.slide("window", &s, slices.Contains(v[1:], Unknown))
	},
	"DepthwiseBytes": func(c *cases, v []int) {
		a := NewDepthwiseBytesParams(v)
		unknown := slices.Contains(v[1:], Unknown)
		floats := a.floats()
		if a.inBytes && !unknown { // sweeps are then for machines that keep no bytes
			floats.outBytes = 0
		}
		s := floats.slide()
		c.slide("window", &s, unknown)
	},
	"MaxPool": func(c *cases, v []int) {
		a := NewPoolParams(v)
		if a.inBytes {
			c.add("largestBytes512 bytes")
		}
		if a.channelsInner {
			s := a.slide(maxima)
			c.slide("largest", &s, slices.Contains(v[1:], Unknown))
		}
		if !a.channelsInner || a.channels < panel/2 {
			c.windows("largest", []int{1}, machines...)
		}
	},
	"AvgPool": func(c *cases, v []int) {
		a := NewPoolParams(v)
		s := a.slide(means)
		c.slide("window", &s, slices.Contains(v[1:], Unknown))
	},
}

// cases are names while they are collected.
type cases struct {
	shared, rescaled bool
	names            map[string]bool
}

func (c *cases) add(format string, args ...any) { c.names[fmt.Sprintf(format, args...)] = true }

// each returns the numbers of rows of the tiles, of at most so many, that any of several
// numbers of rows are taken in.
func each(rows ...int) func(most int) []int {
	return func(most int) (tiles []int) {
		for _, n := range rows {
			tiles = append(tiles, heights(n, most)...)
		}
		return tiles
	}
}

// heights returns the numbers of rows of the tiles, of at most so many, that n rows are
// taken in.
func heights(n, most int) (tiles []int) {
	if n == Unknown {
		for n := 1; n <= most; n++ {
			tiles = append(tiles, n)
		}
		return tiles
	}
	if n > 0 {
		length := lengths(n, most)
		tiles = append(tiles, length)
		if rest := n % length; rest > 0 {
			tiles = append(tiles, rest)
		}
	}
	return tiles
}

// vectors returns the numbers of 16 columns each that panels of so many columns are wide.
func vectors(columns int) (wide []int) {
	if columns == Unknown || columns > panel/2 {
		wide = append(wide, 2)
	}
	if rest := columns % panel; columns == Unknown || rest > 0 && rest <= panel/2 {
		wide = append(wide, 1)
	}
	return wide
}

// products adds the cases of products of so many columns.
func (c *cases) products(rows func(most int) []int, columns int) {
	for _, n := range rows(maxRows) {
		for _, wide := range vectors(columns) {
			c.add("product512 rows%dx%d", n, wide)
		}
	}
	for _, n := range rows(6) {
		c.add("product256 rows%dx2", n)
		c.add("productNEON rows%d", n)
	}
}

// mostWindows is the most rows of a window's tile on any machine.
const mostWindows = 6

// machines are what the names of functions in assembly end with.
var machines = []string{"512", "256", "NEON"}

// slide adds the cases of windows, or of sweeps, that slide over images.
func (c *cases) slide(function string, s *slide, unknown bool) {
	if unknown {
		c.windows(function, heights(Unknown, mostWindows), machines...)
		if s.kind == sums {
			for _, taps := range []int{sweepShort, sweepLong} {
				for by := 1; by <= 2; by++ {
					c.sweeps("512", taps, by, Unknown, vectors(Unknown), s.outBytes != 0)
					c.sweeps("256", taps, by, Unknown, []int{1}, s.outBytes != 0)
				}
			}
		}
		return
	}
	rows := append(s.rows.tiles(true), s.cols.tiles(false)...)
	if c.shared { // rows are divided anywhere
		rows = heights(Unknown, mostWindows)
	}
	c.windows(function, rows, "NEON")
	for unit, machine := range map[int]string{1: "512", 8: "256"} {
		switch {
		case s.kind == maxima && unit == 1: // areas
			for q, h := 0, (span{}); q < s.cols.out; q += h.n {
				h = s.cols.from(q, s.cols.out)
				c.windows(function, []int{min(h.n, mostWindows)}, machine)
				if rest := h.n % mostWindows; rest > 0 {
					c.windows(function, []int{rest}, machine)
				}
			}
			continue
		case !s.sweeps(unit):
			c.windows(function, rows, machine)
			continue
		}
		wide := []int{1}
		if unit == 1 {
			wide = vectors(s.channels)
		}
		along := s.along(unit)
		for q := 0; q < s.cols.out; {
			n, pairs := along.at(q)
			q += n
			if !pairs {
				c.sweeps(machine, s.cols.taps, s.cols.stride, n, wide, s.outBytes != 0)
				continue
			}
			c.sweeps(machine, s.cols.taps, 2, n, wide, s.outBytes != 0)
			q += n
		}
	}
}

// tiles returns the numbers of rows of the tiles of windows along an axis. What is along
// the rows of an image is taken a few at a time.
func (a *axis) tiles(few bool) (tiles []int) {
	var s span
	for p := 0; p < a.out; p += s.n {
		s = a.from(p, a.out)
		if few {
			s.n = lengths(s.n, mostWindows)
		}
		tiles = append(tiles, heights(s.n, mostWindows)...)
	}
	return tiles
}

func (c *cases) windows(function string, rows []int, machines ...string) {
	for _, machine := range machines {
		for _, n := range rows {
			c.add("%s%s rows%d", function, machine, n)
		}
	}
}

// sweeps adds the cases of sweeps of so many results, of blocks of so many vectors.
func (c *cases) sweeps(machine string, taps, by, results int, wide []int, bytes bool) {
	for _, vecs := range wide {
		c.add("sweep%s wide%d", machine, vecs)
		if c.rescaled && machine == "512" {
			c.add("sweep512 wide%d_rescaled", vecs)
		}
		if c.rescaled && machine == "512" && bytes {
			c.add("sweep512 wide%d_bytes", vecs)
			c.add("sweep512 wide%d_saturated", vecs)
		}
		for _, n := range heights(results, sweepMost) {
			c.add("sweep%s wide%d_taps%dby%drows%d", machine, vecs, taps, by, n)
		}
	}
}

// fewOf adds the cases of ConvFew.
func (c *cases) fewOf(a ConvFewParams) {
	for _, machine := range machines[:2] { // those that have cases of it
		if a.channelsInner {
			c.add("transpose%s sums", machine)
		}
		if a.channelsInner && c.rescaled {
			c.add("transpose%s rescaled", machine)
		}
	}
	c.few(a.outW, a.outChannels) // of which there is a form of the kernel for each number
}

// few adds the cases of tiles of few channels.
func (c *cases) few(columns, channels int) {
	vectors := func(function string, lanes int, channels ...int) {
		n := columns
		if n != Unknown {
			n = (n + lanes - 1) / lanes
		}
		for _, n := range heights(n, fewCols/16) {
			c.add("%s vectors%d", function, n)
			for _, pairs := range channels {
				c.add("%s vectors%d_channels%d", function, n, (pairs+1)/2*2)
			}
		}
	}
	vectors("few512", 16, channels)
	vectors("few256", 8, min(channels, fewChannels/2))
	if channels > fewChannels/2 {
		vectors("few256", 8, channels-fewChannels/2)
	}
	vectors("fewNEON", 4)
}
