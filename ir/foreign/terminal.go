package foreign

import (
	"io"
	"unicode/utf8"
)

// Terminal is a writer of text that people read, on a terminal perhaps. What it is
// given passes through [Lines].
type Terminal struct {
	// Before, if not nil, is called before anything is written.
	Before func()

	to   io.Writer
	rest []byte // the beginning of a rune
	err  error  // of the first write that failed
}

// NewTerminal returns a Terminal that writes to another writer.
func NewTerminal(to io.Writer) *Terminal { return &Terminal{to: to} }

// Write implements [io.Writer].
func (t *Terminal) Write(p []byte) (int, error) {
	data := append(t.rest, p...)
	end := len(data)
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if last := data[len(data)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				end -= n
			}
			break
		}
	}
	t.rest = append([]byte(nil), data[end:]...)
	if err := t.write(data[:end]); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (t *Terminal) write(p []byte) error {
	_, err := harmless{t}.Write([]byte(Lines(string(p))))
	return err
}

// harmless writes to what is below a Terminal, and notes the first error.
type harmless struct{ *Terminal }

// Write implements [io.Writer].
func (t harmless) Write(p []byte) (int, error) {
	if t.Before != nil {
		t.Before()
	}
	n, err := t.to.Write(p)
	if t.err == nil {
		t.err = err
	}
	return n, err
}

// Close writes what is left of a rune that never became whole, and returns the error of the
// first write that failed. It does not close what is below.
func (t *Terminal) Close() error {
	rest := t.rest
	t.rest = nil
	if len(rest) > 0 {
		t.write(rest)
	}
	return t.err
}

// Unwrap returns the writer below, to see what it is. Who writes to it takes Harmless.
func (t *Terminal) Unwrap() io.Writer { return t.to }

// Harmless returns a writer to what is below, for bytes that are no text and for text
// that is harmless already and has colours. Close returns its errors too.
func (t *Terminal) Harmless() io.Writer { return harmless{t} }
