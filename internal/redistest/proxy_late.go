package redistest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
)

// kept is a frame that is to be delivered later, on another connection.
type kept struct {
	Request
	hello [][]byte // what this connection had said of itself before
}

// handshake is what a connection said of itself, in order: the last frame of each sort.
type handshake struct {
	sorts []string
	said  [][]byte
}

// note remembers a request that belongs to the handshake. It belongs to the goroutine that reads requests.
func (h *handshake) note(r Request) {
	sort := r.Verb
	if len(r.Args) > 1 && sort == "client" {
		sort = "client " + strings.ToLower(string(r.Args[1]))
		if sort == "client setinfo" && len(r.Args) > 2 {
			sort += " " + strings.ToLower(string(r.Args[2]))
		}
	}
	switch sort {
	case "hello", "auth", "select", "client setname", "client setinfo lib-name", "client setinfo lib-ver":
	default:
		return
	}
	if i := slices.Index(h.sorts, sort); i >= 0 {
		h.said = slices.Replace(slices.Clone(h.said), i, i+1, r.Raw)
		return
	}
	h.sorts, h.said = append(h.sorts, sort), append(h.said, r.Raw)
}

func (h *handshake) before(r Request) kept {
	return kept{Request: r, hello: slices.Clone(h.said)}
}

// keep keeps a frame for Deliver, and counts the fate.
func (p *Proxy) keep(f Fate, k kept) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fired[f]++
	p.late = append(p.late, k)
}

// Deliver sends the frames that were kept, in order, and gives them back with their replies. Each goes on a new connection,
// behind what its own had sent of HELLO, AUTH, SELECT and CLIENT SETNAME or SETINFO. Where that fails this frame and the
// ones behind it stay kept. Rules are not asked.
func (p *Proxy) Deliver(ctx context.Context) (answered []Request, err error) {
	p.mu.Lock()
	late := p.late
	p.late = nil
	p.mu.Unlock()
	for i, k := range late {
		reply, err := p.deliver(ctx, k)
		if err != nil {
			p.mu.Lock()
			p.late = append(slices.Clone(late[i:]), p.late...)
			p.mu.Unlock()
			return answered, fmt.Errorf("redistest: deliver %s: %w", k.Verb, err)
		}
		k.Reply = reply
		answered = append(answered, k.Request)
	}
	return answered, nil
}

func (p *Proxy) deliver(ctx context.Context, k kept) ([]byte, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, p.network, p.server)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	in := newFrames(conn)
	for _, raw := range k.hello {
		if _, err := ask(conn, in, raw); err != nil { // what was refused there may be refused here
			return nil, fmt.Errorf("handshake: %w", err)
		}
	}
	return ask(conn, in, k.Raw)
}

// ask sends a frame and waits for its reply.
func ask(conn net.Conn, in *frames, raw []byte) ([]byte, error) {
	if _, err := conn.Write(raw); err != nil {
		return nil, err
	}
	for {
		reply, err := in.next()
		if err != nil || reply[0] != '>' {
			return reply, err
		}
	}
}
