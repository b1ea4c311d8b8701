package cli

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/etgen/etgen/golden/tier"
)

// needsPackages skips a test unless each command is there: they are given with the package that has
// them.
func needsPackages(t *testing.T, commands ...[2]string) {
	t.Helper()
	for _, c := range commands {
		if _, err := exec.LookPath(c[0]); err != nil {
			t.Skipf("%v: %s has it", err, c[1])
		}
	}
}

// moduleCommand returns the folder with a command of a Go module: that in which it is installed, or
// one that it is built into, which takes a minute or two the first time. The test is skipped where
// the module and what it imports cannot be had.
func moduleCommand(t *testing.T, command, module, version string) string {
	t.Helper()
	if path, err := exec.LookPath(command); err == nil {
		return filepath.Dir(path)
	}
	tier.Needs(t, tier.Normal)
	dir := t.TempDir()
	put(t, dir, "go.mod", fmt.Sprintf("module tool\n\ngo 1.26.0\n\nrequire %s %s\n", module, version))
	run := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		return cmd.CombinedOutput()
	}
	for _, args := range [][]string{{"mod", "download"}, {"list", "-mod=mod", "-deps", module}} {
		if out, err := run(args...); err != nil {
			t.Skipf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	if out, err := run("build", "-mod=mod", "-trimpath", "-o", command, module); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// floats are the elements of a recorded tensor of the model that init is tried with.
func floats(t *testing.T, name string) (list []float32) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../golden/cases/lenet", name))
	if err != nil {
		t.Fatal(err)
	}
	for ; len(data) > 0; data = data[4:] {
		list = append(list, math.Float32frombits(binary.LittleEndian.Uint32(data)))
	}
	return list
}

// literal is the recorded input as elements of an array, in C and in Go.
func literal(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, x := range floats(t, "input_0.bin") {
		fmt.Fprintf(&b, "%g, ", x)
	}
	return b.String()
}

// areOutputs holds bits, which a program has printed, against the recorded output.
func areOutputs(t *testing.T, bits []string) {
	t.Helper()
	want := floats(t, "output_0.bin")
	if len(bits) != len(want) {
		t.Fatalf("%q, want %d numbers", bits, len(want))
	}
	for i, word := range bits {
		n, err := strconv.ParseUint(word, 10, 32)
		got := math.Float32frombits(uint32(n))
		if err != nil || math.Abs(float64(got-want[i])) > 1e-6 {
			t.Errorf("output %d is %v, want %v (%v)", i, got, want[i], err)
		}
	}
}

// asWorkspace makes dir a workspace of Bazel with a program that calls the model, and with what
// Debian's Bazel would fetch: rules of languages, which are built in up to version 7.
func asWorkspace(t *testing.T, dir string) {
	put(t, dir, "app/BUILD.bazel", `load("@rules_cc//cc:defs.bzl", "cc_binary")
cc_binary(name = "app", srcs = ["app.c"], deps = ["//:kws_lib"])
`)
	put(t, dir, "app/app.c", `#include <stdio.h>
#include "kws.h"
static _Alignas(KWS_ARENA_ALIGN) uint8_t arena[KWS_ARENA_SIZE];
static const float x[144] = {`+literal(t)+`};
static union { float f[5]; uint32_t bits[5]; } out;
int main(void) {
  if (kws_forward(x, out.f, arena) != KWS_OK) return 1;
  for (int i = 0; i < 5; i++) printf("%u\n", (unsigned)out.bits[i]);
}
`)
	rc := "startup --max_idle_secs=15 --output_user_root=" + t.TempDir() + "\n"
	version := exec.CommandContext(t.Context(), "bazel", "--version")
	version.Dir = t.TempDir()
	said, err := version.Output()
	if err != nil {
		t.Fatalf("%v: the Debian package bazel-bootstrap has it", err)
	}
	if modules := regexp.MustCompile(`^bazel ([6-9]|\d\d)\.`); modules.Match(said) {
		rc += "common --noenable_workspace\n"
		for _, name := range []string{"apple_support", "buildozer", "protobuf", "zlib"} {
			put(t, dir, "other/"+name+"/MODULE.bazel", fmt.Sprintf("module(name = %q)\n", name))
			rc += "common --override_module=" + name + "=" + filepath.Join(dir, "other", name) + "\n"
		}
		put(t, dir, "other/buildozer/BUILD", "")
		put(t, dir, "other/buildozer/buildozer_binary.bzl",
			"def _none(ctx):\n    pass\n\nbuildozer_binary = module_extension(implementation = _none)\n")
	} else {
		put(t, dir, "WORKSPACE", "")
		for name, rules := range map[string]string{
			"cc":   "binary import library proto_library test toolchain toolchain_suite",
			"java": "binary import library proto_library runtime toolchain"} {
			root := "other/rules_" + name
			put(t, dir, root+"/WORKSPACE", "")
			put(t, dir, root+"/"+name+"/BUILD", "")
			var text strings.Builder
			for rule := range strings.FieldsSeq(rules) {
				fmt.Fprintf(&text, "%[1]s_%[2]s = native.%[1]s_%[2]s\n", name, rule)
			}
			put(t, dir, root+"/"+name+"/defs.bzl", text.String())
			rc += "build --override_repository=rules_" + name + "=" + filepath.Join(dir, root) + "\n"
		}
	}
	put(t, dir, ".bazelrc", rc)
	put(t, dir, ".bazelignore", "other\n")
	t.Cleanup(func() {
		stop := exec.Command("bazel", "shutdown")
		stop.Dir = dir
		if err := stop.Run(); err != nil {
			t.Error(err)
		}
	})
}

// builtByBazel has Bazel link the program, and runs it.
func builtByBazel(t *testing.T, dir, _ string) {
	areOutputs(t, strings.Fields(runExample(t, dir, "bazel build //app && bazel-bin/app/app")))
}

// builtForArduino has arduino-cli compile the example for an Arduino Mega, and a sketch that calls
// the model, which simavr then runs.
func builtForArduino(t *testing.T, dir, next string) {
	avr := "/usr/share/arduino/hardware/arduino/avr"
	cli := moduleCommand(t, "arduino-cli", "github.com/arduino/arduino-cli", "v1.5.1")
	needsPackages(t, [2]string{"arduino-ctags", "the Debian package arduino-ctags"},
		[2]string{"avr-gcc", "the Debian package gcc-avr"},
		[2]string{"simavr", "the Debian package simavr"})
	parts, err := os.ReadDir(avr)
	if err != nil {
		t.Skipf("%v: the Debian package arduino-core-avr has it, which needs avr-libc", err)
	}
	// What Debian's package leaves open, and no network.
	home := t.TempDir()
	put(t, home, "user/hardware/arduino/avr/platform.local.txt",
		"compiler.cpp.extra_flags=-DDECIMAL_DIG=__DECIMAL_DIG__\n"+
			"tools.ctags.cmd.path=/usr/bin/arduino-ctags\n")
	for _, part := range parts {
		if err := os.Symlink(filepath.Join(avr, part.Name()),
			filepath.Join(home, "user/hardware/arduino/avr", part.Name())); err != nil {
			t.Fatal(err)
		}
	}
	put(t, home, "data/package_index.json", `{"packages": []}`)
	put(t, home, "data/library_index.json", `{"libraries": []}`)
	put(t, home, "tools/versions.txt", "")
	put(t, home, "call/call.ino", `#include <kws.h>
alignas(KWS_ARENA_ALIGN) static uint8_t arena[KWS_ARENA_SIZE];
alignas(4) static float x[144] = {`+literal(t)+`};
alignas(4) static float out[5];
void setup() {
  Serial.begin(115200);
  if (kws_forward(x, out, arena) == KWS_OK)
    for (int i = 0; i < 5; i++) {
      uint32_t bits;
      memcpy(&bits, &out[i], sizeof bits);
      Serial.println(bits);
    }
  Serial.flush();
  cli();
  asm volatile("sleep");
}
void loop() {}
`)
	compile := regexp.MustCompile(`(?m)arduino-cli compile .*`).FindString(next)
	mega := strings.Replace(compile, "arduino:mbed_nano:nano33ble", "arduino:avr:mega", 1)
	if compile == mega {
		t.Fatalf("no other board:\n%s", next)
	}
	environment := fmt.Sprintf("export PATH='%[2]s':$PATH ARDUINO_DIRECTORIES_DATA='%[1]s/data' "+
		"ARDUINO_DIRECTORIES_USER='%[1]s/user' ARDUINO_DIRECTORIES_BUILTIN_TOOLS='%[1]s/tools'\n", home,
		cli)
	runExample(t, dir, environment+mega)
	said := runExample(t, dir, environment+strings.Replace(mega, "examples/kws", home+"/call", 1)+
		fmt.Sprintf(" --output-dir '%[1]s' > '%[1]s/said.txt'\n"+
			"simavr -m atmega2560 -f 16000000 '%[1]s/call.ino.elf' 2>&1", home))
	var bits []string
	for _, m := range regexp.MustCompile(`(\d+)\.\.`).FindAllStringSubmatch(said, -1) {
		bits = append(bits, m[1])
	}
	areOutputs(t, bits)
}

// builtByTinyGo has TinyGo compile a program that calls the model, which Node.js then runs.
func builtByTinyGo(t *testing.T, dir, next string) {
	needsPackages(t, [2]string{"tinygo", "tinygo.org"},
		[2]string{"wasm-opt", "the Debian package binaryen"},
		[2]string{"node", "the Debian package nodejs"})
	put(t, dir, "main.go", `package main

import (
	"math"

	"example.com/app/kws"
)

func main() {
	x, out := [144]float32{`+literal(t)+`}, [5]float32{}
	if err := kws.New().Forward(&x, &out); err != nil {
		panic(err)
	}
	for _, v := range out {
		println(math.Float32bits(v))
	}
}
`)
	put(t, dir, "run.mjs", `import { readFile } from "node:fs/promises"
import { WASI } from "node:wasi"
const wasi = new WASI({ version: "preview1" })
const module = await WebAssembly.compile(await readFile("kws.wasm"))
wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject()))
`)
	compile := regexp.MustCompile(`(?m)tinygo build .*`).FindString(next)
	areOutputs(t, strings.Fields(runExample(t, dir, compile+" && node --no-warnings run.mjs 2>&1")))
}
