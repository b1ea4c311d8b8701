package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/quantize"
)

func newLower(a *app) *cobra.Command {
	var dump, stop, lang, to string
	var flags compileFlags
	cmd := &cobra.Command{
		Use:   "lower MODEL",
		Short: "Show the program after a pass",
		Long: `Lower shows what etgen makes of a model on the way to code: why an operator became
others, what was folded or fused, which pass goes wrong. Nobody needs it to compile.

Lower prints the program in its text form as the passes leave it: after one pass,
after all of them, or in native form. It prints the input of native form without
flags, and the dialects of ExecuTorch's with --to=core and --to=edge. --stop-after
ends the run behind a pass and prints what is there, to find the pass that goes wrong.

What was printed is a MODEL too, of every command: edit it to make it smaller. It
holds the data of small constants alone.

The passes, in order:
` + passList(),
		Example: `  etgen lower model.pt2 --dump-after=decompose
  etgen lower model.pt2 --dump-after=all > passes.txt
  etgen lower model.pt2 --to=edge
  etgen lower model.pt2 --stop-after=decompose > model.ir && etgen lower model.ir
  etgen lower model.pt2 --dump-after=native --lang=c`,
		Args: exactly("MODEL"),
		RunE: func(_ *cobra.Command, args []string) (err error) {
			defer must.Catch(&err)
			opt := flags.options(args[0])
			l := flags.language(lang)
			if l.Kernels == nil && dump == "native" {
				return usageError(
					"--dump-after=native is for --lang=c and go: a .pte has no native form")
			}
			if to != "" && dump == "native" {
				return usageError("--dump-after=native is no dialect: take it without --to")
			}
			opt.Lang, opt.To = lang, ir.Dialect(to)
			native := dump == "native" ||
				dump == "all" && stop == "" && to == "" && l.Kernels != nil
			a.lower(args[0], opt, dump, stop, native)
			return nil
		},
	}
	oneOf(cmd, &dump, "dump-after", "", append(passNames(), "all", "native"),
		"print the program after this pass; all: after each; native: the native form")
	oneOf(cmd, &stop, "stop-after", "", passNames(), "run no pass after this one")
	oneOf(cmd, &lang, "lang", "c", compile.Languages(),
		"the output language that passes and native form are for: c, go or pte")
	oneOf(cmd, &to, "to", "", dialectNames(), "the dialect that the passes lead to: "+
		strings.Join(dialectNames(), ", ")+" (default: the one that --lang is made from)")
	flags.add(cmd, a)
	return cmd
}

func passNames() (names []string) {
	names = seq.Map(lower.Passes(), func(p lower.Pass) string { return p.Name })
	return append(names, quantize.PassName, lower.StreamPass)
}

func dialectNames() (names []string) {
	return seq.Map(lower.Pipelines, func(pl lower.Pipeline) string { return string(pl.To) })
}

func passList() string {
	var b strings.Builder
	width := 0
	for _, name := range passNames() {
		width = max(width, len(name))
	}
	for _, p := range lower.Passes() {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, p.Name, p.Doc)
	}
	fmt.Fprintf(&b, "  %-*s  %s\n", width, quantize.PassName,
		"with --quantize, behind fold-batch-norm: insert what a recipe says")
	fmt.Fprintf(&b, "  %-*s  %s\n", width, lower.StreamPass,
		"with --stream, before others: keep state in place of frames that are computed again")
	return strings.TrimRight(b.String(), "\n")
}

// lower runs the passes and prints programs as they come, with native the native form
// that follows them too.
func (a *app) lower(path string, opt compile.Options, dump, stop string, native bool) {
	p, closer, err := opt.Read(path)
	must.Check(modelError(err))
	defer closer.Close()
	var ran []string
	opt.After = func(pass lower.Pass, p *ir.Program) error {
		if !slices.Contains(ran, pass.Name) {
			ran = append(ran, pass.Name)
		}
		switch {
		case dump == "all":
			fmt.Fprintf(a.out, "# after %s\n%v\n", pass.Name, p)
		case dump == pass.Name:
			fmt.Fprint(a.out, p)
		case stop == pass.Name && dump == "":
			fmt.Fprint(a.out, p)
		}
		if stop == pass.Name {
			return lower.Stop
		}
		return nil
	}
	if native {
		np := ofModel(compile.Native(p, opt))
		if dump == "all" {
			fmt.Fprintln(a.out, "# native form")
		}
		fmt.Fprint(a.out, np)
		return
	}
	must.Check(modelError(compile.Lower(p, opt)))
	if dump == "" && stop == "" {
		fmt.Fprint(a.out, p)
	}
	for _, pass := range []string{dump, stop} {
		if pass != "" && pass != "all" && !slices.Contains(ran, pass) {
			failUsage(
				"the pass %s does not run with these flags: take %s, or another --lang or --to",
				pass, strings.Join(ran, ", "))
		}
	}
}
