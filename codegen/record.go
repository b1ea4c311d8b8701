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
)

// RecordFile is the file in a folder that says which files there etgen wrote.
const RecordFile = ".etgen.json"

// record is what RecordFile says, and what of other packages is still there.
type record struct {
	Note     string  `json:"note"`
	Packages []entry `json:"packages"`
}

const recordNote = "The files that etgen wrote here. It replaces and removes these and no others: keep this file with them."

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
func (p *Package) entry(ctx context.Context, inputs []string) (entry, error) {
	e := entry{Kind: p.Kind, Name: p.Name}
	if p.Kind == "" {
		for _, f := range p.Files {
			e.Name += f.Name // no other package has it
		}
		return e, nil
	}
	e.Files = map[string]string{}
	for _, f := range p.Files {
		if e.Files[f.Name] = ""; readHead(f.Name, bytes.NewReader(f.Data)) == nil {
			e.Files[f.Name] = digestOf(f.Data)
		}
	}
	if !e.isModel() {
		return e, nil
	}
	var names []string
	hash := sha256.New()
	for _, in := range inputs {
		if err := hashTree(ctx, hash, in); err != nil {
			return e, err
		}
		names = append(names, filepath.Base(in))
	}
	if e.from = PlainText(strings.Join(names, ", ")); len(inputs) > 0 {
		e.Inputs = hex.EncodeToString(hash.Sum(nil))
	}
	return e, nil
}

// hashTree hashes a file, or those of a folder with their names.
func hashTree(ctx context.Context, to io.Writer, root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if path != root {
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			fmt.Fprintf(to, "%q\n", filepath.ToSlash(rel))
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(to, f)
		return err
	})
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
	case e.Kind == next.Kind && (e.Kind == KindGo || e.Kind == KindRegistry || e.Kind == KindOutputs):
		return true
	case !e.isModel() || !next.isModel():
		return false
	}
	return e.Name != "" && e.Name == next.Name || e.Inputs != "" && e.Inputs == next.Inputs || e.from != "" && e.from == next.from
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
	slices.SortFunc(r.Packages, func(a, b entry) int {
		return strings.Compare(a.Kind+" "+a.Name+" "+strings.Join(a.names(), " "), b.Kind+" "+b.Name+" "+strings.Join(b.names(), " "))
	})
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		panic(err) // strings only
	}
	return append(text, '\n')
}

// readRecord returns what is known of the folder. Without a RecordFile the heads
// of files tell.
func readRecord(dir string) (*record, error) {
	path := filepath.Join(dir, RecordFile)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return recordOfHeads(dir)
	case err != nil:
		return nil, err
	}
	r := &record{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: etgen cannot read its own record: %w: remove the file, then the first lines of files tell which are etgen's", path, err)
	}
	for _, e := range r.Packages {
		for name := range e.Files {
			if name != filepath.Base(name) || IsOwnName(name) {
				return nil, fmt.Errorf("%s: %q is no file of the folder: remove the record, then the first lines of files tell which are etgen's", path, name)
			}
		}
	}
	return r, nil
}

// recordOfHeads returns a record of the text files in dir that say that etgen
// wrote them, those from one input as one package, and of their weights.
func recordOfHeads(dir string) (*record, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
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
			r.Packages = append(r.Packages, entry{Kind: kind, from: head.from, Files: map[string]string{}})
		}
		files := r.Packages[i].Files
		files[d.Name()] = ""
		weights := strings.TrimSuffix(d.Name(), filepath.Ext(path)) + ".bin"
		if digest, err := digestFile(filepath.Join(dir, weights)); err == nil && digest != "" && strings.HasSuffix(weights, "weights.bin") {
			files[weights] = digest
		}
	}
	return r, nil
}

// head is what the first lines of a generated file say.
type head struct{ by, from string }

// The first lines of a generated file: of Go and assembly for it, of C and its
// assembly, which name the file, and of pictures.
var (
	goHead  = regexp.MustCompile(`^// Code generated by etgen ?(.*) from (.*)\. DO NOT EDIT\.$`)
	cHead   = regexp.MustCompile(`^(?:/\*| \*) (\S+): generated by etgen ?(.*) from (.*)\. Do not edit\.(?: \*/)?$`)
	svgHead = regexp.MustCompile(`^<!-- Generated by etgen ?(.*) from (.*)\. Do not edit\. -->$`)
)

// SVGHead returns the first line of a picture.
func SVGHead(by, from string) string {
	head := strings.ReplaceAll(fmt.Sprintf("Generated by etgen %s from %s", by, PlainText(from)), "--", "- -")
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
		if m := svgHead.FindSubmatch(line); m != nil {
			return &head{string(m[1]), string(m[2])}
		}
	}
	return nil
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// digestFile returns the digest of a file's contents, "" if there is no file.
func digestFile(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
