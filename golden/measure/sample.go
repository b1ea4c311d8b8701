package measure

import (
	"slices"
	"time"
)

// Sample is a set of durations, sorted.
type Sample []time.Duration

// NewSample returns the sample of times, which it does not change.
func NewSample(times []time.Duration) Sample {
	s := slices.Clone(times)
	slices.Sort(s)
	return s
}

// At is the value that a fraction of the sample is below; 0 if it is empty.
func (s Sample) At(fraction float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	return s[int(fraction*float64(len(s)-1)+0.5)]
}

// Least is the smallest value. Other processes only ever add to a time, so the
// least of many tells of the code, and the median of the machine too.
func (s Sample) Least() time.Duration { return s.At(0) }

// Median is the value in the middle.
func (s Sample) Median() time.Duration { return s.At(0.5) }

// Spread is the distance of the quartiles as part of the median.
func (s Sample) Spread() float64 {
	if s.Median() == 0 {
		return 0
	}
	return float64(s.At(0.75)-s.At(0.25)) / float64(s.Median())
}
