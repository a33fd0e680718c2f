//! Closed lists of words: one row a word, from which follow its reading, its printing, its short
//! form in ids and its place in the JSON Schema.

use std::fmt;

/// A closed list of words.
#[derive(Clone, Copy, Debug)]
pub(in crate::spec) struct List {
    /// What a word of it is, in messages.
    pub what: &'static str,
    /// Code of the problem that a word is none of it.
    pub unknown: &'static str,
    /// Code of the problem that a word of it is not generated.
    pub unsupported: &'static str,
    /// The words, in the order of messages.
    pub words: &'static [Word],
}

/// One word of a list.
#[derive(Clone, Copy, Debug)]
pub(in crate::spec) struct Word {
    /// The word in specs; with a count behind it and `_` where it has one.
    pub name: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Its short form in ids.
    pub short: &'static str,
    /// The counts that it takes.
    pub count: Option<Counts>,
    /// Why this version does not generate it, and the way out.
    pub refused: Option<(&'static str, &'static str)>,
}

/// The counts that a word takes: from 1 to `most`.
#[derive(Clone, Copy, Debug)]
pub(in crate::spec) struct Counts {
    /// The largest.
    pub most: u32,
    /// Whether it must be a power of two.
    pub powers_of_two: bool,
    /// The one that messages suggest.
    pub usual: u32,
}

const fn word(name: &'static str) -> Word {
    Word {
        name,
        doc: "",
        short: name,
        count: None,
        refused: None,
    }
}

impl Word {
    const fn short(self, short: &'static str) -> Word {
        Word { short, ..self }
    }

    const fn documented(self, doc: &'static str) -> Word {
        Word { doc, ..self }
    }

    const fn counted(self, count: Counts) -> Word {
        Word {
            count: Some(count),
            ..self
        }
    }

    const fn refused(self, why: &'static str, way_out: &'static str) -> Word {
        Word {
            refused: Some((why, way_out)),
            ..self
        }
    }
}

impl Counts {
    const fn up_to(most: u32) -> Counts {
        Counts {
            most,
            powers_of_two: false,
            usual: 8,
        }
    }

    const fn powers_of_two_up_to(most: u32) -> Counts {
        Counts {
            powers_of_two: true,
            ..Counts::up_to(most)
        }
    }

    /// Whether the word takes that count.
    pub fn take(self, count: u32) -> bool {
        (1..=self.most).contains(&count) && (!self.powers_of_two || count.is_power_of_two())
    }

    /// The allowed count next to one that is not allowed.
    pub fn nearest(self, count: u32) -> u32 {
        let count = count.clamp(1, self.most);
        match self.powers_of_two {
            true => 1 << count.ilog2(),
            false => count,
        }
    }
}

/// A type whose values are the words of a list.
pub(in crate::spec) trait Worded: Copy {
    /// The list.
    const LIST: List;

    /// The value of a word of the list, with its count where it has one.
    fn of(word: &str, count: u32) -> Option<Self>;

    /// The word's row.
    fn word(self) -> &'static Word;

    /// Its count, of a word that has one.
    fn count(self) -> Option<u32>;

    /// The value as specs have it.
    fn spelled(self) -> String {
        match self.count() {
            Some(count) => format!("{}_{count}", self.word().name),
            None => self.word().name.to_owned(),
        }
    }
}

/// An enum of words: its variants, each with its row.
macro_rules! words {
    (
        $(#[doc = $about:literal])+
        $list:ident: $code:literal, $what:literal {
            $( $(#[doc = $doc:literal])+ $variant:ident $(($count:ty))? = $row:expr; )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $list {
            $( $(#[doc = $doc])+ $variant $(($count))?, )+
        }

        impl Worded for $list {
            const LIST: List = List {
                what: $what,
                unknown: concat!("unknown-", $code),
                unsupported: concat!("unsupported-", $code),
                words: const { &[$( $row.documented(concat!($($doc),+)) ),+] },
            };

            fn of(word: &str, count: u32) -> Option<Self> {
                let _ = count;
                $( if word == $row.name {
                    return Some(Self::$variant $((<$count>::from(count)))?);
                } )+
                None
            }

            fn word(self) -> &'static Word {
                match self {
                    $( Self::$variant { .. } => const { &$row.documented(concat!($($doc),+)) }, )+
                }
            }

            fn count(self) -> Option<u32> {
                $( $( if let Self::$variant(count) = self {
                    return Some(<$count>::from(count));
                } )? )+
                None
            }
        }

        impl $list {
            /// The word in specs, without a count.
            pub fn name(self) -> &'static str {
                self.word().name
            }
        }

        impl fmt::Display for $list {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.spelled())
            }
        }
    };
}

words! {
    /// What becomes of sums that the tensor cores cut short.
    Accumulation: "accumulation", "accumulation" {
        /// They stay as the tensor cores have them, with fewer bits than the accumulator's type.
        Fast = word("fast");
        /// Every few instructions they are added to others that keep all bits of the accumulator's
        /// type. Not generated yet.
        Promoted = word("promoted").refused(
            "this version generates `fast` alone: sums stay in the registers that the tensor cores \
             cut short",
            "use `fast`, or inputs of f16 or bf16, whose sums are not cut short",
        );
    }
}

words! {
    /// Which factor of a product is which of the MMA.
    MmaOperands: "operands", "order" {
        /// The one that has the output's rows is A: the MMA's rows go along m.
        AsWritten = word("ab");
        /// The one that has the output's columns is (swap AB): the MMA's rows, of which there are
        /// 64 at least, go along n, and its columns, 8 at least, along m.
        Exchanged = word("ba");
    }
}

words! {
    /// Whether a kernel reads or writes an operand where it lies.
    Realign: "realign", "way of an operand" {
        /// Where it lies.
        Direct = word("direct");
        /// In the workspace, in rows of whole 128 bytes: a launch before the kernel's own copies an
        /// input there, one behind it brings an output to its place. Any stride and any address do
        /// then, for the time that the copy takes.
        Workspace = word("workspace");
        /// The same with the two axes of a product's factor exchanged: one that is contiguous along
        /// m or n has a copy that is contiguous along k, as the tensor cores want factors of other
        /// types than 16 bits.
        Transposed = word("transposed");
    }
}

words! {
    /// How loads run ahead of the arithmetic.
    KernelSchedule: "schedule", "schedule" {
        /// Every warp loads and computes; `stages` cp.async groups in flight. `stages: 1`, where
        /// threads copy, is synchronous.
        Multistage = word("multistage").short("mult");
        /// One warpgroup loads, the others compute parts of one tile.
        Cooperative = word("cooperative").short("coop");
        /// One warpgroup loads, two others compute a tile each, taking turns at the tensor cores.
        Pingpong = word("pingpong").short("ping");
    }
}

words! {
    /// Order in which CTAs visit output tiles.
    Raster: "raster", "raster" {
        /// Along n first.
        Row = word("row");
        /// Along m first.
        Column = word("column").short("col");
        /// Bands of that many m tiles, along m inside a band: friendly to the L2 cache.
        Grouped(u32) = word("grouped").short("g").counted(Counts::up_to(64));
        /// Bands of that many m tiles, a power of two, there and back; inside a band squares along
        /// n, each filled by a Hilbert curve, so that successive tiles are neighbours.
        Hilbert(u32) = word("hilbert").short("h").counted(Counts::powers_of_two_up_to(64));
    }
}

words! {
    /// How output tiles come to CTAs.
    SchedulerKind: "scheduler", "scheduler" {
        /// One tile for each CTA of the grid.
        Single = word("single");
        /// As many CTAs as run at a time; each takes every so-manieth tile.
        Persistent = word("persistent").short("pers");
        /// The same, but where the last tiles would leave CTAs idle, theirs and those of a wave
        /// before are cut along k into spans of equal length (stream-k), and few tiles all at the
        /// same places; who begins a tile adds the partial sums. Clusters share loads as ever.
        StreamK = word("stream_k").short("sk");
    }
}

words! {
    /// How a kernel goes along a mode that it folds.
    Passes: "passes", "pass count" {
        /// A tile holds all of the mode, which is loaded once.
        One = word("one");
        /// Tiles are chunks of the mode, however long it is: each fold that waits for another goes
        /// along all of them again, and loads them again.
        Many = word("many");
        /// The same, every other time from the end of the mode back, so that what was loaded last
        /// is found in a cache.
        Alternating = word("alternating");
    }
}

words! {
    /// How the start of a kernel relates to the one before it in the stream.
    LaunchKind: "launch", "launch kind" {
        /// It starts when the one before has ended.
        Plain = word("plain");
        /// It is set up while the one before ends, and waits for its memory before touching any
        /// (programmatic dependent launch).
        Programmatic = word("programmatic").short("pdl");
    }
}
