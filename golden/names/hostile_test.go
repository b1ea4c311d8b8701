package names

import "strings"

// hostile are names that each try something. A find of FuzzNames is added here.
var hostile = []string{
	// comments of C and Go, ends of lines
	"*/ int evil(void); /*", "/*", "*/", "//", "/*/", "*/*", "x\\\n", "x\\",
	"a\nfunc init() { println(1) }\n//", "a\r\nb", "a\rb", "??/\nint evil;", "x ??/",
	"*??/\n/ int evil;", "??=define x", "\n#line 1 \"evil\"", "#include <evil.h>", "\n#define x y",
	"//line evil.go:1", "/*line evil.go:1*/", "//go:embed /etc/passwd", "//go:build ignore",
	"// +build ignore", "+build ignore", "//export evil", "\n//export evil", "//go:linkname a b",
	"\n//go:generate rm -rf /\n", "//extern evil",
	// literals, formats
	`"`, `"; system("evil"); "`, "`", "'", "%s%n%d%!", "%", "\x00", "a\x00b", "\\x00", `\`,
	// identifiers: keywords, predeclared names, macros, functions, our own
	"", " ", "_", "__", "_Exit", "__attribute__", "int", "for", "class", "template", "and", "func",
	"go", "chan", "len", "nil", "true", "error", "string", "any", "main", "init", "NAN", "EOF", "I",
	"INFINITY", "errno", "stdin", "signbit", "NULL", "complex", "assert", "linux", "unix", "printf",
	"exp", "isnan", "offsetof", "bool", "sizes", "state", "arena", "mem", "status", "reset",
	"weights", "OK", "ARENA_SIZE", "ERR_SHAPE", "THREADS", "H", "NAN_F64", "forward_sizes", "net",
	"net_forward", "NET_OK", "NET_ARENA_SIZE", "Model", "model", "New", "Reset", "ProfileEvent",
	"WriteProfile",
	"ErrShape", "Sizes", "m", "w", "shared", "view", "newArena", "loadWeights", "weightData",
	"element", "elements", "littleEndian", "poison", "fmt", "math", "errors", "unsafe", "sync",
	"binary", "embed", "kernels", "abs", "fma32", "toInt", "fromBool", "vecAdd", "TILE_LANES",
	"tile", "rows_tile", "slide", "i", "x", "out", "out0", "part", "parts", "acc", "y", "t", "n",
	"1", "1e9", "3d", "a.b.c", "a-b", "a b", "A", "a", "aB", "a_b", "ab", "x_dim0", "x1_2",
	// other scripts, invisible and turning characters, bad UTF-8
	"前向", "é", "ñandú", "\u202e gnp.exe", "\u2066\u2069", "a\u2028b", "a\u2029b", "\u0085",
	"\u009b31m", "\u200b", "\ufeff", "\U000e0041", "ſ", "K", "\xff", "a\xffb", "\xed\xa0\x80",
	"\xc0\xaf", "\xe2\x80", "…",
	// terminals
	"\x1b[31mred\x1b[m", "\x1b]0;owned\a", "\x1b[2J", "\b\b\b", "\x7f", "\t", "a\tb", "\v\f",
	// documents
	"</title><script>alert(1)</script>", "<!--", "-->", "]]>", "&lt;&#0;", `{"a":1}`, "a,b", "a, b",
	"a; b", "a: b", "a (b)", "# Heading", "  - item", "[link]: http://evil", "Deprecated: x",
	// paths
	"../../etc/passwd", "/etc/passwd", `..\evil`, "a/b", ".", "..", "C:", "nul", "-rf", "$(evil)",
	"`evil`", "~",
	// long ones
	strings.Repeat("long", 2560), strings.Repeat("a b ", 2560), strings.Repeat("é", 5120),
	strings.Repeat("_", 300), strings.Repeat("*/", 300), strings.Repeat("1", 300),
}
