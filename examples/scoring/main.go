// Command scoring gives rows of data a score by a small model, which is loaded once. Jobs go in one call; the results
// are kept with them.
package main

import (
	"context"
	_ "embed"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
)

type table struct{ CSV string }

type scores struct{ Scores []float64 }

var score = waybill.DefineResult[table, scores]("table.score", waybill.KindOptions{
	Queue: "scoring", Retention: time.Hour, // for so long the results can be read
})

//go:embed model.json
var stored []byte

// model is a logistic one: a weight for each column.
type model struct {
	Bias    float64
	Weights map[string]float64
}

// score is the handler.
func (m model) score(_ context.Context, job *waybill.Job[table]) (scores, error) {
	s, err := m.table(job.Args.CSV)
	if err != nil {
		return scores{}, waybill.Dead(err) // the same rows will not be better next time
	}
	return scores{s}, nil
}

// table scores the rows of a table whose first row names the columns.
func (m model) table(text string) ([]float64, error) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errors.New("the table is empty")
	}
	var out []float64
	for _, row := range rows[1:] {
		sum := m.Bias
		for i, cell := range row {
			x, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				return nil, fmt.Errorf("column %s: %w", rows[0][i], err)
			}
			sum += m.Weights[rows[0][i]] * x
		}
		out = append(out, 1/(1+math.Exp(-sum)))
	}
	return out, nil
}

func main() {
	tables := []table{{"amount,visits\n120,3\n15,40\n"}, {"amount,visits\n0,0\n"}, {"amount,visits\nmuch,0\n"}}
	if err := run(context.Background(), redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"}), tables); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, rdb *redis.Client, tables []table) error {
	var m model
	if err := json.Unmarshal(stored, &m); err != nil {
		return err
	}
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{})
	if err != nil {
		return err
	}
	score.Handle(worker, m.score)
	work, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(work) }()
	sent, err := score.EnqueueMany(ctx, client, tables)
	if err != nil {
		return err
	}
	for _, s := range sent {
		got, err := score.Wait(ctx, client, s.ID)
		fmt.Printf("%.3f dead: %v\n", got.Scores, errors.Is(err, waybill.ErrDead))
	}
	stop()
	return <-ended
}
