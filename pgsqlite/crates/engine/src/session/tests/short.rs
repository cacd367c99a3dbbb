//! A short form of what `{:?}` says of a tree: without locations and what is as it mostly is, with names of types and functions.

use pgsqlite_sql::builtins::catalog::proc_by_oid;
use pgsqlite_types::typmod::type_name;
use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

/// A line's length, from which on a part has lines of its own.
const WIDTH: usize = 140;

/// A value as `{:?}` prints it.
enum Part {
    Word(String),
    /// a name, the brackets, and what is in them: each with the name of its field
    Group(String, char, Vec<(String, Part)>),
}

pub fn short(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    let part = read(&mut text.chars().peekable());
    let mut out = String::new();
    print(&simplified("", part), 0, &mut out);
    out
}

fn closing(open: char) -> char {
    match open {
        '(' => ')',
        '[' => ']',
        _ => '}',
    }
}

fn word(chars: &mut Peekable<Chars>) -> String {
    let mut out = String::new();
    while let Some(&c) = chars.peek() {
        match c {
            '"' | '\'' => {
                out.push(c);
                chars.next();
                while let Some(inner) = chars.next() {
                    out.push(inner);
                    if inner == '\\' {
                        out.extend(chars.next());
                    } else if inner == c {
                        break;
                    }
                }
            }
            '(' | '[' | '{' | ')' | ']' | '}' | ',' | ':' => break,
            _ => {
                out.push(c);
                chars.next();
            }
        }
    }
    out.trim().to_owned()
}

fn read(chars: &mut Peekable<Chars>) -> Part {
    let name = word(chars);
    match chars.peek() {
        Some(&open @ ('(' | '[' | '{')) => {
            chars.next();
            let mut inner = Vec::new();
            while let Some(&c) = chars.peek() {
                if c == closing(open) {
                    chars.next();
                    break;
                }
                if c == ',' || c == ' ' {
                    chars.next();
                    continue;
                }
                match read(chars) {
                    Part::Word(field) if chars.peek() == Some(&':') => {
                        chars.next();
                        inner.push((field, read(chars)));
                    }
                    part => inner.push((String::new(), part)),
                }
            }
            Part::Group(name, open, inner)
        }
        _ => Part::Word(name),
    }
}

/// Whether a field says nothing: it is as most are.
fn is_usual(field: &str, part: &Part) -> bool {
    match part {
        Part::Word(word) => {
            matches!(field, "location" | "levels_up" | "epoch")
                && word.parse::<i64>().is_ok_and(|n| field == "location" || n == 0)
                || matches!(word.as_str(), "None" | "false")
                || field == "typmod" && word == "-1"
                || field == "collation" && word == "0"
        }
        Part::Group(name, _, inner) => name.is_empty() && inner.is_empty(),
    }
}

fn simplified(field: &str, part: Part) -> Part {
    match part {
        Part::Word(word) => {
            let oid = word.parse().ok().filter(|oid| *oid < 16384);
            let name = match field {
                "ty" | "type_oid" => oid.and_then(type_name),
                "proc" | "function" => oid.and_then(proc_by_oid).map(|p| p.name.to_string()),
                _ => None,
            };
            Part::Word(name.unwrap_or(word))
        }
        Part::Group(name, _, inner) if name == "Relation" && inner.iter().any(|(f, _)| f == "sqlite_name") => {
            let named = inner.into_iter().find(|(field, _)| field == "name");
            Part::Group("table".into(), '(', named.into_iter().map(|(_, part)| (String::new(), part)).collect())
        }
        // what is wrapped alone needs no wrapping
        Part::Group(name, '(', mut inner) if matches!(name.as_str(), "Some" | "Var") && inner.len() == 1 => {
            simplified(field, inner.remove(0).1)
        }
        Part::Group(name, open, inner) => {
            let kept = inner.into_iter().filter(|(field, part)| !is_usual(field, part));
            Part::Group(name, open, kept.map(|(field, part)| (field.clone(), simplified(&field, part))).collect())
        }
    }
}

fn flat(part: &Part, out: &mut String) {
    match part {
        Part::Word(word) => out.push_str(word),
        Part::Group(name, open, inner) => {
            out.push_str(name);
            out.push(*open);
            for (i, (field, part)) in inner.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                if !field.is_empty() {
                    let _ = write!(out, "{field}: ");
                }
                flat(part, out);
            }
            out.push(closing(*open));
        }
    }
}

fn print(part: &Part, indent: usize, out: &mut String) {
    let mut line = String::new();
    flat(part, &mut line);
    let Part::Group(name, open, inner) = part else {
        out.push_str(&line);
        return;
    };
    if line.chars().count() + indent <= WIDTH {
        out.push_str(&line);
        return;
    }
    out.push_str(name);
    out.push(*open);
    for (field, part) in inner {
        let _ = write!(out, "\n{:1$}", "", indent + 1);
        if !field.is_empty() {
            let _ = write!(out, "{field}: ");
        }
        print(part, indent + 1, out);
    }
    out.push(closing(*open));
}

#[test]
fn a_tree_is_shortened() {
    #[derive(Debug)]
    #[allow(dead_code)]
    struct Tree {
        ty: u32,
        typmod: i32,
        location: i32,
        text: Option<&'static str>,
        nothing: Option<i32>,
        list: Vec<(i32, char)>,
    }
    let tree = Tree {
        ty: 23,
        typmod: -1,
        location: 7,
        text: Some("a, (\"b\""),
        nothing: None,
        list: vec![(1, ','), (2, 'x')],
    };
    assert_eq!(short(&tree), r#"Tree{ty: integer, text: "a, (\"b\"", list: [(1, ','), (2, 'x')]}"#);
}
