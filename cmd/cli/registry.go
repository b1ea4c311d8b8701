package cli

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/custom"
	"github.com/etgen/etgen/codegen/golang"
	"github.com/etgen/etgen/codegen/registry"
	"github.com/etgen/etgen/ir/must"
)

func newRegistry(a *app) *cobra.Command {
	var out, pkg string
	var kernels, customOps []string
	var flags writeFlags
	cmd := &cobra.Command{
		Use:   "registry [PROGRAM.pte...] -o FILE.go",
		Short: "Write the kernels of exactly the programs named, for etgen's Go runtime",
		Long: `Registry writes a Go file with a function Registry, which returns the kernels
that the programs call and no others: the operators with the types, sizes and
literals that occur in them. An app that runs the programs with package rt and
that registry links neither the operator table nor what interprets it, and is
smaller; the programs run as fast or faster. Weights stay in the programs.

--kernels names Go packages with kernels of custom operators, functions whose comments
say //etgen:kernel. The file then has functions CustomKernels, kernels for package rt
that call these functions, and CustomOperators, the schemas for rt/optimize; Registry
has the kernels too. Without programs these two functions are all there is: add the
kernels to another registry, by its method With.

Custom operators that --custom-op declares have no kernels in the registry: the app adds
its own, by Registry().With.

Kernels that need tables have them in a file beside FILE.go. A folder has one registry:
what an earlier run wrote there is replaced or removed. Files that etgen did not
write are never written over.

` + exitHelp,
		Example: `  etgen registry kws.pte -o kernels/kernels_gen.go
  etgen registry a.pte b.pte --package=main -o kernels_gen.go
  etgen registry --kernels=./fir -o kernels/kernels_gen.go
  //go:generate go tool etgen registry a.pte b.pte -o kernels_gen.go`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			defer must.Catch(&err)
			switch {
			case len(args) == 0 && len(kernels) == 0:
				return usageError("PROGRAM.pte is missing, or --kernels")
			case out == "":
				return usageError("-o is missing: the Go file to write")
			case filepath.Ext(out) != ".go":
				return usageError("-o %s: take the name of a Go file, such as kernels_gen.go", out)
			}
			var programs []registry.Program
			generator, names := "etgen registry", map[string]bool{}
			for _, path := range args {
				p, closer, err := compile.OpenPTE(path)
				must.Check(modelError(err))
				defer closer.Close()
				name := filepath.Base(path)
				if names[name] { // told apart by their folders
					name = filepath.Base(filepath.Dir(path)) + "/" + name
				}
				names[name] = true
				programs = append(programs, registry.Program{Name: name, Program: p})
				generator += " " + name
			}
			if pkg == "" {
				pkg = must.Get(goPackage(filepath.Dir(out)))
			}
			for _, name := range kernels {
				generator += " --kernels=" + filepath.Base(name)
			}
			declared := must.Get(registryKernels(cmd.Context(), out, pkg, kernels))
			must.Check(declared.Declare(customOps...))
			files := ofModel(registry.Generate(programs, registry.Options{Package: pkg,
				File: filepath.Base(out), Dir: filepath.Dir(out),
				Generator: generator, Kernels: declared}))
			must.Check(golang.Join(filepath.Dir(out), files))
			return flags.write(cmd.Context(), a, files, filepath.Dir(out), args...)
		},
		ValidArgsFunction: cobra.FixedCompletions([]string{"pte", "bpte"},
			cobra.ShellCompDirectiveFilterFileExt),
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "the Go file to write")
	flags.add(cmd)
	cmd.Flags().StringArrayVar(&customOps, "custom-op", nil,
		"the schema of a custom operator for which the app has a kernel, as in 'my::scale(Tensor x, "+
			"float by) -> Tensor'")
	cmd.Flags().StringSliceVar(&kernels, "kernels", nil,
		"Go packages with kernels of custom operators, whose comments say //etgen:kernel and the "+
			"operator's schema")
	cmd.Flags().StringVar(&pkg, "package", "",
		"the Go package of the file (default: that of the folder's Go files, or of the file with the "+
			"go:generate line, else kernels)")
	return cmd
}

// registryKernels loads the kernels of custom operators. The file that is to be written may be in
// their package, which has not to compile without it: its functions are taken to be there.
func registryKernels(ctx context.Context, out, pkg string, names []string) (*custom.Kernels,
	error) {
	return custom.LoadOver(ctx, custom.Over{Path: out, Text: []byte("package " + pkg +
		"\n\nimport \"github.com/etgen/etgen/rt\"\n\nfunc Registry() *rt.Registry { return nil }\n" +
		"func CustomKernels() []rt.Kernel { return nil }\n" +
		"func CustomOperators() []string { return nil }\n")}, names...)
}
