package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/etgen/etgen/golden/toolchain"
)

// Every table has a line of a small model, with numbers in all columns that
// have any.
func TestRun(t *testing.T) {
	if _, err := toolchain.Find("gcc"); err != nil {
		t.Skip(err)
	}
	var out bytes.Buffer
	err := run(t.Context(), []string{"-for=1ms", "-compile=1", "-models=^cases/lenet$", "../cases"}, &out, &out)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.String())
	rows := regexp.MustCompile(`(?m)^ *cases/lenet.*$`).FindAllString(out.String(), -1)
	if len(rows) != 6 { // two model files, then one line in each table
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows {
		if strings.Contains(row, "failed") || strings.Contains(row, " -") {
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
		if err := run(t.Context(), args, &out, &out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got error %v, want %q", args, err, want)
		}
	}
}

func TestSample(t *testing.T) {
	s := newSample([]time.Duration{30, 10, 20, 50, 40})
	if s.median() != 30 || s.spread() != 20.0/30 {
		t.Errorf("median %v, spread %v", s.median(), s.spread())
	}
	if empty := newSample(nil); empty.median() != 0 || empty.spread() != 0 {
		t.Error("an empty sample is not 0")
	}
}
