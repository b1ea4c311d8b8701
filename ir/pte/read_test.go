package pte

import (
	"bytes"
	"path/filepath"
	"testing"
)

// shared returns the files at ../shared/pte that match pattern.
func shared(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", "shared", "pte", pattern))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Skipf("no files ../shared/pte/%s beside the repository", pattern)
	}
	return paths
}

// open reads a file and closes it at the end of the test.
func openProgram(t testing.TB, path string) *Program {
	t.Helper()
	p, c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return p
}

// name returns the case's name.
func caseName(path string) string { return filepath.Base(filepath.Dir(path)) }

func TestReadShared(t *testing.T) {
	for _, path := range shared(t, "*/model.pte") {
		t.Run(caseName(path), func(t *testing.T) {
			p := openProgram(t, path)
			if len(p.Plans) == 0 || len(p.Plans[0].Values) == 0 || len(p.Defects) > 0 {
				t.Errorf("%d plans, defects %q", len(p.Plans), p.Defects)
			}
		})
	}
}

// inMemory is a reader that cannot be compared with another.
type inMemory []byte

func (m inMemory) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(m).ReadAt(p, off)
}

func TestReadFromMemory(t *testing.T) {
	file := inMemory(writeBytes(t, sample()))
	p, err := Read(file, int64(len(file)))
	if err != nil || len(p.Constants) != len(sample().Constants) {
		t.Errorf("%v, %v", p, err)
	}
}
