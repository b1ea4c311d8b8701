package golang

import (
	"fmt"
	"go/format"
	"strings"

	"github.com/etgen/etgen/ir/must"
)

// profileNames are names that profile.go uses.
var profileNames = []string{"profile", "profileKernels", "time", "io"}

// profile prints profile.go, which sums up the time of each kernel; nil without Options.Profile.
func (g *generator) profile() []byte {
	if g.events == nil {
		return nil
	}
	var kernels strings.Builder
	for _, k := range g.events.Kernels {
		fmt.Fprintf(&kernels, "%q,\n", k)
	}
	model, write := g.door("Model"), g.door("WriteProfile")
	return must.Get(format.Source(fmt.Appendf(nil, `%[4]spackage %[5]s

import (
	"fmt"
	"io"
	"time"
)

// profileKernels are the kernels: each, its nodes, their operators, where they come from.
var profileKernels = [...]string{
%[1]s}

// profile sums up the times of kernels.
type profile struct {
	began time.Time
	calls [len(profileKernels)]int
	time  [len(profileKernels)]time.Duration
}

// profileEvent is called with 2*k before the k-th kernel, and with 2*k+1 after it.
func (m *%[2]s) profileEvent(event int) {
	p, k := &m.profile, event/2
	switch {
	case m.ProfileEvent != nil:
		m.ProfileEvent(event)
	case event%%2 == 0:
		p.began = time.Now()
	default:
		p.time[k] += time.Since(p.began)
		p.calls[k]++
	}
}

// %[3]s writes the time that each kernel took since m was made, for etgen profile.
func (m *%[2]s) %[3]s(w io.Writer) error {
	text := fmt.Appendf(nil, "etgen-profile 1 %%d 1000000000\n", len(profileKernels))
	for k, name := range profileKernels {
		text = fmt.Appendf(text, "etgen-kernel %%d %%d %%d %%s\n", k, m.profile.calls[k],
			m.profile.time[k].Nanoseconds(), name)
	}
	_, err := w.Write(append(text, "etgen-end\n"...))
	return err
}
`, kernels.String(), model, write, g.header(), g.unit.name)))
}
