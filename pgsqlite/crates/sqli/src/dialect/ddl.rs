//! CREATE, DROP and ALTER.

use super::ast::*;
use super::lexer::Token;
use super::parser::Parser;
use super::Parse;
use crate::values::types::Type;
use pgsqlite_types::work;

impl Parser<'_> {
    pub(super) fn create(&mut self) -> Parse<Statement> {
        self.next();
        let temporary = self.accept("temp");
        // tables that are not logged are logged here: that takes nothing away
        if !temporary && (self.is_word("raw") || self.is_word("standard")) {
            self.next();
        }
        if self.accept("table") {
            return self.create_table(temporary);
        }
        if temporary {
            return Err(self.unexpected());
        }
        if self.is_word("unique") || self.is_word("distinct") || self.is_word("index") {
            let unique = !self.is_word("index");
            if unique {
                self.next();
            }
            self.expect("index")?;
            return self.create_index(unique);
        }
        if self.accept("view") {
            let name = self.name()?;
            let columns = if self.is_sign("(") { self.names_in_parentheses()? } else { vec![] };
            self.expect("as")?;
            let query = self.query()?;
            let check_option = self.accept("with");
            if check_option {
                self.expect("check")?;
                self.expect("option")?;
            }
            return Ok(Statement::CreateView { name, columns, query, check_option });
        }
        if self.accept("sequence") {
            return self.create_sequence();
        }
        if self.is_word("row") && self.is_word_at(1, "type") {
            return self.create_row_type();
        }
        if self.accept("database") {
            let if_not_exists = self.if_not_exists()?;
            let name = self.database_name()?;
            // where its files are kept, and in which way they are logged
            if self.accept("in") {
                self.identifier()?;
            }
            if self.accept("with") {
                let buffered = self.accept("buffered");
                self.expect("log")?;
                if !buffered && self.is_word("mode") {
                    return self.refuse("a database MODE ANSI");
                }
            }
            return Ok(Statement::Session(Action::CreateDatabase { name, if_not_exists }));
        }
        if self.is_word("synonym") || self.is_word_at(1, "synonym") {
            return self.synonym();
        }
        if let Some(routine) = self.create_routine()? {
            return Ok(routine);
        }
        match self.peek() {
            Token::Word(kind) => {
                let what = format!("CREATE {}", kind.to_uppercase());
                self.refuse(&what)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// `CREATE ROW TYPE name (field type, …) UNDER parent`
    fn create_row_type(&mut self) -> Parse<Statement> {
        self.next();
        self.next();
        let if_not_exists = self.if_not_exists()?;
        let name = self.name()?;
        let mut fields = Vec::new();
        // one that is UNDER another may have no fields of its own
        if !self.is_word("under") {
            self.expect_sign("(")?;
            fields = self.fields()?;
            self.expect_sign(")")?;
        }
        let under = if self.accept("under") { Some(self.name()?) } else { None };
        Ok(Statement::CreateRowType { name, if_not_exists, fields, under })
    }

    pub(super) fn if_not_exists(&mut self) -> Parse<bool> {
        if !self.accept("if") {
            return Ok(false);
        }
        self.expect("not")?;
        self.expect("exists")?;
        Ok(true)
    }

    fn create_table(&mut self, temporary: bool) -> Parse<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let table = self.name()?;
        if self.accept("of") {
            self.expect("type")?;
            let row_type = self.name()?;
            if temporary {
                return self.refuse("CREATE TEMP TABLE of a type");
            }
            let mut constraints = Vec::new();
            if self.accept_sign("(") {
                constraints = self.list(|p| p.table_constraint()?.ok_or_else(|| p.unexpected()))?;
                self.expect_sign(")")?;
            }
            if self.is_word("under") {
                return self.refuse("CREATE TABLE … UNDER");
            }
            self.storage_options()?;
            return Ok(Statement::CreateTableOf { table, row_type, if_not_exists, constraints });
        }
        let named = self.is_sign("(") && matches!(self.peek_at(1), Token::Word(_) | Token::Quoted(_));
        let only_names = named && matches!(self.peek_at(2), Token::Sign("," | ")"));
        if self.is_word("as") || only_names {
            let columns = if only_names { self.names_in_parentheses()? } else { vec![] };
            self.expect("as")?;
            let query = self.query()?;
            self.storage_options()?;
            return Ok(Statement::CreateTableAs { table, temporary, if_not_exists, columns, query });
        }
        self.expect_sign("(")?;
        let (mut columns, mut constraints) = (Vec::new(), Vec::new());
        loop {
            work::visit();
            match self.table_constraint()? {
                Some(constraint) => constraints.push(constraint),
                None => columns.push(self.column_definition()?),
            }
            if !self.accept_sign(",") {
                break;
            }
        }
        self.expect_sign(")")?;
        self.storage_options()?;
        Ok(Statement::CreateTable { table, temporary, if_not_exists, columns, constraints })
    }

    /// Where and how Informix keeps a table: nothing of it shows in what statements give.
    fn storage_options(&mut self) -> Parse<()> {
        loop {
            work::visit();
            if self.accept("with") {
                // columns that only replication and fragments need
                if self.accept("rowids") || self.accept("crcols") || self.accept("audit") || self.accept("vercols") {
                    continue;
                }
                self.expect("no")?;
                self.expect("log")?;
            } else if self.accept("in") {
                self.identifier()?;
            } else if self.accept("extent") || self.accept("next") {
                self.expect("size")?;
                self.number()?;
            } else if self.accept("lock") {
                self.expect("mode")?;
                self.accept_sign("(");
                if !(self.accept("row") || self.accept("page") || self.accept("table")) {
                    return Err(self.unexpected());
                }
                self.accept_sign(")");
            } else if self.is_word("fragment") || self.is_word("partition") || self.is_word("put") {
                // on which disks the rows are
                while !matches!(self.peek(), Token::End | Token::Sign(";")) {
                    work::visit();
                    if self.is_word("extent") || self.is_word("lock") {
                        break;
                    }
                    self.next();
                }
            } else {
                return Ok(());
            }
        }
    }

    /// A constraint of the table, if the next words begin one.
    fn table_constraint(&mut self) -> Parse<Option<Constraint>> {
        let begins = match self.peek() {
            Token::Word(word) => match word.as_str() {
                "primary" | "foreign" => self.is_word_at(1, "key"),
                "unique" | "distinct" | "check" => matches!(self.peek_at(1), Token::Sign("(")),
                "constraint" => true,
                _ => false,
            },
            _ => false,
        };
        if !begins {
            return Ok(None);
        }
        let mut name = if self.accept("constraint") { Some(self.name()?.name) } else { None };
        let mut columns = vec![];
        let kind = match self.key_or_check()? {
            Some(ConstraintKind::Check(condition)) => ConstraintKind::Check(condition),
            Some(key) => {
                columns = self.names_in_parentheses()?;
                key
            }
            None => {
                self.expect("foreign")?;
                self.expect("key")?;
                columns = self.names_in_parentheses()?;
                self.expect("references")?;
                self.references()?
            }
        };
        self.constraint_name(&mut name)?;
        Ok(Some(Constraint { name, kind, columns }))
    }

    /// PRIMARY KEY, UNIQUE or CHECK with its condition, if one of them comes next.
    fn key_or_check(&mut self) -> Parse<Option<ConstraintKind>> {
        Ok(if self.accept("primary") {
            self.expect("key")?;
            Some(ConstraintKind::Primary)
        } else if self.accept("unique") || self.accept("distinct") {
            Some(ConstraintKind::Unique)
        } else if self.accept("check") {
            self.expect_sign("(")?;
            let condition = self.expression()?;
            self.expect_sign(")")?;
            Some(ConstraintKind::Check(condition))
        } else {
            None
        })
    }

    /// `CONSTRAINT name` stands behind what it names.
    fn constraint_name(&mut self, name: &mut Option<String>) -> Parse<()> {
        if name.is_none() && self.accept("constraint") {
            *name = Some(self.name()?.name);
        }
        if self.is_word("disabled") || self.is_word("filtering") || self.is_word("novalidate") {
            return self.refuse("a constraint that is not enforced");
        }
        self.accept("enabled");
        Ok(())
    }

    /// Behind REFERENCES.
    fn references(&mut self) -> Parse<ConstraintKind> {
        let table = self.name()?;
        let columns = if self.is_sign("(") { self.names_in_parentheses()? } else { vec![] };
        let cascade = self.accept("on");
        if cascade {
            self.expect("delete")?;
            self.expect("cascade")?;
        }
        Ok(ConstraintKind::References { table, columns, cascade })
    }

    fn column_definition(&mut self) -> Parse<ColumnDefinition> {
        let name = self.identifier()?;
        let ty = self.data_type()?;
        let mut column =
            ColumnDefinition { name, ty, start: None, default: None, not_null: false, constraints: vec![] };
        if matches!(ty, Type::Serial | Type::BigSerial) {
            column.not_null = true;
            if self.accept_sign("(") {
                column.start = Some(self.number()?.max(1).into());
                self.expect_sign(")")?;
            }
        }
        loop {
            work::visit();
            if self.accept("default") {
                column.default = match self.expression()? {
                    Expr::Null => None,
                    value => Some(value),
                };
                continue;
            }
            let mut name = None;
            let kind = if self.accept("not") {
                self.expect("null")?;
                column.not_null = true;
                ConstraintKind::NotNull
            } else if self.accept("null") {
                continue;
            } else if self.accept("references") {
                self.references()?
            } else {
                match self.key_or_check()? {
                    Some(kind) => kind,
                    None => return Ok(column),
                }
            };
            self.constraint_name(&mut name)?;
            // without a name it is told by `not_null`
            if kind != ConstraintKind::NotNull || name.is_some() {
                column.constraints.push(Constraint { name, kind, columns: vec![] });
            }
        }
    }

    fn create_index(&mut self, unique: bool) -> Parse<Statement> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.name()?;
        self.expect("on")?;
        let table = self.name()?;
        self.expect_sign("(")?;
        let columns = self.list(|p| {
            let column = p.identifier()?;
            if p.is_sign("(") {
                return p.refuse("an index on a function");
            }
            let descending = p.accept("desc");
            if !descending {
                p.accept("asc");
            }
            Ok((column, descending))
        })?;
        self.expect_sign(")")?;
        loop {
            work::visit();
            if self.accept("using") {
                if !self.accept("btree") {
                    return self.refuse("an index that is not a B-tree");
                }
            } else if self.accept("in") {
                self.identifier()?;
            } else if self.accept("fillfactor") {
                self.number()?;
            } else if !self.accept("online") {
                break;
            }
        }
        Ok(Statement::CreateIndex { name, unique, table, columns, if_not_exists })
    }

    pub(super) fn drop(&mut self) -> Parse<Statement> {
        self.next();
        if self.accept("database") {
            let if_exists = self.accept("if");
            if if_exists {
                self.expect("exists")?;
            }
            return Ok(Statement::Session(Action::DropDatabase { name: self.database_name()?, if_exists }));
        }
        if self.accept("synonym") {
            let if_exists = self.accept("if");
            if if_exists {
                self.expect("exists")?;
            }
            return Ok(Statement::DropSynonym { name: self.name()?, if_exists });
        }
        if self.is_word("function") || self.is_word("procedure") || self.is_word("routine") || self.is_word("trigger") {
            return self.drop_routine();
        }
        if self.is_word("row") && self.is_word_at(1, "type") {
            self.next();
            self.next();
            let if_exists = self.accept("if");
            if if_exists {
                self.expect("exists")?;
            }
            let name = self.name()?;
            self.expect("restrict")?;
            return Ok(Statement::DropRowType { name, if_exists });
        }
        let kind = match ["table", "view", "index", "sequence"].into_iter().find(|k| self.is_word(k)) {
            Some(kind) => kind,
            None => match self.peek() {
                Token::Word(kind) => {
                    let what = format!("DROP {}", kind.to_uppercase());
                    return self.refuse(&what);
                }
                _ => return Err(self.unexpected()),
            },
        };
        self.next();
        let if_exists = self.accept("if");
        if if_exists {
            self.expect("exists")?;
        }
        let name = self.name()?;
        // what depends on a dropped table or view goes with it, unless RESTRICT is said
        let mut cascade = matches!(kind, "table" | "view");
        if self.accept("restrict") {
            cascade = false;
        } else {
            self.accept("cascade");
        }
        Ok(Statement::Drop { kind, name, if_exists, cascade })
    }

    /// DROP FUNCTION, PROCEDURE, ROUTINE, TRIGGER
    fn drop_routine(&mut self) -> Parse<Statement> {
        let is_trigger = self.next() == Token::Word("trigger".into());
        let if_exists = self.accept("if");
        if if_exists {
            self.expect("exists")?;
        }
        let name = self.name()?;
        if is_trigger {
            return Ok(Statement::DropTrigger { name, if_exists });
        }
        let mut types = None;
        if self.accept_sign("(") {
            types = Some(if self.is_sign(")") { vec![] } else { self.list(|p| p.data_type())? });
            self.expect_sign(")")?;
        }
        Ok(Statement::DropRoutine { name, types, if_exists })
    }

    pub(super) fn alter(&mut self) -> Parse<Statement> {
        self.next();
        if self.accept("sequence") {
            return self.alter_sequence();
        }
        if !self.is_word("table") {
            return match self.peek() {
                Token::Word(kind) => {
                    let what = format!("ALTER {}", kind.to_uppercase());
                    self.refuse(&what)
                }
                _ => Err(self.unexpected()),
            };
        }
        self.next();
        let table = self.name()?;
        let mut alterations = Vec::new();
        loop {
            work::visit();
            self.alteration(&mut alterations)?;
            if !self.accept_sign(",") {
                break;
            }
        }
        Ok(Statement::AlterTable { table, alterations })
    }

    /// Items that stand in parentheses or, if it is one, without them.
    fn one_or_more<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        if self.accept_sign("(") {
            let items = self.list(item)?;
            self.expect_sign(")")?;
            return Ok(items);
        }
        Ok(vec![item(self)?])
    }

    fn alteration(&mut self, out: &mut Vec<Alteration>) -> Parse<()> {
        if self.accept("add") {
            if self.accept("constraint") {
                let constraints = self.one_or_more(|p| match p.table_constraint()? {
                    Some(constraint) => Ok(constraint),
                    None => Err(p.unexpected()),
                })?;
                out.extend(constraints.into_iter().map(Alteration::AddConstraint));
                return Ok(());
            }
            let columns = self.one_or_more(|p| {
                let column = p.column_definition()?;
                let before = if p.accept("before") { Some(p.identifier()?) } else { None };
                Ok(Alteration::AddColumn(column, before))
            })?;
            out.extend(columns);
        } else if self.accept("drop") {
            if self.accept("constraint") {
                let names = self.one_or_more(|p| Ok(p.name()?.name))?;
                out.extend(names.into_iter().map(Alteration::DropConstraint));
                return Ok(());
            }
            let names = self.one_or_more(|p| p.identifier())?;
            out.extend(names.into_iter().map(Alteration::DropColumn));
        } else if self.accept("modify") {
            let columns = self.one_or_more(|p| p.column_definition())?;
            out.extend(columns.into_iter().map(Alteration::Modify));
        } else if self.is_word("lock") || self.is_word("next") {
            self.storage_options()?;
        } else {
            return self.refuse("this form of ALTER TABLE");
        }
        Ok(())
    }
}
