//! Expressions of SQL/JSON: calls of native functions that get what is written beside the arguments as JSON.

use super::{quote_text, support, Lowerer};
use crate::sql_json::{Construction, Format, SqlJson};
use crate::typed::Expr;
use pgsqlite_types::{oid, PgError, Result};

impl Lowerer<'_> {
    pub(super) fn sql_json(&mut self, form: &SqlJson, args: &[Expr]) -> Result<String> {
        // (domains, composite types)
        self.uses_catalog = true;
        let types = || args.iter().map(|a| a.ty).collect();
        let construction = |formats: &[Format], ty: pgsqlite_types::Oid| Construction {
            types: types(),
            formats: formats.to_vec(),
            binary: ty == oid::JSONB,
            bytes: ty == oid::BYTEA,
            ..Construction::default()
        };
        let made = match form {
            // (jsonb among the arguments makes the default jsonb, which RETURNING says then)
            SqlJson::Object { absent, unique, formats, returning } => {
                let how = Construction { absent: *absent, unique: *unique, ..construction(formats, returning.0) };
                (support::JSON_OBJECT, serde_json::to_string(&how))
            }
            SqlJson::Array { absent, formats, returning } => {
                let how = Construction { absent: *absent, ..construction(formats, returning.0) };
                (support::JSON_ARRAY, serde_json::to_string(&how))
            }
            SqlJson::Aggregate { .. } => {
                let [call] = args else { return Err(PgError::internal("a JSON aggregate without its call")) };
                return self.expr(call);
            }
            SqlJson::Parse { unique, format } => {
                let how = Construction { unique: *unique, ..construction(&[*format], oid::JSON) };
                (support::JSON_PARSE, serde_json::to_string(&how))
            }
            SqlJson::Scalar => {
                (support::JSON_SCALAR, serde_json::to_string(&construction(&[Format::Default], oid::JSON)))
            }
            SqlJson::Serialize { format, returning } => {
                (support::JSON_SERIALIZE, serde_json::to_string(&construction(&[*format], returning.0)))
            }
            SqlJson::Is { kind, unique } => (support::IS_JSON, serde_json::to_string(&(kind, unique))),
            SqlJson::Path(call) => (support::JSON_PATH, serde_json::to_string(call)),
            SqlJson::Table(table) => (support::JSON_TABLE, serde_json::to_string(table)),
        };
        let (native, told) = (made.0, made.1.map_err(|e| PgError::internal(e.to_string()))?);
        let mut texts = vec![quote_text(&told)];
        texts.extend(self.exprs(args)?);
        Ok(format!("{native}({})", texts.join(", ")))
    }
}
