//go:build unix

package cli

import (
	"fmt"
	"syscall"
)

// openFiles returns an error if the process may not open the few files that the Go runtime
// itself needs: it ends with a trace of its own where it cannot have one.
func openFiles() error {
	const need = 6
	var held []int
	defer func() {
		for _, fd := range held {
			syscall.Close(fd)
		}
	}()
	for range need {
		fd, err := syscall.Open("/", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("%w: it takes %d more: raise the limit with ulimit -n", err,
				need-len(held))
		}
		held = append(held, fd)
	}
	return nil
}
