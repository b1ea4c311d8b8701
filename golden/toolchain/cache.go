package toolchain

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/etgen/etgen/ir/seq"
)

// The cache keeps what [Target.Compile] made of a source: the object and its stack usage,
// by a hash of the compiler, the flags, and the text of the source and of all it includes.
// It is beside the caches of other programs, in the folder etgen of [os.UserCacheDir], and
// any number of processes use it at once: files are written aside and renamed.
//
// Only success is kept. A hit makes the same files as the compiler, but for what -g1 says
// of the folder of the source.
type cache struct {
	dir string // "": there is none
}

const (
	// cacheSize bounds the bytes of the cache; the files that were not used for the
	// longest time go first.
	cacheSize = 1 << 30
	// cacheAge is how old the last use of a file may be before its time is set anew,
	// and how often the size is looked at.
	cacheAge = time.Hour
)

// CacheVariable is the environment variable that names another folder for the objects of
// generated C, or says "off".
const CacheVariable = "ETGEN_CACHE"

var objects = sync.OnceValue(func() *cache {
	c := &cache{dir: os.Getenv(CacheVariable)}
	switch c.dir {
	case "off":
		return &cache{}
	case "":
		user, err := os.UserCacheDir()
		if err != nil {
			return &cache{}
		}
		c.dir = filepath.Join(user, "etgen")
	}
	if os.MkdirAll(c.dir, 0o777) != nil {
		return &cache{}
	}
	c.trim(cacheSize, time.Now())
	return c
})

// CacheFolder is where compiled objects are kept, "" if they are not.
func CacheFolder() string { return objects().dir }

// compiled are the files that a compiler makes of a source, nil where it makes none.
type compiled struct {
	object, stack []byte
}

// compiledAs reads the files.
func compiledAs(object, stack string) compiled {
	var c compiled
	c.object, _ = os.ReadFile(object) // -fsyntax-only makes none
	c.stack, _ = os.ReadFile(stack)
	return c
}

// write writes the files.
func (m compiled) write(object, stack string) error {
	for path, data := range map[string][]byte{object: m.object, stack: m.stack} {
		if len(data) == 0 {
			continue
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// get returns what is kept under a key.
func (c *cache) get(key string) (compiled, bool) {
	if key == "" {
		return compiled{}, false
	}
	path := c.path(key)
	data, err := os.ReadFile(path)
	if err != nil {
		return compiled{}, false
	}
	made, ok := unpack(data)
	if !ok {
		os.Remove(path) // something cut it
		return compiled{}, false
	}
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > cacheAge {
		now := time.Now()
		os.Chtimes(path, now, now)
	}
	return made, true
}

// put keeps what was made under a key. What cannot be written is not kept.
func (c *cache) put(key string, made compiled) {
	if key == "" {
		return
	}
	path := c.path(key)
	if os.MkdirAll(filepath.Dir(path), 0o777) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(path), key+"-*")
	if err != nil {
		return
	}
	_, err = f.Write(made.pack())
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
}

func (c *cache) path(key string) string { return filepath.Join(c.dir, key[:2], key) }

// pack is one file for both: a hash of the rest, the stack usage behind its length, the
// object.
func (m compiled) pack() []byte {
	body := fmt.Appendf(nil, "%d\n%s%s", len(m.stack), m.stack, m.object)
	sum := sha256.Sum256(body)
	return append(sum[:], body...)
}

func unpack(data []byte) (compiled, bool) {
	if len(data) < sha256.Size {
		return compiled{}, false
	}
	sum, body := data[:sha256.Size], data[sha256.Size:]
	if now := sha256.Sum256(body); !bytes.Equal(sum, now[:]) {
		return compiled{}, false
	}
	length, rest, _ := bytes.Cut(body, []byte("\n"))
	n := 0
	if _, err := fmt.Sscan(string(length), &n); err != nil || n < 0 || n > len(rest) {
		return compiled{}, false
	}
	return compiled{stack: rest[:n], object: rest[n:]}, true
}

// kept matches the names of the cache's files, and of those that are being written. The
// environment may name a folder that holds others too.
var kept = regexp.MustCompile(`^[0-9a-f]{64}(-[0-9]+)?$`)

// trim removes files of the cache until the cache is not larger than most, if nobody did within
// [cacheAge]. Files that another process removes at the same time are no error.
func (c *cache) trim(most int64, now time.Time) {
	mark := filepath.Join(c.dir, "etgen-trimmed")
	if info, err := os.Stat(mark); err == nil && now.Sub(info.ModTime()) < cacheAge {
		return
	}
	if os.WriteFile(mark, nil, 0o666) != nil || os.Chtimes(mark, now, now) != nil {
		return
	}
	type entry struct {
		path string
		size int64
		used time.Time
	}
	var entries []entry
	sum := int64(0)
	files, _ := filepath.Glob(filepath.Join(c.dir, "[0-9a-f][0-9a-f]", "*"))
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil || info.IsDir() || !kept.MatchString(filepath.Base(path)) {
			continue
		}
		entries = append(entries, entry{path, info.Size(), info.ModTime()})
		sum += info.Size()
	}
	seq.Sort(entries, func(a, b entry) int { return a.used.Compare(b.used) })
	for _, e := range entries {
		if sum <= most {
			return
		}
		os.Remove(e.path)
		sum -= e.size
	}
}

// key is the hash under which what the compiler makes of a source is kept, "" if it is
// not: flags without folders of headers decide, with the compiler, and the source with
// all it includes from these folders. Headers of the system are the compiler's.
func (c *cache) key(compiler, source string, flags []string) string {
	if c.dir == "" || filepath.Ext(source) != ".c" { // an assembler takes in other files
		return ""
	}
	var folders []string
	read := []string{source}
	h := sha256.New()
	h.Write([]byte(identity(compiler)))
	for i, f := range flags {
		if dir, ok := strings.CutPrefix(f, "-I"); ok {
			folders = append(folders, dir)
			continue
		}
		switch {
		case strings.HasPrefix(f, "@"), strings.HasPrefix(f, "-specs"):
			return "" // a file that is not looked at
		case f == "-include" && i+1 < len(flags):
			read = append(read, flags[i+1])
		case strings.HasPrefix(f, "-include"), strings.HasPrefix(f, "-imacros"):
			return "" // a file, its name joined to the flag
		case f == "-march=native", f == "-mcpu=native", f == "-mtune=native":
			h.Write(processor())
		}
		fmt.Fprintf(h, "%s\x00", f)
	}
	s := &sources{folders: folders, seen: map[string]bool{}}
	for _, file := range read {
		if !s.add(file) {
			return ""
		}
	}
	fmt.Fprintf(h, "%s\x00", filepath.Base(source)) // __FILE__, and what -g1 says
	for _, f := range s.files {
		fmt.Fprintf(h, "%s %d\n", f.name, len(f.data))
		h.Write(f.data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// identity tells compilers apart: their files, and what they take from the environment.
// It is asked for once for each.
func identity(compiler string) string {
	if id, ok := identities.Load(compiler); ok {
		return id.(string)
	}
	id := "1 " + compiler
	if path, err := filepath.EvalSymlinks(compiler); err == nil {
		id += " " + path
	}
	if info, err := os.Stat(compiler); err == nil {
		id += fmt.Sprintf(" %d %d", info.Size(), info.ModTime().UnixNano())
	}
	for _, name := range []string{"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "COMPILER_PATH",
		"GCC_EXEC_PREFIX", "CCC_OVERRIDE_OPTIONS"} {
		id += " " + os.Getenv(name)
	}
	id += "\n"
	identities.Store(compiler, id)
	return id
}

var identities sync.Map

// processor is what "native" in a flag means.
var processor = sync.OnceValue(func() []byte {
	text, _ := os.ReadFile("/proc/cpuinfo")
	first, _, _ := bytes.Cut(text, []byte("\n\n"))
	var kept []byte
	for line := range bytes.Lines(first) {
		for _, word := range []string{"model", "flags", "Features", "CPU "} {
			if bytes.HasPrefix(line, []byte(word)) {
				kept = append(kept, line...)
			}
		}
	}
	return kept
})

// sources are a file and all it includes.
type sources struct {
	folders []string
	seen    map[string]bool
	files   []sourceFile
}

type sourceFile struct {
	name string // as it is included
	data []byte
}

var (
	includes = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include(?:_next)?\b[ \t]*(.*)$`)
	included = regexp.MustCompile(`^(?:"([^"]*)"|<([^>]*)>)`)
)

// add adds a file, and reports whether all that it includes is known.
func (s *sources) add(path string) bool {
	if s.seen[path] {
		return true
	}
	s.seen[path] = true
	data, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	s.files = append(s.files, sourceFile{filepath.Base(path), data})
	for _, m := range includes.FindAllSubmatch(data, -1) {
		name := included.FindSubmatch(m[1])
		if name == nil {
			return false // a macro names the file
		}
		found := s.find(filepath.Dir(path), string(name[1])+string(name[2]))
		if found == "" && name[1] != nil || found != "" && !s.add(found) {
			return false
		}
	}
	return true
}

// find returns the path of an included file, "" if it is in no folder.
func (s *sources) find(beside, name string) string {
	for _, dir := range append([]string{beside}, s.folders...) {
		path := filepath.Join(dir, name)
		if filepath.IsAbs(name) {
			path = name
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}
