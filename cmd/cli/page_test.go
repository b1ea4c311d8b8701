package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
	"github.com/etgen/etgen/ir"
)

// listing is a file that a document has: its name stands behind the language.
var listing = regexp.MustCompile("(?s)```\\w+ (\\S+)\n(.*?)```")

// The commands of docs/microcontrollers.md, with the files in it, make an image from a model
// and samples, which names the last sample rightly.
func TestMicrocontrollerPage(t *testing.T) {
	tier.Needs(t, tier.Normal)
	for _, command := range []string{"arm-none-eabi-gcc", "qemu-system-arm"} {
		if _, err := toolchain.Find(command); err != nil {
			t.Skip(err)
		}
	}
	c, err := testcase.Read("../../golden/cases/kws_trained")
	if err != nil {
		t.Fatal(err)
	}
	x, err := tensor.New(ir.Float32, int64(len(c.Calls)), 1, 1, 49, 10)
	if err != nil {
		t.Fatal(err)
	}
	x.Data = x.Data[:0]
	for _, call := range c.Calls {
		x.Data = append(x.Data, call.Inputs[0].Tensor.Data...)
	}
	npy, err := tensor.FormatNPY(x)
	if err != nil {
		t.Fatal(err)
	}
	model, err := os.ReadFile(filepath.Join(c.Dir, c.Models[0]))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text, blocks := blocksOf(t, "../../docs/microcontrollers.md")
	files := map[string][]byte{"x.npy": npy, "kws.pt2": model}
	for _, m := range listing.FindAllSubmatch(text, -1) {
		files[string(m[1])] = m[2]
	}
	if len(files) != 4 {
		t.Errorf("%d files", len(files))
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	lines := slices.Concat(blocks...)
	if len(lines) < 7 {
		t.Fatalf("%d commands, that cannot be all", len(lines))
	}
	for _, line := range lines {
		if !strings.HasPrefix(line, "qemu-") {
			runExample(t, dir, line)
			continue
		}
		out := filepath.Join(dir, "console.txt")
		runExample(t, dir, line+" > "+out)
		got, err := os.ReadFile(out)
		label := c.Calls[len(c.Calls)-1].Label
		want := fmt.Sprintf("class %02d\n", slices.Index(c.Labels, label))
		if err != nil || string(got) != want {
			t.Errorf("%v: %q, want %q, which is %s", err, got, want, label)
		}
	}
}
