package c

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/foreign"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/loop"
	"github.com/etgen/etgen/lower/native"
)

// Delegates are run by functions of the application, or of a vendor's driver, which
// NAME_delegate.h declares: two for each backend, called as the backend is, without the package's
// prefix. NAME.c has weak ones that fail, and a constant for each delegate that tells its payload.
// The payloads are among the weights.

// interfaceTop is how the headers begin that the application implements, behind their notes.
const interfaceTop = headerBegin + `
#ifndef ETGEN_TENSOR
#define ETGEN_TENSOR

/* The dtypes have PyTorch's numbers. */
typedef enum {
    ETGEN_UINT8 = 0,
    ETGEN_INT8 = 1,
    ETGEN_INT16 = 2,
    ETGEN_INT32 = 3,
    ETGEN_INT64 = 4,
    ETGEN_FLOAT16 = 5, /* its bits in a uint16_t */
    ETGEN_FLOAT32 = 6,
    ETGEN_FLOAT64 = 7,
    ETGEN_BOOL = 11,     /* a byte, 0 or 1 */
    ETGEN_BFLOAT16 = 15, /* its bits in a uint16_t */
    ETGEN_UINT16 = 27,
    ETGEN_UINT32 = 28,
    ETGEN_UINT64 = 29
} etgen_dtype;

/* What a function reads. */
typedef struct {
    const void *data;
    const int32_t *sizes;   /* rank of them */
    const int32_t *strides; /* in elements */
    int32_t rank;
    etgen_dtype dtype;
} etgen_tensor;

/* What a function writes: a result, or an argument, which holds its value before the call. */
typedef struct {
    void *data;
    const int32_t *sizes;
    const int32_t *strides;
    int32_t rank;
    etgen_dtype dtype;
} etgen_out;

#endif`

// delegateTypes are the types of NAME_delegate.h.
const delegateTypes = `
#ifndef ETGEN_DELEGATE
#define ETGEN_DELEGATE

/* An option that the backend was given, or data beside the payload. */
typedef struct {
    const char *key;
    const void *data; /* 16-byte-aligned */
    size_t size;      /* bytes */
} etgen_blob;

/* A part of a model that a backend runs. These are constants: a driver that keeps something for each
   knows it by its address, or by its index in the table that it is in. */
typedef struct {
    const char *name;
    const char *backend;
    size_t index;
    const void *processed; /* the payload, 16-byte-aligned */
    size_t processed_size; /* bytes */
    const etgen_blob *specs;
    size_t specs_count;
    const etgen_blob *named;
    size_t named_count;
} etgen_delegate;

#endif`

// nameDelegates names the functions of the backends.
func (g *gen) nameDelegates() {
	for _, d := range g.p.Delegates {
		if slices.Contains(g.backendOrder, d.Backend) {
			continue
		}
		g.backendOrder = append(g.backendOrder, d.Backend)
		if g.backends[d.Backend] != "" {
			continue // another model's, too
		}
		name := d.Backend.Identifier()
		for _, f := range []string{name + "_init", name + "_execute"} {
			if g.names.Take(f) != f {
				must.Fail("the backend %s is run by the function %s in C, and that name is taken",
					d.Backend.String(), f)
			}
		}
		g.backends[d.Backend] = name
	}
}

// delegateTable is the name of the table of delegates.
func (g *gen) delegateTable() string { return g.prefix + "_delegates" }

const delegateParam = "const etgen_delegate *delegate"

func executePrototype(name string) string {
	return fmt.Sprintf("bool %s_execute(%s, const etgen_tensor *inputs, size_t inputs_count, "+
		"const etgen_out *outputs, size_t outputs_count)", name, delegateParam)
}

// delegateHeader is NAME_delegate.h.
func (g *gen) delegateHeader() string {
	w := &writer{}
	file := g.prefix + "_delegate.h"
	w.remark(append([]string{g.banner(file), ""}, fill(fmt.Sprintf(
		"What runs the parts of the model that other compilers have compiled. The application, or a "+
			"driver, defines these functions; %[1]s.c has weak ones for compilers that know these, of "+
			"which BACKEND_init does nothing and BACKEND_execute fails. %[1]s_delegates_init calls "+
			"BACKEND_init for each delegate, for a driver that prepares something. "+
			"BACKEND_execute runs a delegate: it reads the inputs and writes the outputs, which "+
			"are in the order of the payload's arguments and do not overlap. Both return false if they "+
			"cannot, and then their callers return %[2]s_ERR_DELEGATE. Tensors are dense, with their "+
			"dimensions in the order of memory; a number is a tensor without dimensions. An output whose "+
			"sizes only the backend knows has the most that they may be; its elements lie dense in "+
			"its sizes, which BACKEND_execute writes to an int64 tensor for each such output, behind all "+
			"outputs. A function must not keep pointers to tensors, nor write outside of the elements "+
			"that the sizes tell.",
		g.prefix, g.upper), lineWidth-3)...))
	w.raw(fmt.Sprintf(interfaceTop, g.upper+"_DELEGATE"))
	w.raw(delegateTypes)
	w.blank()
	w.raw("/* All delegates of the model. */")
	w.line("extern const etgen_delegate %s[%d];", g.delegateTable(), len(g.p.Delegates))
	for _, b := range g.backendOrder {
		w.blank()
		w.remark([]string{b.Comment()})
		w.line("bool %s_init(%s);", g.backends[b], delegateParam)
		w.line("%s;", executePrototype(g.backends[b]))
	}
	w.raw(headerEnd)
	return w.b.String()
}

// delegateContract says in NAME.h which delegates there are.
func (g *gen) delegateContract(w *writer) {
	if len(g.p.Delegates) == 0 {
		return
	}
	w.blank()
	lines := fill(fmt.Sprintf("Parts of the model are run by functions that %[1]s_delegate.h "+
		"declares. %[1]s_delegates_init prepares them; call it once before the first call of a method.",
		g.prefix), lineWidth-3)
	for _, d := range g.p.Delegates {
		lines = append(lines, fmt.Sprintf("  %s: %s, payload of %d bytes",
			foreign.Of(d.Name).Comment(), d.Backend.Comment(), len(d.Processed.Data)))
	}
	w.remark(lines)
	w.raw(fmt.Sprintf("#define %s_DELEGATES %du", g.upper, len(g.p.Delegates)))
	w.line("%s_status %[1]s_delegates_init(void);", g.prefix)
}

// delegateDefinitions prints the table of delegates and the functions that stand in for a driver's.
func (g *gen) delegateDefinitions(w *writer) {
	if len(g.p.Delegates) == 0 {
		return
	}
	blob := func(c *native.Const) string {
		return fmt.Sprintf("%s, %du", g.consts[c], len(c.Data))
	}
	blobs := func(name string, list []string) string {
		if len(list) == 0 {
			return "NULL, 0u"
		}
		name = g.names.Take(g.prefix + "_" + codegen.Identifier(name))
		w.blank()
		w.raw(fmt.Sprintf("static const etgen_blob %s[] = {\n    %s\n};", name,
			strings.Join(list, ",\n    ")))
		return fmt.Sprintf("%s, %du", name, len(list))
	}
	var rows []string
	named := map[string]string{} // tables that delegates share
	for i, d := range g.p.Delegates {
		var specs, data []string
		for _, s := range d.Specs {
			specs = append(specs, fmt.Sprintf("{%s, %s}", s.Key.CLiteral(), blob(s.Value)))
		}
		for _, n := range d.Named {
			data = append(data, fmt.Sprintf("{%s, %s}", n.Key.CLiteral(), blob(n.Data)))
		}
		key := strings.Join(data, ",")
		if _, ok := named[key]; !ok {
			named[key] = blobs(d.Name+"_named", data)
		}
		rows = append(rows, fmt.Sprintf("    {%s, %s, %du, %s, %s, %s}",
			foreign.Of(d.Name).CLiteral(), d.Backend.CLiteral(), i, blob(d.Processed),
			blobs(d.Name+"_specs", specs), named[key]))
	}
	w.blank()
	w.raw(fmt.Sprintf("const etgen_delegate %s[%d] = {\n%s\n};", g.delegateTable(), len(rows),
		strings.Join(rows, ",\n")))
	weak := g.upper + "_WEAK"
	w.blank()
	w.raw(fmt.Sprintf(`/* For compilers that know weak functions: what stands in where no driver is linked. */
#if defined(__GNUC__) || defined(__ARMCC_VERSION)
#define %[1]s __attribute__((weak))
#elif defined(__IAR_SYSTEMS_ICC__)
#define %[1]s __weak
#endif
#ifdef %[1]s`, weak))
	for i, b := range g.backendOrder {
		name := g.backends[b]
		if i > 0 {
			w.blank()
		}
		w.raw(fmt.Sprintf("%s bool %s_init(%s)\n{\n    (void)delegate;\n    return true;\n}\n", weak,
			name, delegateParam))
		w.raw(fmt.Sprintf("%s %s\n{", weak, executePrototype(name)))
		w.raw("    (void)delegate;\n    (void)inputs;\n    (void)inputs_count;\n" +
			"    (void)outputs;\n    (void)outputs_count;\n    return false;\n}")
	}
	w.raw("#endif")
	w.blank()
	w.raw(fmt.Sprintf("%s_status %[1]s_delegates_init(void)\n{", g.prefix))
	for i, d := range g.p.Delegates {
		w.raw(fmt.Sprintf("    if (!%s_init(&%s[%d])) {\n        return %s_ERR_DELEGATE;\n    }",
			g.backends[d.Backend], g.delegateTable(), i, g.upper))
	}
	w.raw(fmt.Sprintf("    return %s_OK;\n}", g.upper))
}

// delegate prints the call of a delegate, at the end of a function that returns whether it has
// succeeded.
func (p *printer) delegate(d *native.Delegate, s *loop.Invoke) {
	lists := [2]string{"NULL", "NULL"}
	var counts [2]int
	var values [2][]string
	for i, a := range s.Args[1:] {
		k := 0
		if a.Kind == loop.WrittenTensor {
			k = 1
		}
		value := ""
		switch name := fmt.Sprintf("arg%d", i); a.Kind {
		case loop.ReadTensor, loop.WrittenTensor:
			value = p.tensorValue(name, a)
		default:
			value = p.numberTensor(name, a)
		}
		values[k] = append(values[k], value)
		counts[k]++
	}
	for k, typ := range []string{"etgen_tensor", "etgen_out"} {
		if counts[k] == 0 {
			continue
		}
		lists[k] = p.scope.Take([]string{"inputs", "outputs"}[k])
		p.w.line("const %s %s[] = {%s};", typ, lists[k], strings.Join(values[k], ", "))
	}
	p.w.line("return %s_execute(&%s[%d], %s, %du, %s, %du);", p.g.backends[d.Backend],
		p.g.delegateTable(), slices.Index(p.g.p.Delegates, d), lists[0], counts[0], lists[1], counts[1])
}

// numberTensor prints a local with a number, and returns what initialises its description.
func (p *printer) numberTensor(name string, a loop.Actual) string {
	d, ok := a.NumberType()
	if !ok {
		must.Fail("a delegate's argument is %s, which C does not pass", ir.ArgString(a.Const))
	}
	local := p.scope.Take(name)
	value := p.actual(a)
	if d == ir.Bool && a.Kind == loop.Constant {
		value = map[bool]string{false: "0", true: "1"}[bool(a.Const.(ir.BoolArg))]
	}
	p.w.line("const %s %s = %s;", storageOf(d), local, value)
	return fmt.Sprintf("{&%s, NULL, NULL, 0, %s}", local, p.g.dtypeMacro(d))
}

// callsDelegate reports whether a kernel calls a delegate.
func (g *gen) callsDelegate(k *native.Kernel) bool { return len(g.p.DelegatesOf(k)) > 0 }

// failure is the status of a method in which a kernel has failed.
func (g *gen) failure(k *native.Kernel) string {
	if g.callsDelegate(k) {
		return "ERR_DELEGATE"
	}
	return "ERR_OPERATOR"
}

// failsOtherwise reports whether a kernel may fail that calls no delegate.
func (g *gen) failsOtherwise() bool {
	return slices.ContainsFunc(g.p.Kernels, func(k *native.Kernel) bool {
		return k.Fails() && !g.callsDelegate(k)
	})
}
