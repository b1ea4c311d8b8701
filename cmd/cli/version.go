package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// release is what the Go tool stamps a binary with.
type release struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"` // of the revision
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newRelease(info *debug.BuildInfo) release {
	r := release{Version: "(devel)", Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return r
	}
	r.Version = cmp.Or(info.Main.Version, r.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			r.Revision = s.Value
		case "vcs.time":
			r.Time = s.Value
		case "vcs.modified":
			r.Modified = s.Value == "true"
		}
	}
	return r
}

func (r release) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "etgen version %s\n", r.Version)
	if r.Revision != "" {
		fmt.Fprintf(&b, "commit %s of %s", r.Revision, r.Time)
		if r.Modified {
			b.WriteString(", changed")
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%s %s\n", r.Go, r.Platform)
	return b.String()
}

// thisRelease is that of the process.
func thisRelease() release {
	info, _ := debug.ReadBuildInfo()
	return newRelease(info)
}

// version is that of the module.
func version() string { return thisRelease().Version }

func newVersion(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit it is of, and Go's version",
		Example: `  etgen version
  etgen version --json`,
		Args: none("version"),
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return a.json(thisRelease())
			}
			_, err := fmt.Fprint(a.out, thisRelease())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}
