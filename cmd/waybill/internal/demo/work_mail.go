package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/smtp"
	"net/textproto"

	"github.com/waybillhq/waybill"
)

// domain stands behind the key in a Message-ID.
const domain = "@demo.test"

// sendMail sends a mail. It may be sent twice, when its worker dies or an answer is lost: the Message-ID stays the
// same, so that the other side can tell.
func (w *worker) sendMail(ctx context.Context, job *waybill.Job[letter]) error {
	return w.mail(ctx, w.Mail, job.IdempotencyKey(), job.Args)
}

// mail sends a letter under a key by a mail server, host:port.
func (w *worker) mail(ctx context.Context, server, key string, l letter) error {
	text := fmt.Sprintf("Message-ID: <%s%s>\r\nFrom: <shop@demo.test>\r\nTo: <%s>\r\nSubject: %s\r\n\r\n%s\r\n",
		key, domain, l.To, l.Subject, l.Text)
	err := w.smtp(ctx, server, l.To, text)
	var said *textproto.Error
	if errors.As(err, &said) && said.Code >= 500 {
		return waybill.Dead(err) // no such mailbox: no retry can mend it
	}
	return err
}

// smtp hands one mail to a mail server.
func (w *worker) smtp(ctx context.Context, server, to, text string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", server)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	c, err := smtp.NewClient(conn, server)
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return c.Hello(w.Name) },
		func() error { return c.Mail("shop@demo.test") },
		func() error { return c.Rcpt(to) },
		func() error { return write(c, text) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	_ = c.Quit() // the mail is taken already
	return nil
}

func write(c *smtp.Client, text string) error {
	data, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := data.Write([]byte(text)); err != nil {
		return err
	}
	return data.Close()
}
