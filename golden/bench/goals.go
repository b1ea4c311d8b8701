package main

import "time"

// What is wanted of a model; a figure that misses it is marked.
const (
	etgenGoal   = time.Second      // for one run of the command
	gccGoal     = 10 * time.Second // for gcc -O3 of what it wrote
	threadsGoal = 1.7              // how many times faster two threads are than one, by best times

	// How many times the time of generated Go a method takes in the runtime.
	interpretedGoal = 3.0
	optimizedGoal   = 1.5
)

// peakGoals are the percents of one core's peak by model, in C and in Go.
func peakGoals() map[string][2]float64 {
	return map[string][2]float64{
		"models/tv_resnet18":     {75, 45},
		"models/tv_mobilenet_v2": {55, 30},
	}
}

// threadsModel is the model that threadsGoal is for.
const threadsModel = "models/tv_resnet18"

// missed marks a figure's text if it misses its goal.
func missed(misses bool, text string) string {
	if misses {
		return "! " + text
	}
	return text
}
