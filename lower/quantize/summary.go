package quantize

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Summary is a result in words and numbers.
type Summary struct {
	*Result
	// Float and Quantized tell how often the model is right, nil if there are no labels.
	FloatRight, QuantizedRight *Accuracy
}

// summaryJSON is the form of a summary for programs.
type summaryJSON struct {
	Scheme    string             `json:"scheme"`
	Kept      []string           `json:"kept,omitempty"`
	Methods   map[string]*Report `json:"methods"`
	Float     *Accuracy          `json:"float_accuracy,omitempty"`
	Quantized *Accuracy          `json:"quantized_accuracy,omitempty"`
}

// JSON returns the summary in a form for programs.
func (s *Summary) JSON() any {
	return summaryJSON{s.Recipe.Scheme, s.Kept, s.Reports, s.FloatRight, s.QuantizedRight}
}

// enough decibels are those of an output that is as good as that of float32.
const enough = 20

// inTheWay names the layers that bring most of the error.
func (r *Report) inTheWay() string {
	var names []string
	for _, l := range r.Layers {
		if !l.Float && len(names) < 3 {
			names = append(names, l.Layer)
		}
	}
	return strings.Join(names, ", ")
}

// Text writes the summary for people: of layers so many, those with the largest errors; all if
// most is negative.
func (s *Summary) Text(w io.Writer, shown int) {
	for _, m := range s.Recipe.Methods {
		fmt.Fprintf(w, "%s: %d activations and %d weights quantized (%s)\n", m.Name,
			len(m.Activations), len(m.Weights), s.Recipe.Scheme)
		r := s.Reports[m.Name]
		if r == nil {
			continue
		}
		fmt.Fprintf(w, "\nerror on %d samples, in dB\n%-20s %8s %8s %12s  %s\n", r.Samples, "layer",
			"own", "total", "largest sum", "at")
		most := int64(0)
		var beyond []string
		for i, l := range r.Layers {
			if l.Sum > math.MaxInt32 {
				beyond = append(beyond, l.Layer)
			} else {
				most = max(most, l.Sum)
			}
			if i == shown {
				fmt.Fprintf(w, "%d more layers have smaller errors\n", len(r.Layers)-shown)
			}
			if shown >= 0 && i >= shown {
				continue
			}
			sum := ""
			if l.Sum > 0 {
				sum = fmt.Sprint(l.Sum)
			}
			mark := ""
			if l.Float {
				mark = " (kept)"
			}
			fmt.Fprintf(w, "%-20s %8.2f %8.2f %12s  %s%s\n", l.Layer, float64(l.Own), float64(l.Total),
				sum, l.At, mark)
		}
		if beyond != nil {
			fmt.Fprintf(w,
				"computed with int64, on hosts with floats, since int32 may not hold their sums: %s\n",
				strings.Join(beyond, ", "))
		}
		if most > 0 {
			fmt.Fprintf(w, "no int32 sum exceeds %d, %.1f %% of what int32 holds\n", most,
				100*float64(most)/math.MaxInt32)
		}
		for _, o := range r.Outputs {
			fmt.Fprintf(w, "output %d: %.2f dB, largest difference %.4g\n", o.Index, float64(o.SQNR),
				o.Worst)
			if o.SQNR < enough && len(r.Layers) > 0 {
				fmt.Fprintf(w, "under %d dB: %s have the largest errors of their own, %.1f dB and more\n",
					enough, r.inTheWay(), float64(r.Layers[0].Own))
			}
		}
		if len(r.Silent) > 0 {
			fmt.Fprintf(w, "0 in all samples: %s\n", strings.Join(r.Silent, ", "))
		}
	}
	if len(s.Kept) > 0 {
		fmt.Fprintf(w, "kept as they were: %s\n", strings.Join(s.Kept, ", "))
	}
	if s.FloatRight == nil {
		return
	}
	fmt.Fprintf(w, "\nright: float32 %d of %d (%.2f %%), quantized %d of %d (%.2f %%)\n",
		s.FloatRight.Right, s.FloatRight.All, s.FloatRight.Percent(), s.QuantizedRight.Right,
		s.QuantizedRight.All, s.QuantizedRight.Percent())
}

// Markdown writes the summary of all layers and, if there are labels, the confusion matrix.
func (s *Summary) Markdown(w io.Writer) error {
	fmt.Fprintf(w, "# %s, quantized\n\n```\n", s.Recipe.Model)
	s.Text(w, -1)
	if s.QuantizedRight != nil {
		fmt.Fprintf(w, "\nlabel: how often each class was named\n")
		for label, row := range s.QuantizedRight.Confusion {
			fmt.Fprintf(w, "%5d:", label)
			for _, n := range row {
				fmt.Fprintf(w, " %5d", n)
			}
			fmt.Fprintln(w)
		}
	}
	_, err := fmt.Fprintln(w, "```")
	return err
}
