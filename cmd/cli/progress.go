package cli

import (
	"fmt"
	"io"
)

// progress is a line on the terminal that says how far a command has come; it
// is silent when nobody watches.
type progress struct {
	to    io.Writer // nil: silent
	shown bool
}

func (a *app) progress() *progress {
	if !a.tty {
		return &progress{}
	}
	return &progress{to: a.err.Harmless()}
}

func (p *progress) show(done, all int) {
	if p.to != nil {
		p.shown = true
		fmt.Fprintf(p.to, "\r\x1b[K%d of %d", done, all)
	}
}

func (p *progress) clear() {
	if p.shown {
		p.shown = false
		fmt.Fprint(p.to, "\r\x1b[K")
	}
}
