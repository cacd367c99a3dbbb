//! DISTINCT of native aggregates. Lowering sorts the rows by all arguments, so equal rows are neighbours; this passes on
//! the first of each.
//!
//! Every native aggregate `f` is registered a second time as `f` with [`pgsqlite_sql::lower::support::DISTINCT_SUFFIX`]; it takes one
//! more argument in front: the types of the last arguments, as typed natives have it.

use super::session_cell::SessionCell;
use super::shim::{Call, State, Types};
use pgsqlite_types::codec::TypeCodec;
use pgsqlite_types::{Datum, Result};

pub(crate) struct Distinct {
    inner: Box<dyn State>,
    codecs: Vec<TypeCodec>,
    previous: Option<Vec<Datum>>,
}

impl Distinct {
    pub(crate) fn new(inner: Box<dyn State>) -> Distinct {
        Distinct { inner, codecs: Vec::new(), previous: None }
    }
}

impl State for Distinct {
    fn step(&mut self, call: &Call) -> Result<()> {
        if self.previous.is_none() {
            let types = Types::parse(call.text(0)?)?;
            self.codecs = types.args.iter().map(|&t| call.session.codec(t)).collect::<Result<_>>()?;
        }
        let first = call.len() - self.codecs.len();
        if let Some(previous) = &self.previous {
            let same = self.codecs.iter().enumerate().all(|(i, codec)| {
                let (a, b) = (previous[i].as_ref(), call.datum(first + i));
                a.is_null() == b.is_null() && (a.is_null() || codec.compare_storage(a, b).is_eq())
            });
            if same {
                return Ok(());
            }
        }
        self.previous = Some((first..call.len()).map(|i| call.datum(i).to_owned()).collect());
        self.inner.step(&call.without_first())
    }
    fn value(&mut self, session: &SessionCell) -> Result<Datum> {
        self.inner.value(session)
    }
}
