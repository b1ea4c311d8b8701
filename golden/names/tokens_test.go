package names

import (
	"fmt"
	"go/scanner"
	"go/token"
	"regexp"
	"strings"
)

// tok is a token of C or Go.
type tok struct {
	kind byte // 'i' a name, 's' a string, 'n' a number, 'p' anything else
	text string
}

// goTokens splits a Go file, and returns its comments apart.
func goTokens(src []byte) (toks []tok, comments []string, err error) {
	fset := token.NewFileSet()
	var s scanner.Scanner
	s.Init(fset.AddFile("", -1, len(src)), src, func(at token.Position, msg string) {
		err = fmt.Errorf("%v: %s", at, msg)
	}, scanner.ScanComments)
	for {
		switch _, t, lit := s.Scan(); {
		case t == token.EOF:
			return toks, comments, err
		case t == token.COMMENT:
			comments = append(comments, lit)
		case t == token.IDENT:
			toks = append(toks, tok{'i', lit})
		case t == token.STRING, t == token.CHAR:
			toks = append(toks, tok{'s', lit})
		case t.IsLiteral():
			toks = append(toks, tok{'n', lit})
		default:
			toks = append(toks, tok{'p', t.String()})
		}
	}
}

var cToken = regexp.MustCompile(
	`^(?:([A-Za-z_]\w*)|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|(\.?[0-9](?:[eEpP][-+]|[.\w])*)|([-+*/%&|^=<>!~?:;,.(){}\[\]#]))`)

// cTokens splits a C file.
func cTokens(src string) (toks []tok, err error) {
	if strings.Contains(src, "??") {
		return nil, fmt.Errorf("it has a trigraph")
	}
	for at := 0; at < len(src); {
		rest := src[at:]
		switch {
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 || strings.Contains(rest[2:2+end], "/*") {
				return nil, fmt.Errorf("a comment is not closed, or has another in it: %.60q", rest)
			}
			at += 2 + end + 2
		case strings.HasPrefix(rest, "//"):
			return nil, fmt.Errorf("a comment of C++: %.60q", rest)
		case strings.HasPrefix(rest, "\\\n"):
			toks = append(toks, tok{'p', "\\"})
			at += 2
		case rest[0] == ' ', rest[0] == '\n':
			at++
		default:
			m := cToken.FindStringSubmatch(rest)
			if m == nil {
				return nil, fmt.Errorf("no token: %.60q", rest)
			}
			for i, kind := range []byte("isnp") {
				if m[i+1] != "" {
					toks = append(toks, tok{kind, m[0]})
				}
			}
			at += len(m[0])
		}
	}
	return toks, nil
}

// alike holds tokens against those of the program with its own names. Names may
// differ, one for one within a function; strings may.
func alike(want, got []tok) error {
	there, back := map[string]string{}, map[string]string{}
	depth, member := 0, false // member: a field, or the name of a method
	fields := 0               // the depth of the struct that is declared, 0 outside
	for i, w := range want {
		if i >= len(got) || got[i].kind != w.kind || w.kind != 'i' && w.kind != 's' &&
			got[i].text != w.text {
			g := tok{}
			if i < len(got) {
				g = got[i]
			}
			return fmt.Errorf("token %d is %q, not %q, behind %v", i, g.text, w.text,
				got[max(0, min(i, len(got))-12):min(i, len(got))])
		}
		switch w.text {
		case "{", "(":
			if w.text == "(" || i == 0 || want[i-1].text != `"C"` {
				depth++
			}
			if w.text == "{" && i > 1 && (want[i-1].text == "struct" ||
				want[i-2].text == "struct") && fields == 0 {
				fields = depth
			}
		case "}", ")":
			depth = max(depth-1, 0) // that of extern "C" closes nothing
			if depth < fields {
				fields = 0
			}
		}
		if depth == 0 && (w.text == "}" || w.text == ";") { // the next has names of its own
			clear(there)
			clear(back)
		}
		if w.kind == 'i' {
			from, to := w.text, got[i].text
			key := i > 0 && i+1 < len(want) && want[i+1].text == ":" && (want[i-1].text == "{" ||
				want[i-1].text == ",")
			if member || key || fields > 0 { // fields have names of their own, one to each type
				from, to = "."+from, "."+to
			}
			if x, ok := there[from]; ok && x != to {
				return fmt.Errorf("token %d: %s is %s here and %s before", i, from, to, x)
			}
			if x, ok := back[to]; ok && x != from && to[0] != '.' {
				return fmt.Errorf("token %d: %s stands for %s here and for %s before", i,
					to, from, x)
			}
			there[from], back[to] = to, from
		}
		member = w.text == "." || w.text == ")" && depth == 0 || w.text == "->" || w.text == ">" &&
			i > 0 && want[i-1].text == "-"
	}
	if len(got) > len(want) {
		return fmt.Errorf("%d tokens more, from %v on", len(got)-len(want),
			got[len(want):min(len(got), len(want)+12)])
	}
	return nil
}

// directives are the comments that tools read as more than comments. "+build" is one
// before the package's name alone, where a comment of ours begins with "Code".
func directives(comments []string) []string {
	var found []string
	for _, c := range comments {
		if regexp.MustCompile(`^//\S|^/\*`).MatchString(c) {
			found = append(found, c)
		}
	}
	return found
}
