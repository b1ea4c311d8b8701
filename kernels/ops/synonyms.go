package ops

import (
	"strings"

	"github.com/etgen/etgen/ir/aten"
)

// synonyms are the names under which PyTorch has an operator once more, with the same
// overloads and arguments, by the operator's own name. torch.export keeps the name that the
// model called.
var synonyms = map[string][]string{
	"abs":                 {"absolute"},
	"acos":                {"arccos"},
	"acosh":               {"arccosh"},
	"asin":                {"arcsin"},
	"asinh":               {"arcsinh"},
	"atan":                {"arctan"},
	"atan2":               {"arctan2"},
	"atanh":               {"arctanh"},
	"cat":                 {"concat", "concatenate"},
	"clamp":               {"clip"},
	"digamma":             {"special_digamma", "special_psi"},
	"div":                 {"divide"},
	"erf":                 {"special_erf"},
	"erfc":                {"special_erfc"},
	"erfinv":              {"special_erfinv"},
	"exp2":                {"special_exp2"},
	"expm1":               {"special_expm1"},
	"ge":                  {"greater_equal"},
	"gt":                  {"greater"},
	"i0":                  {"special_i0"},
	"le":                  {"less_equal"},
	"lgamma":              {"special_gammaln"},
	"linalg_matrix_power": {"matrix_power"},
	"log1p":               {"special_log1p"},
	"logit":               {"special_logit"},
	"logsumexp":           {"special_logsumexp"},
	"lt":                  {"less"},
	"matmul":              {"linalg_matmul"},
	"mul":                 {"multiply"},
	"mvlgamma":            {"special_multigammaln"},
	"ne":                  {"not_equal"},
	"neg":                 {"negative"},
	"polygamma":           {"special_polygamma"},
	"outer":               {"ger"},
	"sigmoid":             {"special_expit"},
	"sinc":                {"special_sinc"},
	"sub":                 {"subtract"},
	"trunc":               {"fix"},
	"vstack":              {"row_stack"},
}

// onceMore returns the entries of the other names of those in groups. Each becomes the
// operator itself.
func onceMore(groups [][]entry) []entry {
	var out []entry
	for _, g := range groups {
		for _, e := range g {
			at := strings.IndexAny(e.Schema, ".(")
			for _, other := range synonyms[strings.TrimPrefix(e.Schema[:at], "aten::")] {
				op := must(aten.Parse(e.Schema)).Name
				out = append(out, entry{Schema: "aten::" + other + e.Schema[at:], synonym: op,
					numbers: e.numbers, Decompose: manySameAs(op)})
			}
		}
	}
	return out
}
