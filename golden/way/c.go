package way

import "context"

// C compiles models to C and runs them in one program.
type C struct{ Settings Settings }

// Name is "c".
func (C) Name() string { return "c" }

// Run implements [Way].
func (w C) Run(ctx context.Context, jobs []Job, done func(int, *Result)) {
	runBatch(ctx, w.Settings, "c", jobs, nil, done)
}
