// Command overlay writes what "go build -overlay" needs to build Waybill with all deliberate faults in it, asleep.
//
//	go run ./test/fault/broken/overlay DIR
//
// It runs in the module's directory, and prints the path of the file to be given.
package main

import (
	"fmt"
	"os"

	"github.com/waybillhq/waybill/test/fault/broken"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "overlay: give one directory, in which the files are written")
		os.Exit(2)
	}
	path, err := write(os.Args[1])
	if err != nil {
		fmt.Fprintf(os.Stderr, "overlay: %v\n", err)
		os.Exit(1)
	}
	fmt.Println(path)
}

func write(dir string) (string, error) {
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	return broken.Overlay(root, dir, broken.All())
}
