package history_test

import (
	"testing"

	"github.com/waybillhq/waybill/history"
)

func TestCheck_Asked(t *testing.T) {
	asked := enqueue(1, "a", begun(1), outcome(history.Unknown), code("asked"))
	by := func(name string) func(*history.Event) { return func(e *history.Event) { e.Process = name } }
	refused := enqueue(5, "a", begun(1), outcome(history.Fail), code("rejected"))
	hold(t, "I2", map[string]fact{
		"a producer that died between may have enqueued it": {lines: tape{asked, attempt(2, "a", 1)}},
		"what was asked for need not be there":              {lines: append(whole("b"), asked)},
		"the answer counts where there is one":              {lines: tape{asked, refused, attempt(6, "a", 1)}, breaks: "I3", text: "refused"},
		"another process's answer is not its":               {lines: tape{asked, enqueue(5, "a", begun(1), outcome(history.Fail), by("other")), attempt(6, "a", 1)}},
		"another call's answer is not its":                  {lines: tape{asked, enqueue(5, "a", begun(3), outcome(history.Fail)), attempt(6, "a", 1)}},
		"another payload than was asked for is found":       {lines: tape{asked, attempt(2, "a", 1, hash("x"))}, breaks: "I2", text: "not what was sent"},
	})
}
