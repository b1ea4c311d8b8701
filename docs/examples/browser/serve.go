//go:build !js

// Command serve is a web server for this folder.
package main

import (
	"log"
	"net/http"
)

func main() {
	log.Fatal(http.ListenAndServe("localhost:8318", http.FileServer(http.Dir("."))))
}
