package must

import (
	"errors"
	"strings"
	"testing"
)

var errTest = errors.New("what went wrong")

// What fails anywhere below the door is the door's error, with what it is about.
func TestTry(t *testing.T) {
	err := Try(func() {
		Do(func() { Get(At(func() int { return Get(1, error(nil)) }, "nothing"), errTest) },
			"part %d", 2)
	})
	if !errors.Is(err, errTest) || !strings.HasPrefix(err.Error(), "part 2: ") {
		t.Error(err)
	}
	if err := Try(func() { Check(nil) }); err != nil {
		t.Error(err)
	}
}

// A fault of the program is no failure: it goes on as a panic.
func TestFault(t *testing.T) {
	for _, fault := range []func(){
		func() { _ = []int(nil)[len(t.Name())] },
		func() { panic("a text") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a fault became an error")
				}
			}()
			_ = Try(fault)
		}()
	}
}
