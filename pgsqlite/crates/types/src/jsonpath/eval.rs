//! Running a path expression over a JSON value.
//!
//! A step gives its results to the step that follows it, the last one to the list of found items. Where the caller asks for
//! silence, errors of the data become [`Outcome::Error`] instead of being raised.

use super::convert::convert;
use super::{Arithmetic, Comparison, Item, Kind, Method, Path, LAST_LEVEL};
use crate::int::Width;
use crate::json::moment::{check_template, parse, parse_standard};
use crate::json::Json;
use crate::numeric::Numeric;
use crate::{float, PgError, Result, Settings, SqlState};
use std::borrow::Cow;
use std::cmp::Ordering;

/// Whether a text matches a pattern under the flags of `like_regex`: (text, pattern, flags).
pub type Matcher<'m> = &'m dyn Fn(&str, &str, &str) -> Result<bool>;

/// What running a path came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// something was found
    Found,
    NotFound,
    /// an error that was not raised
    Error,
}

/// The truth of a predicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Truth {
    True,
    False,
    Unknown,
}

impl From<bool> for Truth {
    fn from(b: bool) -> Truth {
        if b {
            Truth::True
        } else {
            Truth::False
        }
    }
}

type Value<'a> = Cow<'a, Json>;
/// The list of found items; None where it only matters whether there is one.
type Found<'f, 'a> = Option<&'f mut Vec<Value<'a>>>;

/// Runs a path. `variables` is an object; the operators have none. `silent`: errors of the data are not raised. `all`: the items are wanted, else only
/// whether there is one. `zone`: the session's time zone may be used.
#[allow(clippy::too_many_arguments)]
pub fn run<'a>(
    path: &'a Path,
    target: &'a Json,
    variables: Option<&'a Json>,
    silent: bool,
    all: bool,
    matcher: Matcher<'a>,
    zone: Option<&'a Settings>,
) -> Result<(Outcome, Vec<Json>)> {
    if !matches!(variables, None | Some(Json::Object(_))) {
        return Err(PgError::new(SqlState::INVALID_PARAMETER_VALUE, "\"vars\" argument is not an object")
            .detail("Jsonpath parameters should be encoded as key-value pairs of \"vars\" object."));
    }
    let mut e = Evaluator {
        root: target,
        variables,
        matcher,
        zone,
        lax: path.lax,
        ignore_structure: path.lax,
        raise: !silent,
        current: Cow::Borrowed(target),
        array_size: None,
    };
    let mut found = Vec::new();
    // In strict mode only the complete list tells that there is no error.
    let outcome = if all || !path.lax {
        match e.step(&path.root, Cow::Borrowed(target), Some(&mut found))? {
            Outcome::Error => Outcome::Error,
            _ if found.is_empty() => Outcome::NotFound,
            _ => Outcome::Found,
        }
    } else {
        e.step(&path.root, Cow::Borrowed(target), None)?
    };
    Ok((outcome, found.into_iter().map(Cow::into_owned).collect()))
}

struct Evaluator<'a> {
    root: &'a Json,
    variables: Option<&'a Json>,
    matcher: Matcher<'a>,
    zone: Option<&'a Settings>,
    lax: bool,
    /// missing keys and elements are no errors
    ignore_structure: bool,
    raise: bool,
    /// `@`
    current: Value<'a>,
    /// length of the array whose subscript is computed
    array_size: Option<usize>,
}

/// The elements of an array.
fn elements<'a>(value: &Value<'a>) -> Option<Vec<Value<'a>>> {
    match value {
        Cow::Borrowed(Json::Array(items)) => Some(items.iter().map(Cow::Borrowed).collect()),
        Cow::Owned(Json::Array(items)) => Some(items.iter().map(|i| Cow::Owned(i.clone())).collect()),
        _ => None,
    }
}
/// The values in an array or object.
fn children<'a>(value: &Value<'a>) -> Vec<Value<'a>> {
    match value {
        Cow::Borrowed(Json::Object(pairs)) => pairs.iter().map(|(_, v)| Cow::Borrowed(v)).collect(),
        Cow::Owned(Json::Object(pairs)) => pairs.iter().map(|(_, v)| Cow::Owned(v.clone())).collect(),
        other => elements(other).unwrap_or_default(),
    }
}
fn member<'a>(value: &Value<'a>, key: &str) -> Option<Value<'a>> {
    match value {
        Cow::Borrowed(v) => v.get(key).map(Cow::Borrowed),
        Cow::Owned(v) => v.get(key).map(|v| Cow::Owned(v.clone())),
    }
}
fn is_array(value: &Json) -> bool {
    matches!(value, Json::Array(_))
}
fn is_container(value: &Json) -> bool {
    matches!(value, Json::Array(_) | Json::Object(_))
}

impl<'a> Evaluator<'a> {
    /// An error of the data: raised, or [`Outcome::Error`] where silence is asked for.
    fn fail(&self, code: SqlState, message: impl Into<String>) -> Result<Outcome> {
        if self.raise {
            return Err(PgError::new(code, message));
        }
        Ok(Outcome::Error)
    }
    /// As `fail`, where lax mode has no error at all.
    fn misfit(&self, code: SqlState, message: impl Into<String>) -> Result<Outcome> {
        if self.ignore_structure {
            return Ok(Outcome::NotFound);
        }
        self.fail(code, message)
    }

    fn step(&mut self, item: &'a Item, value: Value<'a>, found: Found<'_, 'a>) -> Result<Outcome> {
        crate::work::tick(16)?;
        self.unwrapping_step(item, value, found, self.lax)
    }

    /// Hands a result to the step that follows.
    fn next(&mut self, item: &'a Item, value: Value<'a>, found: Found<'_, 'a>) -> Result<Outcome> {
        match (&item.next, found) {
            (Some(next), found) => self.step(next, value, found),
            (None, Some(found)) => {
                found.push(value);
                Ok(Outcome::Found)
            }
            (None, None) => Ok(Outcome::Found),
        }
    }

    /// Runs a step; the results that are arrays are replaced by their elements (in lax mode).
    fn unwrapped(&mut self, item: &'a Item, value: Value<'a>) -> Result<(Outcome, Vec<Value<'a>>)> {
        let mut found = Vec::new();
        let outcome = self.step(item, value, Some(&mut found))?;
        if !self.lax || outcome == Outcome::Error {
            return Ok((outcome, found));
        }
        let mut flat = Vec::with_capacity(found.len());
        for v in found {
            crate::work::pulse(1);
            match elements(&v) {
                Some(items) => flat.extend(items),
                None => flat.push(v),
            }
        }
        Ok((outcome, flat))
    }
    /// The same without raising errors.
    fn quietly<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let saved = std::mem::replace(&mut self.raise, false);
        let result = run(self);
        self.raise = saved;
        result
    }

    /// Runs a step on each element of an array.
    fn each_element(&mut self, item: &'a Item, value: &Value<'a>, mut found: Found<'_, 'a>) -> Result<Outcome> {
        let mut outcome = Outcome::NotFound;
        for element in elements(value).unwrap_or_default() {
            crate::work::pulse(1);
            outcome = self.unwrapping_step(item, element, found.as_deref_mut(), false)?;
            if outcome == Outcome::Error || outcome == Outcome::Found && found.is_none() {
                break;
            }
        }
        Ok(outcome)
    }

    /// `unwrap`: a step that is not for arrays is run on their elements.
    fn unwrapping_step(
        &mut self,
        item: &'a Item,
        value: Value<'a>,
        mut found: Found<'_, 'a>,
        unwrap: bool,
    ) -> Result<Outcome> {
        match &item.kind {
            Kind::And(..)
            | Kind::Or(..)
            | Kind::Not(_)
            | Kind::IsUnknown(_)
            | Kind::Compare(..)
            | Kind::StartsWith(..)
            | Kind::LikeRegex(..)
            | Kind::Exists(_) => {
                let result = match self.truth(item, value)? {
                    Truth::True => Json::Bool(true),
                    Truth::False => Json::Bool(false),
                    Truth::Unknown => Json::Null,
                };
                self.next(item, Cow::Owned(result), found)
            }
            Kind::Key(key) => match &*value {
                Json::Object(_) => match member(&value, key) {
                    Some(v) => self.next(item, v, found),
                    None => self.misfit(
                        SqlState::SQL_JSON_MEMBER_NOT_FOUND,
                        format!("JSON object does not contain key \"{key}\""),
                    ),
                },
                Json::Array(_) if unwrap => self.each_element(item, &value, found),
                _ => self.misfit(
                    SqlState::SQL_JSON_MEMBER_NOT_FOUND,
                    "jsonpath member accessor can only be applied to an object",
                ),
            },
            Kind::Root => self.next(item, Cow::Borrowed(self.root), found),
            Kind::Current => self.next(item, self.current.clone(), found),
            Kind::AnyElement => match elements(&value) {
                Some(_) => self.levels(item.next.as_deref(), &value, found, (1, 1, 1), false, self.lax),
                None if self.lax => self.next(item, value, found),
                None => self.misfit(
                    SqlState::SQL_JSON_ARRAY_NOT_FOUND,
                    "jsonpath wildcard array accessor can only be applied to an array",
                ),
            },
            Kind::AnyKey => match &*value {
                Json::Object(_) => self.levels(item.next.as_deref(), &value, found, (1, 1, 1), false, self.lax),
                Json::Array(_) if unwrap => self.each_element(item, &value, found),
                _ => self.misfit(
                    SqlState::SQL_JSON_OBJECT_NOT_FOUND,
                    "jsonpath wildcard member accessor can only be applied to an object",
                ),
            },
            Kind::Elements(list) => {
                if !is_array(&value) && !self.lax {
                    return self.misfit(
                        SqlState::SQL_JSON_ARRAY_NOT_FOUND,
                        "jsonpath array accessor can only be applied to an array",
                    );
                }
                let saved = self.array_size;
                let result = self.subscripts(item, list, value, found);
                self.array_size = saved;
                result
            }
            Kind::Last => {
                let size = self.array_size.ok_or_else(|| PgError::internal("LAST outside a subscript"))?;
                self.next(item, Cow::Owned(Json::Number(Numeric::from(size as i64 - 1))), found)
            }
            Kind::AnyLevel { first, last } => {
                let mut outcome = Outcome::NotFound;
                if *first == 0 {
                    let saved = std::mem::replace(&mut self.ignore_structure, true);
                    let result = self.next(item, value.clone(), found.as_deref_mut());
                    self.ignore_structure = saved;
                    outcome = result?;
                    // what the levels below come to takes the place of an error
                    if outcome == Outcome::Found && found.is_none() {
                        return Ok(outcome);
                    }
                }
                if is_container(&value) {
                    outcome = self.levels(item.next.as_deref(), &value, found, (1, *first, *last), true, self.lax)?;
                }
                Ok(outcome)
            }
            Kind::Filter(predicate) => {
                if unwrap && is_array(&value) {
                    return self.each_element(item, &value, found);
                }
                let saved = std::mem::replace(&mut self.current, value.clone());
                let truth = self.truth(predicate, value.clone());
                self.current = saved;
                match truth? {
                    Truth::True => self.next(item, value, found),
                    _ => Ok(Outcome::NotFound),
                }
            }
            Kind::Null => self.next(item, Cow::Owned(Json::Null), found),
            Kind::Bool(b) => self.next(item, Cow::Owned(Json::Bool(*b)), found),
            Kind::Number(n) => self.next(item, Cow::Owned(Json::Number(n.clone())), found),
            Kind::String(s) => self.next(item, Cow::Owned(Json::String(s.clone())), found),
            Kind::Variable(name) => match self.variables.and_then(|variables| variables.get(name)) {
                Some(v) => self.next(item, Cow::Borrowed(v), found),
                None => Err(PgError::new(
                    SqlState::UNDEFINED_OBJECT,
                    format!("could not find jsonpath variable \"{name}\""),
                )),
            },
            Kind::Method(method) => self.method(item, *method, value, found, unwrap),
            Kind::DateTime(_) | Kind::Convert(..) if unwrap && is_array(&value) => {
                self.each_element(item, &value, found)
            }
            Kind::DateTime(template) => self.date_time(item, template.as_deref(), &value, found),
            Kind::Convert(conversion, arguments) => match convert(*conversion, arguments, &value, self.zone) {
                Ok(converted) => self.next(item, Cow::Owned(converted), found),
                Err(e) if self.raise || e.code() == SqlState::FEATURE_NOT_SUPPORTED => Err(e),
                Err(_) => Ok(Outcome::Error),
            },
            Kind::Arithmetic(operator, left, right) => self.arithmetic(item, *operator, (left, right), value, found),
            Kind::Plus(operand) | Kind::Minus(operand) => self.signed(item, operand, value, found),
        }
    }

    fn date_time(
        &mut self,
        item: &'a Item,
        template: Option<&str>,
        value: &Json,
        found: Found<'_, 'a>,
    ) -> Result<Outcome> {
        const CODE: SqlState = SqlState::INVALID_ARGUMENT_FOR_SQL_JSON_DATETIME_FUNCTION;
        let Json::String(text) = value else {
            return self.fail(CODE, "jsonpath item method .datetime() can only be applied to a string");
        };
        let moment = match template {
            Some(template) => match parse(text, template) {
                Ok(moment) => moment,
                Err(e) if self.raise || e.code() == SqlState::FEATURE_NOT_SUPPORTED => return Err(e),
                // silence is for the text, not for the template
                Err(_) => return check_template(template).map(|()| Outcome::Error),
            },
            None => match parse_standard(text)? {
                Some(moment) => moment,
                None if self.raise => {
                    return Err(PgError::new(CODE, format!("datetime format is not recognized: \"{text}\""))
                        .hint("Use a datetime template argument to specify the input data format."))
                }
                None => return Ok(Outcome::Error),
            },
        };
        self.next(item, Cow::Owned(Json::Moment(moment)), found)
    }

    /// Runs a step on all values from level `first` to `last` below a value whose children are at level `level`.
    fn levels(
        &mut self,
        step: Option<&'a Item>,
        value: &Value<'a>,
        mut found: Found<'_, 'a>,
        (level, first, last): (u32, u32, u32),
        ignore_structure: bool,
        unwrap: bool,
    ) -> Result<Outcome> {
        let mut outcome = Outcome::NotFound;
        if level > last {
            return Ok(outcome);
        }
        for child in children(value) {
            crate::work::pulse(1);
            let container = is_container(&child);
            // `last` alone means the leaves.
            if level >= first || first == LAST_LEVEL && last == LAST_LEVEL && !container {
                match (step, &mut found) {
                    (Some(step), found) => {
                        let saved = self.ignore_structure;
                        self.ignore_structure |= ignore_structure;
                        let result = self.unwrapping_step(step, child.clone(), found.as_deref_mut(), unwrap);
                        self.ignore_structure = saved;
                        outcome = result?;
                        if outcome == Outcome::Error || outcome == Outcome::Found && found.is_none() {
                            return Ok(outcome);
                        }
                    }
                    (None, Some(found)) => found.push(child.clone()),
                    (None, None) => return Ok(Outcome::Found),
                }
            }
            if level < last && container {
                let range = (level + 1, first, last);
                outcome = self.levels(step, &child, found.as_deref_mut(), range, ignore_structure, unwrap)?;
                if outcome == Outcome::Error || outcome == Outcome::Found && found.is_none() {
                    return Ok(outcome);
                }
            }
        }
        Ok(outcome)
    }

    fn subscripts(
        &mut self,
        item: &'a Item,
        list: &'a [(Item, Option<Item>)],
        value: Value<'a>,
        mut found: Found<'_, 'a>,
    ) -> Result<Outcome> {
        // In lax mode a value that is no array is an array of itself.
        let items = elements(&value).unwrap_or_else(|| vec![value.clone()]);
        let size = items.len() as i64;
        let mut outcome = Outcome::NotFound;
        for (from, to) in list {
            crate::work::pulse(1);
            self.array_size = Some(items.len());
            let Some(from) = self.index(from, value.clone())? else { return Ok(Outcome::Error) };
            let to = match to {
                None => from,
                Some(to) => match self.index(to, value.clone())? {
                    Some(to) => to,
                    None => return Ok(Outcome::Error),
                },
            };
            if !self.ignore_structure && (from < 0 || from > to || to >= size) {
                return self.fail(SqlState::INVALID_SQL_JSON_SUBSCRIPT, "jsonpath array subscript is out of bounds");
            }
            let mut at = from.max(0);
            while at <= to.min(size - 1) {
                crate::work::pulse(1);
                outcome = self.next(item, items[at as usize].clone(), found.as_deref_mut())?;
                if outcome == Outcome::Error || outcome == Outcome::Found && found.is_none() {
                    return Ok(outcome);
                }
                at += 1;
            }
        }
        Ok(outcome)
    }

    /// A subscript; None: an error that is not raised.
    fn index(&mut self, item: &'a Item, value: Value<'a>) -> Result<Option<i64>> {
        let mut found = Vec::new();
        if self.step(item, value, Some(&mut found))? == Outcome::Error {
            return Ok(None);
        }
        let number = match &found[..] {
            [one] => match &**one {
                Json::Number(n) => n,
                _ => return self.no_index("jsonpath array subscript is not a single numeric value"),
            },
            _ => return self.no_index("jsonpath array subscript is not a single numeric value"),
        };
        match number.trunc(0).to_int(Width::Four) {
            Ok(index) => Ok(Some(index)),
            Err(_) => self.no_index("jsonpath array subscript is out of integer range"),
        }
    }
    fn no_index(&self, message: &str) -> Result<Option<i64>> {
        self.fail(SqlState::INVALID_SQL_JSON_SUBSCRIPT, message).map(|_| None)
    }

    fn arithmetic(
        &mut self,
        item: &'a Item,
        operator: Arithmetic,
        (left, right): (&'a Item, &'a Item),
        value: Value<'a>,
        found: Found<'_, 'a>,
    ) -> Result<Outcome> {
        let (outcome, left) = self.unwrapped(left, value.clone())?;
        if outcome == Outcome::Error {
            return Ok(outcome);
        }
        let (outcome, right) = self.unwrapped(right, value)?;
        if outcome == Outcome::Error {
            return Ok(outcome);
        }
        let single = |found: &[Value<'a>]| match found {
            [one] => match &**one {
                Json::Number(n) => Some(n.clone()),
                _ => None,
            },
            _ => None,
        };
        let wrong = |side: &str| {
            format!("{side} operand of jsonpath operator {} is not a single numeric value", operator.symbol())
        };
        let Some(left) = single(&left) else {
            return self.fail(SqlState::SINGLETON_SQL_JSON_ITEM_REQUIRED, wrong("left"));
        };
        let Some(right) = single(&right) else {
            return self.fail(SqlState::SINGLETON_SQL_JSON_ITEM_REQUIRED, wrong("right"));
        };
        let result = match operator {
            Arithmetic::Add => left.add(&right),
            Arithmetic::Subtract => left.sub(&right),
            Arithmetic::Multiply => left.mul(&right),
            Arithmetic::Divide => left.div(&right),
            Arithmetic::Modulo => left.rem(&right),
        };
        match result {
            Ok(n) => self.next(item, Cow::Owned(Json::Number(n)), found),
            Err(e) if self.raise => Err(e),
            Err(_) => Ok(Outcome::Error),
        }
    }

    fn signed(
        &mut self,
        item: &'a Item,
        operand: &'a Item,
        value: Value<'a>,
        mut found: Found<'_, 'a>,
    ) -> Result<Outcome> {
        let (outcome, values) = self.unwrapped(operand, value)?;
        if outcome == Outcome::Error {
            return Ok(outcome);
        }
        let minus = matches!(item.kind, Kind::Minus(_));
        let mut outcome = Outcome::NotFound;
        for v in values {
            crate::work::pulse(1);
            let number = match &*v {
                Json::Number(n) if minus => n.neg(),
                Json::Number(n) => n.clone(),
                _ if found.is_none() && item.next.is_none() => continue,
                _ => {
                    let sign = if minus { "-" } else { "+" };
                    return self.fail(
                        SqlState::SQL_JSON_NUMBER_NOT_FOUND,
                        format!("operand of unary jsonpath operator {sign} is not a numeric value"),
                    );
                }
            };
            match self.next(item, Cow::Owned(Json::Number(number)), found.as_deref_mut())? {
                Outcome::Error => return Ok(Outcome::Error),
                Outcome::Found if found.is_none() => return Ok(Outcome::Found),
                Outcome::Found => outcome = Outcome::Found,
                Outcome::NotFound => {}
            }
        }
        Ok(outcome)
    }

    fn method(
        &mut self,
        item: &'a Item,
        method: Method,
        value: Value<'a>,
        mut found: Found<'_, 'a>,
        unwrap: bool,
    ) -> Result<Outcome> {
        let name = method.name();
        let for_arrays = matches!(method, Method::Type | Method::Size);
        if unwrap && !for_arrays && is_array(&value) {
            return self.each_element(item, &value, found);
        }
        let result = match (method, &*value) {
            (Method::Type, v) => Json::String(v.type_name().to_string()),
            (Method::Size, Json::Array(items)) => Json::Number(Numeric::from(items.len() as i64)),
            (Method::Size, _) if self.lax => Json::Number(Numeric::from(1)),
            (Method::Size, _) => {
                return self.misfit(
                    SqlState::SQL_JSON_ARRAY_NOT_FOUND,
                    "jsonpath item method .size() can only be applied to an array",
                )
            }
            (Method::Abs, Json::Number(n)) => Json::Number(n.abs()),
            (Method::Floor, Json::Number(n)) => Json::Number(n.floor()),
            (Method::Ceiling, Json::Number(n)) => Json::Number(n.ceil()),
            (Method::Abs | Method::Floor | Method::Ceiling, _) => {
                return self.fail(
                    SqlState::NON_NUMERIC_SQL_JSON_ITEM,
                    format!("jsonpath item method .{name}() can only be applied to a numeric value"),
                )
            }
            (Method::Double, Json::Number(n)) => match n.to_float(false) {
                Ok(v) if v.is_finite() => Json::Number(n.clone()),
                _ => return self.fail(SqlState::NON_NUMERIC_SQL_JSON_ITEM, no_double(&super::convert::shown(n))),
            },
            (Method::Double, Json::String(s)) => match float::parse(s, false) {
                Ok(v) if v.is_finite() => Json::Number(Numeric::from_f64(v)),
                Ok(_) => {
                    let message = "NaN or Infinity is not allowed for jsonpath item method .double()";
                    return self.fail(SqlState::NON_NUMERIC_SQL_JSON_ITEM, message);
                }
                Err(_) => return self.fail(SqlState::NON_NUMERIC_SQL_JSON_ITEM, no_double(s)),
            },
            (Method::Double, _) => {
                return self.fail(
                    SqlState::NON_NUMERIC_SQL_JSON_ITEM,
                    "jsonpath item method .double() can only be applied to a string or numeric value",
                )
            }
            (Method::KeyValue, Json::Object(pairs)) => {
                // PostgreSQL identifies an object by its place in the binary value, which only the whole value's is known here.
                if !std::ptr::eq(&*value, self.root) {
                    return Err(PgError::not_supported("jsonpath item method .keyvalue() of a nested object"));
                }
                let pairs: Vec<Json> = pairs
                    .iter()
                    .map(|(key, v)| {
                        Json::object(vec![
                            ("key".to_string(), Json::String(key.clone())),
                            ("value".to_string(), v.clone()),
                            ("id".to_string(), Json::Number(Numeric::zero())),
                        ])
                    })
                    .collect();
                let mut outcome = Outcome::NotFound;
                for pair in pairs {
                    crate::work::pulse(1);
                    outcome = self.next(item, Cow::Owned(pair), found.as_deref_mut())?;
                    if outcome == Outcome::Error || outcome == Outcome::Found && found.is_none() {
                        break;
                    }
                }
                return Ok(outcome);
            }
            (Method::KeyValue, _) => {
                return self.fail(
                    SqlState::SQL_JSON_OBJECT_NOT_FOUND,
                    "jsonpath item method .keyvalue() can only be applied to an object",
                )
            }
        };
        self.next(item, Cow::Owned(result), found)
    }

    // --- predicates --------------------------------------------------------------------------------------------------

    fn truth(&mut self, item: &'a Item, value: Value<'a>) -> Result<Truth> {
        Ok(match &item.kind {
            Kind::And(a, b) => {
                let left = self.truth(a, value.clone())?;
                if left == Truth::False {
                    return Ok(Truth::False);
                }
                match self.truth(b, value)? {
                    Truth::True => left,
                    right => right,
                }
            }
            Kind::Or(a, b) => {
                let left = self.truth(a, value.clone())?;
                if left == Truth::True {
                    return Ok(Truth::True);
                }
                match self.truth(b, value)? {
                    Truth::False => left,
                    right => right,
                }
            }
            Kind::Not(a) => match self.truth(a, value)? {
                Truth::Unknown => Truth::Unknown,
                truth => Truth::from(truth == Truth::False),
            },
            Kind::IsUnknown(a) => Truth::from(self.truth(a, value)? == Truth::Unknown),
            Kind::Compare(comparison, a, b) => {
                let comparison = *comparison;
                self.pairs(a, Some((b, true)), value, &mut |e, l, r| compare(comparison, l, r, e.zone))?
            }
            Kind::StartsWith(a, b) => self.pairs(a, Some((b, false)), value, &mut |_, l, r| {
                Ok(match (l, r) {
                    (Json::String(text), Json::String(initial)) => Truth::from(text.starts_with(initial.as_str())),
                    _ => Truth::Unknown,
                })
            })?,
            Kind::LikeRegex(a, pattern, flags) => self.pairs(a, None, value, &mut |e, l, _| match l {
                Json::String(text) => (e.matcher)(text, pattern, flags).map(Truth::from),
                _ => Ok(Truth::Unknown),
            })?,
            Kind::Exists(a) => {
                if self.lax {
                    return Ok(match self.quietly(|e| e.step(a, value, None))? {
                        Outcome::Error => Truth::Unknown,
                        outcome => Truth::from(outcome == Outcome::Found),
                    });
                }
                match self.quietly(|e| e.unwrapped(a, value))? {
                    (Outcome::Error, _) => Truth::Unknown,
                    (_, found) => Truth::from(!found.is_empty()),
                }
            }
            // a predicate in parentheses with steps behind it is a value
            _ => return Err(PgError::internal("a path value where a predicate belongs")),
        })
    }

    /// A predicate over all pairs of values: in lax mode the first pair that fulfils it decides, in strict mode an error does.
    /// `right` says whether arrays are unwrapped; without it the test sees NULL.
    fn pairs(
        &mut self,
        left: &'a Item,
        right: Option<(&'a Item, bool)>,
        value: Value<'a>,
        test: &mut dyn FnMut(&Self, &Json, &Json) -> Result<Truth>,
    ) -> Result<Truth> {
        let (outcome, lefts) = self.quietly(|e| e.unwrapped(left, value.clone()))?;
        if outcome == Outcome::Error {
            return Ok(Truth::Unknown);
        }
        let rights = match right {
            None => vec![Cow::Owned(Json::Null)],
            Some((item, unwrap)) => {
                let (outcome, found) = self.quietly(|e| {
                    if unwrap {
                        return e.unwrapped(item, value);
                    }
                    let mut found = Vec::new();
                    let outcome = e.step(item, value, Some(&mut found))?;
                    Ok((outcome, found))
                })?;
                if outcome == Outcome::Error {
                    return Ok(Truth::Unknown);
                }
                found
            }
        };
        let (mut fulfilled, mut failed) = (false, false);
        for l in &lefts {
            crate::work::pulse(1);
            for r in &rights {
                crate::work::pulse(1);
                match test(self, l, r)? {
                    Truth::Unknown if !self.lax => return Ok(Truth::Unknown),
                    Truth::Unknown => failed = true,
                    Truth::True if self.lax => return Ok(Truth::True),
                    Truth::True => fulfilled = true,
                    Truth::False => {}
                }
            }
        }
        Ok(match (fulfilled, failed) {
            (true, _) => Truth::True,
            (_, true) => Truth::Unknown,
            _ => Truth::False,
        })
    }
}

fn compare(comparison: Comparison, left: &Json, right: &Json, zone: Option<&Settings>) -> Result<Truth> {
    let order = match (left, right) {
        (Json::Null, Json::Null) => Ordering::Equal,
        (Json::Bool(a), Json::Bool(b)) => a.cmp(b),
        (Json::Number(a), Json::Number(b)) => a.cmp(b),
        (Json::String(a), Json::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Json::Moment(a), Json::Moment(b)) => match a.compare(*b, zone)? {
            Some(order) => order,
            None => return Ok(Truth::Unknown),
        },
        (Json::Null, _) | (_, Json::Null) => return Ok(Truth::from(comparison == Comparison::NotEqual)),
        _ => return Ok(Truth::Unknown),
    };
    Ok(Truth::from(match comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }))
}

fn no_double(text: &str) -> String {
    format!("argument \"{text}\" of jsonpath item method .double() is invalid for type double precision")
}
