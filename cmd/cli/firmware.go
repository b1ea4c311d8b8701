package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
)

// firmwareFlags say where the parts of C go.
type firmwareFlags struct {
	weights, section string
}

// firmwareNames are the flags of firmwareFlags, which are for C alone.
var firmwareNames = []string{"weights", "section"}

func (f *firmwareFlags) add(cmd *cobra.Command) {
	oneOf(cmd, &f.weights, "weights", "", codegen.WeightForms,
		"with --lang=c: the form of weights: c (arrays of literals), asm (a .bin file, which a .S file takes in), bin (a .bin file, which the application brings to an address; the header says how); default: c up to 64 KiB, else asm")
	cmd.Flags().StringVar(&f.section, "section", "",
		"with --lang=c: sections that linker scripts place: weights:.qspi,code:.itcm,tables:.dtcm, or some of these")
}

// set makes the options say what the flags do.
func (f *firmwareFlags) set(opt *compile.Options) {
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
	if f.weights == codegen.WeightsBin && sections[codegen.WeightsSection] != "" {
		failUsage("--section=%s: with --weights=bin the application says where the weights are: leave weights out",
			f.section)
	}
	opt.Sections = sections
	opt.Generator += " --section=" + strings.ReplaceAll(f.section, " ", "")
}
