//! Compositions in bulk, for comparison with other implementations.
//!
//! In: pairs on stdin, one `A<tab>B` a line. Out: a line for each pair, `ok<tab>layout`,
//! `refused<tab>reason` or `undecided<tab>reason`, and last `time<tab>nanoseconds` of all
//! compositions together, reading and printing left out. A hundred pairs at a time are composed
//! seven times over and the best time counts, which leaves out what else the machine does.

use std::io::{self, BufRead, Write};
use std::time::Instant;

use tilewright_layout::{Error, Layout, composition};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut pairs: Vec<(Layout, Layout)> = Vec::new();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (a, b) = line.split_once('\t').ok_or("a line without a tab")?;
        pairs.push((a.parse()?, b.parse()?));
    }
    let (mut answers, mut time) = (Vec::new(), 0);
    for some in pairs.chunks(100) {
        let run = || {
            let start = Instant::now();
            let answers: Vec<_> = some.iter().map(|(a, b)| composition(a, b)).collect();
            (start.elapsed().as_nanos(), answers)
        };
        let runs: Vec<_> = (0..7).map(|_| run()).collect();
        if let Some((best, found)) = runs.into_iter().min_by_key(|(time, _)| *time) {
            time += best;
            answers.extend(found);
        }
    }
    let mut out = io::stdout().lock();
    for answer in answers {
        match answer {
            Ok(r) => writeln!(out, "ok\t{r}")?,
            Err(e @ Error::Undecided { .. }) => writeln!(out, "undecided\t{e}")?,
            Err(e) => writeln!(out, "refused\t{e}")?,
        }
    }
    writeln!(out, "time\t{time}")?;
    Ok(())
}
