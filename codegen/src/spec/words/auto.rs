//! Values that the plan may be left to choose.

/// A value given by the user, or `auto`: the plan computes a good one.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Auto<T> {
    /// Computed by the plan.
    #[default]
    Auto,
    /// As written.
    Given(T),
}

impl<T: Clone> Auto<T> {
    /// The value, where one is given.
    pub fn given(&self) -> Option<T> {
        match self {
            Auto::Given(value) => Some(value.clone()),
            Auto::Auto => None,
        }
    }

    /// The given value, or that of `default`.
    pub fn unwrap_or_else(&self, default: impl FnOnce() -> T) -> T {
        match self {
            Auto::Auto => default(),
            Auto::Given(value) => value.clone(),
        }
    }
}
