package codegen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/etgen/etgen/codegen/interrupt"
	"github.com/etgen/etgen/ir/must"
)

// Names in a folder that are there while a run writes to it, or after a run was
// killed.
const (
	stageDir    = ".etgen.tmp" // new files that may not be complete
	journalDir  = ".etgen.new" // complete new files, and the journal
	lockFile    = ".etgen.lock"
	journalFile = "journal.json"
	newFiles    = "new" // in journalDir: the new files that are not in place yet
	oldFiles    = "old" // in journalDir: the files as they were
)

// IsOwnName reports whether a file of that name is of the way in which packages
// are written, so that no package has one.
func IsOwnName(name string) bool {
	return name == RecordFile || name == stageDir || name == journalDir || name == lockFile ||
		name == "." || name == ".."
}

// clean reports whether no run is at work in dir, nor was killed there.
func clean(dir string) bool {
	for _, name := range []string{stageDir, journalDir, lockFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// commit makes the changes, all or none. It writes new files aside. When they are
// complete one rename makes a journal of them: from then on whoever finds it
// makes the changes that are left. The caller has the folder's lock.
func commit(ctx context.Context, dir string, changes []change) (err error) {
	if len(changes) == 0 {
		return nil
	}
	stage := filepath.Join(dir, stageDir)
	defer func() {
		if err != nil {
			os.RemoveAll(stage)
		}
	}()
	defer must.Catch(&err)
	for _, sub := range []string{"", newFiles, oldFiles} {
		must.Check(unchanged(dir, os.Mkdir(filepath.Join(stage, sub), 0o777)))
	}
	for _, s := range changes {
		must.Check(ctx.Err())
		if s.New == "" {
			continue
		}
		// A new file has the permissions that the umask leaves.
		must.Check(unchanged(filepath.Join(dir, s.Name),
			os.WriteFile(filepath.Join(stage, newFiles, s.Name), s.data, 0o666)))
	}
	must.Check(unchanged(dir, os.WriteFile(filepath.Join(stage, journalFile),
		must.Get(formatJournal(changes)), 0o666)))
	must.Check(ctx.Err())
	return interrupt.Whole(func() error { return makeChanges(dir, changes) })
}

// makeChanges makes the changes whose new files are complete.
func makeChanges(dir string, changes []change) error {
	stage := filepath.Join(dir, stageDir)
	if err := os.Rename(stage, filepath.Join(dir, journalDir)); err != nil {
		return unchanged(dir, err)
	}
	for i, s := range changes {
		err := s.take(dir)
		if err == nil {
			continue
		}
		for k := i; k >= 0; k-- {
			if back := changes[k].undo(dir); back != nil {
				// The journal stays, so that the next run goes on.
				return fmt.Errorf("%s: %w; run again to finish", filepath.Join(dir, s.Name),
					errors.Join(err, back))
			}
		}
		dropJournal(dir)
		return unchanged(filepath.Join(dir, s.Name), err)
	}
	return dropJournal(dir)
}

func formatJournal(changes []change) ([]byte, error) { return json.Marshal(changes) }

// unchanged says that path could not be written, which err says of another name,
// and that the folder is as it was; nothing if err is nil.
func unchanged(path string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%s: cannot be written, nothing is changed: %w", path, err)
}

// take brings the file into its new state and keeps the old one.
func (s change) take(dir string) error {
	path, journal := filepath.Join(dir, s.Name), filepath.Join(dir, journalDir)
	if s.Old != "" {
		old := filepath.Join(journal, oldFiles, s.Name)
		// With a link the file is there at every moment.
		if s.New == "" || os.Link(path, old) != nil {
			if err := os.Rename(path, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	if s.New == "" {
		return nil
	}
	return os.Rename(filepath.Join(journal, newFiles, s.Name), path)
}

// undo takes a change back, or half of one.
func (s change) undo(dir string) error {
	path, journal := filepath.Join(dir, s.Name), filepath.Join(dir, journalDir)
	fresh, old := filepath.Join(journal, newFiles, s.Name), filepath.Join(journal, oldFiles, s.Name)
	if _, err := os.Lstat(fresh); s.New != "" && errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(path, fresh); err != nil {
			return err
		}
	}
	if err := os.Rename(old, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// dropJournal removes the journal, in one moment as far as other runs see.
func dropJournal(dir string) error {
	stage := filepath.Join(dir, stageDir)
	if err := os.Rename(filepath.Join(dir, journalDir), stage); err != nil {
		return err
	}
	return os.RemoveAll(stage)
}

// recoverFolder cleans up behind a run that was killed: it removes files that may
// not be complete, and makes the changes of a journal that are left. The caller has
// the folder's lock.
func recoverFolder(dir string) (err error) {
	defer must.Catch(&err)
	must.Check(os.RemoveAll(filepath.Join(dir, stageDir)))
	journal := filepath.Join(dir, journalDir)
	text, err := os.ReadFile(filepath.Join(journal, journalFile))
	if _, gone := os.Lstat(journal); errors.Is(gone, fs.ErrNotExist) {
		return nil
	}
	var changes []change
	if err == nil {
		err = json.Unmarshal(text, &changes)
	}
	for _, s := range changes {
		if err == nil && (s.Name != filepath.Base(s.Name) || IsOwnName(s.Name) &&
			s.Name != RecordFile) {
			err = fmt.Errorf("%q is no file of the folder", s.Name)
		}
	}
	if err != nil {
		return fmt.Errorf(
			"%s: what an interrupted run left cannot be read: %w: remove it and run again",
			journal, err)
	}
	for _, s := range changes {
		path := filepath.Join(dir, s.Name)
		now := digestFile(path)
		switch {
		case now == s.New:
			continue
		case now != "" && now != s.Old:
			return &ConflictError{[]Difference{{path, "was changed since a run was interrupted"}}}
		}
		if _, err := os.Lstat(filepath.Join(journal, newFiles, s.Name)); s.New != "" &&
			errors.Is(err, fs.ErrNotExist) {
			continue // it was in place, and somebody has removed it
		}
		s.Old = now // it may be moved away already
		os.Remove(filepath.Join(journal, oldFiles, s.Name))
		must.Check(s.take(dir))
	}
	return dropJournal(dir)
}
