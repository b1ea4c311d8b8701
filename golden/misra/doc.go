// Package misra holds generated C against MISRA C:2012 as cppcheck's addon reads it.
// deviations.txt records, for fixed packages, how often each rule is not kept, and why.
// A count may only fall.
package misra
