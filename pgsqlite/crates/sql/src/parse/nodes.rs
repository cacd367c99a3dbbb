// Written by gen/parse_nodes.py: do not edit.
//! What statements are made of, as the grammar makes it, and which function reads which node.

use super::c_tree::{Pointer, Reader};
use pg_query::protobuf as ast;

#[rustfmt::skip]
impl Reader {
    pub(super) fn at_alter_constraint(&mut self, p: Pointer) -> ast::AtAlterConstraint {
        ast::AtAlterConstraint {
            conname: self.string(p, 8), alter_enforceability: self.bool(p, 16), is_enforced: self.bool(p, 17),
            alter_deferrability: self.bool(p, 18), deferrable: self.bool(p, 19), initdeferred: self.bool(p, 20),
            alter_inheritability: self.bool(p, 21), noinherit: self.bool(p, 22),
        }
    }

    pub(super) fn a_array_expr(&mut self, p: Pointer) -> ast::AArrayExpr {
        ast::AArrayExpr {
            elements: self.list(p, 8), list_start: self.int(p, 16), list_end: self.int(p, 20), location: self.int(p, 24),
        }
    }

    pub(super) fn a_expr(&mut self, p: Pointer) -> ast::AExpr {
        ast::AExpr {
            kind: self.counted(p, 4), name: self.list(p, 8), lexpr: self.boxed_node(p, 16), rexpr: self.boxed_node(p, 24),
            rexpr_list_start: self.int(p, 32), rexpr_list_end: self.int(p, 36), location: self.int(p, 40),
        }
    }

    pub(super) fn a_indices(&mut self, p: Pointer) -> ast::AIndices {
        ast::AIndices {
            is_slice: self.bool(p, 4), lidx: self.boxed_node(p, 8), uidx: self.boxed_node(p, 16),
        }
    }

    pub(super) fn a_indirection(&mut self, p: Pointer) -> ast::AIndirection {
        ast::AIndirection {
            arg: self.boxed_node(p, 8), indirection: self.list(p, 16),
        }
    }

    pub(super) fn a_star(&mut self, _: Pointer) -> ast::AStar {
        ast::AStar {}
    }

    pub(super) fn access_priv(&mut self, p: Pointer) -> ast::AccessPriv {
        ast::AccessPriv {
            priv_name: self.string(p, 8), cols: self.list(p, 16),
        }
    }

    pub(super) fn alias(&mut self, p: Pointer) -> ast::Alias {
        ast::Alias {
            aliasname: self.string(p, 8), colnames: self.list(p, 16),
        }
    }

    pub(super) fn alter_table_cmd(&mut self, p: Pointer) -> ast::AlterTableCmd {
        ast::AlterTableCmd {
            subtype: self.counted(p, 4), name: self.string(p, 8), num: self.short(p, 16), newowner: self.held(p, 24, Self::role_spec),
            def: self.boxed_node(p, 32), behavior: self.counted(p, 40), missing_ok: self.bool(p, 44), recurse: self.bool(p, 45),
        }
    }

    pub(super) fn bool_expr(&mut self, p: Pointer) -> ast::BoolExpr {
        ast::BoolExpr {
            boolop: self.counted(p, 4), args: self.list(p, 8), location: self.int(p, 16), xpr: None,
        }
    }

    pub(super) fn boolean_test(&mut self, p: Pointer) -> ast::BooleanTest {
        ast::BooleanTest {
            arg: self.boxed_node(p, 8), booltesttype: self.counted(p, 16), location: self.int(p, 20), xpr: None,
        }
    }

    pub(super) fn cte_cycle_clause(&mut self, p: Pointer) -> ast::CteCycleClause {
        ast::CteCycleClause {
            cycle_col_list: self.list(p, 8), cycle_mark_column: self.string(p, 16), cycle_mark_value: self.boxed_node(p, 24),
            cycle_mark_default: self.boxed_node(p, 32), cycle_path_column: self.string(p, 40), location: self.int(p, 48),
            cycle_mark_type: self.uint(p, 52), cycle_mark_typmod: self.int(p, 56), cycle_mark_collation: self.uint(p, 60),
            cycle_mark_neop: self.uint(p, 64),
        }
    }

    pub(super) fn cte_search_clause(&mut self, p: Pointer) -> ast::CteSearchClause {
        ast::CteSearchClause {
            search_col_list: self.list(p, 8), search_breadth_first: self.bool(p, 16), search_seq_column: self.string(p, 24),
            location: self.int(p, 32),
        }
    }

    pub(super) fn case_expr(&mut self, p: Pointer) -> ast::CaseExpr {
        ast::CaseExpr {
            casetype: self.uint(p, 4), casecollid: self.uint(p, 8), arg: self.boxed_node(p, 16), args: self.list(p, 24),
            defresult: self.boxed_node(p, 32), location: self.int(p, 40), xpr: None,
        }
    }

    pub(super) fn case_when(&mut self, p: Pointer) -> ast::CaseWhen {
        ast::CaseWhen {
            expr: self.boxed_node(p, 8), result: self.boxed_node(p, 16), location: self.int(p, 24), xpr: None,
        }
    }

    pub(super) fn coalesce_expr(&mut self, p: Pointer) -> ast::CoalesceExpr {
        ast::CoalesceExpr {
            coalescetype: self.uint(p, 4), coalescecollid: self.uint(p, 8), args: self.list(p, 16), location: self.int(p, 24), xpr: None,
        }
    }

    pub(super) fn collate_clause(&mut self, p: Pointer) -> ast::CollateClause {
        ast::CollateClause {
            arg: self.boxed_node(p, 8), collname: self.list(p, 16), location: self.int(p, 24),
        }
    }

    pub(super) fn column_def(&mut self, p: Pointer) -> ast::ColumnDef {
        ast::ColumnDef {
            colname: self.string(p, 8), type_name: self.held(p, 16, Self::type_name), compression: self.string(p, 24),
            inhcount: self.short(p, 32), is_local: self.bool(p, 34), is_not_null: self.bool(p, 35), is_from_type: self.bool(p, 36),
            storage: self.char(p, 37), storage_name: self.string(p, 40), raw_default: self.boxed_node(p, 48),
            cooked_default: self.boxed_node(p, 56), identity: self.char(p, 64), identity_sequence: self.held(p, 72, Self::range_var),
            generated: self.char(p, 80), coll_clause: self.boxed(p, 88, Self::collate_clause), coll_oid: self.uint(p, 96),
            constraints: self.list(p, 104), fdwoptions: self.list(p, 112), location: self.int(p, 120),
        }
    }

    pub(super) fn column_ref(&mut self, p: Pointer) -> ast::ColumnRef {
        ast::ColumnRef {
            fields: self.list(p, 8), location: self.int(p, 16),
        }
    }

    pub(super) fn common_table_expr(&mut self, p: Pointer) -> ast::CommonTableExpr {
        ast::CommonTableExpr {
            ctename: self.string(p, 8), aliascolnames: self.list(p, 16), ctematerialized: self.counted(p, 24),
            ctequery: self.boxed_node(p, 32), search_clause: self.held(p, 40, Self::cte_search_clause),
            cycle_clause: self.boxed(p, 48, Self::cte_cycle_clause), location: self.int(p, 56), cterecursive: self.bool(p, 60),
            cterefcount: self.int(p, 64), ctecolnames: self.list(p, 72), ctecoltypes: self.list(p, 80), ctecoltypmods: self.list(p, 88),
            ctecolcollations: self.list(p, 96),
        }
    }

    pub(super) fn constraint(&mut self, p: Pointer) -> ast::Constraint {
        ast::Constraint {
            contype: self.counted(p, 4), conname: self.string(p, 8), deferrable: self.bool(p, 16), initdeferred: self.bool(p, 17),
            is_enforced: self.bool(p, 18), skip_validation: self.bool(p, 19), initially_valid: self.bool(p, 20),
            is_no_inherit: self.bool(p, 21), raw_expr: self.boxed_node(p, 24), cooked_expr: self.string(p, 32),
            generated_when: self.char(p, 40), generated_kind: self.char(p, 41), nulls_not_distinct: self.bool(p, 42),
            keys: self.list(p, 48), without_overlaps: self.bool(p, 56), including: self.list(p, 64), exclusions: self.list(p, 72),
            options: self.list(p, 80), indexname: self.string(p, 88), indexspace: self.string(p, 96),
            reset_default_tblspc: self.bool(p, 104), access_method: self.string(p, 112), where_clause: self.boxed_node(p, 120),
            pktable: self.held(p, 128, Self::range_var), fk_attrs: self.list(p, 136), pk_attrs: self.list(p, 144),
            fk_with_period: self.bool(p, 152), pk_with_period: self.bool(p, 153), fk_matchtype: self.char(p, 154),
            fk_upd_action: self.char(p, 155), fk_del_action: self.char(p, 156), fk_del_set_cols: self.list(p, 160),
            old_conpfeqop: self.list(p, 168), old_pktable_oid: self.uint(p, 176), location: self.int(p, 180),
        }
    }

    pub(super) fn create_op_class_item(&mut self, p: Pointer) -> ast::CreateOpClassItem {
        ast::CreateOpClassItem {
            itemtype: self.int(p, 4), name: self.held(p, 8, Self::object_with_args), number: self.int(p, 16),
            order_family: self.list(p, 24), class_args: self.list(p, 32), storedtype: self.held(p, 40, Self::type_name),
        }
    }

    pub(super) fn current_of_expr(&mut self, p: Pointer) -> ast::CurrentOfExpr {
        ast::CurrentOfExpr {
            cvarno: self.uint(p, 4), cursor_name: self.string(p, 8), cursor_param: self.int(p, 16), xpr: None,
        }
    }

    pub(super) fn def_elem(&mut self, p: Pointer) -> ast::DefElem {
        ast::DefElem {
            defnamespace: self.string(p, 8), defname: self.string(p, 16), arg: self.boxed_node(p, 24), defaction: self.counted(p, 32),
            location: self.int(p, 36), arg_location: self.int(p, 40),
        }
    }

    pub(super) fn func_call(&mut self, p: Pointer) -> ast::FuncCall {
        ast::FuncCall {
            funcname: self.list(p, 8), args: self.list(p, 16), agg_order: self.list(p, 24), agg_filter: self.boxed_node(p, 32),
            over: self.boxed(p, 40, Self::window_def), agg_within_group: self.bool(p, 48), agg_star: self.bool(p, 49),
            agg_distinct: self.bool(p, 50), func_variadic: self.bool(p, 51), funcformat: self.counted(p, 52), location: self.int(p, 56),
        }
    }

    pub(super) fn function_parameter(&mut self, p: Pointer) -> ast::FunctionParameter {
        ast::FunctionParameter {
            name: self.string(p, 8), arg_type: self.held(p, 16, Self::type_name), mode: function_parameter_mode(self.uint(p, 24)),
            defexpr: self.boxed_node(p, 32), location: self.int(p, 40),
        }
    }

    pub(super) fn grouping_func(&mut self, p: Pointer) -> ast::GroupingFunc {
        ast::GroupingFunc {
            args: self.list(p, 8), refs: self.list(p, 16), agglevelsup: self.uint(p, 32), location: self.int(p, 36), xpr: None,
        }
    }

    pub(super) fn grouping_set(&mut self, p: Pointer) -> ast::GroupingSet {
        ast::GroupingSet {
            kind: self.counted(p, 4), content: self.list(p, 8), location: self.int(p, 16),
        }
    }

    pub(super) fn index_elem(&mut self, p: Pointer) -> ast::IndexElem {
        ast::IndexElem {
            name: self.string(p, 8), expr: self.boxed_node(p, 16), indexcolname: self.string(p, 24), collation: self.list(p, 32),
            opclass: self.list(p, 40), opclassopts: self.list(p, 48), ordering: self.counted(p, 56), nulls_ordering: self.counted(p, 60),
        }
    }

    pub(super) fn infer_clause(&mut self, p: Pointer) -> ast::InferClause {
        ast::InferClause {
            index_elems: self.list(p, 8), where_clause: self.boxed_node(p, 16), conname: self.string(p, 24), location: self.int(p, 32),
        }
    }

    pub(super) fn into_clause(&mut self, p: Pointer) -> ast::IntoClause {
        ast::IntoClause {
            rel: self.held(p, 8, Self::range_var), col_names: self.list(p, 16), access_method: self.string(p, 24),
            options: self.list(p, 32), on_commit: self.counted(p, 40), table_space_name: self.string(p, 48), view_query: self.absent(p, 56),
            skip_data: self.bool(p, 64),
        }
    }

    pub(super) fn join_expr(&mut self, p: Pointer) -> ast::JoinExpr {
        ast::JoinExpr {
            jointype: self.counted(p, 4), is_natural: self.bool(p, 8), larg: self.boxed_node(p, 16), rarg: self.boxed_node(p, 24),
            using_clause: self.list(p, 32), join_using_alias: self.held(p, 40, Self::alias), quals: self.boxed_node(p, 48),
            alias: self.held(p, 56, Self::alias), rtindex: self.int(p, 64),
        }
    }

    pub(super) fn json_agg_constructor(&mut self, p: Pointer) -> ast::JsonAggConstructor {
        ast::JsonAggConstructor {
            output: self.held(p, 8, Self::json_output), agg_filter: self.boxed_node(p, 16), agg_order: self.list(p, 24),
            over: self.boxed(p, 32, Self::window_def), location: self.int(p, 40),
        }
    }

    pub(super) fn json_argument(&mut self, p: Pointer) -> ast::JsonArgument {
        ast::JsonArgument {
            val: self.boxed(p, 8, Self::json_value_expr), name: self.string(p, 16),
        }
    }

    pub(super) fn json_array_agg(&mut self, p: Pointer) -> ast::JsonArrayAgg {
        ast::JsonArrayAgg {
            constructor: self.boxed(p, 8, Self::json_agg_constructor), arg: self.boxed(p, 16, Self::json_value_expr),
            absent_on_null: self.bool(p, 24),
        }
    }

    pub(super) fn json_array_constructor(&mut self, p: Pointer) -> ast::JsonArrayConstructor {
        ast::JsonArrayConstructor {
            exprs: self.list(p, 8), output: self.held(p, 16, Self::json_output), absent_on_null: self.bool(p, 24), location: self.int(p, 28),
        }
    }

    pub(super) fn json_array_query_constructor(&mut self, p: Pointer) -> ast::JsonArrayQueryConstructor {
        ast::JsonArrayQueryConstructor {
            query: self.boxed_node(p, 8), output: self.held(p, 16, Self::json_output), format: self.held(p, 24, Self::json_format),
            absent_on_null: self.bool(p, 32), location: self.int(p, 36),
        }
    }

    pub(super) fn json_behavior(&mut self, p: Pointer) -> ast::JsonBehavior {
        ast::JsonBehavior {
            btype: self.counted(p, 4), expr: self.boxed_node(p, 8), coerce: self.bool(p, 16), location: self.int(p, 20),
        }
    }

    pub(super) fn json_format(&mut self, p: Pointer) -> ast::JsonFormat {
        ast::JsonFormat {
            format_type: self.counted(p, 4), encoding: self.counted(p, 8), location: self.int(p, 12),
        }
    }

    pub(super) fn json_func_expr(&mut self, p: Pointer) -> ast::JsonFuncExpr {
        ast::JsonFuncExpr {
            op: self.counted(p, 4), column_name: self.string(p, 8), context_item: self.boxed(p, 16, Self::json_value_expr),
            pathspec: self.boxed_node(p, 24), passing: self.list(p, 32), output: self.held(p, 40, Self::json_output),
            on_empty: self.boxed(p, 48, Self::json_behavior), on_error: self.boxed(p, 56, Self::json_behavior),
            wrapper: self.counted(p, 64), quotes: self.counted(p, 68), location: self.int(p, 72),
        }
    }

    pub(super) fn json_is_predicate(&mut self, p: Pointer) -> ast::JsonIsPredicate {
        ast::JsonIsPredicate {
            expr: self.boxed_node(p, 8), format: self.held(p, 16, Self::json_format), item_type: self.counted(p, 24),
            unique_keys: self.bool(p, 28), location: self.int(p, 32),
        }
    }

    pub(super) fn json_key_value(&mut self, p: Pointer) -> ast::JsonKeyValue {
        ast::JsonKeyValue {
            key: self.boxed_node(p, 8), value: self.boxed(p, 16, Self::json_value_expr),
        }
    }

    pub(super) fn json_object_agg(&mut self, p: Pointer) -> ast::JsonObjectAgg {
        ast::JsonObjectAgg {
            constructor: self.boxed(p, 8, Self::json_agg_constructor), arg: self.boxed(p, 16, Self::json_key_value),
            absent_on_null: self.bool(p, 24), unique: self.bool(p, 25),
        }
    }

    pub(super) fn json_object_constructor(&mut self, p: Pointer) -> ast::JsonObjectConstructor {
        ast::JsonObjectConstructor {
            exprs: self.list(p, 8), output: self.held(p, 16, Self::json_output), absent_on_null: self.bool(p, 24), unique: self.bool(p, 25),
            location: self.int(p, 28),
        }
    }

    pub(super) fn json_output(&mut self, p: Pointer) -> ast::JsonOutput {
        ast::JsonOutput {
            type_name: self.held(p, 8, Self::type_name), returning: self.held(p, 16, Self::json_returning),
        }
    }

    pub(super) fn json_parse_expr(&mut self, p: Pointer) -> ast::JsonParseExpr {
        ast::JsonParseExpr {
            expr: self.boxed(p, 8, Self::json_value_expr), output: self.held(p, 16, Self::json_output), unique_keys: self.bool(p, 24),
            location: self.int(p, 28),
        }
    }

    pub(super) fn json_returning(&mut self, p: Pointer) -> ast::JsonReturning {
        ast::JsonReturning {
            format: self.held(p, 8, Self::json_format), typid: self.uint(p, 16), typmod: self.int(p, 20),
        }
    }

    pub(super) fn json_scalar_expr(&mut self, p: Pointer) -> ast::JsonScalarExpr {
        ast::JsonScalarExpr {
            expr: self.boxed_node(p, 8), output: self.held(p, 16, Self::json_output), location: self.int(p, 24),
        }
    }

    pub(super) fn json_serialize_expr(&mut self, p: Pointer) -> ast::JsonSerializeExpr {
        ast::JsonSerializeExpr {
            expr: self.boxed(p, 8, Self::json_value_expr), output: self.held(p, 16, Self::json_output), location: self.int(p, 24),
        }
    }

    pub(super) fn json_table(&mut self, p: Pointer) -> ast::JsonTable {
        ast::JsonTable {
            context_item: self.boxed(p, 8, Self::json_value_expr), pathspec: self.boxed(p, 16, Self::json_table_path_spec),
            passing: self.list(p, 24), columns: self.list(p, 32), on_error: self.boxed(p, 40, Self::json_behavior),
            alias: self.held(p, 48, Self::alias), lateral: self.bool(p, 56), location: self.int(p, 60),
        }
    }

    pub(super) fn json_table_column(&mut self, p: Pointer) -> ast::JsonTableColumn {
        ast::JsonTableColumn {
            coltype: self.counted(p, 4), name: self.string(p, 8), type_name: self.held(p, 16, Self::type_name),
            pathspec: self.boxed(p, 24, Self::json_table_path_spec), format: self.held(p, 32, Self::json_format),
            wrapper: self.counted(p, 40), quotes: self.counted(p, 44), columns: self.list(p, 48),
            on_empty: self.boxed(p, 56, Self::json_behavior), on_error: self.boxed(p, 64, Self::json_behavior), location: self.int(p, 72),
        }
    }

    pub(super) fn json_table_path_spec(&mut self, p: Pointer) -> ast::JsonTablePathSpec {
        ast::JsonTablePathSpec {
            string: self.boxed_node(p, 8), name: self.string(p, 16), name_location: self.int(p, 24), location: self.int(p, 28),
        }
    }

    pub(super) fn json_value_expr(&mut self, p: Pointer) -> ast::JsonValueExpr {
        ast::JsonValueExpr {
            raw_expr: self.boxed_node(p, 8), formatted_expr: self.boxed_node(p, 16), format: self.held(p, 24, Self::json_format),
        }
    }

    pub(super) fn locking_clause(&mut self, p: Pointer) -> ast::LockingClause {
        ast::LockingClause {
            locked_rels: self.list(p, 8), strength: self.counted(p, 16), wait_policy: self.counted(p, 20),
        }
    }

    pub(super) fn merge_support_func(&mut self, p: Pointer) -> ast::MergeSupportFunc {
        ast::MergeSupportFunc {
            msftype: self.uint(p, 4), msfcollid: self.uint(p, 8), location: self.int(p, 12), xpr: None,
        }
    }

    pub(super) fn merge_when_clause(&mut self, p: Pointer) -> ast::MergeWhenClause {
        ast::MergeWhenClause {
            match_kind: self.counted(p, 4), command_type: self.counted(p, 8), r#override: self.counted(p, 12),
            condition: self.boxed_node(p, 16), target_list: self.list(p, 24), values: self.list(p, 32),
        }
    }

    pub(super) fn min_max_expr(&mut self, p: Pointer) -> ast::MinMaxExpr {
        ast::MinMaxExpr {
            minmaxtype: self.uint(p, 4), minmaxcollid: self.uint(p, 8), inputcollid: self.uint(p, 12), op: self.counted(p, 16),
            args: self.list(p, 24), location: self.int(p, 32), xpr: None,
        }
    }

    pub(super) fn multi_assign_ref(&mut self, p: Pointer) -> ast::MultiAssignRef {
        ast::MultiAssignRef {
            source: self.boxed_node(p, 8), colno: self.int(p, 16), ncolumns: self.int(p, 20),
        }
    }

    pub(super) fn named_arg_expr(&mut self, p: Pointer) -> ast::NamedArgExpr {
        ast::NamedArgExpr {
            arg: self.boxed_node(p, 8), name: self.string(p, 16), argnumber: self.int(p, 24), location: self.int(p, 28), xpr: None,
        }
    }

    pub(super) fn null_test(&mut self, p: Pointer) -> ast::NullTest {
        ast::NullTest {
            arg: self.boxed_node(p, 8), nulltesttype: self.counted(p, 16), argisrow: self.bool(p, 20), location: self.int(p, 24), xpr: None,
        }
    }

    pub(super) fn object_with_args(&mut self, p: Pointer) -> ast::ObjectWithArgs {
        ast::ObjectWithArgs {
            objname: self.list(p, 8), objargs: self.list(p, 16), objfuncargs: self.list(p, 24), args_unspecified: self.bool(p, 32),
        }
    }

    pub(super) fn on_conflict_clause(&mut self, p: Pointer) -> ast::OnConflictClause {
        ast::OnConflictClause {
            action: self.counted(p, 4), infer: self.boxed(p, 8, Self::infer_clause), target_list: self.list(p, 16),
            where_clause: self.boxed_node(p, 24), location: self.int(p, 32),
        }
    }

    pub(super) fn param_ref(&mut self, p: Pointer) -> ast::ParamRef {
        ast::ParamRef {
            number: self.int(p, 4), location: self.int(p, 8),
        }
    }

    pub(super) fn partition_bound_spec(&mut self, p: Pointer) -> ast::PartitionBoundSpec {
        ast::PartitionBoundSpec {
            strategy: self.char(p, 4), is_default: self.bool(p, 5), modulus: self.int(p, 8), remainder: self.int(p, 12),
            listdatums: self.list(p, 16), lowerdatums: self.list(p, 24), upperdatums: self.list(p, 32), location: self.int(p, 40),
        }
    }

    pub(super) fn partition_cmd(&mut self, p: Pointer) -> ast::PartitionCmd {
        ast::PartitionCmd {
            name: self.held(p, 8, Self::range_var), bound: self.held(p, 16, Self::partition_bound_spec), concurrent: self.bool(p, 24),
        }
    }

    pub(super) fn partition_elem(&mut self, p: Pointer) -> ast::PartitionElem {
        ast::PartitionElem {
            name: self.string(p, 8), expr: self.boxed_node(p, 16), collation: self.list(p, 24), opclass: self.list(p, 32),
            location: self.int(p, 40),
        }
    }

    pub(super) fn partition_spec(&mut self, p: Pointer) -> ast::PartitionSpec {
        ast::PartitionSpec {
            strategy: partition_strategy(self.uint(p, 4)), part_params: self.list(p, 8), location: self.int(p, 16),
        }
    }

    pub(super) fn publication_obj_spec(&mut self, p: Pointer) -> ast::PublicationObjSpec {
        ast::PublicationObjSpec {
            pubobjtype: self.counted(p, 4), name: self.string(p, 8), pubtable: self.boxed(p, 16, Self::publication_table),
            location: self.int(p, 24),
        }
    }

    pub(super) fn publication_table(&mut self, p: Pointer) -> ast::PublicationTable {
        ast::PublicationTable {
            relation: self.held(p, 8, Self::range_var), where_clause: self.boxed_node(p, 16), columns: self.list(p, 24),
        }
    }

    pub(super) fn range_function(&mut self, p: Pointer) -> ast::RangeFunction {
        ast::RangeFunction {
            lateral: self.bool(p, 4), ordinality: self.bool(p, 5), is_rowsfrom: self.bool(p, 6), functions: self.list(p, 8),
            alias: self.held(p, 16, Self::alias), coldeflist: self.list(p, 24),
        }
    }

    pub(super) fn range_subselect(&mut self, p: Pointer) -> ast::RangeSubselect {
        ast::RangeSubselect {
            lateral: self.bool(p, 4), subquery: self.boxed_node(p, 8), alias: self.held(p, 16, Self::alias),
        }
    }

    pub(super) fn range_table_func(&mut self, p: Pointer) -> ast::RangeTableFunc {
        ast::RangeTableFunc {
            lateral: self.bool(p, 4), docexpr: self.boxed_node(p, 8), rowexpr: self.boxed_node(p, 16), namespaces: self.list(p, 24),
            columns: self.list(p, 32), alias: self.held(p, 40, Self::alias), location: self.int(p, 48),
        }
    }

    pub(super) fn range_table_func_col(&mut self, p: Pointer) -> ast::RangeTableFuncCol {
        ast::RangeTableFuncCol {
            colname: self.string(p, 8), type_name: self.held(p, 16, Self::type_name), for_ordinality: self.bool(p, 24),
            is_not_null: self.bool(p, 25), colexpr: self.boxed_node(p, 32), coldefexpr: self.boxed_node(p, 40), location: self.int(p, 48),
        }
    }

    pub(super) fn range_table_sample(&mut self, p: Pointer) -> ast::RangeTableSample {
        ast::RangeTableSample {
            relation: self.boxed_node(p, 8), method: self.list(p, 16), args: self.list(p, 24), repeatable: self.boxed_node(p, 32),
            location: self.int(p, 40),
        }
    }

    pub(super) fn range_var(&mut self, p: Pointer) -> ast::RangeVar {
        ast::RangeVar {
            catalogname: self.string(p, 8), schemaname: self.string(p, 16), relname: self.string(p, 24), inh: self.bool(p, 32),
            relpersistence: self.char(p, 33), alias: self.held(p, 40, Self::alias), location: self.int(p, 48),
        }
    }

    pub(super) fn res_target(&mut self, p: Pointer) -> ast::ResTarget {
        ast::ResTarget {
            name: self.string(p, 8), indirection: self.list(p, 16), val: self.boxed_node(p, 24), location: self.int(p, 32),
        }
    }

    pub(super) fn returning_clause(&mut self, p: Pointer) -> ast::ReturningClause {
        ast::ReturningClause {
            options: self.list(p, 8), exprs: self.list(p, 16),
        }
    }

    pub(super) fn returning_option(&mut self, p: Pointer) -> ast::ReturningOption {
        ast::ReturningOption {
            option: self.counted(p, 4), value: self.string(p, 8), location: self.int(p, 16),
        }
    }

    pub(super) fn role_spec(&mut self, p: Pointer) -> ast::RoleSpec {
        ast::RoleSpec {
            roletype: self.counted(p, 4), rolename: self.string(p, 8), location: self.int(p, 16),
        }
    }

    pub(super) fn row_expr(&mut self, p: Pointer) -> ast::RowExpr {
        ast::RowExpr {
            args: self.list(p, 8), row_typeid: self.uint(p, 16), row_format: self.counted(p, 20), colnames: self.list(p, 24),
            location: self.int(p, 32), xpr: None,
        }
    }

    pub(super) fn sql_value_function(&mut self, p: Pointer) -> ast::SqlValueFunction {
        ast::SqlValueFunction {
            op: self.counted(p, 4), r#type: self.uint(p, 8), typmod: self.int(p, 12), location: self.int(p, 16), xpr: None,
        }
    }

    pub(super) fn set_to_default(&mut self, p: Pointer) -> ast::SetToDefault {
        ast::SetToDefault {
            type_id: self.uint(p, 4), type_mod: self.int(p, 8), collation: self.uint(p, 12), location: self.int(p, 16), xpr: None,
        }
    }

    pub(super) fn sort_by(&mut self, p: Pointer) -> ast::SortBy {
        ast::SortBy {
            node: self.boxed_node(p, 8), sortby_dir: self.counted(p, 16), sortby_nulls: self.counted(p, 20), use_op: self.list(p, 24),
            location: self.int(p, 32),
        }
    }

    pub(super) fn stats_elem(&mut self, p: Pointer) -> ast::StatsElem {
        ast::StatsElem {
            name: self.string(p, 8), expr: self.boxed_node(p, 16),
        }
    }

    pub(super) fn sub_link(&mut self, p: Pointer) -> ast::SubLink {
        ast::SubLink {
            sub_link_type: self.counted(p, 4), sub_link_id: self.int(p, 8), testexpr: self.boxed_node(p, 16), oper_name: self.list(p, 24),
            subselect: self.boxed_node(p, 32), location: self.int(p, 40), xpr: None,
        }
    }

    pub(super) fn table_like_clause(&mut self, p: Pointer) -> ast::TableLikeClause {
        ast::TableLikeClause {
            relation: self.held(p, 8, Self::range_var), options: self.uint(p, 16), relation_oid: self.uint(p, 20),
        }
    }

    pub(super) fn trigger_transition(&mut self, p: Pointer) -> ast::TriggerTransition {
        ast::TriggerTransition {
            name: self.string(p, 8), is_new: self.bool(p, 16), is_table: self.bool(p, 17),
        }
    }

    pub(super) fn type_cast(&mut self, p: Pointer) -> ast::TypeCast {
        ast::TypeCast {
            arg: self.boxed_node(p, 8), type_name: self.held(p, 16, Self::type_name), location: self.int(p, 24),
        }
    }

    pub(super) fn type_name(&mut self, p: Pointer) -> ast::TypeName {
        ast::TypeName {
            names: self.list(p, 8), type_oid: self.uint(p, 16), setof: self.bool(p, 20), pct_type: self.bool(p, 21),
            typmods: self.list(p, 24), typemod: self.int(p, 32), array_bounds: self.list(p, 40), location: self.int(p, 48),
        }
    }

    pub(super) fn vacuum_relation(&mut self, p: Pointer) -> ast::VacuumRelation {
        ast::VacuumRelation {
            relation: self.held(p, 8, Self::range_var), oid: self.uint(p, 16), va_cols: self.list(p, 24),
        }
    }

    pub(super) fn window_def(&mut self, p: Pointer) -> ast::WindowDef {
        ast::WindowDef {
            name: self.string(p, 8), refname: self.string(p, 16), partition_clause: self.list(p, 24), order_clause: self.list(p, 32),
            frame_options: self.int(p, 40), start_offset: self.boxed_node(p, 48), end_offset: self.boxed_node(p, 56),
            location: self.int(p, 64),
        }
    }

    pub(super) fn with_clause(&mut self, p: Pointer) -> ast::WithClause {
        ast::WithClause {
            ctes: self.list(p, 8), recursive: self.bool(p, 16), location: self.int(p, 20),
        }
    }

    pub(super) fn xml_expr(&mut self, p: Pointer) -> ast::XmlExpr {
        ast::XmlExpr {
            op: self.counted(p, 4), name: self.string(p, 8), named_args: self.list(p, 16), arg_names: self.list(p, 24),
            args: self.list(p, 32), xmloption: self.counted(p, 40), indent: self.bool(p, 44), r#type: self.uint(p, 48),
            typmod: self.int(p, 52), location: self.int(p, 56), xpr: None,
        }
    }

    pub(super) fn xml_serialize(&mut self, p: Pointer) -> ast::XmlSerialize {
        ast::XmlSerialize {
            xmloption: self.counted(p, 4), expr: self.boxed_node(p, 8), type_name: self.held(p, 16, Self::type_name),
            indent: self.bool(p, 24), location: self.int(p, 28),
        }
    }
}

#[rustfmt::skip]
impl Reader {
    /// The node behind a tag. None: the grammar makes none of this kind.
    pub(super) fn tagged(&mut self, tag: u32, p: Pointer) -> Option<ast::node::Node> {
        use ast::node::Node as N;
        Some(match tag {
            148 => N::AtalterConstraint(self.at_alter_constraint(p)),
            80 => N::AArrayExpr(self.a_array_expr(p)),
            71 => N::AExpr(Box::new(self.a_expr(p))),
            78 => N::AIndices(Box::new(self.a_indices(p))),
            79 => N::AIndirection(Box::new(self.a_indirection(p))),
            77 => N::AStar(self.a_star(p)),
            154 => N::AccessPriv(self.access_priv(p)),
            2 => N::Alias(self.alias(p)),
            150 => N::AlterCollationStmt(self.alter_collation_stmt(p)),
            234 => N::AlterDatabaseRefreshCollStmt(self.alter_database_refresh_coll_stmt(p)),
            235 => N::AlterDatabaseSetStmt(self.alter_database_set_stmt(p)),
            233 => N::AlterDatabaseStmt(self.alter_database_stmt(p)),
            156 => N::AlterDefaultPrivilegesStmt(self.alter_default_privileges_stmt(p)),
            151 => N::AlterDomainStmt(Box::new(self.alter_domain_stmt(p))),
            229 => N::AlterEnumStmt(self.alter_enum_stmt(p)),
            183 => N::AlterEventTrigStmt(self.alter_event_trig_stmt(p)),
            168 => N::AlterExtensionContentsStmt(Box::new(self.alter_extension_contents_stmt(p))),
            167 => N::AlterExtensionStmt(self.alter_extension_stmt(p)),
            170 => N::AlterFdwStmt(self.alter_fdw_stmt(p)),
            172 => N::AlterForeignServerStmt(self.alter_foreign_server_stmt(p)),
            210 => N::AlterFunctionStmt(self.alter_function_stmt(p)),
            216 => N::AlterObjectDependsStmt(Box::new(self.alter_object_depends_stmt(p))),
            217 => N::AlterObjectSchemaStmt(Box::new(self.alter_object_schema_stmt(p))),
            196 => N::AlterOpFamilyStmt(self.alter_op_family_stmt(p)),
            219 => N::AlterOperatorStmt(self.alter_operator_stmt(p)),
            218 => N::AlterOwnerStmt(Box::new(self.alter_owner_stmt(p))),
            179 => N::AlterPolicyStmt(Box::new(self.alter_policy_stmt(p))),
            262 => N::AlterPublicationStmt(self.alter_publication_stmt(p)),
            187 => N::AlterRoleSetStmt(self.alter_role_set_stmt(p)),
            186 => N::AlterRoleStmt(self.alter_role_stmt(p)),
            190 => N::AlterSeqStmt(self.alter_seq_stmt(p)),
            207 => N::AlterStatsStmt(Box::new(self.alter_stats_stmt(p))),
            264 => N::AlterSubscriptionStmt(self.alter_subscription_stmt(p)),
            237 => N::AlterSystemStmt(self.alter_system_stmt(p)),
            258 => N::AlterTsconfigurationStmt(self.alter_ts_configuration_stmt(p)),
            257 => N::AlterTsdictionaryStmt(self.alter_ts_dictionary_stmt(p)),
            147 => N::AlterTableCmd(Box::new(self.alter_table_cmd(p))),
            165 => N::AlterTableMoveAllStmt(self.alter_table_move_all_stmt(p)),
            164 => N::AlterTableSpaceOptionsStmt(self.alter_table_space_options_stmt(p)),
            146 => N::AlterTableStmt(self.alter_table_stmt(p)),
            220 => N::AlterTypeStmt(self.alter_type_stmt(p)),
            175 => N::AlterUserMappingStmt(self.alter_user_mapping_stmt(p)),
            21 => N::BoolExpr(Box::new(self.bool_expr(p))),
            53 => N::BooleanTest(Box::new(self.boolean_test(p))),
            114 => N::CtecycleClause(Box::new(self.cte_cycle_clause(p))),
            113 => N::CtesearchClause(self.cte_search_clause(p)),
            213 => N::CallStmt(Box::new(self.call_stmt(p))),
            32 => N::CaseExpr(Box::new(self.case_expr(p))),
            33 => N::CaseWhen(Box::new(self.case_when(p))),
            244 => N::CheckPointStmt(self.check_point_stmt(p)),
            202 => N::ClosePortalStmt(self.close_portal_stmt(p)),
            238 => N::ClusterStmt(self.cluster_stmt(p)),
            38 => N::CoalesceExpr(Box::new(self.coalesce_expr(p))),
            74 => N::CollateClause(Box::new(self.collate_clause(p))),
            90 => N::ColumnDef(Box::new(self.column_def(p))),
            69 => N::ColumnRef(self.column_ref(p)),
            199 => N::CommentStmt(Box::new(self.comment_stmt(p))),
            115 => N::CommonTableExpr(Box::new(self.common_table_expr(p))),
            226 => N::CompositeTypeStmt(self.composite_type_stmt(p)),
            161 => N::Constraint(Box::new(self.constraint(p))),
            247 => N::ConstraintsSetStmt(self.constraints_set_stmt(p)),
            157 => N::CopyStmt(Box::new(self.copy_stmt(p))),
            180 => N::CreateAmStmt(self.create_am_stmt(p)),
            250 => N::CreateCastStmt(self.create_cast_stmt(p)),
            249 => N::CreateConversionStmt(self.create_conversion_stmt(p)),
            192 => N::CreateDomainStmt(Box::new(self.create_domain_stmt(p))),
            227 => N::CreateEnumStmt(self.create_enum_stmt(p)),
            182 => N::CreateEventTrigStmt(self.create_event_trig_stmt(p)),
            166 => N::CreateExtensionStmt(self.create_extension_stmt(p)),
            169 => N::CreateFdwStmt(self.create_fdw_stmt(p)),
            171 => N::CreateForeignServerStmt(self.create_foreign_server_stmt(p)),
            173 => N::CreateForeignTableStmt(self.create_foreign_table_stmt(p)),
            208 => N::CreateFunctionStmt(Box::new(self.create_function_stmt(p))),
            194 => N::CreateOpClassItem(self.create_op_class_item(p)),
            193 => N::CreateOpClassStmt(self.create_op_class_stmt(p)),
            195 => N::CreateOpFamilyStmt(self.create_op_family_stmt(p)),
            184 => N::CreatePlangStmt(self.create_p_lang_stmt(p)),
            178 => N::CreatePolicyStmt(Box::new(self.create_policy_stmt(p))),
            261 => N::CreatePublicationStmt(self.create_publication_stmt(p)),
            228 => N::CreateRangeStmt(self.create_range_stmt(p)),
            185 => N::CreateRoleStmt(self.create_role_stmt(p)),
            145 => N::CreateSchemaStmt(self.create_schema_stmt(p)),
            189 => N::CreateSeqStmt(self.create_seq_stmt(p)),
            205 => N::CreateStatsStmt(self.create_stats_stmt(p)),
            160 => N::CreateStmt(self.create_stmt(p)),
            263 => N::CreateSubscriptionStmt(self.create_subscription_stmt(p)),
            242 => N::CreateTableAsStmt(Box::new(self.create_table_as_stmt(p))),
            162 => N::CreateTableSpaceStmt(self.create_table_space_stmt(p)),
            251 => N::CreateTransformStmt(self.create_transform_stmt(p)),
            181 => N::CreateTrigStmt(Box::new(self.create_trig_stmt(p))),
            174 => N::CreateUserMappingStmt(self.create_user_mapping_stmt(p)),
            232 => N::CreatedbStmt(self.createdb_stmt(p)),
            58 => N::CurrentOfExpr(Box::new(self.current_of_expr(p))),
            254 => N::DeallocateStmt(self.deallocate_stmt(p)),
            201 => N::DeclareCursorStmt(Box::new(self.declare_cursor_stmt(p))),
            93 => N::DefElem(Box::new(self.def_elem(p))),
            191 => N::DefineStmt(self.define_stmt(p)),
            138 => N::DeleteStmt(Box::new(self.delete_stmt(p))),
            245 => N::DiscardStmt(self.discard_stmt(p)),
            211 => N::DoStmt(self.do_stmt(p)),
            255 => N::DropOwnedStmt(self.drop_owned_stmt(p)),
            188 => N::DropRoleStmt(self.drop_role_stmt(p)),
            197 => N::DropStmt(self.drop_stmt(p)),
            265 => N::DropSubscriptionStmt(self.drop_subscription_stmt(p)),
            163 => N::DropTableSpaceStmt(self.drop_table_space_stmt(p)),
            176 => N::DropUserMappingStmt(self.drop_user_mapping_stmt(p)),
            236 => N::DropdbStmt(self.dropdb_stmt(p)),
            253 => N::ExecuteStmt(self.execute_stmt(p)),
            241 => N::ExplainStmt(Box::new(self.explain_stmt(p))),
            203 => N::FetchStmt(self.fetch_stmt(p)),
            76 => N::FuncCall(Box::new(self.func_call(p))),
            209 => N::FunctionParameter(Box::new(self.function_parameter(p))),
            155 => N::GrantRoleStmt(self.grant_role_stmt(p)),
            152 => N::GrantStmt(self.grant_stmt(p)),
            10 => N::GroupingFunc(Box::new(self.grouping_func(p))),
            107 => N::GroupingSet(self.grouping_set(p)),
            177 => N::ImportForeignSchemaStmt(self.import_foreign_schema_stmt(p)),
            92 => N::IndexElem(Box::new(self.index_elem(p))),
            204 => N::IndexStmt(Box::new(self.index_stmt(p))),
            111 => N::InferClause(Box::new(self.infer_clause(p))),
            137 => N::InsertStmt(Box::new(self.insert_stmt(p))),
            5 => N::IntoClause(Box::new(self.into_clause(p))),
            64 => N::JoinExpr(Box::new(self.join_expr(p))),
            133 => N::JsonAggConstructor(Box::new(self.json_agg_constructor(p))),
            121 => N::JsonArgument(Box::new(self.json_argument(p))),
            135 => N::JsonArrayAgg(Box::new(self.json_array_agg(p))),
            131 => N::JsonArrayConstructor(self.json_array_constructor(p)),
            132 => N::JsonArrayQueryConstructor(Box::new(self.json_array_query_constructor(p))),
            47 => N::JsonBehavior(Box::new(self.json_behavior(p))),
            42 => N::JsonFormat(self.json_format(p)),
            122 => N::JsonFuncExpr(Box::new(self.json_func_expr(p))),
            46 => N::JsonIsPredicate(Box::new(self.json_is_predicate(p))),
            126 => N::JsonKeyValue(Box::new(self.json_key_value(p))),
            134 => N::JsonObjectAgg(Box::new(self.json_object_agg(p))),
            130 => N::JsonObjectConstructor(self.json_object_constructor(p)),
            120 => N::JsonOutput(self.json_output(p)),
            127 => N::JsonParseExpr(Box::new(self.json_parse_expr(p))),
            43 => N::JsonReturning(self.json_returning(p)),
            128 => N::JsonScalarExpr(Box::new(self.json_scalar_expr(p))),
            129 => N::JsonSerializeExpr(Box::new(self.json_serialize_expr(p))),
            124 => N::JsonTable(Box::new(self.json_table(p))),
            125 => N::JsonTableColumn(Box::new(self.json_table_column(p))),
            123 => N::JsonTablePathSpec(Box::new(self.json_table_path_spec(p))),
            44 => N::JsonValueExpr(Box::new(self.json_value_expr(p))),
            223 => N::ListenStmt(self.listen_stmt(p)),
            231 => N::LoadStmt(self.load_stmt(p)),
            246 => N::LockStmt(self.lock_stmt(p)),
            94 => N::LockingClause(self.locking_clause(p)),
            140 => N::MergeStmt(Box::new(self.merge_stmt(p))),
            13 => N::MergeSupportFunc(Box::new(self.merge_support_func(p))),
            116 => N::MergeWhenClause(Box::new(self.merge_when_clause(p))),
            39 => N::MinMaxExpr(Box::new(self.min_max_expr(p))),
            82 => N::MultiAssignRef(Box::new(self.multi_assign_ref(p))),
            16 => N::NamedArgExpr(Box::new(self.named_arg_expr(p))),
            222 => N::NotifyStmt(self.notify_stmt(p)),
            52 => N::NullTest(Box::new(self.null_test(p))),
            153 => N::ObjectWithArgs(self.object_with_args(p)),
            112 => N::OnConflictClause(Box::new(self.on_conflict_clause(p))),
            70 => N::ParamRef(self.param_ref(p)),
            98 => N::PartitionBoundSpec(self.partition_bound_spec(p)),
            100 => N::PartitionCmd(self.partition_cmd(p)),
            96 => N::PartitionElem(Box::new(self.partition_elem(p))),
            97 => N::PartitionSpec(self.partition_spec(p)),
            252 => N::PrepareStmt(Box::new(self.prepare_stmt(p))),
            260 => N::PublicationObjSpec(Box::new(self.publication_obj_spec(p))),
            259 => N::PublicationTable(Box::new(self.publication_table(p))),
            86 => N::RangeFunction(self.range_function(p)),
            85 => N::RangeSubselect(Box::new(self.range_subselect(p))),
            87 => N::RangeTableFunc(Box::new(self.range_table_func(p))),
            88 => N::RangeTableFuncCol(Box::new(self.range_table_func_col(p))),
            89 => N::RangeTableSample(Box::new(self.range_table_sample(p))),
            3 => N::RangeVar(self.range_var(p)),
            136 => N::RawStmt(Box::new(self.raw_stmt(p))),
            256 => N::ReassignOwnedStmt(self.reassign_owned_stmt(p)),
            243 => N::RefreshMatViewStmt(self.refresh_mat_view_stmt(p)),
            248 => N::ReindexStmt(self.reindex_stmt(p)),
            215 => N::RenameStmt(Box::new(self.rename_stmt(p))),
            149 => N::ReplicaIdentityStmt(self.replica_identity_stmt(p)),
            81 => N::ResTarget(Box::new(self.res_target(p))),
            143 => N::ReturnStmt(Box::new(self.return_stmt(p))),
            118 => N::ReturningClause(self.returning_clause(p)),
            117 => N::ReturningOption(self.returning_option(p)),
            75 => N::RoleSpec(self.role_spec(p)),
            36 => N::RowExpr(Box::new(self.row_expr(p))),
            221 => N::RuleStmt(Box::new(self.rule_stmt(p))),
            40 => N::SqlvalueFunction(Box::new(self.sql_value_function(p))),
            200 => N::SecLabelStmt(Box::new(self.sec_label_stmt(p))),
            141 => N::SelectStmt(Box::new(self.select_stmt(p))),
            57 => N::SetToDefault(Box::new(self.set_to_default(p))),
            83 => N::SortBy(Box::new(self.sort_by(p))),
            206 => N::StatsElem(Box::new(self.stats_elem(p))),
            22 => N::SubLink(Box::new(self.sub_link(p))),
            91 => N::TableLikeClause(self.table_like_clause(p)),
            225 => N::TransactionStmt(self.transaction_stmt(p)),
            119 => N::TriggerTransition(self.trigger_transition(p)),
            198 => N::TruncateStmt(self.truncate_stmt(p)),
            73 => N::TypeCast(Box::new(self.type_cast(p))),
            68 => N::TypeName(self.type_name(p)),
            224 => N::UnlistenStmt(self.unlisten_stmt(p)),
            139 => N::UpdateStmt(Box::new(self.update_stmt(p))),
            240 => N::VacuumRelation(self.vacuum_relation(p)),
            239 => N::VacuumStmt(self.vacuum_stmt(p)),
            158 => N::VariableSetStmt(self.variable_set_stmt(p)),
            159 => N::VariableShowStmt(self.variable_show_stmt(p)),
            230 => N::ViewStmt(Box::new(self.view_stmt(p))),
            84 => N::WindowDef(Box::new(self.window_def(p))),
            110 => N::WithClause(self.with_clause(p)),
            41 => N::XmlExpr(Box::new(self.xml_expr(p))),
            95 => N::XmlSerialize(Box::new(self.xml_serialize(p))),
            _ => return None,
        })
    }
}

fn function_parameter_mode(value: u32) -> i32 {
    match value {
        105 => 1,
        111 => 2,
        98 => 3,
        118 => 4,
        116 => 5,
        100 => 6,
        _ => 0,
    }
}

fn partition_strategy(value: u32) -> i32 {
    match value {
        108 => 1,
        114 => 2,
        104 => 3,
        _ => 0,
    }
}
