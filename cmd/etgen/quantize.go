package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/record"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/quantize"
	"github.com/etgen/etgen/rt/portable"
)

func schemeNames() (names []string) {
	for _, s := range quantize.Schemes {
		names = append(names, s.Name)
	}
	return names
}

func schemeList() string {
	var b strings.Builder
	for _, s := range quantize.Schemes {
		fmt.Fprintf(&b, "  %-13s %s\n", s.Name, s.Doc)
	}
	return b.String()
}

// samplesOf returns the samples that words name, which are comma-separated lists.
func samplesOf(p *ir.Program, words []string) map[string]quantize.Samples {
	if len(words) == 0 {
		return nil
	}
	var files []string
	for _, w := range words {
		files = append(files, strings.Split(w, ",")...)
	}
	if len(p.Methods) != 1 {
		failUsage("--calibrate is for a model of one method; this one has %d", len(p.Methods))
	}
	m := p.Methods[0]
	s, err := record.Samples(m, files, 0)
	must.Check(modelError(err))
	return map[string]quantize.Samples{m.Name: s}
}

// recipe returns what --quantize and --calibrate say, nil if they are not given.
func (f *compileFlags) recipe(model []string) *quantize.Recipe {
	scheme, unknown := quantize.SchemeNamed(f.quantize)
	switch {
	case f.quantize == "" && len(f.calibrate) > 0:
		failUsage("--calibrate has no effect without --quantize: name a scheme: %s",
			strings.Join(schemeNames(), ", "))
	case f.quantize == "":
		return nil
	case unknown == nil && len(model) != 1:
		failUsage("--quantize=%s is for commands that take one model: make a recipe, and name it",
			f.quantize)
	case unknown == nil:
		p, closer, err := compile.Read(model[0])
		must.Check(modelError(err))
		defer closer.Close()
		if scheme.Static() && len(f.calibrate) == 0 {
			failUsage("--calibrate is missing: --quantize=%s takes ranges from samples", f.quantize)
		}
		r, err := quantize.New(&lower.Context{Table: ops.Standard(), Bounds: f.bounds,
			Done: f.cmd.Context().Done()}, p, samplesOf(p, f.calibrate),
			quantize.Options{Scheme: scheme, Kernel: portable.Kernels(),
				Done: f.cmd.Context().Done()})
		must.Check(modelError(err))
		return r.Recipe
	case len(f.calibrate) > 0:
		failUsage("--calibrate has no effect with a recipe, which has its ranges")
	}
	data, err := os.ReadFile(f.quantize)
	if err != nil {
		failUsage("--quantize: %w: it is neither a recipe nor a scheme: %s", err,
			strings.Join(schemeNames(), ", "))
	}
	r, err := quantize.Unmarshal(data)
	if err != nil {
		failUsage("--quantize: %s: %w", f.quantize, err)
	}
	return r
}

// keepFlags say which layers stay as they are.
type keepFlags struct {
	keep     []string
	wide     bool
	accuracy float64
}

func (f *keepFlags) set(opt *quantize.Options) {
	for _, word := range f.keep {
		if n, err := strconv.Atoi(word); err == nil {
			opt.KeepWorst += n
		} else {
			opt.KeepFloat = append(opt.KeepFloat, word)
		}
	}
	opt.Wide = f.wide
}

func newQuantize(a *app) *cobra.Command {
	var scheme, out, report, labels, io8 string
	var calibrate, evaluate []string
	var keep keepFlags
	var asJSON bool
	opt := quantize.Options{Kernel: portable.Kernels()}
	cmd := &cobra.Command{
		Use:   "quantize MODEL --calibrate=FILE -o RECIPE",
		Short: "Make the recipe that quantizes a float model",
		Long: `Quantize finds out how a float32 model can compute with integers and writes that to a
recipe: a JSON file with scale and zero point of each value, to read, to compare and to
edit. etgen MODEL --quantize=RECIPE compiles by it, to C, Go or .pte.

Schemes:
` + schemeList() + `
Samples are what the model is usually called with: a hundred will do. --calibrate names a
.npy file for each input, in order, separated by commas. A file holds one sample, or a list
of them along its first dimension; behind its name [FROM:TO] takes a part of the list. It
may also be a folder: a golden case, or one of .npy files.

Quantize shows how much error each layer brings. SQNR is signal over noise in decibels:
own, with inputs as float32 has them; total, with all layers before it quantized. With
--labels it shows how often the model is right, in float32 and quantized.`,
		Example: `  etgen quantize kws.pt2 --calibrate=x.npy -o recipe.json
  etgen kws.pt2 --quantize=recipe.json --lang=c --target=cortex-m4 -o out/
  etgen quantize kws.pt2 --calibrate=x.npy[:100] --evaluate=x.npy[100:] --labels=y.npy[100:] -o recipe.json
  etgen quantize net.pt2 --calibrate=x.npy --keep-float=2 --keep-float='head.*' -o recipe.json
  etgen quantize llm.pt2 --scheme=int4-weights -o recipe.json`,
		Args: exactly("MODEL"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			defer must.Catch(&err)
			if out == "" {
				return usageError("-o is missing: the file to write the recipe to")
			}
			if opt.Scheme, err = quantize.SchemeNamed(scheme); err != nil {
				return usageError("--scheme: %v", err)
			}
			if keep.set(&opt); io8 == "int8" {
				if opt.Scheme.Activations != ir.Int8 || !opt.Scheme.Static() {
					return usageError("--io=int8 is for --scheme=int8, of which inputs and outputs have one scale")
				}
				opt.Outside = true
			}
			p, closer, err := compile.Read(args[0])
			must.Check(modelError(err))
			defer closer.Close()
			if opt.Scheme.Static() && len(calibrate) == 0 {
				return usageError("--calibrate is missing: the scheme %s takes ranges from samples",
					scheme)
			}
			method := p.Methods[0].Name
			samples := samplesOf(p, calibrate)
			given := samples[method]
			if len(evaluate) > 0 {
				given = samplesOf(p, evaluate)[method]
			}
			bar := a.progress()
			defer bar.clear()
			opt.Progress, opt.Done = bar.show, cmd.Context().Done()
			ctx := &lower.Context{Table: ops.Standard(), Done: cmd.Context().Done()}
			rate := func(p *ir.Program) *quantize.Accuracy {
				return ofModel(quantize.Evaluate(ctx, p, method, given, classes(labels),
					opt.Kernel, bar.show))
			}
			if keep.accuracy > 0 {
				if labels == "" {
					return usageError("--target-accuracy needs --labels")
				}
				opt.Accept = func(p *ir.Program) (_ bool, err error) {
					defer must.Catch(&err)
					return rate(p).Percent() >= keep.accuracy, nil
				}
			}
			r := ofModel(quantize.New(ctx, p, samples, opt))
			text := must.Get(r.Recipe.Marshal())
			pkg := codegen.Package{Files: []codegen.File{{Name: filepath.Base(out), Data: text}}}
			summary := &quantize.Summary{Result: r, Method: method}
			if labels != "" {
				summary.FloatRight, summary.QuantizedRight = rate(r.Float), rate(r.Quantized)
			}
			bar.clear()
			if asJSON {
				must.Check(a.json(summary.JSON()))
			} else {
				summary.Text(a.out, 10)
			}
			if report != "" {
				must.Check(writeMarkup(cmd, report, args[0], func(to io.Writer) error {
					return summary.Markdown(to)
				}))
			}
			return pkg.Write(cmd.Context(), filepath.Dir(out), args[0])
		},
	}
	flags := cmd.Flags()
	oneOf(cmd, &scheme, "scheme", "int8", schemeNames(), "what is quantized, and to what")
	flags.StringVarP(&out, "output", "o", "", "the recipe to write")
	flags.StringArrayVar(&calibrate, "calibrate", nil, "samples to take ranges from")
	oneOf(cmd, &opt.Observer, "observer", "minmax", quantize.Observers,
		"how ranges follow from samples: "+strings.Join(quantize.Observers, ", "))
	flags.Float64Var(&opt.Percentile, "percentile", 99.99,
		"with --observer=percentile: how many of 100 elements are in the range")
	flags.BoolVar(&opt.Equalize, "equalize", false,
		"first make channels of layers that follow one another equally large")
	flags.BoolVar(&opt.CorrectBias, "bias-correction", false,
		"take from biases what quantization adds to the mean of a layer's sums")
	oneOf(cmd, &io8, "io", "float", []string{"float", "int8"},
		"what inputs and outputs are: float32, or int8 with scale and zero point in the header")
	flags.StringArrayVar(&keep.keep, "keep-float", nil,
		"leave layers in float32: a number, of those with the largest error, or a pattern of layers, modules or operators")
	flags.BoolVar(&keep.wide, "keep-16x8", false,
		"give the layers of --keep-float and --target-accuracy activations of 16 bits instead")
	flags.Float64Var(&keep.accuracy, "target-accuracy", 0,
		"with --labels: leave layers as they are until so many of 100 samples are right")
	flags.StringArrayVar(&evaluate, "evaluate", nil,
		"with --labels: samples to count right answers on (default: those of --calibrate)")
	flags.StringVar(&labels, "labels", "", "the classes of the samples: whole numbers in a .npy file")
	flags.IntVar(&opt.Compare, "compare", 16, "how many samples errors are measured with")
	flags.StringVar(&report, "report", "",
		"a file to write the summary of all layers to, with --labels the confusion matrix too")
	flags.BoolVar(&asJSON, "json", false, "show the summary as JSON")
	return cmd
}

// classes reads labels.
func classes(file string) []int64 { return ofModel(record.Labels(file)) }
