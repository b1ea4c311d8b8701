package measure

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etgen/etgen/golden/toolchain"
)

var update = flag.Bool("update", false, "write what the reports are now")

const lenet = "../cases/lenet"

// Every way tells of its calls and of every kernel in them; the parts are those
// of a whole.
func TestModel(t *testing.T) {
	if _, err := toolchain.Find("gcc"); err != nil {
		t.Skip(err)
	}
	r, err := Model(t.Context(), lenet, Options{Via: []string{"c", "go", "rt", "rt-optimize"},
		For: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if r.Model != "lenet/model.pt2" || r.Peak <= 0 || len(r.Ways) != 4 {
		t.Errorf("%s, peak %g, %d ways", r.Model, r.Peak, len(r.Ways))
	}
	for _, w := range r.Ways {
		if w.Calls == 0 || w.Best > w.P10 || w.P10 > w.Median || w.Median > w.P90 || w.Best <= 0 ||
			w.Arena <= 0 || w.Weights <= 0 {
			t.Errorf("%+v", w)
		}
		if w.Probed <= 0 {
			t.Errorf("%+v", w)
		}
		share, macs, lines := 0.0, int64(0), 0
		for _, k := range w.Kernels {
			share += k.Share
			macs += k.MACs
			if len(k.Lines) > 0 && strings.HasPrefix(k.Lines[0], "layers.py:") && len(k.Ops) > 0 &&
				len(k.Nodes) > 0 {
				lines++
			}
			if (k.MACs > 0 && k.Best > 0) != (k.GFLOPS > 0) || (k.GFLOPS > 0) != (k.OfPeak > 0) ||
				k.Best > k.Time || k.Calls != 1 {
				t.Errorf("%s: %+v", w.Name, k)
			}
		}
		if math.Abs(share-1) > 1e-9 || macs != w.MACs || w.MACs != 12738 || lines < 4 {
			t.Errorf(
				"%s: shares sum to %g, multiply-accumulates to %d of %d, %d kernels have lines",
				w.Name, share, macs, w.MACs, lines)
		}
		if !slices.IsSortedFunc(w.Kernels, func(a, b *Kernel) int {
			return int(math.Copysign(1, b.Time-a.Time))
		}) {
			t.Errorf("%s: kernels are not in order of time", w.Name)
		}
	}
	var text bytes.Buffer
	r.Text(&text, TextOptions{})
	for _, want := range []string{"GFLOP/s", "layers.py:41 in conv1", "convolution, relu",
		"aten::convolution.out"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no word of %q in\n%s", want, text.String())
		}
	}
	if strings.Contains(text.String(), "\x1b") {
		t.Error("colour unasked")
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

// A loop's kernels count each time round; so does the whole.
func TestLoops(t *testing.T) {
	r, err := Model(t.Context(), "../cases/lstm_bidirectional", Options{Via: []string{"rt"}})
	if err != nil {
		t.Fatal(err)
	}
	again := false
	for _, k := range r.Ways[0].Kernels {
		again = again || k.Calls > 1
	}
	if !again || r.Ways[0].MACs == 0 {
		t.Errorf("nothing runs more than once, %d multiply-accumulates", r.Ways[0].MACs)
	}
}

func TestModelRefuses(t *testing.T) {
	if _, err := Model(t.Context(), lenet,
		Options{Via: []string{"c", "rust"}}); !isA[*UnknownWayError](err) {
		t.Errorf("rust: %v", err)
	}
	if _, err := Model(t.Context(), "absent.pt2", Options{Via: []string{"c"}}); !isA[*ModelError](
		err) {
		t.Errorf("no file: %v", err)
	}
	if _, err := Model(t.Context(), lenet, Options{Via: []string{"c"}, Inputs: []string{"1",
		"2"}}); !isA[*ModelError](err) {
		t.Errorf("wrong inputs: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	_, err := Model(t.Context(), lenet, Options{Via: []string{"c"}})
	if !isA[*toolchain.MissingError](err) || !strings.Contains(err.Error(), "apt-get install gcc") {
		t.Errorf("no gcc: %v", err)
	}
	r, err := Model(t.Context(), lenet, Options{Via: []string{"rt"}})
	if err != nil || r.Peak != 0 || len(r.Notes) == 0 ||
		!strings.Contains(r.Notes[0], "apt-get install gcc") || r.Ways[0].OfPeak != 0 {
		t.Errorf("without gcc rt runs, and the peak is not known: %v, %+v", err, r)
	}
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// sampleReport is a report of made-up numbers.
func sampleReport() *Report {
	w := &Way{Name: "c", How: "gcc -O3", Calls: 100, Best: 900, Median: 1000, P10: 950, P90: 1100,
		MACs: 60e6, Arena: 4096, Weights: 1 << 20, Probed: 1010}
	for i := range 14 {
		k := &Kernel{Name: "kernel", Ops: []string{"convolution", "relu"},
			Lines: []string{"net.py:3 in a<b>", "net.py:4"}, Nodes: []string{"n"},
			Type: "float32 [1, 8]", Calls: 1, Best: 450 / float64(int(1)<<i),
			Time: 500 / float64(int(1)<<i), MACs: 30e6 >> i}
		if i%3 == 1 {
			k.MACs, k.Lines = 0, nil
		}
		w.Kernels = append(w.Kernels, k)
	}
	r := &Report{Model: "net/model.pt2", Peak: 250, Ways: []*Way{w}, Notes: []string{"a note"}}
	w.compare(r.Peak)
	return r
}

// The text and the picture of a report, as they are in testdata.
func TestGolden(t *testing.T) {
	var text, colored, picture bytes.Buffer
	r := sampleReport()
	r.Text(&text, TextOptions{})
	r.Text(&colored, TextOptions{Color: true, All: true})
	if err := r.SVG(&picture); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]byte{"report.txt": text.Bytes(),
		"colored.txt": colored.Bytes(), "report.svg": picture.Bytes()} {
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, got, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
	bars := 0
	for d := xml.NewDecoder(&picture); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" {
			bars++
		}
	}
	shown, _ := r.Ways[0].shown(false)
	if bars != len(shown)+2 { // the ground, and a bar for the others
		t.Errorf("%d bars for %d kernels", bars, len(shown))
	}
}

func TestSample(t *testing.T) {
	s := NewSample([]time.Duration{30, 10, 20, 50, 40})
	if s.Least() != 10 || s.Median() != 30 || s.Spread() != 20.0/30 || s.At(0) != 10 ||
		s.At(1) != 50 {
		t.Errorf("median %v, spread %v", s.Median(), s.Spread())
	}
	if empty := NewSample(nil); empty.Least() != 0 || empty.Median() != 0 || empty.Spread() != 0 {
		t.Error("an empty sample is not 0")
	}
}
