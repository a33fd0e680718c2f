//! How the warps of a warp-specialized kernel share out their registers.

use crate::arch::{MAX_REGISTERS_PER_THREAD, WARPGROUP};
use crate::error::message;
use crate::plan::data::teams::entry_registers;
use crate::plan::instructions::choose::Chooser;
use crate::plan::work_tiles::Work;
use crate::spec::keys::model::{Auto, Spec};
use crate::spec::keys::paths;

/// Registers an MMA needs besides its accumulators when it is issued at the entry's register count.
const ISSUE_REGISTERS: i64 = 26;
/// Registers of a consumer besides its accumulators.
const OTHER_REGISTERS: i64 = 40;

/// Registers of producer and consumers: what the entry's count leaves when the producer gives most
/// of its own away.
pub(super) fn registers(
    spec: &Spec,
    chooser: &mut Chooser<'_>,
    work: &Work,
    consumers: u32,
    [accumulators, atom_n]: [i64; 2],
) -> [Option<u32>; 2] {
    let threads = (consumers + 1) * WARPGROUP;
    let entry = entry_registers(threads);
    if let Auto::Given(asked) = spec.schedule.pipeline.producer_registers
        && asked > entry / 8 * 8
    {
        let message = message!(
            "{} {asked} is more than the {entry} that each of {threads} threads starts with: use \
             {} or less",
            paths::PRODUCER_REGISTERS,
            entry / 8 * 8
        );
        chooser.violate("registers", message);
    }
    let producer = spec
        .schedule
        .pipeline
        .producer_registers
        .unwrap_or_else(|| {
            match (consumers, work.spans().is_some()) {
                // It finds its parts of tiles by itself.
                (1 | 2, true) => 56,
                (2, _) if accumulators >= 176 => 24,
                (1 | 2, _) => 40,
                _ => 32,
            }
        });
    let [producer, consumer] = split_registers(producer, consumers);
    let available = i64::from(consumer);
    if accumulators + OTHER_REGISTERS > available {
        let way_out = match spec.schedule.pipeline.producer_registers {
            Auto::Given(_) => message!(
                "use fewer {}, or a smaller {}",
                paths::PRODUCER_REGISTERS,
                paths::CTA_TILE
            ),
            // More of them would have tiles of their own, or are more than a CTA has.
            Auto::Auto if consumers > 1 => message!("use a smaller {}", paths::CTA_TILE),
            Auto::Auto => message!(
                "use more {} or a smaller {}",
                paths::MMA_ATOMS,
                paths::CTA_TILE
            ),
        };
        let message = message!(
            "{accumulators} accumulator registers a thread and {OTHER_REGISTERS} more exceed the \
             {available} of {consumers} consumer warpgroups: {}",
            way_out
        );
        chooser.violate("registers", message);
    } else if atom_n / 2 + ISSUE_REGISTERS > i64::from(entry) {
        let message = message!(
            "an mma of n {atom_n} needs {} registers when the kernel starts, where {threads} \
             threads have {entry} each: use a smaller n or fewer warpgroups",
            atom_n / 2 + ISSUE_REGISTERS
        );
        chooser.violate("registers", message);
    }
    match producer < consumer {
        true => [Some(producer), Some(consumer)],
        false => [None; 2],
    }
}

/// Registers of producer and consumers when a producer's thread keeps that many: what the CTA got
/// when it started beyond the producer's, in steps of 8, but no more than a thread may hold (PTX
/// ISA, setmaxnreg); all those of the entry where the producer gives none away.
fn split_registers(producer: u32, consumers: u32) -> [u32; 2] {
    let entry = entry_registers((consumers + 1) * WARPGROUP) / 8 * 8;
    if producer >= entry {
        return [entry; 2];
    }
    let left = entry * (consumers + 1) - producer;
    let most = MAX_REGISTERS_PER_THREAD / 8 * 8;
    [producer, (left / consumers / 8 * 8).min(most)]
}
