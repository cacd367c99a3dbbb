//! Flags, PGSQLITE_ variables, the configuration file, and which of them wins.

use crate::harness::*;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

/// The variables that `--help` names.
fn variables() -> Vec<String> {
    let output = output(pgsqlite(&["--help"]));
    assert_eq!(output.status.code(), Some(0));
    let help = String::from_utf8(output.stdout).unwrap();
    let variables: Vec<String> =
        help.split("[env: ").skip(1).map(|rest| rest.split(['=', ']']).next().unwrap().to_string()).collect();
    for variable in &variables {
        let flag = variable.strip_prefix("PGSQLITE_").unwrap().to_lowercase().replace('_', "-");
        assert!(help.contains(&format!("--{flag}")), "{variable} is named as its flag");
    }
    // every flag but --help and --version has one
    let flags = help.lines().filter(|l| l.trim_start().starts_with("--")).count();
    let named = variables.len();
    assert!(flags == named || flags == named + 2, "{flags} flags, {named} variables:\n{help}");
    variables
}

#[test]
fn help_and_version() {
    let variables = variables();
    for name in [
        "DATABASE",
        "IN_MEMORY",
        "DATA_DIR",
        "HOST",
        "PORT",
        "SOCKET_DIR",
        "NO_TCP",
        "LOG_LEVEL",
        "CONFIG",
        "AUTH",
        "TLS_CERT",
        "TLS_KEY",
        "TLS_SELF_SIGNED",
        "USE_POOLING",
        "POOL_SIZE",
        "POOL_TIMEOUT",
        "MAX_CONNECTIONS",
    ] {
        assert!(variables.contains(&format!("PGSQLITE_{name}")), "{name}");
    }
    let version = output(pgsqlite(&["--version"]));
    assert_eq!(String::from_utf8(version.stdout).unwrap(), format!("pgsqlite {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn variables_do_what_flags_do() {
    let folder = Folder::new();
    let mut command = pgsqlite(&[]);
    command
        .env("PGSQLITE_DATABASE", folder.path("mine.db"))
        .env("PGSQLITE_SOCKET_DIR", &folder.0)
        .env("PGSQLITE_PORT", "7001")
        .env("PGSQLITE_NO_TCP", "true")
        .env("PGSQLITE_USE_POOLING", "true")
        .env("PGSQLITE_POOL_SIZE", "10")
        .env("PGSQLITE_POOL_TIMEOUT", "5")
        .env("PGSQLITE_MAX_CONNECTIONS", "1")
        .env("PGSQLITE_RESERVED_CONNECTIONS", "0")
        .env("PGSQLITE_LOG_LEVEL", "error");
    let server = Server::spawn(command, folder.0.join(".s.PGSQL.7001"), 7001);
    let mut client = server.session_in("any");
    assert_eq!(client.value("SELECT current_database()"), "mine");
    // what SHOW says is what holds
    for (name, value) in [
        ("max_connections", "1"),
        ("superuser_reserved_connections", "0"),
        ("port", "7001"),
        ("listen_addresses", ""),
        ("unix_socket_directories", folder.0.to_str().unwrap()),
        ("ssl", "off"),
        ("authentication_timeout", "1min"),
    ] {
        assert_eq!(client.value(&format!("SHOW {name}")), value, "{name}");
    }
    let mut second = server.connect();
    second.send(&startup(&[("user", "postgres")]));
    assert_eq!(second.told_to_go(), "53300");
}

#[test]
fn booleans_of_the_environment_are_read_as_people_write_them() {
    for (value, serves) in [("true", true), ("1", true), ("on", true), ("yes", true), ("off", false), ("0", false)] {
        let folder = Folder::new();
        let mut command = unix_only(&folder, &[]);
        command.env("PGSQLITE_IN_MEMORY", value);
        match serves {
            true => drop(Server::spawn(command, folder.0.join(".s.PGSQL.5432"), 5432)),
            // nothing is left to serve
            false => assert!(refused(command).contains("--in-memory"), "{value}"),
        }
    }
}

#[test]
fn a_flag_wins_over_the_environment_and_that_over_the_file() {
    let folder = Folder::new();
    let config = folder.path("config.toml");
    std::fs::write(
        &config,
        format!(
            "database = {:?}\nsocket_dir = {:?}\nport = 7001\nno_tcp = true\nuse_pooling = false\npool_size = 3\n\
             pool_timeout = 4\nmax_connections = 7\nreserved_connections = 1\nauthentication_timeout = 9\n\
             send_timeout = 0\nshutdown_timeout = 2\nauth = \"trust\"\nlog_level = \"error\"\nin_memory = false\n\
             tls_self_signed = true\nrequire_tls = true\n",
            folder.path("file.db"),
            folder.0.to_str().unwrap()
        ),
    )
    .unwrap();
    let socket = |port: u16| folder.0.join(format!(".s.PGSQL.{port}"));
    let database = |server: &Server| server.session_in("any").value("SELECT current_database()");
    let file = ["--config", &config];
    assert_eq!(database(&Server::spawn(pgsqlite(&file), socket(7001), 7001)), "file");
    let mut environment = pgsqlite(&[]);
    environment
        .env("PGSQLITE_CONFIG", &config)
        .env("PGSQLITE_PORT", "7002")
        .env("PGSQLITE_DATABASE", folder.path("env.db"));
    assert_eq!(database(&Server::spawn(environment, socket(7002), 7002)), "env");
    // what a stronger place says to serve, a weaker one does not contradict
    let mut memory = pgsqlite(&[&file[..], &["--in-memory", "--port", "7004"]].concat());
    memory.env("PGSQLITE_DATABASE", folder.path("env.db"));
    assert_eq!(database(&Server::spawn(memory, socket(7004), 7004)), "main");
    let mut all = pgsqlite(&[&file[..], &["--port", "7003", "--database", &folder.path("flag.db")]].concat());
    all.env("PGSQLITE_PORT", "7002").env("PGSQLITE_DATABASE", folder.path("env.db"));
    assert_eq!(database(&Server::spawn(all, socket(7003), 7003)), "flag");
}

#[test]
fn what_the_file_should_not_say_is_refused() {
    let folder = Folder::new();
    let config = folder.path("config.toml");
    for (text, said) in [
        ("in_memory = true\nportt = 5", "portt"),
        ("in_memory = true\nport = \"many\"", "port"),
        ("in_memory = true\nport = 70000", "port"),
        ("in_memory = true\ndatabase = \"a.db\"", "more than one"),
        ("in_memory = true\ntls_cert = \"a\"", "tls_key"),
        ("in_memory = true\nrequire_tls = true", "require_tls"),
        ("in_memory = true\npool_size = 0", "pool_size must be at least 1"),
        ("in_memory = true\nlog_level = \"foo\"", "log level \"foo\""),
        ("in_memory = true\nhost = \"localhost\"\nno_tcp = true", "host and no_tcp exclude each other"),
        ("port = 5", "say what to serve"),
        ("not toml", "config.toml"),
    ] {
        std::fs::write(&config, text).unwrap();
        let output = output(unix_only(&folder, &["--config", &config]));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(stderr.contains(said), "{text}: {stderr}");
    }
    assert!(refused(unix_only(&folder, &["--config", &folder.path("missing.toml")])).contains("missing.toml"));
}

#[test]
fn a_bad_command_line_is_refused() {
    let folder = Folder::new();
    for flags in [
        &["--in-memory", "--port", "70000"][..],
        &["--in-memory", "--auth", "password"],
        &["--in-memory", "--nonsense"],
        &["--in-memory", "surplus"],
    ] {
        let output = output(unix_only(&folder, flags));
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        assert!(!output.stderr.is_empty(), "{flags:?}");
    }
    for (flags, said) in [
        (&[][..], "--database FILE"),
        (&["--database", "a.db", "--in-memory"], "more than one"),
        (&["--database", "a.db", "--data-dir", "."], "more than one"),
        (&["--in-memory", "--tls-cert", "a.pem"], "go together"),
        (&["--in-memory", "--require-tls"], "require_tls"),
    ] {
        let text = refused(unix_only(&folder, flags));
        assert!(text.contains(said), "{flags:?}: {text}");
    }
    for level in ["===", "foo", "info,foo", "pgsqlite=foo", ""] {
        let said = refused(unix_only(&folder, &["--in-memory", "--log-level", level]));
        assert!(said.contains("error, warn, info, debug and trace") || said.contains("log level"), "{level}: {said}");
    }
    for (flags, said) in [
        (&["--pool-size", "0"][..], "pool_size must be at least 1"),
        (&["--max-connections", "0"], "max_connections must be at least 1"),
        // --no-tcp is there already
        (&["--host", "127.0.0.1"], "host and no_tcp exclude each other"),
    ] {
        let text = refused(unix_only(&folder, &[&["--in-memory"][..], flags].concat()));
        assert!(text.contains(said), "{flags:?}: {text}");
    }
    assert_eq!(folder.names(), [] as [&str; 0]);
    std::fs::write(folder.path("a.db"), "").unwrap();
    let text = refused(unix_only(&folder, &["--data-dir", &folder.path("a.db")]));
    assert!(text.contains("is no folder"), "{text}");
}

#[test]
fn strangers_are_not_trusted_by_default() {
    let folder = Folder::new();
    let port = free_port().to_string();
    let flags = ["--in-memory", "--host", "0.0.0.0", "--port", &port, "--socket-dir", folder.0.to_str().unwrap()];
    let said = refused(pgsqlite(&flags));
    assert!(said.contains("--auth scram"), "{said}");
    assert!(UnixStream::connect(folder.0.join(format!(".s.PGSQL.{port}"))).is_err());
}

/// What a server prints until it is told to stop.
fn greeting(mut command: std::process::Command, socket: std::path::PathBuf, port: u16) -> String {
    command.stdout(std::process::Stdio::piped());
    let mut server = Server::spawn(command, socket, port);
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
    let mut said = String::new();
    std::io::Read::read_to_string(server.process.stdout.as_mut().unwrap(), &mut said).unwrap();
    said
}

#[test]
fn the_greeting_tells_how_to_connect() {
    let folder = Folder::new();
    let socket = folder.0.join(".s.PGSQL.5432");
    let said = greeting(unix_only(&folder, &["--in-memory"]), socket, 5432);
    assert!(said.contains(&format!("psql -h {} -p 5432 main", folder.0.display())), "{said}");
}

#[test]
fn the_greeting_names_what_a_client_can_use() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("my sockets")).unwrap();
    // a relative folder, every address, nobody who could log in
    let port = free_port();
    let text = port.to_string();
    let flags = ["--database", "a.db", "--host", "0.0.0.0", "--auth", "scram", "--socket-dir", "my sockets"];
    let socket = folder.0.join("my sockets").join(format!(".s.PGSQL.{port}"));
    let command = |flags: &[&str]| {
        let mut command = pgsqlite(&[flags, &["--port", &text]].concat());
        command.current_dir(&folder.0);
        command
    };
    let said = greeting(command(&flags), socket.clone(), port);
    let directory = folder.0.canonicalize().unwrap();
    for line in [
        format!("  psql -h '{}/my sockets' -p {port} -U USER main\n", directory.display()),
        format!("  postgresql://USER@localhost:{port}/main  (and every other address of this machine)\n"),
        "Nobody can log in yet: no user has a password.".into(),
        "  pgsqlite user add --superuser NAME --database a.db\n".into(),
    ] {
        assert!(said.contains(&line), "{line}{said}");
    }
    // the command that it names does what it says
    let mut add = pgsqlite(&["user", "add", "--superuser", "alice", "--database", "a.db"]);
    add.current_dir(&folder.0).stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut adding = add.spawn().unwrap();
    std::io::Write::write_all(adding.stdin.as_mut().unwrap(), b"secret\n").unwrap();
    drop(adding.stdin.take());
    assert!(adding.wait().unwrap().success());
    let said = greeting(command(&flags), socket, port);
    assert!(!said.contains("Nobody"), "{said}");
}

#[test]
fn unknown_variables_are_told_of() {
    let folder = Folder::new();
    let mut command = unix_only(&folder, &["--data-dir", &folder.path("missing")]);
    command.env("PGSQLITE_POOLSIZE", "10").env("PGSQLITE_BIN", "x").env("PGSQLITE_POOL_SIZE", "10");
    let said = String::from_utf8(output(command).stderr).unwrap();
    let warnings: Vec<&str> = said.lines().filter(|l| l.contains("warning")).collect();
    assert_eq!(warnings, ["pgsqlite: warning: the environment variable PGSQLITE_POOLSIZE means nothing to pgsqlite"]);
}

#[test]
fn port_0_is_any_free_port_and_the_one_that_was_given_is_printed_and_shown() {
    let folder = Folder::new();
    let socket_dir = folder.0.to_str().unwrap();
    let any = ["--port", "0", "--sqli-port", "0", "--status-addr", "localhost:0", "--socket-dir", socket_dir];
    let mut command = pgsqlite(&[&["--in-memory"][..], &any].concat());
    let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
    // "… serves …", and one line each for the socket, TCP, Informix clients and the page
    let lines: Vec<String> =
        BufReader::new(process.stdout.take().unwrap()).lines().take(5).map(|line| line.unwrap()).collect();
    let number = |after: &str, line: &str| {
        let rest = line.split_once(after).unwrap_or_else(|| panic!("{after:?} in {lines:?}")).1;
        rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse::<u16>().unwrap()
    };
    let port = number(" -p ", &lines[1]);
    assert_ne!(port, 0);
    assert_eq!(number("localhost:", &lines[2]), port);
    for (after, line) in [("localhost:", &lines[2]), ("localhost:", &lines[3]), ("localhost:", &lines[4])] {
        TcpStream::connect(("localhost", number(after, line))).unwrap();
    }
    let server = Server { process, socket: folder.0.join(format!(".s.PGSQL.{port}")), port };
    assert_eq!(server.session().rows("SHOW port"), [[port.to_string()]]);
    server.stop();
    let said = refused(unix_only(&folder, &["--in-memory", "--port", "0"]));
    assert!(said.contains("port 0") && said.contains("Name the port"), "{said}");
}
