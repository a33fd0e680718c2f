//! The arguments of `verify`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

/// What inputs hold. Of what is no product, hard numbers are those of kernels that read or write a
/// type of few bits (s4, u4, s16, u16, e2m1, ue8m0): any of its bits, beside normal values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Inputs {
    /// Small integers, which must give exact results, in one problem; normal values in the next,
    /// of kernels that fold by max, min or argmax ends every other time, and of what is no product
    /// nonfinite, and far in place of every other one of integers
    Mixed,
    /// Small integers
    Integers,
    /// Standard normal values
    Normals,
    /// Of products: magnitudes of normal values, so that sums only grow
    #[value(name = "onesigned")]
    OneSigned,
    /// Of products: normal values whose products cancel in pairs
    Cancelling,
    /// Of products: exponents over the whole range of the type, subnormals, zeros of both signs,
    /// cancellation; of other kernels normal values, and any bits of types of few bits
    Wide,
    /// Of products: normal values with NaN, infinities, the largest and the smallest numbers in
    /// some rows; of other kernels nonfinite, and where they have types of few bits as wide
    Special,
    /// Of what is folded by max, min or argmax: normal values, the last of some rows the largest or
    /// the smallest; of other kernels normal values
    Ends,
    /// Normal values, one of some rows NaN or an infinity; of products normal values
    Nonfinite,
    /// Of what is no product: exponents anywhere in the range of the type, subnormals, zeros of
    /// both signs, beside magnitudes from 1 to 128, and integers of any bits; of what is folded by
    /// max or min rows of nothing but -inf or inf, and of the number next to it; factors of sums of
    /// products have normal values. Of products wide
    Far,
    /// All of these in turn; of other kernels than products as far as they are theirs
    All,
    /// One factor numbers its elements, the other selects them: a wrong result names the element
    Indices,
}

/// `verify`.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
pub struct Verify {
    /// The bundle.
    #[command(flatten)]
    pub source: super::bundle::Source,
    /// Only the kernel of this id, else those of this spec, else those whose id starts so
    #[arg(long, value_name = "K")]
    pub kernel: Vec<String>,
    /// How many random problems for each kernel; where all pass on the emulator, up to as many are
    /// added, aimed at comparisons and lines that those left open
    #[arg(long, value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub problems: u32,
    /// Largest product of a problem's extents, where the kernel takes smaller ones; a larger one
    /// than is drawn without it changes nothing [default: as much as the device does in time]
    #[arg(long, value_name = "V", value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(conflicts_with = "capture")]
    pub volume: Option<u64>,
    /// Seconds after which no further problem begins; kernels that are not done by then make the
    /// result partial [default: as long as it takes]
    #[arg(long, value_name = "SECONDS", conflicts_with_all = ["capture", "against"])]
    pub budget: Option<u64>,
    /// What the inputs hold [default: mixed; with --capture, integers]
    #[arg(long, value_enum)]
    pub inputs: Option<Inputs>,
    /// Where to run [default: cuda where there is a GPU, else emulator]
    #[arg(long)]
    pub device: Option<super::Device>,
    /// How much the emulator checks; a GPU checks nothing [default: strict]
    #[arg(long, value_name = "MODE", value_enum)]
    pub sanitize: Option<super::emulate::Mode>,
    /// The seed of the problems and of their inputs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write hashes of what each problem left in memory into this file, a JSON object a line, for
    /// --against on another device; problems are as small as the emulator's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub capture: Option<PathBuf>,
    /// The commit to write into a capture [default: that of the working folder]
    #[arg(long, value_name = "HASH", requires = "capture")]
    pub commit: Option<String>,
    /// Replay the problems of this capture in place of random ones, and compare bit for bit
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["problems", "volume", "inputs", "seed", "capture"])]
    pub against: Option<PathBuf>,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
}
