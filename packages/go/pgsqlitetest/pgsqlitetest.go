// Package pgsqlitetest gives each test a PostgreSQL database of its own, by the program pgsqlite.
package pgsqlitetest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const user = "postgres"

// server is the one of the test binary. It ends with its standard input, and so with the binary, however that ends.
type server struct {
	folder string
	input  io.WriteCloser
}

var (
	start  = sync.OnceValues(newServer)
	number atomic.Int64
)

func program() (string, error) {
	if named := os.Getenv("PGSQLITE_BIN"); named != "" {
		return named, nil
	}
	found, err := exec.LookPath("pgsqlite")
	if err != nil {
		return "", errors.New("the program pgsqlite was not found: put it on the PATH, or name it in PGSQLITE_BIN")
	}
	return found, nil
}

func newServer() (*server, error) {
	path, err := program()
	if err != nil {
		return nil, err
	}
	removeAbandoned()
	folder, err := os.MkdirTemp("", "pgsqlitetest-")
	if err != nil {
		return nil, err
	}
	databases := filepath.Join(folder, "databases")
	if err := os.Mkdir(databases, 0o700); err != nil {
		return nil, err
	}
	command := exec.Command(path, "--data-dir", databases, "--socket-dir", folder, "--no-tcp", "--auth", "trust", "--superuser", user, "--stop-with-input")
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "PGSQLITE_") {
			command.Env = append(command.Env, variable)
		}
	}
	var said bytes.Buffer
	command.Stderr = &said
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	// (the first line comes when it listens)
	if _, err := bufio.NewReader(output).ReadString('\n'); err != nil {
		_ = command.Wait()
		_ = os.RemoveAll(folder)
		return nil, fmt.Errorf("pgsqlite did not start: %s", strings.TrimSpace(said.String()))
	}
	return &server{folder: folder, input: input}, nil
}

// removeAbandoned removes the folders of test binaries that have ended: nobody listens on their sockets. A folder of the last minute
// may be one whose server is just starting.
func removeAbandoned() {
	folders, _ := filepath.Glob(filepath.Join(os.TempDir(), "pgsqlitetest-*"))
	for _, folder := range folders {
		info, err := os.Stat(folder)
		if err != nil || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		if conn, err := net.Dial("unix", filepath.Join(folder, ".s.PGSQL.5432")); err == nil {
			_ = conn.Close()
		} else {
			_ = os.RemoveAll(folder)
		}
	}
}

func (s *server) url(database string) string {
	// (no host before the path: a client that overlooks the parameter must not come to another server)
	return fmt.Sprintf("postgresql://%s@/%s?host=%s&port=5432", user, url.PathEscape(database), url.QueryEscape(s.folder))
}

// session opens a session: its start-up packet, and the server's answer. The protocol is that of PostgreSQL's manual, "Frontend/Backend Protocol".
func (s *server) session(database string, options ...string) (net.Conn, error) {
	conn, err := net.Dial("unix", filepath.Join(s.folder, ".s.PGSQL.5432"))
	if err != nil {
		return nil, err
	}
	words := append([]string{"user", user, "database", database}, options...)
	body := append([]byte(strings.Join(words, "\x00")), 0, 0)
	packet := binary.BigEndian.AppendUint32(nil, uint32(len(body)+8))
	packet = binary.BigEndian.AppendUint32(packet, 196608)
	if err := ask(conn, append(packet, body...)); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// run runs statements, whose rows are not looked at.
func (s *server) run(database, statements string) error {
	conn, err := s.session(database)
	if err != nil {
		return err
	}
	defer conn.Close()
	packet := binary.BigEndian.AppendUint32([]byte{'Q'}, uint32(len(statements)+5))
	return ask(conn, append(append(packet, statements...), 0))
}

// ask sends a message, and reads until the server is ready.
func ask(conn net.Conn, message []byte) error {
	if _, err := conn.Write(message); err != nil {
		return err
	}
	var told error
	head := make([]byte, 5)
	for {
		if _, err := io.ReadFull(conn, head); err != nil {
			return errors.Join(told, err)
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(conn, body); err != nil {
			return errors.Join(told, err)
		}
		switch head[0] {
		case 'Z':
			return told
		case 'E':
			for _, field := range strings.Split(string(body), "\x00") {
				if strings.HasPrefix(field, "M") && told == nil {
					told = errors.New(field[1:])
				}
			}
		}
	}
}

func quoted(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// A Migrated is a database that is made once for the test binary, and copied for each test.
type Migrated struct {
	make func() (string, error)
}

// Template returns a database that migrate fills when the first test asks for a copy.
func Template(migrate func(url string) error) *Migrated {
	return &Migrated{make: sync.OnceValues(func() (string, error) {
		s, err := start()
		if err != nil {
			return "", err
		}
		name := fmt.Sprintf("template_%d", number.Add(1))
		if err := s.run("postgres", "CREATE DATABASE "+quoted(name)); err != nil {
			return "", err
		}
		return name, migrate(s.url(name))
	})}
}

// Execute runs statements, for migrations that are plain SQL: Template(pgsqlitetest.Execute(sql)).
func Execute(statements string) func(string) error {
	return func(where string) error {
		s, err := start()
		if err != nil {
			return err
		}
		parsed, err := url.Parse(where)
		if err != nil {
			return err
		}
		return s.run(strings.TrimPrefix(parsed.Path, "/"), statements)
	}
}

// New returns the URL of a database that is the test's alone, and gone at its end: empty, or a copy of a template.
func New(t testing.TB, template ...*Migrated) string {
	t.Helper()
	s, err := start()
	if err != nil {
		t.Fatal(err)
	}
	original := "postgres"
	if len(template) > 0 {
		if original, err = template[0].make(); err != nil {
			t.Fatalf("the template: %v", err)
		}
	}
	name := fmt.Sprintf("test_%d", number.Add(1))
	held, err := s.session(name, "pgsqlite.clone", original)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = held.Close() })
	return s.url(name)
}
