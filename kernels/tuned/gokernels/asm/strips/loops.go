package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"

	"github.com/etgen/etgen/ir"
)

// elementwise is a family of primitives: Add, AddScalar and ScalarSub are three forms of
// two of them.
type elementwise struct {
	name, types string // types are those that the elements may have
	body        string // element i of the result; A and B stand for the operands
	doc         string // "" if the body says it
	forms       string // of vectors and scalars: "vv vs sv"
}

var families = []elementwise{
	{"Add", "Numeric", "A + B", "", "vv vs"},
	{"Sub", "Numeric", "A - B", "", "vv vs sv"},
	{"Mul", "Numeric", "A * B", "", "vv vs"},
	{"Div", "Float", "A / B", "", "vv vs sv"},
	{"Mod", "Float", "T(math.Mod(float64(A), float64(B)))",
		"to the remainder of A / B, with the sign of A", "vv vs"},
	{"Max", "Numeric", "Greater(A, B)", "= A > B ? A : B", "vv vs sv"},
	{"Min", "Numeric", "Lesser(A, B)", "= A < B ? A : B", "vv vs sv"},
	{"Eq", "Numeric bool", "A == B", "", "vv vs"},
	{"Ne", "Numeric bool", "A != B", "", "vv vs"},
	{"Lt", "Numeric bool", "A < B", "", "vv vs"},
	{"Le", "Numeric bool", "A <= B", "", "vv vs"},
	{"Gt", "Numeric bool", "A > B", "", "vs"},
	{"Ge", "Numeric bool", "A >= B", "", "vs"},
	{"BitAnd", "Integer", "A & B", "", "vv vs"},
	{"BitOr", "Integer", "A | B", "", "vv vs"},
	{"BitXor", "Integer", "A ^ B", "", "vv vs"},
	{"Shl", "Integer", "A << uint(B)", "= A << B", "vv"},
	{"Shr", "Integer", "A >> uint(B)", "= A >> B: arithmetic if a is signed", "vv"},
	{"Neg", "Numeric", "-A", "", "v"},
	{"AbsFloat", "Float", "T(math.Abs(float64(A)))", "= |A|", "v"},
	{"AbsInt", "Integer", "Abs(A)", "= |A|, wrapping around", "v"},
	{"Sqrt", "Float", "T(math.Sqrt(float64(A)))", "= √A", "v"},
	{"Floor", "Float", "T(math.Floor(float64(A)))", "to A rounded down", "v"},
	{"Ceil", "Float", "T(math.Ceil(float64(A)))", "to A rounded up", "v"},
	{"Trunc", "Float", "T(math.Trunc(float64(A)))", "to A without its fraction", "v"},
	{"Round", "Float", "T(math.RoundToEven(float64(A)))",
		"to A rounded to the nearest integer, ties to even", "v"},
}

// element is a primitive whose loop is of no family.
type element struct{ name, signature, body, doc string }

const orNaNBody = "x, y := a[i], b[i]\nif y %s x || y != y {\nx = y\n}\ndst[i] = x"

const selectBody = "v := %s\nif c[i] {\nv = %s\n}\ndst[i] = v"

var elements = []element{
	{"Larger", "[T Numeric](dst, a, b []T)", fmt.Sprintf(orNaNBody, ">"),
		"to the larger of a[i] and b[i], NaN if one of them is"},
	{"Smaller", "[T Numeric](dst, a, b []T)", fmt.Sprintf(orNaNBody, "<"),
		"to the smaller of a[i] and b[i], NaN if one of them is"},
	{"FMAF32", "(dst, a, b, c []float32)", "FMA32(a[i], b[i], c[i])",
		"= a[i]*b[i] + c[i], rounded once"},
	{"FMAF64", "(dst, a, b, c []float64)", "math.FMA(a[i], b[i], c[i])",
		"= a[i]*b[i] + c[i], rounded once"},
	{"And", "(dst, a, b []bool)", "a[i] && b[i]", ""},
	{"Or", "(dst, a, b []bool)", "a[i] || b[i]", ""},
	{"Xor", "(dst, a, b []bool)", "a[i] != b[i]", ""},
	{"Not", "(dst, a []bool)", "!a[i]", ""},
	{"Select", "[T any](dst []T, c []bool, a, b []T)", fmt.Sprintf(selectBody, "b[i]", "a[i]"),
		"= c[i] ? a[i] : b[i]"},
	{"SelectScalar", "[T any](dst []T, c []bool, a []T, s T)",
		fmt.Sprintf(selectBody, "s", "a[i]"), "= c[i] ? a[i] : s"},
	{"ScalarSelect", "[T any](dst []T, c []bool, s T, b []T)",
		fmt.Sprintf(selectBody, "b[i]", "s"), "= c[i] ? s : b[i]"},
	{"Float32Bits", "[T int32 | uint32](dst []T, a []float32)", "T(math.Float32bits(a[i]))",
		"to the bits of a[i]"},
	{"BitsFloat32", "[T int32 | uint32](dst []float32, a []T)",
		"math.Float32frombits(uint32(a[i]))", "to the number with the bits a[i]"},
	{"Float64Bits", "[T int64 | uint64](dst []T, a []float64)", "T(math.Float64bits(a[i]))",
		"to the bits of a[i]"},
	{"BitsFloat64", "[T int64 | uint64](dst []float64, a []T)",
		"math.Float64frombits(uint64(a[i]))", "to the number with the bits a[i]"},
	{"Convert", "[D, S Numeric](dst []D, a []S)", "D(a[i])",
		"to a[i] converted, between integers, between floats, or\n" +
			"// from an integer to a float"},
	{"ThroughInt8", "(dst, a []float32)", "float32(int8(ToInt32(float64(a[i]))))",
		"to the int8 that Truncate makes of a[i], as a float"},
	{"ThroughUint8", "(dst, a []float32)", "float32(uint8(ToInt32(float64(a[i]))))",
		"to the uint8 that Truncate makes of a[i], as a float"},
	{"Quantize", "(dst, a []float32, z, low, high, less float32)",
		"quantized(a[i], z, low, high) - less",
		"to a[i] rounded, plus z, limited to low and high, 0 if it is no number,\n" +
			"// minus less"},
	{"Rescale", "(dst, a, b, c []float32, z, low, high, less float32)",
		"quantized((a[i]+b[i])*c[i], z, low, high) - less",
		"as Quantize does of (a[i]+b[i])·c[i]"},
	{"Mix", "(dst, a, b []float32, m, n, plus, down, low, high int32, less float32)",
		"sum := ToInt32(float64(a[i]))*m + ToInt32(float64(b[i]))*n + plus\n" +
			"dst[i] = float32(Lesser(high, Greater(low, sum>>uint(down&31)))) - less",
		"to (a[i]·m + b[i]·n + plus) >> down of integers, limited to low and high,\n// minus less"},
	{"Numbers", "[T Numeric](dst []T, a []bool)", "FromBool[T](a[i])",
		"to 1 where a[i] is true, else to 0"},
	{"FromF16", "(dst []float32, a []uint16)", "F16ToF32(a[i])",
		"to the value of the float16 a[i]"},
	{"ToF16", "(dst []uint16, a []float32)", "F32ToF16(a[i])", "to a[i] as a float16"},
	{"FromBF16", "(dst []float32, a []uint16)", "BF16ToF32(a[i])",
		"to the value of the bfloat16 a[i]"},
	{"ToBF16", "(dst []uint16, a []float32)", "F32ToBF16(a[i])", "to a[i] as a bfloat16"},
}

// members are the primitives of a family.
func (f elementwise) members() (list []element) {
	types, result, differs := strings.Cut(f.types, " ")
	for form := range strings.FieldsSeq(f.forms) {
		name, params, a, b := f.name, "dst, a, b []T", "a[i]", "b[i]"
		switch form {
		case "v":
			params = "dst, a []T"
		case "vs":
			name, params, b = f.name+"Scalar", "dst, a []T, s T", "s"
		case "sv":
			name, params, a, b = "Scalar"+f.name, "dst []T, s T, a []T", "s", "a[i]"
		}
		if differs {
			params = strings.Replace(params, "dst, ", "dst []"+result+", ", 1)
		}
		say := strings.NewReplacer("Abs", "Abs", "A", a, "B", b) // Abs is no operand
		list = append(list, element{name, "[T " + types + "](" + params + ")",
			say.Replace(f.body), say.Replace(f.doc)})
	}
	return list
}

// loops is the Go file of the primitives that work element by element: a loop, and before it
// a call of the form with vectors if there is one.
func loops(prims []primitive) (string, error) {
	vector := map[string][]primitive{}
	for _, p := range prims {
		vector[p.doc] = append(vector[p.doc], p)
	}
	text := generated + "package strip\n\nimport \"math\"\n"
	var all []element
	for _, f := range families {
		all = append(all, f.members()...)
	}
	for _, e := range append(all, elements...) {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f"+e.signature, 0)
		if err != nil {
			return "", fmt.Errorf("%s: %w", e.name, err)
		}
		types := map[string]string{}
		var slices, cut []string
		for _, field := range file.Decls[0].(*ast.FuncDecl).Type.Params.List {
			for _, n := range field.Names {
				types[n.Name] = "one"
				if s, ok := field.Type.(*ast.Ident); ok && s.Name != "T" {
					types[n.Name] = s.Name
				}
				if s, ok := field.Type.(*ast.ArrayType); ok {
					types[n.Name] = "[]" + s.Elt.(*ast.Ident).Name
					if n.Name != "dst" {
						slices, cut = append(slices, n.Name), append(cut, n.Name+"[:len(dst)]")
					}
				}
			}
		}
		doc, body := e.doc, e.body
		if doc == "" {
			doc = "= " + body
		}
		if !strings.Contains(body, "dst[i]") {
			body = "dst[i] = " + body
		}
		fast := ""
		for _, p := range vector[e.name] {
			args := []string{floats("dst", types["dst"])}
			for i, v := range p.fn.Params {
				switch {
				case p.scalar[i] && types[v.Name] == "one":
					args = append(args, "f32("+v.Name+")")
				case p.scalar[i]:
					args = append(args, v.Name)
				case v.DType != ir.Float32 && v.DType != ir.Bool:
					args = append(args, "as["+goTypes[v.DType]+"]("+v.Name+")")
				default:
					args = append(args, floats(v.Name, types[v.Name]))
				}
			}
			fast += fmt.Sprintf("if %s(%s) {\nreturn\n}\n", p.name, strings.Join(args, ", "))
		}
		text += fmt.Sprintf(
			"\n// %s sets dst[i] %s.\nfunc %s%s {\n%s = %s\n%sfor i := range dst {\n%s\n}\n}\n",
			e.name, doc, e.name, e.signature, strings.Join(slices, ", "), strings.Join(cut, ", "), fast,
			body)
	}
	return text, nil
}

// floats is a slice as the form with vectors takes it.
func floats(name, typ string) string {
	if typ == "[]float32" || typ == "[]bool" {
		return name
	}
	return "f32s(" + name + ")"
}
