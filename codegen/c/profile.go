package c

import (
	"fmt"
	"strings"

	"github.com/etgen/etgen/ir/foreign"
)

// profileHeader is NAME_profile.h: what code that is made with Options.Profile calls.
func (g *gen) profileHeader() string {
	return g.profileText(`/* BANNER */
#ifndef UPPER_PROFILE_H
#define UPPER_PROFILE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UPPER_PROFILE_KERNELS COUNT

/* Ticks of the clock in a second; 0: nobody knows, and etgen profile shows ticks. */
#ifndef UPPER_PROFILE_HZ
#define UPPER_PROFILE_HZ 0
#endif

/*
 * NAME.c calls it with 2 * k before the k-th kernel, and with 2 * k + 1 after it. NAME_profile.c
 * defines it and sums up the ticks of each kernel; link something else in its place to note
 * something else. One call of the model at a time.
 */
void NAME_profile_event(int32_t event);

/*
 * The clock. It counts up, wraps at 2^32, and wraps no more than once in the time of a kernel.
 * NAME_profile.c defines it on Arm cores that have a cycle counter, unless UPPER_PROFILE_CLOCK is
 * defined; else the application does.
 */
uint32_t NAME_profile_clock(void);

/* Begins anew. */
void NAME_profile_reset(void);

/* Writes the sums as lines of text, for etgen profile. */
void NAME_profile_write(void (*put)(void *to, char c), void *to);

#ifdef __cplusplus
}
#endif

#endif
`, "_profile.h")
}

// profileSource is NAME_profile.c.
func (g *gen) profileSource() string {
	var table strings.Builder
	for _, k := range g.events.Kernels {
		fmt.Fprintf(&table, "    %s,\n", foreign.Of(k).CLiteral())
	}
	if len(g.events.Kernels) == 0 {
		table.WriteString("    \"\",\n") // C has no array without elements
	}
	return g.profileText(`/* BANNER */
#include "NAME_profile.h"

/* Each kernel, its nodes, their operators, where they come from. */
static const char *const kernels[] = {
TABLE};

static struct {
    uint32_t began, calls[LENGTH];
    uint64_t ticks[LENGTH];
} sums;

#if !defined(UPPER_PROFILE_CLOCK) && (defined(__ARM_ARCH_7M__) || defined(__ARM_ARCH_7EM__) \
    || defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__))
/* The cycle counter of the data watchpoint and trace unit, which is started if it stands still. */
uint32_t NAME_profile_clock(void)
{
    volatile uint32_t *const control = (volatile uint32_t *)0xE0001000u;
    if ((*control & 1u) == 0u) {
        *(volatile uint32_t *)0xE000EDFCu |= 1u << 24; /* the unit's clock */
        *(volatile uint32_t *)0xE0001FB0u = 0xC5ACCE55u; /* its lock, of a Cortex-M7 */
        *control |= 1u;
    }
    return *(volatile uint32_t *)0xE0001004u;
}
#endif

void NAME_profile_event(int32_t event)
{
    const uint32_t now = NAME_profile_clock();
    const int32_t k = event / 2;
    if (event % 2 != 0) {
        sums.ticks[k] += (uint32_t)(now - sums.began);
        sums.calls[k]++;
    } else {
        sums.began = NAME_profile_clock();
    }
}

void NAME_profile_reset(void)
{
    int32_t k;
    for (k = 0; k < LENGTH; k++) {
        sums.calls[k] = 0;
        sums.ticks[k] = 0;
    }
}

static void text(void (*put)(void *to, char c), void *to, const char *s)
{
    for (; *s != '\0'; s++) {
        put(to, *s);
    }
}

static void number(void (*put)(void *to, char c), void *to, uint64_t n)
{
    char digits[21];
    int32_t at = 20;
    digits[20] = '\0';
    do {
        at--;
        digits[at] = (char)('0' + (int32_t)(n % 10u));
        n /= 10u;
    } while (n != 0u);
    text(put, to, " ");
    text(put, to, &digits[at]);
}

void NAME_profile_write(void (*put)(void *to, char c), void *to)
{
    int32_t k;
    text(put, to, "etgen-profile 1");
    number(put, to, UPPER_PROFILE_KERNELS);
    number(put, to, UPPER_PROFILE_HZ);
    for (k = 0; k < UPPER_PROFILE_KERNELS; k++) {
        text(put, to, "\netgen-kernel");
        number(put, to, (uint64_t)k);
        number(put, to, sums.calls[k]);
        number(put, to, sums.ticks[k]);
        text(put, to, " ");
        text(put, to, kernels[k]);
    }
    text(put, to, "\netgen-end\n");
}
`, "_profile.c", "TABLE", table.String())
}

// profileText puts the program's names, and more, into a text.
func (g *gen) profileText(text, file string, more ...string) string {
	n := len(g.events.Kernels)
	return strings.NewReplacer(append(more, "BANNER", g.banner(g.prefix+file), "NAME", g.prefix,
		"UPPER", g.upper, "COUNT", fmt.Sprint(n), "LENGTH", fmt.Sprint(max(1, n)))...).Replace(text)
}
