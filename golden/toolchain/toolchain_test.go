package toolchain

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	if tools := Tools(); len(tools) != strings.Count(packages, "\n")-1 {
		t.Errorf("%d tools", len(tools))
	}
	for _, tool := range Tools() {
		if _, err := Find(tool.Command); err != nil {
			t.Error(err)
		}
	}
}

func TestFindNamesPackage(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Find("riscv64-unknown-elf-gcc")
	var missing *MissingError
	if !errors.As(err, &missing) || missing.Package != "gcc-riscv64-unknown-elf" {
		t.Errorf("got %v", err)
	}
	if _, err := Find("no-such-command"); err == nil ||
		err.Error() != "no-such-command is not installed" {
		t.Errorf("got %v", err)
	}
}

// Every target's compiler has a package to name.
func TestTargetsAreListed(t *testing.T) {
	for _, target := range []Target{GCC(), Clang(), GXX(), ClangXX(), CortexM4(), CortexM0(),
		RISCV32()} {
		if debianPackage(target.Compiler) == "" {
			t.Errorf("packages.txt does not list %s", target.Compiler)
		}
	}
}

// setup runs setup.sh where only the given commands, and what a script needs,
// are on the path. The user is uid; apt-get, if any, writes its arguments to a
// file whose content is returned.
func setup(t *testing.T, uid string, scope []string, commands ...string) (output, apt string) {
	t.Helper()
	bin := t.TempDir()
	for _, name := range []string{"sh", "dirname", "sort", "tr"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	log := filepath.Join(bin, "log")
	scripts := map[string]string{"id": "echo " + uid, "apt-get": "echo \"$@\" >>" + log}
	for _, name := range commands {
		scripts[name] = ""
	}
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"),
			0o755); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), "./setup.sh", scope...)
	command.Env = []string{"PATH=" + bin}
	text, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("setup.sh: %v\n%s", err, text)
	}
	called, err := os.ReadFile(log)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text), string(called)
}

func TestSetup(t *testing.T) {
	without := func(missing ...string) (all []string) {
		for _, tool := range Tools() {
			if !slices.Contains(missing, tool.Command) {
				all = append(all, tool.Command)
			}
		}
		return all
	}
	if output, apt := setup(t, "0", nil, without()...); output != "" || apt != "" {
		t.Errorf("with everything there: %q, apt-get %q", output, apt)
	}
	if output, apt := setup(t, "0", []string{"demo"}, "gcc"); output != "" || apt != "" {
		t.Errorf("for the demo with gcc there: %q, apt-get %q", output, apt)
	}
	if _, apt := setup(t, "0", nil, without("simavr")...); !strings.HasSuffix(apt, " simavr\n") {
		t.Errorf("without simavr: apt-get %q", apt)
	}
	output, apt := setup(t, "1000", nil, without("riscv64-unknown-elf-gcc", "qemu-system-arm")...)
	if !strings.Contains(output,
		"missing Debian packages: gcc-riscv64-unknown-elf qemu-system-arm") || apt != "" {
		t.Errorf("without root: %q, apt-get %q", output, apt)
	}
	_, apt = setup(t, "0", nil, without("qemu-system-arm")...)
	want := "install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=120 " +
		"qemu-system-arm\n"
	if apt != want {
		t.Errorf("as root: apt-get %q, want %q", apt, want)
	}
}
