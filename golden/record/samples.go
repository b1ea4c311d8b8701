package record

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/sym"
	"github.com/etgen/etgen/kernels/eval"
	"github.com/etgen/etgen/kernels/interp"
	"github.com/etgen/etgen/lower/quantize"
)

// sampled is an input of all samples: a value that is the same in each, or rows of a tensor.
type sampled struct {
	same  *interp.Value
	list  *tensor.Tensor
	shape []int64 // of a sample
	count int
}

// Samples reads calls of a method from words, one for each user input in order: a number, or
// a .npy file that holds one sample or a list of them along its first dimension; behind its
// name [FROM:TO] takes a part of the list. One word may also be a folder: of a golden case, or
// of .npy files, each of which is as above. They take no more than limit bytes, or
// way.DefaultMemory if it is 0.
func Samples(m *ir.Method, words []string, limit int64) (quantize.Samples, error) {
	var inputs []*ir.Value
	for i, v := range m.Graph.Inputs {
		if m.Inputs[i].Kind == ir.UserInput {
			inputs = append(inputs, v)
		}
	}
	budget := newBudget(limit)
	if len(words) == 1 {
		if info, err := os.Stat(words[0]); err == nil && info.IsDir() {
			return folderSamples(inputs, words[0], budget)
		}
	}
	if len(words) != len(inputs) {
		return quantize.Samples{}, inputError("%d files of samples for %d inputs: %s takes %s",
			len(words), len(inputs), m.Name, namesOf(inputs))
	}
	all := make([]sampled, len(inputs))
	count := 1
	for i, v := range inputs {
		var err error
		if all[i], err = readSamples(v, words[i], budget); err != nil {
			return quantize.Samples{}, inputFault(v.Name, err)
		}
		if n := all[i].count; all[i].same == nil {
			if count > 1 && n != count {
				return quantize.Samples{}, inputError("input %s: %s holds %d samples, those before %d",
					v.Name, words[i], n, count)
			}
			count = n
		}
	}
	return quantize.Samples{Count: count, Get: func(k int) (vs []interp.Value, err error) {
		for _, s := range all {
			vs = append(vs, s.at(k))
		}
		return vs, nil
	}}, nil
}

func namesOf(inputs []*ir.Value) string {
	var names []string
	for _, v := range inputs {
		names = append(names, v.Name)
	}
	return strings.Join(names, ", ")
}

func (s *sampled) at(k int) interp.Value {
	if s.same != nil {
		return *s.same
	}
	bytes := len(s.list.Data) / s.count
	return interp.Tensor(s.list.DType, s.shape, s.list.Data[k*bytes:(k+1)*bytes])
}

// part is what may stand behind a file's name.
var part = regexp.MustCompile(`^(.*)\[(\d*):(\d*)\]$`)

// cutPart returns a file's name without the part of a list that stands behind it, and what
// finds that part in a list of n.
func cutPart(word string) (file string, find func(n int) (first, end int, err error)) {
	m := part.FindStringSubmatch(word)
	if m == nil {
		return word, func(n int) (int, int, error) { return 0, n, nil }
	}
	return m[1], func(n int) (first, end int, err error) {
		first, end = 0, n
		if m[2] != "" {
			first, err = strconv.Atoi(m[2])
		}
		if m[3] != "" && err == nil {
			end, err = strconv.Atoi(m[3])
		}
		if err != nil || first >= end || end > n {
			return 0, 0, fmt.Errorf("%s holds %d samples, none from %s to %s", m[1], n,
				cmp.Or(m[2], "0"), cmp.Or(m[3], "the end"))
		}
		return first, end, nil
	}
}

// readSamples reads what a word stands for.
func readSamples(v *ir.Value, word string, budget *budget) (s sampled, err error) {
	if v.Type.Kind != ir.TensorKind {
		value, _, err := readInput(v.Type, word, budget)
		if err != nil {
			return s, err
		}
		x, err := interp.New(nil).Arg(value.Scalar)
		s.same = &x
		return s, err
	}
	word, cut := cutPart(word)
	f, err := os.Open(word)
	if err != nil {
		return s, err
	}
	defer f.Close()
	t, err := tensor.ReadNPY(f, func(read *tensor.Tensor, bytes int64) error {
		if s.shape, s.count = sampleShape(v.Type, read); s.count < 0 {
			return fmt.Errorf("it is %v, the model takes %v: give one, or a list of them", read, v.Type)
		}
		return budget.take(bytes)
	})
	if err != nil {
		return s, fmt.Errorf("%s: %w", word, err)
	}
	first, end, err := cut(s.count)
	if err != nil {
		return s, err
	}
	if s.count > 0 {
		bytes := len(t.Data) / s.count
		t.Data, s.count = t.Data[first*bytes:end*bytes], end-first
	}
	s.list = t
	return s, nil
}

// sampleShape returns the shape of a sample in a list of inputs of type t, and how many there
// are; -1 if the list is none.
func sampleShape(t ir.Type, list *tensor.Tensor) (shape []int64, count int) {
	switch s := list.Shape; {
	case list.DType != t.DType || len(s) == 0:
	case fits(list, t) && !isDynamic(t):
		return s, 1
	case sizesFit(s[1:], t.Sizes):
		return s[1:], int(s[0])
	case t.Rank() > 0 && sizesFit(s[1:], t.Sizes[1:]):
		rows, _ := t.Sizes[0].Bounds() // a batch, of which a sample has as few as it may
		if rows = max(rows, 1); s[0]%rows == 0 {
			return append([]int64{rows}, s[1:]...), int(s[0] / rows)
		}
	}
	return nil, -1
}

// fits reports whether x may be an input of type t.
func fits(x *tensor.Tensor, t ir.Type) bool {
	return x.DType == t.DType && sizesFit(x.Shape, t.Sizes)
}

func sizesFit(shape []int64, sizes []sym.Expr) bool {
	if len(shape) != len(sizes) {
		return false
	}
	for i, n := range shape {
		if lo, hi := sizes[i].Bounds(); n < lo || n > hi {
			return false
		}
	}
	return true
}

// isDynamic reports whether the first dimension of t is a batch of any size.
func isDynamic(t ir.Type) bool {
	_, fixed := t.Sizes[0].Const()
	return !fixed
}

// folderSamples reads the calls of a golden case, or every .npy file of a folder.
func folderSamples(inputs []*ir.Value, dir string, budget *budget) (quantize.Samples, error) {
	if _, err := os.Stat(filepath.Join(dir, "meta.json")); err == nil {
		return caseSamples(inputs, dir)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.npy"))
	if err != nil || len(files) == 0 {
		return quantize.Samples{}, inputError("%s: neither a meta.json nor a .npy file is there", dir)
	}
	if len(inputs) != 1 {
		return quantize.Samples{}, inputError(
			"%s: the model takes %d inputs: name a file of samples for each", dir, len(inputs))
	}
	slices.Sort(files)
	var all []sampled
	total := 0
	for _, file := range files {
		s, err := readSamples(inputs[0], file, budget)
		if err != nil {
			return quantize.Samples{}, inputFault(inputs[0].Name, err)
		}
		all = append(all, s)
		total += s.count
	}
	return quantize.Samples{Count: total, Get: func(k int) ([]interp.Value, error) {
		for _, s := range all {
			if k < s.count {
				return []interp.Value{s.at(k)}, nil
			}
			k -= s.count
		}
		return nil, errors.New("there is no such sample")
	}}, nil
}

// caseSamples are the inputs of a golden case.
func caseSamples(inputs []*ir.Value, dir string) (quantize.Samples, error) {
	c, err := testcase.Read(dir)
	if err != nil {
		return quantize.Samples{}, err
	}
	get := func(k int) (vs []interp.Value, err error) {
		values := slices.DeleteFunc(slices.Clone(c.Calls[k].Inputs), func(v tensor.Value) bool {
			_, none := v.Scalar.(ir.None)
			return none || v.Tensor == nil && v.Scalar == nil
		})
		if len(values) != len(inputs) {
			return nil, fmt.Errorf("%d values for %d inputs", len(values), len(inputs))
		}
		for i, v := range values {
			if v.Tensor == nil {
				x, err := interp.New(nil).Arg(v.Scalar)
				if err != nil {
					return nil, err
				}
				vs = append(vs, x)
				continue
			}
			if !fits(v.Tensor, inputs[i].Type) {
				return nil, fmt.Errorf("input %s is %v, the model takes %v", inputs[i].Name, v.Tensor,
					inputs[i].Type)
			}
			vs = append(vs, interp.Tensor(v.Tensor.DType, v.Tensor.Shape, v.Tensor.Data))
		}
		return vs, nil
	}
	return quantize.Samples{Count: len(c.Calls), Get: get}, nil
}

// Labels reads the classes of samples: whole numbers in a .npy file, or a part of it as of
// Samples.
func Labels(word string) ([]int64, error) {
	word, cut := cutPart(word)
	data, err := os.ReadFile(word)
	if err != nil {
		return nil, err
	}
	t, err := tensor.ParseNPY(data)
	if err != nil {
		return nil, inputError("%s: %w", word, err)
	}
	if !t.DType.IsInt() || len(t.Shape) != 1 {
		return nil, inputError("%s: it is %v; labels are a list of whole numbers", word, t)
	}
	labels := make([]int64, t.Shape[0])
	for i := range labels {
		labels[i] = eval.Get(t.DType, t.Data, int64(i)).I
	}
	first, end, err := cut(len(labels))
	if err != nil {
		return nil, inputError("%w", err)
	}
	return labels[first:end], nil
}
