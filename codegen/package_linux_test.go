package codegen

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// New files have the permissions that the umask leaves.
func TestUmask(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	dir := filepath.Join(t.TempDir(), "out")
	write(t, pack("c", "net", "net.c", "1"), dir)
	for path, want := range map[string]os.FileMode{dir: 0o750, filepath.Join(dir, "net.c"): 0o640,
		filepath.Join(dir, RecordFile): 0o640} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// mount mounts a small file system at dir, where the tests may.
func mount(t *testing.T, dir, options string, flags uintptr) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, options); err != nil {
		if !errors.Is(err, fs.ErrPermission) {
			t.Fatal(err)
		}
		t.Skipf("mounting needs root: %v", err)
	}
	if flags == 0 {
		t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	}
}

// On a full disk all stays as it was; there is room again afterwards.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	mount(t, dir, "size=128k", 0)
	write(t, pack("c", "net", "net.c", "1"), dir)
	out := filepath.Join(dir, "a", "b")
	for _, to := range []string{dir, out} {
		err := pack("c", "net", "net.c", "2", "net.bin", strings.Repeat("x", 1<<20)).Write(
			t.Context(), to)
		if err == nil ||
			!strings.Contains(err.Error(),
				filepath.Join(to,
					"net.bin")+": cannot be written, nothing is changed: no space left on device") {
			t.Error(err)
		}
		expect(t, dir, "net.c", "1")
	}
	write(t, pack("c", "net", "net.c", "2", "net.bin", strings.Repeat("x", 1<<16)), dir)
}

// A folder that may not be written to is fine if it holds the package already.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	mount(t, dir, "size=128k", 0)
	p := pack("c", "net", "net.c", "1")
	write(t, p, dir)
	mount(t, dir, "size=128k", syscall.MS_REMOUNT|syscall.MS_RDONLY)
	write(t, p, dir)
	next := pack("c", "net", "net.c", "2")
	if err := next.Write(t.Context(), dir); err == nil ||
		!strings.Contains(err.Error(),
			dir+": cannot be written, nothing is changed: read-only file system") {
		t.Error(err)
	}
	if left, err := next.Check(t.Context(), dir); err != nil || len(left) != 2 {
		t.Error(left, err)
	}
	if err := p.Write(t.Context(), filepath.Join(dir, "a")); err == nil ||
		!strings.Contains(err.Error(), filepath.Join(dir, "a")+": cannot be written") {
		t.Error(err)
	}
	expect(t, dir, "net.c", "1")
}
