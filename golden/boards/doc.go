// Package boards tests generated C on microcontrollers: models run on an
// emulated Cortex-M4, are built for smaller cores, and what they take of flash,
// RAM and stack is held against sizes.txt.
package boards
