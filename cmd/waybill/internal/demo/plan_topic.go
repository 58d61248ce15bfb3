package demo

import (
	"slices"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/outside"
)

// befallOrders deals out troubles among the orders.
func (p *plan) befallOrders() {
	p.befall(subQueue(subMail), "order", orders, []amount{{busyConfirm, outside.Busy}, {lostConfirm, outside.LostReply}})
	drawn := slices.DeleteFunc(p.rng.Perm(orders), func(i int) bool { return i == heldOrder-1 })
	for _, i := range drawn[:gifts] {
		p.gifts[i+1] = true
	}
	for _, i := range drawn[gifts : gifts+busyAccounts] {
		p.trouble[called(subQueue(subBilling), id("order", i))] = outside.Busy
	}
	p.trouble[called(subQueue(subBilling), p.heldEvent())] = outside.Held
}

// heldEvent is the ID of the event during which a worker is killed.
func (p *plan) heldEvent() string { return id("order", heldOrder-1) }

// addOrders makes the events.
func (p *plan) addOrders() {
	for i := range orders {
		o := order{Number: i + 1, Cents: 100 + p.rng.IntN(20000)}
		if p.gifts[o.Number] {
			o.Cents = 0
		}
		p.events = append(p.events, ordered.Request(o, waybill.ID(id("order", i))))
	}
}
