package broken

// receiptFaults tear receipt and effect apart.
func receiptFaults() []Fault {
	return []Fault{
		{
			Name: "receipt-before-effect", Breaks: "the receipt is committed in a transaction of its own before the effect's",
			Edits: []Edit{{"receipt/do.go", doCall, `		if IS_BROKEN {
			var e entered
			err := o.Run(ctx, func(ctx context.Context, tx Tx) (err error) {
				e, err = r.enter(ctx, o.Session(tx), k, false)
				return err
			})
			if err == nil && e.new {
				err = o.Run(ctx, func(ctx context.Context, tx Tx) (err error) {
					res.Value, err = apply(r.inside(ctx, k), tx)
					res.Outcome = Applied
					return err
				})
			} else if err == nil {
				res.Outcome, err = r.known(k, e, how.lost)
			}
			return err
		}
` + doCall}}, Caught: []Cell{crash(promise("I6"), "receipts on sqlite: killed, where: effect written")},
		},
		{
			Name: "receipt-after-effect", Breaks: "the effect is committed in a transaction of its own before the receipt's",
			Edits: []Edit{{"receipt/do.go", doCall, `		if IS_BROKEN {
			var e entered
			known := errors.New("known")
			err := o.Run(ctx, func(ctx context.Context, tx Tx) (err error) {
				if e, err = r.enter(ctx, o.Session(tx), k, false); err == nil {
					err = known // rolls the receipt back
				}
				return err
			})
			if !errors.Is(err, known) {
				return err
			}
			if !e.new {
				res.Outcome, err = r.known(k, e, how.lost)
				return err
			}
			if err := o.Run(ctx, func(ctx context.Context, tx Tx) (err error) {
				res.Value, err = apply(r.inside(ctx, k), tx)
				res.Outcome = Applied
				return err
			}); err != nil {
				return err
			}
			return o.Run(ctx, func(ctx context.Context, tx Tx) (err error) {
				_, err = r.enter(ctx, o.Session(tx), k, false)
				return err
			})
		}
` + doCall}}, Caught: []Cell{crash(promise("I6"), "receipts on sqlite: killed, where: after commit")},
		},
		{
			Name: "receipt-mismatch-is-replay", Breaks: "a receipt of other work passes for that of this work, which is dropped",
			Edits: []Edit{{
				"receipt/enter.go", "	case !bytes.Equal(e.fp, k.Fingerprint):\n", "	case !IS_BROKEN && !bytes.Equal(e.fp, k.Fingerprint):\n",
			}}, Caught: []Cell{facts("./receipt", "^TestFacts$/^sqlite")},
		},
		{
			Name: "horizon-is-not-read", Breaks: "a job whose receipt was purged is applied again",
			Edits: []Edit{{
				"receipt/enter.go", "	if e.new && k.old(time.Now()) {\n", "	if e.new && k.old(time.Now()) && !IS_BROKEN {\n",
			}}, Caught: []Cell{facts("./receipt", "^TestPurge$/^sqlite")},
		},
	}
}

// doCall is where a transaction of a receipt is run.
const doCall = "		return r.marked(ctx, k, o.Run(ctx, func(ctx context.Context, tx Tx) (err error) {\n"
