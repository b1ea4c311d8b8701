package c

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template/parse"

	"github.com/etgen/etgen/templates/expand"
)

//go:embed *.c.tmpl
var files embed.FS

// helpers are the templates of what kernels use, emitted once, before all kernels that do:
// each stands behind those that it uses itself.
var helpers = []string{"tile", "tile_f32", "rows_f32", "rows_tile_f32", "rows_wide_f32",
	"rows_apart_f32", "attention_softmax_f32", "edges_f32", "few_f32", "few_transpose_f32",
	"winograd_tile_f32", "mixed_f32", "mixed_weight", "mixed_tile_f32", "sums_i8", "sums_tile_i8",
	"sums_one_i8", "sums_four_i8", "sums_five_i8", "sums_widen_i8", "sums_image_i8", "sums_see_i8",
	"sums_lanes_i8", "bytes_lanes", "sums_block_i8", "sums_copied_i8", "sums_padded_i8",
	"sums_windows_i8", "sums_mve_i8", "sums_window_i8", "sums_taps_i8", "sums_depth_i8",
	"sums_channels_i8", "sums_keep_i8", "taps", "window", "window_f32", "window_slide_f32",
	"mixed_window_f32",
	"depth_f32", "depth_slide_f32", "depth_eight_f32"}

// texts are all templates, read once. A template's text is split at the names in it, so that
// what prints a name gives it its prefix and records it.
type texts struct {
	templates expand.Templates
	runs      []run                      // of all templates; Emit prints one
	uses      map[string]map[string]bool // the names that each may print
	declared  map[string]string          // keys of names by the helper that declares them
}

var library = sync.OnceValue(func() *texts {
	t := &texts{uses: map[string]map[string]bool{}, declared: map[string]string{}}
	for _, h := range helpers {
		for _, file := range []string{h + ".c.tmpl", h + "_vector.c.tmpl"} {
			source, _ := files.ReadFile(file) // not all helpers have one for vectors
			for _, m := range declaration.FindAllStringSubmatch(string(source), -1) {
				if k := key(m[1]+m[2]+m[3]+m[4], true); t.declared[k] == "" {
					t.declared[k] = h
				}
			}
		}
	}
	t.templates = expand.ParseFiles(files, "*.c.tmpl")
	for name, root := range t.templates {
		comment := false
		t.uses[name] = map[string]bool{}
		t.split(name, root, &comment)
	}
	return t
})

// declaration finds what a template declares.
var declaration = regexp.MustCompile(
	`(?m)^ *# *define (\w+)|^(?:static|[A-Z]+_INLINE|TILE_\w+)[^(\n]*?\b(\w+)\(|^typedef (?:\w+ )+(\w+)(?:;| __)|^} (\w+);`)

// Names returns the names of functions, types and macros in the templates.
func Names() (list []string) {
	for name := range library().declared {
		list = append(list, strings.TrimSuffix(name, "("))
	}
	slices.Sort(list)
	return list
}

// file is the file of a template.
func (t *texts) file(name string, vector bool) string {
	if file := name + "_vector.c.tmpl"; vector && t.templates[file] != nil {
		return file
	}
	return name + ".c.tmpl"
}

// split makes calls of Emit of the texts in a list of nodes. Comment tells whether they
// begin in a comment, and then whether they end in one.
func (t *texts) split(name string, list *parse.ListNode, comment *bool) {
	if list == nil {
		return
	}
	for i, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			r := t.read(string(n.Text), comment)
			for _, w := range r.words {
				t.uses[name][w] = true
			}
			emit := expand.Must(expand.Parse("", fmt.Sprintf("{{$.Emit %d}}", len(t.runs))))
			list.Nodes[i] = emit[""].Nodes[0]
			t.runs = append(t.runs, r)
		case *parse.IfNode:
			t.split(name, n.List, comment)
			t.split(name, n.ElseList, comment)
		}
	}
}

// run is text whose names are known.
type run struct {
	pieces []string // every other one is a name that gets a prefix
	words  []string // keys of all that are used: not in comments, nor defined as macros
}

// key is what a name is recorded as: a word of plain English is that of a function, not of a
// local or in a comment, where it is called.
func key(name string, called bool) string {
	if called && !strings.Contains(name, "_") {
		return name + "("
	}
	return name
}

// read finds the names in a text.
func (t *texts) read(text string, comment *bool) (r run) {
	done := 0
	for i := 0; i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], "/*"):
			*comment = true
		case strings.HasPrefix(text[i:], "*/"):
			*comment = false
		}
		if !isWord(text[i]) {
			continue
		}
		start := i
		for i < len(text) && isWord(text[i]) {
			i++
		}
		word := key(text[start:i], i < len(text) && text[i] == '(')
		if t.declared[word] != "" {
			r.pieces = append(r.pieces, text[done:start], text[start:i])
			done = i
		}
		if !*comment && !strings.HasSuffix(text[:start], "#define ") {
			r.words = append(r.words, word)
		}
		i-- // what ends the word is not read yet
	}
	r.pieces = append(r.pieces, text[done:])
	return r
}

// Emit returns a run of a template's text.
func (k *Kernel) Emit(i int) string { return k.print(library().runs[i]) }

// Say returns a text that is made for a template.
func (k *Kernel) Say(text string) string {
	comment := false
	return k.print(library().read(text, &comment))
}

func (k *Kernel) print(r run) string {
	for _, w := range r.words {
		k.Used[w] = true
	}
	var b strings.Builder
	for i, piece := range r.pieces {
		if i%2 == 1 {
			piece = PrefixedName(piece, k.Prefix)
		}
		b.WriteString(piece)
	}
	return b.String()
}

// HelpersFor returns the helpers that a text needs which uses names, each behind those that
// it needs itself.
func HelpersFor(used map[string]bool, vector bool) (list []string) {
	lib := library()
	need := map[string]bool{}
	add := func(used map[string]bool) {
		for name := range used {
			need[lib.declared[name]] = true
		}
	}
	add(used)
	for _, h := range slices.Backward(helpers) {
		if need[h] {
			list = append(list, h)
			add(lib.uses[lib.file(h, vector)])
		}
	}
	slices.Reverse(list)
	return list
}

// PrefixedName is a name that a template declares with the prefix of a package: lower case,
// and a macro's upper.
func PrefixedName(name, prefix string) string {
	switch {
	case prefix == "":
		return name
	case name == strings.ToUpper(name):
		prefix = strings.ToUpper(prefix)
	}
	return prefix + "_" + name
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
