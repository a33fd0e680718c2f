//! The reference page of specs is what the table of keys says today.

use crate::made;
use tilewright_codegen::spec;

#[test]
fn the_page_is_made_of_the_table() {
    made::assert_kept("codegen/docs/spec.md", &spec::reference());
}
