package size

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
// brought to an address, what runs the parts of kernels, stubs of clocks and of custom operators'
// kernels.
func (p *pack) application(work string) (files []string, err error) {
	write := func(name, text string) {
		path := filepath.Join(work, name)
		err = errors.Join(err, os.WriteFile(path, []byte(text), 0o666))
		files = append(files, path)
	}
	text, states := "", ""
	for _, u := range p.units {
		text += fmt.Sprintf("#include \"%s.h\"\n", u.name)
		if strings.Contains(u.header, "} "+u.name+"_state;") {
			states += fmt.Sprintf(" + sizeof(%s_state)", u.name)
		}
		if _, err := os.Stat(filepath.Join(p.dir, u.name+"_pal.h")); err == nil {
			text += fmt.Sprintf(`#include "%[1]s_pal.h"
void %[1]s_parallel_for(void (*body)(void *arguments, int32_t part), void *arguments, int32_t parts)
{
    int32_t i;
    for (i = 0; i < parts; i++) {
        body(arguments, i);
    }
}
`, u.name)
		}
		if slices.Contains(u.headers, u.name+"_profile") { // where the machine has no clock
			text += fmt.Sprintf("#include \"%[1]s_profile.h\"\n"+
				"__attribute__((weak)) uint32_t %[1]s_profile_clock(void)\n{\n    return 0;\n}\n", u.name)
		}
		if header, err := os.ReadFile(filepath.Join(p.dir, u.name+"_ops.h")); err == nil {
			text += fmt.Sprintf("#include \"%s_ops.h\"\n", u.name) + stubs(string(header))
		}
		if !strings.Contains(u.header, strings.ToUpper(u.name)+"_WEIGHTS_CRC32") {
			continue
		}
		weights := u.name + "_weights"
		data, readError := os.ReadFile(filepath.Join(p.dir, weights+".bin"))
		if errors.Is(readError, fs.ErrNotExist) {
			return nil, &FolderError{fmt.Sprintf("%s has no %s.bin", p.dir, weights)}
		}
		err = errors.Join(err, readError, os.WriteFile(filepath.Join(work, weights+".bin"), data, 0o666))
		write(fmt.Sprintf("%s_%s.S", application, weights), fmt.Sprintf(
			"    .section .rodata.%[1]s, \"a\", %%progbits\n"+
				"    .balign 16\n    .global %[1]s\n    .type %[1]s, %%object\n    .size %[1]s, "+
				"%[2]d\n%[1]s:\n    .incbin \"%[1]s.bin\"\n",
			weights, len(data)))
	}
	if states != "" {
		text += fmt.Sprintf("extern const unsigned char %[1]s[0%[2]s];\n"+
			"const unsigned char %[1]s[0%[2]s] = {0};\n", stateSize, states)
	}
	write(application+".c", text+runtimeText)
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

// arena is the bytes of arena that the package's header asks for, in all banks.
func (p *pack) arena() (sum int64) {
	macros := regexp.MustCompile(`(?m)^#define ` + regexp.QuoteMeta(strings.ToUpper(p.name)) +
		`_ARENA_(?:\w+_)?SIZE (\d+)u`)
	for _, m := range macros.FindAllStringSubmatch(p.units[0].header, -1) {
		n, _ := strconv.ParseInt(m[1], 10, 64)
		sum += n
	}
	return sum
}

// stateOf returns the bytes of state structs, as the application's object has it.
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
	var sources []string
	for _, u := range p.units {
		target = target.With("-D" + strings.ToUpper(u.name) + "_CODE_SECTION=")
		for _, source := range u.sources {
			if strings.HasSuffix(source, ".c") && !strings.HasSuffix(source, "_weights.c") {
				sources = append(sources, source)
			}
		}
	}
	objects, err := target.Compile(ctx, dir, sources...)
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
	graph, err := toolchain.ReadCallGraph(frames, append(objects, constants...)...)
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
