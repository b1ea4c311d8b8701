package misra

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
)

var update = flag.Bool("update", false, "record counts that fell")

const (
	file = "deviations.txt"
	// version is the release of cppcheck that counts are of: others know other rules.
	version = "Cppcheck 2.10"
	none    = "-"
)

// packages are the models, in the order of the columns. All are compiled for a
// Cortex-M4.
var packages = []struct{ name, model string }{
	{"lenet", "../cases/lenet/model.pt2"},
	{"kws_trained", "../../../shared/models/kws_trained/model.pt2"},
	{"lstm", "../cases/lstm/model.pt2"},
	{"cond", "../cases/cond/model.pt2"},
	{"dynamic_batch", "../cases/dynamic_batch/model.pt2"},
}

// macros are those of a compiler for a Cortex-M4 that the text asks for. With them
// cppcheck reads the text once, as that compiler does.
var macros = []string{"__GNUC__=12", "__OPTIMIZE__=1", "__ARM_FP=4", "__ARM_FEATURE_FMA=1"}

// deviations are the counts of one rule, by package, and why it is not kept.
type deviations struct {
	counts map[string]int
	reason string
}

// TestDeviations counts anew. Counts that rose, and rules that are not listed, are errors
// that -update does not cure.
func TestDeviations(t *testing.T) {
	cppcheck, err := toolchain.Find("cppcheck")
	if err != nil {
		t.Skip(err)
	}
	installed, err := exec.CommandContext(t.Context(), cppcheck, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(bytes.TrimSpace(installed)); got != version {
		t.Skipf("%s is not installed, whose counts are recorded, but %s", version, got)
	}
	recorded := read(t)
	for i, p := range packages {
		t.Run(p.name, func(t *testing.T) {
			if i > 0 {
				tier.Needs(t, tier.Normal)
			}
			if _, err := os.Stat(p.model); errors.Is(err, os.ErrNotExist) {
				t.Skipf("%s is not here", p.model)
			}
			got := count(t, cppcheck, p.name, p.model)
			for rule, places := range got {
				d, listed := recorded[rule]
				if !listed {
					t.Errorf("rule %s is not kept, and not listed in %s:\n%s", rule, file,
						strings.Join(places, "\n"))
				} else if len(places) > d.counts[p.name] {
					t.Errorf("rule %s is not kept %d times, more than the %d in %s:\n%s", rule,
						len(places), d.counts[p.name], file, strings.Join(places, "\n"))
				}
			}
			for rule, d := range recorded {
				n := len(got[rule])
				if n < d.counts[p.name] && !*update {
					t.Errorf("rule %s is not kept only %d times, not %d: go test -update records it",
						rule, n, d.counts[p.name])
				}
				d.counts[p.name] = min(n, d.counts[p.name])
			}
		})
	}
	if *update {
		maps.DeleteFunc(recorded, func(_ string, d deviations) bool {
			return !slices.ContainsFunc(slices.Collect(maps.Values(d.counts)),
				func(n int) bool { return n > 0 })
		})
		write(t, recorded)
	}
}

// count returns, by rule, the places of a package that do not keep it. Any other find of
// cppcheck is an error.
func count(t *testing.T, cppcheck, name, model string) map[string][]string {
	t.Helper()
	p, closer, err := compile.Read(model)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	pkg, err := compile.Package(p, compile.Options{Name: name, Lang: "c", Target: "cortex-m4"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := pkg.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	args := []string{"--addon=misra", "--std=c99", "--platform=unix32", "--quiet",
		"--template={id} {file}:{line}: {code}"}
	for _, macro := range macros {
		args = append(args, "-D"+macro)
	}
	for _, f := range pkg.Files {
		if filepath.Ext(f.Name) == ".c" {
			args = append(args, f.Name)
		}
	}
	cmd := exec.CommandContext(t.Context(), cppcheck, args...)
	cmd.Dir = dir
	var finds bytes.Buffer
	cmd.Stderr = &finds
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, finds.Bytes())
	}
	got := map[string][]string{}
	for line := range strings.Lines(finds.String()) {
		id, place, _ := strings.Cut(strings.TrimSpace(line), " ")
		if rule, ok := strings.CutPrefix(id, "misra-c2012-"); ok {
			got[rule] = append(got[rule], place)
		} else if strings.Trim(id, "^") != "" {
			t.Errorf("cppcheck: %s", line)
		}
	}
	return got
}

// read reads the file: a line for each rule, its counts in the order of packages, the
// reason. Lines that begin with # are remarks.
func read(t *testing.T) map[string]deviations {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	recorded := map[string]deviations{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		fields := strings.Fields(lines.Text())
		if len(fields) < len(packages)+2 {
			t.Fatalf("%s: %q has no count for each package and a reason", file, lines.Text())
		}
		d := deviations{map[string]int{}, strings.Join(fields[len(packages)+1:], " ")}
		for i, p := range packages {
			if fields[i+1] == none {
				continue
			}
			if d.counts[p.name], err = strconv.Atoi(fields[i+1]); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
		recorded[fields[0]] = d
	}
	return recorded
}

func write(t *testing.T, recorded map[string]deviations) {
	t.Helper()
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for line := range bytes.Lines(old) {
		if bytes.HasPrefix(line, []byte("#")) {
			b.Write(line)
		}
	}
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, rule := range slices.SortedFunc(maps.Keys(recorded), byNumber) {
		fmt.Fprint(table, rule)
		for _, p := range packages {
			n := none
			if k := recorded[rule].counts[p.name]; k > 0 {
				n = strconv.Itoa(k)
			}
			fmt.Fprint(table, "\t", n)
		}
		fmt.Fprintf(table, "\t%s\n", recorded[rule].reason)
	}
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// byNumber orders rules as the standard does.
func byNumber(a, b string) int {
	number := func(s string) (n [2]int) {
		_, err := fmt.Sscanf(s, "%d.%d", &n[0], &n[1])
		if err != nil {
			panic(err)
		}
		return n
	}
	x, y := number(a), number(b)
	return slices.Compare(x[:], y[:])
}
