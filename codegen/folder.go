package codegen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/etgen/etgen/codegen/interrupt"
)

// folder is one that a run writes to: it is there, and no other run writes to it.
type folder struct {
	dir  string
	made []string // the folders made for it, outermost first
	lock *os.File // nil where files cannot be locked
	done func()   // an interrupt no longer closes the folder
}

// lockWait is how long a run waits before it looks again whether another is done.
const lockWait = 2 * time.Millisecond

// openFolder makes dir if it does not exist, and waits until no other run writes
// to it.
func openFolder(ctx context.Context, dir string) (*folder, error) {
	f := &folder{dir: dir}
	for lost := 0; ; {
		if err := ctx.Err(); err != nil {
			f.unmake()
			return nil, err
		}
		done, err := interrupt.Make(func() (func(), error) {
			made, err := makeFolder(dir)
			f.made = append(f.made, made...)
			if err == nil {
				f.lock, err = tryLock(filepath.Join(dir, lockFile))
			}
			return f.abandon, err
		})
		switch {
		case err == nil:
			f.done = done
			return f, nil
		case errors.Is(err, errLocked):
			select {
			case <-ctx.Done():
			case <-time.After(lockWait):
			}
		case errors.Is(err, fs.ErrNotExist) && lost < 100:
			lost++ // another run has removed a folder that it had made and not filled
		default:
			f.unmake()
			return nil, unchanged(dir, err)
		}
	}
}

// close lets other runs write. After a failure it removes the folders that were
// made for it.
func (f *folder) close(failed bool) error {
	var err error
	if f.lock != nil {
		err = unlock(f.lock)
	}
	if failed {
		f.unmake()
	}
	f.done()
	return err
}

// abandon closes the folder for a run that does not get to it.
func (f *folder) abandon() {
	os.RemoveAll(filepath.Join(f.dir, stageDir))
	if f.lock != nil {
		unlock(f.lock)
	}
	f.unmake()
}

// unmake removes the folders that were made, as far as they are empty.
func (f *folder) unmake() {
	for i := len(f.made) - 1; i >= 0; i-- {
		if os.Remove(f.made[i]) != nil {
			return
		}
	}
}

// makeFolder is os.MkdirAll, and returns the folders that it made.
func makeFolder(dir string) (made []string, err error) {
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil, nil
	case err == nil:
		return nil, fmt.Errorf("it is a file: %w", syscall.ENOTDIR)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if to, err := os.Readlink(dir); err == nil {
		return nil, fmt.Errorf("%s is a link to %s, which does not exist", dir, to)
	}
	if parent := filepath.Dir(dir); parent != dir {
		if made, err = makeFolder(parent); err != nil {
			return made, err
		}
	}
	err = os.Mkdir(dir, 0o777)
	if errors.Is(err, fs.ErrExist) { // another run has made it
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return made, nil
		}
	}
	if err != nil {
		return made, err
	}
	return append(made, dir), nil
}

// waitFolder waits until no run writes to dir. It writes nothing.
func waitFolder(ctx context.Context, dir string) error {
	for isLocked(filepath.Join(dir, lockFile)) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockWait):
		}
	}
	return ctx.Err()
}

// errLocked says that another run has the lock.
var errLocked = errors.New("another run writes to the folder")
