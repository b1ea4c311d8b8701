package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/etgen/etgen/codegen/interrupt"
	"github.com/etgen/etgen/golden/toolchain"
)

// diagnosis is what doctor found.
type diagnosis struct {
	release
	Tools []finding `json:"tools"`
	Cache string    `json:"cache"` // of compiled objects, "" if there is none
}

// finding is a command that etgen starts for some of what it does.
type finding struct {
	Command string `json:"command"`
	Use     string `json:"use"`
	Path    string `json:"path,omitempty"`
	Version string `json:"version,omitempty"`
	// Problem is why it cannot be used, "" if nothing.
	Problem string `json:"problem,omitempty"`
	Package string `json:"package,omitempty"` // Debian's
	ask     string // what makes it tell its version, "" if --version does
}

func newDoctor(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show which compilers and emulators are found, and what is missing",
		Long: `Doctor shows the commands that etgen starts, with their versions, and how to install
those that are missing. Compiling a model needs none of them: they build and run
what etgen wrote, in run, bench, size and golden.`,
		Example: `  etgen doctor
  etgen doctor --json | jq -r '.tools[] | select(.path) | .version'`,
		Args: none("doctor"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := diagnose(cmd.Context())
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			if asJSON {
				return a.json(d)
			}
			return d.print(a)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func diagnose(ctx context.Context) *diagnosis {
	d := &diagnosis{release: thisRelease(), Cache: toolchain.CacheFolder()}
	d.Tools = append(d.Tools, finding{Command: "go", ask: "version", Package: "golang",
		Use: "run, bench and golden through Go and rt"})
	for _, tool := range toolchain.Tools() {
		if tool.Use != "" {
			d.Tools = append(d.Tools, finding{Command: tool.Command, Use: tool.Use,
				Package: strings.ReplaceAll(tool.Package, ",", " ")})
		}
	}
	var all sync.WaitGroup
	for i := range d.Tools {
		all.Go(func() { d.Tools[i].look(ctx) })
	}
	all.Wait()
	return d
}

// look finds the command and asks it for its version.
func (f *finding) look(ctx context.Context) {
	path, err := toolchain.Find(f.Command)
	if err != nil {
		f.Problem = "is not installed"
		return
	}
	f.Path = path
	out, err := interrupt.Command(ctx, "", path, cmp.Or(f.ask, "--version")).CombinedOutput()
	f.Version, _, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil {
		f.Problem = fmt.Sprintf("does not work: %v", err)
	}
}

func (d *diagnosis) print(a *app) error {
	fmt.Fprint(a.out, d.release)
	fmt.Fprintf(a.out, "objects are kept in %s; temporary files are in %s\n\n",
		cmp.Or(d.Cache, "no folder"), os.TempDir())
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	var missing []string
	for _, f := range d.Tools {
		says := f.Version
		if f.Problem != "" {
			says = strings.TrimSpace(f.Problem + " " + f.Version)
			missing = append(missing, strings.Fields(f.Package)...)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Command, says, f.Use)
	}
	if err := w.Flush(); err != nil || missing == nil {
		return err
	}
	slices.Sort(missing)
	_, err := fmt.Fprintf(a.out, "\non Debian and Ubuntu: apt-get install %s\n",
		strings.Join(slices.Compact(missing), " "))
	return err
}
