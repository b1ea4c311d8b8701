package codegen

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
)

// RecordFile is the file in a folder that says which files there etgen wrote.
const RecordFile = ".etgen.json"

// maxRecord is more than any record has, in bytes.
const maxRecord = 64 << 20

// record is what RecordFile says, and what of other packages is still there.
type record struct {
	Note     string  `json:"note"`
	Packages []entry `json:"packages"`
}

const recordNote = "The files that etgen wrote here. It replaces and removes these and no " +
	"others: keep this file with them."

// entry is a package in a record.
type entry struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Inputs string `json:"inputs,omitempty"` // a digest of what it was made from
	// Files has the files' names, and digests of the contents of those whose first
	// lines do not tell that they are etgen's.
	Files map[string]string `json:"files"`
	from  string            // what the heads of files without a record say
}

// entry returns the package as a record has it; one without files if no record is
// kept of it.
func (p *Package) entry(ctx context.Context, inputs []string) entry {
	e := entry{Kind: p.Kind, Name: p.Name}
	if p.Kind == "" {
		for _, f := range p.Files {
			e.Name += f.Name // no other package has it
		}
		return e
	}
	e.Files = map[string]string{}
	for _, f := range p.Files {
		if e.Files[f.Name] = ""; readHead(f.Name, bytes.NewReader(f.Data)) == nil {
			e.Files[f.Name] = digestOf(f.Data)
		}
	}
	if !e.isModel() {
		return e
	}
	var names []string
	hash, whole := sha256.New(), len(inputs) > 0
	for _, in := range inputs {
		known := hashInput(ctx, hash, in)
		whole = whole && known
		names = append(names, filepath.Base(in))
	}
	if e.from = foreign.Of(strings.Join(names, ", ")).Comment(); whole {
		e.Inputs = hex.EncodeToString(hash.Sum(nil))
	}
	return e
}

// modelFiles are the patterns of what a model is made of in the folder of its
// archive, or in one below.
var modelFiles = []string{"models/*", "data/*/*", "serialized_*", "*.pt", "weights/*",
	"constants/*"}

// hashInput hashes a model: its file, with the data beside an ExecuTorch program,
// or the files of its folder. It returns false where it cannot tell which those are.
func hashInput(ctx context.Context, to io.Writer, path string) bool {
	files := []string{path}
	switch {
	case must.Get(os.Stat(path)).IsDir():
		files = nil
		for _, pattern := range modelFiles {
			for _, p := range []string{pattern, "*/" + pattern} {
				for _, name := range must.Get(fs.Glob(os.DirFS(path), p)) {
					files = append(files, filepath.Join(path, name))
				}
			}
		}
	case filepath.Ext(path) == ".json":
		return false // its weights are somewhere around it
	case filepath.Ext(path) == ".pte":
		dir := filepath.Dir(path)
		for _, name := range must.Get(fs.Glob(os.DirFS(dir), "*.ptd")) {
			files = append(files, filepath.Join(dir, name))
		}
	}
	for _, file := range files {
		must.Check(ctx.Err())
		fmt.Fprintln(to, digestFile(file))
	}
	return len(files) > 0
}

// isModel reports whether e is a compiled model.
func (e entry) isModel() bool { return e.Kind == KindC || e.Kind == KindGo || e.Kind == KindPTE }

// replacedBy reports whether the package next takes the place of e.
func (e entry) replacedBy(next entry) bool {
	for name := range next.Files {
		if _, ok := e.Files[name]; ok {
			return true
		}
	}
	switch {
	case e.Kind == next.Kind && (e.Kind == KindGo || e.Kind == KindRegistry ||
		e.Kind == KindOutputs):
		return true
	case !e.isModel() || !next.isModel():
		return false
	}
	return e.Name != "" && e.Name == next.Name || e.Inputs != "" && e.Inputs == next.Inputs ||
		e.from != "" && e.from == next.from
}

// holds reports whether one of the inputs is a file of e.
func (e entry) holds(dir string, inputs []string) bool {
	for name := range e.Files {
		if isInput(filepath.Join(dir, name), inputs) >= 0 {
			return true
		}
	}
	return false
}

func (e entry) names() []string { return slices.Sorted(maps.Keys(e.Files)) }

func (r *record) has(name string) bool {
	return slices.ContainsFunc(r.Packages, func(e entry) bool { _, ok := e.Files[name]; return ok })
}

// format returns the text of RecordFile, the same for the same packages.
func (r *record) format() []byte {
	r.Note = recordNote
	seq.Sort(r.Packages, func(a, b entry) int {
		return strings.Compare(a.Kind+" "+a.Name+" "+strings.Join(a.names(), " "),
			b.Kind+" "+b.Name+" "+strings.Join(b.names(), " "))
	})
	return append(must.Get(json.MarshalIndent(r, "", "  ")), '\n')
}

// readRecord returns what is known of the folder. Without a RecordFile the heads
// of files tell.
func readRecord(dir string) *record {
	path := filepath.Join(dir, RecordFile)
	if info, err := os.Lstat(path); err == nil && (!info.Mode().IsRegular() ||
		info.Size() > maxRecord) {
		must.Fail("%s is no record of etgen's: move it away", path)
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return recordOfHeads(dir)
	}
	must.Check(err)
	r := &record{}
	if err := json.Unmarshal(text, r); err != nil {
		must.Fail(
			"%s: etgen cannot read its own record: %w: remove the file, then the first lines of files "+
				"tell which are etgen's", path, err)
	}
	for _, e := range r.Packages {
		for name := range e.Files {
			if name != filepath.Base(name) || IsOwnName(name) {
				must.Fail(
					"%s: %q is no file of the folder: remove the record, then the first lines of files tell "+
						"which are etgen's", path, name)
			}
		}
	}
	return r
}

// recordOfHeads returns a record of the text files in dir that say that etgen
// wrote them, those from one input as one package, and of their weights.
func recordOfHeads(dir string) *record {
	entries, err := os.ReadDir(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		must.Check(err)
	}
	r := &record{}
	byHead := map[string]int{}
	for _, d := range entries {
		path := filepath.Join(dir, d.Name())
		if !d.Type().IsRegular() {
			continue
		}
		head, kind := generatedFrom(path), GeneratedKind(path)
		if kind == "" {
			continue
		}
		key := kind + " " + head.from
		i, ok := byHead[key]
		if !ok {
			i = len(r.Packages)
			byHead[key] = i
			r.Packages = append(r.Packages, entry{Kind: kind, from: head.from,
				Files: map[string]string{}})
		}
		files := r.Packages[i].Files
		files[d.Name()] = ""
		weights := strings.TrimSuffix(d.Name(), filepath.Ext(path)) + ".bin"
		if !strings.HasSuffix(weights, "weights.bin") {
			continue
		}
		digest := ""
		err := must.Try(func() { digest = digestFile(filepath.Join(dir, weights)) })
		if err == nil && digest != "" {
			files[weights] = digest
		}
	}
	return r
}

// head is what the first lines of a generated file say.
type head struct{ by, from string }

// The first lines of a generated file: of Go and assembly for it, of C and its
// assembly, which name the file, of pictures and reports.
var (
	goHead = regexp.MustCompile(`^// Code generated by etgen ?(.*) from (.*)\. DO NOT EDIT\.$`)
	cHead  = regexp.MustCompile(
		`^(?:/\*| \*) (\S+): generated by etgen ?(.*) from (.*)\. Do not edit\.(?: \*/)?$`)
	markupHead = regexp.MustCompile(`^<!-- Generated by etgen ?(.*) from (.*)\. Do not edit\. -->$`)
	// Of a recipe and a report: people may edit them, and make them again.
	recipeHead = regexp.MustCompile(`^  "etgen_(recipe|report)": \d+,$`)
)

// MarkupHead returns the first line of a picture or a report.
func MarkupHead(by, from string) string {
	if by != "" {
		by = " " + by
	}
	head := fmt.Sprintf("Generated by etgen%s from %s", foreign.Of(by).Comment(),
		foreign.Of(from).Comment())
	for strings.Contains(head, "--") { // a third one stands beside two
		head = strings.ReplaceAll(head, "--", "- -")
	}
	return "<!-- " + head + ". Do not edit. -->\n"
}

// GeneratedKind returns the kind of package that the first lines of the source
// file at path say it is of; "" if they do not say that etgen wrote it.
func GeneratedKind(path string) string {
	h := generatedFrom(path)
	if h == nil {
		return ""
	}
	switch filepath.Ext(path) {
	case ".go", ".s":
		if strings.HasPrefix(h.by, "registry") {
			return KindRegistry
		}
		return KindGo
	case ".c", ".h", ".S":
		return KindC
	}
	return ""
}

// GeneratedBy returns the command that the first lines of the file at path say it is generated
// by, without "etgen"; "" if they say nothing.
func GeneratedBy(path string) string {
	if h := generatedFrom(path); h != nil {
		return h.by
	}
	return ""
}

// generatedFrom returns the head of the file at path, nil if it has none.
func generatedFrom(path string) *head {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	return readHead(filepath.Base(path), f)
}

// readHead returns the head of a file that is called name.
func readHead(name string, data io.Reader) *head {
	lines := bufio.NewReaderSize(data, 1<<12)
	for range 3 {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return nil
		}
		line = bytes.TrimRight(line, "\r\n")
		if m := goHead.FindSubmatch(line); m != nil {
			return &head{string(m[1]), string(m[2])}
		}
		if m := cHead.FindSubmatch(line); m != nil && string(m[1]) == name {
			return &head{string(m[2]), string(m[3])}
		}
		if m := markupHead.FindSubmatch(line); m != nil {
			return &head{string(m[1]), string(m[2])}
		}
		if recipeHead.Match(line) {
			return &head{by: "quantize"}
		}
	}
	return nil
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// otherFile stands for the digest of what is no regular file.
const otherFile = "other"

// digestFile returns the digest of a file's contents, "" if there is no file, else
// otherFile of what is none.
func digestFile(path string) string {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	must.Check(err)
	if !info.Mode().IsRegular() {
		return otherFile
	}
	f := must.Get(os.Open(path))
	defer f.Close()
	hash := sha256.New()
	must.Get(io.Copy(hash, f))
	return hex.EncodeToString(hash.Sum(nil))
}
