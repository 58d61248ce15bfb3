package demo

import (
	"time"

	"github.com/waybillhq/waybill"
)

// queueName is the one queue of the demo.
const queueName = "demo"

// The arguments of the five jobs.
type (
	letter  struct{ To, Subject, Text string }
	payment struct {
		Order, Card string
		Cents       int
	}
	picture struct{ From, To string } // paths
	table   struct{ CSV string }
	event   struct{ URL, Body string }
)

// scores is the result of a table, one a row.
type scores struct{ Scores []float64 }

// options of all kinds here: all that ends is kept for an hour, to be looked at.
func options() waybill.KindOptions {
	return waybill.KindOptions{
		Queue: queueName, Retention: time.Hour, Timeout: 15 * time.Second,
		Retry: waybill.Exponential(200*time.Millisecond, 2*time.Second),
	}
}

// The kinds, declared once for who sends and who works.
var (
	sendMail   = waybill.Define[letter]("mail.send", options())
	charge     = waybill.Define[payment]("payment.charge", options())
	thumbnail  = waybill.Define[picture]("picture.thumbnail", options())
	scoreTable = waybill.DefineResult[table, scores]("table.score", options())
	postHook   = waybill.Define[event]("webhook.post", options())
)
