package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

var errNoMain = errors.New("the server does not tell the processor time of its main thread: it takes Redis 7.0")

// usage is what a server has used since its start, or between two moments.
type usage struct {
	main  float64 // CPU of the thread that carries out commands, µs
	total float64 // CPU of all threads, µs
	calls float64 // commands, those inside scripts too
}

func (u usage) minus(v usage) usage {
	return usage{u.main - v.main, u.total - v.total, u.calls - v.calls}
}

func (u usage) plus(v usage) usage {
	return usage{u.main + v.main, u.total + v.total, u.calls + v.calls}
}

func (u usage) over(n float64) usage { return usage{u.main / n, u.total / n, u.calls / n} }

// meter reads what a server uses.
type meter struct{ rdb *redis.Client }

// measure tells what the server uses while something is done. The processor's time is read
// last before and first after it: to tell the statistics of commands costs some itself.
func (m meter) measure(ctx context.Context, do func() error) (usage, error) {
	before, err := m.calls(ctx)
	if err != nil {
		return usage{}, err
	}
	start, err := m.cpu(ctx)
	if err != nil {
		return usage{}, err
	}
	if err := do(); err != nil {
		return usage{}, err
	}
	end, err := m.cpu(ctx)
	if err != nil {
		return usage{}, err
	}
	after, err := m.calls(ctx)
	end.calls = after - before
	return end.minus(start), err
}

// cpu reads processor time.
func (m meter) cpu(ctx context.Context) (usage, error) {
	info, err := m.info(ctx, "cpu")
	if err != nil {
		return usage{}, err
	}
	const micro = 1e6
	u := usage{
		main:  micro * (info["used_cpu_user_main_thread"] + info["used_cpu_sys_main_thread"]),
		total: micro * (info["used_cpu_user"] + info["used_cpu_sys"]),
	}
	if u.main == 0 {
		return u, errNoMain
	}
	return u, nil
}

// calls counts commands, but those of the meter.
func (m meter) calls(ctx context.Context) (float64, error) {
	info, err := m.info(ctx, "commandstats")
	sum := 0.0
	for name, v := range info {
		if strings.HasPrefix(name, "cmdstat_") && name != "cmdstat_info" {
			sum += v
		}
	}
	return sum, err
}

// memory reads the bytes that the server uses for data.
func (m meter) memory(ctx context.Context) (float64, error) {
	info, err := m.info(ctx, "memory")
	return info["used_memory"] - info["mem_clients_normal"] - info["mem_aof_buffer"], err
}

// info reads the numbers of a section of INFO. Of a line of several it takes the first, which is
// the number of calls in the statistics of commands.
func (m meter) info(ctx context.Context, section string) (map[string]float64, error) {
	raw, err := m.rdb.Info(ctx, section).Result()
	if err != nil {
		return nil, fmt.Errorf("info %s: %w", section, err)
	}
	numbers := make(map[string]float64)
	for line := range strings.Lines(raw) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value, _, _ = strings.Cut(strings.TrimPrefix(value, "calls="), ",")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			numbers[name] = v
		}
	}
	return numbers, nil
}
