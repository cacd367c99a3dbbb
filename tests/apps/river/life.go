// River: migrations up and down, jobs of every kind (many at once, unique, scheduled, failing, snoozed, cancelled), queues.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
)

type Args struct {
	N   int    `json:"n" river:"unique"`
	How string `json:"how"`
}

func (Args) Kind() string { return "work" }

type Worker struct {
	river.WorkerDefaults[Args]
	mu      sync.Mutex
	done    map[int]int
	snoozed map[int]bool
}

func (w *Worker) Work(ctx context.Context, job *river.Job[Args]) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch job.Args.How {
	case "fail":
		return errors.New("as it should")
	case "cancel":
		return river.JobCancel(errors.New("not wanted"))
	case "snooze":
		if !w.snoozed[job.Args.N] {
			w.snoozed[job.Args.N] = true
			return river.JobSnooze(0)
		}
	}
	w.done[job.Args.N]++
	return nil
}

func (w *Worker) counts() (jobs, runs int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.done {
		jobs++
		runs += n
	}
	return
}

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	return value
}

func main() {
	ctx := context.Background()
	pool := must(pgxpool.New(ctx, os.Getenv("DATABASE_URL")))
	driver := riverpgxv5.New(pool)
	migrator := must(rivermigrate.New(driver, nil))
	for _, direction := range []rivermigrate.Direction{rivermigrate.DirectionUp, rivermigrate.DirectionDown, rivermigrate.DirectionUp} {
		options := &rivermigrate.MigrateOpts{}
		if direction == rivermigrate.DirectionDown {
			options.TargetVersion = -1
		}
		result := must(migrator.Migrate(ctx, direction, options))
		for _, v := range result.Versions {
			fmt.Println(direction, v.Version, v.Name)
		}
	}
	fmt.Println("valid:", must(migrator.Validate(ctx, nil)).OK)

	worker := &Worker{done: map[int]int{}, snoozed: map[int]bool{}}
	workers := river.NewWorkers()
	river.AddWorker(workers, worker)
	client := must(river.NewClient(driver, &river.Config{
		Logger:            slog.New(slog.NewTextHandler(io.Discard, nil)),
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 20}, "other": {MaxWorkers: 2}},
		Workers:           workers,
		FetchCooldown:     10 * time.Millisecond,
		FetchPollInterval: 50 * time.Millisecond,
	}))

	many := []river.InsertManyParams{}
	for n := 0; n < 200; n++ {
		many = append(many, river.InsertManyParams{Args: Args{N: n}})
	}
	fmt.Println("inserted:", len(must(client.InsertMany(ctx, many))))
	fmt.Println("inserted fast:", must(client.InsertManyFast(ctx, []river.InsertManyParams{{Args: Args{N: 200}}, {Args: Args{N: 201}, InsertOpts: &river.InsertOpts{Queue: "other", Priority: 2}}})))
	unique := &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}
	for range 3 {
		r := must(client.Insert(ctx, Args{N: 300}, unique))
		fmt.Println("unique:", r.UniqueSkippedAsDuplicate)
	}
	must(client.Insert(ctx, Args{N: 301, How: "snooze"}, nil))
	failing := must(client.Insert(ctx, Args{N: 302, How: "fail"}, &river.InsertOpts{MaxAttempts: 1})).Job
	cancelled := must(client.Insert(ctx, Args{N: 303, How: "cancel"}, nil)).Job
	later := must(client.Insert(ctx, Args{N: 304}, &river.InsertOpts{ScheduledAt: time.Now().Add(time.Hour), Tags: []string{"late"}})).Job
	fmt.Println("state of the later one:", later.State, later.Tags)
	tx := must(pool.Begin(ctx))
	must(client.InsertTx(ctx, tx, Args{N: 400}, nil))
	_ = tx.Rollback(ctx)
	tx = must(pool.Begin(ctx))
	must(client.InsertTx(ctx, tx, Args{N: 401}, nil))
	must(0, tx.Commit(ctx))

	must(0, client.Start(ctx))
	deadline := time.Now().Add(90 * time.Second)
	state := func(id int64) rivertype.JobState { return must(client.JobGet(ctx, id)).State }
	for time.Now().Before(deadline) {
		jobs, _ := worker.counts()
		if jobs == 205 && state(failing.ID) == rivertype.JobStateDiscarded && state(cancelled.ID) == rivertype.JobStateCancelled {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	jobs, runs := worker.counts()
	fmt.Println("done:", jobs, "runs:", runs)
	f := must(client.JobGet(ctx, failing.ID))
	fmt.Println("failing:", f.State, f.Attempt, len(f.Errors), f.Errors[0].Error)
	fmt.Println("cancelled:", state(cancelled.ID))
	fmt.Println("later, cancelled by hand:", must(client.JobCancel(ctx, later.ID)).State)
	fmt.Println("retried:", must(client.JobRetry(ctx, later.ID)).State)
	for time.Now().Before(deadline) && state(later.ID) != rivertype.JobStateCompleted {
		time.Sleep(50 * time.Millisecond)
	}
	fmt.Println("in the end:", state(later.ID))
	must(0, client.QueuePause(ctx, "other", nil))
	fmt.Println("paused:", must(client.QueueGet(ctx, "other")).PausedAt != nil)
	must(0, client.QueueResume(ctx, "other", nil))
	fmt.Println("queues:", len(must(client.QueueList(ctx, river.NewQueueListParams().First(10))).Queues))
	must(0, client.Stop(ctx))
	rows := must(pool.Query(ctx, "SELECT state::text, count(*) FROM river_job GROUP BY 1 ORDER BY 1"))
	for rows.Next() {
		values := must(rows.Values())
		fmt.Println(values...)
	}
	listed := must(client.JobList(ctx, river.NewJobListParams().States(rivertype.JobStateDiscarded).First(5)))
	fmt.Println("listed:", len(listed.Jobs))
	fmt.Println("deleted:", must(client.JobDelete(ctx, failing.ID)).ID == failing.ID)
	pool.Close()
}
