// Command thumbnails makes small pictures of large ones. Each is written aside and renamed: whoever looks sees all of
// it or nothing, and an attempt that does it again leaves the same.
package main

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg" // what can be read
	"image/png"
	"io/fs"
	"log"
	"os"
	"path/filepath"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
)

type picture struct{ From, To string }

var shrink = waybill.Define[picture]("picture.shrink", waybill.KindOptions{Queue: "pictures", Concurrency: 2})

const by = 4 // so many pixels in each direction become one

// handle is the handler.
func handle(ctx context.Context, job *waybill.Job[picture]) error {
	f, err := os.Open(job.Args.From)
	if errors.Is(err, fs.ErrNotExist) {
		return waybill.Dead(err)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	large, _, err := image.Decode(f)
	if err != nil {
		return waybill.Dead(err) // it will not be better next time
	}
	if err := job.Progress(ctx, 50, "decoded"); err != nil {
		return err // somebody else has the job by now, or it was cancelled
	}
	return save(job.Args.To, smaller(large))
}

func save(path string, m image.Image) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".*.part")
	if err != nil {
		return err
	}
	err = errors.Join(png.Encode(f, m), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// smaller gives each pixel the mean of those that it stands for.
func smaller(m image.Image) image.Image {
	from := m.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, from.Dx()/by, from.Dy()/by))
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			var r, g, b uint32
			for i := range by * by {
				pr, pg, pb, _ := m.At(from.Min.X+x*by+i%by, from.Min.Y+y*by+i/by).RGBA()
				r, g, b = r+pr>>8, g+pg>>8, b+pb>>8
			}
			out.SetRGBA(x, y, color.RGBA{uint8(r / (by * by)), uint8(g / (by * by)), uint8(b / (by * by)), 255})
		}
	}
	return out
}

func main() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	if err := thumbnails(context.Background(), rdb, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

// thumbnails makes one beside each picture.
func thumbnails(ctx context.Context, rdb *redis.Client, paths []string) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{})
	if err != nil {
		return err
	}
	shrink.Handle(worker, handle)
	run, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(run) }()
	for _, path := range paths {
		sent, err := shrink.Enqueue(ctx, client, picture{path, path + ".small.png"})
		if err != nil {
			return err
		}
		fmt.Printf("%s: done: %v\n", filepath.Base(path), shrink.Wait(ctx, client, sent.ID) == nil)
	}
	stop()
	return <-ended
}
