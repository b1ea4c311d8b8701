package baremetal

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etgen/etgen/golden/toolchain"
)

// Board is a board that QEMU emulates, and how a program for it is linked.
type Board struct {
	Emulator string   // command
	machine  string   // its name there
	start    []string // support files: from reset to C
	memory   string   // linker script
	more     []string // arguments of the emulator
}

// The boards, by their cores.
var (
	CortexM4 = armBoard("mps2-an386", "mps2.ld")
	// Firmware is the same board with an external flash, a memory for code and one for tables,
	// for what is in sections .qspi, .itcm and .dtcm.
	Firmware = armBoard("mps2-an386", "firmware.ld")
	CortexM7 = armBoard("mps2-an500", "an500.ld")
	// CortexM33 has no memory protection here: only its missing memory faults.
	CortexM33 = armBoard("mps2-an505", "an505.ld")
	// CortexM55 has none either.
	CortexM55 = armBoard("mps3-an547", "an547.ld")
	// RISCV32 has no protection either, and its stack is not checked against overflow.
	RISCV32 = Board{Emulator: "qemu-system-riscv32", machine: "virt",
		start: []string{"harness_reset_riscv.S", "harness_start_riscv.c"}, memory: "virt.ld",
		more: []string{"-bios", "none"}}
)

func armBoard(machine, memory string) Board {
	return Board{Emulator: "qemu-system-arm", machine: machine,
		start: []string{"harness_reset.S", "harness_start.c"}, memory: memory}
}

// Run runs a program that [Build] made until it exits. The error is for a
// program that did not come to its exit: an emulator that is not installed, a
// time-out, a core that locked up.
func Run(ctx context.Context, elf string,
	timeout time.Duration) (stdout string, exit int, err error) {
	return CortexM4.Run(ctx, elf, timeout)
}

// Run is the function of that name for a board; more are arguments of the emulator.
func (b Board) Run(ctx context.Context, elf string, timeout time.Duration,
	more ...string) (stdout string, exit int, err error) {
	emulator, err := toolchain.Find(b.Emulator)
	if err != nil {
		return "", -1, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	command := exec.CommandContext(ctx, emulator, slices.Concat([]string{"-M", b.machine,
		"-display", "none", "-serial", "none", "-monitor", "none", "-chardev",
		"stdio,id=console,mux=off", "-semihosting-config", "enable=on,target=native,chardev=console",
		"-kernel", elf}, b.more, more)...)
	var out, messages bytes.Buffer
	command.Stdout, command.Stderr = &out, &messages
	command.WaitDelay = time.Second
	err = command.Run()
	if ctx.Err() == context.DeadlineExceeded {
		return out.String(), -1, fmt.Errorf("%s: still running after %v", elf, timeout)
	}
	var exited *exec.ExitError
	if err == nil || errors.As(err, &exited) && exited.Exited() && messages.Len() == 0 {
		return out.String(), command.ProcessState.ExitCode(), nil
	}
	return out.String(), -1, fmt.Errorf("%s: %w\n%s", elf, err,
		strings.TrimSpace(messages.String()))
}

// Count runs a program as Run does and counts the instructions that the program under test
// executes where its stack is measured, exactly: a plugin of the emulator adds one for each in
// the section .text, where nothing of the harness is. It is compiled in the program's folder by
// the host's gcc.
func (b Board) Count(ctx context.Context, program string,
	timeout time.Duration) (instructions int64, stdout string, err error) {
	dir := filepath.Dir(program)
	source, err := writeSupport(dir, "count.c")
	if err != nil {
		return 0, "", err
	}
	plugin, counts := filepath.Join(dir, "count.so"), filepath.Join(dir, "count.txt")
	host := toolchain.Target{Name: "host", Compiler: "gcc"}
	if err := host.Link(ctx, plugin, source, "-O2", "-shared", "-fPIC"); err != nil {
		return 0, "", err
	}
	where, err := whereToCount(program)
	if err != nil {
		return 0, "", err
	}
	stdout, exit, err := b.Run(ctx, program, timeout, "-plugin", plugin+where+",to="+counts)
	if err != nil {
		return 0, stdout, err
	}
	if exit != 0 {
		return 0, stdout, fmt.Errorf("%s: exit code %d\n%s", program, exit, tail(stdout, 10))
	}
	text, err := os.ReadFile(counts)
	if err != nil {
		return 0, stdout, err
	}
	instructions, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return instructions, stdout, err
}

// whereToCount returns arguments of the plugin: where the code under test lies, and between
// which functions of the harness it is counted.
func whereToCount(program string) (string, error) {
	file, err := elf.Open(program)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text := file.Section(".text")
	symbols, err := file.Symbols()
	if text == nil || err != nil {
		return "", fmt.Errorf("%s has no code or no symbols: %w", program, err)
	}
	where := fmt.Sprintf(",lo=%#x,hi=%#x", text.Addr, text.Addr+text.Size)
	for _, s := range symbols {
		switch s.Name { // the lowest bit of an address says Thumb
		case "harness_paint_stack":
			where += fmt.Sprintf(",begin=%#x", s.Value&^1)
		case "harness_stack_used":
			where += fmt.Sprintf(",end=%#x", s.Value&^1)
		}
	}
	return where, nil
}
