package main

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"

	"github.com/waybillhq/waybill/examples/internal/private"
)

// write puts a file into a directory and gives its path.
func write(dir, name string, content func(io.Writer) error) string {
	f, err := os.Create(filepath.Join(dir, name))
	if err == nil {
		err = content(f)
	}
	if err != nil {
		panic(err)
	}
	if err := f.Close(); err != nil {
		panic(err)
	}
	return f.Name()
}

func Example() {
	rdb, end := private.Redis()
	defer end()
	dir, err := os.MkdirTemp("", "thumbnails-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	m := image.NewRGBA(image.Rect(0, 0, 80, 40)) // the left half is red, the right one blue
	draw.Draw(m, m.Rect, image.NewUniform(color.RGBA{0, 0, 255, 255}), image.Point{}, draw.Src)
	draw.Draw(m, image.Rect(0, 0, 40, 40), image.NewUniform(color.RGBA{255, 0, 0, 255}), image.Point{}, draw.Src)
	paths := []string{
		write(dir, "flag.png", func(w io.Writer) error { return png.Encode(w, m) }),
		write(dir, "flag.jpeg", func(w io.Writer) error { return jpeg.Encode(w, m, nil) }),
		write(dir, "text.png", func(w io.Writer) error { _, err := io.WriteString(w, "no picture"); return err }),
		filepath.Join(dir, "missing.png"),
	}
	if err := thumbnails(context.Background(), rdb, paths); err != nil {
		fmt.Println(err)
	}
	small, err := os.Open(paths[0] + ".small.png")
	if err != nil {
		panic(err)
	}
	defer small.Close()
	got, err := png.Decode(small)
	fmt.Println(got.Bounds(), got.At(0, 0), got.At(19, 9), err)
	files, err := os.ReadDir(dir)
	fmt.Println(len(files), "files", err)
	// Output:
	// flag.png: done: true
	// flag.jpeg: done: true
	// text.png: done: false
	// missing.png: done: false
	// (0,0)-(20,10) {255 0 0 255} {0 0 255 255} <nil>
	// 5 files <nil>
}
