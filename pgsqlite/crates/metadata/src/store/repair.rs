//! Repairs of what earlier versions stored wrongly.
//!
//! Files of format 1 may hold `x NOT IN (a, b)` as `x = ALL (ARRAY[a, b])`: in CHECK constraints (of tables and domains),
//! generated columns, views, rules, policies and triggers' conditions. Nobody writes that comparison by hand, because it is true
//! only where all items are equal, so each one is read as the `<>` that was meant. Bodies of functions are stored as their
//! author wrote them and are left alone. From format 2 on, what is stored is right and nothing is changed.

use pgsqlite_types::work;
use serde_json::Value;

/// The definition of an object of a file of format 1 as it was meant; None: it is right as it is.
pub fn negated_lists(class: &str, definition: &str) -> Option<String> {
    if class == "function" || !definition.contains(" ALL (") {
        return None;
    }
    let mut value: Value = serde_json::from_str(definition).ok()?;
    if !repair(&mut value) {
        return None;
    }
    serde_json::to_string(&value).ok()
}

fn repair(value: &mut Value) -> bool {
    match value {
        Value::String(text) => match repaired(text) {
            Some(new) => {
                *text = new;
                true
            }
            None => false,
        },
        Value::Array(items) => items.iter_mut().fold(false, |any, item| repair(item) | any),
        Value::Object(fields) => fields.values_mut().fold(false, |any, field| repair(field) | any),
        _ => false,
    }
}

/// An SQL text with `= ALL (ARRAY[` made `<> ALL (ARRAY[` outside of its literals and quoted names.
fn repaired(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 8);
    let mut changed = false;
    let mut quote = None;
    for (at, c) in text.char_indices() {
        work::visit();
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => {}
            None if c == '\'' || c == '"' => quote = Some(c),
            None => {
                let rest = &text[at..];
                let list = ["= ALL (ARRAY[", "= ALL ((ARRAY[", "=) ALL (ARRAY[", "=) ALL ((ARRAY["];
                let before = text[..at].chars().next_back();
                if c == '=' && matches!(before, Some(' ' | '.')) && list.iter().any(|l| rest.starts_with(l)) {
                    out.push_str("<>");
                    changed = true;
                    continue;
                }
            }
        }
        out.push(c);
    }
    changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_comparisons_with_lists_change() {
        assert_eq!(repaired("(s = ALL (ARRAY[2, 3]))").as_deref(), Some("(s <> ALL (ARRAY[2, 3]))"));
        let varchar = "((c)::text = ALL ((ARRAY['a'::character varying])::text[]))";
        assert!(repaired(varchar).is_some_and(|t| t.contains("::text <> ALL ((ARRAY['a'")));
        let qualified = "(c OPERATOR(s.=) ALL (ARRAY['a'::s.citext]))";
        assert_eq!(repaired(qualified).as_deref(), Some("(c OPERATOR(s.<>) ALL (ARRAY['a'::s.citext]))"));
        for right in [
            "(a >= ALL (ARRAY[1]))",
            "(a = ALL (b))",
            "(a = ANY (ARRAY[1]))",
            "'x = ALL (ARRAY['::text",
            "\"a = ALL (ARRAY[\"",
        ] {
            assert_eq!(repaired(right), None, "{right}");
        }
    }

    #[test]
    fn functions_keep_their_text() {
        let definition = r#"{"source":"select 1 = ALL (ARRAY[1])"}"#;
        assert_eq!(negated_lists("function", definition), None);
        assert!(negated_lists("relation", definition).is_some());
    }
}
