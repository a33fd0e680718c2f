//! What the generator makes of specs that nobody wrote: drawn at random, and good ones with each
//! key in turn set to each of its values.
#![allow(clippy::unwrap_used, clippy::panic)]

mod drawn;
mod every_key;
mod campaign;
mod stored;
