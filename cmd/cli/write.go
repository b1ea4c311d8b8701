package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen"
)

// writeFlags are the flags of commands that generate source or programs.
type writeFlags struct{ check bool }

func (f *writeFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.check, "check", false,
		"write nothing: list the files that differ from what would be written, and exit with code 1 if "+
			"there are any")
}

// checkFolder returns an error if -o names no folder.
func checkFolder(dir string) error {
	switch dir {
	case "":
		return usageError("-o is missing: the folder to write to")
	case "-":
		return usageError(
			"-o -: several files cannot be written to standard output: name a folder, " +
				"./- if it is called so")
	}
	return nil
}

const writeHelp = `Of what earlier runs wrote to the folder, files of the same model, or of a package
of the same name, are replaced or removed, so that exactly the new package is
there; .etgen.json keeps the record. Files that etgen did not write are never
written over nor removed. --check tells whether the folder is up to date.`

// write writes pkg, made from the inputs, to dir, or tells how dir differs.
func (f *writeFlags) write(ctx context.Context, a *app, pkg *codegen.Package, dir string,
	inputs ...string) error {
	if f.check {
		list, err := pkg.Check(ctx, dir, inputs...)
		if err != nil {
			return err
		}
		for _, d := range list {
			fmt.Fprintln(a.out, d)
		}
		if len(list) > 0 {
			return &exitError{code: exitMiss}
		}
		return nil
	}
	if err := pkg.Write(ctx, dir, inputs...); err != nil {
		return err
	}
	if a.tty {
		for _, f := range pkg.Files {
			fmt.Fprintf(a.err, "%9d  %s\n", len(f.Data), filepath.Join(dir, f.Name))
		}
	}
	return nil
}

// writeMarkup writes what draw makes of the input that the command shows: a picture or a report.
func writeMarkup(cmd *cobra.Command, path, input string, draw func(io.Writer) error) error {
	var picture bytes.Buffer
	by := strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()))
	picture.WriteString(codegen.MarkupHead(by, filepath.Base(input)))
	if err := draw(&picture); err != nil {
		return err
	}
	pkg := codegen.Package{Files: []codegen.File{{Name: filepath.Base(path),
		Data: picture.Bytes()}}}
	return pkg.Write(cmd.Context(), filepath.Dir(path), input)
}
