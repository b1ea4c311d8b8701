package grow

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/etgen/etgen/codegen/svg"
)

// Result is what one program took.
type Result struct {
	Time    time.Duration
	Slowest string // stage
}

// Result returns what the k-th size took, without making the program.
func (m *Measured) Result(k int) Result {
	var r Result
	var most time.Duration
	for _, c := range m.Costs[k] {
		switch {
		case c.Stage == Total:
			r.Time += c.Time
		case c.Stage == makeStage:
			r.Time -= c.Time
		case c.Time > most && c.Stage != planStage:
			most, r.Slowest = c.Time, c.Stage
		}
	}
	return r
}

// Line is a shape that grows, one way.
type Line struct {
	Name, Way string
	Points    []Point
}

// Point is a program of a size.
type Point struct {
	Nodes int
	Time  time.Duration
	Peak  int64 // bytes of the process; 0 if the system does not tell
}

// Exponent returns how the time grows between the last two points.
func (l Line) Exponent() (float64, bool) {
	k := len(l.Points)
	if k < 2 || l.Points[k-2].Time < shortest {
		return 0, false
	}
	a, b := l.Points[k-2], l.Points[k-1]
	return math.Log(b.Time.Seconds()/a.Time.Seconds()) /
		math.Log(float64(b.Nodes)/float64(a.Nodes)), true
}

// SVG draws a plot for each way, side by side: time over nodes, both logarithmic.
func SVG(to io.Writer, lines []Line) error {
	const width, height, left, top = 440, 400, 60, 40
	var ways []string
	var d svg.Picture
	for _, l := range lines {
		k := 0
		for k < len(ways) && ways[k] != l.Way {
			k++
		}
		if k == len(ways) {
			ways = append(ways, l.Way)
			d.Text(float64(left+k*width), top-20, "start", "head", "to "+l.Way)
			frame(&d, left+k*width, top, width-90, height)
		}
		x := func(n int) float64 {
			return float64(left+k*width) + (math.Log10(float64(n))-2)/2*(width-90)
		}
		var path []string
		var last float64
		for _, p := range l.Points {
			last = top + height - clamp((math.Log10(p.Time.Seconds())+3)/5)*height
			path = append(path, fmt.Sprintf("%.1f,%.1f", x(p.Nodes), last))
		}
		if path == nil {
			continue
		}
		d.Add(`<polyline points="%s" fill="none" stroke="#457" stroke-opacity="0.6"/>`,
			strings.Join(path, " "))
		d.Text(x(l.Points[len(l.Points)-1].Nodes)+4, last+4, "start", "label", l.Name)
	}
	return d.Write(to, left+len(ways)*width, top+height+40, "time of etgen over nodes",
		"sans-serif")
}

func clamp(x float64) float64 { return min(max(x, 0), 1) }

// frame draws the axes: 100 to 10,000 nodes, a millisecond to 100 seconds, and a
// line that grows with the nodes.
func frame(d *svg.Picture, x, y, width, height int) {
	for i, s := range []string{"1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s"} {
		at := y + height - i*height/5
		d.Add(`<path d="M%d %dh%d" stroke="#ddd"/>`, x, at, width)
		d.Text(float64(x-6), float64(at+4), "end", "label", s)
	}
	for i, s := range []string{"100", "1,000", "10,000 nodes"} {
		d.Text(float64(x+i*width/2), float64(y+height+18), "middle", "label", s)
	}
	d.Add(`<path d="M%d %dL%d %d" stroke="#c33" stroke-dasharray="4"/>`, x,
		y+height-height/5, x+width, y+height-3*height/5)
}
