package main

import (
	"context"
	"fmt"

	"github.com/waybillhq/waybill/examples/internal/private"
	"github.com/waybillhq/waybill/internal/outside"
)

func Example() {
	rdb, end := private.Redis()
	defer end()
	server, err := outside.StartMail(context.Background(), outside.Options{Trouble: map[string]outside.Trouble{
		"welcome.send/welcome/bob@example.com@shop.example":    outside.LostReply,
		"welcome.send/welcome/nobody@example.com@shop.example": outside.Refused,
	}})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	if err := mail(context.Background(), rdb, mailer{server.Addr(), "shop@shop.example"}); err != nil {
		fmt.Println(err)
	}
	got := server.Counts()
	fmt.Printf("the server has %d mails; %d came twice\n", got.Effects, got.Repeats)
	// Output:
	// welcome/ann@example.com: <nil>
	// welcome/bob@example.com: <nil>
	// welcome/nobody@example.com: job welcome/nobody@example.com in queue mail ended dead: 550 "5.1.1 no such mailbox"
	// the server has 2 mails; 1 came twice
}
