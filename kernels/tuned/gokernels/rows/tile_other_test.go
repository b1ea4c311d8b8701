//go:build (!amd64 && !arm64) || purego

package rows

import "testing"

func productForms() []form { return nil }

func windowForms() []form { return nil }

func largestForms() []form { return nil }

func liftForms() []carryForm[lift] { return nil }

func landForms() []carryForm[land] { return nil }

func fewForms() []fewForm { return nil }

func transposeForms() []transposeForm { return nil }

func sweepForms() []sweepForm { return nil }

func levels(*testing.T) []func() { return []func(){func() {}} }
