package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/etgen/etgen/golden/tier"
)

func TestRelease(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "840e3847"}, {Key: "vcs.time", Value: "2026-11-25T23:21:24Z"},
		{Key: "vcs.modified", Value: "true"}}}
	text := newRelease(info).String()
	const want = "etgen version v1.2.3\ncommit 840e3847 of 2026-11-25T23:21:24Z, changed\ngo"
	if !strings.HasPrefix(text, want) {
		t.Errorf("%s", text)
	}
	if text := newRelease(nil).String(); !strings.HasPrefix(text, "etgen version (devel)\ngo") {
		t.Errorf("%s", text)
	}
}

// Doctor finds a tool that works, tells of one that does not, and how to install what is missing.
func TestDoctor(t *testing.T) {
	bin := t.TempDir()
	for name, script := range map[string]string{
		"gcc": "echo 'gcc 99.1'; echo more", "clang": "echo broken >&2; exit 3"} {
		err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o777)
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	var out, stderr bytes.Buffer
	if code := run(t.Context(), []string{"doctor"}, &out, &stderr); code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	for _, line := range []string{"gcc gcc 99.1 run, bench",
		"clang does not work: exit status 3 broken --cc=clang",
		"qemu-aarch64 is not installed --machine=neon",
		"apt-get install clang gcc-aarch64-linux-gnu gcc-arm-none-eabi gcc-riscv64-unknown-elf golang "} {
		if got := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(got, line) {
			t.Errorf("no %q in\n%s", line, out.String())
		}
	}
	out.Reset()
	run(t.Context(), []string{"doctor", "--json"}, &out, &stderr)
	var d diagnosis
	if err := json.Unmarshal(out.Bytes(), &d); err != nil || len(d.Tools) < 5 || d.Go == "" ||
		d.Tools[1].Path != filepath.Join(bin, "gcc") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// Each command has a page, and a second run writes the same ones.
func TestManual(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		var out, stderr bytes.Buffer
		if code := run(t.Context(), []string{"man", "-o", dir}, &out, &stderr); code != exitOK {
			t.Fatalf("exit code %d: %s", code, stderr.String())
		}
	}
	for name, says := range map[string]string{"etgen.1": "\\fB\\-\\-threads int\\fP\n",
		"etgen-golden-check.1": ".SH EXAMPLE", "etgen-man.1": "manual pages"} {
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Contains(page, []byte(says)) {
			t.Errorf("%s: %v: no %q in\n%s", name, err, says, page)
		}
	}
}

// The release is built as the test of equal builds and make build do it, and names files there are.
func TestReleaseConfiguration(t *testing.T) {
	text, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Builds []struct {
			Main                string
			Env, Flags, Ldflags []string
		}
		Sboms []struct{ Artifacts, Cmd string }
		Nfpms []struct{ Contents []struct{ Src, Dst string } }
		Brews []struct{ Install string }
	}
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	if len(c.Builds) != 1 || len(c.Sboms) != 1 || len(c.Nfpms) != 1 || len(c.Brews) != 1 {
		t.Fatalf("%+v", c)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(makefile), "\nSMALL = ")
	list, _, _ = strings.Cut(list, "\n\n")
	flags := []string{"-trimpath"}
	for small := range strings.FieldsSeq(strings.ReplaceAll(list, "\\", "")) {
		if _, err := os.Stat("../../" + strings.TrimSuffix(small, "/...")); err != nil {
			t.Error(err)
		}
		flags = append(flags, "-gcflags=github.com/etgen/etgen/"+small+"=-l")
	}
	b := c.Builds[0]
	if b.Main != "./cmd/etgen" || !slices.Equal(b.Env, []string{"CGO_ENABLED=0"}) ||
		!slices.Equal(b.Flags, flags) || !slices.Equal(b.Ldflags, []string{"-s -w"}) {
		t.Errorf("%+v, want %q", b, flags)
	}
	if !bytes.Contains(makefile, []byte("CGO_ENABLED=0 $(GO) build -trimpath -ldflags=\"-s -w\" "+
		"$(SMALL:%=-gcflags=$(MODULE)/%=-l)")) {
		t.Error("make build is another build")
	}
	for _, f := range c.Nfpms[0].Contents {
		name := strings.TrimPrefix(f.Src, "bin/release/")
		if !bytes.Contains(text, []byte("> bin/release/etgen.$s")) ||
			!slices.Contains([]string{"LICENSE", "man1/*.1", "etgen.bash", "etgen.zsh", "etgen.fish"},
				name) {
			t.Errorf("%+v: nothing makes it", f)
		}
	}
}

// goreleaser takes its configuration, and the list of modules that is made of a binary names those
// that go.mod does.
func TestReleaseTools(t *testing.T) {
	tier.Needs(t, tier.All)
	t.Setenv("GOFLAGS", "-trimpath")
	download := exec.CommandContext(t.Context(), "go", "mod", "download", goreleaser)
	if out, err := download.CombinedOutput(); err != nil {
		t.Skipf("%v\n%s", err, out)
	}
	runExample(t, "../..", "go run "+goreleaser+" check")
	text, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c struct{ Sboms []struct{ Args []string } }
	if err := yaml.Unmarshal(text, &c); err != nil || len(c.Sboms) != 1 {
		t.Fatalf("%v: %+v", err, c)
	}
	dir := t.TempDir()
	runExample(t, "../..", fmt.Sprintf("go build -o '%[1]s/etgen' ./cmd/etgen\n"+
		"export artifact='%[1]s/etgen' document='%[1]s/list.json'\ngo run %s %s", dir, cyclonedx,
		strings.Join(c.Sboms[0].Args, " ")))
	list, err := os.ReadFile(filepath.Join(dir, "list.json"))
	if err != nil || !bytes.Contains(list, []byte(`"purl": "pkg:golang/github.com/spf13/cobra@v`)) {
		t.Errorf("%v: %s", err, list)
	}
}

const (
	goreleaser = "github.com/goreleaser/goreleaser/v2@v2.15.1"
	cyclonedx  = "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0"
)

// maxBinary is what a stripped binary may take: a change that makes it larger says why. 0.2 MB are
// left of it.
const maxBinary = 26 << 20

// Two builds of one commit, in two folders, are equal to the byte, know the commit, and are no
// larger than they may be.
func TestReproducible(t *testing.T) {
	tier.Needs(t, tier.Normal)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	commit, err := exec.CommandContext(t.Context(), "git", "-C", root, "rev-parse", "HEAD").Output()
	if err != nil {
		t.Skip("no clone: ", err)
	}
	var builds [2][]byte
	for i := range builds {
		dir := t.TempDir()
		runExample(t, dir, "git clone -q --shared --no-checkout '"+root+"' . && "+
			"git sparse-checkout set --no-cone '/*' '!/golden/cases/' && git checkout -q "+
			string(commit))
		runExample(t, dir, `CGO_ENABLED=0 GOFLAGS= GOWORK=off `+
			`go build -buildvcs=true -trimpath -ldflags="-s -w" ./cmd/etgen`)
		if builds[i], err = os.ReadFile(filepath.Join(dir, "etgen")); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			runExample(t, dir, "./etgen version | grep "+string(commit))
		}
	}
	if !bytes.Equal(builds[0], builds[1]) {
		t.Error("the builds differ")
	}
	t.Logf("%d bytes", len(builds[0]))
	if len(builds[0]) > maxBinary {
		t.Errorf("%d bytes, more than %d", len(builds[0]), maxBinary)
	}
}

// Manual pages are ASCII, and their only requests are those that are meant.
func TestManualPages(t *testing.T) {
	odd := &cobra.Command{Use: "odd", Short: "Odd", Long: ".so a file\n'quoted' \\back …",
		Run: func(*cobra.Command, []string) {}}
	root := newRoot(&app{})
	root.AddCommand(odd)
	pages := manual(root)
	if n := len(pages.Files); n < 20 {
		t.Errorf("%d pages", n)
	}
	requests := regexp.MustCompile(`^\.(TH ".*|SH [A-Z ]+|TP|nf|fi)$`)
	for _, f := range pages.Files {
		for line := range strings.Lines(string(f.Data)) {
			line = strings.TrimSuffix(line, "\n")
			if strings.ContainsAny(line[:min(1, len(line))], ".'") && !requests.MatchString(line) ||
				strings.ContainsFunc(line, func(r rune) bool { return r > '~' }) {
				t.Errorf("%s: %s", f.Name, line)
			}
		}
	}
	text := string(pages.File("etgen-odd.1"))
	if !strings.Contains(text, "\\&.so a file\n\\&'quoted' \\eback \\[u2026]") {
		t.Error(text)
	}
}
