// Package project has the few files that a project needs to build models with etgen: a table of
// kinds of projects, and their files as templates.
package project

import (
	"embed"
	"strings"

	"github.com/etgen/etgen/templates/expand"
)

//go:embed files
var files embed.FS

var templates = expand.ParseFiles(files, "files/*.tmpl")

// Kind is a kind of project.
type Kind struct {
	Name, About string
	Files       []File
	// Next are the commands that come next, as templates.
	Next []string
	// Target is what --target is by default.
	Target string
	// Reserved are names that no model can have, for the tool has targets of these names.
	Reserved []string
}

// File is one of a project. Path is a template.
type File struct{ Path, Template string }

// compileC is the command for tools that have no way to start one.
const compileC = "etgen {{.Model}} --lang=c --name={{.Name}} --weights=c " +
	"--target={{.Target}} -o src"

// Kinds are all kinds.
var Kinds = []*Kind{
	{Name: "cmake", About: "CMake: the function etgen_model",
		Files: []File{{"etgen.cmake", "etgen.cmake"}, {"CMakeLists.txt", "CMakeLists.txt"}},
		Next:  []string{"cmake -B build", "cmake --build build"},
		Reserved: []string{"all", "clean", "depend", "edit_cache", "help", "install",
			"list_install_components",
			"package", "package_source", "preinstall", "rebuild_cache", "test"}},
	{Name: "zephyr", About: "a Zephyr module, with Kconfig",
		Files: []File{{"etgen.cmake", "etgen.cmake"}, {"zephyr/module.yml", "zephyr_module.yml"},
			{"zephyr/Kconfig", "zephyr_Kconfig"}, {"zephyr/CMakeLists.txt", "zephyr_CMakeLists.txt"}},
		Next: []string{"west build -- -DZEPHYR_EXTRA_MODULES=$PWD -DCONFIG_ETGEN_{{.Upper}}=y"}},
	{Name: "arduino", About: "an Arduino library",
		Files: []File{{"library.properties", "library.properties"},
			{"examples/{{.Name}}/{{.Name}}.ino", "sketch.ino"}},
		Next: []string{compileC, "arduino-cli compile --library . " +
			"-b arduino:mbed_nano:nano33ble examples/{{.Name}}"}},
	{Name: "platformio", About: "PlatformIO: a script that compiles before each build",
		Files: []File{{"platformio.ini", "platformio.ini"}, {"etgen.py", "etgen.py"}},
		Next:  []string{"pio run"}, Target: "cortex-m4"},
	{Name: "esp-idf", About: "a component of ESP-IDF",
		Files: []File{{"etgen.cmake", "etgen.cmake"}, {"CMakeLists.txt", "esp_CMakeLists.txt"},
			{"idf_component.yml", "idf_component.yml"}},
		Next: []string{"idf.py build"}},
	{Name: "cmsis-pack", About: "the description of a CMSIS pack",
		Files: []File{{"Example.{{.Name}}.pdsc", "pack.pdsc"}},
		Next:  []string{compileC, "packchk Example.{{.Name}}.pdsc"}, Target: "cortex-m4"},
	{Name: "bazel", About: "Bazel: the rule etgen_model, which runs on remote machines too",
		Files: []File{{"etgen.bzl", "etgen.bzl"}, {"BUILD.bazel", "BUILD.bazel"}},
		Next: []string{`echo 'bazel_dep(name = "rules_cc", version = "0.1.1")' >> MODULE.bazel`,
			"mkdir -p tools && cp $(command -v etgen) tools/etgen",
			"bazel build :{{.Name}}_lib"}},
	{Name: "make", About: "GNU make: the macro etgen_model",
		Files: []File{{"etgen.mk", "etgen.mk"}, {"Makefile", "Makefile"}},
		Next:  []string{"make"}},
	{Name: "go", About: "a Go package, with go:generate",
		Files: []File{{"{{.Package}}/generate.go", "generate.go"}},
		Next:  []string{"go get -tool github.com/etgen/etgen/cmd/etgen", "go generate ./{{.Package}}"}},
	{Name: "tinygo", About: "a Go package for TinyGo, without assembly",
		Files: []File{{"{{.Package}}/generate.go", "generate_tinygo.go"}},
		Next: []string{"go generate ./{{.Package}}",
			"tinygo build -o {{.Name}}.wasm -target=wasip1 ."}, Target: "scalar"},
}

// KindNamed returns the kind of that name, nil if there is none.
func KindNamed(name string) *Kind {
	for _, k := range Kinds {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// Names are those of all kinds.
func Names() (list []string) {
	for _, k := range Kinds {
		list = append(list, k.Name)
	}
	return list
}

// Model is what the files say of a model.
type Model struct {
	Name    string // as --name says
	Package string // the name of its Go package
	Model   string // the path of its file, from the project's folder
	Target  string
	Date    string // of today, as 2026-11-26
}

// Upper is the name in capitals, as macros have it.
func (m Model) Upper() string { return strings.ToUpper(m.Name) }

// Zephyr are the processors that Zephyr has symbols for.
func (Model) Zephyr() (list []struct{ Target, Symbol string }) {
	for _, core := range []string{"m0", "m1", "m3", "m4", "m7", "m23", "m33", "m52", "m55", "m85"} {
		list = append(list, struct{ Target, Symbol string }{"cortex-" + core,
			"CPU_CORTEX_" + strings.ToUpper(core)})
	}
	return append(list, struct{ Target, Symbol string }{"cortex-m0", "CPU_CORTEX_M0PLUS"},
		struct{ Target, Symbol string }{"riscv32", "RISCV && !64BIT"})
}

// Text is a file with its path, or a command.
type Text struct{ Path, Data string }

// Write returns the files of a project for the model, and the commands that come next.
func (k *Kind) Write(m Model) (written []Text, next []string) {
	for _, f := range k.Files {
		written = append(written, Text{line(f.Path, m), m.fill(templates, f.Template+".tmpl")})
	}
	for _, command := range k.Next {
		next = append(next, line(command, m))
	}
	return written, next
}

// line fills in a template of a line.
func line(text string, m Model) string { return m.fill(expand.Must(expand.Parse("", text)), "") }

// fill fills in one of the templates.
func (m Model) fill(list expand.Templates, name string) string {
	return expand.Must(list.Execute(name, m, expand.Functions{"Upper": m.Upper, "Zephyr": m.Zephyr}))
}
