// Written by gen/parse_nodes.py: do not edit.
//! Statements as the grammar makes them.

use super::c_tree::{Pointer, Reader};
use pg_query::protobuf as ast;

#[rustfmt::skip]
impl Reader {
    pub(super) fn alter_collation_stmt(&mut self, p: Pointer) -> ast::AlterCollationStmt {
        ast::AlterCollationStmt {
            collname: self.list(p, 8),
        }
    }

    pub(super) fn alter_database_refresh_coll_stmt(&mut self, p: Pointer) -> ast::AlterDatabaseRefreshCollStmt {
        ast::AlterDatabaseRefreshCollStmt {
            dbname: self.string(p, 8),
        }
    }

    pub(super) fn alter_database_set_stmt(&mut self, p: Pointer) -> ast::AlterDatabaseSetStmt {
        ast::AlterDatabaseSetStmt {
            dbname: self.string(p, 8), setstmt: self.held(p, 16, Self::variable_set_stmt),
        }
    }

    pub(super) fn alter_database_stmt(&mut self, p: Pointer) -> ast::AlterDatabaseStmt {
        ast::AlterDatabaseStmt {
            dbname: self.string(p, 8), options: self.list(p, 16),
        }
    }

    pub(super) fn alter_default_privileges_stmt(&mut self, p: Pointer) -> ast::AlterDefaultPrivilegesStmt {
        ast::AlterDefaultPrivilegesStmt {
            options: self.list(p, 8), action: self.held(p, 16, Self::grant_stmt),
        }
    }

    pub(super) fn alter_domain_stmt(&mut self, p: Pointer) -> ast::AlterDomainStmt {
        ast::AlterDomainStmt {
            subtype: self.char(p, 4), type_name: self.list(p, 8), name: self.string(p, 16), def: self.boxed_node(p, 24),
            behavior: self.counted(p, 32), missing_ok: self.bool(p, 36),
        }
    }

    pub(super) fn alter_enum_stmt(&mut self, p: Pointer) -> ast::AlterEnumStmt {
        ast::AlterEnumStmt {
            type_name: self.list(p, 8), old_val: self.string(p, 16), new_val: self.string(p, 24), new_val_neighbor: self.string(p, 32),
            new_val_is_after: self.bool(p, 40), skip_if_new_val_exists: self.bool(p, 41),
        }
    }

    pub(super) fn alter_event_trig_stmt(&mut self, p: Pointer) -> ast::AlterEventTrigStmt {
        ast::AlterEventTrigStmt {
            trigname: self.string(p, 8), tgenabled: self.char(p, 16),
        }
    }

    pub(super) fn alter_extension_contents_stmt(&mut self, p: Pointer) -> ast::AlterExtensionContentsStmt {
        ast::AlterExtensionContentsStmt {
            extname: self.string(p, 8), action: self.int(p, 16), objtype: self.counted(p, 20), object: self.boxed_node(p, 24),
        }
    }

    pub(super) fn alter_extension_stmt(&mut self, p: Pointer) -> ast::AlterExtensionStmt {
        ast::AlterExtensionStmt {
            extname: self.string(p, 8), options: self.list(p, 16),
        }
    }

    pub(super) fn alter_fdw_stmt(&mut self, p: Pointer) -> ast::AlterFdwStmt {
        ast::AlterFdwStmt {
            fdwname: self.string(p, 8), func_options: self.list(p, 16), options: self.list(p, 24),
        }
    }

    pub(super) fn alter_foreign_server_stmt(&mut self, p: Pointer) -> ast::AlterForeignServerStmt {
        ast::AlterForeignServerStmt {
            servername: self.string(p, 8), version: self.string(p, 16), options: self.list(p, 24), has_version: self.bool(p, 32),
        }
    }

    pub(super) fn alter_function_stmt(&mut self, p: Pointer) -> ast::AlterFunctionStmt {
        ast::AlterFunctionStmt {
            objtype: self.counted(p, 4), func: self.held(p, 8, Self::object_with_args), actions: self.list(p, 16),
        }
    }

    pub(super) fn alter_object_depends_stmt(&mut self, p: Pointer) -> ast::AlterObjectDependsStmt {
        ast::AlterObjectDependsStmt {
            object_type: self.counted(p, 4), relation: self.held(p, 8, Self::range_var), object: self.boxed_node(p, 16),
            extname: self.held(p, 24, Self::string_node), remove: self.bool(p, 32),
        }
    }

    pub(super) fn alter_object_schema_stmt(&mut self, p: Pointer) -> ast::AlterObjectSchemaStmt {
        ast::AlterObjectSchemaStmt {
            object_type: self.counted(p, 4), relation: self.held(p, 8, Self::range_var), object: self.boxed_node(p, 16),
            newschema: self.string(p, 24), missing_ok: self.bool(p, 32),
        }
    }

    pub(super) fn alter_op_family_stmt(&mut self, p: Pointer) -> ast::AlterOpFamilyStmt {
        ast::AlterOpFamilyStmt {
            opfamilyname: self.list(p, 8), amname: self.string(p, 16), is_drop: self.bool(p, 24), items: self.list(p, 32),
        }
    }

    pub(super) fn alter_operator_stmt(&mut self, p: Pointer) -> ast::AlterOperatorStmt {
        ast::AlterOperatorStmt {
            opername: self.held(p, 8, Self::object_with_args), options: self.list(p, 16),
        }
    }

    pub(super) fn alter_owner_stmt(&mut self, p: Pointer) -> ast::AlterOwnerStmt {
        ast::AlterOwnerStmt {
            object_type: self.counted(p, 4), relation: self.held(p, 8, Self::range_var), object: self.boxed_node(p, 16),
            newowner: self.held(p, 24, Self::role_spec),
        }
    }

    pub(super) fn alter_policy_stmt(&mut self, p: Pointer) -> ast::AlterPolicyStmt {
        ast::AlterPolicyStmt {
            policy_name: self.string(p, 8), table: self.held(p, 16, Self::range_var), roles: self.list(p, 24), qual: self.boxed_node(p, 32),
            with_check: self.boxed_node(p, 40),
        }
    }

    pub(super) fn alter_publication_stmt(&mut self, p: Pointer) -> ast::AlterPublicationStmt {
        ast::AlterPublicationStmt {
            pubname: self.string(p, 8), options: self.list(p, 16), pubobjects: self.list(p, 24), for_all_tables: self.bool(p, 32),
            action: self.counted(p, 36),
        }
    }

    pub(super) fn alter_role_set_stmt(&mut self, p: Pointer) -> ast::AlterRoleSetStmt {
        ast::AlterRoleSetStmt {
            role: self.held(p, 8, Self::role_spec), database: self.string(p, 16), setstmt: self.held(p, 24, Self::variable_set_stmt),
        }
    }

    pub(super) fn alter_role_stmt(&mut self, p: Pointer) -> ast::AlterRoleStmt {
        ast::AlterRoleStmt {
            role: self.held(p, 8, Self::role_spec), options: self.list(p, 16), action: self.int(p, 24),
        }
    }

    pub(super) fn alter_seq_stmt(&mut self, p: Pointer) -> ast::AlterSeqStmt {
        ast::AlterSeqStmt {
            sequence: self.held(p, 8, Self::range_var), options: self.list(p, 16), for_identity: self.bool(p, 24),
            missing_ok: self.bool(p, 25),
        }
    }

    pub(super) fn alter_stats_stmt(&mut self, p: Pointer) -> ast::AlterStatsStmt {
        ast::AlterStatsStmt {
            defnames: self.list(p, 8), stxstattarget: self.boxed_node(p, 16), missing_ok: self.bool(p, 24),
        }
    }

    pub(super) fn alter_subscription_stmt(&mut self, p: Pointer) -> ast::AlterSubscriptionStmt {
        ast::AlterSubscriptionStmt {
            kind: self.counted(p, 4), subname: self.string(p, 8), conninfo: self.string(p, 16), publication: self.list(p, 24),
            options: self.list(p, 32), conninfo_location: self.int(p, 40),
        }
    }

    pub(super) fn alter_system_stmt(&mut self, p: Pointer) -> ast::AlterSystemStmt {
        ast::AlterSystemStmt {
            setstmt: self.held(p, 8, Self::variable_set_stmt),
        }
    }

    pub(super) fn alter_ts_configuration_stmt(&mut self, p: Pointer) -> ast::AlterTsConfigurationStmt {
        ast::AlterTsConfigurationStmt {
            kind: self.counted(p, 4), cfgname: self.list(p, 8), tokentype: self.list(p, 16), dicts: self.list(p, 24),
            r#override: self.bool(p, 32), replace: self.bool(p, 33), missing_ok: self.bool(p, 34),
        }
    }

    pub(super) fn alter_ts_dictionary_stmt(&mut self, p: Pointer) -> ast::AlterTsDictionaryStmt {
        ast::AlterTsDictionaryStmt {
            dictname: self.list(p, 8), options: self.list(p, 16),
        }
    }

    pub(super) fn alter_table_move_all_stmt(&mut self, p: Pointer) -> ast::AlterTableMoveAllStmt {
        ast::AlterTableMoveAllStmt {
            orig_tablespacename: self.string(p, 8), objtype: self.counted(p, 16), roles: self.list(p, 24),
            new_tablespacename: self.string(p, 32), nowait: self.bool(p, 40),
        }
    }

    pub(super) fn alter_table_space_options_stmt(&mut self, p: Pointer) -> ast::AlterTableSpaceOptionsStmt {
        ast::AlterTableSpaceOptionsStmt {
            tablespacename: self.string(p, 8), options: self.list(p, 16), is_reset: self.bool(p, 24),
        }
    }

    pub(super) fn alter_table_stmt(&mut self, p: Pointer) -> ast::AlterTableStmt {
        ast::AlterTableStmt {
            relation: self.held(p, 8, Self::range_var), cmds: self.list(p, 16), objtype: self.counted(p, 24), missing_ok: self.bool(p, 28),
        }
    }

    pub(super) fn alter_type_stmt(&mut self, p: Pointer) -> ast::AlterTypeStmt {
        ast::AlterTypeStmt {
            type_name: self.list(p, 8), options: self.list(p, 16),
        }
    }

    pub(super) fn alter_user_mapping_stmt(&mut self, p: Pointer) -> ast::AlterUserMappingStmt {
        ast::AlterUserMappingStmt {
            user: self.held(p, 8, Self::role_spec), servername: self.string(p, 16), options: self.list(p, 24),
        }
    }

    pub(super) fn call_stmt(&mut self, p: Pointer) -> ast::CallStmt {
        ast::CallStmt {
            funccall: self.boxed(p, 8, Self::func_call), funcexpr: self.absent(p, 16), outargs: self.list(p, 24),
        }
    }

    pub(super) fn check_point_stmt(&mut self, _: Pointer) -> ast::CheckPointStmt {
        ast::CheckPointStmt {}
    }

    pub(super) fn close_portal_stmt(&mut self, p: Pointer) -> ast::ClosePortalStmt {
        ast::ClosePortalStmt {
            portalname: self.string(p, 8),
        }
    }

    pub(super) fn cluster_stmt(&mut self, p: Pointer) -> ast::ClusterStmt {
        ast::ClusterStmt {
            relation: self.held(p, 8, Self::range_var), indexname: self.string(p, 16), params: self.list(p, 24),
        }
    }

    pub(super) fn comment_stmt(&mut self, p: Pointer) -> ast::CommentStmt {
        ast::CommentStmt {
            objtype: self.counted(p, 4), object: self.boxed_node(p, 8), comment: self.string(p, 16),
        }
    }

    pub(super) fn composite_type_stmt(&mut self, p: Pointer) -> ast::CompositeTypeStmt {
        ast::CompositeTypeStmt {
            typevar: self.held(p, 8, Self::range_var), coldeflist: self.list(p, 16),
        }
    }

    pub(super) fn constraints_set_stmt(&mut self, p: Pointer) -> ast::ConstraintsSetStmt {
        ast::ConstraintsSetStmt {
            constraints: self.list(p, 8), deferred: self.bool(p, 16),
        }
    }

    pub(super) fn copy_stmt(&mut self, p: Pointer) -> ast::CopyStmt {
        ast::CopyStmt {
            relation: self.held(p, 8, Self::range_var), query: self.boxed_node(p, 16), attlist: self.list(p, 24), is_from: self.bool(p, 32),
            is_program: self.bool(p, 33), filename: self.string(p, 40), options: self.list(p, 48), where_clause: self.boxed_node(p, 56),
        }
    }

    pub(super) fn create_am_stmt(&mut self, p: Pointer) -> ast::CreateAmStmt {
        ast::CreateAmStmt {
            amname: self.string(p, 8), handler_name: self.list(p, 16), amtype: self.char(p, 24),
        }
    }

    pub(super) fn create_cast_stmt(&mut self, p: Pointer) -> ast::CreateCastStmt {
        ast::CreateCastStmt {
            sourcetype: self.held(p, 8, Self::type_name), targettype: self.held(p, 16, Self::type_name),
            func: self.held(p, 24, Self::object_with_args), context: self.counted(p, 32), inout: self.bool(p, 36),
        }
    }

    pub(super) fn create_conversion_stmt(&mut self, p: Pointer) -> ast::CreateConversionStmt {
        ast::CreateConversionStmt {
            conversion_name: self.list(p, 8), for_encoding_name: self.string(p, 16), to_encoding_name: self.string(p, 24),
            func_name: self.list(p, 32), def: self.bool(p, 40),
        }
    }

    pub(super) fn create_domain_stmt(&mut self, p: Pointer) -> ast::CreateDomainStmt {
        ast::CreateDomainStmt {
            domainname: self.list(p, 8), type_name: self.held(p, 16, Self::type_name), coll_clause: self.boxed(p, 24, Self::collate_clause),
            constraints: self.list(p, 32),
        }
    }

    pub(super) fn create_enum_stmt(&mut self, p: Pointer) -> ast::CreateEnumStmt {
        ast::CreateEnumStmt {
            type_name: self.list(p, 8), vals: self.list(p, 16),
        }
    }

    pub(super) fn create_event_trig_stmt(&mut self, p: Pointer) -> ast::CreateEventTrigStmt {
        ast::CreateEventTrigStmt {
            trigname: self.string(p, 8), eventname: self.string(p, 16), whenclause: self.list(p, 24), funcname: self.list(p, 32),
        }
    }

    pub(super) fn create_extension_stmt(&mut self, p: Pointer) -> ast::CreateExtensionStmt {
        ast::CreateExtensionStmt {
            extname: self.string(p, 8), if_not_exists: self.bool(p, 16), options: self.list(p, 24),
        }
    }

    pub(super) fn create_fdw_stmt(&mut self, p: Pointer) -> ast::CreateFdwStmt {
        ast::CreateFdwStmt {
            fdwname: self.string(p, 8), func_options: self.list(p, 16), options: self.list(p, 24),
        }
    }

    pub(super) fn create_foreign_server_stmt(&mut self, p: Pointer) -> ast::CreateForeignServerStmt {
        ast::CreateForeignServerStmt {
            servername: self.string(p, 8), servertype: self.string(p, 16), version: self.string(p, 24), fdwname: self.string(p, 32),
            if_not_exists: self.bool(p, 40), options: self.list(p, 48),
        }
    }

    pub(super) fn create_foreign_table_stmt(&mut self, p: Pointer) -> ast::CreateForeignTableStmt {
        ast::CreateForeignTableStmt {
            base_stmt: Some(self.create_stmt(p.within(0))), servername: self.string(p, 112), options: self.list(p, 120),
        }
    }

    pub(super) fn create_function_stmt(&mut self, p: Pointer) -> ast::CreateFunctionStmt {
        ast::CreateFunctionStmt {
            is_procedure: self.bool(p, 4), replace: self.bool(p, 5), funcname: self.list(p, 8), parameters: self.list(p, 16),
            return_type: self.held(p, 24, Self::type_name), options: self.list(p, 32), sql_body: self.boxed_node(p, 40),
        }
    }

    pub(super) fn create_op_class_stmt(&mut self, p: Pointer) -> ast::CreateOpClassStmt {
        ast::CreateOpClassStmt {
            opclassname: self.list(p, 8), opfamilyname: self.list(p, 16), amname: self.string(p, 24),
            datatype: self.held(p, 32, Self::type_name), items: self.list(p, 40), is_default: self.bool(p, 48),
        }
    }

    pub(super) fn create_op_family_stmt(&mut self, p: Pointer) -> ast::CreateOpFamilyStmt {
        ast::CreateOpFamilyStmt {
            opfamilyname: self.list(p, 8), amname: self.string(p, 16),
        }
    }

    pub(super) fn create_p_lang_stmt(&mut self, p: Pointer) -> ast::CreatePLangStmt {
        ast::CreatePLangStmt {
            replace: self.bool(p, 4), plname: self.string(p, 8), plhandler: self.list(p, 16), plinline: self.list(p, 24),
            plvalidator: self.list(p, 32), pltrusted: self.bool(p, 40),
        }
    }

    pub(super) fn create_policy_stmt(&mut self, p: Pointer) -> ast::CreatePolicyStmt {
        ast::CreatePolicyStmt {
            policy_name: self.string(p, 8), table: self.held(p, 16, Self::range_var), cmd_name: self.string(p, 24),
            permissive: self.bool(p, 32), roles: self.list(p, 40), qual: self.boxed_node(p, 48), with_check: self.boxed_node(p, 56),
        }
    }

    pub(super) fn create_publication_stmt(&mut self, p: Pointer) -> ast::CreatePublicationStmt {
        ast::CreatePublicationStmt {
            pubname: self.string(p, 8), options: self.list(p, 16), pubobjects: self.list(p, 24), for_all_tables: self.bool(p, 32),
        }
    }

    pub(super) fn create_range_stmt(&mut self, p: Pointer) -> ast::CreateRangeStmt {
        ast::CreateRangeStmt {
            type_name: self.list(p, 8), params: self.list(p, 16),
        }
    }

    pub(super) fn create_role_stmt(&mut self, p: Pointer) -> ast::CreateRoleStmt {
        ast::CreateRoleStmt {
            stmt_type: self.counted(p, 4), role: self.string(p, 8), options: self.list(p, 16),
        }
    }

    pub(super) fn create_schema_stmt(&mut self, p: Pointer) -> ast::CreateSchemaStmt {
        ast::CreateSchemaStmt {
            schemaname: self.string(p, 8), authrole: self.held(p, 16, Self::role_spec), schema_elts: self.list(p, 24),
            if_not_exists: self.bool(p, 32),
        }
    }

    pub(super) fn create_seq_stmt(&mut self, p: Pointer) -> ast::CreateSeqStmt {
        ast::CreateSeqStmt {
            sequence: self.held(p, 8, Self::range_var), options: self.list(p, 16), owner_id: self.uint(p, 24),
            for_identity: self.bool(p, 28), if_not_exists: self.bool(p, 29),
        }
    }

    pub(super) fn create_stats_stmt(&mut self, p: Pointer) -> ast::CreateStatsStmt {
        ast::CreateStatsStmt {
            defnames: self.list(p, 8), stat_types: self.list(p, 16), exprs: self.list(p, 24), relations: self.list(p, 32),
            stxcomment: self.string(p, 40), transformed: self.bool(p, 48), if_not_exists: self.bool(p, 49),
        }
    }

    pub(super) fn create_stmt(&mut self, p: Pointer) -> ast::CreateStmt {
        ast::CreateStmt {
            relation: self.held(p, 8, Self::range_var), table_elts: self.list(p, 16), inh_relations: self.list(p, 24),
            partbound: self.held(p, 32, Self::partition_bound_spec), partspec: self.held(p, 40, Self::partition_spec),
            of_typename: self.held(p, 48, Self::type_name), constraints: self.list(p, 56), nnconstraints: self.list(p, 64),
            options: self.list(p, 72), oncommit: self.counted(p, 80), tablespacename: self.string(p, 88), access_method: self.string(p, 96),
            if_not_exists: self.bool(p, 104),
        }
    }

    pub(super) fn create_subscription_stmt(&mut self, p: Pointer) -> ast::CreateSubscriptionStmt {
        ast::CreateSubscriptionStmt {
            subname: self.string(p, 8), conninfo: self.string(p, 16), publication: self.list(p, 24), options: self.list(p, 32),
            conninfo_location: self.int(p, 40),
        }
    }

    pub(super) fn create_table_as_stmt(&mut self, p: Pointer) -> ast::CreateTableAsStmt {
        ast::CreateTableAsStmt {
            query: self.boxed_node(p, 8), into: self.boxed(p, 16, Self::into_clause), objtype: self.counted(p, 24),
            is_select_into: self.bool(p, 28), if_not_exists: self.bool(p, 29),
        }
    }

    pub(super) fn create_table_space_stmt(&mut self, p: Pointer) -> ast::CreateTableSpaceStmt {
        ast::CreateTableSpaceStmt {
            tablespacename: self.string(p, 8), owner: self.held(p, 16, Self::role_spec), location: self.string(p, 24),
            options: self.list(p, 32),
        }
    }

    pub(super) fn create_transform_stmt(&mut self, p: Pointer) -> ast::CreateTransformStmt {
        ast::CreateTransformStmt {
            replace: self.bool(p, 4), type_name: self.held(p, 8, Self::type_name), lang: self.string(p, 16),
            fromsql: self.held(p, 24, Self::object_with_args), tosql: self.held(p, 32, Self::object_with_args),
        }
    }

    pub(super) fn create_trig_stmt(&mut self, p: Pointer) -> ast::CreateTrigStmt {
        ast::CreateTrigStmt {
            replace: self.bool(p, 4), isconstraint: self.bool(p, 5), trigname: self.string(p, 8),
            relation: self.held(p, 16, Self::range_var), funcname: self.list(p, 24), args: self.list(p, 32), row: self.bool(p, 40),
            timing: self.short(p, 42), events: self.short(p, 44), columns: self.list(p, 48), when_clause: self.boxed_node(p, 56),
            transition_rels: self.list(p, 64), deferrable: self.bool(p, 72), initdeferred: self.bool(p, 73),
            constrrel: self.held(p, 80, Self::range_var),
        }
    }

    pub(super) fn create_user_mapping_stmt(&mut self, p: Pointer) -> ast::CreateUserMappingStmt {
        ast::CreateUserMappingStmt {
            user: self.held(p, 8, Self::role_spec), servername: self.string(p, 16), if_not_exists: self.bool(p, 24),
            options: self.list(p, 32),
        }
    }

    pub(super) fn createdb_stmt(&mut self, p: Pointer) -> ast::CreatedbStmt {
        ast::CreatedbStmt {
            dbname: self.string(p, 8), options: self.list(p, 16),
        }
    }

    pub(super) fn deallocate_stmt(&mut self, p: Pointer) -> ast::DeallocateStmt {
        ast::DeallocateStmt {
            name: self.string(p, 8), isall: self.bool(p, 16), location: self.int(p, 20),
        }
    }

    pub(super) fn declare_cursor_stmt(&mut self, p: Pointer) -> ast::DeclareCursorStmt {
        ast::DeclareCursorStmt {
            portalname: self.string(p, 8), options: self.int(p, 16), query: self.boxed_node(p, 24),
        }
    }

    pub(super) fn define_stmt(&mut self, p: Pointer) -> ast::DefineStmt {
        ast::DefineStmt {
            kind: self.counted(p, 4), oldstyle: self.bool(p, 8), defnames: self.list(p, 16), args: self.list(p, 24),
            definition: self.list(p, 32), if_not_exists: self.bool(p, 40), replace: self.bool(p, 41),
        }
    }

    pub(super) fn delete_stmt(&mut self, p: Pointer) -> ast::DeleteStmt {
        ast::DeleteStmt {
            relation: self.held(p, 8, Self::range_var), using_clause: self.list(p, 16), where_clause: self.boxed_node(p, 24),
            returning_clause: self.held(p, 32, Self::returning_clause), with_clause: self.held(p, 40, Self::with_clause),
        }
    }

    pub(super) fn discard_stmt(&mut self, p: Pointer) -> ast::DiscardStmt {
        ast::DiscardStmt {
            target: self.counted(p, 4),
        }
    }

    pub(super) fn do_stmt(&mut self, p: Pointer) -> ast::DoStmt {
        ast::DoStmt {
            args: self.list(p, 8),
        }
    }

    pub(super) fn drop_owned_stmt(&mut self, p: Pointer) -> ast::DropOwnedStmt {
        ast::DropOwnedStmt {
            roles: self.list(p, 8), behavior: self.counted(p, 16),
        }
    }

    pub(super) fn drop_role_stmt(&mut self, p: Pointer) -> ast::DropRoleStmt {
        ast::DropRoleStmt {
            roles: self.list(p, 8), missing_ok: self.bool(p, 16),
        }
    }

    pub(super) fn drop_stmt(&mut self, p: Pointer) -> ast::DropStmt {
        ast::DropStmt {
            objects: self.list(p, 8), remove_type: self.counted(p, 16), behavior: self.counted(p, 20), missing_ok: self.bool(p, 24),
            concurrent: self.bool(p, 25),
        }
    }

    pub(super) fn drop_subscription_stmt(&mut self, p: Pointer) -> ast::DropSubscriptionStmt {
        ast::DropSubscriptionStmt {
            subname: self.string(p, 8), missing_ok: self.bool(p, 16), behavior: self.counted(p, 20),
        }
    }

    pub(super) fn drop_table_space_stmt(&mut self, p: Pointer) -> ast::DropTableSpaceStmt {
        ast::DropTableSpaceStmt {
            tablespacename: self.string(p, 8), missing_ok: self.bool(p, 16),
        }
    }

    pub(super) fn drop_user_mapping_stmt(&mut self, p: Pointer) -> ast::DropUserMappingStmt {
        ast::DropUserMappingStmt {
            user: self.held(p, 8, Self::role_spec), servername: self.string(p, 16), missing_ok: self.bool(p, 24),
        }
    }

    pub(super) fn dropdb_stmt(&mut self, p: Pointer) -> ast::DropdbStmt {
        ast::DropdbStmt {
            dbname: self.string(p, 8), missing_ok: self.bool(p, 16), options: self.list(p, 24),
        }
    }

    pub(super) fn execute_stmt(&mut self, p: Pointer) -> ast::ExecuteStmt {
        ast::ExecuteStmt {
            name: self.string(p, 8), params: self.list(p, 16),
        }
    }

    pub(super) fn explain_stmt(&mut self, p: Pointer) -> ast::ExplainStmt {
        ast::ExplainStmt {
            query: self.boxed_node(p, 8), options: self.list(p, 16),
        }
    }

    pub(super) fn fetch_stmt(&mut self, p: Pointer) -> ast::FetchStmt {
        ast::FetchStmt {
            direction: self.counted(p, 4), how_many: self.long(p, 8), portalname: self.string(p, 16), ismove: self.bool(p, 24),
        }
    }

    pub(super) fn grant_role_stmt(&mut self, p: Pointer) -> ast::GrantRoleStmt {
        ast::GrantRoleStmt {
            granted_roles: self.list(p, 8), grantee_roles: self.list(p, 16), is_grant: self.bool(p, 24), opt: self.list(p, 32),
            grantor: self.held(p, 40, Self::role_spec), behavior: self.counted(p, 48),
        }
    }

    pub(super) fn grant_stmt(&mut self, p: Pointer) -> ast::GrantStmt {
        ast::GrantStmt {
            is_grant: self.bool(p, 4), targtype: self.counted(p, 8), objtype: self.counted(p, 12), objects: self.list(p, 16),
            privileges: self.list(p, 24), grantees: self.list(p, 32), grant_option: self.bool(p, 40),
            grantor: self.held(p, 48, Self::role_spec), behavior: self.counted(p, 56),
        }
    }

    pub(super) fn import_foreign_schema_stmt(&mut self, p: Pointer) -> ast::ImportForeignSchemaStmt {
        ast::ImportForeignSchemaStmt {
            server_name: self.string(p, 8), remote_schema: self.string(p, 16), local_schema: self.string(p, 24),
            list_type: self.counted(p, 32), table_list: self.list(p, 40), options: self.list(p, 48),
        }
    }

    pub(super) fn index_stmt(&mut self, p: Pointer) -> ast::IndexStmt {
        ast::IndexStmt {
            idxname: self.string(p, 8), relation: self.held(p, 16, Self::range_var), access_method: self.string(p, 24),
            table_space: self.string(p, 32), index_params: self.list(p, 40), index_including_params: self.list(p, 48),
            options: self.list(p, 56), where_clause: self.boxed_node(p, 64), exclude_op_names: self.list(p, 72),
            idxcomment: self.string(p, 80), index_oid: self.uint(p, 88), old_number: self.uint(p, 92), old_create_subid: self.uint(p, 96),
            old_first_relfilelocator_subid: self.uint(p, 100), unique: self.bool(p, 104), nulls_not_distinct: self.bool(p, 105),
            primary: self.bool(p, 106), isconstraint: self.bool(p, 107), iswithoutoverlaps: self.bool(p, 108),
            deferrable: self.bool(p, 109), initdeferred: self.bool(p, 110), transformed: self.bool(p, 111), concurrent: self.bool(p, 112),
            if_not_exists: self.bool(p, 113), reset_default_tblspc: self.bool(p, 114),
        }
    }

    pub(super) fn insert_stmt(&mut self, p: Pointer) -> ast::InsertStmt {
        ast::InsertStmt {
            relation: self.held(p, 8, Self::range_var), cols: self.list(p, 16), select_stmt: self.boxed_node(p, 24),
            on_conflict_clause: self.boxed(p, 32, Self::on_conflict_clause), returning_clause: self.held(p, 40, Self::returning_clause),
            with_clause: self.held(p, 48, Self::with_clause), r#override: self.counted(p, 56),
        }
    }

    pub(super) fn listen_stmt(&mut self, p: Pointer) -> ast::ListenStmt {
        ast::ListenStmt {
            conditionname: self.string(p, 8),
        }
    }

    pub(super) fn load_stmt(&mut self, p: Pointer) -> ast::LoadStmt {
        ast::LoadStmt {
            filename: self.string(p, 8),
        }
    }

    pub(super) fn lock_stmt(&mut self, p: Pointer) -> ast::LockStmt {
        ast::LockStmt {
            relations: self.list(p, 8), mode: self.int(p, 16), nowait: self.bool(p, 20),
        }
    }

    pub(super) fn merge_stmt(&mut self, p: Pointer) -> ast::MergeStmt {
        ast::MergeStmt {
            relation: self.held(p, 8, Self::range_var), source_relation: self.boxed_node(p, 16), join_condition: self.boxed_node(p, 24),
            merge_when_clauses: self.list(p, 32), returning_clause: self.held(p, 40, Self::returning_clause),
            with_clause: self.held(p, 48, Self::with_clause),
        }
    }

    pub(super) fn notify_stmt(&mut self, p: Pointer) -> ast::NotifyStmt {
        ast::NotifyStmt {
            conditionname: self.string(p, 8), payload: self.string(p, 16), payload_location: self.int(p, 24),
        }
    }

    pub(super) fn prepare_stmt(&mut self, p: Pointer) -> ast::PrepareStmt {
        ast::PrepareStmt {
            name: self.string(p, 8), argtypes: self.list(p, 16), query: self.boxed_node(p, 24),
        }
    }

    pub(super) fn raw_stmt(&mut self, p: Pointer) -> ast::RawStmt {
        ast::RawStmt {
            stmt: self.boxed_node(p, 8), stmt_location: self.int(p, 16), stmt_len: self.int(p, 20),
        }
    }

    pub(super) fn reassign_owned_stmt(&mut self, p: Pointer) -> ast::ReassignOwnedStmt {
        ast::ReassignOwnedStmt {
            roles: self.list(p, 8), newrole: self.held(p, 16, Self::role_spec),
        }
    }

    pub(super) fn refresh_mat_view_stmt(&mut self, p: Pointer) -> ast::RefreshMatViewStmt {
        ast::RefreshMatViewStmt {
            concurrent: self.bool(p, 4), skip_data: self.bool(p, 5), relation: self.held(p, 8, Self::range_var),
        }
    }

    pub(super) fn reindex_stmt(&mut self, p: Pointer) -> ast::ReindexStmt {
        ast::ReindexStmt {
            kind: self.counted(p, 4), relation: self.held(p, 8, Self::range_var), name: self.string(p, 16), params: self.list(p, 24),
        }
    }

    pub(super) fn rename_stmt(&mut self, p: Pointer) -> ast::RenameStmt {
        ast::RenameStmt {
            rename_type: self.counted(p, 4), relation_type: self.counted(p, 8), relation: self.held(p, 16, Self::range_var),
            object: self.boxed_node(p, 24), subname: self.string(p, 32), newname: self.string(p, 40), behavior: self.counted(p, 48),
            missing_ok: self.bool(p, 52),
        }
    }

    pub(super) fn replica_identity_stmt(&mut self, p: Pointer) -> ast::ReplicaIdentityStmt {
        ast::ReplicaIdentityStmt {
            identity_type: self.char(p, 4), name: self.string(p, 8),
        }
    }

    pub(super) fn return_stmt(&mut self, p: Pointer) -> ast::ReturnStmt {
        ast::ReturnStmt {
            returnval: self.boxed_node(p, 8),
        }
    }

    pub(super) fn rule_stmt(&mut self, p: Pointer) -> ast::RuleStmt {
        ast::RuleStmt {
            relation: self.held(p, 8, Self::range_var), rulename: self.string(p, 16), where_clause: self.boxed_node(p, 24),
            event: self.counted(p, 32), instead: self.bool(p, 36), actions: self.list(p, 40), replace: self.bool(p, 48),
        }
    }

    pub(super) fn sec_label_stmt(&mut self, p: Pointer) -> ast::SecLabelStmt {
        ast::SecLabelStmt {
            objtype: self.counted(p, 4), object: self.boxed_node(p, 8), provider: self.string(p, 16), label: self.string(p, 24),
        }
    }

    pub(super) fn select_stmt(&mut self, p: Pointer) -> ast::SelectStmt {
        ast::SelectStmt {
            distinct_clause: self.list(p, 8), into_clause: self.boxed(p, 16, Self::into_clause), target_list: self.list(p, 24),
            from_clause: self.list(p, 32), where_clause: self.boxed_node(p, 40), group_clause: self.list(p, 48),
            group_distinct: self.bool(p, 56), having_clause: self.boxed_node(p, 64), window_clause: self.list(p, 72),
            values_lists: self.list(p, 80), sort_clause: self.list(p, 88), limit_offset: self.boxed_node(p, 96),
            limit_count: self.boxed_node(p, 104), limit_option: self.counted(p, 112), locking_clause: self.list(p, 120),
            with_clause: self.held(p, 128, Self::with_clause), op: self.counted(p, 136), all: self.bool(p, 140),
            larg: self.boxed(p, 144, Self::select_stmt), rarg: self.boxed(p, 152, Self::select_stmt),
        }
    }

    pub(super) fn transaction_stmt(&mut self, p: Pointer) -> ast::TransactionStmt {
        ast::TransactionStmt {
            kind: self.counted(p, 4), options: self.list(p, 8), savepoint_name: self.string(p, 16), gid: self.string(p, 24),
            chain: self.bool(p, 32), location: self.int(p, 36),
        }
    }

    pub(super) fn truncate_stmt(&mut self, p: Pointer) -> ast::TruncateStmt {
        ast::TruncateStmt {
            relations: self.list(p, 8), restart_seqs: self.bool(p, 16), behavior: self.counted(p, 20),
        }
    }

    pub(super) fn unlisten_stmt(&mut self, p: Pointer) -> ast::UnlistenStmt {
        ast::UnlistenStmt {
            conditionname: self.string(p, 8),
        }
    }

    pub(super) fn update_stmt(&mut self, p: Pointer) -> ast::UpdateStmt {
        ast::UpdateStmt {
            relation: self.held(p, 8, Self::range_var), target_list: self.list(p, 16), where_clause: self.boxed_node(p, 24),
            from_clause: self.list(p, 32), returning_clause: self.held(p, 40, Self::returning_clause),
            with_clause: self.held(p, 48, Self::with_clause),
        }
    }

    pub(super) fn vacuum_stmt(&mut self, p: Pointer) -> ast::VacuumStmt {
        ast::VacuumStmt {
            options: self.list(p, 8), rels: self.list(p, 16), is_vacuumcmd: self.bool(p, 24),
        }
    }

    pub(super) fn variable_set_stmt(&mut self, p: Pointer) -> ast::VariableSetStmt {
        ast::VariableSetStmt {
            kind: self.counted(p, 4), name: self.string(p, 8), args: self.list(p, 16), jumble_args: self.bool(p, 24),
            is_local: self.bool(p, 25), location: self.int(p, 28),
        }
    }

    pub(super) fn variable_show_stmt(&mut self, p: Pointer) -> ast::VariableShowStmt {
        ast::VariableShowStmt {
            name: self.string(p, 8),
        }
    }

    pub(super) fn view_stmt(&mut self, p: Pointer) -> ast::ViewStmt {
        ast::ViewStmt {
            view: self.held(p, 8, Self::range_var), aliases: self.list(p, 16), query: self.boxed_node(p, 24), replace: self.bool(p, 32),
            options: self.list(p, 40), with_check_option: self.counted(p, 48),
        }
    }
}
