//! What a statement sees around it: a snapshot of the catalog and the search path, with the names they give.
//!
//! It changes when the schema or a setting does, seldom from statement to statement, so it is made once and shared.

use crate::session::context::SessionContext;
use pgsqlite_metadata::store::names::CatalogNames;
use pgsqlite_natives::settings::{rights::role_name, search_path};
use pgsqlite_sql::analyze::{Environment, Parameters, Rights};
use pgsqlite_sql::catalog::{Catalog, RelationKind};
use pgsqlite_sql::plan::QueryPlan;
use pgsqlite_types::codec::{RegNames, TypeCodec};
use pgsqlite_types::{Oid, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// A catalog that is not, or not only, what is committed.
const UNPUBLISHED: u64 = u64::MAX;

pub(in crate::session) struct View {
    pub catalog: Arc<Catalog>,
    /// the schemas of `search_path` that exist
    pub path: Vec<Oid>,
    /// the settings that decide how literals are read
    pub plan_key: String,
    /// `row_security`: whether policies are applied to queries, or make them fail
    pub row_security: bool,
    /// the role whose privileges count
    pub user: Oid,
    /// whether they are asked for when a statement is planned
    pub rights: Rights,
    /// as of [`pgsqlite_sql::analyze::Environment`]
    parameters: Parameters,
    /// what plans are told apart by: the role, 0 for all superusers
    pub role: Oid,
    /// tables with partial indexes
    partial: Vec<Oid>,
    /// of the settings it was made for
    gucs: u64,
    /// What [`crate::engine::Engine::published`] was, if the catalog is the committed one alone; else [`UNPUBLISHED`]. (A catalog that the
    /// session has made is committed later.)
    published: AtomicU64,
    /// no other view of this process has it
    pub stamp: u64,
}

impl View {
    pub fn names(&self) -> CatalogNames<'_> {
        CatalogNames { catalog: &self.catalog, search_path: &self.path }
    }

    /// The same over another state of the catalog: what natives see while DDL computes rows. (No statement's stamp.)
    pub fn over(&self, catalog: Arc<Catalog>) -> View {
        View {
            catalog,
            path: self.path.clone(),
            plan_key: self.plan_key.clone(),
            partial: Vec::new(),
            stamp: 0,
            published: AtomicU64::new(UNPUBLISHED),
            ..*self
        }
    }

    /// The same for what is described and not run: nobody asks whether it may. (No statement's stamp.)
    pub fn to_describe(&self) -> View {
        View { rights: Rights::AskedAtUse, ..self.over(self.catalog.clone()) }
    }

    /// The same for an INSERT whose parameters are these. (No statement's stamp.)
    pub fn with_parameters(&self, parameters: Parameters) -> View {
        View { parameters, ..self.over(self.catalog.clone()) }
    }

    /// Whether a partial index may serve a plan: it looks for rows of a table that has one.
    pub fn may_use_partial_index(&self, plan: &QueryPlan) -> bool {
        let conflicting: &[Oid] = if plan.upserts { &plan.modifies } else { &[] };
        plan.named.read.iter().chain(conflicting).any(|table| self.partial.contains(table))
    }

    /// Whether plans made for the other view hold in this one. The other settings of `plan_key` decide how literals are read, which
    /// stay as they were read when the statement was prepared.
    pub fn plans_as(&self, other: &View) -> bool {
        self.stamp == other.stamp
            || self.catalog.epoch == other.catalog.epoch
                && self.path == other.path
                && self.role == other.role
                && self.row_security == other.row_security
    }
}

fn partial_tables(catalog: &Catalog) -> Vec<Oid> {
    let mut tables: Vec<Oid> = catalog
        .relations
        .values()
        .filter_map(|r| match &r.kind {
            RelationKind::Index(index) if index.predicate.is_some() => Some(index.table),
            _ => None,
        })
        .collect();
    tables.sort_unstable();
    tables.dedup();
    tables
}

impl RegNames for View {
    fn reg_name(&self, reg_type: Oid, oid: Oid) -> Option<String> {
        self.names().reg_name(reg_type, oid)
    }
    fn reg_oid(&self, reg_type: Oid, name: &str) -> Result<Oid> {
        self.names().reg_oid(reg_type, name)
    }
    fn reg_oid_for(&self, role: Oid, reg_type: Oid, name: &str) -> Result<Oid> {
        self.names().reg_oid_for(role, reg_type, name)
    }
    fn codec(&self, type_oid: Oid) -> Option<TypeCodec> {
        self.catalog.codec(type_oid)
    }
}

impl SessionContext {
    /// The view of the next statement.
    pub(in crate::session) fn view(&self) -> Arc<View> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        if let Some(view) = self.last_view.lock().as_ref() {
            if self.sees_committed(view) && view.gucs == self.gucs.version() {
                return view.clone();
            }
        }
        let published = self.engine.published();
        let catalog = self.catalog();
        let mut last = self.last_view.lock();
        if let Some(view) = &*last {
            if Arc::ptr_eq(&view.catalog, &catalog) && view.gucs == self.gucs.version() {
                view.published.store(self.publication(published), Ordering::Relaxed);
                return view.clone();
            }
        }
        let view = Arc::new(View {
            path: self.search_path(&catalog),
            plan_key: self.gucs.plan_key(),
            row_security: self.gucs.typed.row_security,
            user: self.user_oid(&catalog),
            rights: Rights::AskedNow,
            parameters: Default::default(),
            role: self.plan_role(&catalog),
            partial: partial_tables(&catalog),
            gucs: self.gucs.version(),
            published: AtomicU64::new(self.publication(published)),
            stamp: NEXT.fetch_add(1, Ordering::Relaxed),
            catalog,
        });
        *last = Some(view.clone());
        view
    }

    /// Whether no schema of its own or temporary object lies over the committed catalog.
    fn sees_only_committed(&self) -> bool {
        self.transaction.catalog().is_none() && !self.has_temporary()
    }

    /// Whether the catalog of a view is still what the session sees, as far as that can be told without asking for the catalog.
    pub(in crate::session) fn sees_committed(&self, view: &View) -> bool {
        self.sees_only_committed() && view.published.load(Ordering::Relaxed) == self.engine.published()
    }

    /// [`View::published`] of a view that is made now. `published`: what the engine's number was before the catalog was asked for.
    fn publication(&self, published: u64) -> u64 {
        match self.sees_only_committed() {
            true => published,
            false => UNPUBLISHED,
        }
    }

    /// `search_path` as OIDs; schemas that do not exist are skipped, as PostgreSQL does.
    fn search_path(&self, catalog: &Catalog) -> Vec<Oid> {
        let user = self.user_oid(catalog);
        search_path(&self.gucs, catalog, &role_name(catalog, user), user)
    }

    pub(in crate::session) fn with_environment<R>(&self, view: &View, f: impl FnOnce(&Environment) -> R) -> R {
        let names = view.names();
        f(&Environment {
            catalog: &view.catalog,
            search_path: &view.path,
            settings: &self.gucs.typed,
            names: &names,
            user: view.user,
            rights: view.rights,
            parameters: view.parameters,
            sqlite_text: pgsqlite_sql::lower::lower_expression,
        })
    }
}
