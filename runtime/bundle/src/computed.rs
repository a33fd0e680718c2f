//! A kernel's checked formula, and the words that stand beside it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tilewright_formula::Formula;
use tilewright_formula::form::Form;

/// The checked formula of a kernel; empty until the kernel is resolved.
#[derive(Debug, Clone, Default)]
pub struct Computed(pub(crate) Option<Arc<Known>>);

/// What is known of a checked formula.
#[derive(Debug)]
pub(crate) struct Known {
    pub formula: Formula,
    pub form: Form,
    pub default_of: Option<&'static str>,
}

/// It follows from the semantics, which are compared.
impl PartialEq for Computed {
    fn eq(&self, _: &Computed) -> bool {
        true
    }
}

impl Eq for Computed {}

/// How exactly sums are kept, as a manifest spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccumulationWord {
    /// To the bits of their type.
    #[default]
    Full,
    /// As the fastest instruction keeps them.
    Fast,
}

impl AccumulationWord {
    pub(crate) fn is_full(&self) -> bool {
        *self == AccumulationWord::Full
    }
}
