package inspect

import (
	"fmt"
	"io"
	"strings"

	"github.com/etgen/etgen/codegen/svg"
	"github.com/etgen/etgen/ir/foreign"
)

// Sizes of a drawing, in its units.
const (
	svgWidth  = 960
	panelTop  = 34 // for the panel's title
	panelHigh = 360
	panelFoot = 30 // for the steps
	svgLeft   = 80 // for the bytes
	svgRight  = 10
	lineHigh  = 12 // of text
)

// SVG draws the memory of all methods: time across, bytes up, a box for each
// tensor.
func (info *Info) SVG(to io.Writer) error {
	d := &drawing{}
	for _, m := range info.Methods {
		if m.Memory == nil {
			continue
		}
		for i := range m.Memory.Buffers {
			d.panel(m.Name, m.Memory, i)
		}
	}
	if d.top == 0 {
		return fmt.Errorf("%s: there is no memory plan to draw", foreign.Message(info.File))
	}
	return d.Write(to, svgWidth, d.top, info.File+": planned memory", "sans-serif")
}

type drawing struct {
	svg.Picture
	top int // where the next panel begins
}

// panel draws one buffer of a method.
func (d *drawing) panel(method string, m *Memory, buffer int) {
	b := &m.Buffers[buffer]
	title := fmt.Sprintf("%s, arena: %d bytes", method, b.Bytes)
	if b.ID > 0 {
		title = fmt.Sprintf("%s, buffer %d: %d bytes", method, b.ID, b.Bytes)
	}
	if b.LowerBound < b.Bytes {
		title += fmt.Sprintf(", at best %d", b.LowerBound)
	}
	d.Text(svgLeft, float64(d.top+20), "start", "head", title)
	bottom := float64(d.top + panelTop + panelHigh)
	x := func(step int) float64 {
		return svgLeft + float64(step)*(svgWidth-svgLeft-svgRight)/float64(max(m.Length, 1))
	}
	y := func(offset int64) float64 {
		return bottom - float64(offset)*panelHigh/float64(max(b.Bytes, 1))
	}
	for i := range int64(5) {
		at := b.Bytes * i / 4
		d.Add(`<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%d</text>`,
			svgLeft, y(at), svgWidth-svgRight, svgLeft-6, y(at)+4, at)
	}
	every := max(1, (m.Length+9)/10)
	for s := 0; s < m.Length; s += every {
		d.Add(`<text x="%.1f" y="%.1f" text-anchor="middle">%d</text>`, (x(s)+x(s+1))/2,
			bottom+14, s)
	}
	for i := range m.Boxes {
		if m.Boxes[i].Buffer == buffer {
			d.box(m, &m.Boxes[i], i, x, y)
		}
	}
	for i := range m.Boxes { // above all boxes
		if b := &m.Boxes[i]; b.Buffer == buffer && len(b.Live) > 0 {
			left, top := x(b.Live[0].First), y(b.Offset+b.Bytes)
			d.label(b.Name, left, top, x(m.clear(b))-left, y(b.Offset)-top)
		}
	}
	d.top += panelTop + panelHigh + panelFoot
}

func (d *drawing) box(m *Memory, b *Box, index int, x func(int) float64, y func(int64) float64) {
	hue := index * 137 % 360 // neighbours differ
	for _, s := range b.Live {
		left, top := x(s.First), y(b.Offset+b.Bytes)
		width, height := x(s.Last+1)-left, y(b.Offset)-top
		about := fmt.Sprintf("%s: %d bytes at %d, %s", b.Name, b.Bytes, b.Offset, m.step(s.First))
		if s.Last > s.First {
			about += " to " + m.step(s.Last)
		}
		d.Add(`<g><title>%s</title><rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="hsl(%d,60%%,80%%)" stroke="hsl(%d,60%%,40%%)" stroke-width="0.5"/></g>`,
			about, left, top, width, height, hue, hue)
	}
}

// clear returns the step before which nothing else lies where the box's name
// goes, half way up: what is computed in place begins while its operand lives.
func (m *Memory) clear(b *Box) int {
	first, until := b.Live[0].First, b.Live[0].Last+1
	middle := b.Offset + b.Bytes/2
	for i := range m.Boxes {
		o := &m.Boxes[i]
		if o == b || o.Buffer != b.Buffer || middle < o.Offset || middle >= o.Offset+o.Bytes {
			continue
		}
		for _, s := range o.Live {
			if s.First > first {
				until = min(until, s.First)
			}
		}
	}
	return until
}

// label writes a name into a place, along the longer side if it does not fit
// otherwise; a place with room for no more than a few letters stays empty. The
// inner svg cuts what a font wider than most would write elsewhere.
func (d *drawing) label(name string, left, top, width, height float64) {
	const margin = 2
	across, up := fitting(name, width-2*margin), fitting(name, height-2*margin)
	turn := svg.Markup("")
	at := [2]float64{margin, height/2 + 4}
	switch {
	case height >= lineHigh && (across == name || width >= height):
	case width >= lineHigh && len(up) > len(across):
		across, turn = up, ` transform="rotate(-90)"`
		at = [2]float64{margin - height, width/2 + 4}
	case height < lineHigh:
		return
	}
	if across != "" {
		d.Add(`<svg x="%.1f" y="%.1f" width="%.1f" height="%.1f" pointer-events="none"><text x="%.1f" y="%.1f"%s>%s</text></svg>`,
			left, top, width, height, at[0], at[1], turn, across)
	}
}

// fitting returns as much of a name as width has room for, "" if that is next to
// nothing.
func fitting(name string, width float64) string {
	if textWidth(name) <= width {
		return name
	}
	const least = 6 // letters that tell something
	runes := []rune(name)
	for n := len(runes) - 1; n >= least; n-- {
		if short := string(runes[:n]) + "…"; textWidth(short) <= width {
			return short
		}
	}
	return ""
}

// textWidth is about how wide text is in the widest of the usual fonts, in the
// drawing's units.
func textWidth(text string) float64 {
	const size = 11
	em := 0.0
	for _, r := range text {
		switch {
		case strings.ContainsRune("fijlrtI.,:;|()[]", r):
			em += 0.41
		case strings.ContainsRune("mwMW%@…", r):
			em += 1
		case 'A' <= r && r <= 'Z':
			em += 0.75
		default:
			em += 0.64
		}
	}
	return size * em
}
