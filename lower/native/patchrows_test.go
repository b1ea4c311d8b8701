package native

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/tuned"
)

// In whatever patches, every call finds the rows that its results see in the window
// where it looks for them, and each row is made once, in order.
func TestPatchRows(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	divided := 0
	for range 4000 {
		chain := randomChain(r)
		last := chain[len(chain)-1].window.Out
		height := 1 + r.Int63n(last)
		p := newPatches(chain, height)
		if p == nil {
			continue
		}
		divided++
		if err := simulate(p); err != "" {
			t.Fatalf("%+v in patches of %d: %s", windowsOf(chain), height, err)
		}
	}
	if divided < 1000 {
		t.Errorf("only %d chains can be divided", divided)
	}
}

func randomChain(r *rand.Rand) []link {
	rows := 8 + r.Int63n(40)
	var chain []link
	for range 1 + r.Intn(5) {
		w := tuned.Window{In: rows, Stride: 1 + r.Int63n(3)/2, Reach: 1 + r.Int63n(5)}
		w.Pad = r.Int63n(w.Reach)
		if rows+2*w.Pad < w.Reach {
			break
		}
		w.Out = (rows+2*w.Pad-w.Reach)/w.Stride + 1
		rows = w.Out
		chain = append(chain, link{window: w})
	}
	if chain == nil {
		return randomChain(r)
	}
	return chain
}

func windowsOf(chain []link) (list []tuned.Window) {
	for _, l := range chain {
		list = append(list, l.window)
	}
	return list
}

// simulate carries out the patches on windows that hold the numbers of rows.
func simulate(p *patches) string {
	windows := make([][]int64, len(p.calls))
	for j := range windows {
		windows[j] = slices.Repeat([]int64{-1}, int(p.height(j)))
	}
	for i := range p.number {
		for j := range p.calls {
			c := &p.calls[j]
			w := c.window
			rows := p.rows(j, i)
			if i > 0 && i < p.number-lastPatches && rows != p.rows(j, 1) {
				return "patches in the middle differ"
			}
			if j < len(p.calls)-1 && i > 0 {
				for at := int64(0); at < p.left(j, i); at += c.share {
					rows := min(c.share, p.left(j, i)-at)
					copy(windows[j][c.lead+at:][:rows],
						slices.Clone(windows[j][c.lead+at+c.share:][:rows]))
				}
			}
			for k := range rows.Out {
				row := p.done(j, i) + k
				for tap := range w.Reach {
					at := k*w.Stride - rows.Pad + tap // among the rows given
					want := row*w.Stride - w.Pad + tap
					inside := at >= 0 && at < rows.In
					switch {
					case inside != (want >= 0 && want < w.In):
						return "a row of padding is taken for one of the image, or the other way round"
					case inside && j == 0 && max(0, p.first(j, i))+at != want:
						return "the image is read elsewhere"
					case inside && j > 0 &&
						windows[j-1][max(0, p.first(j, i))-p.origin(j-1, i)+at] != want:
						return "a row is not in the window"
					}
				}
				if j < len(p.calls)-1 {
					windows[j][row-p.origin(j, i)] = row
				}
			}
			if end := p.done(j, i) + rows.Out; end != c.ends[i] {
				return "rows are left out"
			}
		}
	}
	if last := p.calls[len(p.calls)-1]; last.ends[p.number-1] != last.window.Out {
		return "the last rows are not made"
	}
	return ""
}

// Results that lie over their image never reach a row that is still to be read, from the first
// row to the last or from the last to the first, and a call never reads where it writes.
func TestOver(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	tried := map[bool]int{}
	for range 4000 {
		chain := randomChain(r)
		if r.Intn(2) == 0 {
			chain = chain[:1]
		}
		first, last := chain[0].window, chain[len(chain)-1].window
		p := newPatches(chain, 1+r.Int63n(last.Out))
		if p == nil {
			continue
		}
		image := dense("image", ir.Float32, sym.Int(first.In), sym.Int(1+r.Int63n(40)))
		made := dense("made", ir.Float32, sym.Int(last.Out), sym.Int(1+r.Int63n(40)))
		for j := range p.calls {
			args := []*Buffer{made, image}
			if j > 0 {
				args[1] = dense("window", ir.Float32, sym.Int(1))
			}
			p.calls[j].call = &Call{Kernel: copyKernel(ir.Float32, sym.Int(1)), Args: args}
		}
		for _, p.backwards = range []bool{false, len(chain) == 1} {
			if err := overlaid(p, p.over(), image.MaxLen/first.In, made.MaxLen/last.Out); err != "" {
				t.Fatalf("%+v in patches of %d rows, backwards %t: %s", windowsOf(chain),
					p.calls[len(p.calls)-1].share, p.backwards, err)
			}
			tried[p.backwards]++
		}
	}
	if tried[false] < 1000 || tried[true] < 1000 {
		t.Errorf("only %v are tried", tried)
	}
}

// overlaid carries out the patches on memory that holds the elements of the image.
func overlaid(p *patches, o *over, row, made int64) string {
	memory := map[int64]int64{} // by address: which element of the image is there
	for k := range o.image.MaxLen {
		memory[o.behind+k] = k
	}
	last := len(p.calls) - 1
	for i := range p.number {
		if p.backwards {
			i = p.number - 1 - i
		}
		from := max(0, p.first(0, i)) * row
		for k := from; k < from+p.rows(0, i).In*row; k++ {
			if memory[o.behind+k] != k {
				return "an element is gone that is read later"
			}
		}
		for k := p.done(last, i) * made; k < p.calls[last].ends[i]*made; k++ {
			if seen := k - o.behind; last == 0 && seen >= from && seen < from+p.rows(0, i).In*row {
				return "a call reads where it writes"
			}
			memory[k] = -1
		}
	}
	return ""
}
