package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/grow"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
)

// The test's own program measures a program that grows, if it is asked to.
func TestMain(m *testing.M) {
	if os.Getenv(growOnly) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Programs that grow have a line for each way, with numbers in all columns.
func TestGrow(t *testing.T) {
	tier.Needs(t, tier.Normal)
	var out bytes.Buffer
	err := run(t.Context(), []string{"-tables=grow", "-models=^grow/chain$", "-nodes=20,40,80",
		"../cases"}, &out, &out)
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^ *chain .*$`).FindAllString(out.String(), -1)
	const compilers = 3 // gcc, clang, go build
	if len(rows) != len(grow.Ways)+compilers || strings.Contains(out.String(), "failed") {
		t.Errorf("%d rows:\n%s", len(rows), out.String())
	}
}

// Every table has a line of a small model, with numbers in all columns that
// have any.
func TestRun(t *testing.T) {
	tier.Needs(t, tier.Normal)
	if _, err := toolchain.Find("gcc"); err != nil {
		t.Skip(err)
	}
	var out bytes.Buffer
	err := run(t.Context(), []string{"-for=1ms", "-compile=1", "-models=^cases/lenet$", "../cases"},
		&out, &out)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.String())
	rows := regexp.MustCompile(`(?m)^ *cases/lenet.*$`).FindAllString(out.String(), -1)
	if len(rows) != 7 { // two model files, then one line in each table
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows {
		// This model has no mark: neither a time, nor by whom, nor where, nor two ratios to it.
		unknown := strings.Count(row, " -")
		if strings.Contains(row, "failed") || unknown != 0 && unknown != 5 {
			t.Errorf("row %q", row)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		`"speed" is no table`: {"-tables=size,speed", "../cases"},
		"-models":             {"-models=(", "../cases"},
		"no model matches":    {"-models=^absent$", "../cases"},
		"absent":              {"../absent"},
	} {
		var out bytes.Buffer
		if err := run(t.Context(), args, &out, &out); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v: got error %v, want %q", args, err, want)
		}
	}
}
