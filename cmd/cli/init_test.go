package cli

import (
	"bytes"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/templates/project"
)

// buildable are the commands after init that run for each kind. Others need what is not everywhere:
// docs/packages.md says which.
var buildable = regexp.MustCompile(`^(bazel|cmake|echo|make|mkdir|etgen|go generate)\b`)

// What init writes for each kind builds in a clean folder, with the tool itself where there is
// one, else with stand-ins for the functions that its documentation has.
func TestInit(t *testing.T) {
	tier.Needs(t, tier.Normal)
	model, err := os.ReadFile("../../golden/cases/lenet/model.pt2")
	if err != nil {
		t.Fatal(err)
	}
	after := map[string]func(t *testing.T, dir, next string){
		"zephyr": builtAsZephyr, "esp-idf": builtAsComponent, "arduino": builtAsSketch,
		"platformio": builtAsPlatformIO, "cmsis-pack": isPack, "tinygo": isTinyGo,
		"bazel": builtByBazel,
	}
	for _, k := range project.Kinds {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir, "kws.pt2", string(model))
			switch k.Name {
			case "bazel":
				asWorkspace(t, dir)
			case "tinygo":
				put(t, dir, "go.mod", "module example.com/app\n\ngo 1.22\n")
			case "go":
				root, err := filepath.Abs("../..")
				if err != nil {
					t.Fatal(err)
				}
				put(t, dir, "go.mod",
					"module example.com/app\n\ngo 1.26.0\n\ntool github.com/etgen/etgen/cmd/etgen\n")
				put(t, dir, "go.work", "go 1.26.0\n\nuse (\n\t.\n\t"+strconv.Quote(root)+"\n)\n")
			}
			runExample(t, dir, "etgen init kws.pt2 --for="+k.Name+" > next.txt")
			said, err := os.ReadFile(filepath.Join(dir, "next.txt"))
			if err != nil {
				t.Fatal(err)
			}
			_, next, _ := strings.Cut(string(said), "next, in .:\n")
			ran := false
			for line := range strings.Lines(next) {
				if line = strings.TrimSpace(line); buildable.MatchString(line) {
					runExample(t, dir, line)
					ran = true
				}
			}
			if check := after[k.Name]; check != nil {
				check(t, dir, next)
			} else if !ran {
				t.Errorf("nothing is built:\n%s", said)
			}
			runExample(t, dir, "etgen init kws.pt2 --for="+k.Name) // the files are there
		})
	}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// builtAsZephyr has the module read as Zephyr's build does, with the functions that it calls.
func builtAsZephyr(t *testing.T, dir, _ string) {
	put(t, dir, "app/CMakeLists.txt", `cmake_minimum_required(VERSION 3.20)
project(app C)
function(zephyr_library_named name)
  add_library(${name} STATIC)
  set(ZEPHYR_CURRENT_LIBRARY ${name} PARENT_SCOPE)
endfunction()
function(zephyr_library_sources)
  target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endfunction()
function(zephyr_library_include_directories)
  target_include_directories(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endfunction()
function(zephyr_include_directories)
endfunction()
set(CONFIG_ETGEN_KWS y)
set(CONFIG_ETGEN_KWS_TARGET cortex-m4)
add_subdirectory(../zephyr build_kws)
`)
	runExample(t, dir,
		"cmake -S app -B build && cmake --build build && test -f build/build_kws/libkws.a")
	config, err := os.ReadFile(filepath.Join(dir, "zephyr/Kconfig"))
	if err != nil {
		t.Fatal(err)
	}
	targets := regexp.MustCompile(`default "([^"]+)"`).FindAllSubmatch(config, -1)
	if len(targets) < 10 {
		t.Errorf("%s", config)
	}
	for _, m := range targets {
		if _, err := tuned.MachineNamed(string(m[1])); err != nil {
			t.Error(err)
		}
	}
	put(t, dir, "Kconfig", "config CPU_CORTEX_M4\n\tdef_bool y\nconfig RISCV\n\tbool\n"+
		"config 64BIT\n\tbool\nsource \"zephyr/Kconfig\"\n")
	put(t, dir, "read.py", `import kconfiglib
k = kconfiglib.Kconfig("Kconfig")
assert not k.warnings, k.warnings
k.syms["ETGEN_KWS"].set_value("y")
assert k.syms["ETGEN_KWS_TARGET"].str_value == "cortex-m4"
`)
	if exec.Command("/usr/bin/python3", "-c", "import kconfiglib").Run() == nil {
		runExample(t, dir, "/usr/bin/python3 read.py")
	}
}

// builtAsComponent has the component read twice, as ESP-IDF does: at first for what it requires.
func builtAsComponent(t *testing.T, dir, _ string) {
	put(t, dir, "app/CMakeLists.txt", `cmake_minimum_required(VERSION 3.20)
project(app C)
function(idf_component_register)
  cmake_parse_arguments(arg "" "" "SRCS;INCLUDE_DIRS;REQUIRES" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS OR CMAKE_BUILD_EARLY_EXPANSION AND arg_SRCS)
    message(FATAL_ERROR "${ARGN}")
  endif()
  if(NOT CMAKE_BUILD_EARLY_EXPANSION)
    add_library(component STATIC ${arg_SRCS})
    target_include_directories(component PUBLIC ${arg_INCLUDE_DIRS})
  endif()
endfunction()
set(CMAKE_BUILD_EARLY_EXPANSION 1)
add_subdirectory(.. early EXCLUDE_FROM_ALL)
unset(CMAKE_BUILD_EARLY_EXPANSION)
add_subdirectory(.. component)
`)
	runExample(t, dir,
		"cmake -S app -B build && cmake --build build && test -f build/component/libcomponent.a")
}

// builtAsSketch holds library.properties against the specification of Arduino libraries, and
// compiles the example.
func builtAsSketch(t *testing.T, dir, next string) {
	text, err := os.ReadFile(filepath.Join(dir, "library.properties"))
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || value == "" {
			t.Errorf("%q", line)
		}
		fields[name] = value
	}
	for name, form := range map[string]string{"name": `^[A-Za-z0-9][\w .-]{0,62}$`,
		"version": `^\d+\.\d+\.\d+$`, "author": ".", "maintainer": ".", "sentence": ".",
		"paragraph": ".", "category": "^Data Processing$", "url": "^https?://",
		"architectures": `^\*$`, "includes": `^kws\.h$`} {
		if !regexp.MustCompile(form).MatchString(fields[name]) {
			t.Errorf("%s=%s", name, fields[name])
		}
	}
	put(t, dir, "board/main.cpp", `struct {
  template<class T> void println(T) {}
  void begin(long) {}
} Serial;
void delay(int) {}
#include "../examples/kws/kws.ino"
int main() { setup(); loop(); }
`)
	runExample(t, dir,
		"gcc -Isrc -c src/*.c && g++ -std=c++11 -Isrc board/main.cpp *.o -lm && ./a.out")
	builtForArduino(t, dir, next)
}

// builtAsPlatformIO runs the script as SCons does, and compiles the library.
func builtAsPlatformIO(t *testing.T, dir, _ string) {
	text, err := os.ReadFile(filepath.Join(dir, "platformio.ini"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"\n[env:kws]\n", "\nplatform = ", "\nboard = ", "\nframework = ",
		"\nextra_scripts = pre:etgen.py\n"} {
		if !strings.Contains(string(text), line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
	put(t, dir, "scons.py", `class Env:
    def GetProjectOption(self, name, default):
        lines = open("platformio.ini").read().split("\n")
        return dict(l.split(" = ") for l in lines if " = " in l).get(name, default)
    def subst(self, text):
        return text.replace("$PROJECT_DIR", ".")
def Import(name):
    globals()[name] = Env()
exec(open("etgen.py").read())
`)
	runExample(t, dir, "python3 scons.py && gcc -c -Ilib/kws/src lib/kws/src/*.c")
}

// isPack holds the description against the rules of PACK.xsd for what is in it.
func isPack(t *testing.T, dir, _ string) {
	text, err := os.ReadFile(filepath.Join(dir, "Example.kws.pdsc"))
	if err != nil {
		t.Fatal(err)
	}
	var pack struct {
		XMLName xml.Name `xml:"package"`
		Schema  string   `xml:"schemaVersion,attr"`
		Vendor  string   `xml:"vendor"`
		Name    string   `xml:"name"`
		About   string   `xml:"description"`
		URL     string   `xml:"url"`
		License string   `xml:"license"`
		Release []struct {
			Version string `xml:"version,attr"`
			Date    string `xml:"date,attr"`
		} `xml:"releases>release"`
		Conditions []struct {
			ID string `xml:"id,attr"`
		} `xml:"conditions>condition"`
		Components []struct {
			Class     string `xml:"Cclass,attr"`
			Group     string `xml:"Cgroup,attr"`
			Version   string `xml:"Cversion,attr"`
			Condition string `xml:"condition,attr"`
			Files     []struct {
				Category string `xml:"category,attr"`
				Name     string `xml:"name,attr"`
			} `xml:"files>file"`
		} `xml:"components>component"`
	}
	if err := xml.Unmarshal(text, &pack); err != nil {
		t.Fatal(err)
	}
	if pack.Vendor != "Example" || pack.Name != "kws" || pack.About == "" ||
		!strings.HasSuffix(pack.URL, "/") || pack.License == "" || len(pack.Release) != 1 ||
		len(pack.Components) != 1 || len(pack.Conditions) != 1 {
		t.Fatalf("%+v", pack)
	}
	c := pack.Components[0]
	if !regexp.MustCompile(`^\d{4}-\d\d-\d\d$`).MatchString(pack.Release[0].Date) ||
		c.Version != pack.Release[0].Version || c.Condition != pack.Conditions[0].ID || c.Class == "" ||
		c.Group == "" || len(c.Files) != 4 {
		t.Errorf("%+v", pack)
	}
	for _, f := range c.Files {
		if _, err := os.Stat(filepath.Join(dir, f.Name)); err != nil ||
			!slices.Contains([]string{"include", "header", "sourceC"}, f.Category) {
			t.Errorf("%+v: %v", f, err)
		}
	}
	runExample(t, dir, "arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -Isrc -c src/*.c")
}

// isTinyGo looks for what TinyGo does not have, which is assembly.
func isTinyGo(t *testing.T, dir, next string) {
	assembly, err := filepath.Glob(filepath.Join(dir, "kws", "*.s"))
	if err != nil || len(assembly) > 0 {
		t.Errorf("%v %v", assembly, err)
	}
	runExample(t, dir, "go vet ./kws")
	builtByTinyGo(t, dir, next)
}

// Files that are there stay, unless --force says otherwise, and nothing else is written then.
func TestInitKeepsFiles(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "m.pt2", "")
	put(t, dir, "zephyr/Kconfig", "mine")
	command := func(args ...string) (int, string) {
		var out, stderr bytes.Buffer
		code := run(t.Context(), append([]string{"init", filepath.Join(dir, "m.pt2"), "-o", dir},
			args...), &out, &stderr)
		return code, stderr.String()
	}
	code, says := command("--for=zephyr")
	if entries, err := os.ReadDir(dir); code != exitOther || err != nil || len(entries) != 2 ||
		!strings.Contains(says, "zephyr/Kconfig: is there and differs: --force writes over it") {
		t.Errorf("exit code %d: %s: %v %v", code, says, entries, err)
	}
	if code, says = command("--for=zephyr", "--force"); code != exitOK {
		t.Errorf("exit code %d: %s", code, says)
	}
	text, err := os.ReadFile(filepath.Join(dir, "zephyr/Kconfig"))
	if err != nil || !strings.Contains(string(text), "config ETGEN_M\n") {
		t.Errorf("%v: %s", err, text)
	}
	// Where a folder cannot be made, what the others had is there again.
	put(t, dir, "etgen.cmake", "mine")
	if err := os.RemoveAll(filepath.Join(dir, "zephyr")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere/zephyr", filepath.Join(dir, "zephyr")); err != nil {
		t.Fatal(err)
	}
	code, says = command("--for=zephyr", "--force")
	text, err = os.ReadFile(filepath.Join(dir, "etgen.cmake"))
	if code == exitOK || err != nil || string(text) != "mine" {
		t.Errorf("exit code %d: %s: %v %s", code, says, err, text)
	}
	for args, want := range map[string]string{"--for=meson": "--for=meson is unknown",
		"--for=cmake --name=edit_cache": "a target edit_cache of its own",
		"":                              "--for is missing", "--for=make --target=z80": "z80",
		"--for=make --name=A":          "no name",
		"--for=make -o " + t.TempDir(): "put it into that folder"} {
		if code, says := command(strings.Fields(args)...); code != exitUsage ||
			!strings.Contains(says, want) {
			t.Errorf("%s: exit code %d: %s", args, code, says)
		}
	}
}
