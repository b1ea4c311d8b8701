package rt

import (
	"fmt"
	"io"
	"os"
	"time"
)

// Platform is what the runtime needs of the system besides memory. One may be
// used by several goroutines at once.
type Platform interface {
	// Now returns nanoseconds since some fixed moment.
	Now() int64
	// Log takes a message of one line, or of several with the stack of a panic.
	Log(level LogLevel, message string)
}

// LogLevel is how important a message is.
type LogLevel uint8

// The levels of messages.
const (
	LogDebug LogLevel = iota
	LogInfo
	LogError
)

// String returns the level's name, as "error".
func (l LogLevel) String() string {
	switch l {
	case LogDebug:
		return "debug"
	case LogInfo:
		return "info"
	}
	return "error"
}

// SystemPlatform is the default Platform: the system's clock, and a log of the
// messages of Level and above.
type SystemPlatform struct {
	Level LogLevel
	Sink  io.Writer // nil drops messages
}

// DefaultPlatform writes errors to standard error.
func DefaultPlatform() Platform { return &SystemPlatform{Level: LogError, Sink: os.Stderr} }

// epoch is where SystemPlatform counts from.
var epoch = time.Now()

// Now returns the nanoseconds since the program began, by the monotonic clock.
func (p *SystemPlatform) Now() int64 { return int64(time.Since(epoch)) }

// Log writes the message with its level.
func (p *SystemPlatform) Log(level LogLevel, message string) {
	if p.Sink != nil && level >= p.Level {
		fmt.Fprintf(p.Sink, "rt: %v: %s\n", level, message) // a log that fails has nobody to tell
	}
}
