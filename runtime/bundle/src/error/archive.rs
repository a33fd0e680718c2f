//! Why a zip file is none that a bundle is read from.

/// One thing wrong with an archive, or with one entry of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveProblem {
    /// The entry's name, or `archive`.
    pub entry: String,
    /// What is wrong.
    pub fault: ArchiveFault,
}

/// What is wrong with an archive: what no bundle's holds, or in [`ArchiveFault::Zip`] the words of
/// the library that reads it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveFault {
    /// It begins as no zip file does.
    #[error(
        "is no zip file: a bundle is one, or a folder; a spec becomes a bundle by `tilewright \
         build`"
    )]
    NoZip,
    /// It ends too early, or its bytes are not those that it says.
    #[error("is truncated or damaged ({reason}): fetch or build it again")]
    Damaged {
        /// What the library says.
        reason: String,
    },
    /// Its structure contradicts itself.
    #[error("{reason}: zip the files anew with `tilewright bundle zip`")]
    Zip {
        /// What the library says.
        reason: String,
    },
    /// The program reads and writes folders alone.
    #[error(
        "is a zip file, and this program was built without the feature `zip` of \
         tilewright-runtime: ship the folder, or build it with that feature"
    )]
    NoFeature,
    /// The file is larger than zip files without extensions are.
    #[error("has {bytes} bytes; at most {most} are allowed: ship the folder, or split the bundle")]
    TooLong {
        /// Its size.
        bytes: u64,
        /// The largest size.
        most: u64,
    },
    /// Something stands before the first entry.
    #[error("has {bytes} bytes before its first entry; none are allowed: zip the files anew")]
    Leading {
        /// How many.
        bytes: u64,
    },
    /// The archive has a comment.
    #[error("has a comment of {bytes} bytes; none is allowed: zip the files anew")]
    Comment {
        /// Its length.
        bytes: usize,
    },
    /// There are more entries than are allowed.
    #[error(
        "has {found} entries; at most {most} are allowed: ship the folder, or split the bundle"
    )]
    TooMany {
        /// How many.
        found: usize,
        /// The most.
        most: usize,
    },
    /// A name that is not text, or leads out of the bundle.
    #[error("{reason}")]
    Name {
        /// What is wrong with it.
        reason: String,
    },
    /// The name stands twice, or differs from another one by case alone.
    #[error("stands twice, or differs from another entry by case alone")]
    Duplicate,
    /// A link.
    #[error("is a link: bundles hold plain files")]
    Link,
    /// Neither a file nor a folder.
    #[error("is no plain file")]
    NoFile,
    /// The entry is encrypted.
    #[error("is encrypted: bundles are signed, not encrypted")]
    Encrypted,
    /// A method of compression other than stored and deflate.
    #[error("has compression method {method}; 0 (stored) and 8 (deflate) are allowed")]
    Method {
        /// Its number.
        method: u16,
    },
    /// More bytes than a file of a bundle has.
    #[error("says it has {bytes} bytes; at most {most} are allowed")]
    TooLarge {
        /// The size it says.
        bytes: u64,
        /// The largest size.
        most: u64,
    },
    /// All entries together have more bytes than a bundle.
    #[error("its entries say they have {bytes} bytes together; at most {most} are allowed")]
    TooLargeTogether {
        /// The sum of what they say.
        bytes: u64,
        /// The largest sum.
        most: u64,
    },
}
