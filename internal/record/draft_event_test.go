package record_test

import (
	"errors"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/record"
)

func TestDraft_CheckEvent(t *testing.T) {
	t.Parallel()
	plain := record.Draft{Job: record.Job{Kind: "orders", Headers: map[string]string{"tenant": "7"}, Version: 2}}
	if err := plain.CheckEvent(); err != nil {
		t.Errorf("headers and a version: %v", err)
	}
	for field, change := range map[string]func(*record.Draft){
		"priority":     func(d *record.Draft) { d.Priority = -1 },
		"lifo":         func(d *record.Draft) { d.LIFO = true },
		"delay":        func(d *record.Draft) { d.Job.Delay = time.Second },
		"at":           func(d *record.Draft) { d.Job.At = time.Unix(1, 0) },
		"max failures": func(d *record.Draft) { d.Job.MaxFailures = 1 },
		"retention":    func(d *record.Draft) { d.Job.Retention = time.Hour },
		"on full":      func(d *record.Draft) { d.Spill = true },
	} {
		d := plain
		change(&d)
		var bad *record.InputError
		if err := d.CheckEvent(); !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
