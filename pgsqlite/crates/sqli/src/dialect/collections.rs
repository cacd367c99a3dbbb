//! Collections and rows in expressions, and the PostgreSQL types that store them.
//!
//! Neither a SET nor a MULTISET has an order, which the arrays that store them have. So a collection or row is refused wherever that
//! could be seen: it is shown, assigned, compared with `=`, counted and searched, not sorted, grouped or given to a function.

use super::ast::*;
use super::print::{ident, literal, Printer};
use super::Parse;
use crate::errors::Failure;
use crate::values::complex::{self, Complex, Kind};
use crate::values::types::{Type, LVARCHAR, SCHEMA};
use pgsqlite_types::work;

/// What stores a type within a collection: of a collection in it, the domain, because an array of arrays would be one of two dimensions.
fn storage_of_part(ty: Type) -> String {
    match ty {
        Type::Complex(complex) => complex.stored(),
        other => other.storage(),
    }
}

/// A value with what has no order in an order, so that equal values are equal arrays; `depth` tells the names of queries in each other
/// apart.
fn canonical(complex: &'static Complex, value: &str, depth: usize) -> String {
    let part = |ty: Type, value: String| match ty {
        Type::Complex(inner) => format!("({})::{}", canonical(inner, &value, depth + 1), inner.stored()),
        _ => value,
    };
    work::visit();
    let (whole, number) = (format!("\"(v{depth})\""), format!("\"(i{depth})\""));
    let (there, items) = match complex {
        Complex::Collection(kind, element) => {
            let item = part(*element, format!("{whole}[{number}]"));
            let (distinct, order) = match kind {
                Kind::Set => ("DISTINCT ", "1"),
                Kind::MultiSet => ("", "1"),
                Kind::List => ("", number.as_str()),
            };
            let items = format!(
                "ARRAY(SELECT {distinct}{item} FROM generate_series(1, cardinality({whole})) AS \"(g{depth})\"({number}) \
                 ORDER BY {order})"
            );
            ("IS NOT NULL", items)
        }
        Complex::Row(fields) | Complex::Named(_, fields) => {
            let fields: Vec<String> =
                fields.iter().map(|f| part(f.ty, format!("({whole}).{}", ident(&f.name)))).collect();
            // (of a row whose fields are all NULL, IS NOT NULL is false)
            ("IS DISTINCT FROM NULL", format!("ROW({})::{}", fields.join(", "), complex.storage()))
        }
    };
    format!("(SELECT CASE WHEN {whole} {there} THEN {items} END FROM (SELECT {value} AS {whole}) AS \"(q{depth})\")")
}

impl Printer<'_> {
    /// The type of a literal like `SET{1, 2}` by itself, if its elements say it.
    pub fn literal_collection(&self, kind: Kind, elements: &[Expr]) -> Option<Type> {
        let of = |e: &Expr| match e {
            Expr::Number(n) if n.parse::<i32>().is_ok() => Some(Type::Integer),
            Expr::Unary("-", n) if matches!(&**n, Expr::Number(n) if n.parse::<i32>().is_ok()) => Some(Type::Integer),
            Expr::Text(_) => Some(Type::LVarChar(LVARCHAR)),
            other => self.known_type(other).filter(|ty| ty.complex().is_none()),
        };
        let first = of(elements.first()?)?;
        elements
            .iter()
            .all(|e| of(e) == Some(first))
            .then(|| complex::kept(Complex::Collection(kind, first)).ok())?
            .map(Type::Complex)
    }

    /// The type of an expression that is a collection or row.
    pub fn complex(&self, e: &Expr) -> Option<&'static Complex> {
        self.known_type(e)?.complex()
    }

    /// `r.a`, `t.r.a`: the path of the column that is a row, and the field. A table of that name comes first.
    pub fn field_of_row<'p>(&self, path: &'p [String]) -> Option<(&'p [String], (String, Type))> {
        let (field, column) = path.split_last()?;
        let (name, _) = column.split_last()?;
        let is_table = self.scopes.iter().flatten().any(|s| s.alias == *name);
        if is_table {
            return None;
        }
        match self.known_type(&Expr::Column(column.to_vec()))? {
            Type::Complex(complex) => {
                let found = complex.fields()?.iter().find(|f| f.name == *field)?;
                Some((column, (found.name.clone(), found.ty)))
            }
            _ => None,
        }
    }

    /// A literal or constructor as a value of a type, not yet without what is there twice.
    pub fn constructed(&mut self, e: &Expr, complex: &'static Complex) -> Parse<String> {
        match (e, complex) {
            (Expr::Collection(_, elements), Complex::Collection(_, ty)) => {
                let mut out = Vec::new();
                for element in elements {
                    work::visit();
                    if *element == Expr::Null {
                        return Err(Failure::text(format!("an element of a {} is NULL", complex.name())));
                    }
                    out.push(format!("({})::{}", self.assigned(element, Some(*ty))?, storage_of_part(*ty)));
                }
                Ok(format!("ARRAY[{}]::{}", out.join(", "), complex.storage()))
            }
            (Expr::RowValue(values), Complex::Row(fields) | Complex::Named(_, fields)) => {
                if values.len() != fields.len() {
                    let (n, name) = (values.len(), complex.name());
                    return Err(Failure::text(format!("a row of {n} fields is no {name}")));
                }
                let mut out = Vec::new();
                for (value, field) in values.iter().zip(fields) {
                    work::visit();
                    out.push(self.assigned(value, Some(field.ty))?);
                }
                Ok(format!("ROW({})::{}", out.join(", "), complex.storage()))
            }
            _ => Err(Failure::new(-9634, 0, complex.name())),
        }
    }

    /// A value on its way into a collection or row. A SET takes each element once, the first of those that are alike.
    pub fn assigned_complex(&mut self, e: &Expr, complex: &'static Complex) -> Parse<String> {
        let storage = complex.storage();
        let target = Some(Type::Complex(complex));
        let mut is_set = false;
        let printed = match e {
            Expr::Null => return Ok(format!("NULL::{storage}")),
            Expr::Text(text) => {
                let item = complex::literal(text, complex)?;
                let text = item.text(Type::Complex(complex)).unwrap_or_default();
                format!("{}::{storage}", literal(&text))
            }
            Expr::Parameter(_) => format!("({})::{storage}", self.expr_for(e, target)?),
            Expr::Collection(..) | Expr::RowValue(_) => self.constructed(e, complex)?,
            other => match (self.complex(other), complex) {
                // one kind of collection becomes another
                (Some(Complex::Collection(kind, from)), Complex::Collection(_, to)) if from == to => {
                    is_set = *kind == Kind::Set;
                    format!("({})::{storage}", self.partial_or(other, None)?)
                }
                (Some(from), to) if from == to => self.partial_or(other, None)?,
                _ => return Err(Failure::new(-9634, 0, complex.name())),
            },
        };
        Ok(match complex {
            Complex::Collection(Kind::Set, _) if !is_set && complex.has_unordered_parts() => {
                canonical(complex, &printed, 0)
            }
            Complex::Collection(Kind::Set, _) if !is_set => format!(
                "(SELECT CASE WHEN \"(s)\" IS NOT NULL THEN ARRAY(SELECT \"(s)\"[\"(i)\"] FROM \
                 generate_series(1, cardinality(\"(s)\")) AS \"(g)\"(\"(i)\") GROUP BY \"(s)\"[\"(i)\"] ORDER BY min(\"(i)\")) END \
                 FROM (SELECT {printed} AS \"(s)\") AS \"(set)\")"
            ),
            _ => printed,
        })
    }

    /// `=` and `<>` of collections and rows.
    pub fn compared(&mut self, complex: &'static Complex, sign: &str, a: &Expr, b: &Expr) -> Parse<String> {
        if !matches!(sign, "=" | "<>") {
            return Err(Failure::refused(format!("{sign} of a {}", complex.name())));
        }
        let (a, b) = (self.assigned_complex(a, complex)?, self.assigned_complex(b, complex)?);
        Ok(match complex {
            _ if complex.has_unordered_parts() => {
                format!("({} {sign} {})", canonical(complex, &a, 0), canonical(complex, &b, 0))
            }
            Complex::Collection(Kind::Set, _) => {
                let not = if sign == "<>" { "NOT " } else { "" };
                format!("({not}(({a}) @> ({b}) AND ({a}) <@ ({b})))")
            }
            Complex::Collection(Kind::MultiSet, _) => {
                let sorted = |value: &str| {
                    format!(
                        "(SELECT CASE WHEN \"(m)\" IS NOT NULL THEN ARRAY(SELECT \"(m)\"[\"(i)\"] FROM \
                         generate_series(1, cardinality(\"(m)\")) AS \"(g)\"(\"(i)\") ORDER BY \"(m)\"[\"(i)\"]) END \
                         FROM (SELECT {value} AS \"(m)\") AS \"(multiset)\")"
                    )
                };
                format!("({} {sign} {})", sorted(&a), sorted(&b))
            }
            _ => format!("(({a}) {sign} ({b}))"),
        })
    }

    /// Whether `value IN (list)` asks for an element of the one collection in the list.
    pub fn is_membership(&self, value: &Expr, list: &[Expr]) -> bool {
        match list {
            [collection] => {
                let found = self.complex(collection);
                matches!(found, Some(Complex::Collection(..))) && self.complex(value) != found
            }
            _ => false,
        }
    }

    /// `2 IN s`
    pub fn member(&mut self, value: &Expr, collection: &Expr, not: bool) -> Parse<String> {
        let Some(complex @ Complex::Collection(_, element)) = self.complex(collection) else {
            return Err(Failure::refused("IN of what is not known to be a collection"));
        };
        let storage = complex.storage();
        let value = self.assigned(value, Some(*element))?;
        let collection = self.partial_or(collection, None)?;
        let not = if not { "NOT " } else { "" };
        if let Some(part) = element.complex().filter(|_| complex.has_unordered_parts()) {
            let (value, collection) = (canonical(part, &value, 0), canonical(complex, &collection, 0));
            return Ok(format!("({not}(({value})::{} = ANY (({collection})::{storage})))", part.stored()));
        }
        Ok(format!("({not}(({value})::{} = ANY (({collection})::{storage})))", storage_of_part(*element)))
    }

    pub fn cardinality(&mut self, collection: &Expr) -> Parse<String> {
        match self.complex(collection) {
            Some(Complex::Collection(..)) => Ok(format!("cardinality({})", self.partial_or(collection, None)?)),
            _ => Err(Failure::new(-674, 0, "cardinality")),
        }
    }

    /// Whether a value is a collection or row whose equal values are not stored alike.
    pub fn unordered(&self, e: &Expr) -> Option<&'static Complex> {
        self.complex(e).filter(|complex| complex.is_unordered())
    }

    /// A value as rows are sorted and grouped by it: equal ones are alike.
    pub fn sort_key(&mut self, key: &Expr) -> Parse<String> {
        let printed = self.partial_or(key, None)?;
        Ok(match self.unordered(key) {
            Some(complex) => canonical(complex, &printed, 0),
            None => printed,
        })
    }

    /// The printed value of an item of a SELECT whose equal rows become one: of a collection without an order, equal ones are alike.
    pub fn merged(&self, value: &Expr, printed: String) -> String {
        match self.unordered(value) {
            Some(complex) => format!("({})::{}", canonical(complex, &printed, 0), complex.stored()),
            None => printed,
        }
    }

    /// A key of GROUP BY or ORDER BY of a SELECT. `merged`: its equal rows become one.
    pub fn key_of(&mut self, key: &Expr, select: &Select, merged: bool) -> Parse<String> {
        let is_shown = |item: &Item| match (item, key) {
            (Item::Expr(_, Some(alias)), Expr::Column(path)) if path.len() == 1 && path[0] == *alias => true,
            (Item::Expr(value, _), _) => value == key,
            (Item::Star(_), _) => false,
        };
        let number = match key {
            Expr::Number(n) => n.parse::<usize>().ok().and_then(|n| n.checked_sub(1)),
            _ => select.items.iter().position(is_shown),
        };
        let stars = select.items.iter().any(|item| matches!(item, Item::Star(_)));
        if stars
            && matches!(key, Expr::Number(_))
            && self.has_column(|ty| ty.complex().is_some_and(Complex::is_unordered))
        {
            return Err(Failure::refused("the number of a column beside * over a SET or MULTISET"));
        }
        let item = match number.and_then(|n| Some((n, select.items.get(n)?))) {
            Some((n, Item::Expr(value, _))) if !stars => Some((n, value)),
            _ => None,
        };
        match item {
            Some((n, value)) if self.unordered(value).is_some() => match merged {
                true => Ok((n + 1).to_string()),
                false => self.sort_key(value),
            },
            _ => self.sort_key(key),
        }
    }

    /// Refuses DISTINCT * over what would need to be written out.
    pub fn check_merged(&self, select: &Select) -> Parse<()> {
        let stars = select.items.iter().any(|i| matches!(i, Item::Star(_)));
        match select.distinct && stars && self.has_column(|ty| ty.complex().is_some_and(Complex::is_unordered)) {
            true => Err(Failure::refused("DISTINCT * over a SET or MULTISET")),
            false => Ok(()),
        }
    }

    /// Makes the domain or composite type that stores a type, and those in it, if they are not there yet.
    pub fn complex_type(&self, complex: &'static Complex, before: &mut Vec<String>) -> Parse<()> {
        let catalog = &self.environment.catalog;
        if let Some(oid) = complex.oid(catalog) {
            return match Complex::of_stored(catalog, oid) {
                Some(found) if found == complex => Ok(()),
                _ => Err(Failure::text(format!("the type {} is something else in this database", complex.stored()))),
            };
        }
        let mut made = Vec::new();
        let name = complex.stored();
        match complex {
            Complex::Named(name, _) => return Err(Failure::new(-9628, 0, name.clone())),
            Complex::Row(fields) => {
                let mut out = Vec::new();
                for field in fields {
                    work::visit();
                    out.push(format!("{} {}", ident(&field.name), self.field_type(field, &mut made)?));
                }
                made.push(format!("CREATE TYPE {name} AS ({})", out.join(", ")));
            }
            Complex::Collection(kind, element) => {
                if let Type::Complex(_) = element {
                    self.type_name(*element, &mut made)?;
                }
                let mut check = "array_position(VALUE, NULL) IS NULL".to_string();
                if *kind == Kind::Set {
                    made.push(format!(
                        "CREATE OR REPLACE FUNCTION {SCHEMA}.is_set(anyarray) RETURNS boolean LANGUAGE sql IMMUTABLE AS \
                         'SELECT count(*) = count(DISTINCT $1[i]) FROM generate_series(1, cardinality($1)) AS g(i)'"
                    ));
                    check += &format!(" AND {SCHEMA}.is_set(VALUE)");
                }
                // arrays of several dimensions are not searched
                let check = format!("CASE WHEN array_ndims(VALUE) > 1 THEN FALSE ELSE {check} END");
                made.push(format!("CREATE DOMAIN {name} AS {} CHECK ({check})", complex.storage()));
            }
        }
        for create in made {
            work::visit();
            if !before.contains(&create) {
                before.push(create);
            }
        }
        Ok(())
    }
}
