package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/golden/testcase"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/ir"
)

// notRun are the commands in the documents that this test does not run, and why.
var notRun = map[string]string{
	"make demo":     "takes minutes",
	"make test":     "takes minutes, and runs this test",
	"make test-all": "takes hours, and runs this test",
	"make bench":    "takes minutes",
	"go get -tool github.com/etgen/etgen/cmd/etgen": "installs",
}

var (
	// fence is a block of a document: its language, the file it is, and the text.
	fence  = regexp.MustCompile("(?sm)^```(\\w*) ?(\\S*)\n(.*?)^```$")
	inline = regexp.MustCompile("`((?:etgen|make|go) [^`]+)`")
	// placeholder tells a synopsis from a command.
	placeholder = regexp.MustCompile(`\b[A-Z]{3,}\b([^=]|$)`)
)

// script is a block of commands, and what it prints, if the document says so.
type script struct {
	lines  []string
	output string
}

// page is a document.
type page struct {
	text    string
	scripts []script
	files   map[string]string // that it has in blocks with a name
}

// readPage reads a document. Blocks without a language are commands, one of the language
// output is what the block before it prints, and lines that end with \ go on.
func readPage(t *testing.T, path string) page {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := page{text: string(text), files: map[string]string{}}
	for _, m := range fence.FindAllStringSubmatch(p.text, -1) {
		language, name, body := m[1], m[2], m[3]
		switch {
		case name != "":
			p.files[name] = body
		case language == "output":
			p.scripts[len(p.scripts)-1].output = body
		default:
			var s script
			for line := range strings.Lines(strings.ReplaceAll(body, "\\\n", "")) {
				line = strings.TrimSpace(line)
				command, _, _ := strings.Cut(line, " #")
				if language == "" && line != "" || strings.HasPrefix(line, "//go:generate ") {
					s.lines = append(s.lines, strings.TrimSpace(command))
				}
			}
			if len(s.lines) > 0 {
				p.scripts = append(p.scripts, s)
			}
		}
	}
	return p
}

// inlineCommands are the commands in the sentences of a document.
func (p page) inlineCommands() (lines []string) {
	root := newRoot(&app{})
	prose := fence.ReplaceAllString(p.text, "")
	for _, m := range inline.FindAllStringSubmatch(prose, -1) {
		if placeholder.MatchString(m[1]) || m[1] == "go tool etgen" {
			continue
		}
		if fields := strings.Fields(m[1]); fields[0] == "etgen" {
			if cmd, rest, err := root.Find(fields[1:]); err == nil && cmd != root &&
				len(rest) == 0 {
				continue // the name of a command
			}
		}
		lines = append(lines, m[1])
	}
	return lines
}

// run runs a block in dir and compares what it prints; … stands for anything.
func (s script) run(t *testing.T, folder, dir string) {
	t.Helper()
	text, all := "", true
	for _, line := range s.lines {
		switch {
		case notRun[line] != "" || elsewhere(line) || placeholder.MatchString(line):
			all = false
		case strings.HasPrefix(line, "//go:generate "):
			generateIn(t, prepare(t, folder, ""), line)
		default:
			text += line + "\n"
		}
	}
	if got := runExample(t, dir, text); all && s.output != "" && !matches(s.output, got) {
		t.Errorf("%s prints:\n%s\nnot:\n%s", text, got, s.output)
	}
}

// matches reports whether a command prints what a document says.
func matches(output, got string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(output), "…", "(?s:.*)")
	return regexp.MustCompile("^" + pattern + "$").MatchString(got)
}

// pageSetups make what a page begins with, where that is not the folder of the others.
var pageSetups = map[string]func(t *testing.T, dir string){
	"docs/microcontrollers.md": keywordSamples,
	"docs/quickstart.md":       linked("digits.pt2", "digits"),
	"docs/streaming.md":        linked("model.pt2", "stream_keywords"), // with frames
	"docs/c-api.md":            linked("net.pt2", "dynamic_batch"),
	"docs/go-api.md":           linked("net.pt2", "dynamic_batch"),
	"docs/dynamic-sizes.md":    linked("net.pt2", "dynamic_batch"),
}

// keywordSamples makes kws.pt2, which is trained, and x.npy, samples of it.
func keywordSamples(t *testing.T, dir string) {
	t.Helper()
	c, err := testcase.Read("../../golden/cases/kws_trained")
	if err != nil {
		t.Fatal(err)
	}
	x, err := tensor.New(ir.Float32, int64(len(c.Calls)), 1, 1, 49, 10)
	if err != nil {
		t.Fatal(err)
	}
	x.Data = x.Data[:0]
	for _, call := range c.Calls {
		x.Data = append(x.Data, call.Inputs[0].Tensor.Data...)
	}
	npy, err := tensor.FormatNPY(x)
	if err != nil {
		t.Fatal(err)
	}
	model, err := os.ReadFile(filepath.Join(c.Dir, c.Models[0]))
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, dir, map[string]string{"x.npy": string(npy), "kws.pt2": string(model)})
}

// linked puts the model of a case where a page has one of that name.
func linked(name, kase string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		model, err := filepath.Abs(filepath.Join("../../golden/cases", kase, "model.pt2"))
		if err == nil {
			os.Remove(filepath.Join(dir, name))
			err = os.Symlink(model, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// writeAll writes files, in place of links too.
func writeAll(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		os.Remove(path)
		if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// cleanCopy copies the files of an example that git has, to a folder that lies as the
// example does in the repository.
func cleanCopy(t *testing.T, example string) string {
	t.Helper()
	root := t.TempDir()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others",
		"--exclude-standard", example)
	list.Dir = "../.."
	names, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.Trim(string(names), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		writeAll(t, root, map[string]string{name: string(data)})
	}
	golden, err := filepath.Abs("../../golden")
	if err == nil {
		err = os.Symlink(golden, filepath.Join(root, "golden"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, example)
}

// Every block of commands in the documents works as printed, in a folder that has files of
// those names, and every command in a sentence of README.md in the repository. Examples
// build and run in a clean copy.
func TestPages(t *testing.T) {
	tier.Needs(t, tier.Normal)
	folder := exampleFolder(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/examples/*/README.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			if name != "docs/cli.md" { // TestExamples runs what is in it
				names = append(names, name)
			}
		}
	}
	var all []string
	for _, name := range names {
		p := readPage(t, filepath.Join(root, name))
		if name == "README.md" {
			p.scripts = append(p.scripts, script{lines: p.inlineCommands()})
		}
		var lines []string
		for _, s := range p.scripts {
			lines = append(lines, s.lines...)
		}
		all = append(all, lines...)
		if len(lines) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var dir string
			if filepath.Base(name) == "README.md" && name != "README.md" {
				dir = cleanCopy(t, filepath.Dir(name))
			} else {
				dir = prepare(t, folder, strings.Join(lines, "\n"))
			}
			if setup := pageSetups[name]; setup != nil {
				setup(t, dir)
			}
			if name == "README.md" {
				entries, err := os.ReadDir(root)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					if err := os.Symlink(filepath.Join(root, e.Name()),
						filepath.Join(dir, e.Name())); err != nil {
						t.Fatal(err)
					}
				}
			}
			writeAll(t, dir, p.files)
			for i, s := range p.scripts {
				if !t.Run(fmt.Sprint("block", i), func(t *testing.T) { s.run(t, folder, dir) }) {
					break // the others need what it makes
				}
			}
		})
	}
	if len(all) < 45+len(notRun) {
		t.Errorf("%d commands, that cannot be all", len(all))
	}
	for line := range notRun {
		if !slices.Contains(all, line) {
			t.Errorf("no document has %s: take it from the list", line)
		}
	}
}

// What a block prints is compared.
func TestOutputs(t *testing.T) {
	for output, right := range map[string]bool{"a 1\nb\n": true, "a …\n": true, "a 2\nb\n": false} {
		if got := matches(output, "a 1\nb\n"); got != right {
			t.Errorf("%q: %t", output, got)
		}
	}
}
