// Package toolchain finds the C compilers and the emulator that the tests use,
// knows their flag sets, and reads what they produce: section sizes, linked
// symbols and stack frames.
//
// The door is a [Target]: a compiler with the flags of one machine.
//
//	objects, err := toolchain.CortexM4().Compile(ctx, dir, "lenet.c", "lenet_weights.c")
//
// packages.txt lists the commands and the Debian packages that carry them;
// setup.sh installs from the same list.
package toolchain

import (
	_ "embed"
	"fmt"
	"os/exec"
	"strings"
)

//go:embed packages.txt
var packages string

// MissingError says that the machine does not have what a way needs: that a command
// is not installed or does not work there, or Err.
type MissingError struct {
	Command string
	Package string // Debian package, empty if packages.txt does not know the command
	Err     error  // nil if it is the command
}

func (e *MissingError) Unwrap() error { return e.Err }

func (e *MissingError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	if e.Package == "" {
		return fmt.Sprintf("%s is not installed", e.Command)
	}
	return fmt.Sprintf("%s is not installed (on Debian and Ubuntu: apt-get install %s)", e.Command,
		strings.ReplaceAll(e.Package, ",", " "))
}

// Find returns the path of a command. The error is a [*MissingError] that names
// the Debian package to install.
func Find(command string) (string, error) {
	path, err := exec.LookPath(command)
	if err != nil {
		return "", &MissingError{Command: command, Package: debianPackage(command)}
	}
	return path, nil
}

// FindAll is Find for a compiler and the emulator, if there is one, that runs what
// it makes.
func FindAll(compiler string, emulator []string) error {
	_, err := Find(compiler)
	if err == nil && len(emulator) > 0 {
		_, err = Find(emulator[0])
	}
	return err
}

// Tool is a command that etgen or its tests start.
type Tool struct {
	Command string
	Package string // the Debian package, or several with commas between
	Need    string // who needs it: the demo, or the test
	Use     string // what of etgen uses it, "" if only tests do
}

// Tools are those of packages.txt, in its order.
func Tools() (list []Tool) {
	for line := range strings.Lines(packages) {
		fields := strings.Fields(line)
		if len(fields) >= 3 && fields[0] != "#" {
			list = append(list, Tool{fields[0], fields[1], fields[2], strings.Join(fields[3:], " ")})
		}
	}
	return list
}

func debianPackage(command string) string {
	for _, tool := range Tools() {
		if tool.Command == command {
			return tool.Package
		}
	}
	return ""
}
