// Package svg writes pictures. It escapes strings, because some of them come from files.
package svg

import (
	"fmt"
	"io"
	"strings"

	"github.com/etgen/etgen/ir/foreign"
)

// Picture is what is drawn, in the order of drawing.
type Picture struct{ body strings.Builder }

// Markup is a string that is no text, and is written as it is.
type Markup string

// Add writes a line of elements. The format is ours; strings among args are text.
func (p *Picture) Add(format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = foreign.Of(s).XML()
		}
	}
	fmt.Fprintf(&p.body, format+"\n", args...)
}

// Text writes a text. Its place is where it starts, its middle or its end, as anchor
// says: start, middle or end. Its class is head or label.
func (p *Picture) Text(x, y float64, anchor, class Markup, text string) {
	p.Add(`<text x="%.1f" y="%.1f" text-anchor="%s" class="%s">%s</text>`, x, y, anchor, class,
		text)
}

// Write writes the picture. Width and height are in pixels, font is a CSS font family.
func (p *Picture) Write(to io.Writer, width, height int, title, font string) error {
	text := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d">
<title>%s</title>
<style>text{font-family:%s;font-size:11px;fill:#222}.head{font-size:13px;font-weight:bold}</style>
<rect width="100%%" height="100%%" fill="#fff"/>
%s</svg>
`, width, height, foreign.Of(title).XML(), font, p.body.String())
	_, err := io.WriteString(to, text)
	return err
}
