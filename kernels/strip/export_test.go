package strip

// Levels runs a test with all forms of primitives.
var Levels = levels
