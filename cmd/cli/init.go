package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/codegen/golang"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/kernels/tuned"
	"github.com/etgen/etgen/templates/project"
)

func newInit(a *app) *cobra.Command {
	var kind, dir, name, target string
	var force bool
	var about strings.Builder
	for _, k := range project.Kinds {
		fmt.Fprintf(&about, "  %-11s %s\n", k.Name, k.About)
	}
	cmd := &cobra.Command{
		Use:   "init MODEL --for=KIND",
		Short: "Write the few lines with which a project builds a model",
		Long: `Init writes the files with which a build tool compiles the model, and shows the
commands that come next. The files are yours to change: etgen does not write them
again. It does not write over files that differ, unless --force says so.

Kinds:
` + about.String(),
		Example: `  etgen init kws.pt2 --for=cmake --target=cortex-m4
  etgen init kws.pt2 --for=go --force`,
		Args: exactly("MODEL"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			defer must.Catch(&err)
			k := project.KindNamed(kind)
			if k == nil {
				return usageError("--for is missing: take %s", compile.ListOf(project.Names()))
			}
			if _, err := tuned.MachineNamed(target); err != nil {
				return usageError("--target: %v", err)
			}
			if k.Target != "" && !cmd.Flags().Changed("target") {
				target = k.Target
			}
			m := projectOf(args[0], dir, name, target)
			if slices.Contains(k.Reserved, m.Name) {
				return usageError("%s has a target %s of its own: name the model otherwise, with --name",
					k.Name, m.Name)
			}
			files, next := k.Write(m)
			must.Check(writeProject(cmd.Context(), dir, files, force))
			for _, f := range files {
				fmt.Fprintln(a.out, filepath.Join(dir, f.Path))
			}
			fmt.Fprintf(a.out, "\nnext, in %s:\n", dir)
			for _, command := range next {
				fmt.Fprintln(a.out, "  "+command)
			}
			return nil
		},
		ValidArgsFunction: cobra.FixedCompletions([]string{"pt2", "json", "pte", "bpte"},
			cobra.ShellCompDirectiveFilterFileExt),
	}
	oneOf(cmd, &kind, "for", "", project.Names(), "the kind of project")
	cmd.Flags().StringVarP(&dir, "output", "o", ".", "the project's folder")
	cmd.Flags().StringVar(&name, "name", "", "the package's name (default: the model file's)")
	cmd.Flags().StringVar(&target, "target", "generic",
		"the machine that the code is made for; etgen targets lists them")
	fixed(cmd, "target", tuned.MachineNames()...)
	cmd.Flags().BoolVar(&force, "force", false, "write over files that differ")
	return cmd
}

// plainPath is a path that no build tool takes for anything else.
var plainPath = regexp.MustCompile(`^[\w./+-]+$`)

// projectOf is what files of a project in dir say of the model at path.
func projectOf(path, dir, name, target string) project.Model {
	if _, err := os.Stat(path); err != nil {
		must.Check(&exitError{exitUsage, err})
	}
	base := must.Get(filepath.Abs(dir))
	model := filepath.ToSlash(must.Get(filepath.Rel(base, must.Get(filepath.Abs(path)))))
	if !plainPath.MatchString(model) || strings.HasPrefix(model, "../") {
		failUsage("%s: build files in %s cannot name it: put it into that folder, "+
			"under a name of letters, digits, dots, dashes and underscores",
			path, dir)
	}
	if name == "" {
		name = compile.NameOf(path)
	} else if compile.NameOf(name) != name {
		failUsage("--name=%s is no name for a package: take lower-case letters and digits, "+
			"a letter first, and single underscores between them", name)
	}
	must.Check(modelError(codegen.CheckFileName(name)))
	return project.Model{Name: name, Package: golang.PackageName(name), Model: model, Target: target,
		Date: time.Now().UTC().Format(time.DateOnly)}
}

// writeProject writes all files or, where one is there that differs, none.
func writeProject(ctx context.Context, dir string, files []project.Text, force bool) (err error) {
	defer must.Catch(&err)
	var folders []string
	packages := map[string]*codegen.Package{}
	for _, f := range files {
		folder := filepath.Join(dir, filepath.Dir(f.Path))
		if packages[folder] == nil {
			folders = append(folders, folder)
			packages[folder] = &codegen.Package{Replaces: force}
		}
		p := packages[folder]
		p.Files = append(p.Files, codegen.File{Name: filepath.Base(f.Path), Data: []byte(f.Data)})
	}
	var there []string
	undo := map[string]func() error{} // what is written, if a later file cannot be
	for _, f := range files {
		path := filepath.Join(dir, f.Path)
		old, err := os.ReadFile(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			undo[path] = func() error { return os.Remove(path) }
		case err != nil:
			return err
		case string(old) != f.Data:
			undo[path] = func() error { return os.WriteFile(path, old, 0o666) }
		}
		if err == nil && string(old) != f.Data && !force {
			there = append(there, path)
		}
	}
	if len(there) > 0 {
		return fmt.Errorf("%s: is there and differs: --force writes over it",
			strings.Join(there, ", "))
	}
	for i, folder := range folders {
		if err := packages[folder].Write(ctx, folder); err != nil {
			for path, undo := range undo {
				if slices.Contains(folders[:i], filepath.Dir(path)) {
					err = errors.Join(err, undo())
				}
			}
			return err
		}
	}
	return nil
}
