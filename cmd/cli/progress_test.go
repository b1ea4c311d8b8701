//go:build linux

package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// screen is what came out of a terminal.
type screen struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.text.String()
}

// await fails if the text does not come.
func (s *screen) await(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !strings.Contains(s.String(), text); {
		if time.Now().After(end) {
			t.Fatalf("no %q: %q", text, s)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// newTerminal returns a terminal, and what comes out of it.
func newTerminal(t *testing.T) (*os.File, *screen) {
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	fd := int(keyboard.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100})
	}
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { tty.Close(); keyboard.Close() })
	s := &screen{}
	go keyboard.WriteTo(s)
	return tty, s
}

func TestProgress(t *testing.T) {
	defer func(d time.Duration) { patience = d }(patience)
	patience = 0
	for _, color := range []bool{true, false} {
		tty, s := newTerminal(t)
		p := &progress{to: tty, color: color}
		p.step("fold")
		s.await(t, "fold ")
		p.step("lower")
		s.await(t, "lower ")
		count := p.counter("check")
		count(1, 3)
		s.await(t, "1 of 3")
		count(3, 3)
		p.clear()
		fmt.Fprintln(tty, "done")
		s.await(t, "\x1b[1A\x1b[Jdone")
		if strings.Contains(s.String(), "\x1b[36m") != color {
			t.Errorf("color %t: %q", color, s)
		}
	}
}

// A terminal that shows progress has lists of files too, and neither with --quiet.
func TestQuiet(t *testing.T) {
	t.Setenv("TERM", "xterm")
	for _, quiet := range []string{"--quiet=false", "-q"} {
		tty, s := newTerminal(t)
		args := []string{"../../golden/cases/linear/model.pt2", "--lang=c", "-o", t.TempDir(), quiet}
		if code := run(t.Context(), args, tty, tty); code != 0 {
			t.Fatalf("exit code %d: %s", code, s)
		}
		fmt.Fprintln(tty, "done")
		s.await(t, "done")
		if listed := strings.Contains(s.String(), "model.h"); listed != (quiet != "-q") ||
			!listed && s.String() != "done\r\n" {
			t.Errorf("%s: %q", quiet, s)
		}
	}
}
