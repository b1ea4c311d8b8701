package loop

// Arguments says how many arguments a primitive has.
var Arguments = arguments
