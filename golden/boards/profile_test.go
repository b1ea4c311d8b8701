package boards

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/etgen/etgen/codegen/profile"
	"github.com/etgen/etgen/golden/baremetal"
	"github.com/etgen/etgen/golden/tier"
	"github.com/etgen/etgen/golden/toolchain"
)

// profiledMain calls a model and writes its profile, by SysTick, for the emulator has no cycle
// counter.
const profiledMain = `#include "harness_support.h"
#include "digits.h"
#include "digits_profile.h"
uint32_t digits_profile_clock(void)
{
	static uint32_t time, last;
	uint32_t now;
	if (*(volatile uint32_t *)0xE000E010u != 5u) {
		*(volatile uint32_t *)0xE000E014u = 0xFFFFFFu;
		*(volatile uint32_t *)0xE000E010u = 5u;
	}
	now = 0xFFFFFFu - *(volatile uint32_t *)0xE000E018u;
	time += (now - last) & 0xFFFFFFu;
	last = now;
	return time;
}
static void put(void *to, char c) { char text[2] = {c, 0}; (void)to; harness_print(text); }
int harness_main(void)
{
	static float x[%d], out[10];
	static uint8_t arena[DIGITS_ARENA_SIZE] __attribute__((aligned(DIGITS_ARENA_ALIGN)));
	for (int i = 0; i < 3; i++) {
		if (digits_forward(x, out, arena) != DIGITS_OK) {
			return 1;
		}
		harness_print("called\n");
	}
	digits_profile_write(put, 0);
	return 0;
}
`

// A table of kernels comes back from a board.
func TestProfile(t *testing.T) {
	tier.Needs(t, tier.Normal)
	target := toolchain.CortexM4()
	skipWithout(t, target.Compiler, baremetal.CortexM4.Emulator)
	g := &generated{kase: readCase(t, ours+"/digits"), name: "digits", profile: true}
	g.generate(t, target)
	dir := t.TempDir()
	elements := len(g.kase.Calls[0].Inputs[0].Tensor.Data) / 4
	elf, err := baremetal.Build(t.Context(), target.With("-DDIGITS_PROFILE_CLOCK",
		"-DDIGITS_PROFILE_HZ=25000000"), dir, g.sources, fmt.Sprintf(profiledMain, elements))
	if err != nil {
		t.Fatal(err)
	}
	stdout, exit, err := baremetal.CortexM4.Run(t.Context(), elf, time.Minute, "-icount", "shift=0")
	if err != nil || exit != 0 {
		t.Fatalf("exit %d, %v\n%s", exit, err, stdout)
	}
	p, err := profile.ReadLines([]byte(stdout))
	if err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	if len(p.Steps) < 3 || p.Total <= 0 {
		t.Errorf("%d kernels take %v\n%s", len(p.Steps), p.Total, stdout)
	}
	for _, s := range p.Steps {
		if s.Runs < 3 || s.Runs%3 != 0 || !strings.Contains(s.Line.String(), ".py:") {
			t.Errorf("%s ran %d times, %s", s.Kernel, s.Runs, s.Line)
		}
	}
	// By the cycle counter it builds without a clock of the application.
	if _, err := baremetal.Link(t.Context(), target, t.TempDir(), g.sources,
		"digits_profile_event"); err != nil {
		t.Error(err)
	}
}
