//go:build unix

package interrupt

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// ending are the signals that ask a process to end.
var ending = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// Command returns a command that ends with ctx, and all processes that it started
// with it. Its temporary files are in the folder temp, so that they go with that
// folder; "" leaves them where they usually are.
func Command(ctx context.Context, temp, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	// A group of its own: a compiler's driver, which is killed, cannot tell the
	// processes that do its work.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // for the pipes of processes that left the group
	inTemp(cmd, temp)
	return cmd
}
