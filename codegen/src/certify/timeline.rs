//! The data of a pipeline's run by the clock, and what each thing costs.
//!
//! The clock counts cycles of one SM. It is a model, to see who waits for whom: costs are derived
//! from the plan by the rates below, every load hits the L2 cache, and nothing else runs.

use serde::Serialize;

use crate::atoms::arithmetic::Does;
use crate::atoms::model::Atom;
use crate::element::Element;
use crate::plan::data::model::Plan;
use crate::plan::data::moves::{BoxCopy, WIDEST_ROWS};
use crate::plan::data::values::Every;
use crate::plan::data::warp_roles::Roles;

/// Operations of the tensor cores in a cycle, on 2-byte elements (NVIDIA H100 white paper: 989
/// TFLOP/s of 132 SMs at 1830 MHz).
const FLOP_PER_CYCLE: u64 = 4096;
/// Bytes that come from the L2 cache in a cycle, and that go there: the gemm of 128x128 tiles needs
/// 61 with its tensor cores busy 96% of the time (`bench/results/h200/2026-11-21-hopper.md`).
const L2_BYTES_PER_CYCLE: u64 = 64;
/// From a load's request to its first byte: 1415 cycles measured for 32 KiB (a published
/// measurement on an H100), less the time of the bytes.
const LOAD_LATENCY: u64 = 900;
/// Bytes that shared memory takes in a cycle: 32 banks of 4 (CUDA C++ Programming Guide).
const SMEM_BYTES_PER_CYCLE: u64 = 128;
/// Conversions in a cycle, two elements each (CUDA C++ Programming Guide, arithmetic instructions).
const CONVERSIONS_PER_CYCLE: u64 = 64;
/// Instructions of threads in a cycle (CUDA C++ Programming Guide, as above).
const INSTRUCTIONS_PER_CYCLE: u64 = 128;
/// Of them, those of the units for roots, quotients, powers and angles (as above).
const SPECIAL_PER_CYCLE: u64 = 16;
/// What those units do.
const SPECIAL: [Does; 10] = [
    Does::Rcp,
    Does::RcpFlushed,
    Does::Ex2,
    Does::Lg2,
    Does::Sqrt,
    Does::Rsqrt,
    Does::Tanh,
    Does::SinNear,
    Does::CosNear,
    Does::Div,
];
/// From an arrival to the end of the wait for it. Assumed.
const BARRIER_LATENCY: u64 = 40;
/// One operation of a role that does nothing but start or tell something. Assumed.
const STEP: u64 = 10;

/// Cycles and rates of the model, for one plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Costs {
    /// The products of a k tile by one consumer.
    pub products_cycles: u64,
    /// A k tile of an output tile on the tensor cores, by all consumers of the tile.
    pub k_tile_cycles: u64,
    /// Bytes loaded by this CTA into a slot, its own and what it shares out.
    pub slot_bytes: u64,
    /// Fewest bytes of the rows in which boxes bring factors: 128, or fewer, which take longer and
    /// of which the clock does not know.
    pub row_bytes: u64,
    /// Elements of one store into shared memory; 0 for stores past it.
    pub stage_cycles: u64,
    /// Bytes of one store to global memory.
    pub store_bytes: u64,
    /// Operations of the tensor cores in a cycle.
    pub flop_per_cycle: u64,
    /// Bytes from or to the L2 cache in a cycle.
    pub l2_bytes_per_cycle: u64,
    /// From a load's request to its first byte.
    pub load_latency_cycles: u64,
    /// Bytes that shared memory takes in a cycle.
    pub smem_bytes_per_cycle: u64,
    /// Conversions in a cycle.
    pub conversions_per_cycle: u64,
    /// Instructions of threads in a cycle.
    pub instructions_per_cycle: u64,
    /// Of them, roots, quotients, powers and angles.
    pub special_per_cycle: u64,
    /// From an arrival to the end of the wait for it.
    pub barrier_cycles: u64,
    /// Every other operation of a role.
    pub step_cycles: u64,
}

/// Fewest bytes of the rows in which boxes bring factors.
fn row_bytes(roles: &Roles) -> u64 {
    let factors = roles.loads(Every::Trip).take(roles.descriptors.len());
    let rows = factors.filter_map(BoxCopy::row_bytes);
    rows.min().unwrap_or(WIDEST_ROWS).into()
}

impl Timeline {
    /// Slots of the ring.
    pub fn slots(&self) -> usize {
        let lanes = self.lanes.iter();
        lanes.filter(|lane| lane.name.starts_with("slot ")).count()
    }
}

impl Costs {
    /// Costs of that plan.
    pub(super) fn of(plan: &Plan, roles: &Roles) -> Costs {
        let extent = |mode: usize| plan.extent(mode) as u64;
        let [m, n, k] = [0, 1, 2].map(extent);
        let input = roles
            .loads(Every::Trip)
            .next()
            .map_or(2, |load| load.dtype.bytes());
        let flop_per_cycle = FLOP_PER_CYCLE * 2 / u64::from(input.max(1));
        let planes = plan.planes().unsigned_abs();
        let k_tile_cycles = 2 * m * n * k * planes / flop_per_cycle;
        let consumers = u64::from(roles.consumers_of_a_tile());
        let output = plan.output().map_or(2, |d| u64::from(d.dtype.bytes()));
        let (elements, staged) = match &roles.store {
            Some(store) => (store.box_bytes() as u64 / output, true),
            None => (m * n / consumers, false),
        };
        let slot_bytes = roles.loads(Every::Trip).map(|load| {
            let boxes = load.places.len() as i64;
            (load.box_bytes() * boxes) as u64
        });
        Costs {
            products_cycles: k_tile_cycles / consumers,
            k_tile_cycles,
            slot_bytes: slot_bytes.sum(),
            row_bytes: row_bytes(roles),
            stage_cycles: if staged {
                elements * output / SMEM_BYTES_PER_CYCLE
            } else {
                0
            },
            store_bytes: elements * output,
            flop_per_cycle,
            l2_bytes_per_cycle: L2_BYTES_PER_CYCLE,
            load_latency_cycles: LOAD_LATENCY,
            smem_bytes_per_cycle: SMEM_BYTES_PER_CYCLE,
            conversions_per_cycle: CONVERSIONS_PER_CYCLE,
            instructions_per_cycle: INSTRUCTIONS_PER_CYCLE,
            special_per_cycle: SPECIAL_PER_CYCLE,
            barrier_cycles: BARRIER_LATENCY,
            step_cycles: STEP,
        }
    }

    /// Cycles that the threads of a warpgroup compute so many elements in: those of the unit that
    /// has most to do.
    pub(super) fn compute(&self, element: &Element, elements: u64) -> u64 {
        let runs = elements / u64::from(element.code.lanes.max(1));
        let count = |is: &dyn Fn(&Atom) -> bool| {
            let calls = element.code.calls.iter();
            calls.filter(|call| is(&call.atom)).count() as u64
        };
        let is_special = |atom: &Atom| {
            let facts = atom.arithmetic.as_ref();
            facts.is_some_and(|facts| SPECIAL.contains(&facts.does))
        };
        let units = [
            (count(&|_| true), self.instructions_per_cycle),
            (
                count(&|atom| atom.convert.is_some()),
                self.conversions_per_cycle,
            ),
            (count(&is_special), self.special_per_cycle),
        ];
        let cycles = units.map(|(calls, rate)| runs * calls / rate);
        cycles.into_iter().max().unwrap_or(0)
    }

    /// Cycles of a k tile's loads by this CTA.
    pub fn k_tile_loads(&self) -> u64 {
        self.slot_bytes / self.l2_bytes_per_cycle.max(1)
    }

    /// Cycles of a k tile's products or of its loads, which are more.
    pub fn k_tile_bound(&self) -> u64 {
        self.k_tile_cycles.max(self.k_tile_loads())
    }

    /// Cycles that the L2 cache gives or takes those bytes in.
    pub(super) fn l2(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.l2_bytes_per_cycle)
    }
}

/// What somebody does for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// The producer waits for a slot to be empty.
    Acquire,
    /// The producer announces bytes and asks for boxes.
    Request,
    /// Bytes of a slot arrive.
    Load,
    /// A consumer waits for a slot to be full.
    Await,
    /// Products of a slot wait for the tensor cores.
    Queue,
    /// Products of a slot run.
    Multiply,
    /// A consumer gives a slot back.
    Release,
    /// A consumer waits for its turn at the tensor cores.
    Turn,
    /// Accumulators are rounded.
    Convert,
    /// A consumer waits for a staging buffer.
    StagingWait,
    /// A staging buffer is written.
    Stage,
    /// Results go to global memory.
    Store,
    /// The producer waits for the last slots to be given back, or a consumer for its last stores.
    Drain,
    /// A slot is armed and its bytes are on their way.
    Filling,
    /// A slot is full and nobody reads it yet.
    Full,
    /// A slot is being read.
    Reading,
}

/// A stretch of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// First cycle.
    pub from: u64,
    /// The cycle after the last.
    pub to: u64,
    /// What.
    pub activity: Activity,
    /// Which slot of the ring.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<u32>,
    /// Which time around the ring: the slot's barriers are waited for by this number's parity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<u64>,
    /// Which of the CTA's output tiles, from 0.
    pub tile: u32,
    /// Which k tile of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k_tile: Option<u32>,
}

/// One row: a role, an engine or a slot of CTA 0.
#[derive(Clone, Debug, Serialize)]
pub struct Lane {
    /// Who: `producer`, `loads`, `consumer 0`, `stores`, `slot 0`.
    pub name: String,
    /// What it does, in the order of time.
    pub spans: Vec<Span>,
}

/// A pipeline's run by the clock, as CTA 0 of the first cluster sees it.
#[derive(Clone, Debug, Serialize)]
pub struct Timeline {
    /// The model.
    pub costs: Costs,
    /// Output tiles of the CTA.
    pub tiles: u32,
    /// K tiles of each.
    pub k_tiles: u32,
    /// When the last role ends.
    pub cycles: u64,
    /// Cycles in which the tensor cores multiply.
    pub multiply_cycles: u64,
    /// What a k tile takes when the main loop has run for a while.
    pub steady: Steady,
    /// The rows.
    pub lanes: Vec<Lane>,
}

/// What a k tile of a long main loop takes, when the ring has gone around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Steady {
    /// From the products of one k tile to those of the next.
    pub k_tile_cycles: u64,
    /// Of them, what a consumer waits for a slot to be full.
    pub wait_cycles: u64,
    /// Slots of a ring that hides how long each is on its way.
    pub enough_slots: u64,
}
