package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/golden/tensor"
	"github.com/etgen/etgen/plan"
)

// firmwareFlags say where the parts of C go.
type firmwareFlags struct {
	weights, section, memory string
}

// firmwareNames are the flags of firmwareFlags, which are for C alone.
var firmwareNames = []string{"weights", "section"}

func (f *firmwareFlags) add(cmd *cobra.Command) {
	oneOf(cmd, &f.weights, "weights", "", codegen.WeightForms,
		"with --lang=c: the form of weights: c (arrays of literals), asm (a .bin file, "+
			"which a .S file takes in), bin (a .bin file, which the application brings to an address; the "+
			"header says how); default: c up to 64 KiB, else asm")
	cmd.Flags().StringVar(&f.section, "section", "",
		"with --lang=c: sections that linker scripts place: "+
			"weights:.qspi,code:.itcm,tables:.dtcm,payloads:.npu, or some of these")
	cmd.Flags().StringVar(&f.memory, "memory", "",
		"with --lang=c and --lang=pte: the memories that the arena, or planned memory, "+
			"is divided into, the fastest first, with their bytes: dtcm:64k,sram:256k; what is read and "+
			"written most goes into the first")
}

// banks reads the list of --memory.
func (f *firmwareFlags) banks() (list []plan.Bank) {
	for part := range strings.SplitSeq(f.memory, ",") {
		name, size, ok := strings.Cut(strings.TrimSpace(part), ":")
		if !ok {
			failUsage("--memory=%s: %q: take a name, a colon and a number of bytes", f.memory, part)
		}
		n, err := tensor.ParseBytes(size)
		if err != nil {
			failUsage("--memory=%s: %s: %v", f.memory, name, err)
		}
		if compile.NameOf(name) != name {
			failUsage("--memory=%s: %q is no name: take lower-case letters and digits, a letter first, "+
				"and single underscores between them", f.memory, name)
		}
		if slices.ContainsFunc(list, func(b plan.Bank) bool { return b.Name == name }) {
			failUsage("--memory=%s: %s is there twice", f.memory, name)
		}
		list = append(list, plan.Bank{Name: name, Size: n})
	}
	return list
}

// set makes the options say what the flags do.
func (f *firmwareFlags) set(opt *compile.Options) {
	if f.memory != "" {
		if _, kept := opt.Planner.(plan.AsIs); kept {
			failUsage("--memory has no effect with --plan=as-is: leave it out")
		}
		opt.Banks = f.banks()
		opt.Generator += " --memory=" + strings.ReplaceAll(f.memory, " ", "")
	}
	opt.Weights = f.weights
	if f.weights != "" {
		opt.Generator += " --weights=" + f.weights
	}
	if f.section == "" {
		return
	}
	sections, err := codegen.ParseSections(f.section)
	if err != nil {
		failUsage("--section=%s: %v", f.section, err)
	}
	if f.weights == codegen.WeightsBin &&
		sections[codegen.WeightsSection]+sections[codegen.PayloadsSection] != "" {
		failUsage("--section=%s: with --weights=bin the application says where weights and payloads "+
			"are: leave them out", f.section)
	}
	opt.Sections = sections
	opt.Generator += " --section=" + strings.ReplaceAll(f.section, " ", "")
}
