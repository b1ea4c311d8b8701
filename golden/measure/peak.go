package measure

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/etgen/etgen/codegen/interrupt"
	"github.com/etgen/etgen/golden/toolchain"
)

//go:embed support/peak.c
var peakSource []byte

// Peak measures how many float32 operations one core of this machine makes in
// fused multiply-adds at best.
type Peak struct {
	exe    string
	remove func()
	best   float64
}

// NewPeak builds the program that measures. The error is a
// [*toolchain.MissingError] if there is no gcc.
func NewPeak(ctx context.Context) (*Peak, error) {
	dir, remove, err := interrupt.TempDir("etgen-peak-")
	if err != nil {
		return nil, err
	}
	p := &Peak{remove: remove, exe: filepath.Join(dir, "peak")}
	source := p.exe + ".c"
	err = os.WriteFile(source, peakSource, 0o666)
	if err == nil {
		target := toolchain.Target{Name: "gcc", Compiler: "gcc", Flags: []string{"-std=gnu99",
			"-O3", "-march=native"}}
		err = target.Build(ctx, dir, p.exe, source)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Measure returns GFLOP/s, the best of this and earlier measurements: other
// processes only ever take away. A nil Peak is not known: 0.
func (p *Peak) Measure(ctx context.Context) (float64, error) {
	if p == nil {
		return 0, nil
	}
	out, err := interrupt.Command(ctx, "", p.exe).Output()
	if err != nil {
		return 0, fmt.Errorf("the peak cannot be measured: %w", err)
	}
	now, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		return 0, fmt.Errorf("the peak cannot be measured: %w", err)
	}
	p.best = max(p.best, now)
	return p.best, nil
}

// Close removes the program.
func (p *Peak) Close() {
	if p != nil {
		p.remove()
	}
}
