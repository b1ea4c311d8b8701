package etdump

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var sample = &Dump{Runs: []Run{
	{Name: "Default", Input: -1, Allocators: []string{"planned"}, Events: []Event{
		&Allocation{0, 1 << 33},
		&Profile{Name: "Method::init", Origin: Origin{Chain: -1, Delegate: -1}, Start: 3, End: 1 << 40},
	}},
	{Name: "Execute", Input: 2, Events: []Event{
		&Profile{Origin: Origin{Instruction: 7, Delegate: -1, DelegateID: "conv #1"},
			Metadata: []byte{1, 2}, Start: 5, End: 6},
		&Profile{Origin: Origin{Instruction: -1, Delegate: 0}, Start: 5, End: 6},
		&Debug{Name: "x", Origin: Origin{Chain: -1, Delegate: -1}, Output: true,
			Value: &Tensor{ScalarType: 6, Sizes: []int64{2, 3}, Strides: []int64{3, 1}, Offset: 64}},
		&Debug{Origin: Origin{Instruction: 1, Delegate: -1}, Value: TensorList{{ScalarType: 1}, {}}},
		&Debug{Origin: Origin{Instruction: 1, Delegate: -1}, Value: Int(-5)},
		&Debug{Origin: Origin{Instruction: 1, Delegate: -1}, Value: Bool(true)},
		&Debug{Origin: Origin{Instruction: 1, Delegate: -1}, Value: Float(0.5)},
		&Debug{Origin: Origin{Instruction: 1, Delegate: -1}, Value: Double(-0.25)},
		&Debug{Origin: Origin{Instruction: 1, Delegate: -1}, Value: Null{}},
	}},
}}

// What is written is read again.
func TestWriteRead(t *testing.T) {
	file, err := Write(sample)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for n := range file {
		if _, err := Read(file[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are read", n, len(file))
		}
	}
}

// Files of the stock runtime are read as flatc decodes them, and written again hold the same.
func TestSamples(t *testing.T) {
	files, err := filepath.Glob("../../../shared/devtools-samples/etdump_*/*.etdp")
	if err != nil || len(files) == 0 {
		t.Skip("no samples are here")
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Read(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text, err := os.ReadFile(filepath.Join(filepath.Dir(name), "lenet.json"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(decoded(t, text), times(d)); diff != "" {
			t.Errorf("%s: -flatc +etgen:\n%s", name, diff)
		}
		again, err := Write(d)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read(again)
		if diff := cmp.Diff(d, got); err != nil || diff != "" {
			t.Errorf("%s: %v, -read +written again:\n%s", name, err, diff)
		}
	}
}

// timed is a profile event, by run.
type timed struct {
	Run, Name   string
	Chain       int64
	Instruction int32
	ID          string
	Start, End  uint64
}

func times(d *Dump) (list []timed) {
	for _, r := range d.Runs {
		for _, e := range r.Events {
			if p, ok := e.(*Profile); ok {
				list = append(list, timed{r.Name, p.Name, p.Chain, p.Instruction, p.DelegateID, p.Start, p.End})
			}
		}
	}
	return list
}

// decoded is the same of what flatc made of a file.
func decoded(t *testing.T, text []byte) (list []timed) {
	t.Helper()
	var d struct {
		Runs []struct {
			Name   string `json:"name"`
			Events []struct {
				Profile *struct {
					Name        string `json:"name"`
					Chain       int64  `json:"chain_index"`
					Instruction *int32 `json:"instruction_id"`
					ID          string `json:"delegate_debug_id_str"`
					Start       uint64 `json:"start_time"`
					End         uint64 `json:"end_time"`
				} `json:"profile_event"`
			} `json:"events"`
		} `json:"run_data"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	for _, r := range d.Runs {
		for _, e := range r.Events {
			if p := e.Profile; p != nil {
				instruction := int32(-1)
				if p.Instruction != nil {
					instruction = *p.Instruction
				}
				list = append(list, timed{r.Name, p.Name, p.Chain, instruction, p.ID, p.Start, p.End})
			}
		}
	}
	return list
}

func FuzzRead(f *testing.F) {
	file, err := Write(sample)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Read(data)
		if err != nil {
			return
		}
		again, err := Write(d)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(again); err != nil {
			t.Errorf("what was written cannot be read: %v", err)
		}
	})
}
