//! How lists of privileges change: who counts as the grantor, what a grantor may give on, and what follows from taking a grant option away.
//!
//! The rules are those of the manual, "GRANT" and "REVOKE": a role that owns nothing grants with the options of one role whose rights it has.

use pgsqlite_sql::acl::{self, AclItem, PUBLIC_ROLE};
use pgsqlite_sql::catalog::Catalog;
use pgsqlite_types::{work, Oid, PgError, Result, SqlState};

/// A list of privileges that changes, and whose object it is of.
pub(super) struct AclChange<'a> {
    pub catalog: &'a Catalog,
    pub owner: Oid,
}

/// What a statement does with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Add,
    /// `cascade`: also what was granted on
    Remove {
        cascade: bool,
    },
}

impl AclChange<'_> {
    /// The role in whose name the session's role grants or revokes privileges, and those of them that it may grant: the owner, where it acts as
    /// that; else the role with the most grant options among those whose rights it has.
    pub fn best_grantor(&self, user: Oid, bits: u32, items: &[AclItem]) -> (Oid, u32) {
        if user == self.owner || acl::is_superuser(self.catalog, user) {
            return (self.owner, bits);
        }
        let mut best = (user, 0u32);
        for role in self.roles_of(user) {
            work::visit();
            let options = match role == self.owner {
                true => bits,
                false => items.iter().filter(|i| i.grantee == role).fold(0, |all, i| all | i.grant_options) & bits,
            };
            if options == bits {
                return (role, bits);
            }
            if options.count_ones() > best.1.count_ones() {
                best = (role, options);
            }
        }
        best
    }

    /// A role and those whose rights it has, in PostgreSQL's order: the memberships of each by the numbers of the roles.
    fn roles_of(&self, role: Oid) -> Vec<Oid> {
        let known = acl::inherited_roles(self.catalog, role);
        let mut out = vec![role];
        let mut at = 0;
        while at < out.len() {
            work::visit();
            let memberships = self.catalog.roles.get(&out[at]).map_or(&[][..], |r| &r.memberships);
            let mut next: Vec<Oid> = memberships.iter().map(|m| m.role).filter(|r| known.contains(r)).collect();
            next.sort_unstable();
            for role in next {
                work::visit();
                if !out.contains(&role) {
                    out.push(role);
                }
            }
            at += 1;
        }
        out.extend(known.into_iter().filter(|r| !out.contains(r)).collect::<Vec<_>>());
        out
    }

    /// The grant options that a role has of these.
    fn options(&self, items: &[AclItem], role: Oid, bits: u32) -> u32 {
        if acl::owns(self.catalog, role, self.owner) {
            return bits;
        }
        let roles = acl::inherited_roles(self.catalog, role);
        let own = items.iter().filter(|i| i.grantee == PUBLIC_ROLE || roles.contains(&i.grantee));
        own.fold(0, |all, i| all | i.grant_options) & bits
    }

    /// Adds (or takes away) the privileges and grant options of `change` to (or from) its grantee, as given by its grantor.
    /// Errors: 2BP01 if others have been granted what is taken away, without CASCADE; 0LP01 for an option that would come back to who gave it.
    pub fn update(&self, items: &mut Vec<AclItem>, change: &AclItem, mode: Mode) -> Result<()> {
        work::visit();
        if mode == Mode::Add && change.grant_options != 0 {
            self.check_circle(items, change)?;
        }
        let place = items.iter().position(|i| i.grantee == change.grantee && i.grantor == change.grantor);
        let at = place.unwrap_or(items.len());
        if place.is_none() {
            items.push(AclItem { privileges: 0, grant_options: 0, ..change.clone() });
        }
        let item = &mut items[at];
        let before = item.grant_options;
        match mode {
            Mode::Add => {
                item.privileges |= change.privileges;
                item.grant_options |= change.grant_options;
            }
            Mode::Remove { .. } => {
                item.privileges &= !change.privileges;
                item.grant_options &= !change.grant_options;
            }
        }
        let lost = before & !item.grant_options;
        if item.privileges == 0 && item.grant_options == 0 {
            items.remove(at);
        }
        match mode {
            Mode::Remove { cascade } if lost != 0 => self.abandon(items, change.grantee, lost, cascade),
            _ => Ok(()),
        }
    }

    /// What a grantee has granted on with options that it has lost.
    fn abandon(&self, items: &mut Vec<AclItem>, grantee: Oid, lost: u32, cascade: bool) -> Result<()> {
        if grantee == self.owner {
            return Ok(());
        }
        // (it may have them from somebody else, too)
        let lost = lost & !self.options(items, grantee, lost);
        while let Some(item) = items.iter().find(|i| i.grantor == grantee && i.privileges & lost != 0) {
            work::visit();
            if !cascade {
                return Err(PgError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, "dependent privileges exist")
                    .hint("Use CASCADE to revoke them too."));
            }
            let taken = AclItem { grantee: item.grantee, grantor: grantee, privileges: lost, grant_options: lost };
            self.update(items, &taken, Mode::Remove { cascade })?;
        }
        Ok(())
    }

    /// 0LP01 if the grantor has the options from the grantee alone.
    fn check_circle(&self, items: &[AclItem], change: &AclItem) -> Result<()> {
        if change.grantor == self.owner {
            return Ok(());
        }
        let mut without = items.to_vec();
        while let Some(item) = without.iter().find(|i| i.grantee == change.grantee && i.grant_options != 0).cloned() {
            work::visit();
            self.update(&mut without, &item, Mode::Remove { cascade: true })?;
        }
        if change.grant_options & !self.options(&without, change.grantor, change.grant_options) == 0 {
            return Ok(());
        }
        let message = "grant options cannot be granted back to your own grantor";
        Err(PgError::new(SqlState::INVALID_GRANT_OPERATION, message))
    }
}
