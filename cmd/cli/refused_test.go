package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir/foreign"
)

// TestRefused runs every case below golden/refused. A case is a folder:
//
//   - the files that are wrong;
//   - error.txt: each line must be in what etgen writes to standard error;
//   - commands.txt, optional: the command lines to run instead of compiling the
//     model to C, Go and .pte. CASE is the case's folder, OUT an empty folder.
//
// Every command fails with exitModel, or with the code that stands before its
// line in commands.txt ("2: run …"). It writes nothing to OUT.
func TestRefused(t *testing.T) {
	cases, err := filepath.Glob("../../golden/refused/*/error.txt")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases in golden/refused: %v", err)
	}
	for _, errorFile := range cases {
		dir := filepath.Dir(errorFile)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			wants, err := os.ReadFile(errorFile)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range refusedCommands(t, dir) {
				code, args := exitModel, line
				if len(line) > 2 && line[1] == ':' {
					code, args = int(line[0]-'0'), line[2:]
				}
				out := t.TempDir()
				args = strings.NewReplacer("CASE", dir, "OUT", out).Replace(args)
				var stdout, stderr bytes.Buffer
				if got := run(t.Context(), strings.Fields(args), &stdout, &stderr); got != code {
					t.Errorf("etgen %s: exit code %d, want %d", line, got, code)
				}
				for want := range strings.Lines(string(wants)) {
					if want = strings.TrimSpace(want); !strings.Contains(stderr.String(), want) {
						t.Errorf("etgen %s: want %q in\n%s", line, want, stderr.String())
					}
				}
				if text := stdout.String() + stderr.String(); foreign.Lines(text) != text {
					t.Errorf("etgen %s: characters that do not print reach the terminal: %q",
						line, text)
				}
				if left, _ := os.ReadDir(out); len(left) > 0 {
					t.Errorf("etgen %s: leaves %s", line, left[0].Name())
				}
			}
		})
	}
}

// refusedCommands returns the command lines of the case in dir.
func refusedCommands(t *testing.T, dir string) []string {
	data, err := os.ReadFile(filepath.Join(dir, "commands.txt"))
	if err == nil {
		return strings.Split(strings.TrimSpace(string(data)), "\n")
	}
	models, _ := filepath.Glob(filepath.Join(dir, "model.*"))
	if len(models) != 1 {
		t.Fatalf("%s: %d model files, want one", dir, len(models))
	}
	var lines []string
	for _, lang := range []string{"c", "go", "pte"} {
		lines = append(lines, "CASE/"+filepath.Base(models[0])+" --lang="+lang+" -o OUT")
	}
	return lines
}
