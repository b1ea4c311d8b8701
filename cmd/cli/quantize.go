package cli

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/record"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower"
	"github.com/etgen/etgen/lower/quantize"
	"github.com/etgen/etgen/rt/portable"
)

func schemeNames() (names []string) {
	return seq.Map(quantize.Schemes, func(s quantize.Scheme) string { return s.Name })
}

func schemeList() string {
	var b strings.Builder
	for _, s := range quantize.Schemes {
		fmt.Fprintf(&b, "  %-13s %s\n", s.Name, s.Doc)
	}
	return b.String()
}

// samplesOf returns the samples that the words of a flag name, which are comma-separated lists, by
// method. In front of a list the method stands, METHOD:, if there are several.
func samplesOf(p *ir.Program, flag string, words []string) map[string]quantize.Samples {
	files := map[string][]string{}
	for _, w := range words {
		name, rest, _ := strings.Cut(w, ":")
		switch i := slices.IndexFunc(p.Methods, func(m *ir.Method) bool { return m.Name == name }); {
		case i >= 0:
			w = rest
		case len(p.Methods) == 1:
			name = p.Methods[0].Name
		default:
			failUsage("--%[1]s=%[2]s: the model has several methods: say which, as in --%[1]s=%[3]s:%[2]s",
				flag, w, p.Methods[0].Name)
		}
		files[name] = append(files[name], strings.Split(w, ",")...)
	}
	samples := map[string]quantize.Samples{}
	for _, m := range p.Methods {
		if files[m.Name] != nil {
			s, err := record.Samples(m, files[m.Name], 0)
			must.Check(modelError(err))
			samples[m.Name] = s
		}
	}
	return samples
}

// fewSamples warns of ranges that follow from too few samples.
func fewSamples(warn func(error), samples map[string]quantize.Samples) {
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		if n := samples[name].Count; n < quantize.FewSamples {
			warn(fmt.Errorf("method %s: samples to calibrate with: %d; with fewer than %d, what they do "+
				"not show is out of range", name, n, quantize.FewSamples))
		}
	}
}

// outsides are what inputs and outputs of a quantized model may be.
var outsides = []string{"float", "int8"}

// onlyBytes is the error of --io=int8 with another scheme than int8. It has the name of the flag
// that says the scheme.
const onlyBytes = "--io=int8 is for --%s=int8, of which inputs and outputs have one scale"

// ofBytes tells whether activations are int8, with scales from calibration.
func ofBytes(s quantize.Scheme) bool { return s.Static() && s.Activations == ir.Int8 }

// recipe returns what --quantize, --calibrate and --io say, nil if they are not given.
func (f *compileFlags) recipe(model []string) *quantize.Recipe {
	scheme, unknown := quantize.SchemeNamed(f.quantize)
	switch {
	case f.quantize == "" && len(f.calibrate) > 0:
		failUsage("--calibrate has no effect without --quantize: name a scheme: %s",
			strings.Join(schemeNames(), ", "))
	case f.quantize == "" && f.io == "int8":
		failUsage("--io=int8 has no effect without --quantize=int8")
	case f.quantize == "":
		return nil
	case unknown == nil && len(model) != 1:
		failUsage("--quantize=%s is for commands that take one model: make a recipe, and name it",
			f.quantize)
	case unknown == nil:
		if f.io == "int8" && !ofBytes(scheme) {
			failUsage(onlyBytes, "quantize")
		}
		p, closer, err := compile.ReadCustom(model[0], f.declared)
		must.Check(modelError(err))
		defer closer.Close()
		if scheme.Static() && len(f.calibrate) == 0 {
			failUsage("--calibrate is missing: --quantize=%s takes ranges from samples", f.quantize)
		}
		samples := samplesOf(p, "calibrate", f.calibrate)
		if scheme.Static() {
			fewSamples(f.warn, samples)
		}
		r, err := quantize.New(&lower.Context{Table: ops.Standard(), Bounds: f.bounds,
			Done: f.cmd.Context().Done()}, p, samples,
			quantize.Options{Scheme: scheme, Kernel: portable.Kernels(), Quantizer: f.backend.quantizer(),
				Compare: f.compare, Outside: f.io == "int8", Done: f.cmd.Context().Done()})
		must.Check(modelError(err))
		f.quantized = r
		return r.Recipe
	case len(f.calibrate) > 0:
		failUsage("--calibrate has no effect with a recipe, which has its ranges")
	case f.io == "int8":
		failUsage("--io has no effect with a recipe, which says what inputs and outputs are")
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

// quantizeFlags are those of etgen quantize.
type quantizeFlags struct {
	quantize.Options
	keepFlags
	backends                               []string
	scheme, out, report, labels, io, group string
	calibrate, evaluate                    []string
	json, continued, corrects              bool
}

// set completes the options. It fails where flags do not go together.
func (f *quantizeFlags) set(cmd *cobra.Command) (err error) {
	if f.out == "" {
		return usageError("-o is missing: the file to write the recipe to")
	}
	if f.Scheme, err = quantize.SchemeNamed(f.scheme); err != nil {
		return usageError("--scheme: %v", err)
	}
	f.keepFlags.set(&f.Options)
	switch {
	case f.corrects:
		f.Biases = quantize.CorrectedBiases
	case cmd.Flags().Changed("bias-correction"):
		f.Biases = quantize.LeftBiases
	}
	if f.Outside = f.io == "int8"; f.group != "" {
		f.Scheme.Group = must.Get(strconv.Atoi(f.group))
	}
	bytes := ofBytes(f.Scheme)
	ranked := f.ranked()
	for _, rule := range []struct {
		wrong bool
		text  string
	}{
		{f.Compare < 0, "--compare is a number of samples, not below 0"},
		{!(f.Percentile > 0 && f.Percentile <= 100), "--percentile is over 0 and at most 100"},
		{f.Outside && !bytes, fmt.Sprintf(onlyBytes, "scheme")},
		{cmd.Flags().Changed("group-size") && f.Scheme.Activations != ir.InvalidDType,
			"--group-size is for --scheme=int8-weights and int4-weights: sums of integers have one scale"},
		{!f.Scheme.Static() && cmd.Flags().Changed("observer"),
			"--observer is for schemes with ranges from calibration: int8, int16x8"},
		{f.wide && !bytes,
			"--keep-16x8 is for --scheme=int8"},
		{f.wide && len(f.keep) == 0 && f.accuracy == 0,
			"--keep-16x8 says what becomes of the layers of --keep-float and --target-accuracy"},
		{f.accuracy < 0 || f.accuracy > 100, "--target-accuracy is from 0 to 100"},
		{f.accuracy > 0 && f.labels == "", "--target-accuracy needs --labels"},
		{len(f.evaluate) > 0 && f.labels == "", "--evaluate needs --labels"},
		{f.labels != "" && len(f.evaluate) == 0 && len(f.calibrate) == 0,
			"--labels needs samples: --evaluate, or --calibrate"},
		{f.Scheme.Static() && len(f.calibrate) == 0,
			"--calibrate is missing: the scheme " + f.scheme + " takes ranges from samples"},
		{f.corrects && len(f.calibrate) == 0, "--bias-correction needs samples: --calibrate"},
		{ranked != "" && (len(f.calibrate) == 0 || f.Compare == 0), ranked + " needs errors of layers: " +
			"they are measured with samples of --calibrate, as many as --compare says"},
	} {
		if rule.wrong {
			return usageError("%s", rule.text)
		}
	}
	return nil
}

// ranked returns the flag that ranks layers by their errors, "" if none does.
func (f *quantizeFlags) ranked() string {
	switch {
	case f.KeepWorst > 0:
		return fmt.Sprintf("--keep-float=%d", f.KeepWorst)
	case f.accuracy > 0:
		return "--target-accuracy"
	}
	return ""
}

func newQuantize(a *app) *cobra.Command {
	f := &quantizeFlags{Options: quantize.Options{Kernel: portable.Kernels()}}
	var several methodFlags
	cmd := &cobra.Command{
		Use:   "quantize MODEL... --calibrate=FILE -o RECIPE",
		Short: "Make the recipe that quantizes a float model",
		Long: `Quantize finds out how a float32 model can compute with integers and writes that to a
recipe: a JSON file with scale and zero point of each value, to read, to compare and to
edit. etgen MODEL --quantize=RECIPE compiles by it, to C, Go or .pte.

Schemes:
` + schemeList() + `
Samples are what the model is usually called with: a hundred will do. --calibrate names a
.npy file for each input, in order, separated by commas. A file holds one sample, or a list
of them along its first dimension; behind its name [FROM:TO] takes a part of the list. It
may also be a folder: a golden case, or one of .npy files. Of several methods each has its
own: --calibrate=METHOD:FILE.

Quantize shows how much error each layer brings. SQNR is signal over noise in decibels:
own, with inputs as float32 has them; total, with all layers before it quantized. With
--labels it shows how often the model is right, in float32 and quantized.`,
		Example: `  etgen quantize kws.pt2 --calibrate=x.npy -o recipe.json
  etgen kws.pt2 --quantize=recipe.json --lang=c --target=cortex-m4 -o out/
  etgen quantize kws.pt2 --calibrate=x.npy[:100] --evaluate=x.npy[100:] --labels=y.npy[100:] -o recipe.json
  etgen quantize net.pt2 --calibrate=x.npy --keep-float=2 --keep-float='fc*' -o recipe.json
  etgen quantize net.pt2 --calibrate=x.npy --backend=xnnpack -o recipe.json
  etgen quantize llm.pt2 --scheme=int4-weights --group-size=128 -o recipe.json
  etgen quantize --method wake=kws.pt2 --method words=net.pt2 --calibrate=wake:x.npy --calibrate=words:x.npy -o recipe.json`,
		Args: several.args,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			defer must.Catch(&err)
			must.Check(f.set(cmd))
			if f.Quantizer = (&backendFlags{backends: f.backends, app: a}).quantizer(); f.Quantizer == nil &&
				len(f.backends) > 0 {
				return usageError("--backend=%s: it has no quantizer of its own: leave it out, and etgen's "+
					"is asked", strings.Join(f.backends, ","))
			}
			files := several.files(args)
			p, closer := several.read(files)
			defer closer.Close()
			samples := samplesOf(p, "calibrate", f.calibrate)
			rated := samples
			if len(f.evaluate) > 0 {
				rated = samplesOf(p, "evaluate", f.evaluate)
			}
			for _, of := range []map[string]quantize.Samples{samples, rated} {
				for name, s := range of {
					s.Continued = f.continued
					of[name] = s
				}
			}
			if f.labels != "" && len(rated) != 1 {
				return usageError("--labels is for one method: name it, as in --evaluate=%s:FILE",
					p.Methods[0].Name)
			}
			if f.Scheme.Static() {
				fewSamples(a.warn, samples)
			}
			method := slices.Collect(maps.Keys(rated))
			f.Progress, f.Done = a.progress.counter("calibrate"), cmd.Context().Done()
			ctx := &lower.Context{Table: ops.Standard(), Done: cmd.Context().Done(),
				Step: a.progress.step}
			rate := func(p *ir.Program) *quantize.Accuracy {
				return ofModel(quantize.Evaluate(ctx, p, method[0], rated[method[0]], classes(f.labels),
					f.Kernel, a.progress.counter("evaluate")))
			}
			if f.accuracy > 0 {
				f.Accept = func(p *ir.Program) (_ bool, err error) {
					defer must.Catch(&err)
					return rate(p).Percent() >= f.accuracy, nil
				}
			}
			r := ofModel(quantize.New(ctx, p, samples, f.Options))
			text := must.Get(r.Recipe.Marshal())
			pkg := codegen.Package{Files: []codegen.File{{Name: filepath.Base(f.out), Data: text}}}
			summary := &quantize.Summary{Result: r}
			if f.labels != "" {
				summary.FloatRight, summary.QuantizedRight = rate(r.Float), rate(r.Quantized)
			}
			if f.json {
				must.Check(a.json(summary.JSON()))
			} else {
				summary.Text(a.out, 10)
			}
			if f.report != "" {
				must.Check(writeMarkup(cmd, f.report, files[0].Path, func(to io.Writer) error {
					return summary.Markdown(to)
				}))
			}
			return pkg.Write(cmd.Context(), filepath.Dir(f.out), paths(files)...)
		},
	}
	several.add(cmd)
	flags := cmd.Flags()
	oneOf(cmd, &f.scheme, "scheme", "int8", schemeNames(), "what is quantized, and to what")
	oneOf(cmd, &f.group, "group-size", "", []string{"0", "32", "64", "128", "256"},
		"how many weights of a channel share a scale; 0: all (default: 32 of int4-weights, else 0)")
	flags.StringVarP(&f.out, "output", "o", "", "the recipe to write")
	flags.StringArrayVar(&f.calibrate, "calibrate", nil, "samples to take ranges from")
	oneOf(cmd, &f.Observer, "observer", "minmax", quantize.Observers,
		"how ranges follow from samples: "+strings.Join(quantize.Observers, ", "))
	flags.Float64Var(&f.Percentile, "percentile", 99.99,
		"with --observer=percentile: how many of 100 elements are in the range")
	flags.BoolVar(&f.Equalize, "equalize", false,
		"first make channels of layers that follow one another equally large")
	flags.BoolVar(&f.corrects, "bias-correction", false,
		fmt.Sprintf("take from biases what quantization adds to the mean of a layer's sums (default: "+
			"for weights of 4 bits, if --calibrate has %d samples or more)", quantize.FewSamples))
	flags.StringSliceVar(&f.backends, "backend", nil,
		"quantize what this backend, as of etgen --backend=NAME, computes in integers")
	oneOf(cmd, &f.io, "io", "float", outsides,
		"what inputs and outputs are: float32, or int8 with scale and zero point in the header")
	flags.StringArrayVar(&f.keep, "keep-float", nil,
		"leave layers in float32: a number, of those with the largest error, or a pattern of layers, "+
			"modules or operators")
	flags.BoolVar(&f.wide, "keep-16x8", false,
		"give the layers of --keep-float and --target-accuracy activations of 16 bits instead")
	flags.Float64Var(&f.accuracy, "target-accuracy", 0,
		"with --labels: leave layers as they are until so many of 100 samples are right")
	flags.StringArrayVar(&f.evaluate, "evaluate", nil,
		"with --labels: samples to count right answers on (default: those of --calibrate)")
	flags.StringVar(&f.labels, "labels", "",
		"the classes of the samples: whole numbers in a .npy file")
	flags.IntVar(&f.Compare, "compare", 16, "how many samples errors are measured with")
	flags.StringVar(&f.report, "report", "",
		"a file to write the summary of all layers to, with --labels the confusion matrix too")
	flags.BoolVar(&f.continued, "keep-state", false,
		"each sample finds the state that the one before left (default: the first state)")
	flags.BoolVar(&f.json, "json", false, "show the summary as JSON")
	return cmd
}

// classes reads labels.
func classes(file string) []int64 { return ofModel(record.Labels(file)) }
