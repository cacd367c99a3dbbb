//! Names as a session sees them.

use crate::analyze::Environment;
use crate::names::Names;

impl<'a> Names<'a> {
    /// As a session sees it: with its search path and its settings.
    pub fn of(environment: &Environment<'a>) -> Names<'a> {
        let settings = Some(environment.settings);
        Names { catalog: environment.catalog, search_path: environment.search_path, settings, renamed: None }
    }
}
