package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/lower/partition"
	"github.com/etgen/etgen/lower/quantize"
)

// allBackends are etgen's own backends and more, which take the place of those of their names.
func allBackends(more []partition.Backend) []partition.Backend {
	all := compile.Backends()
	for _, b := range more {
		all = slices.DeleteFunc(all, func(x partition.Backend) bool {
			return x.About().Name == b.About().Name
		})
		all = append(all, b)
	}
	return all
}

// backendFlags say which parts of a program backends compile.
type backendFlags struct {
	backends     []string
	maxFallbacks int
	show         bool
	app          *app
}

func (f *backendFlags) add(cmd *cobra.Command, a *app) {
	f.app = a
	flags := cmd.Flags()
	flags.StringSliceVar(&f.backends, "backend", nil,
		"NAME[:KEY=VALUE]…: the backend NAME compiles the parts that it takes; several are asked in "+
			"order. module=PATH is for a module of the model alone, whole for a part that must be all of it")
	flags.IntVar(&f.maxFallbacks, "max-fallbacks", -1,
		"with --backend: an error if more operators than that stay with etgen")
	flags.BoolVar(&f.show, "show-backends", false,
		"with --backend: list what went where, and why not to a backend")
	names := []string{compile.LibraryCMSISNN}
	for _, b := range a.backends {
		names = append(names, b.About().Name)
	}
	fixed(cmd, "backend", names...)
}

// set sets what the flags say in options.
func (f *backendFlags) set(cmd *cobra.Command, opt *compile.Options) {
	if len(f.backends) == 0 {
		for _, name := range []string{"max-fallbacks", "show-backends"} {
			if cmd.Flags().Changed(name) {
				failUsage("--%s is for --backend=NAME", name)
			}
		}
		return
	}
	for _, text := range f.backends {
		if text == compile.LibraryCMSISNN {
			opt.Library = text
			continue
		}
		opt.Backends = append(opt.Backends, f.use(text))
	}
	opt.Delegation = &partition.Report{}
	if cmd.Flags().Changed("max-fallbacks") {
		if f.maxFallbacks < 0 {
			failUsage("--max-fallbacks=%d: take a whole number, 0 or more", f.maxFallbacks)
		}
		opt.MaxFallbacks = &f.maxFallbacks
	}
}

// quantizer is that of the first backend that has one, nil if none has.
func (f *backendFlags) quantizer() func(*quantize.Default) quantize.Quantizer {
	var uses []*partition.Use
	for _, text := range f.backends {
		if text != compile.LibraryCMSISNN {
			uses = append(uses, f.use(text))
		}
	}
	return partition.QuantizerOf(uses)
}

// ignored fails if a library is asked for, which has no effect where the words say.
func (f *backendFlags) ignored(flags *compileFlags, where string) {
	if slices.Contains(f.backends, compile.LibraryCMSISNN) {
		flags.ignored(where, "backend")
	}
}

// use reads NAME[:KEY=VALUE]….
func (f *backendFlags) use(text string) *partition.Use {
	words := strings.Split(text, ":")
	i := slices.IndexFunc(f.app.backends, func(b partition.Backend) bool {
		return b.About().Name == words[0]
	})
	if i < 0 {
		failUsage("--backend=%s: there is no backend %q: etgen backends lists them", text, words[0])
	}
	use := &partition.Use{Backend: f.app.backends[i]}
	about := use.Backend.About()
	seen := map[string]bool{}
	for _, word := range words[1:] {
		key, value, valued := strings.Cut(word, "=")
		if seen[key] {
			failUsage("--backend=%s: %s is there twice", text, key)
		}
		seen[key] = true
		switch {
		case key == "whole" && !valued:
			use.Whole = true
		case key == "module" && value != "":
			use.Module = value
		case valued && slices.ContainsFunc(about.Options, func(o partition.Option) bool {
			return o.Name == key
		}):
			use.Specs = append(use.Specs, ir.CompileSpec{Key: key, Value: []byte(value)})
		default:
			failUsage("--backend=%s: the backend %s takes no %q: etgen backends lists what it takes", text,
				about.Name, word)
		}
	}
	return use
}

// generator is what files say of the flags.
func (f *backendFlags) generator() (text string) {
	for _, name := range f.backends {
		text += " --backend=" + name
	}
	return text
}

// written writes what went where, if that is asked for.
func (f *backendFlags) written(opt *compile.Options) {
	if f.show {
		must.Check(opt.Delegation.Write(f.app.out))
	}
}

func newBackends(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "backends",
		Short: "List what --backend may be",
		Long: `Backends lists what compiles parts of a program for something else than etgen's
kernels: the name that --backend takes, the id by which a program calls the backend
at run time, and the options behind the name. docs/backends.md shows how to link one
of your own.`,
		Example: `  etgen backends
  etgen model.pt2 --lang=pte --backend=xnnpack --max-fallbacks=0 -o out/`,
		Args: none("backends"),
		RunE: func(*cobra.Command, []string) error {
			all := []partition.About{{Name: compile.LibraryCMSISNN,
				Doc: "with --lang=c: a quantized model calls Arm's library, which the application links"}}
			for _, b := range a.backends {
				all = append(all, b.About())
			}
			if asJSON {
				return a.json(all)
			}
			w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tID\tWHAT")
			for _, b := range all {
				fmt.Fprintf(w, "%s\t%s\t%s\n", foreign.Message(b.Name), foreign.Escape(cmp.Or(b.ID, "-")),
					foreign.Escape(b.Doc))
				for _, o := range b.Options {
					fmt.Fprintf(w, "  %s=…\t\t%s\n", foreign.Message(o.Name), foreign.Escape(o.Doc))
				}
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}
