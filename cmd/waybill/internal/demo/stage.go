package demo

import (
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/waybillhq/waybill/internal/outside"
)

// stage is what the jobs work on: files in a temporary directory, and the outside parties, in this process.
type stage struct {
	dir     string
	mail    *outside.Mail
	gateway *outside.Gateway
	hooks   *outside.Hooks
	// For the subscriptions.
	confirm  *outside.Mail
	accounts *outside.Hooks
}

func (s *stage) pictures() string   { return filepath.Join(s.dir, "pictures") }
func (s *stage) thumbnails() string { return filepath.Join(s.dir, "thumbnails") }
func (s *stage) model() string      { return filepath.Join(s.dir, "model.json") }
func (s *stage) ledger() string     { return filepath.Join(s.dir, "ledger.db") }

// How long the outside parties take for an answer.
const (
	mailTakes = 100 * time.Millisecond
	cardTakes = 200 * time.Millisecond
	hookTakes = 150 * time.Millisecond

	accountsTake = 80 * time.Millisecond
)

// setStage makes the directory with all files, and starts the outside parties. close undoes it, also after an error.
func setStage(ctx context.Context, p *plan) (s *stage, err error) {
	s = &stage{}
	if s.dir, err = os.MkdirTemp("", "waybill-demo-"); err != nil {
		return s, err
	}
	if err := errors.Join(os.Mkdir(s.pictures(), 0o700), os.Mkdir(s.thumbnails(), 0o700)); err != nil {
		return s, err
	}
	for i := range pictures {
		if err := draw(filepath.Join(s.pictures(), id("picture", i)+".png"), p.rng); err != nil {
			return s, err
		}
	}
	raw, err := json.Marshal(scoring())
	if err != nil {
		return s, err
	}
	if err := os.WriteFile(s.model(), raw, 0o600); err != nil {
		return s, err
	}
	if err := makeLedger(ctx, s.ledger()); err != nil {
		return s, err
	}
	return s, s.start(ctx, p)
}

// start starts the outside parties.
func (s *stage) start(ctx context.Context, p *plan) (err error) {
	takes := func(d time.Duration) outside.Options { return outside.Options{Latency: d, Trouble: p.trouble} }
	if s.mail, err = outside.StartMail(ctx, takes(mailTakes)); err != nil {
		return err
	}
	if s.confirm, err = outside.StartMail(ctx, takes(mailTakes)); err != nil {
		return err
	}
	if s.gateway, err = outside.StartGateway(ctx, takes(cardTakes)); err != nil {
		return err
	}
	if s.hooks, err = outside.StartHooks(ctx, []byte(hookSecret), takes(hookTakes)); err != nil {
		return err
	}
	s.accounts, err = outside.StartHooks(ctx, []byte(hookSecret), takes(accountsTake))
	return err
}

// close ends the outside parties, and removes the files unless they are to stay.
func (s *stage) close(keep bool) error {
	var errs []error
	if s.mail != nil {
		errs = append(errs, s.mail.Close())
	}
	if s.gateway != nil {
		errs = append(errs, s.gateway.Close())
	}
	if s.hooks != nil {
		errs = append(errs, s.hooks.Close())
	}
	if s.confirm != nil {
		errs = append(errs, s.confirm.Close())
	}
	if s.accounts != nil {
		errs = append(errs, s.accounts.Close())
	}
	if s.dir != "" && !keep {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}

// size of the pictures, in pixels.
const wide, high = 160, 120

// draw makes a picture of overlapping discs and writes it as a PNG.
func draw(path string, rng *rand.Rand) error {
	m := image.NewRGBA(image.Rect(0, 0, wide, high))
	for range 6 {
		x0, y0, r := rng.IntN(wide), rng.IntN(high), 10+rng.IntN(30)
		c := color.RGBA{uint8(rng.IntN(256)), uint8(rng.IntN(256)), uint8(rng.IntN(256)), 255}
		for y := max(0, y0-r); y < min(high, y0+r); y++ {
			for x := max(0, x0-r); x < min(wide, x0+r); x++ {
				if (x-x0)*(x-x0)+(y-y0)*(y-y0) < r*r {
					m.SetRGBA(x, y, c)
				}
			}
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	quick := png.Encoder{CompressionLevel: png.BestSpeed}
	return errors.Join(quick.Encode(f, m), f.Close())
}
