//! The arguments of `emulate`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum, ValueHint};
use tilewright_emulator::Sanitize;
use tilewright_emulator::tensor_core::Rules;
use tilewright_lab::launch_file::Schedule;

/// `emulate`.
#[derive(Debug, Args)]
pub struct Emulate {
    /// A manifest, or a folder with `cases/*/manifest.json` in it
    #[arg(value_name = "DIR|MANIFEST", value_hint = ValueHint::AnyPath)]
    pub path: PathBuf,
    /// How much is checked
    #[arg(long, value_name = "MODE", value_enum, default_value_t = Mode::Default)]
    pub sanitize: Mode,
    /// How many schedules, or which ones: a list of WARPS/ASYNC such as
    /// round-robin/late,reverse/early,random:7/random:7
    #[arg(long, value_name = "N|LIST", default_value = "4")]
    pub schedules: Schedules,
    /// Instructions of warps that a launch may execute under one schedule, all by one warp if need
    /// be; what needs more is `no_progress`. By default 1000000000, and 10000000 by one warp. A
    /// core executes some millions a second
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub budget: Option<u64>,
    /// Whose tensor cores sum, such as sm_90; without it those of the PTX's own .target. Only
    /// sm_90's are proved to give the hardware's bits
    #[arg(long, value_name = "ARCH")]
    pub tensor_cores: Option<TensorCores>,
    /// Print what one warp does under the first schedule, instruction by instruction
    #[arg(long, value_name = "CTA:WARP")]
    pub trace: Option<Trace>,
    /// Instructions to trace at most
    #[arg(long, value_name = "N", default_value_t = 10_000, requires = "trace")]
    pub trace_steps: usize,
    /// Print what each line of PTX costs under the first schedule, and each line of its source
    /// where the PTX has `.loc`, as that of `ptx --line-info`
    #[arg(long)]
    pub profile: bool,
    /// Print every outcome, finding and counter as JSON, one object a line
    #[arg(long)]
    pub json: bool,
    /// Draw what led to the first finding into this file: warps and asynchronous operations in
    /// lanes, from left to right by the schedule that made it; without a finding none is written
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub svg: Option<PathBuf>,
    /// Write the findings as SARIF, for code scanning
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub sarif: Option<PathBuf>,
}

/// The rules of an architecture's tensor cores.
#[derive(Debug, Clone, Copy)]
pub struct TensorCores(pub &'static Rules);

impl FromStr for TensorCores {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Rules::all().iter().find(|rules| rules.name() == text);
        known.map(TensorCores).ok_or_else(|| {
            let names: Vec<&str> = Rules::all().iter().map(Rules::name).collect();
            format!("{text:?} is none of {}", names.join(", "))
        })
    }
}

/// How much the emulator checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Everything the PTX document asks for
    Strict,
    /// What is wrong under the reading that compilers and libraries rely on
    Default,
    /// Bounds, alignment, deadlock and budgets only
    Off,
}

impl Mode {
    /// What the emulator calls it.
    pub fn sanitize(self) -> Sanitize {
        match self {
            Mode::Strict => Sanitize::Strict,
            Mode::Default => Sanitize::Default,
            Mode::Off => Sanitize::Off,
        }
    }
}

/// The schedules to run each launch under.
#[derive(Debug, Clone)]
pub struct Schedules(pub Vec<Schedule>);

impl FromStr for Schedules {
    type Err = String;

    fn from_str(text: &str) -> Result<Schedules, String> {
        if let Ok(count) = text.parse::<usize>() {
            return match count {
                1..=1000 => Ok(Schedules(Schedule::first(count))),
                _ => Err(format!("{count} is not in 1..=1000")),
            };
        }
        let list = text.split(',').map(str::trim).map(str::parse);
        Ok(Schedules(list.collect::<Result<_, _>>()?))
    }
}

/// A warp of a launch, written `CTA:WARP`: `0:1`, or `2,0,1:3` for a CTA with more coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace {
    /// The CTA.
    pub cta: [u32; 3],
    /// The warp within it.
    pub warp: u32,
}

impl FromStr for Trace {
    type Err = String;

    fn from_str(text: &str) -> Result<Trace, String> {
        let expected = || format!("`{text}` is no CTA:WARP, such as 0:1 or 2,0,1:3");
        let (cta, warp) = text.split_once(':').ok_or_else(expected)?;
        let warp = warp.parse().map_err(|_| expected())?;
        let mut place = [0; 3];
        let mut places = place.iter_mut();
        for part in cta.split(',') {
            let axis = places.next().ok_or_else(expected)?;
            *axis = part.parse().map_err(|_| expected())?;
        }
        Ok(Trace { cta: place, warp })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warp_is_written_with_as_many_coordinates_as_needed() {
        let read = |text: &str| text.parse::<Trace>().ok();
        assert_eq!(
            read("2:1"),
            Some(Trace {
                cta: [2, 0, 0],
                warp: 1
            })
        );
        assert_eq!(
            read("2,0,1:3"),
            Some(Trace {
                cta: [2, 0, 1],
                warp: 3
            })
        );
        for wrong in ["", "1", ":", "1:", "1,2,3,4:0", "a:0", "1:-1"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn schedules_are_a_number_or_a_list() {
        let count = |text: &str| text.parse::<Schedules>().map(|list| list.0.len());
        assert_eq!(count("7"), Ok(7));
        assert_eq!(count("reverse, random:3/early"), Ok(2));
        assert!(count("0").is_err() && count("late").is_err());
    }
}
