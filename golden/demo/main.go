// Command demo compiles a convolutional network that was trained on real
// handwritten digits to C and Go, runs both on held-out digits, and prints one
// table. It needs Go and gcc.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/compare"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/golden/way"
	"github.com/etgen/etgen/ir"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir := "golden/cases/digits"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	rows, err := run(ctx, dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
	print(os.Stdout, rows)
}

// digits are the held-out images with what eager PyTorch makes of them.
type digits struct {
	images []tensor.Value // float32 [1, 1, 8, 8] each
	labels []byte
	logits []float64 // ten for each image
}

func load(dir string) (*digits, error) {
	images, err := os.ReadFile(filepath.Join(dir, "images.bin"))
	if err != nil {
		return nil, err
	}
	d := &digits{}
	if d.labels, err = os.ReadFile(filepath.Join(dir, "labels.bin")); err != nil {
		return nil, err
	}
	logits, err := os.ReadFile(filepath.Join(dir, "logits.bin"))
	if err != nil {
		return nil, err
	}
	n := len(d.labels)
	if len(images) != 64*n || len(logits) != 40*n {
		return nil, fmt.Errorf("%s: %d labels, %d bytes of images, %d of logits", dir, n,
			len(images), len(logits))
	}
	d.logits = compare.Floats(&tensor.Tensor{DType: ir.Float32, Data: logits})
	for i := range n {
		image := &tensor.Tensor{DType: ir.Float32, Shape: []int64{1, 1, 8, 8}}
		for _, pixel := range images[64*i : 64*(i+1)] {
			image.Data = tensor.Append(image.Data, ir.Float32, float64(pixel)/16)
		}
		d.images = append(d.images, tensor.Value{Tensor: image})
	}
	return d, nil
}

// row is a line of the table.
type row struct {
	language             string
	right, of            int
	each                 time.Duration
	code, weights, arena int64
	agree                int     // images whose logits are PyTorch's within the tolerance
	worst                float64 // largest difference from PyTorch's logits
}

// repeat is how often each image is recognised; the fastest time counts.
const repeat = 100

func run(ctx context.Context, dir string) ([]row, error) {
	d, err := load(dir)
	if err != nil {
		return nil, err
	}
	model := filepath.Join(dir, "model.pt2")
	job := way.Job{Name: "digits", Open: func() (*ir.Program, io.Closer, error) {
		return compile.Read(model)
	}}
	for _, image := range d.images {
		job.Calls = append(job.Calls, way.Call{Inputs: []tensor.Value{image}, Repeat: repeat})
	}
	var rows []row
	for _, w := range []struct {
		language string
		way      way.Way
	}{{"C (gcc -O3 -march=native)", way.C{Target: toolchain.GCC().With("-O3", "-march=native")}},
		{"Go", way.Go{}}} {
		var result *way.Result
		w.way.Run(ctx, []way.Job{job}, func(_ int, r *way.Result) { result = r })
		if result.Err != nil {
			return nil, result.Err
		}
		r, err := d.judge(result)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.language, err)
		}
		r.language = w.language
		rows = append(rows, r)
	}
	return rows, nil
}

// judge compares a run with the labels and with PyTorch.
func (d *digits) judge(result *way.Result) (row, error) {
	r := row{of: len(d.labels), code: result.Code, weights: result.Weights,
		arena: codegen.ArenaSize(result.Native.Methods[0])}
	tol := compare.Tolerance{Terms: result.Terms[0]}
	total := time.Duration(0)
	for i, c := range result.Calls {
		if c.Err != nil {
			return r, fmt.Errorf("image %d: %w", i, c.Err)
		}
		total += slices.Min(c.Times)
		got, want := compare.Floats(c.Outputs[0].Tensor), d.logits[10*i:10*i+10]
		if len(got) != len(want) {
			return r, fmt.Errorf("image %d: %d logits", i, len(got))
		}
		best, off := 0, 0.0
		for k := range got {
			if got[k] > got[best] {
				best = k
			}
			off = max(off, got[k]-want[k], want[k]-got[k])
		}
		if best == int(d.labels[i]) {
			r.right++
		}
		r.worst = max(r.worst, off)
		recorded := &tensor.Tensor{DType: ir.Float32, Shape: []int64{1, 10}}
		for _, x := range want {
			recorded.Data = tensor.Append(recorded.Data, ir.Float32, x)
		}
		if compare.Tensors(c.Outputs[0].Tensor, recorded, tol) == nil {
			r.agree++
		}
	}
	r.each = total / time.Duration(len(result.Calls))
	return r, nil
}

func print(to io.Writer, rows []row) {
	fmt.Fprintf(to, "A CNN trained in PyTorch on handwritten digits, compiled ahead of time, "+
		"on %d digits it has not seen:\n\n", rows[0].of)
	w := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "language\taccuracy\ttime per image\tcode\tweights\tarena\tagrees with PyTorch")
	for _, r := range rows {
		fmt.Fprintf(w,
			"%s\t%d of %d (%.2f %%)\t%.1f µs\t%d B\t%d B\t%d B\t%d of %d, off by %.1g at most\n",
			r.language, r.right, r.of, 100*float64(r.right)/float64(r.of),
			float64(r.each.Nanoseconds())/1000,
			r.code, r.weights, r.arena, r.agree, r.of, r.worst)
	}
	w.Flush()
}
