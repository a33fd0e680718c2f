//! Words of several functions that take the same types.
//!
//! Two specs of one function stop being one as soon as what one of them computes is edited: then no
//! kernel of the one takes a problem that the other's refuse, and nothing else says so.

use std::collections::BTreeMap;
use std::fmt;

use crate::hash::Sha256Hex;
use crate::manifest::Kernel;

/// A word of several functions of the same types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedWord {
    /// What stands behind `kernel` in their specs.
    pub word: String,
    /// A spec of each function; of the one that has the word as its name, that one.
    pub specs: Vec<String>,
}

impl fmt::Display for SharedWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, count) = (&self.word, self.specs.len());
        let named = match self.specs.contains(word) {
            true => format!(", and `{word}` is the spec of that name"),
            false => String::new(),
        };
        write!(
            f,
            "`{word}` is the word of {count} functions of the same types ({}): no kernel of one \
             takes what another refuses, and a launch asks for one by the name of its spec{named}; \
             where they are to be one function, have them compute the same, else give each its own \
             word behind `kernel`",
            self.specs.join(", ")
        )
    }
}

/// The words and types that several functions of these kernels share, in the order of the words.
pub fn shared_words(kernels: &[&Kernel]) -> Vec<SharedWord> {
    let mut words: BTreeMap<(&str, Vec<&str>), BTreeMap<&Sha256Hex, &str>> = BTreeMap::new();
    for kernel in kernels {
        let operands = kernel.semantics.operands.iter();
        let types = operands.map(|operand| operand.dtype.text()).collect();
        let functions = words.entry((&kernel.kernel, types)).or_default();
        let spec = functions.entry(&kernel.semantics.function);
        let spec = spec.or_insert(&kernel.spec);
        if kernel.spec == kernel.kernel {
            *spec = &kernel.spec;
        }
    }
    let shared = words.into_iter().filter(|(_, specs)| specs.len() > 1);
    let shared = shared.map(|((word, _), specs)| SharedWord {
        word: word.to_owned(),
        specs: specs.into_values().map(str::to_owned).collect(),
    });
    shared.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(id: &str, word: &str, function: char) -> Kernel {
        let mut kernel = Kernel::new(id, word);
        kernel.semantics.function = Sha256Hex::from_text(&function.to_string().repeat(64));
        kernel
    }

    #[test]
    fn specs_that_stopped_being_one_function_are_told() {
        let any = kernel("norm_q_any@x-1", "norm_q", 'a');
        let mut own = kernel("norm_q@x-1", "norm_q", 'a');
        assert_eq!(shared_words(&[&any, &own]), []);
        own.semantics.function = Sha256Hex::from_text(&"b".repeat(64));
        let told = shared_words(&[&any, &own]);
        let specs = vec!["norm_q_any".to_owned(), "norm_q".to_owned()];
        let word = "norm_q".to_owned();
        assert_eq!(told, [SharedWord { word, specs }]);
        let text = told[0].to_string();
        let begins = "`norm_q` is the word of 2 functions of the same types (norm_q_any, norm_q): \
                      no kernel of one takes what another refuses, and a launch asks for one by \
                      the name of its spec, and `norm_q` is the spec of that name; where ";
        assert!(text.starts_with(begins), "{text}");
    }

    #[test]
    fn no_spec_has_the_word_as_its_name() {
        let (one, other) = (kernel("a@x-1", "map", 'a'), kernel("b@x-1", "map", 'b'));
        let told = shared_words(&[&one, &other]);
        assert!(told[0].to_string().contains("the name of its spec; where"));
    }
}
