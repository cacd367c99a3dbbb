//! Enum types. Stored as TEXT, the label; ordered by the position of the label.

use crate::codec::EnumType;
use crate::{text, Datum, DatumRef, PgError, Result, SqlState};

impl EnumType {
    /// The position of a label; labels that the type does not have (a foreign file) come after all others.
    pub fn position(&self, label: &str) -> usize {
        self.labels.iter().position(|l| l == label).unwrap_or(usize::MAX)
    }

    /// Errors: 55P04 for a label that the transaction has added.
    pub fn check_safe(&self, label: &str) -> Result<()> {
        if self.unsafe_labels.iter().any(|l| l == label) {
            let message = format!("unsafe use of new value \"{label}\" of enum type {}", self.name);
            return Err(PgError::new(SqlState::UNSAFE_NEW_ENUM_VALUE_USAGE, message)
                .hint("New enum values must be committed before they can be used."));
        }
        Ok(())
    }
}

pub(crate) fn text_in(label: &str, of: &EnumType) -> Result<Datum> {
    if of.labels.iter().any(|l| l == label) {
        of.check_safe(label)?;
        return Ok(Datum::from(label));
    }
    Err(PgError::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        format!("invalid input value for enum {}: \"{label}\"", of.name),
    ))
}

pub(crate) fn binary_in(bytes: &[u8], of: &EnumType) -> Result<Datum> {
    text_in(text::decode_utf8(bytes)?, of)
}

pub(crate) fn out(value: DatumRef, out: &mut Vec<u8>) -> Result<()> {
    text::text_out(value, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels() {
        let mood = EnumType {
            oid: 1,
            name: "mood".into(),
            labels: ["sad", "ok", "happy"].map(String::from).into(),
            unsafe_labels: vec![],
        };
        assert_eq!(text_in("ok", &mood).ok(), Some(Datum::from("ok")));
        let e = text_in("bad", &mood).expect_err("no such label");
        assert_eq!((e.code().as_str(), e.message()), ("22P02", "invalid input value for enum mood: \"bad\""));
        let codec = crate::codec::TypeCodec::Enum(std::sync::Arc::new(mood));
        assert!(codec.compare_text("sad", "happy").is_lt());
        assert!(codec.compare_text("happy", "ok").is_gt());
    }
}
