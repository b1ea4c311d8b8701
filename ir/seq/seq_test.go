package seq

import (
	"reflect"
	"strconv"
	"testing"
)

func TestSeq(t *testing.T) {
	digits := Of(4, strconv.Itoa)
	for _, x := range []struct{ got, want any }{
		{digits, []string{"0", "1", "2", "3"}},
		{Map(digits, func(s string) int { return len(s) }), []int{1, 1, 1, 1}},
		{Map(nil, strconv.Itoa), []string{}},
		{Filter(digits, func(s string) bool { return s > "1" }), []string{"2", "3"}},
		{Filter(digits, func(s string) bool { return s > "3" }), []string(nil)},
		{Set([]int{2, 1, 2}), map[int]bool{1: true, 2: true}},
		{KeyBy([]string{"a", "bc", "d"}, func(s string) int { return len(s) }),
			map[int]string{1: "d", 2: "bc"}},
	} {
		if !reflect.DeepEqual(x.got, x.want) {
			t.Errorf("%v, want %v", x.got, x.want)
		}
	}
}
