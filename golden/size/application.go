package size

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/etgen/etgen/golden/toolchain"
)

// What an application has besides a package lies in files of this name. Of what is linked, only
// weights are counted.
const application = "etgen_application"

// stateSize is a symbol as large as the state; nothing refers to it, so it is not linked.
const stateSize = "etgen_state_size"

// runtimeText is what clang calls besides the functions that gcc does.
const runtimeText = `#if defined(__clang__) && defined(__ARM_EABI__)
void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
#define RUNTIME(suffix) \
    void __aeabi_memcpy##suffix(void *to, const void *from, size_t n); \
    void __aeabi_memcpy##suffix(void *to, const void *from, size_t n) { memcpy(to, from, n); } \
    void __aeabi_memmove##suffix(void *to, const void *from, size_t n); \
    void __aeabi_memmove##suffix(void *to, const void *from, size_t n) { memmove(to, from, n); } \
    void __aeabi_memset##suffix(void *to, size_t n, int c); \
    void __aeabi_memset##suffix(void *to, size_t n, int c) { memset(to, c, n); } \
    void __aeabi_memclr##suffix(void *to, size_t n); \
    void __aeabi_memclr##suffix(void *to, size_t n) { memset(to, 0, n); }
RUNTIME()
RUNTIME(4)
RUNTIME(8)
#endif
`

// application writes what an application would have, and returns its files: weights that are
// brought to an address, what runs the parts of kernels, stubs of custom operators' kernels.
func (p *pack) application(work string) (files []string, err error) {
	text := fmt.Sprintf("#include \"%s.h\"\n", p.name) + runtimeText
	if strings.Contains(p.header, "} "+p.name+"_state;") {
		text += fmt.Sprintf("extern const unsigned char %[1]s[sizeof(%[2]s_state)];\n"+
			"const unsigned char %[1]s[sizeof(%[2]s_state)] = {0};\n", stateSize, p.name)
	}
	if _, err := os.Stat(filepath.Join(p.dir, p.name+"_pal.h")); err == nil {
		text += fmt.Sprintf(`#include "%[1]s_pal.h"
void %[1]s_parallel_for(void (*body)(void *arguments, int32_t part), void *arguments, int32_t parts)
{
    int32_t i;
    for (i = 0; i < parts; i++) {
        body(arguments, i);
    }
}
`, p.name)
	}
	if header, err := os.ReadFile(filepath.Join(p.dir, p.name+"_ops.h")); err == nil {
		text += fmt.Sprintf("#include \"%s_ops.h\"\n", p.name) + stubs(string(header))
	}
	write := func(name, text string) {
		path := filepath.Join(work, name)
		err = errors.Join(err, os.WriteFile(path, []byte(text), 0o666))
		files = append(files, path)
	}
	write(application+".c", text)
	if !strings.Contains(p.header, strings.ToUpper(p.name)+"_WEIGHTS_CRC32") {
		return files, err
	}
	bin := p.name + "_weights.bin"
	data, readError := os.ReadFile(filepath.Join(p.dir, bin))
	if errors.Is(readError, fs.ErrNotExist) {
		return nil, &FolderError{fmt.Sprintf("%s has no %s", p.dir, bin)}
	}
	err = errors.Join(err, readError, os.WriteFile(filepath.Join(work, bin), data, 0o666))
	write(application+"_weights.S", fmt.Sprintf("    .section .rodata.%[1]s, \"a\", %%progbits\n"+
		"    .balign 16\n    .global %[1]s\n    .type %[1]s, %%object\n    .size %[1]s, %[2]d\n%[1]s:\n    .incbin \"%[1]s.bin\"\n",
		p.name+"_weights", len(data)))
	return files, err
}

// customKernel is the declaration of a custom operator's kernel in NAME_ops.h.
var customKernel = regexp.MustCompile(`(?m)^bool (\w+)\(([^()]*)\);`)

// stubs are functions of a few bytes that stand in for the kernels of custom operators.
func stubs(header string) string {
	var b strings.Builder
	for _, m := range customKernel.FindAllStringSubmatch(header, -1) {
		fmt.Fprintf(&b, "bool %s(%s)\n{\n", m[1], m[2])
		for param := range strings.SplitSeq(m[2], ",") {
			name := param[strings.LastIndexAny(param, " *\n")+1:]
			fmt.Fprintf(&b, "    (void)%s;\n", name)
		}
		b.WriteString("    return true;\n}\n")
	}
	return b.String()
}

// arena is the bytes of arena that the header asks for, in all banks.
func (p *pack) arena() (sum int64) {
	macros := regexp.MustCompile(`(?m)^#define ` + regexp.QuoteMeta(strings.ToUpper(p.name)) +
		`_ARENA_(?:\w+_)?SIZE (\d+)u`)
	for _, m := range macros.FindAllStringSubmatch(p.header, -1) {
		n, _ := strconv.ParseInt(m[1], 10, 64)
		sum += n
	}
	return sum
}

// stateOf returns the bytes of the state struct, as the application's object has it.
func stateOf(work string) (int64, error) {
	image, err := toolchain.ReadELF(filepath.Join(work, application+".o"))
	if err != nil {
		return 0, err
	}
	for _, s := range image.Symbols {
		if s.Name == stateSize {
			return int64(s.Size), nil
		}
	}
	return 0, nil
}

// stack returns how deep calls go. It wants a section for each function, so those that
// --section asks for are left out.
func (p *pack) stack(ctx context.Context, target toolchain.Target, work string,
	entries []string) (toolchain.Stack, error) {
	dir, err := os.MkdirTemp(work, "stack")
	if err != nil {
		return toolchain.Stack{}, err
	}
	target = target.With("-D" + strings.ToUpper(p.name) + "_CODE_SECTION=")
	objects, err := target.Compile(ctx, dir, filepath.Join(p.dir, p.name+".c"))
	if err != nil {
		return toolchain.Stack{}, err
	}
	objects = append(objects, filepath.Join(work, "mem.o"),
		filepath.Join(work, application+".o"))
	frames, err := toolchain.StackFrames(objects...)
	if err != nil {
		return toolchain.Stack{}, err
	}
	if len(frames) == 0 {
		return toolchain.Stack{}, &toolchain.MissingError{Err: fmt.Errorf(
			"%s tells no stack usage: it has no -fstack-usage", target.Compiler)}
	}
	constants, err := filepath.Glob(filepath.Join(work, "*_weights.o"))
	if err != nil {
		return toolchain.Stack{}, err
	}
	graph, err := toolchain.ReadCallGraph(append(objects, constants...)...)
	if err != nil {
		return toolchain.Stack{}, err
	}
	return graph.Stack(frames, entries...), nil
}

// stack notes how deep calls go.
func (s *Size) stack(x toolchain.Stack) {
	s.Stack, s.Chain, s.Library, s.Unbounded = int64(x.Bytes), x.Chain, x.Unknown, x.Unbounded
	if len(x.Unbounded) > 0 {
		s.Stack = -1
	}
}
