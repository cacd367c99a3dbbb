// pgx: which of several servers it connects to, by target_session_attrs.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
)

func main() {
	conn, err := pgx.Connect(context.Background(), os.Args[1])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	defer conn.Close(context.Background())
	var folder string
	if err := conn.QueryRow(context.Background(), "SELECT current_setting('unix_socket_directories')").Scan(&folder); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(folder)
}
