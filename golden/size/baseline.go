package size

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/etgen/etgen/codegen/report"
)

// Baseline is what etgen size --json wrote, as far as figures are compared.
type Baseline struct {
	*Size
	Layers *struct {
		Methods []struct {
			Instructions int64 `json:"instructions_estimate"`
		} `json:"methods"`
	} `json:"report"`
}

// ReadBaseline reads what etgen size --json wrote. The error names the file.
func ReadBaseline(path string) (*Baseline, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	b := &Baseline{}
	if err := json.Unmarshal(text, b); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if b.Size == nil || b.Target == "" {
		return nil, fmt.Errorf("%s: it is not what etgen size --json writes", path)
	}
	return b, nil
}

// Growth is a figure that was measured before and now.
type Growth struct {
	Name     string
	Was, Now int64
}

// Percent is how much the figure has grown; what there was nothing of grows by 100 %.
func (g Growth) Percent() float64 {
	if g.Was <= 0 {
		if g.Now <= 0 {
			return 0
		}
		return 100
	}
	return 100 * float64(g.Now-g.Was) / float64(g.Was)
}

// Growth returns the figures of s beside those of the baseline, which must be of the same target:
// code, constants, flash, the arena, RAM, stack and, if layers is not nil and the baseline has
// them, the estimated instructions of all methods.
func (b *Baseline) Growth(s *Size, layers *report.Report) ([]Growth, error) {
	if s.Target != b.Target {
		return nil, fmt.Errorf("the baseline is of %s, this is of %s", b.Target, s.Target)
	}
	list := []Growth{{"text", b.Text, s.Text}, {"rodata", b.ROData, s.ROData},
		{"flash", b.Flash, s.Flash}, {"arena", b.Arena, s.Arena}, {"ram", b.RAM, s.RAM},
		{"stack", b.Stack, s.Stack}}
	if layers != nil && b.Layers != nil {
		instructions := Growth{Name: "instructions"}
		for _, m := range b.Layers.Methods {
			instructions.Was += m.Instructions
		}
		for _, m := range layers.Methods {
			instructions.Now += m.Instructions
		}
		list = append(list, instructions)
	}
	return list, nil
}

// PrintGrowth writes a table of figures, in which those that have grown by more than most percent
// are marked, and returns how many these are.
func PrintGrowth(w io.Writer, list []Growth, most float64) (over int) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\tbaseline\tnow\t\t\n")
	for _, g := range list {
		mark := ""
		if g.Percent() > most {
			over++
			mark = "  too much"
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%+.1f %%\t%s\n", g.Name, g.Was, g.Now, g.Percent(), mark)
	}
	t.Flush()
	return over
}
