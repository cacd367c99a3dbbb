//! The schemas that DROP, ALTER and COMMENT name in front of their objects. Who may not look into one does not learn what is in it: the
//! schemas are asked for before the objects are looked up, whatever the objects are.

use super::{strings, Ddl, NodeEnum};
use pgsqlite_sql::parse::ast::{self, ObjectType as T};
use pgsqlite_types::Result;

impl Ddl<'_> {
    /// 42501 for a statement that names an object in a schema that the role may not look into.
    pub(super) fn check_named_schemas(&self, node: &NodeEnum) -> Result<()> {
        let (kind, objects): (T, &[ast::Node]) = match node {
            NodeEnum::DropStmt(s) => (s.remove_type(), &s.objects),
            NodeEnum::RenameStmt(s) => (s.rename_type(), of_box(&s.object)),
            NodeEnum::AlterObjectSchemaStmt(s) => (s.object_type(), of_box(&s.object)),
            NodeEnum::AlterOwnerStmt(s) => (s.object_type(), of_box(&s.object)),
            NodeEnum::CommentStmt(s) => (s.objtype(), of_box(&s.object)),
            NodeEnum::AlterTsconfigurationStmt(s) => return self.check_in_front(&strings(&s.cfgname)),
            NodeEnum::AlterStatsStmt(s) => return self.check_in_front(&strings(&s.defnames)),
            _ => return Ok(()),
        };
        objects.iter().try_for_each(|object| self.check_object_schema(kind, object))
    }

    fn check_object_schema(&self, kind: T, object: &ast::Node) -> Result<()> {
        match &object.node {
            Some(NodeEnum::TypeName(name)) => self.check_in_front(&strings(&name.names)),
            Some(NodeEnum::ObjectWithArgs(named)) => {
                self.check_in_front(&strings(&named.objname))?;
                named.objargs.iter().try_for_each(|argument| self.check_object_schema(kind, argument))
            }
            Some(NodeEnum::List(list)) => {
                // (a cast is named by types, a domain's constraint by the domain's)
                list.items.iter().try_for_each(|item| match &item.node {
                    Some(NodeEnum::TypeName(name)) => self.check_in_front(&strings(&name.names)),
                    _ => Ok(()),
                })?;
                let parts = strings(&list.items);
                match (kind, &parts[..]) {
                    // the access method stands in front
                    (T::ObjectOpclass | T::ObjectOpfamily, [_, name @ ..]) => self.check_in_front(name),
                    // the name of a part of a table stands behind
                    (
                        T::ObjectColumn | T::ObjectTrigger | T::ObjectRule | T::ObjectPolicy | T::ObjectTabconstraint,
                        [table @ .., _],
                    ) => self.check_in_front(table),
                    (_, parts) => self.check_in_front(parts),
                }
            }
            _ => Ok(()),
        }
    }

    /// Of a name's parts the last but one is the schema.
    fn check_in_front(&self, parts: &[&str]) -> Result<()> {
        match parts {
            [.., schema, _] => self.check_usage(schema),
            _ => Ok(()),
        }
    }
}

fn of_box(object: &Option<Box<ast::Node>>) -> &[ast::Node] {
    object.as_deref().map_or(&[], std::slice::from_ref)
}
