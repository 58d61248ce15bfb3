// Command mail sends mails over SMTP. A mail may go out twice, when a worker dies or an answer is lost; its Message-ID
// stays the same, so that the receiving side can tell.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/smtp"
	"net/textproto"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
)

type welcome struct{ Email, Name string }

// JobID names the job after its cause: nobody is welcomed twice.
func (w welcome) JobID() string { return "welcome/" + w.Email }

var sendWelcome = waybill.Define[welcome]("welcome.send", waybill.KindOptions{
	Queue: "mail", Timeout: time.Minute, Retry: waybill.Exponential(100*time.Millisecond, time.Hour),
})

// mailer is where mails go to.
type mailer struct{ addr, from string }

// welcome is the handler.
func (m mailer) welcome(ctx context.Context, job *waybill.Job[welcome]) error {
	text := fmt.Sprintf("Message-ID: <%s@shop.example>\r\nFrom: <%s>\r\nTo: <%s>\r\nSubject: Welcome\r\n\r\nDear %s, welcome.\r\n",
		job.IdempotencyKey(), m.from, job.Args.Email, job.Args.Name)
	err := m.send(ctx, job.Args.Email, text)
	var said *textproto.Error
	if errors.As(err, &said) && said.Code >= 500 {
		return waybill.Dead(err) // no such mailbox: no retry can mend it
	}
	return err // busy, or the connection broke: tried again
}

// send is smtp.SendMail with a context.
func (m mailer) send(ctx context.Context, to, text string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", m.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	c, err := smtp.NewClient(conn, "shop.example")
	if err != nil {
		return err
	}
	if err := c.Mail(m.from); err != nil {
		return err
	}
	if err := c.Rcpt(to); err != nil {
		return err
	}
	data, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := data.Write([]byte(text)); err != nil {
		return err
	}
	if err := data.Close(); err != nil {
		return err
	}
	_ = c.Quit() // the mail is taken already
	return nil
}

func main() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	if err := mail(context.Background(), rdb, mailer{"127.0.0.1:25", "shop@shop.example"}); err != nil {
		log.Fatal(err)
	}
}

func mail(ctx context.Context, rdb *redis.Client, m mailer) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{})
	if err != nil {
		return err
	}
	sendWelcome.Handle(worker, m.welcome)
	run, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(run) }()
	for _, w := range []welcome{{"ann@example.com", "Ann"}, {"bob@example.com", "Bob"}, {"nobody@example.com", "Nobody"}} {
		sent, err := sendWelcome.Enqueue(ctx, client, w)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %v\n", sent.ID, sendWelcome.Wait(ctx, client, sent.ID))
	}
	stop()
	return <-ended
}
