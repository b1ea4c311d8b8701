package codegen

import (
	"errors"
	"os"
	"syscall"
)

const (
	fileFlagDeleteOnClose syscall.Errno = 0x04000000
	errSharing            syscall.Errno = 32
)

// tryLock opens the file at path as nobody else can; errLocked says that another
// run has it. Windows removes the file with its last handle, at the end of the
// process at the latest.
func tryLock(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL|uint32(fileFlagDeleteOnClose), 0)
	switch {
	case err == nil:
		return os.NewFile(uintptr(h), path), nil
	case errors.Is(err, errSharing), errors.Is(err, syscall.ERROR_ACCESS_DENIED):
		// A file that is about to be removed denies access.
		if _, stat := os.Stat(path); stat == nil {
			return nil, errLocked
		}
	}
	return nil, &os.PathError{Op: "open", Path: path, Err: err}
}

func unlock(f *os.File) error { return f.Close() }

// isLocked reports whether a run has the lock.
func isLocked(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
