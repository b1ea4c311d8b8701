package toolchain

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// withCache has the test use a cache of its own, and returns a gcc that counts how often
// it runs.
func withCache(t *testing.T) (c *cache, gcc Target, runs func() int) {
	t.Helper()
	before := objects
	t.Cleanup(func() { objects = before })
	c = &cache{dir: t.TempDir()}
	objects = func() *cache { return c }
	dir := t.TempDir()
	log, script := filepath.Join(dir, "log"), filepath.Join(dir, "gcc")
	text := fmt.Sprintf("#!/bin/sh\necho >>%q\nexec gcc \"$@\"\n", log)
	if err := os.WriteFile(script, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
	gcc = GCC()
	gcc.Compiler = script
	return c, gcc, func() int {
		data, _ := os.ReadFile(log)
		return bytes.Count(data, []byte("\n"))
	}
}

// What decides what a compiler makes decides whether it runs again, and nothing else.
func TestCacheKnowsWhatCounts(t *testing.T) {
	_, gcc, runs := withCache(t)
	const text = "#include <stdint.h>\n#include \"a.h\"\nint f(void) { return A; }\n"
	header := func(a string) string { return "#include \"b/b.h\"\nint f(void);\n" + a }
	build := func(target Target, text, a, b string) (object, stack string) {
		t.Helper()
		sources := write(t, "x.c", text, "a.h", a, "b/b.h", b)
		dir := t.TempDir()
		objects, err := target.Compile(t.Context(), dir, sources[0])
		if err != nil {
			t.Fatal(err)
		}
		o, err := os.ReadFile(objects[0])
		if err != nil {
			t.Fatal(err)
		}
		s, err := os.ReadFile(filepath.Join(dir, "x.su"))
		if err != nil || !strings.Contains(string(s), "f\t") {
			t.Fatalf("stack usage %q, error %v", s, err)
		}
		return string(o), string(s)
	}
	first, _ := build(gcc, text, header("#define A 1\n"), "")
	for _, c := range []struct {
		name      string
		target    Target
		text, a   string
		b         string
		runs      int
		different bool
	}{
		{"again, in another folder", gcc, text, header("#define A 1\n"), "", 1, false},
		{"another header", gcc, text, header("#define A 2\n"), "", 2, true},
		{"a header in that", gcc, text, header(""), "#define A 3\n", 3, true},
		{"another flag", gcc.With("-O0"), text, header("#define A 1\n"), "", 4, true},
		{"another source", gcc, text + "int g;\n", header("#define A 1\n"), "", 5, true},
		{"a folder of headers that is not used", gcc.With("-I" + t.TempDir()), text,
			header("#define A 1\n"), "", 5, false},
		{"a macro that names a header", gcc, "#define H \"a.h\"\n#include H\nint f(void) { return A; }\n",
			header("#define A 1\n"), "", 6, false},
		{"and again", gcc, "#define H \"a.h\"\n#include H\nint f(void) { return A; }\n",
			header("#define A 1\n"), "", 7, false},
	} {
		got, _ := build(c.target, c.text, c.a, c.b)
		if n := runs(); n != c.runs || (got != first) != c.different {
			t.Errorf("%s: gcc ran %d times, want %d; another object: %v, want %v", c.name, n,
				c.runs, got != first, c.different)
		}
	}
	file := write(t, "given.h", "")[0]
	for i, way := range []struct {
		target Target
		text   string
	}{{gcc.With("-include", file), text}, {gcc, fmt.Sprintf("#include %q\n", file) + text}} {
		for k, given := range []string{"int g;\n", "int h;\n", "int g;\n"} {
			if err := os.WriteFile(file, []byte(given), 0o666); err != nil {
				t.Fatal(err)
			}
			build(way.target, way.text, header("#define A 1\n"), "")
			if n, want := runs(), 8+2*i+min(k, 1); n != want {
				t.Errorf("%q by flag or path: gcc ran %d times, want %d", given, n, want)
			}
		}
	}
}

// What does not compile is tried each time, and says why.
func TestCacheKeepsNoErrors(t *testing.T) {
	_, gcc, runs := withCache(t)
	sources := write(t, "x.c", "int f(void) { return y; }\n")
	for i := range 2 {
		_, err := gcc.Compile(t.Context(), t.TempDir(), sources...)
		if err == nil || !strings.Contains(err.Error(), "undeclared") || runs() != i+1 {
			t.Errorf("%d runs, error %v", runs(), err)
		}
	}
}

// A file that was cut or changed is made again.
func TestCacheBelievesNothing(t *testing.T) {
	c, _, _ := withCache(t)
	key := strings.Repeat("ab", 32)
	want := compiled{object: []byte("object"), stack: []byte("stack\n1\n")}
	for _, damage := range []func(data []byte) []byte{
		func(data []byte) []byte { return data[:len(data)-1] },
		func(data []byte) []byte { return data[:10] },
		func(data []byte) []byte { data[40]++; return data },
	} {
		c.put(key, want)
		if got, ok := c.get(key); !ok || string(got.object) != "object" ||
			!bytes.Equal(got.stack, want.stack) {
			t.Fatalf("got %q, %v", got, ok)
		}
		data, err := os.ReadFile(c.path(key))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.path(key), damage(data), 0o666); err != nil {
			t.Fatal(err)
		}
		if got, ok := c.get(key); ok {
			t.Errorf("got %q of a damaged file", got)
		}
	}
}

// The files that were not used for the longest time make room.
func TestCacheIsBounded(t *testing.T) {
	c, _, _ := withCache(t)
	now := time.Now()
	keys := []string{strings.Repeat("a", 64), strings.Repeat("b", 64), strings.Repeat("c", 64)}
	for i, key := range keys {
		c.put(key, compiled{object: make([]byte, 1000)})
		used := now.Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(c.path(key), used, used); err != nil {
			t.Fatal(err)
		}
	}
	c.get(keys[0]) // it is the last used now
	c.trim(2500, now)
	c.put(keys[1]+"0", compiled{object: make([]byte, 1000)})
	c.trim(0, now.Add(time.Minute)) // it was looked at a minute ago
	for i, want := range []bool{true, false, true} {
		if _, ok := c.get(keys[i]); ok != want {
			t.Errorf("file %d is there: %v, want %v", i, ok, want)
		}
	}
}

// A folder that the environment names may hold a user's files: they are not the cache's.
func TestCacheLeavesOtherFiles(t *testing.T) {
	c, _, _ := withCache(t)
	c.put(strings.Repeat("a", 64), compiled{object: make([]byte, 1000)})
	others := []string{"thesis.txt", "aa/notes", "photos/aa/" + strings.Repeat("a", 64)}
	for _, name := range others {
		path := filepath.Join(c.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("a user's"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c.trim(0, time.Now().Add(2*cacheAge))
	for _, name := range others {
		if _, err := os.Stat(filepath.Join(c.dir, name)); err != nil {
			t.Error(err)
		}
	}
	if _, ok := c.get(strings.Repeat("a", 64)); ok {
		t.Error("the cache's own file is still there")
	}
}

// Processes, and goroutines here, use it at once.
func TestCacheAtOnce(t *testing.T) {
	c, _, _ := withCache(t)
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for k := range 200 {
				key := strings.Repeat(fmt.Sprintf("%02d", k%5), 32)
				data := bytes.Repeat([]byte{byte(k % 5)}, 10_000)
				if i%2 == 0 {
					c.put(key, compiled{object: data})
				} else if got, ok := c.get(key); ok && !bytes.Equal(got.object, data) {
					t.Error("a file is another's, or part of one")
				}
			}
		})
	}
	wait.Wait()
}
