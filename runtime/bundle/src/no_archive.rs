//! What stands for zip files where the feature `zip` is off: bundles are folders, or files in
//! memory, and a zip file is refused with the way out.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;

use crate::error::{ArchiveFault, Error};

/// An archive, which is never read.
#[derive(Debug)]
pub(crate) struct Archive<'a> {
    none: std::convert::Infallible,
    of: PhantomData<&'a [u8]>,
}

impl<'a> Archive<'a> {
    /// Refuses an archive.
    pub(crate) fn of(_: impl Into<Cow<'a, [u8]>>) -> Result<Archive<'a>, Error> {
        Err(without())
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        match self.none {}
        #[allow(unreachable_code)]
        std::iter::empty()
    }

    pub(crate) fn size(&self, _: &str) -> Option<u64> {
        match self.none {}
    }

    pub(crate) fn content(&self, _: &str) -> Option<Result<Vec<u8>, String>> {
        match self.none {}
    }
}

/// Refuses an archive, however large it is.
pub(crate) fn fits(_: u64) -> Result<(), Error> {
    Err(without())
}

/// Refuses to write an archive.
pub(crate) fn pack(_: &BTreeMap<String, Vec<u8>>) -> Result<Vec<u8>, Error> {
    Err(without())
}

fn without() -> Error {
    Error::archive("archive", ArchiveFault::NoFeature)
}
