package safety

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tier"
)

// raceTest calls a model whose kernels goroutines share, as many as kernels have
// parts, fewer and more.
const raceTest = `package digits

import "testing"

func TestGoroutines(t *testing.T) {
	var x [64]float32
	for i := range x {
		x[i] = float32(i%17) / 16
	}
	var want [10]float32
	if err := NewThreads(1).Forward(&x, &want); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{2, 3, 40} {
		m := NewThreads(n)
		for range 5 {
			var got [10]float32
			if err := m.Forward(&x, &got); err != nil || got != want {
				t.Fatalf("%d goroutines: %v, error %v, want %v", n, got, err, want)
			}
		}
		// The runtime itself allocates for goroutines that have to wait, now and then.
		least := 1.0
		for try := 0; try < 20 && least >= 1; try++ {
			least = testing.AllocsPerRun(5, func() { m.Forward(&x, &want) })
		}
		if least >= 1 {
			t.Errorf("a call allocates %g times", least)
		}
	}
}
`

// Goroutines that share kernels of a generated package do not meet in memory.
func TestGoroutinesRace(t *testing.T) {
	tier.Needs(t, tier.Normal)
	for _, tool := range []string{"go", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("the race detector needs " + tool)
		}
	}
	p, closer, err := compile.Read("../cases/digits/model.pt2")
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	pkg, err := compile.Package(p, compile.Options{Lang: "go", Name: "digits", Threads: 2,
		DivideAll: true})
	if err != nil {
		t.Fatal(err)
	}
	if pkg.File("threads.go") == nil {
		t.Fatal("the package has no kernel in parts")
	}
	dir := t.TempDir()
	if err := pkg.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": "module digits\n\ngo 1.24\n",
		"race_test.go": raceTest} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-race", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
