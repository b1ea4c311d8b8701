//go:build !unix

package cli

func openFiles() error { return nil }
