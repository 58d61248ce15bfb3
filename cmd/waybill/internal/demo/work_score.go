package demo

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill"
)

// model is a logistic one: a weight for each column.
type model struct {
	Bias    float64
	Weights map[string]float64
}

func loadModel(path string) (m model, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(raw, &m)
}

// score gives each row of a table its score. The result is kept with the job.
func (w *worker) score(_ context.Context, job *waybill.Job[table]) (scores, error) {
	s, err := w.model.table(job.Args.CSV)
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
