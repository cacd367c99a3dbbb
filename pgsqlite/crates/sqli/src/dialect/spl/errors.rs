//! Informix's error numbers inside a routine: ON EXCEPTION sees what clients are told.

use crate::errors::{RAISED, RAISED_DETAIL};

/// SQLSTATE, a pattern of LIKE that its message has, the error and ISAM numbers. The first that fits counts.
pub(in crate::dialect) const NUMBERS: [(&str, &str, i16, i16); 27] = [
    ("42P01", "%", -206, -111),
    ("42P07", "%", -310, 0),
    ("42501", "%", -387, 0),
    ("23505", "%", -268, -100),
    ("23502", "%", -391, 0),
    ("23001", "%", -692, -112),
    ("23503", "update or delete%", -692, -112),
    ("23503", "%", -691, -111),
    ("23514", "value for domain%interval %", -1265, 0),
    ("23514", "%", -530, 0),
    ("21000", "%", -284, 0),
    ("22001", "%", -1279, 0),
    ("22003", "%smallint%", -1214, 0),
    ("22003", "%bigint%", -1284, 0),
    ("22003", "%integer%", -1215, 0),
    ("22003", "%", -1226, 0),
    ("22012", "%", -1202, 0),
    ("22P02", "%", -1213, 0),
    ("22007", "%interval%", -1262, 0),
    ("22007", "%time%", -1262, 0),
    ("22007", "%", -1218, 0),
    ("22008", "%interval%", -1262, 0),
    ("22008", "%time%", -1262, 0),
    ("22008", "%", -1218, 0),
    ("55P03", "%", -244, -154),
    ("40P01", "%", -244, -143),
    ("40001", "%", -243, -143),
];

/// The DETAIL of an error with these numbers, which are SQL expressions.
pub(super) fn detail(code: &str, isam: &str) -> String {
    format!("'{RAISED_DETAIL}' || ({code})::smallint || ' ' || coalesce(({isam})::smallint, 0)")
}

/// Statements of an EXCEPTION clause that set the variables `(code)`, `(isam)` and `(text)`.
pub(super) fn caught() -> String {
    let case = |which: fn(&(&str, &str, i16, i16)) -> i16, part: usize, other: i16| {
        let mut out = format!(
            "CASE WHEN \"(state)\" = '{RAISED}' THEN split_part(substr(\"(detail)\", {}), ' ', {part})::int",
            RAISED_DETAIL.len() + 1
        );
        for entry in &NUMBERS {
            pgsqlite_types::work::visit();
            out +=
                &format!(" WHEN \"(state)\" = '{}' AND \"(text)\" LIKE '{}' THEN {}", entry.0, entry.1, which(entry));
        }
        format!("{out} ELSE {other} END")
    };
    let codes = case(|e| e.2, 1, crate::errors::TEXT);
    let isams = case(|e| e.3, 2, 0);
    format!(
        "GET STACKED DIAGNOSTICS \"(state)\" = RETURNED_SQLSTATE, \"(text)\" = MESSAGE_TEXT, \"(detail)\" = PG_EXCEPTION_DETAIL, \
         \"(constraint)\" = CONSTRAINT_NAME, \"(column)\" = COLUMN_NAME; \"(code)\" := {codes}; \"(isam)\" := {isams}; \
         \"(text)\" := CASE WHEN \"(state)\" = '{RAISED}' OR \"(code)\" = {text} THEN \"(text)\" ELSE \
         coalesce(nullif(\"(constraint)\", ''), nullif(\"(column)\", ''), substring(\"(text)\" from '\"([^\"]*)\"'), '') END;",
        text = crate::errors::TEXT
    )
}

/// Declarations of what [`caught`] sets.
pub(super) const VARIABLES: &str =
    "\"(state)\" text; \"(text)\" text; \"(detail)\" text; \"(constraint)\" text; \"(column)\" text; \
     \"(code)\" int; \"(isam)\" int; ";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::Failure;
    use pgsqlite_types::{PgError, SqlState};

    #[test]
    fn routines_and_clients_see_the_same_numbers() {
        for (state, pattern, code, isam) in NUMBERS {
            let Some(state) = SqlState::parse(state) else { panic!("{state} is no SQLSTATE") };
            let message = pattern.replace('%', " \"x\" ");
            let failure = Failure::from(PgError::new(state, message.trim_start()));
            assert_eq!((failure.sqlcode, failure.isamcode), (code, isam), "{pattern}");
        }
    }
}
