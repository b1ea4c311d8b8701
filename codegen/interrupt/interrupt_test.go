//go:build unix

package interrupt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test's own program is what is interrupted: it does what $INTERRUPT_TEST says.
func TestMain(m *testing.M) {
	what := os.Getenv("INTERRUPT_TEST")
	if what == "" {
		os.Exit(m.Run())
	}
	os.Exit(Main(func(ctx context.Context) int {
		temp, _, err := TempDir("test-")
		if err != nil {
			panic(err)
		}
		if what == "child" { // a child and its child, both with a file in temp
			cmd := Command(ctx, temp, "sh", "-c",
				`mktemp >/dev/null; sleep 60 & echo ready $!; wait`)
			cmd.Stdout = os.Stdout
			cmd.Run()
			return 7
		}
		fmt.Println("ready")
		switch what {
		case "deaf":
			select {}
		case "through":
			<-ctx.Done()
			return 0
		case "late": // it looks at nothing and wants to write
			<-ctx.Done()
			err := Whole(func() error { return os.Mkdir(os.Getenv("INTERRUPT_OUT"), 0o777) })
			if why, ok := errors.AsType[*Error](err); !ok || why.Signal != syscall.SIGTERM {
				panic(err)
			}
			return 3
		}
		<-ctx.Done()
		return 7
	}, func() { fmt.Fprintln(os.Stderr, "left") }))
}

// start runs the program until it is ready, and returns the process of its child's
// child, if it has one.
func start(t *testing.T,
	what string) (cmd *exec.Cmd, temp, out string, stderr *strings.Builder, child string) {
	t.Helper()
	// What is run under nohup, or behind in a script, ignores signals, and so do its
	// children. Signals that are caught here end the children.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, ending...)
	t.Cleanup(func() { signal.Stop(caught) })
	base := t.TempDir()
	temp, out = filepath.Join(base, "temp"), filepath.Join(base, "out")
	if err := os.Mkdir(temp, 0o777); err != nil {
		t.Fatal(err)
	}
	cmd, stderr = exec.Command(os.Args[0]), &strings.Builder{}
	cmd.Env = append(os.Environ(), "INTERRUPT_TEST="+what, "TMPDIR="+temp, "INTERRUPT_OUT="+out)
	cmd.Stderr = stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(pipe)
	lines.Scan()
	child, ready := strings.CutPrefix(lines.Text(), "ready")
	if !ready {
		t.Fatalf("it says %q", lines.Text())
	}
	return cmd, temp, out, stderr, strings.TrimSpace(child)
}

func TestMainEnds(t *testing.T) {
	for _, c := range []struct {
		what   string
		signal syscall.Signal
		code   int
	}{
		{"polite", syscall.SIGINT, 130},
		{"polite", syscall.SIGTERM, 143},
		{"polite", syscall.SIGHUP, 129},
		{"deaf", syscall.SIGINT, 130},
		{"late", syscall.SIGTERM, 143},
		{"child", syscall.SIGINT, 130},
		{"through", syscall.SIGINT, 0},
	} {
		t.Run(c.what+" "+c.signal.String(), func(t *testing.T) {
			cmd, temp, out, stderr, child := start(t, c.what)
			cmd.Process.Signal(c.signal)
			sent := time.Now()
			cmd.Wait()
			if took := time.Since(sent); took > 20*Grace {
				t.Errorf("it goes after %v", took)
			}
			if code := cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if c.code == 0 {
				return
			}
			if stderr.String() != "left\n" {
				t.Errorf("it says %q", stderr.String())
			}
			if left, _ := os.ReadDir(temp); len(left) > 0 {
				t.Errorf("%s is left", left[0].Name())
			}
			if _, err := os.Stat(out); err == nil {
				t.Errorf("%s is left", out)
			}
			for range 50 { // a killed process goes when it is its turn
				if line, _ := os.ReadFile("/proc/" + child + "/cmdline"); child == "" ||
					len(line) == 0 {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
			t.Errorf("the process %s is left", child)
		})
	}
}

// A second signal ends a process that does not listen before it is given up, and
// nothing is undone.
func TestSecondSignal(t *testing.T) {
	cmd, temp, _, stderr, _ := start(t, "deaf")
	// Two signals of one kind that come at once are one.
	cmd.Process.Signal(syscall.SIGINT)
	cmd.Process.Signal(syscall.SIGTERM)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 && code != 143 || stderr.Len() > 0 {
		t.Errorf("exit code %d, and it says %q", code, stderr.String())
	}
	if left, _ := os.ReadDir(temp); len(left) != 1 {
		t.Errorf("%d temporary folders, want one", len(left))
	}
}

// What SIGINT is ignored by goes on, as a job in the background does.
func TestIgnored(t *testing.T) {
	cmd := exec.Command("sh", "-c", `trap '' INT; exec "$0"`, os.Args[0])
	cmd.Env = append(os.Environ(), "INTERRUPT_TEST=polite", "TMPDIR="+t.TempDir())
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	bufio.NewScanner(pipe).Scan()
	cmd.Process.Signal(syscall.SIGINT)
	time.Sleep(3 * Grace)
	if cmd.Process.Signal(syscall.SIGTERM); cmd.Wait() == nil ||
		cmd.ProcessState.ExitCode() != 143 {
		t.Errorf("%v, want the exit code of SIGTERM", cmd.ProcessState)
	}
}
