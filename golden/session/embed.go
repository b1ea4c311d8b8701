package session

import (
	_ "embed"
	"os"
	"path/filepath"
)

//go:embed support/runner.c
var runnerC []byte

//go:embed support/runner.h
var runnerH []byte

//go:embed support/runner.go.txt
var runnerGo []byte

// WriteC writes the C side of the protocol into dir, runner.c and runner.h,
// and returns the source to compile. It wants a table of models: see runner.h.
func WriteC(dir string) (source string, err error) {
	if err := os.WriteFile(filepath.Join(dir, "runner.h"), runnerH, 0o666); err != nil {
		return "", err
	}
	source = filepath.Join(dir, "runner.c")
	return source, os.WriteFile(source, runnerC, 0o666)
}

// WriteGo writes the Go side of the protocol into dir as runner.go of package
// main. It wants a variable models of type []model.
func WriteGo(dir string) error {
	return os.WriteFile(filepath.Join(dir, "runner.go"), runnerGo, 0o666)
}
