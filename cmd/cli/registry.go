package cli

import (
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
	var customOps []string
	var flags writeFlags
	cmd := &cobra.Command{
		Use:   "registry PROGRAM.pte... -o FILE.go",
		Short: "Write the kernels of exactly the programs named, for etgen's Go runtime",
		Long: `Registry writes a Go file with a function Registry, which returns the kernels
that the programs call and no others: the operators with the types, sizes and
literals that occur in them. An app that runs the programs with package rt and
that registry links neither the operator table nor what interprets it, and is
smaller; the programs run as fast or faster. Weights stay in the programs.

Custom operators are declared by --custom-op. The registry has no kernels for them: the
app adds its own, by Registry().With.

Kernels that need tables have them in a file beside FILE.go. A folder has one registry:
what an earlier run wrote there is replaced or removed. Files that etgen did not
write are never written over.

` + exitHelp,
		Example: `  etgen registry kws.pte -o kernels/kernels_gen.go
  etgen registry a.pte b.pte --package=main -o kernels_gen.go
  //go:generate go tool etgen registry a.pte b.pte -o kernels_gen.go`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			defer must.Catch(&err)
			switch {
			case len(args) == 0:
				return usageError("PROGRAM.pte is missing")
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
			declared := &custom.Kernels{}
			must.Check(declared.Declare(customOps...))
			files := ofModel(registry.Generate(programs, registry.Options{Package: pkg,
				File: filepath.Base(out), Generator: generator, Custom: declared.Schemas}))
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
	cmd.Flags().StringVar(&pkg, "package", "",
		"the Go package of the file (default: that of the folder's Go files, or of the file with the "+
			"go:generate line, else kernels)")
	return cmd
}
