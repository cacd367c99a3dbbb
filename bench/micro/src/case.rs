//! One measurement.

/// One thing to measure.
pub struct Case {
    /// `group/name`, unique
    pub name: String,
    /// does it once; what it computes goes through `black_box`
    pub run: Box<dyn FnMut()>,
}

impl Case {
    pub(crate) fn new(name: impl Into<String>, run: impl FnMut() + 'static) -> Case {
        Case { name: name.into(), run: Box::new(run) }
    }
}
