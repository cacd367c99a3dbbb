//! The text of `pg_ident.conf`: which users of the operating system, or names of certificates, may be which role. A line has the name of a map,
//! the user (behind a slash: a regular expression) and the role, in which `\1` stands for the first part of the expression.

use super::lines::{lines, reason, Fault};
use pgsqlite_natives::regex;
use pgsqlite_types::{PgError, Result, SqlState};
use std::path::{Path, PathBuf};

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    pub line: usize,
    pub map: String,
    /// The user as the system (or a certificate) names it; behind a slash, a regular expression.
    pub system_user: String,
    pub role: String,
}

/// All lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Maps {
    mappings: Vec<Mapping>,
    file: PathBuf,
}

/// The lines of a text, each with its number, or what is wrong with it.
fn entries(text: &str, folder: &Path) -> Vec<(usize, std::result::Result<Mapping, String>)> {
    lines(text, folder)
        .map(|(line, fields)| {
            let mapping = fields.and_then(|fields| {
                let mut words = Vec::with_capacity(3);
                for at in 0..3 {
                    match fields.get(at).map(Vec::as_slice) {
                        Some([word]) => words.push(word.text.clone()),
                        Some(_) => return Err("multiple values in ident field".to_string()),
                        None => return Err("missing entry at end of line".to_string()),
                    }
                }
                // (what follows means nothing to PostgreSQL, either)
                let [map, system_user, role] = <[String; 3]>::try_from(words).unwrap_or_default();
                if let Some(expression) = system_user.strip_prefix('/') {
                    regex::check(expression).map_err(|e| {
                        let why = e.message().trim_start_matches("invalid regular expression: ").to_string();
                        format!("invalid regular expression \"{expression}\": {why}")
                    })?;
                }
                Ok(Mapping { line, map, system_user, role })
            });
            (line, mapping)
        })
        .collect()
}

impl Maps {
    /// The maps of a file. Errors: 58P01 where it cannot be read, F0000 with every line that is none.
    pub fn read(file: &Path) -> Result<Maps> {
        let (mut mappings, mut faults) = (Vec::new(), Vec::new());
        for (line, entry) in Maps::entries_of(file)? {
            match entry {
                Ok(mapping) => mappings.push(mapping),
                Err(message) => faults.push(Fault { line, message }),
            }
        }
        match faults.is_empty() {
            true => Ok(Maps { mappings, file: file.to_path_buf() }),
            false => Err(super::told(file, &faults)),
        }
    }

    /// What the file has now, line by line.
    pub(super) fn entries_of(file: &Path) -> Result<Vec<(usize, std::result::Result<Mapping, String>)>> {
        let text = read(file)?;
        Ok(entries(&text, file.parent().unwrap_or(Path::new("."))))
    }

    /// The file that the maps were read from.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Whether a map lets a user of the system be a role. Errors: an expression has no first part for the `\1` of its role, or takes too long.
    pub fn lets(&self, map: &str, system_user: &str, role: &str) -> Result<bool> {
        for mapping in self.mappings.iter().filter(|m| m.map == map) {
            let lets = match mapping.system_user.strip_prefix('/') {
                None => mapping.system_user == system_user && mapping.role == role,
                Some(expression) => match regex::parts(expression, system_user)? {
                    None => false,
                    Some(parts) if mapping.role.contains("\\1") => match parts.get(1).cloned().flatten() {
                        Some(part) => mapping.role.replacen("\\1", &part, 1) == role,
                        None => {
                            return Err(PgError::new(
                                SqlState::INVALID_REGULAR_EXPRESSION,
                                format!(
                                    "regular expression \"{expression}\" has no subexpressions as requested by \
                                     backreference in \"{}\"",
                                    mapping.role
                                ),
                            ))
                        }
                    },
                    Some(_) => mapping.role == role,
                },
            };
            if lets {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The text of a file with rules or maps.
pub(super) fn read(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).map_err(|e| {
        let message = format!("could not open configuration file \"{}\": {}", file.display(), reason(&e));
        PgError::new(SqlState::UNDEFINED_FILE, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_name_users_and_expressions() {
        let text = "# maps\nm root postgres\nm root \"db user\"\nn /^(.*)@example\\.org$ \\1\nn /^x+$ x # all\nm /t$ any and more\nb /b \\1\n";
        let mappings: Vec<Mapping> = entries(text, Path::new("/")).into_iter().map(|(_, m)| m.unwrap()).collect();
        let maps = Maps { mappings, file: PathBuf::new() };
        for (map, user, role, expected) in [
            ("m", "root", "postgres", true),
            ("m", "root", "db user", true),
            ("m", "root", "root", false),
            ("m", "roo", "postgres", false),
            ("m", "Root", "postgres", false),
            ("n", "root", "postgres", false),
            ("n", "ann@example.org", "ann", true),
            ("n", "ann@example.org", "bob", false),
            ("n", "ann@example.org.evil", "ann", false),
            ("n", "xxx", "x", true),
            ("n", "xxy", "x", false),
            ("m", "cat", "any", true),
            ("nosuch", "root", "postgres", false),
        ] {
            assert_eq!(maps.lets(map, user, role).unwrap(), expected, "{map} {user} {role}");
        }
        assert!(maps.lets("b", "b", "b").is_err(), "no part for \\1");
    }

    #[test]
    fn what_is_no_mapping_is_told() {
        let text = "one\none two\na,b c d\na b,c d\nbad /(( x\n";
        let told: Vec<String> =
            entries(text, Path::new("/")).into_iter().map(|(line, m)| format!("{line} {}", m.unwrap_err())).collect();
        let expected = [
            "1 missing entry at end of line",
            "2 missing entry at end of line",
            "3 multiple values in ident field",
            "4 multiple values in ident field",
            "5 invalid regular expression \"((\": parentheses () not balanced",
        ];
        assert_eq!(told, expected);
    }
}
