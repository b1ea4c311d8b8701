package baremetal

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/etgen/etgen/golden/toolchain"
)

// Report is what came of running a model on the board.
type Report struct {
	Sizes   toolchain.Sizes // of the package and the library functions it needs
	Doubles []string        // double-precision library functions in the program
	Stack   int             // deepest stack in bytes, of all runs
	// Instructions of all runs, exactly; 0 if they were not counted
	Instructions int64
	Runs         []RunOutput
}

// RunOutput is what one run gave.
type RunOutput struct {
	Status  int      // of the model's status type; 0 is OK
	Stack   int      // bytes, from the call on
	Outputs [][]byte // of each Output and InOut, in the order of the arguments
}

// Execute builds a generated package for the board with a harness for the runs,
// runs it, and reads what it printed. The time limit is for the emulator.
func (m Model) Execute(ctx context.Context, target toolchain.Target, dir string, sources []string,
	runs []RunInput, timeout time.Duration) (*Report, error) {
	return m.ExecuteOn(ctx, CortexM4, false, target, dir, sources, runs, timeout)
}

// ExecuteOn is Execute on a board, where instructions may be counted.
func (m Model) ExecuteOn(ctx context.Context, board Board, count bool, target toolchain.Target,
	dir string, sources []string, runs []RunInput, timeout time.Duration) (*Report, error) {
	main, err := m.Harness(runs)
	if err != nil {
		return nil, err
	}
	elf, err := board.Build(ctx, target, dir, sources, main)
	if err != nil {
		return nil, err
	}
	image, err := toolchain.ReadELF(elf)
	if err != nil {
		return nil, err
	}
	report := &Report{Sizes: image.Sizes(harnessPrefix), Doubles: image.DoubleHelpers()}
	stdout, exit := "", 0
	if count {
		report.Instructions, stdout, err = board.Count(ctx, elf, timeout)
	} else {
		stdout, exit, err = board.Run(ctx, elf, timeout)
	}
	if err != nil {
		return nil, err
	}
	if exit != 0 {
		return nil, fmt.Errorf("%s: exit code %d\n%s", elf, exit, tail(stdout, 10))
	}
	if report.Runs, err = parseOutput(stdout); err != nil {
		return nil, fmt.Errorf("%s: %w", elf, err)
	}
	if len(report.Runs) != len(runs) {
		return nil, fmt.Errorf("%s: %d of %d runs printed", elf, len(report.Runs), len(runs))
	}
	for _, run := range report.Runs {
		report.Stack = max(report.Stack, run.Stack)
	}
	return report, nil
}

// parseOutput reads what a harness prints. An overrun is an error, as is an
// output that ends early.
func parseOutput(stdout string) ([]RunOutput, error) {
	var runs []RunOutput
	ended := false
	lines := bufio.NewScanner(strings.NewReader(stdout))
	for lines.Scan() {
		line := lines.Text()
		var number, status, stack, size int
		switch word, rest, _ := strings.Cut(line, " "); word {
		case "run":
			if _, err := fmt.Sscanf(line, "run %d status %d stack %d", &number, &status,
				&stack); err != nil || number != len(runs) {
				return nil, fmt.Errorf("unexpected line %q", line)
			}
			runs = append(runs, RunOutput{Status: status, Stack: stack})
		case "output":
			if _, err := fmt.Sscanf(line, "output %d", &size); err != nil || len(runs) == 0 {
				return nil, fmt.Errorf("unexpected line %q", line)
			}
			data, err := readHex(lines, size)
			if err != nil {
				return nil, err
			}
			run := &runs[len(runs)-1]
			run.Outputs = append(run.Outputs, data)
		case "overrun":
			return nil, fmt.Errorf("run %d wrote past the end of %s", len(runs)-1, rest)
		case "end":
			ended = true
		default:
			return nil, fmt.Errorf("unexpected line %q", line)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if !ended {
		return nil, fmt.Errorf("the output ends early\n%s", tail(stdout, 10))
	}
	return runs, nil
}

// readHex reads size bytes from lines of hexadecimal digits.
func readHex(lines *bufio.Scanner, size int) ([]byte, error) {
	data := []byte{}
	for len(data) < size && lines.Scan() {
		part, err := hex.DecodeString(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("line %q: %w", lines.Text(), err)
		}
		data = append(data, part...)
	}
	if len(data) != size {
		return nil, fmt.Errorf("an output of %d bytes has %d", size, len(data))
	}
	return data, nil
}

// tail is the last n lines of a text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
