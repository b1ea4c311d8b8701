// Package mcu tests generated C on microcontrollers: on an emulated Cortex-M4
// with the memory it takes, and built for smaller machines.
package mcu
