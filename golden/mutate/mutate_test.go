package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
)

// workerEnv makes the test program a worker.
const workerEnv = "ETGEN_MUTATE_WORKER"

// programsEnv makes that worker mutate ExecuTorch programs.
const programsEnv = "ETGEN_MUTATE_PROGRAMS"

func TestMain(m *testing.M) {
	if spec := os.Getenv(workerEnv); spec != "" {
		program := os.Getenv(programsEnv) != ""
		list, err := sources([]string{"../cases"}, program)
		if err != nil {
			panic(err)
		}
		runWorker(spec, list, "", program, os.Stdout)
		return
	}
	os.Exit(m.Run())
}

// The first mutants give no find. make fuzz-long tries many more.
func TestMutants(t *testing.T) { tryMutants(t, tier.Of[uint64](0, 240, 4000), "") }

// The first mutants of ExecuTorch programs give no find.
func TestProgramMutants(t *testing.T) {
	tryMutants(t, tier.Of[uint64](0, 200, 3000), programsEnv+"=1 ")
}

func tryMutants(t *testing.T, count uint64, env string) {
	tier.Needs(t, tier.Normal)
	if _, err := toolchain.Find("gcc"); err != nil {
		t.Skip(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	d := driver{
		count: count, workers: 1, out: &out,
		// A worker's range is the last word of its command.
		command: []string{"sh", "-c", env + workerEnv + `="$0" exec ` + "'" + self + "'"},
	}
	d.run()
	t.Log(out.String())
	if c := d.total; c.finds > 0 || c.mutants != int(d.count) || c.run < c.mutants/4 ||
		c.refused < c.mutants/4 {
		t.Errorf("%v", &c)
	}
}

// Files of earlier finds, and a program, that must compile: they run, all ways agree,
// and the files are left alone.
func TestFinds(t *testing.T) {
	tier.Needs(t, tier.Normal)
	if _, err := toolchain.Find("gcc"); err != nil {
		t.Skip(err)
	}
	files, err := filepath.Glob("testdata/*.pt[2e]")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	var out strings.Builder
	w := newWorker(&out)
	w.most = 100_000 // one loops for as long, the others end sooner
	if err := w.tryFiles(files); err != nil {
		t.Fatal(err)
	}
	if c := w.counts; c.finds > 0 || c.compiled != len(files) || c.run != 2*len(files) {
		t.Errorf("%v\n%s", &c, out.String())
	}
	for _, f := range files {
		if _, err := os.Stat(f); err != nil {
			t.Errorf("a file that was tried is gone: %v", err)
		}
	}
}

// Every seed gives an archive, and the same one each time.
func TestMutantsAreDeterministic(t *testing.T) {
	list, err := sources([]string{"../cases"}, false)
	if err != nil || len(list) < 100 {
		t.Fatalf("%d sources: %v", len(list), err)
	}
	w := &worker{sources: list}
	for seed := range uint64(100) {
		a, err := w.make(seed)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := w.make(seed); err != nil || string(a.file) != string(b.file) {
			t.Errorf("seed %d gives two archives: %v", seed, err)
		}
	}
}
