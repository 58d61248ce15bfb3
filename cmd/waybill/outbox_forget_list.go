package main

import "github.com/waybillhq/waybill/internal/store"

// boxObject is the object of an outbox that a queue knows; outbox null = words of a number that none has.
type boxObject struct {
	Queue  string  `json:"queue"`
	Number string  `json:"number"`
	Outbox *string `json:"outbox"`
	Sent   int64   `json:"sent"`
	Unread int64   `json:"unread"`
	Ours   *bool   `json:"ours"` // of the database that is named; null = none is
}

func (a *app) printBoxes(queue string, boxes []store.BoxInfo, ours string) error {
	rows := [][]cell{heads("OUTBOX", "SENT", "UNREAD")}
	for _, b := range boxes {
		is := b.Name == ours
		o := boxObject{queue, string(rune(b.Number)), orNil(b.Name), b.Sent, b.Unread, nil}
		if ours != "" {
			o.Ours = &is
		}
		if a.json {
			if err := printJSON(a.stdout, o); err != nil {
				return err
			}
			continue
		}
		row := []cell{{text: oneLine(orDash(o.Outbox))}, number(b.Sent, ""), number(b.Unread, "")}
		if is && ours != "" {
			row = append(row, cell{"of this database", green})
		}
		rows = append(rows, row)
	}
	if a.json || len(boxes) == 0 {
		return nil
	}
	return a.printRows(rows)
}
