package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
)

func TestMain(m *testing.M) {
	if os.Getenv("ETGEN_TEST_MAIN") != "" { // a process of its own: see interrupt_test.go
		Main()
	}
	testscript.Main(m, map[string]func(){"etgen": func() { Main() }})
}

// The scripts under testdata run the command as users do. Each finds the
// checked-in cases at $CASES, and models with custom operators at $CUSTOM.
func TestScripts(t *testing.T) {
	cases, err := filepath.Abs("../../golden/cases")
	if err != nil {
		t.Fatal(err)
	}
	shared, err := filepath.Abs("../../../shared")
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("CASES", cases)
			env.Setenv("CUSTOM", filepath.Join(filepath.Dir(cases), "custom"))
			env.Setenv("HOME", home) // the Go compiler's cache
			env.Setenv("SHARED", shared)
			return nil
		},
		// [shared]: the cases beside the repository are there, at $SHARED.
		Condition: func(name string) (bool, error) {
			if name != "shared" {
				return false, fmt.Errorf("unknown condition %s", name)
			}
			_, err := os.Stat(shared)
			return err == nil, nil
		},
	})
}

// Exit codes are as --help says.
func TestExitCodes(t *testing.T) {
	const lenet = "../../golden/cases/lenet/model.pt2"
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty.pte")
	if err := os.WriteFile(empty, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put := func(name string, data []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	npy := func(name string, shape ...int64) string {
		x, err := tensor.New(ir.Float32, shape...)
		if err != nil {
			t.Fatal(err)
		}
		data, err := tensor.FormatNPY(x)
		if err != nil {
			t.Fatal(err)
		}
		return put(name, data)
	}
	image, shape, rows := npy("image.npy", 1, 1, 12, 12), npy("shape.npy", 1, 1, 12, 13),
		npy("rows.npy", 17, 4)
	header := put("header.npy", append([]byte("\x93NUMPY\x02\x00\xa0\x86\x01\x00"),
		make([]byte, 100000)...))
	const batch = "../../golden/cases/dynamic_batch/model.pt2"
	const embedding = "../../golden/cases/embedding/model.pt2"
	const cut = "../../golden/cases/late_size_cut/model.pt2" // of 2 to 6
	pair := put("pair.bin", make([]byte, 8))
	tokens := put("tokens.bin", bytes.Repeat([]byte{7, 0, 0, 0, 0, 0, 0, 0}, 6))
	seven := put("seven.bin", []byte{7, 0, 0, 0, 0, 0, 0, 0})
	for _, c := range []struct {
		code int
		args string
		says string // on stderr
	}{
		{exitOK, "--help", ""},
		{exitOK, "help run", ""},
		{exitOK, "--version", ""},
		{exitOK, "inspect " + lenet, ""},
		{exitUsage, "", "MODEL is missing"},
		{exitUsage, "inspcet", `"inspcet" is neither a command nor a model`},
		{exitUsage, lenet, "--lang is missing"},
		{exitUsage, lenet + " --lang=rust -o x", "--lang=rust is unknown"},
		{exitUsage, lenet + " --lang=c", "-o is missing"},
		{exitUsage, lenet + " --lang=c -o -", "-o -: several files cannot be written"},
		{exitUsage, lenet + " --lang=go -o -", "-o -: "},
		{exitUsage, lenet + " --lang=pte -o -", "-o -: "},
		{exitUsage, "run " + lenet + " -o - -i " + image, "-o -: "},
		{exitUsage, lenet + " --lang=c -o x --optimize=much", "--optimize=much is unknown"},
		{exitUsage, lenet + " --lang=c -o x --plan=none", "--plan=none is unknown"},
		{exitUsage, lenet + " --lang=c -o x --name=A-b", "--name=A-b is no name"},
		{exitUsage, "inspect " + lenet + " b.pt2", `"b.pt2" is too much`},
		{exitUsage, "--nonsense", "unknown flag: --nonsense"},
		{exitUsage, "run " + lenet, "etgen run --help tells more"},
		{exitUsage, "run " + lenet + " -o x --via=rust", "--via=rust is unknown"},
		{exitUsage, "run " + lenet + " -o x --via=go --target=cortex-m4",
			"--target=cortex-m4 has no effect with --via=go: take generic, "},
		{exitUsage, "bench " + lenet + " --via=go,rt --target=cortex-m4",
			"--target=cortex-m4 has no effect with --via=go: take generic, "},
		{exitUsage, "golden check", "DIR is missing"},
		{exitUsage, "compare " + lenet + " " + dir + " -i " + image + " --quantize=int8",
			"--quantize has no effect if B is a folder"},
		{exitUsage, "golden check absent", "absent: no such file or directory"},
		{exitUsage, "golden check ../../golden/refused", "no case at or below ../../golden/refused"},
		{exitUsage, "golden nonsense", "nonsense"},
		{exitUsage, "lower " + lenet + " --dump-after=nonsense",
			"--dump-after=nonsense is unknown"},
		{exitModel, "absent.pt2 --lang=c -o x", "absent.pt2: cannot open it"},
		{exitModel, "inspect " + file, "neither a .pt2 archive"},
		{exitModel, "inspect " + empty, "empty.pte: "},
		{exitModel, empty + " --lang=c -o x", "empty.pte: "},
		{exitUsage, "run " + lenet + " -o x", "input x (f32[1, 1, 12, 12]) is not given"},
		{exitUsage, "run " + lenet + " -o x -i " + file, "576 bytes: the file has 0"},
		{exitOther, lenet + " --lang=c -o " + filepath.Join(file, "x"), "not a directory"},
		{exitUsage, lenet + " --lang=c --name=main -o x",
			`"main" cannot be the name of a C package: the word has a meaning in C or C++ already: take main_model`},
		{exitUsage, lenet + " --lang=c --name=register -o x", "has a meaning in C"},
		{exitUsage, lenet + " --lang=c --name=math -o x",
			"would stand in for <math.h>: take math_model"},
		{exitUsage, lenet + " --lang=c --name=x -o x",
			"X_OK is a name of C's library: take x_model"},
		{exitUsage, lenet + " --lang=c --name=con -o x",
			`"con" cannot be the name of files: Windows takes them for a device: take con_model`},
		{exitUsage, lenet + " --lang=pte --name=com1 -o x", "take com1_model"},
		{exitUsage, lenet + " --lang=go --name=nul -o x", "take nul_model"},
		{exitModel, "../../golden/absent.pt2 --lang=c -o x", "../../golden/absent.pt2: cannot"},
		{exitUsage, lenet + " " + lenet + " --lang=c -o x", "method model is in both"},
		{exitUsage, "run " + lenet + " --method=absent -o x", "there is no method absent"},
		{exitUsage, "run ../../golden/names/testdata/go-injection.pte --method=absent -o x",
			`"absent": not found`},
		// A flag is empty where a variable of the shell is not set.
		{exitUsage, lenet + " --lang=c -o x --name=", "--name is empty"},
		{exitUsage, lenet + " --lang=c -o=", "--output is empty"},
		{exitUsage, "run " + lenet + " -o x -i=", "--input is empty"},
		{exitUsage, "run " + lenet + " -o x --via= -i " + image, "--via is empty"},
		{exitUsage, "inspect " + lenet + " --svg=", "--svg is empty"},
		{exitUsage, "golden check ../../golden/cases/add --via=eval,", "--via is empty"},
		{exitOK, "golden check ../../golden/cases/add --via=c --cflags=", ""},
		{exitUsage, "golden check ../../golden/cases/add --via=eval --machine=neon",
			"--machine has no effect"},
		{exitUsage, "golden check ../../golden/cases/add --via=go --cc=clang", "have no effect"},
		{exitUsage, "bench " + lenet + " --via=rt --cc=clang", "--cc has no effect"},
		{exitUsage, lenet + " --lang=c -o x --bound=u0=many", "take NAME=N, N a whole number"},
		{exitUsage, lenet + " --lang=c -o x --plan=as-is", "no memory plan to keep"},
		{exitOK, "version", ""},
		{exitUsage, "version 2", "takes nothing"},
		{exitUsage, lenet + " --lang=c -o x --target=cortex-m9", "cortex-m7, cortex-m23"},
		{exitUsage, lenet + " --lang=go -o x --target=cortex-m4",
			"--target=cortex-m4 has no effect with --lang=go: take generic, native, scalar, neon, " +
				"x86-64-v3, x86-64-v4"},
		{exitUsage, "lower " + lenet + " --lang=go --target=riscv32", "has no effect with --lang=go"},
		{exitUsage, "inspect " + lenet + " --lang=go --target=riscv32", "has no effect"},
		{exitUsage, lenet + " --lang=pte -o x --threads=2",
			"--threads has no effect with --lang=pte"},
		{exitUsage, lenet + " --lang=pte -o x --target=scalar",
			"--target has no effect with --lang=pte"},
		{exitUsage, "lower " + lenet + " --lang=pte --optimize=size",
			"--optimize has no effect with --lang=pte"},
		{exitUsage, "run " + lenet + " -o x -i " + image + " --via=rt --threads=2",
			"--threads has no effect with --via=rt"},
		{exitUsage, "run " + lenet + " -o x -i " + image + " --via=eval --plan=greedy",
			"--plan has no effect with --via=eval"},
		{exitUsage, "bench " + lenet + " --via=rt,rt-optimize --optimize=size",
			"--optimize has no effect with --via=rt,rt-optimize"},
		{exitUsage, "golden check ../../golden/cases/add --via=eval --target=scalar",
			"--target has no effect with --via=eval"},
		{exitUsage, "run " + lenet + " -o x -i " + image + " --memory-limit=lots",
			"no number of bytes"},
		{exitUsage, "run " + lenet + " -o x -i " + image + " --time-limit=0s", "more than nothing"},
		// A wrong input is one on every way.
		{exitUsage, "run " + lenet + " -o x -i /dev/zero", "576 bytes: the file has more"},
		{exitUsage, "run " + lenet + " -o x -i /dev/null", "576 bytes: the file has 0"},
		{exitUsage, "run " + lenet + " -o x -i .", "is a folder"},
		{exitUsage, "run " + lenet + " -o x -i absent.npy", "no such file"},
		{exitUsage, "run " + lenet + " -o x -i " + shape + " --via=c", "float32 [1 1 12 13]"},
		{exitUsage, "run " + lenet + " -o x -i " + shape + " --via=go", "float32 [1 1 12 13]"},
		{exitUsage, "run " + lenet + " -o x -i " + shape + " --via=rt", "float32 [1 1 12 13]"},
		{exitUsage, "run " + lenet + " -o x -i " + shape + " --via=rt-optimize",
			"float32 [1 1 12 13]"},
		{exitUsage, "run " + lenet + " -o x -i " + shape + " --via=eval", "float32 [1 1 12 13]"},
		{exitUsage, "bench " + lenet + " -i " + shape, "float32 [1 1 12 13]"},
		{exitUsage, "golden record " + lenet + " -o x -i " + shape, "float32 [1 1 12 13]"},
		{exitUsage, "run " + batch + " -o x -i " + rows + " --via=eval", "1 to 16, not 17"},
		{exitUsage, "run " + batch + " -o x -i " + rows + " --via=c", "1 to 16, not 17"},
		{exitUsage, "run " + lenet + " -o x -i " + header, "a header of 100000 bytes"},
		{exitUsage, "run " + cut + " -o x -i " + seven + " --via=c", "ERR_ASSERT"},
		{exitUsage, "run " + cut + " -o x -i " + seven + " --via=go", "assertion failed"},
		{exitUsage, "run " + cut + " -o x -i " + seven + " --via=rt", "an assertion of the model"},
		{exitUsage, "run " + cut + " -o x -i " + seven + " --via=eval", "assertion failed"},
		{exitUsage, "run " + embedding + " -o x -i " + tokens + " -i " + pair +
			" --via=c --checked", "ERR_INDEX"},
		{exitUsage, "run " + embedding + " -o x -i " + tokens + " -i " + pair +
			" --via=go --checked",
			"index out of range"},
		// What a model asks for is limited on every way.
		{exitModel, "run " + lenet + " -o x -i " + image + " --memory-limit=100",
			"576 bytes of memory, more than the limit of 100 bytes"},
		{exitModel, "run " + lenet + " -o x -i " + image + " --memory-limit=1KiB --via=c",
			"more than the limit of 1 KiB"},
		{exitModel, "run " + lenet + " -o x -i " + image + " --memory-limit=1KiB --via=go",
			"more than the limit of 1 KiB"},
		{exitModel, "run " + lenet + " -o x -i " + image + " --memory-limit=1KiB --via=rt",
			"raise it with --memory-limit"},
		{exitModel, "run " + lenet + " -o x -i " + image + " --memory-limit=1KiB --via=rt-optimize",
			"raise it with --memory-limit"},
		{exitModel, "run " + lenet + " -o x -i " + image + " --memory-limit=1KiB --via=eval",
			"more than the limit of 1 KiB"},
		{exitModel, "golden record " + lenet + " -o x --memory-limit=1KiB --via=eval",
			"more than the limit of 1 KiB"},
		{exitModel, "golden record " + lenet + " -o x --memory-limit=100",
			"more than the limit of 100 bytes"},
		{exitModel, "bench " + lenet + " --via=rt --memory-limit=1KiB",
			"raise it with --memory-limit"},
		{exitModel, "run " + lenet + " -o x -i " + image + " --via=eval --time-limit=1ns",
			"raise --time-limit"},
		{exitModel, "run " + lenet + " -o x -i " + image + " --via=rt --time-limit=1ns",
			"raise --time-limit"},
		{exitUsage, "run " + lenet + " -o x --threads=2x", "--threads=2x: take a whole number"},
		{exitUsage, "run " + lenet + " -o x --time-limit=5",
			"--time-limit=5: take a time with its unit"},
		{exitUsage, "run " + lenet + " -o x --memory-limit=4gib",
			"--memory-limit=4gib: \"4gib\" is no number of bytes"},
		{exitUsage, "run " + lenet + " -o x --checked=maybe",
			"--checked=maybe: take true or false"},
		{exitUsage, "run " + lenet + " -o x -i " + image + " --test=1", "--test has no effect"},
		{exitUsage, "--lang=c -o x --method a=" + lenet + " --method a=" + lenet,
			"there are two methods a"},
		{exitUsage, "run ../../golden/cases/scalar_inputs/model.pt2 -o x" +
			" -i ../../golden/cases/scalar_inputs/input_0.bin -i 3 -i 3 -i 3 -i 3 -i 3 -i 3",
			"which are not given"},
		// A compiler that is not there is no miss.
		{exitOther, "golden check ../../golden/cases/add --via=c --cc=absent-cc",
			"absent-cc is not installed"},
		{exitOther, "bench " + lenet + " --via=c --cc=absent-cc --for=1ms",
			"absent-cc is not installed"},
	} {
		var out, stderr bytes.Buffer
		code := run(t.Context(), strings.Fields(c.args), &out, &stderr)
		if code != c.code || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("etgen %s: exit code %d, want %d, and a word of %q:\n%s", c.args, code, c.code,
				c.says, stderr.String())
		}
		if c.code != exitOK && out.Len() > 0 {
			t.Errorf("etgen %s: a failure writes to standard output:\n%s", c.args, out.String())
		}
	}
}

// A go command that does not work where it is says nothing of the model.
func TestGoThatDoesNotWork(t *testing.T) {
	t.Setenv("GOCACHE", "off")
	var out, stderr bytes.Buffer
	code := run(t.Context(), []string{"golden", "check", "../../golden/cases/add", "--via=go"},
		&out, &stderr)
	if code != exitOther || !strings.Contains(stderr.String(), "GOCACHE=off") || out.Len() > 0 {
		t.Errorf("exit code %d: %s%s", code, out.String(), stderr.String())
	}
}

// A compiler that does not work, or makes what does not run, says nothing of the model.
func TestCompilerThatDoesNotWork(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	for script, says := range map[string]string{
		"echo it is broken; exit 1": "it is broken",
		"exit 0":                    "does not start",
	} {
		if err := os.WriteFile(filepath.Join(dir, "gcc"), []byte("#!/bin/sh\n"+script+"\n"),
			0o777); err != nil {
			t.Fatal(err)
		}
		var out, stderr bytes.Buffer
		code := run(t.Context(), []string{"run", linear, "-i",
			"../../golden/cases/linear/input_0.bin", "-o", t.TempDir(), "--via=c"}, &out, &stderr)
		if code != exitOther || !strings.Contains(stderr.String(), says) || out.Len() > 0 {
			t.Errorf("%s: exit code %d: %s%s", script, code, out.String(), stderr.String())
		}
	}
}

// What another machine is compiled for in the environment is not what runs here.
func TestGoForAnotherMachine(t *testing.T) {
	t.Setenv("GOOS", "windows")
	t.Setenv("GOARCH", "mips")
	var out, stderr bytes.Buffer
	code := run(t.Context(), []string{"golden", "check", "../../golden/cases/add", "--via=go"},
		&out, &stderr)
	if code != exitOK {
		t.Errorf("exit code %d: %s%s", code, out.String(), stderr.String())
	}
}

type lostWriter struct{}

func (lostWriter) Write([]byte) (int, error) { return 0, errors.New("it is full") }

// Standard output that cannot be written is an error of every command.
func TestLostOutput(t *testing.T) {
	for _, args := range []string{"--help", "help run", "version", "completion bash",
		"inspect " + linear, "lower " + linear, "bench " + linear + " --via=rt --for=1ms",
		"golden check ../../golden/cases/linear --via=rt"} {
		var stderr bytes.Buffer
		code := run(t.Context(), strings.Fields(args), lostWriter{}, &stderr)
		if code != exitOther || !strings.Contains(stderr.String(), "it is full") {
			t.Errorf("etgen %s: exit code %d:\n%s", args, code, stderr.String())
		}
	}
}

// Threads that have nothing to do are told of.
func TestThreadsWithoutEffect(t *testing.T) {
	for _, lang := range []string{"c", "go"} {
		var out, stderr bytes.Buffer
		code := run(t.Context(), []string{linear, "--lang=" + lang, "--threads=2", "-o",
			t.TempDir()}, &out, &stderr)
		if code != exitOK || !strings.Contains(stderr.String(), "2 threads have no effect") {
			t.Errorf("--lang=%s: exit code %d:\n%s", lang, code, stderr.String())
		}
	}
}

// No room for temporary files is no riddle.
func TestFullTemp(t *testing.T) {
	for path, says := range map[string]bool{
		filepath.Join(os.TempDir(), "etgen-1", "m0.c"): true, filepath.Join("out", "m0.c"): false,
	} {
		var stderr bytes.Buffer
		report(&fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}, "etgen",
			foreign.NewTerminal(&stderr), false)
		if got := strings.Contains(stderr.String(), "TMPDIR"); got != says {
			t.Errorf("%s: %s", path, stderr.String())
		}
	}
}

// An error of a megabyte is told in a few hundred bytes.
func TestLongErrors(t *testing.T) {
	var stderr bytes.Buffer
	report(fmt.Errorf("the expression %s is wrong", strings.Repeat("é+", 1<<19)), "etgen",
		foreign.NewTerminal(&stderr), false)
	text := stderr.String()
	if len(text) > 500 || !strings.HasPrefix(text, "etgen: the expression é+") ||
		!strings.HasSuffix(text, " is wrong\n") || !utf8.ValidString(text) {
		t.Errorf("%d bytes: %.600s", len(text), text)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, stderr bytes.Buffer
	code := run(ctx, []string{"golden", "check", "../../golden/cases/add"}, &out, &stderr)
	if code == exitOK || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}

// Every command that the documents at the top name is one, with those flags.
func TestDocumentedCommands(t *testing.T) {
	found := 0
	for _, name := range []string{"README.md", "ARCHITECTURE.md", "RATIONALE.md"} {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(
			"(?m)(?:`etgen|go run ./cmd/etgen|go tool etgen) ([^`#\n]+)").FindAllStringSubmatch(
			string(text), -1) {
			found++
			checkCommand(t, name, strings.ReplaceAll(m[1], `\|`, "|"))
		}
	}
	if found < 5 {
		t.Errorf("only %d commands are documented", found)
	}
}

func checkCommand(t *testing.T, where, line string) {
	root := newRoot(&app{})
	cmd, rest, err := root.Find(strings.Fields(line))
	if err != nil {
		cmd, rest = root, strings.Fields(line)
	}
	if cmd == root && len(rest) > 0 && !looksLikeModel(rest[0]) && rest[0] != "MODEL" &&
		rest[0] != "help" && !strings.HasPrefix(rest[0], "-") {
		t.Errorf("%s: etgen %s: there is no command %s", where, line, rest[0])
	}
	for _, word := range rest {
		flag, _, _ := strings.Cut(word, "=")
		switch {
		case strings.HasPrefix(flag, "--"):
			if cmd.Flags().Lookup(flag[2:]) == nil && cmd.InheritedFlags().Lookup(flag[2:]) ==
				nil && flag != "--help" {
				t.Errorf("%s: etgen %s: there is no flag %s", where, line, flag)
			}
		case strings.HasPrefix(flag, "-") && len(flag) == 2:
			if cmd.Flags().ShorthandLookup(flag[1:]) == nil {
				t.Errorf("%s: etgen %s: there is no flag %s", where, line, flag)
			}
		}
	}
}

// Every command has a line on what it does, and those that do something an
// example.
func TestHelp(t *testing.T) {
	root := newRoot(&app{})
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Short == "" || cmd.RunE == nil || len(cmd.Commands()) == 0 && cmd.Example == "" {
			t.Errorf("%s has no help", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(root)
}
