package quantize

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/lower"
)

// Options steer the making of a recipe.
type Options struct {
	Scheme Scheme
	// Quantizer, if not nil, makes the quantizer of another machine from that of etgen's own.
	Quantizer  func(own *Default) Quantizer
	Observer   string  // one of Observers; "" is minmax
	Percentile float64 // of the observer of that name: how many of 100 elements are in the range
	Equalize   bool    // between layers, before anything is observed
	Biases     Biases
	// KeepFloat are patterns (of package path) of layers, modules or operators that stay float32.
	KeepFloat []string
	// KeepWorst is how many more layers stay so, those with the largest error of their own.
	KeepWorst int
	// Wide keeps activations of 16 bits, not float32, in these layers.
	Wide bool
	// Outside makes the inputs and outputs of methods integers. Quantized has floats there, which
	// the recipe leaves out.
	Outside bool
	// Accept, if not nil, is asked whether a converted program will do: until it says so, more
	// and more layers stay.
	Accept func(converted *ir.Program) (bool, error)
	// Compare is how many samples are run to measure errors; 0: none, and no report.
	Compare int
	// Kernel, if not nil, gives faster kernels than the interpreter has.
	Kernel kernels
	// Progress, if not nil, is told how many of how many runs of the method are done.
	Progress func(done, all int)
	Done     <-chan struct{} // ends what runs when it is closed
}

// Biases says whether what quantization adds to a layer's mean is taken from its bias.
type Biases uint8

// The ways to treat biases.
const (
	OwnBiases       Biases = iota // corrects those of weights of 4 bits, if samples show means well
	CorrectedBiases               // corrects all of them, however few the samples are
	LeftBiases                    // corrects none
)

// Result is a recipe with what is known of it.
type Result struct {
	Recipe  *Recipe
	Reports map[string]*Report // by method
	// Float is the program in the form that was quantized, Quantized the same by the recipe.
	Float, Quantized *ir.Program
	Kept             []string // layers that KeepWorst or Accept left as they are
}

// New makes the recipe of a program as it was read, which it prepares. Samples are those of
// each method, of which dynamic schemes and those of weights alone need none.
func New(ctx *lower.Context, p *ir.Program, samples map[string]Samples,
	opt Options) (_ *Result, err error) {
	defer func() {
		if err != nil {
			err = lower.InFile(p.Source, err)
		}
	}()
	if opt.Observer == "" {
		opt.Observer = "minmax"
	}
	given := 0
	for _, s := range samples {
		given += s.Count
	}
	ranked := opt.KeepWorst > 0 || opt.Accept != nil
	switch {
	case given == 0 && opt.Biases == CorrectedBiases:
		return nil, errors.New("biases are corrected with samples, and none are given")
	case given == 0 && ranked:
		return nil, errors.New("errors of layers are measured with samples, and none are given")
	case opt.Compare == 0 && ranked:
		return nil, errors.New("errors of layers are measured with samples, and Compare is 0")
	}
	digest, err := Digest(p)
	if err != nil {
		return nil, err
	}
	if err := Prepare(ctx, p); err != nil {
		return nil, err
	}
	kept := map[string]bool{}
	for {
		r, err := attempt(ctx, p, samples, opt, kept)
		if err != nil {
			return nil, err
		}
		r.Recipe.Digest = digest
		if opt.Outside {
			r.Recipe.IO = IntegerIO // what is measured and evaluated has floats outside
		}
		r.Kept = slices.Sorted(maps.Keys(kept))
		worst := r.worst()
		if len(kept) < opt.KeepWorst && len(worst) > 0 {
			for _, name := range worst[:min(opt.KeepWorst-len(kept), len(worst))] {
				kept[name] = true
			}
			continue
		}
		if opt.Accept == nil {
			return r, nil
		}
		if ok, err := opt.Accept(r.Quantized); ok || err != nil {
			return r, err
		}
		if len(worst) == 0 {
			return nil, fmt.Errorf("not even with all layers left as they are, the target is met")
		}
		for _, name := range worst[:min(max(len(kept), 1), len(worst))] {
			kept[name] = true
		}
	}
}

// worst returns the layers that are quantized, those with the largest error first.
func (r *Result) worst() (names []string) {
	for _, m := range r.Recipe.Methods {
		if report := r.Reports[m.Name]; report != nil {
			for _, l := range report.Layers {
				if !l.Float && !slices.Contains(r.Kept, l.Layer) {
					names = append(names, l.Layer)
				}
			}
		}
	}
	return names
}

// attempt makes a recipe that leaves the layers of kept as they are.
func attempt(ctx *lower.Context, prepared *ir.Program, samples map[string]Samples, opt Options,
	kept map[string]bool) (*Result, error) {
	r := &Result{Reports: map[string]*Report{}, Float: ir.Clone(prepared),
		Recipe: &Recipe{Version: RecipeVersion, Arithmetic: Arithmetic, Scheme: opt.Scheme.Name,
			Model: prepared.Source}}
	if opt.Scheme.Static() {
		r.Recipe.Calibration = &Calibration{Observer: opt.Observer}
		if opt.Observer == "percentile" {
			r.Recipe.Calibration.Percentile = opt.Percentile
		}
	}
	meets := make([]bool, len(opt.KeepFloat)) // parallel to the patterns
	keep := func(l *Layer) bool {
		is := kept[l.Node.Name]
		for i, p := range opt.KeepFloat {
			if l.matches(p) {
				is, meets[i] = true, true
			}
		}
		return is
	}
	own := &Default{Scheme: opt.Scheme, Outside: opt.Outside, Keep: keep}
	if opt.Wide {
		own.Keep, own.Wide = nil, keep
	}
	var q Quantizer = own
	if opt.Quantizer != nil {
		q = opt.Quantizer(own)
	}
	layers := 0
	for _, m := range r.Float.Methods {
		model := ModelOf(ctx.Table, r.Float, m)
		a := q.Annotate(model)
		layers += len(a.Layers)
		if !slices.ContainsFunc(a.Layers, func(l *Layer) bool { return !l.Float }) {
			r.Recipe.Methods = append(r.Recipe.Methods, MethodRecipe{Name: m.Name})
			continue
		}
		var e *equalization
		var err error
		if opt.Equalize {
			if e, err = equalize(model, a); err != nil {
				return nil, err
			}
		}
		made, err := Calibrate(model, a, samples[m.Name], opt)
		if err != nil && len(r.Float.Methods) > 1 {
			err = fmt.Errorf("method %q: %w", m.Name, err)
		}
		if err != nil {
			return nil, err
		}
		if e != nil {
			e.record(made)
		}
		if r.Recipe.Calibration != nil {
			r.Recipe.Calibration.Samples = max(r.Recipe.Calibration.Samples, samples[m.Name].Count)
		}
		r.Recipe.Methods = append(r.Recipe.Methods, *made)
		made = &r.Recipe.Methods[len(r.Recipe.Methods)-1]
		if err := r.measure(ctx, prepared, a, made, samples[m.Name], opt); err != nil {
			return nil, err
		}
	}
	if layers == 0 {
		return nil, errors.New("no layer multiplies float32: there is nothing to quantize")
	}
	if i := slices.Index(meets, false); i >= 0 {
		return nil, fmt.Errorf("no layer, module or operator is called %q", opt.KeepFloat[i])
	}
	return r, r.convert(ctx, prepared)
}

func (r *Result) convert(ctx *lower.Context, prepared *ir.Program) error {
	r.Quantized = ir.Clone(prepared)
	return Convert(ctx.Table, r.Quantized, r.Recipe)
}

// measure corrects biases, and compares what the recipe of a method makes of it with float32.
func (r *Result) measure(ctx *lower.Context, prepared *ir.Program, a *Annotation, m *MethodRecipe,
	samples Samples, opt Options) error {
	if samples.Count == 0 {
		return nil
	}
	compare := func(most int) (*comparison, *Report, error) {
		if err := r.convert(ctx, prepared); err != nil {
			return nil, nil, err
		}
		// Weights as the nodes dequantize them, so that kernels take them.
		quantized := ir.Clone(r.Quantized)
		fast := *ctx
		fast.Speed = true
		if err := (lower.Pipeline{Passes: []lower.Pass{lower.FoldConstants}}).Run(&fast, quantized,
			nil); err != nil {
			return nil, nil, err
		}
		c := &comparison{table: ctx.Table, float: methodNamed(r.Float, m.Name), annotation: a,
			quantized: methodNamed(quantized, m.Name), kernel: opt.Kernel, done: opt.Done}
		ctx.Tell("errors of layers")
		report, err := c.compare(samples, most)
		return c, report, err
	}
	// A mean of fewer sums, or of fewer samples, is taken only if the user wants it.
	least := float64(FewSamples)
	if opt.Biases == CorrectedBiases {
		least = 0
	}
	if opt.Biases == CorrectedBiases ||
		opt.Biases == OwnBiases && opt.Scheme.Bits == 4 && samples.Count >= FewSamples {
		c, _, err := compare(max(opt.Compare, FewSamples))
		if err != nil {
			return err
		}
		for l, d := range c.drift {
			by := d.means()
			if !l.Bias.Type.Numel().Is(int64(len(by))) || d.count < least {
				continue
			}
			for i := range by {
				by[i] = -by[i]
			}
			m.biasOf(l.Bias.Name).Add = toFloat32s(by)
		}
		m.sortBiases()
	}
	if opt.Compare == 0 {
		return nil
	}
	_, report, err := compare(opt.Compare)
	if err != nil {
		return err
	}
	for i := range report.Layers {
		for _, l := range a.Layers {
			if l.Node.Name == report.Layers[i].Layer {
				report.Layers[i].Sum = largestSum(l, m)
			}
		}
	}
	for _, x := range m.Activations {
		if x.Range != nil && x.Range[0] == 0 && x.Range[1] == 0 {
			report.Silent = append(report.Silent, x.Value)
		}
	}
	r.Reports[m.Name] = report
	return nil
}

// matches reports whether a pattern is of a layer's name, module or operator.
func (l *Layer) matches(pattern string) bool {
	for _, name := range []string{l.Node.Name, l.Node.Loc.Module, ir.OpBase(l.Node.Op)} {
		if ok, err := path.Match(pattern, name); ok && err == nil {
			return true
		}
	}
	return false
}
