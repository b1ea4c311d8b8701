//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package codegen

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// tryLock makes and locks the file at path; errLocked says that another run has
// it. The lock ends with the process. On a file system without locks it returns
// nil.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	switch err := flock(f); {
	case err == nil:
	case errors.Is(err, syscall.EWOULDBLOCK):
		f.Close()
		return nil, errLocked
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.ENOLCK),
		errors.Is(err, syscall.EINVAL):
		f.Close()
		os.Remove(path)
		return nil, nil
	default:
		f.Close()
		return nil, err
	}
	// The run that had the lock may have removed the file, and another have made
	// a new one.
	held, err := f.Stat()
	if err == nil {
		now, statErr := os.Stat(path)
		if statErr == nil && os.SameFile(held, now) {
			return f, nil
		}
		err = errLocked
	}
	f.Close()
	return nil, err
}

func flock(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err !=
			syscall.EINTR {
			return err
		}
	}
}

// unlock removes the file while no other run can have it, and lets it go.
func unlock(f *os.File) error {
	err := os.Remove(f.Name())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// isLocked reports whether a run has the lock.
func isLocked(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(flock(f), syscall.EWOULDBLOCK)
}
