package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen"
	"github.com/etgen/etgen/codegen/compile"
	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/aten"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/seq"
)

// methodFlags are what makes one program of several model files.
type methodFlags struct {
	named    []string
	share    bool
	separate bool
	// declared are the custom operators that ExecuTorch programs may call.
	declared []*aten.Schema
}

func (f *methodFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.named, "method", nil,
		"NAME=FILE: a model file that becomes the method NAME; once for each")
	cmd.Flags().BoolVar(&f.share, "share-mutable-buffers", false,
		"with several models: buffers of one name are one in all methods; else each method has its own")
}

// addSeparate adds the flag that makes several models programs of their own.
func (f *methodFlags) addSeparate(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.separate, "separate", false,
		"with --lang=c and several models: each has a header and weights of its own, "+
			"and NAME.h and NAME.c have what they share, kernels and an arena")
}

// setSeparate makes the options say what the flag of addSeparate does.
func (f *methodFlags) setSeparate(l *compile.Language, files []compile.MethodFile,
	opt *compile.Options) {
	if !f.separate {
		return
	}
	if !l.Placed || len(files) < 2 {
		failUsage("--separate is for --lang=c and several models")
	}
	if f.share {
		failUsage("--separate gives each model a state of its own: without it, " +
			"models with --share-mutable-buffers are methods that have one")
	}
	opt.Separate = true
	opt.Generator += " --separate"
}

// args checks that a model is named one way or the other.
func (f *methodFlags) args(_ *cobra.Command, args []string) error {
	if len(args)+len(f.named) == 0 {
		return usageError("MODEL is missing")
	}
	return nil
}

// files returns the models: first those without, then those with a name for
// their method.
func (f *methodFlags) files(args []string) []compile.MethodFile {
	files := compile.Named(args...)
	given := map[string]bool{}
	for _, word := range f.named {
		name, path, ok := strings.Cut(word, "=")
		if !ok || path == "" || codegen.Identifier(name) != name || name == "" {
			failUsage("--method=%s: take NAME=FILE, a name of letters, digits and underscores", word)
		}
		if given[name] {
			failUsage("--method=%s: there are two methods %s: give one another name",
				word, name)
		}
		given[name] = true
		files = append(files, compile.MethodFile{Name: name, Path: path})
	}
	if len(files) == 1 {
		if f.share {
			failUsage("--share-mutable-buffers is for several models")
		}
		if len(f.named) == 0 {
			files[0].Name = "" // as it is
		}
	}
	return files
}

func paths(files []compile.MethodFile) []string {
	return seq.Map(files, func(f compile.MethodFile) string { return f.Path })
}

// defaultName is what the package of models is called that has no name: like the
// file, or model if there are several.
func defaultName(files []compile.MethodFile) string {
	if len(files) > 1 {
		return "model"
	}
	return compile.NameOf(files[0].Path)
}

// open reads models, as one program of several methods if there are several.
func (f *methodFlags) open(files []compile.MethodFile) (*ir.Program, io.Closer, error) {
	if len(files) == 1 && files[0].Name == "" {
		return compile.ReadCustom(files[0].Path, f.declared)
	}
	return compile.ReadMethods(files, f.share)
}

// read is open for commands that read models once.
func (f *methodFlags) read(files []compile.MethodFile) (*ir.Program, io.Closer) {
	p, closer, err := f.open(files)
	must.Check(modelError(err))
	return p, closer
}

// options completes those of a compilation of models.
func (f *methodFlags) options(files []compile.MethodFile, opt compile.Options) compile.Options {
	if len(files) > 1 && opt.Name == "" {
		opt.Name = defaultName(files)
	}
	if f.share {
		opt.Generator += " --share-mutable-buffers"
	}
	return opt
}

// compile reads and compiles models.
func (f *methodFlags) compile(files []compile.MethodFile, opt compile.Options) *codegen.Package {
	f.declared = opt.Custom.Declared()
	p, closer := f.read(files)
	defer closer.Close()
	return ofModel(compile.Package(p, f.options(files, opt)))
}
