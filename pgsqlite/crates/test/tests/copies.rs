//! A copy for each test, by the program that the workspace's tests have built.

use pgsqlite_test::{Server, Template};
use std::sync::Arc;

#[test]
fn each_copy_is_alone_and_the_server_leaves_nothing() {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().with_file_name("pgsqlite");
    assert!(program.exists(), "cargo test --workspace builds {}", program.display());
    let server = Arc::new(Server::start_program(&program).unwrap());
    let folder = server.host().to_path_buf();
    let template =
        Template::new(&server, |database| database.execute("CREATE TABLE books (id serial PRIMARY KEY, title text)"))
            .unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let copy = template.copy().unwrap();
                assert!(copy.url().starts_with("postgresql://postgres@/template_1_"), "{}", copy.url());
                copy.execute(
                    "INSERT INTO books (title) VALUES ('x'); DO $$BEGIN IF (SELECT max(id) FROM books) <> 1 THEN RAISE 'not alone'; END IF; END$$",
                )
                .unwrap();
                assert!(copy.execute("SELECT * FROM missing").unwrap_err().to_string().contains("missing"));
            });
        }
    });
    drop(template);
    drop(server);
    assert!(!folder.exists());
    assert!(Server::start_program("/no/such/program").is_err_and(|e| e.to_string().contains("PGSQLITE_BIN")));
}
