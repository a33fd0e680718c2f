//! The lines of a plan that say who does what: roles, their pipes, boxes and descriptors.

use std::fmt;

use crate::arch::WARPGROUP;
use crate::plan::data::matrix_descriptor::{Descriptor, Major, UNIT_BYTES};
use crate::plan::data::model::Plan;
use crate::plan::data::moves::{BoxCopy, Hop};
use crate::plan::data::teams::{Team, WARPS, entry_registers};
use crate::plan::data::values::Every;
use crate::plan::data::warp_roles::{LoadPipe, Roles};
use crate::plan::work_tiles::Cluster;
use crate::spec::keys::model::KernelSchedule;

/// Writes what only plans with roles have.
pub(super) fn write(f: &mut fmt::Formatter<'_>, plan: &Plan, roles: &Roles) -> fmt::Result {
    write_teams(f, roles)?;
    write_tiles(f, plan)?;
    for (number, pipe) in roles.pipes.iter().enumerate() {
        write_pipe(f, number, pipe)?;
        let descriptors = match pipe.every {
            Every::Trip => &roles.descriptors[..],
            Every::WorkTile => &[],
        };
        for (number, copy) in pipe.loads.iter().enumerate() {
            write_boxes(f, plan, copy)?;
            if let Some(Some(descriptor)) = descriptors.get(number) {
                write_descriptor(f, plan, copy, descriptor)?;
            }
        }
    }
    if let Some(store) = &roles.store {
        write_boxes(f, plan, store)?;
        write_staging(f, plan, roles, store)?;
    }
    Ok(())
}

fn write_teams(f: &mut fmt::Formatter<'_>, roles: &Roles) -> fmt::Result {
    let consumers = roles.consumers();
    let schedule = roles.schedule.name();
    let entry = entry_registers(roles.threads());
    let [producer, consumer] = [Team::Producer, Team::Consumers].map(|team| roles.registers(team));
    let kept = match roles.splits_registers() {
        true => "",
        false => ", kept by all roles",
    };
    writeln!(
        f,
        "  roles {schedule}, {entry} registers a thread at the entry{kept}"
    )?;
    let share = match roles.schedule {
        KernelSchedule::Pingpong => "a tile each, in turns",
        _ if consumers == 1 => "a tile by itself",
        _ => "parts of one tile",
    };
    let (last, threads) = (consumers - 1, consumers * WARPGROUP - 1);
    let range = |last: u32| match last {
        0 => "warpgroup 0".to_string(),
        last => format!("warpgroups 0-{last}"),
    };
    writeln!(
        f,
        "    consumers: {}, threads 0-{threads}, {consumer} registers, {share}",
        range(last)
    )?;
    let plural = if roles.in_flight == 1 { "" } else { "s" };
    writeln!(
        f,
        "      {} group{plural} of products in flight behind the one being issued",
        roles.in_flight
    )?;
    writeln!(
        f,
        "    producer: warpgroup {consumers}, one thread of warp {}, {producer} registers",
        consumers * WARPS
    )
}

fn write_tiles(f: &mut fmt::Formatter<'_>, plan: &Plan) -> fmt::Result {
    let cluster = plan.work.cluster();
    let Cluster([along_m, along_n]) = cluster;
    match cluster.size() {
        1 => writeln!(f, "  cluster (1,1)")?,
        ctas => writeln!(
            f,
            "  cluster ({along_m},{along_n}): {ctas} CTAs, rank = m + {along_m} n"
        )?,
    }
    let work = &plan.work;
    if let Some(rule) = work.parts() {
        let ctas = rule.ctas;
        writeln!(
            f,
            "  along k {ctas} groups of such clusters, each with a part of the tiles"
        )?;
    }
    let most = work
        .ctas
        .map_or(String::new(), |ctas| format!(", at most {ctas} CTAs"));
    let launch = plan.launch.name();
    writeln!(
        f,
        "  scheduler {}{most}, launch {launch}",
        work.source.kind().name()
    )
}

/// What makes a slot full, and what empty.
fn write_pipe(f: &mut fmt::Formatter<'_>, number: usize, pipe: &LoadPipe) -> fmt::Result {
    let ring = &pipe.ring;
    let every = match pipe.every {
        Every::Trip => "trip",
        Every::WorkTile => "work tile",
    };
    writeln!(
        f,
        "  pipe {number}: {} slots, one filled every {every} by {} bytes and {} arrival, emptied \
         by {} arrivals",
        ring.stages, ring.bytes, ring.full_arrivals, ring.empty_arrivals
    )
}

fn write_boxes(f: &mut fmt::Formatter<'_>, plan: &Plan, copy: &BoxCopy) -> fmt::Result {
    let (operand, hop) = (&plan.operand(copy.operand).name, copy.hop.name());
    writeln!(f, "  boxes {operand}.{hop} {}", copy.atom.id)?;
    let [rows, columns] = copy.box_extents;
    let count = copy.places.len();
    let apart = if copy.packed { ", as in memory" } else { "" };
    writeln!(
        f,
        "    {count} box{} of ({rows},{columns}), {} bytes each, {}{apart}",
        if count == 1 { "" } else { "es" },
        copy.box_bytes(),
        swizzle(i64::from(copy.swizzle_bytes))
    )?;
    let places: Vec<String> = copy
        .places
        .iter()
        .map(|place| {
            let [row, column] = place.coord;
            format!("({row},{column}) at {}", place.offset_bytes)
        })
        .collect();
    for line in places.chunks(PLACES_PER_LINE) {
        writeln!(f, "      {}", line.join(", "))?;
    }
    if copy.parts > 1 {
        let [row, column] = copy.part_step.coord;
        let (parts, step) = (copy.parts, copy.part_step.offset_bytes);
        let who = match copy.hop {
            Hop::G2s => "CTAs",
            _ => "warpgroups",
        };
        writeln!(
            f,
            "    {parts} {who} move a part each, the next ({row},{column}) and {step} bytes on"
        )?;
    }
    if copy.hop == Hop::G2s && copy.parts > 1 {
        let cluster = plan.work.cluster();
        let masks: Vec<String> = (0..cluster.size())
            .map(|cta| {
                let ranks = cluster.sharers(copy.shared_along, cta).into_iter();
                let bits = ranks.map(|rank| 1 << rank);
                format!("{:#x}", bits.sum::<u32>())
            })
            .collect();
        writeln!(f, "    multicast masks by rank: {}", masks.join(", "))?;
    }
    Ok(())
}

fn swizzle(width_bytes: i64) -> String {
    match width_bytes {
        UNIT_BYTES => "no swizzle".to_string(),
        width => format!("swizzle of {width} bytes"),
    }
}

/// Places of boxes that a line holds.
const PLACES_PER_LINE: usize = 6;

fn write_descriptor(
    f: &mut fmt::Formatter<'_>,
    plan: &Plan,
    copy: &BoxCopy,
    descriptor: &Descriptor,
) -> fmt::Result {
    let major = match descriptor.major {
        Major::K => "K",
        Major::Mn => "MN",
    };
    let swizzle = swizzle(descriptor.swizzle_bytes);
    writeln!(
        f,
        "    descriptor of {}: {major}-major, LBO {}, SBO {}, {swizzle}",
        plan.operand(copy.operand).name,
        descriptor.leading_bytes,
        descriptor.stride_bytes
    )?;
    let rows = match descriptor.row_step_bytes {
        0 => String::new(),
        step => format!(", {step} bytes to the next mma's rows"),
    };
    let steps: Vec<String> = (descriptor.k_steps_bytes.iter())
        .map(ToString::to_string)
        .collect();
    writeln!(f, "      k steps at {} bytes{rows}", steps.join(", "))
}

fn write_staging(
    f: &mut fmt::Formatter<'_>,
    plan: &Plan,
    roles: &Roles,
    store: &BoxCopy,
) -> fmt::Result {
    let bytes = plan.output_tile().map_or(0, |tile| tile.size_bytes);
    let sets = roles.staging_sets();
    let buffers = roles.staging_buffers;
    writeln!(
        f,
        "  staging: {sets} set{} of {bytes} bytes, {buffers} buffer{} of {} bytes for a \
         warpgroup",
        if sets == 1 { "" } else { "s" },
        if buffers == 1 { "" } else { "s" },
        store.box_bytes()
    )
}
