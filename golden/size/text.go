package size

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/etgen/etgen/ir/foreign"
)

// shownSymbols is how many symbols Print shows.
const shownSymbols = 20

// Print writes the sizes for people to read; all symbols if all is set.
func (s *Size) Print(to io.Writer, all bool) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	flags := slices.DeleteFunc(slices.Clone(s.Flags), func(f string) bool {
		return strings.HasPrefix(f, "-W") || f == "-pedantic"
	})
	fmt.Fprintf(to, "%s for %s, compiled with %s: %s\n\n", s.Name, s.Target,
		foreign.Escape(s.Compiler), foreign.Escape(strings.Join(flags, " ")))
	row := func(what string, bytes int64, how string) {
		fmt.Fprintf(w, "%d\t  %-6s %s\n", bytes, what, how)
	}
	row("flash", s.Flash, fmt.Sprintf("= .text %d + .rodata %d + .data %d", s.Text, s.ROData, s.Data))
	row("RAM", s.RAM, fmt.Sprintf("= arena %d + state %d + .data %d + .bss %d", s.Arena, s.State,
		s.Data, s.BSS))
	if s.Stack < 0 {
		fmt.Fprintf(w, "?\t  %-6s %s\n", "stack", s.deepest())
	} else {
		row("stack", s.Stack, "= "+s.deepest())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(to)
	shown := s.Symbols
	if len(shown) > shownSymbols && !all {
		shown = shown[:shownSymbols]
	}
	w = tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, x := range shown {
		fmt.Fprintf(w, "%d\t  %s  %s\n", x.Bytes, foreign.Escape(x.Section), foreign.Escape(x.Name))
	}
	if n := len(s.Symbols) - len(shown); n > 0 {
		fmt.Fprintf(w, "\t  and %d smaller symbols\n", n)
	}
	return w.Flush()
}

// deepest tells for people which calls take most of the stack.
func (s *Size) deepest() string {
	names := func(list []string, between string) string {
		return foreign.Escape(strings.Join(list, between))
	}
	if s.Stack < 0 {
		return "no bound is known: " + names(s.Unbounded, ", ")
	}
	calls := names(s.Chain, " > ")
	if len(s.Library) > 0 {
		calls += "; and what these take: " + names(s.Library, ", ")
	}
	return calls
}
