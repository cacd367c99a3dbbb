//! Compiled patterns of a connection.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Regular expressions by pattern and flags, so that a constant pattern is compiled once per connection.
#[derive(Default)]
pub struct Cache {
    compiled: RefCell<HashMap<(String, String), Rc<fancy_regex::Regex>>>,
}

/// Patterns kept before the cache is emptied.
const CAPACITY: usize = 64;

impl Cache {
    pub fn get<E>(
        &self,
        pattern: &str,
        flags: &str,
        compile: impl FnOnce() -> Result<fancy_regex::Regex, E>,
    ) -> Result<Rc<fancy_regex::Regex>, E> {
        let key = (pattern.to_string(), flags.to_string());
        if let Some(found) = self.compiled.borrow().get(&key) {
            return Ok(found.clone());
        }
        let regex = Rc::new(compile()?);
        let mut compiled = self.compiled.borrow_mut();
        if compiled.len() >= CAPACITY {
            compiled.clear();
        }
        compiled.insert(key, regex.clone());
        Ok(regex)
    }
}
