package outside

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"net/textproto"
	"strings"
	"sync"
)

// Mail is a mail server that keeps what it gets, one mail a Message-ID. Busy is its 451; Refused is 550.
type Mail struct {
	*Book
	listener net.Listener
	ctx      context.Context // ends when it is closed
	end      context.CancelFunc
	serving  sync.WaitGroup
}

// StartMail starts a mail server on a free port of 127.0.0.1.
func StartMail(ctx context.Context, o Options) (*Mail, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start mail server: %w", err)
	}
	m := &Mail{Book: newBook(o), listener: l}
	m.ctx, m.end = context.WithCancel(context.WithoutCancel(ctx))
	m.serving.Go(m.accept)
	return m, nil
}

// Addr is where it listens, as host:port.
func (m *Mail) Addr() string { return m.listener.Addr().String() }

// Close ends it with all its connections.
func (m *Mail) Close() error {
	m.end()
	err := m.listener.Close()
	m.serving.Wait()
	return err
}

func (m *Mail) accept() {
	for {
		conn, err := m.listener.Accept()
		if err != nil {
			return // closed
		}
		m.serving.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(m.ctx, func() { _ = conn.Close() })()
			_ = m.serve(textproto.NewConn(conn)) // the connection broke; the client sees to that
		})
	}
}

var errQuit = errors.New("the session is over")

// serve speaks as much SMTP (RFC 5321) as it takes to get a mail.
func (m *Mail) serve(c *textproto.Conn) error {
	caller := ""
	err := c.PrintfLine("220 outside.test ESMTP")
	for err == nil {
		var line string
		if line, err = c.ReadLine(); err != nil {
			return err
		}
		verb, rest, _ := strings.Cut(line, " ")
		switch strings.ToUpper(verb) {
		case "HELO", "EHLO":
			caller = rest
			err = c.PrintfLine("250 outside.test")
		case "MAIL", "RCPT", "RSET", "NOOP":
			err = c.PrintfLine("250 fine")
		case "DATA":
			err = m.data(c, caller)
		case "QUIT":
			err = errors.Join(c.PrintfLine("221 bye"), errQuit)
		default:
			err = c.PrintfLine("502 not known here")
		}
	}
	return err
}

// data takes one mail.
func (m *Mail) data(c *textproto.Conn, caller string) error {
	if err := c.PrintfLine("354 go on"); err != nil {
		return err
	}
	raw, err := c.ReadDotBytes()
	if err != nil {
		return err
	}
	mail, err := netmail.ReadMessage(bytes.NewReader(raw))
	if err != nil || mail.Header.Get("Message-ID") == "" {
		return c.PrintfLine("550 5.6.0 no mail, or one without Message-ID")
	}
	key := strings.Trim(mail.Header.Get("Message-ID"), "<>")
	m.latency(m.ctx)
	t, _ := m.ask(key, string(raw))
	switch t {
	case Busy:
		return c.PrintfLine("451 4.3.0 busy: try again later")
	case Refused:
		return c.PrintfLine("550 5.1.1 no such mailbox")
	case LostReply:
		return errQuit
	case Held:
		gone := make(chan struct{})
		m.serving.Go(func() {
			defer close(gone)
			_, _ = c.R.ReadByte() // returns when either side closes the connection
		})
		m.hold(Visit{key, caller}, gone)
		return errQuit
	}
	return c.PrintfLine("250 2.0.0 taken")
}
