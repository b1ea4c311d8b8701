// Command bench measures etgen and what it generates, and prints tables: the
// time and memory etgen takes for a model, how fast the generated C and Go run,
// and how large they are. Nothing is written but temporary files.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/etgen/etgen/codegen/interrupt"
	"github.com/etgen/etgen/golden/conform"
	"github.com/etgen/etgen/golden/testcase"
)

const usage = `Usage: go run ./golden/bench [flags] [DIR...]

Measures etgen and what it generates, for the cases at or below each DIR; by
default for the models that etgen has to carry, else for two of golden/cases.

`

func main() {
	os.Exit(interrupt.Main(func(ctx context.Context) int {
		var err error
		if what := os.Getenv(growOnly); what != "" {
			err = growOne(what)
		} else {
			err = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
		}
		if err != nil && !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "bench:", err)
			return 1
		}
		return 0
	}, func() { fmt.Fprintln(os.Stderr, "bench: interrupted") }))
}

// settings say what to measure.
type settings struct {
	tables  string // which, and in what order
	models  string // pattern
	pattern *regexp.Regexp
	nodes   []int         // sizes of programs that grow
	span    time.Duration // for one model, one way; or a turn of that
	compile int           // runs of etgen
}

// allTables are what settings.tables may name.
const allTables = "etgen,grow,run,threads,rt,size,registry,plan"

// report is one table of some cases.
type report func(ctx context.Context, s *settings, cases []*testcase.Case) (*table, error)

func run(ctx context.Context, args []string, out, messages io.Writer) error {
	s := &settings{nodes: []int{100, 1000, 10000}}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(messages)
	flags.StringVar(&s.tables, "tables", allTables,
		"the tables to print: `LIST` of "+strings.ReplaceAll(allTables, ",", ", "))
	flags.StringVar(&s.models, "models", "",
		"only models whose folder, or shapes of programs whose name, such as grow/chain, "+
			"matches this `REGEXP`")
	flags.DurationVar(&s.span, "for", 200*time.Millisecond,
		"how long to run each model each way, and in each turn where they take turns")
	flags.Func("nodes", "the three sizes of programs that grow, `N,N,N` (default 100,1000,10000)",
		func(text string) error {
			_, err := fmt.Sscanf(text, "%d,%d,%d", &s.nodes[0], &s.nodes[1], &s.nodes[2])
			return err
		})
	flags.IntVar(&s.compile, "compile", 3, "how often to run etgen on each model")
	flags.Usage = func() {
		fmt.Fprint(messages, usage)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	reports := map[string]report{"etgen": etgenTable, "grow": growTable, "run": runTable,
		"threads": threadsTable, "rt": runtimeTable, "size": sizeTable, "registry": registryTable,
		"plan": planTable}
	names := strings.Split(s.tables, ",")
	for _, name := range names {
		if reports[name] == nil {
			return fmt.Errorf("-tables: %q is no table: take %s", name,
				strings.ReplaceAll(allTables, ",", ", "))
		}
	}
	var err error
	if s.pattern, err = regexp.Compile(s.models); err != nil {
		return fmt.Errorf("-models: %w", err)
	}
	cases, err := s.cases(flags.Args())
	if err != nil {
		return err
	}
	for i, name := range names {
		if i > 0 {
			fmt.Fprintln(out)
		}
		t, err := reports[name](ctx, s, cases)
		if err != nil {
			return err
		}
		t.print(out)
	}
	return nil
}

// cases reads the cases to measure.
func (s *settings) cases(roots []string) ([]*testcase.Case, error) {
	if len(roots) == 0 {
		var err error
		if roots, err = standard(); err != nil {
			return nil, err
		}
	}
	dirs, err := testcase.Find(roots...)
	if err != nil {
		return nil, err
	}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool {
		return !s.pattern.MatchString(nameOf(dir))
	})
	if len(dirs) == 0 && len(s.shapes()) == 0 {
		return nil, errors.New("no model matches")
	}
	var cases []*testcase.Case
	for _, dir := range dirs {
		c, err := testcase.Read(dir)
		if err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// standard are the folders that are measured if none is asked for. The working
// directory is the repository.
func standard() ([]string, error) {
	const shared = "../shared"
	if _, err := os.Stat(shared); err == nil {
		dirs, err := marked(shared)
		dirs = append(dirs, conform.Carried(shared)...)
		slices.Sort(dirs)
		return append(slices.Compact(dirs), "golden/cases/digits"), err
	}
	return []string{"golden/cases/digits", "golden/cases/lenet"}, nil
}

// nameOf is the end of a case's path: "models/lenet".
func nameOf(dir string) string {
	return filepath.Join(filepath.Base(filepath.Dir(dir)), filepath.Base(dir))
}
