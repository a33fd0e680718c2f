//! What a launch is made of: the launch, clusters, CTAs, warps, and what each of them holds.
//!
//! Data, and what it says of itself: a barrier knows how many arrived, the race detector which of
//! two accesses is ordered, a warp its registers. Nothing here executes, accesses memory for a
//! thread, or knows what an instruction does. The lowest floor: it uses no other. The modules are
//! listed in layers.

mod known;
mod view;
mod env;
mod site;
mod bytes;
mod random;
mod global_words;
mod race;
mod barriers;
mod copies;
mod products;
mod observed;
mod recorder;
mod cta;
mod cluster;
mod frame;
mod spin;
mod warp;
mod groups;
mod special;
mod registers;

pub(crate) use barriers::{BarrierState, Mbarrier};
pub(crate) use bytes::{DEFINED, IN_FLIGHT, OBJECT, UNDEFINED};
pub(crate) use cluster::State;
pub(crate) use copies::{EditedMap, End, Pending, PendingCopy, Span, TileAt, Work};
pub(crate) use env::{Env, GlobalSpace, OFFSET_MASK, RANK_SHIFT, SHARED_START, ctas_of, variables};
pub(crate) use frame::Frame;
pub(crate) use global_words::{Crossing, GlobalWords, Who};
pub(crate) use observed::Observed;
pub(crate) use products::{ALL_WARPS, Issued, Operands, Product, Tile};
pub(crate) use race::{Conflict, Focus, ProductClock, Race, Signal, StrongPlace, Touch};
pub(crate) use random::Random;
pub(crate) use recorder::{Recorder, Stepped};
pub(crate) use site::{AccessKind, Place, Site, lanes_of};
pub(crate) use spin::{Again, FIRST_LOOK, Look, Record, Spin, Stage, Step, Survey};
pub(crate) use warp::{Flow, Group, Return, Status, Wait, Warp};
