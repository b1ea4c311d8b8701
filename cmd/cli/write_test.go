package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Exit codes of what is in the way, and of --check.
func TestWriteExitCodes(t *testing.T) {
	const add = "../../golden/cases/add/model.pt2"
	dir := t.TempDir()
	for name, data := range map[string]string{"mine/add.h": "mine",
		"prog/main.go": "package main"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		code        int
		args        string
		out, stderr string
	}{
		{exitMiss, "--lang=c -o DIR/out --check", "out/add.h: is missing", ""},
		{exitOK, "--lang=c -o DIR/out", "", ""},
		{exitOK, "--lang=c -o DIR/out --check", "", ""},
		{exitMiss, "--lang=go -o DIR/out --check", "out/add.h: is stale", ""},
		{exitMiss, "--lang=c -o DIR/mine --check", "mine/add.h: was not written by etgen", ""},
		{exitOther, "--lang=c -o DIR/mine", "", "mine/add.h: was not written by etgen"},
		{exitOK, "--lang=go -o DIR/nets --name=other", "", ""},
		{exitOK, "--lang=go -o DIR/nets --name=another", "", ""}, // the same model
		{exitUsage, "--lang=go -o DIR/prog", "", "prog: the folder has package main"},
		{exitUsage, "--lang=go -o DIR/go --name=main", "", "take main_model"},
	} {
		args := strings.Fields(strings.ReplaceAll(c.args, "DIR", dir))
		if !strings.Contains(c.args, "--name") {
			args = append(args, "--name=add")
		}
		var out, stderr bytes.Buffer
		code := run(t.Context(), append([]string{add}, args...), &out, &stderr)
		if code != c.code || !strings.Contains(out.String(), c.out) ||
			!strings.Contains(stderr.String(), c.stderr) {
			t.Errorf("etgen %s: exit code %d, want %d, %q and %q:\n%s%s", c.args, code, c.code,
				c.out, c.stderr, out.String(), stderr.String())
		}
		if c.out == "" && out.Len() > 0 || c.stderr == "" && stderr.Len() > 0 {
			t.Errorf("etgen %s says more than it should: %s%s", c.args, out.String(),
				stderr.String())
		}
	}
}

// A model that takes the place of another in a Go package says so.
func TestDisplacedGoPackage(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		code         int
		args, stderr string
	}{
		{exitOK, "../../golden/cases/add/model.pt2 --name=add", ""},
		{exitOther, linear + " --name=linear --strict", "linear takes the place of add"},
		{exitOK, linear + " --name=linear", "linear takes the place of add"},
		{exitOK, linear + " --name=linear", ""},
		{exitOK, linear + " --name=line", ""},
		{exitOK, "../../golden/cases/add/model.pt2 --name=line", ""}, // trained anew
	} {
		var out, stderr bytes.Buffer
		code := run(t.Context(), append(strings.Fields(c.args), "--lang=go", "-o", dir), &out,
			&stderr)
		if code != c.code || !strings.Contains(stderr.String(), c.stderr) ||
			c.stderr == "" && stderr.Len() > 0 {
			t.Errorf("etgen %s: exit code %d, want %d and %q:\n%s", c.args, code, c.code, c.stderr,
				stderr.String())
		}
	}
}
