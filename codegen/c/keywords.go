package c

import "strings"

// keywordText lists the names that generated C does not use for anything of its
// own: keywords of C and C++, names of the headers it includes, and macros that
// compilers define in lower case.
const keywordText = `
auto break case char const continue default do double else enum extern float
for goto if inline int long register restrict return short signed sizeof static
struct switch typedef union unsigned void volatile while
alignas alignof and and_eq asm atomic bitand bitor bool catch char8_t char16_t
char32_t class co_await co_return co_yield compl concept const_cast consteval
constexpr constinit decltype delete dynamic_cast explicit export false friend
mutable namespace new noexcept not not_eq nullptr operator or or_eq private
protected public reinterpret_cast requires static_assert static_cast template
this thread_local throw true try typeid typename typeof using virtual wchar_t
xor xor_eq
size_t ptrdiff_t offsetof NULL intptr_t uintptr_t intmax_t uintmax_t
int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t
linux unix i386 near far main arm mips`

// keywords holds the words of keywordText.
func keywords() map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(keywordText) {
		set[w] = true
	}
	return set
}
