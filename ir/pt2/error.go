package pt2

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
)

// Error says what is wrong with a model file and where. Every error the
// package returns is one.
type Error struct {
	File    string      // base name of the model file
	Member  string      // the file inside it, "" if that does not matter
	Node    string      // name of the node or value, if known
	Op      string      // its operator
	Loc     ir.Location // its Python line
	Problem string
	Hint    string // what to do about it, may be empty
	Err     error  // cause, may be nil
}

// Error names the file, the node with its operator, the Python line, the
// problem and the hint, leaving out what is not known.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(foreign.Message(e.File))
	if e.Member != "" && e.Member != e.File {
		fmt.Fprintf(&b, " (%s)", foreign.Message(e.Member))
	}
	switch {
	case e.Node != "" && e.Op != "":
		fmt.Fprintf(&b, ": node %q (%s)", e.Node, foreign.Message(e.Op))
	case e.Node != "":
		fmt.Fprintf(&b, ": %q", e.Node)
	}
	switch {
	case e.Loc.File != "":
		fmt.Fprintf(&b, " at %s", e.Loc)
	case e.Loc.Module != "":
		fmt.Fprintf(&b, " %s", e.Loc)
	}
	fmt.Fprintf(&b, ": %s", e.Problem)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// problem makes an Error that has no place yet; callers up the stack fill in
// the file, node and location they know.
func problem(format string, args ...any) *Error {
	return &Error{Problem: fmt.Sprintf(format, args...)}
}

// hint adds what to do about it.
func (e *Error) hint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// asError returns err as an *Error, wrapping it if it is none.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Problem: "cannot read it", Err: err}
}

// amend runs f and adds what the caller knows to the error that f fails with.
func amend(f func(), add func(*Error)) {
	if err := must.Try(f); err != nil {
		e := asError(err)
		add(e)
		panic(e)
	}
}

// within runs f; the problem that f fails with says what it is about.
func within(f func(), format string, args ...any) {
	amend(f, func(e *Error) { e.Problem = fmt.Sprintf(format, args...) + ": " + e.Problem })
}

// innermostFrame returns the base name and line of the innermost frame of a
// Python traceback that lies in the user's files: not in PyTorch and not in
// code that PyTorch generated. It returns "" if there is none.
func innermostFrame(trace string) (file string, line int) {
	for _, l := range strings.Split(trace, "\n") {
		rest, ok := strings.CutPrefix(strings.TrimLeft(l, " "), `File "`)
		if !ok {
			continue
		}
		name, rest, ok := strings.Cut(rest, `", line `)
		if !ok {
			continue
		}
		num, _, _ := strings.Cut(rest, ",")
		n, err := strconv.Atoi(num)
		if err != nil || n < 0 || name == "" || name[0] == '<' || inPyTorch(name) {
			continue
		}
		file, line = path.Base(strings.ReplaceAll(name, `\`, "/")), n
	}
	return file, line
}

// inPyTorch reports whether a Python file belongs to the package torch itself
// (torchvision and the like do not): .../site-packages/torch/..., or a source
// or zip-imported tree recognised by its sub-packages.
func inPyTorch(file string) bool {
	parts := strings.Split(strings.ReplaceAll(file, `\`, "/"), "/")
	for i := 0; i+1 < len(parts); i++ {
		if parts[i] != "torch" {
			continue
		}
		if i == 0 {
			return true
		}
		switch parts[i-1] {
		case "site-packages", "dist-packages", "pytorch":
			return true
		}
		switch next := parts[i+1]; next {
		case "nn", "fx", "export", "ao", "autograd", "utils", "library.py", "functional.py",
			"__init__.py":
			return true
		default:
			if strings.HasPrefix(next, "_") {
				return true
			}
		}
	}
	return false
}

// innermostModule returns the path of the innermost module in an
// nn_module_stack: entries "key,path,type" separated by semicolons.
func innermostModule(stack string) string {
	entries := splitTop(stack, ';')
	fields := splitTop(entries[len(entries)-1], ',')
	if len(fields) < 2 || strings.HasPrefix(fields[1], "_empty_nn_module_stack") {
		return ""
	}
	return modulePath(fields[1])
}

// modulePath turns the paths of strict exports into plain ones:
// getattr(L['self'].layer, '0').conv is layer.0.conv.
func modulePath(p string) string {
	if args, ok := strings.CutPrefix(p, "getattr("); ok {
		fields := splitTop(args, ',')
		if len(fields) < 2 {
			return p
		}
		attr, rest, ok := strings.Cut(fields[1], ")")
		if !ok {
			return p
		}
		return joinPath(modulePath(fields[0]), strings.Trim(attr, " '\"")) + rest
	}
	if strings.HasPrefix(p, "L[") {
		_, p, _ = strings.Cut(p, "]")
	}
	return strings.TrimPrefix(p, ".")
}

func joinPath(a, b string) string {
	if a == "" {
		return b
	}
	return a + "." + b
}

// splitTop splits s at sep outside of parentheses and brackets.
func splitTop(s string, sep byte) []string {
	var parts []string
	depth, start := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case sep:
			if depth == 0 {
				parts = append(parts, s[start:i])
				start = i + 1
			}
		}
	}
	return append(parts, s[start:])
}
