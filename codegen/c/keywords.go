package c

import (
	_ "embed" // reserved.txt
	"strings"
	"sync"

	"github.com/etgen/etgen/codegen"
)

// keywordText lists the names that generated C does not use for anything of its
// own: keywords of C and C++, names of the headers it includes, and macros that
// compilers define in lower case.
const keywordText = `
auto break case char const continue default do double else enum extern float
for goto if inline int long register restrict return short signed sizeof static
struct switch typedef union unsigned void volatile while
alignas alignof and and_eq asm atomic bitand bitor bool catch char8_t char16_t
char32_t class co_await co_return co_yield compl concept const_cast consteval
constexpr constinit contract_assert decltype delete dynamic_cast explicit export
false friend mutable namespace new noexcept not not_eq nullptr operator or or_eq
private protected public reinterpret_cast requires static_assert static_cast
template this thread_local throw true try typeid typename typeof typeof_unqual
using virtual wchar_t xor xor_eq
size_t ptrdiff_t offsetof NULL intptr_t uintptr_t intmax_t uintmax_t
int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t
linux unix i386 near far main arm mips sparc vax sun hpux
interface small huge pascal cdecl
`

// reservedText has the macros, functions, types and enumerators of the standard
// headers that an application is likely to include before ours: what a macro
// names cannot be a parameter. Names that begin with an underscore are left out:
// nothing of ours does. TestReserved writes and checks it.
//
//go:embed reserved.txt
var reservedText string

// keywords holds the words of keywordText, reserved those of reservedText too.
var keywords, reserved = words(keywordText), words(keywordText + reservedText)

func words(text string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for w := range strings.FieldsSeq(text) {
			set[w] = true
		}
		return set
	})
}

// reserve takes the names out of a scope that are nobody's to use.
func reserve(s *codegen.Scope) {
	for w := range reserved() {
		s.Reserve(w)
	}
}

// standardHeaders are the headers of C, which a file of ours must not stand before
// on a compiler's way.
const standardHeaders = `assert complex ctype errno fenv float inttypes iso646
limits locale math memory setjmp signal stdalign stdarg stdatomic stdbit stdbool stdckdint
stddef stdint stdio stdlib stdnoreturn string strings tgmath threads time uchar
unistd wchar wctype`

// isHeader reports whether C has a header called name.h.
func isHeader(name string) bool {
	for h := range strings.FieldsSeq(standardHeaders) {
		if h == name {
			return true
		}
	}
	return false
}
