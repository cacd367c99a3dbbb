//! `tests/entry/reach.login`, what a role without privileges tries, has a statement of every kind that the grammar knows.

use std::collections::BTreeSet;

/// The nodes that a statement may be.
const STATEMENTS: &str = "AlterCollationStmt AlterDatabaseRefreshCollStmt AlterDatabaseSetStmt AlterDatabaseStmt \
    AlterDefaultPrivilegesStmt AlterDomainStmt AlterEnumStmt AlterEventTrigStmt AlterExtensionContentsStmt \
    AlterExtensionStmt AlterFdwStmt AlterForeignServerStmt AlterFunctionStmt AlterObjectDependsStmt \
    AlterObjectSchemaStmt AlterOpFamilyStmt AlterOperatorStmt AlterOwnerStmt AlterPolicyStmt AlterPublicationStmt \
    AlterRoleSetStmt AlterRoleStmt AlterSeqStmt AlterStatsStmt AlterSubscriptionStmt AlterSystemStmt \
    AlterTsconfigurationStmt AlterTsdictionaryStmt AlterTableMoveAllStmt AlterTableSpaceOptionsStmt AlterTableStmt \
    AlterTypeStmt AlterUserMappingStmt CallStmt CheckPointStmt ClosePortalStmt ClusterStmt CommentStmt \
    CompositeTypeStmt ConstraintsSetStmt CopyStmt CreateAmStmt CreateCastStmt CreateConversionStmt CreateDomainStmt \
    CreateEnumStmt CreateEventTrigStmt CreateExtensionStmt CreateFdwStmt CreateForeignServerStmt \
    CreateForeignTableStmt CreateFunctionStmt CreateOpClassStmt CreateOpFamilyStmt CreatePlangStmt CreatePolicyStmt \
    CreatePublicationStmt CreateRangeStmt CreateRoleStmt CreateSchemaStmt CreateSeqStmt CreateStatsStmt CreateStmt \
    CreateSubscriptionStmt CreateTableAsStmt CreateTableSpaceStmt CreateTransformStmt CreateTrigStmt \
    CreateUserMappingStmt CreatedbStmt DeallocateStmt DeclareCursorStmt DefineStmt DeleteStmt DiscardStmt DoStmt \
    DropOwnedStmt DropRoleStmt DropStmt DropSubscriptionStmt DropTableSpaceStmt DropUserMappingStmt DropdbStmt \
    ExecuteStmt ExplainStmt FetchStmt GrantRoleStmt GrantStmt ImportForeignSchemaStmt IndexStmt InsertStmt ListenStmt \
    LoadStmt LockStmt MergeStmt NotifyStmt PrepareStmt ReassignOwnedStmt RefreshMatViewStmt ReindexStmt RenameStmt \
    RuleStmt SecLabelStmt SelectStmt TransactionStmt TruncateStmt UnlistenStmt UpdateStmt VacuumStmt VariableSetStmt \
    VariableShowStmt ViewStmt";

#[test]
fn every_statement_is_tried() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/entry/reach.login");
    let text = std::fs::read_to_string(file).expect("the file is there");
    let mut tried = BTreeSet::new();
    for statement in text.lines().filter_map(|line| line.strip_prefix("> ")) {
        // (some are no SQL of PostgreSQL's)
        for raw in pgsqlite_sql::parse::parse(statement).into_iter().flatten() {
            let shown = format!("{:?}", raw.node);
            tried.insert(shown.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_string());
        }
    }
    let missing: Vec<&str> = STATEMENTS.split_whitespace().filter(|name| !tried.contains(*name)).collect();
    assert!(missing.is_empty(), "no statement of {missing:?} in reach.login, which has {tried:?}");
}
