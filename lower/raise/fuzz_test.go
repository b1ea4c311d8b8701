package raise_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/ir/pte"
	"github.com/etgen/etgen/kernels/ops"
	"github.com/etgen/etgen/lower/raise"
)

// Whatever can be read is raised or refused.
func FuzzProgram(f *testing.F) {
	a := newAsm()
	x, y := a.at(0, 2), a.at(16, 2)
	a.add(x, x, y)
	a.copy(x, y)
	a.io([]int32{x}, []int32{y})
	f.Add(a.bytesOf(f))
	files, _ := filepath.Glob(filepath.Join(shared, "*", "model.pte"))
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && len(data) < 1<<14 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := pte.Read(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		_, _ = raise.Program(p, "fuzz.pte", ops.Standard())
	})
}
