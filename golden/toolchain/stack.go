package toolchain

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Frame is the stack that one function takes for itself, its callees excepted.
type Frame struct {
	Function string
	Bytes    int
	Bounded  bool // false: the size depends on run-time values
}

// StackFrames reads the stack usage that [Target.Compile] had the compiler
// write beside the objects, in source order.
func StackFrames(objects ...string) ([]Frame, error) {
	var frames []Frame
	for _, object := range objects {
		path := strings.TrimSuffix(object, ".o") + ".su"
		text, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue // an assembler source or one without functions
		}
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			frame, err := parseFrame(strings.TrimSuffix(line, "\n"))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			frames = append(frames, frame)
		}
	}
	return frames, nil
}

// parseFrame reads "file.c:12:6:name<TAB>bytes<TAB>static|dynamic[,bounded]".
func parseFrame(line string) (Frame, error) {
	fields := strings.Split(line, "\t")
	if len(fields) != 3 {
		return Frame{}, fmt.Errorf("line %q has %d fields, want 3", line, len(fields))
	}
	size, err := strconv.Atoi(fields[1])
	if err != nil {
		return Frame{}, fmt.Errorf("line %q: %w", line, err)
	}
	name := fields[0][strings.LastIndexByte(fields[0], ':')+1:]
	bounded := fields[2] == "static" || strings.HasSuffix(fields[2], "bounded")
	return Frame{Function: name, Bytes: size, Bounded: bounded}, nil
}
