//go:build !unix

package interrupt

import (
	"context"
	"os"
	"os/exec"
	"time"
)

// ending are the signals that ask a process to end.
var ending = []os.Signal{os.Interrupt}

// Command returns a command that ends with ctx. Its temporary files are in the
// folder temp, so that they go with that folder; "" leaves them where they usually
// are.
func Command(ctx context.Context, temp, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	inTemp(cmd, temp)
	return cmd
}
