package demo

import (
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"

	"github.com/waybillhq/waybill"
)

// shrink is how many pixels of a picture, in each direction, become one of its thumbnail.
const shrink = 4

// thumbnail makes a small picture of a large one. It is written aside and renamed: whoever looks sees all of it or
// nothing, and an attempt that does it again leaves the same.
func (w *worker) thumbnail(_ context.Context, job *waybill.Job[picture]) error {
	f, err := os.Open(job.Args.From)
	if errors.Is(err, os.ErrNotExist) {
		return waybill.Dead(err)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	large, err := png.Decode(f)
	if err != nil {
		return waybill.Dead(err)
	}
	return save(job.Args.To, smaller(large))
}

// save writes a picture in one step.
func save(path string, m image.Image) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".*.part")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(png.Encode(f, m), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// smaller gives each pixel the mean of those that it stands for.
func smaller(m image.Image) image.Image {
	from := m.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, from.Dx()/shrink, from.Dy()/shrink))
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			out.SetRGBA(x, y, mean(m, from.Min.X+x*shrink, from.Min.Y+y*shrink))
		}
	}
	return out
}

func mean(m image.Image, x0, y0 int) color.RGBA {
	var r, g, b uint32
	for y := y0; y < y0+shrink; y++ {
		for x := x0; x < x0+shrink; x++ {
			pr, pg, pb, _ := m.At(x, y).RGBA()
			r, g, b = r+pr>>8, g+pg>>8, b+pb>>8
		}
	}
	const n = shrink * shrink
	return color.RGBA{uint8(r / n), uint8(g / n), uint8(b / n), 255}
}
