//! The recipes are the tests.
