// Package c holds the C text that is emitted as it stands, tuned kernels above
// all. A printer fills in a kernel's integers and its epilogue.
package c

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/etgen/etgen/templates/expand"
)

// Kernel is what the template of a tuned kernel, NAME.c.tmpl, is executed with. The
// template is the function's body; its printer writes the head, in which the result is
// called y, operands and packed constants have the names that the kernel gives them, and
// scratch is "void *scratch". The integers that it reads have the names of the fields of
// the kernel's descriptor; WithIntegers declares them.
type Kernel struct {
	// Prefix is that of the package, which stands before the names of functions, types and
	// macros that templates declare.
	Prefix string
	Index  string           // C type of integers, signed: "int32_t"
	Known  map[string]int64 // fields that are the same number in all calls
	// Rows and Cols are the register tile; Vector asks for vector registers
	// where the C compiler has them: then it sets the rows.
	Rows, Cols int
	Vector     bool
	// Lanes are those of the machine's vectors of float32; 0: the compiler decides.
	Lanes int
	// Omits, if not nil, reports whether no compiler for the machine defines a macro.
	Omits func(macro string) bool
	// Scalar says that the machine has no products of two pairs of 16-bit integers; else
	// the compiler decides.
	Scalar bool
	// MVE says that the machine has these vectors: <arm_mve.h> is included.
	MVE bool
	// Mixed says that weights are integers, in texts that both kinds of weights share: Text sets
	// it by the name.
	Mixed bool
	// Low says that most instructions of the machine reach eight registers.
	Low bool
	// Phase is the step of the kernel that the text is to do, of those it names;
	// "" is all of them. A step is done in parts: the integers part and parts
	// say which of how many.
	Phase string
	// Result is the function that makes of a plain result what is stored; none by default.
	Result Result
	// Func returns the name of the C function of a float32 function of
	// kernels/math. Helpers may have it, too.
	Func func(name string) string
	// Used has the names that are known to be used. Text adds those that it prints.
	Used map[string]bool
}

// Result is a function of the result acc, its flat position o in the output, and its
// channel c, which it may be given: Args are acc, o and channel, and names of buffers.
type Result struct {
	Name string // "" if there is none
	Args []string
	// Lanes is the function that stores, from a pointer on, what becomes of a vector of results
	// of channels beside each other, and LanesArgs what it is given besides.
	Lanes     string
	LanesArgs []string
	// Bytes is the function that does so for rows of BYTES_LANES plain results, one row or
	// BYTES_ROWS of them, and BytesArgs what it is given besides: acc is the first row, o where it
	// is stored, apart and next how far the others are apart. BytesOnce says that it may read where
	// it has stored before.
	Bytes     string
	BytesArgs []string
	BytesOnce bool
	// Read are arguments that are elements of buffers at the channel.
	Read []Read
}

// Read is an argument Arg that is the element of Buffer, of a C type, at the channel.
type Read struct{ Arg, Type, Buffer string }

// Results stores, in channel c and at position at, what becomes of the plain result acc: in
// loops, the outer one first, of which each is "i < n", or "int i < n" where n is small. Acc
// and c are simple operands of function calls; an acc may only be used once.
func (k *Kernel) Results(acc, at, c string, loops ...string) string {
	text := ""
	values := map[string]string{"acc": acc, "o": "o", "channel": c}
	for _, r := range k.Result.Read {
		values[r.Arg] = r.Buffer + "[" + c + "]"
	}
	// What only the outer loops decide is read once for the inner one.
	apart := len(loops) > 1 && !uses(c, loops[len(loops)-1])
	for i, loop := range loops {
		if apart && i == len(loops)-1 {
			for _, r := range k.Result.Read {
				text += fmt.Sprintf("const %s %s = %s;\n", r.Type, r.Arg, values[r.Arg])
				delete(values, r.Arg)
			}
		}
		typ, condition := k.Index, strings.TrimPrefix(loop, "int ")
		if condition != loop {
			typ = "int"
		}
		name, _, _ := strings.Cut(condition, " ")
		text += fmt.Sprintf("for (%s %s = 0; %s; %s++) {\n", typ, name, condition, name)
	}
	if name := k.Result.Name; name != "" {
		acc = name + "(" + strings.Join(given(k.Result.Args, values), ", ") + ")"
	}
	return k.Say(fmt.Sprintf("%sconst %s o = %s;\ny[o] = %s;%s", text, k.Index, at, acc,
		strings.Repeat("\n}", len(loops))))
}

// Neighbours stores what becomes of the plain results of count channels beside each other, in rows
// over which a loop "r < n" or "int r < n" goes, none if it is "": as many at once as a vector has
// where they are bytes. Acc, at and channel are as of [Kernel.Results], of the channel c. Rows of
// plain results are apart from each other, those in y next. In y channels are stride apart, a
// field; "" is 1.
func (k *Kernel) Neighbours(acc, at, channel, rows, apart, next, count, stride string) string {
	if k.Result.Bytes == "" || stride != "" && !k.One(stride) {
		loops := slices.DeleteFunc([]string{rows, "c < " + count}, func(l string) bool { return l == "" })
		return k.Results(acc, at, channel, loops...)
	}
	// The same channels of all rows, one after the other: what is read of channels stays in
	// registers.
	stored := fmt.Sprintf("const %s whole = %s - %[2]s %% BYTES_LANES;\n"+
		"for (%[1]s c = 0; c < whole; c += BYTES_LANES) {\n", k.Index, count)
	begin, end := "", ""
	if rows == "" {
		stored += k.bytes("1", acc, "0", at, "0", channel)
	} else {
		condition := strings.TrimPrefix(rows, "int ")
		name, bound, _ := strings.Cut(condition, " < ")
		begin, end = fmt.Sprintf("for (%s %s = 0; %s; %[2]s++) {\n", k.Index, name, condition), "\n}"
		stored += fmt.Sprintf(
			"for (%[1]s %[2]s = 0; %[3]s - %[2]s >= BYTES_ROWS; %[2]s += BYTES_ROWS) {\n"+
				"%[4]s}\nfor (%[1]s left = %[3]s %% BYTES_ROWS; left > 0; left--) {\n"+
				"const %[1]s %[2]s = %[3]s - left;\n%[5]s}\n", k.Index, name, bound,
			k.bytes("BYTES_ROWS", acc, apart, at, next, channel),
			k.bytes("1", acc, apart, at, next, channel))
	}
	return k.Say(
		fmt.Sprintf("#if defined(BYTES_LANES)\n%[2]s}\n#else\nconst %[1]s whole = 0;\n#endif\n"+
			"%[3]sfor (%[1]s c = whole; c < %[4]s; c++) {\n", k.Index, stored, begin, count)) +
		k.Results(acc, at, channel) + "\n}" + end
}

// bytes stores so many vectors of results, which are so far apart from row to row.
func (k *Kernel) bytes(rows, acc, apart, at, next, channel string) string {
	args := append([]string{rows, "y"}, given(k.Result.BytesArgs, map[string]string{"acc": "&" + acc,
		"apart": apart, "o": "o", "next": next, "channel": channel})...)
	return fmt.Sprintf("const %s o = %s;\n%s(%s);\n", k.Index, at, k.Result.Bytes,
		strings.Join(args, ", "))
}

// Denser begins what [Kernel.Beside] ends: it says whether results of tiles lie beside each other
// whose channels alone fill no vectors, and how far rows of sums are apart. Then what is read of
// channels is there for each of span rows, some tiles of them. A tile has channels, a field, at
// most block of them, and at most so many rows; of other results there are most rows.
func (k *Kernel) Denser(channels, rows, block, most string) string {
	plain := fmt.Sprintf("walk.width = %s;\nconst %s span = %s / length * length;", block, k.Index,
		most)
	if !k.dense() {
		return k.Say(plain)
	}
	dense, begin, end := "(out_stride_col == "+channels+") && ("+channels+" < "+block+")", "", ""
	if k.Result.Bytes != "" {
		dense += " && (" + channels + " % BYTES_LANES != 0)"
		begin, end = "#if defined(BYTES_LANES)\n", "\n#else\n"+plain+"\n#endif"
	}
	text := fmt.Sprintf("%[2]sconst bool dense = %[3]s;\nwalk.width = dense ? %[7]s : %[5]s;\n"+
		"const %[1]s span = dense ? ((%[4]s - 1) * %[5]s / %[7]s + 1) / length * length : "+
		"%[6]s / length * length;",
		k.Index, begin, dense, rows, block, most, channels)
	first, next := "", ""
	for _, r := range k.Result.Read {
		tile := ofTile(r.Buffer)
		text += fmt.Sprintf("\n%s %s[%s * %s];", r.Type, tile, rows, block)
		first += fmt.Sprintf("%s[c] = %s[c];\n", tile, r.Buffer)
		next += fmt.Sprintf("%s[n + c] = %[1]s[c];\n", tile)
	}
	if first != "" { // doubled each time: few long copies, not a short one for each row
		text += fmt.Sprintf("\nfor (%[1]s c = 0; dense && (c < %[2]s); c++) {\n%[3]s}\n"+
			"const %[1]s filled = ((span < tiles * length) ? span : tiles * length) * %[2]s;\n"+
			"for (%[1]s n = %[2]s; dense && (n < filled); n *= 2) {\n"+
			"for (%[1]s c = 0; (c < n) && (n + c < filled); c++) {\n%[4]s}\n}",
			k.Index, channels, first, next)
	}
	return k.Say("/* Results whose channels fill no vectors are stored as those of one row. */\n" +
		text + end)
}

// dense reports whether results may be stored as those of one row, which has more channels, and
// where bytes fill no vector the last ones are stored twice.
func (k *Kernel) dense() bool {
	return k.One("out_stride_channel") && k.Result.Name != "" &&
		!slices.Contains(k.Result.Args, "channel") && !k.Result.BytesOnce
}

// ofTile names what there is of a buffer for each result of a tile.
func ofTile(buffer string) string { return buffer + "_tile" }

// Beside stores what becomes of the plain results of a tile as [Kernel.Neighbours] does, or of all
// its rows as of one.
func (k *Kernel) Beside(acc, at, channel, rows, apart, next, count string) string {
	text := k.Neighbours(acc, at, channel, rows, apart, next, count, "out_stride_channel")
	if !k.dense() {
		return text
	}
	of := *k
	of.Result.Read, of.Result.BytesArgs = slices.Clone(k.Result.Read), slices.Clone(k.Result.BytesArgs)
	for i, r := range of.Result.Read {
		of.Result.Read[i].Buffer = ofTile(r.Buffer)
		for j, a := range of.Result.BytesArgs {
			if a == r.Buffer {
				of.Result.BytesArgs[j] = ofTile(a)
			}
		}
	}
	if k.Result.Bytes == "" {
		return k.Say(fmt.Sprintf("if (dense) {\nconst %s r = 0;\n", k.Index)) +
			of.Results(acc, at, "c", "c < rows * "+count) + k.Say("\n} else {\n") + text + "\n}"
	}
	// Where channels divide the lanes, what is read of them is the same for all vectors.
	return k.Say(
		fmt.Sprintf("#if defined(BYTES_LANES)\nconst %[1]s all = rows * %[2]s;\n%[1]s n = 0;\n"+
			"const bool alike = dense && (BYTES_LANES %% %[2]s == 0);\n"+
			"for (const %[1]s r = 0; alike && (all - n >= BYTES_ROWS * BYTES_LANES); n += BYTES_ROWS * "+
			"BYTES_LANES) {\n"+
			"const %[1]s c = n;\n%[3]s}\n"+
			"for (const %[1]s r = 0; dense && (all >= BYTES_LANES) && (n < all); n += BYTES_LANES) {\n"+
			"const %[1]s c = (all - n < BYTES_LANES) ? all - BYTES_LANES : n;\n%[4]s}\n"+
			"if (!dense || (all < BYTES_LANES))\n#endif\n{\n", k.Index, count,
			of.bytes("BYTES_ROWS", acc, "BYTES_LANES", at, "BYTES_LANES", "c"),
			of.bytes("1", acc, "0", at, "0", "c"))) +
		text + "\n}"
}

// uses reports whether an expression has the variable of a loop of Results.
func uses(c, loop string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(loop, "int "), " ")
	return slices.Contains(strings.FieldsFunc(c, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), name)
}

// given are the arguments of a function of results, by the values that some have.
func given(args []string, values map[string]string) (list []string) {
	for _, a := range args {
		list = append(list, cmp.Or(values[a], a))
	}
	return list
}

// FourResults stores what becomes of sums, a vector of plain results in channels from c on, of
// which there are as many as the field count says, behind those of the groups before, which begin
// with group. In y, the one of channel 0 of all is at position row.
func (k *Kernel) FourResults(sums, row, group, c, count string) string {
	stride, channel := "out_stride_channel", group+c
	store, lanes := k.stored("s32", sums, row, channel)
	if lanes && k.Multiple(count, 4) && k.One(stride) {
		return k.Say(store)
	}
	begin, end := "", ""
	if lanes {
		begin = fmt.Sprintf("if ((%s == 1) && (%s - %s >= 4)) {\n%s\n} else {\n", stride, count, c,
			store)
		end = "\n}"
	}
	begin += fmt.Sprintf(
		"int32_t sum[4];\nvstrwq_s32(sum, %s);\nconst %s some = (%s - %s < 4) ? %s - %s : 4;\n",
		sums, k.Index, count, c, count, c)
	each := channel + " + k"
	return k.Say(begin) + k.Results("sum[k]", row+" + ("+each+") * "+stride, each, "k < some") + end
}

// stored stores what becomes of a vector of plain results in channels from c on, at position row of
// channel 0, and reports whether there is a function for that. Suffix is that of the type of
// vector.
func (k *Kernel) stored(suffix, vector, row, c string) (text string, ok bool) {
	text = fmt.Sprintf("const %s o = %s + %s;\n", k.Index, row, c)
	if name := k.Result.Lanes; name != "" {
		return text + name + "(" + strings.Join(append([]string{"y + o"}, given(k.Result.LanesArgs,
			map[string]string{"acc": vector, "o": "o", "channel": c})...), ", ") + ");", true
	}
	return text + "vstrwq_" + suffix + "(y + o, " + vector + ");", k.Result.Name == ""
}

// FourFloats stores what becomes of four plain results, of float32, likewise. Channels beside each
// other lie so in y.
func (k *Kernel) FourFloats(vector, row, c string) string {
	if text, ok := k.stored("f32", vector, row, c); ok {
		return k.Say(text)
	}
	return k.Say("float sum[4];\nvstrwq_f32(sum, "+vector+");\n") + k.Results("sum[k]",
		row+" + "+c+" + k", c+" + k", "int k < 4")
}

// WithIntegers returns a text with declarations of integers where its body begins:
// behind a pragma, which has to come first.
func (k *Kernel) WithIntegers(text string, declarations []string) string {
	open, contract := "{\n", "    "+PrefixedName("TILE_CONTRACT", k.Prefix)+"\n"
	if len(declarations) == 0 {
		return text
	}
	rest := strings.TrimPrefix(text, open)
	begin := open
	if behind, ok := strings.CutPrefix(rest, contract); ok {
		begin, rest = open+contract, behind
	}
	return begin + "    " + strings.Join(declarations, "\n    ") + "\n" + rest
}

// Uses reports whether a macro is used by what is printed behind its definition.
func (k *Kernel) Uses(macro string) bool { return k.Used[macro] }

// May reports whether vectors may have one of so many lanes; without any, whether the
// compiler decides how many they have.
func (k *Kernel) May(lanes ...int) bool { return k.Lanes == 0 || slices.Contains(lanes, k.Lanes) }

// Pairs reports whether scalar tiles have so many rows that two of what is left over are a tile,
// too, and the machine so many registers that single rows are worth longer loops.
func (k *Kernel) Pairs() bool { return !k.Vector && k.Rows > 4 }

// Lines reports whether there are to be lines for compilers that define a macro.
func (k *Kernel) Lines(macro string) bool { return k.Omits == nil || !k.Omits(macro) }

// Ask returns a line by which the compiler decides, none if the machine does.
func (k *Kernel) Ask(directive string) string {
	if k.May() {
		return "\n" + k.Say(directive)
	}
	return ""
}

// Does reports whether the text is to do a step of the kernel.
func (k *Kernel) Does(phase string) bool { return k.Phase == "" || k.Phase == phase }

// From and To bound a loop over n steps: all of them, or a part's share.
func (k *Kernel) From(n string) string {
	if k.Phase == "" {
		return "0"
	}
	return k.Say(n + " * part / parts")
}

// To is the end of what begins at From.
func (k *Kernel) To(n string) string {
	if k.Phase == "" {
		return k.Say(n)
	}
	return k.Say(n + " * (part + 1) / parts")
}

// Even is whether parts of n are of about the same size.
func (k *Kernel) Even(n string) string {
	return k.Say("((" + n + " % parts == 0) || (" + n + " > 4 * parts))")
}

// Is reports whether a field is always n.
func (k *Kernel) Is(name string, n int64) bool {
	x, ok := k.Known[name]
	return ok && x == n
}

// One reports whether a field is always 1.
func (k *Kernel) One(name string) bool { return k.Is(name, 1) }

// Each begins a loop over the numbers below a field, unless that is always 1.
func (k *Kernel) Each(name, field string) string {
	if k.One(field) {
		return ""
	}
	return k.Say(fmt.Sprintf("\nfor (%[1]s %[2]s = 0; %[2]s < %[3]s; %[2]s++) {", k.Index, name,
		field))
}

// Of begins a position: with that of number name of the things, so far apart, that a field
// counts, unless there is always one.
func (k *Kernel) Of(name, field, apart string) string {
	if k.One(field) {
		return ""
	}
	return k.Say(name + " * " + apart + " + ")
}

// Plus ends a position as Of begins one.
func (k *Kernel) Plus(name, field, apart string) string {
	if k.One(field) {
		return ""
	}
	return k.Say(" + " + name + " * " + apart)
}

// Done ends the loop of Each.
func (k *Kernel) Done(field string) string {
	if k.One(field) {
		return ""
	}
	return "\n}"
}

// Multiple reports whether a field is always the same multiple of n.
func (k *Kernel) Multiple(name string, n int64) bool {
	x, ok := k.Known[name]
	return ok && x%n == 0
}

// Few reports whether a field is always the same number of at most 4: compilers
// unroll a loop so short, and see what its steps do together.
func (k *Kernel) Few(name string) bool {
	x, ok := k.Known[name]
	return ok && x <= 4
}

// Text executes the template called name: a tuned kernel's, or that of a helper, which only
// needs the tile and Index. With vectors it is NAME_vector if there is one: a text for
// vectors has nothing in common with the one for numbers.
func Text(name string, k *Kernel) (string, error) {
	lib := library()
	if k.Used == nil {
		k.Used = map[string]bool{}
	}
	k.Mixed = strings.HasPrefix(name, "mixed_")
	text, err := lib.templates.Execute(lib.file(name, k.Vector), k, expand.Functions{
		"Ask": k.Ask, "Beside": k.Beside, "Denser": k.Denser, "Does": k.Does, "Done": k.Done,
		"Each": k.Each, "Emit": k.Emit, "Even": k.Even,
		"Few": k.Few, "FourFloats": k.FourFloats, "FourResults": k.FourResults, "From": k.From,
		"Is": k.Is, "Lines": k.Lines, "May": k.May, "Multiple": k.Multiple,
		"Neighbours": k.Neighbours, "Of": k.Of, "One": k.One, "Pairs": k.Pairs, "Plus": k.Plus,
		"Results": k.Results, "Say": k.Say, "To": k.To, "Uses": k.Uses,
	})
	if err != nil {
		return "", fmt.Errorf("text of %s: %w", name, err)
	}
	return indent(joined(text)), nil
}

// operators are those that a line may begin with that goes on from the line before.
var operators = []string{"?", ":", "+", "-", "*", "/", "%", "<<", ">>", "<", ">", "<=", ">=", "==",
	"!=", "&", "^", "|", "&&", "||", "="}

// joined joins the lines of statements, as printers break lines where they are too wide. Literals,
// of assembly, stay on lines of their own, and so do directives and comments.
func joined(text string) string {
	var b strings.Builder
	comment := false
	open, before := 0, "" // parentheses; the line before
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		operator, _, _ := strings.Cut(line, " ")
		goesOn := open > 0 || slices.Contains(operators, operator) || strings.HasSuffix(before, " =")
		fixed := comment || strings.HasPrefix(line, "#") || strings.HasPrefix(before, "#") ||
			strings.HasSuffix(before, "\\") || strings.ContainsAny(line+before, "\"\\") ||
			strings.HasPrefix(line, "/*")
		switch {
		case b.Len() == 0:
		case !goesOn || fixed:
			b.WriteString("\n")
		case !strings.HasSuffix(before, "("):
			b.WriteString(" ")
		}
		b.WriteString(line)
		directive := strings.HasPrefix(line, "#") || strings.HasSuffix(before, "\\")
		comment = (comment || strings.Contains(line, "/*")) && !strings.HasSuffix(line, "*/")
		open += strings.Count(line, "(") - strings.Count(line, ")")
		if comment || directive || line == "" || strings.ContainsAny(line[len(line)-1:], "{}/") ||
			strings.HasSuffix(line, ";") && !strings.HasPrefix(line, "for (") {
			open = 0
		}
		before = line
	}
	return b.String()
}

// indent indents text by the depth of its braces, so that a template may leave loops out, and what
// goes on from the line before by one level more. Directives stand at the margin, the further lines
// of a comment below its first word.
func indent(text string) string {
	var b strings.Builder
	depth, comment := 0, false
	open, before := 0, "" // parentheses; the line before
	margin := 0           // the depth at which a directive stands
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		in := depth // never negative: the text's braces are balanced
		if strings.HasPrefix(line, "}") {
			in--
		}
		directive := strings.HasSuffix(before, "\\")
		goesOn := directive || open > 0 || strings.HasPrefix(line, "? ") || strings.HasPrefix(line, ": ")
		if !directive {
			margin = 0
		}
		if strings.HasPrefix(line, "#") {
			margin = depth
		}
		switch {
		case line == "":
		case comment:
			b.WriteString(strings.Repeat("    ", depth) + "   ")
		case goesOn:
			b.WriteString(strings.Repeat("    ", in-margin+1))
		case !strings.HasPrefix(line, "#"):
			b.WriteString(strings.Repeat("    ", in))
		}
		b.WriteString(line + "\n")
		depth += strings.Count(line, "{") - strings.Count(line, "}")
		comment = (comment || strings.Contains(line, "/*")) && !strings.HasSuffix(line, "*/")
		open += strings.Count(line, "(") - strings.Count(line, ")")
		if comment || line == "" || strings.ContainsAny(line[len(line)-1:], ";{}/") ||
			strings.HasPrefix(line, "#") {
			open = 0
		}
		before = line
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
