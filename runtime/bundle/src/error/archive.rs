//! Why a zip file is none that a bundle is read from.

/// One thing wrong with an archive, or with one entry of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveProblem {
    /// The entry's name, or `archive`.
    pub entry: String,
    /// What is wrong.
    pub fault: ArchiveFault,
}

/// What is wrong with an archive. A bundle's is as plain as zip files are: entries one behind the
/// other, then their directory, then its end, and nothing before, between or behind them, so that
/// there is one way to read it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveFault {
    /// The end of a zip file's directory is nowhere.
    #[error("is no zip file, or was cut: it has no end of a directory")]
    NoArchive,
    /// The file is larger than zip files without extensions are.
    #[error("has {bytes} bytes; at most {most} are allowed: ship the folder, or split the bundle")]
    TooLong {
        /// Its size.
        bytes: u64,
        /// The largest size.
        most: u64,
    },
    /// Something follows the end of the directory, a comment included.
    #[error("has {bytes} bytes behind the end of its directory: zip the files anew")]
    Trailing {
        /// How many.
        bytes: u64,
    },
    /// The archive is one of several parts.
    #[error("is a part of several: bundles are one file")]
    Spanned,
    /// Sizes, places or counts are said in fields of zip64, or point to them.
    #[error("uses zip64, which no bundle needs: split it, or ship the folder")]
    Zip64,
    /// The directory says more entries than are allowed.
    #[error("has {found} entries; at most {most} are allowed")]
    TooMany {
        /// The number it says.
        found: usize,
        /// The most.
        most: usize,
    },
    /// The directory does not lie right before its end.
    #[error("its directory ends at byte {says}; its end is at byte {found}")]
    DirectoryPlace {
        /// Where it ends by what it says.
        says: u64,
        /// Where it ends.
        found: u64,
    },
    /// The directory's entries are not what its end says.
    #[error("its directory is cut, or has more or other entries than the {says} it says")]
    Directory {
        /// How many entries it says.
        says: usize,
    },
    /// Bytes that belong to no entry.
    #[error("{bytes} bytes before it belong to no entry: zip the files anew")]
    Gap {
        /// How many.
        bytes: u64,
    },
    /// An entry begins where another one's data lie.
    #[error("its data overlap those of the entry before it")]
    Overlap,
    /// Local header and directory disagree.
    #[error("its own header says {field} {local}; the directory says {central}")]
    Disagrees {
        /// Which field.
        field: &'static str,
        /// In the header before the data.
        local: String,
        /// In the directory.
        central: String,
    },
    /// There is no header where the directory says.
    #[error("has no header where the directory says, at byte {at}")]
    NoHeader {
        /// Where.
        at: u64,
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
    /// Its sizes follow its data, as programs write that cannot go back.
    #[error(
        "was written by a program that streams, its sizes behind its data: zip the files with \
         `tilewright bundle zip`"
    )]
    Streamed,
    /// A field that extends the header reaches behind the last of them.
    #[error("its extra fields are cut")]
    Extra,
    /// A method of compression other than stored and deflate.
    #[error("has compression method {method}; 0 (stored) and 8 (deflate) are allowed")]
    Method {
        /// Its number.
        method: u16,
    },
    /// A stored entry of two sizes.
    #[error("is stored, of {compressed} bytes, and says it has {size}")]
    Stored {
        /// Bytes in the archive.
        compressed: u64,
        /// Bytes it says it has.
        size: u64,
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
