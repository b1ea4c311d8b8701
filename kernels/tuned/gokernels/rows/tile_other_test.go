//go:build (!amd64 && !arm64) || purego

package rows

func productForms() []form { return nil }

func windowForms() []form { return nil }

func largestForms() []form { return nil }
