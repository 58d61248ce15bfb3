package demo

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/outside"
)

// How many jobs of each kind, and what is to befall them.
const (
	mails, payments, pictures, tables, hooks = 100, 80, 40, 60, 80

	jobs      = mails + payments + pictures + tables + hooks
	sentAgain = 36 // are enqueued a second time

	busyMails, lostMails, lateMails           = 8, 2, 30
	busyCards, lostCards, declined, firstOnes = 6, 4, 4, 20
	busyHooks, lostHooks                      = 8, 2

	rows = 50 // of a table
)

// latest is when the last delayed mail is due.
const latest = 8 * time.Second

// plan is the batch. All that is drawn is drawn from the seed.
type plan struct {
	rng      *rand.Rand
	requests []waybill.Request
	events   []waybill.Request
	csv      map[string]string          // of the tables, by job ID
	trouble  map[string]outside.Trouble // by idempotency key
	held     [2]string                  // IDs of the mail and of the payment during which a worker is killed
	gifts    map[int]bool               // numbers of the orders that cost nothing
}

// newPlan draws the batch. Troubles, which the outside parties have to know, come first: add makes the jobs.
func newPlan(seed uint64) *plan {
	p := &plan{
		rng: rand.New(rand.NewPCG(seed, seed)), csv: map[string]string{}, trouble: map[string]outside.Trouble{}, gifts: map[int]bool{},
	}
	held := p.befall(sendMail.Name(), "mail", mails-lateMails, []amount{
		{1, outside.Held}, {busyMails, outside.Busy}, {lostMails, outside.LostReply},
	})
	p.held[0] = held
	p.held[1] = p.befall(charge.Name(), "payment", payments-firstOnes, []amount{
		{1, outside.Held}, {busyCards, outside.Busy}, {lostCards, outside.LostReply}, {declined, outside.Refused},
	})
	p.befall(postHook.Name(), "webhook", hooks, []amount{{busyHooks, outside.Busy}, {lostHooks, outside.LostReply}})
	p.befallOrders()
	return p
}

type amount struct {
	n       int
	trouble outside.Trouble
}

// befall deals out troubles among the first n jobs of a kind, or events of a subscription, and gives the ID of the first that got one.
func (p *plan) befall(kind, name string, n int, amounts []amount) (first string) {
	drawn := p.rng.Perm(n)
	first = id(name, drawn[0])
	for _, a := range amounts {
		for _, i := range drawn[:a.n] {
			k := kind + "/" + id(name, i)
			if kind == sendMail.Name() || kind == subQueue(subMail) {
				k += domain
			}
			p.trouble[k] = a.trouble
		}
		drawn = drawn[a.n:]
	}
	return first
}

func id(name string, i int) string { return fmt.Sprintf("%s-%03d", name, i+1) }

// add makes the jobs, shuffled: the two during which a worker is killed come after a quarter and after six tenths.
func (p *plan) add(s *stage, hooksURL string) {
	for i := range mails {
		o := []waybill.EnqueueOption{waybill.ID(id("mail", i))}
		if late := i - (mails - lateMails); late >= 0 {
			o = append(o, waybill.After(latest*time.Duration(late+1)/lateMails))
		}
		to := fmt.Sprintf("customer-%d@demo.test", i+1)
		p.requests = append(p.requests, sendMail.Request(letter{to, "Your order", "It is on its way."}, o...))
	}
	for i := range payments {
		o := []waybill.EnqueueOption{waybill.ID(id("payment", i))}
		if i >= payments-firstOnes {
			o = append(o, waybill.Priority(10))
		}
		paid := payment{fmt.Sprintf("order-%d", i+1), "card", 100 + p.rng.IntN(20000)}
		p.requests = append(p.requests, charge.Request(paid, o...))
	}
	for i := range pictures {
		name := id("picture", i)
		from, to := filepath.Join(s.pictures(), name+".png"), filepath.Join(s.thumbnails(), name+".png")
		p.requests = append(p.requests, thumbnail.Request(picture{from, to}, waybill.ID(name)))
	}
	for i := range tables {
		name := id("table", i)
		p.csv[name] = p.table()
		p.requests = append(p.requests, scoreTable.Request(table{p.csv[name]}, waybill.ID(name)))
	}
	for i := range hooks {
		body := fmt.Sprintf(`{"type":"order.shipped","order":%d}`, i+1)
		p.requests = append(p.requests, postHook.Request(event{hooksURL, body}, waybill.ID(id("webhook", i))))
	}
	p.addOrders()
	p.rng.Shuffle(len(p.requests), func(i, j int) { p.swap(i, j) })
	for n, at := range []int{jobs / 4, jobs * 6 / 10} {
		p.swap(at, slices.IndexFunc(p.requests, func(r waybill.Request) bool { return r.ID == p.held[n] }))
	}
}

func (p *plan) swap(i, j int) { p.requests[i], p.requests[j] = p.requests[j], p.requests[i] }

// columns of the tables, and what they weigh.
var (
	columns = [...]string{"amount", "visits", "days"}
	weights = [...]float64{0.02, 0.3, -0.05}
)

// table draws rows of data.
func (p *plan) table() string {
	var b strings.Builder
	b.WriteString(strings.Join(columns[:], ",") + "\n")
	for range rows {
		fmt.Fprintf(&b, "%d,%d,%d\n", p.rng.IntN(200), p.rng.IntN(30), p.rng.IntN(365))
	}
	return b.String()
}

// scoring is the model that the workers load.
func scoring() model {
	m := model{Bias: -1.5, Weights: map[string]float64{}}
	for i, c := range columns {
		m.Weights[c] = weights[i]
	}
	return m
}
