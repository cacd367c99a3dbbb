//! PgError → ErrorResponse / NoticeResponse fields (manual, "Error and Notice Message Fields").

use pgsqlite_types::PgError;
use pgsqlite_wire::backend::Output;
use std::borrow::Cow;

/// What who meets a refusal can do.
const REFUSED: &str = "docs/compatibility.md tells what is not implemented, and what to write instead. \
    With --log-refused FILE the server collects all such statements of an application.";

/// Appends an error or notice. `text`: the statement string the error's location counts in.
pub fn write(out: &mut Output, error: &PgError, kind: u8, text: Option<&str>) {
    let f = error.fields();
    let mut fields: Vec<(u8, Cow<str>)> = vec![
        (b'S', f.severity.as_str().into()),
        (b'V', f.severity.as_str().into()),
        (b'C', f.code.as_str().to_string().into()),
        (b'M', f.message.as_str().into()),
    ];
    let mut optional = |code: u8, value: &Option<String>| {
        if let Some(value) = value {
            fields.push((code, value.clone().into()));
        }
    };
    optional(b'D', &f.detail);
    match &f.hint {
        None if error.is_refusal() => optional(b'H', &Some(REFUSED.to_string())),
        hint => optional(b'H', hint),
    }
    optional(b'q', &f.internal_query);
    optional(b'W', &f.context);
    optional(b's', &f.schema);
    optional(b't', &f.table);
    optional(b'c', &f.column);
    optional(b'd', &f.data_type);
    optional(b'n', &f.constraint);
    // the place in our own source; a module stands for the routine where none is named
    let file = f.source.file().rsplit(['/', '\\']).next().unwrap_or_default();
    fields.push((b'F', file.into()));
    fields.push((b'L', f.source.line().to_string().into()));
    fields.push((b'R', f.routine.unwrap_or(file.trim_end_matches(".rs")).into()));
    let (text, code) = match &f.internal_query {
        Some(query) => (Some(query.as_str()), b'p'),
        None => (f.located_in.as_deref().or(text), b'P'),
    };
    if let (Some(location), Some(text)) = (f.location, text) {
        // bytes → characters, from 1
        let before = text.get(..location).map(|t| t.chars().count());
        if let Some(n) = before {
            fields.push((code, (n + 1).to_string().into()));
        }
    }
    out.fields(kind, fields.into_iter());
}
