package layers

import (
	"slices"
	"strings"
	"testing"

	"github.com/etgen/etgen/ir"
	"github.com/etgen/etgen/ir/etdump"
	"github.com/etgen/etgen/ir/must"
	"github.com/etgen/etgen/ir/pt2"
)

// debug is a value that an instruction noted: bytes at an offset, of sizes with strides.
func debug(instruction int32, offset int64, sizes, strides []int64) *etdump.Debug {
	return &etdump.Debug{Origin: etdump.Origin{Instruction: instruction, Delegate: -1},
		Value: &etdump.Tensor{Offset: offset, Sizes: sizes, Strides: strides}}
}

var dumpedMethod = &pt2.RecordMethod{Outs: map[int]int{1: 1, 2: 2},
	Delegates: map[int]pt2.Delegate{2: {Events: map[string]pt2.Handles{"part": {4}}}},
	Handles:   map[int]pt2.Handles{0: {1}, 1: {2, 3}, 2: {4, 5}, 3: {6}},
	Nodes: map[int][]ir.Origin{1: {{Node: "a"}}, 2: {{Node: "b"}}, 3: {{Node: "c"}}, 4: {{Node: "d"}},
		5: {{Node: "e"}}, 6: {{Node: "f"}}}}

func dumpOf(events ...etdump.Event) *etdump.Dump {
	return &etdump.Dump{Runs: []etdump.Run{{Name: "Execute", Events: events}}}
}

// Of the arguments of a delegate the last ones are its results; several are nobody's if the record
// does not tell of them. The results of a kernel are all that it notes.
func TestDumpOfDelegates(t *testing.T) {
	one, dense := []int64{1}, []int64{1}
	lists := debug(3, 0, nil, nil)
	lists.Value = etdump.TensorList{{Offset: 6, Sizes: one, Strides: dense},
		{Offset: 7, Sizes: one, Strides: dense}}
	end := &etdump.Profile{}
	part, other := debug(2, 3, one, dense), debug(2, 0, one, dense) // of a delegate's own
	part.DelegateID, other.Delegate = "part", 9
	got := dumpedValues(dumpOf(part, other, debug(0, 0, one, dense), end, debug(1, 1, one, dense),
		debug(1, 2, one, dense), end, debug(2, 3, one, dense), debug(2, 4, one, dense),
		debug(2, 5, one, dense), end, lists), []byte{0, 1, 2, 3, 4, 5, 6, 7}, dumpedMethod)
	var text []string
	for _, v := range got {
		text = append(text, v.node+"="+string('0'+v.tensor.Data[0]))
	}
	if want := []string{"d=3", "a=0", "c=2", "f=6", "f.1=7"}; !slices.Equal(text, want) {
		t.Errorf("%q, want %q", text, want)
	}
}

// Several results of a delegate are of the nodes that the record tells, if they fit.
func TestDumpOfResults(t *testing.T) {
	m := *dumpedMethod
	result := func(node string, index int, sizes ...int64) pt2.Result {
		return pt2.Result{Origin: ir.Origin{Node: node}, Index: index, DType: ir.Uint8, Sizes: sizes}
	}
	for want, results := range map[string][]pt2.Result{
		"e=1 d.1=2": {result("e", 0, 1), result("d", 1, -1)},
		"":          {result("e", 0, 1), result("d", 1, 2)},
	} {
		m.Results = map[int][]pt2.Result{2: results}
		var text []string
		for _, v := range dumpedValues(dumpOf(debug(2, 0, []int64{1}, []int64{1}),
			debug(2, 1, []int64{1}, []int64{1}), debug(2, 2, []int64{1}, []int64{1})), []byte("012"), &m) {
			text = append(text, v.node+"="+string(v.tensor.Data))
		}
		if got := strings.Join(text, " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What an instruction gives several times in a run is numbered; of several runs the last counts,
// and of several instructions for a node the last one.
func TestDumpOfLoops(t *testing.T) {
	at := func(instruction int32, offset int64) *etdump.Debug {
		return debug(instruction, offset, nil,
			nil)
	}
	end := &etdump.Profile{}
	dump := dumpOf(at(0, 9), end, at(2, 9))
	dump.Runs = append(dump.Runs, dumpOf(at(0, 1), end, at(3, 2), end, at(0, 3), end, at(3, 4), end,
		at(2, 5), end, at(4, 6)).Runs[0], etdump.Run{Name: "end"})
	m := *dumpedMethod
	m.Handles = map[int]pt2.Handles{0: {1}, 2: {5}, 3: {6}, 4: {5}}
	var text []string
	for _, v := range dumpedValues(dump, []byte("0123456789"), &m) {
		text = append(text, v.node+"="+string(v.tensor.Data[0]))
	}
	if want := []string{"a[0]=1", "f[0]=2", "a[1]=3", "f[1]=4", "e=6"}; !slices.Equal(text, want) {
		t.Errorf("%q, want %q", text, want)
	}
}

// A tensor that is larger than the debug buffer, by strides of 0, is refused; so are
// many of one place.
func TestHostileDump(t *testing.T) {
	buffer := make([]byte, 8)
	for _, events := range [][]etdump.Event{
		{debug(0, 0, []int64{1 << 29}, []int64{0})},
		{debug(0, 0, []int64{1 << 32, 1 << 32}, []int64{0, 0})},
		{debug(0, 0, []int64{8}, []int64{1}), debug(3, 0, []int64{8}, []int64{1})},
		{debug(0, 0, []int64{-1}, []int64{1})},
		{debug(0, 9, []int64{1}, []int64{1})},
	} {
		err := must.Try(func() { dumpedValues(dumpOf(events...), buffer, dumpedMethod) })
		if err == nil || !strings.Contains(err.Error(), "debug buffer") {
			t.Errorf("%v", err)
		}
	}
}

func FuzzDump(f *testing.F) {
	for _, events := range [][]etdump.Event{
		{debug(0, 0, []int64{1 << 29}, []int64{0})},
		{debug(1, 0, []int64{2}, []int64{1}), debug(1, 2, []int64{2, 2}, []int64{1, 2})},
	} {
		file, err := etdump.Write(dumpOf(events...))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file, []byte("12345678"))
	}
	f.Fuzz(func(t *testing.T, file, buffer []byte) {
		dump, err := etdump.Read(file)
		if err != nil {
			return
		}
		bytes := 0
		must.Try(func() {
			for _, v := range dumpedValues(dump, buffer, dumpedMethod) {
				bytes += len(v.tensor.Data)
			}
		})
		if bytes > len(buffer) {
			t.Errorf("%d bytes of tensors in %d", bytes, len(buffer))
		}
	})
}
