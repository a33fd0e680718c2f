//! Accesses to global memory: which coordinates they are of, and the limits those must keep.
//!
//! The coordinates of an element are read off the address: the bytes behind the operand's pointer
//! are a sum of coordinates times strides. What a named stride is multiplied by is the coordinate
//! of its mode; the rest belongs to modes of constant stride. Any coordinates that give the address
//! and keep their limits show that the access stays inside.

use super::launch::{access_bytes, in_scratch};
use super::poly::{Mono, Poly, subsets};
use super::prove::{Effort, ORDINARY, PATIENT};
use super::terms::{Cond, Known, Term};
use crate::atoms::model::{Atom, Space};
use crate::ir::program::{Address, Arg, Base, ParamId};
use crate::lower::{WORKSPACE, map_name};
use crate::plan::model::{Hop, Plan};
use crate::spec::model::{Axis, Operand, Raster, Stride};

/// Bytes at whose multiples the hardware cuts boxes of stores (measured on an H200).
const BOX_GRANULE: i128 = 16;

/// How an access is kept inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By tests on its path.
    Tests,
    /// By its count of valid bytes.
    Size,
    /// By a tensor map, whose boxes the hardware cuts.
    Map,
    /// In scratch memory, by the size of that.
    Scratch,
    /// Not shown, see `Limits::unless_hard`.
    Unshown,
}

/// What a proof needs besides what is known.
pub(super) struct Limits<'p> {
    pub plan: &'p Plan,
    /// Bytes of scratch memory.
    pub scratch: Option<Poly>,
}

impl Limits<'_> {
    /// Shows every access of an atom call inside; out come the ways, or what is not shown.
    pub(super) fn check(
        &self,
        known: &mut Known<'_>,
        atom: &Atom,
        args: &[Arg],
    ) -> Result<Vec<Way>, String> {
        let mut ways = Vec::new();
        for arg in args {
            match arg {
                Arg::Address(address) if address.space == Space::Gmem => {
                    ways.push(self.address(known, atom, args, address)?);
                }
                Arg::TensorMap(map) if atom.copy.is_some() => {
                    self.boxes(known, atom, args, *map)?;
                    ways.push(Way::Map);
                }
                _ => {}
            }
        }
        Ok(ways)
    }

    fn address(
        &self,
        known: &mut Known<'_>,
        atom: &Atom,
        args: &[Arg],
        address: &Address,
    ) -> Result<Way, String> {
        let Base::Param(param) = address.base else {
            return Err("a global address has no pointer".into());
        };
        let name = known.program.params.get(param.0 as usize);
        let name = name.map(|param| param.name.clone()).unwrap_or_default();
        let offset = known.int(&address.offset);
        let offset = offset.plus_constant(i128::from(address.imm));
        if name == WORKSPACE {
            let all = self.scratch.clone().ok_or("there is no scratch memory")?;
            for (distance, bytes) in in_scratch(atom, args) {
                let first = offset.plus_constant(distance);
                let left = all.plus(-1, &first).plus_constant(-bytes);
                let first_byte = "its first byte in scratch memory";
                shown(known, PATIENT, &first, first_byte)?;
                let behind = "what scratch memory has behind it";
                shown(known, PATIENT, &left, behind)?;
            }
            return Ok(Way::Scratch);
        }
        let operand = self.plan.operand(&name);
        let operand = operand.ok_or_else(|| format!("there is no operand {name}"))?;
        if let Some(copy) = self.plan.bulk(&name) {
            return self.patterns(known, (atom, args), (operand, copy), &offset);
        }
        let most = i128::from(access_bytes(atom)?);
        let sized = atom.copy.as_ref().and_then(|copy| copy.src_bytes.as_ref());
        let valid = match sized {
            None => None,
            Some(sized) => {
                let at = atom.operands.iter().position(|one| one.name == *sized);
                match at.and_then(|at| args.get(at)) {
                    Some(Arg::Int(bytes)) => Some(known.int(bytes)),
                    _ => return Err(format!("{sized} is no number")),
                }
            }
        };
        let Some(valid) = valid else {
            let inside = self.element(known, operand, &offset, (&Poly::constant(most), most));
            return self.unless_hard(operand, inside, Way::Tests);
        };
        let over = valid.scaled(-1).plus_constant(most);
        natural(known, &valid, "its count of valid bytes")?;
        let rest = "what a whole access has more than its valid bytes";
        natural(known, &over, rest)?;
        // A copy of no bytes touches nothing.
        let scope = known.enter();
        known.pass(&Cond::Natural(valid.plus_constant(-1)));
        let valid = known.settled(&valid);
        let inside = self.element(known, operand, &offset, (&valid, most));
        known.leave(scope);
        self.unless_hard(operand, inside, Way::Size)
    }

    /// What a proof shows. For constant strides, and on curves that nothing unrolls, it may fail.
    fn unless_hard(
        &self,
        operand: &Operand,
        inside: Result<(), String>,
        way: Way,
    ) -> Result<Way, String> {
        let constant = |axis: &&Axis| matches!(axis.stride, Stride::Const(_));
        let curve = matches!(self.plan.work.raster, Raster::Hilbert(_));
        // A tile has one block, so that no coordinate in it is one along blocks.
        let in_tile = operand
            .axes
            .iter()
            .chain(operand.plane.iter().map(|(_, axis)| axis));
        let hard = in_tile.filter(constant).count() > 1 || curve && self.plan.roles.is_none();
        match inside {
            Ok(()) => Ok(way),
            Err(_) if hard => Ok(Way::Unshown),
            Err(error) => Err(error),
        }
    }

    /// Shows that so many bytes at that place, of at most so many, are elements of the operand.
    fn element(
        &self,
        known: &mut Known<'_>,
        operand: &Operand,
        offset: &Poly,
        (bytes, most): (&Poly, i128),
    ) -> Result<(), String> {
        let size = i128::from(operand.dtype.bytes());
        // A single element is cut along no mode.
        let along = operand.contiguous_axis().or((most == size).then_some(1));
        let Some(along) = along else {
            return Err(format!(
                "{} has no mode of stride 1 to move vectors along",
                operand.name
            ));
        };
        // Any coordinates that give the address and are inside show that it is.
        let mut refusal = None;
        for coords in coordinates(known, operand, offset, size)? {
            match self.inside(known, operand, &coords, (bytes, along)) {
                Ok(()) => return Ok(()),
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        Err(refusal.unwrap_or_else(|| format!("the address is no element of {}", operand.name)))
    }

    /// Shows that the coordinates, and so many bytes from there along that mode, are inside.
    fn inside(
        &self,
        known: &mut Known<'_>,
        operand: &Operand,
        coords: &[Poly],
        (bytes, along): (&Poly, usize),
    ) -> Result<(), String> {
        let size = i128::from(operand.dtype.bytes());
        let bytes = &bytes.scaled(i128::from(operand.dtype.per_byte()));
        let planes = i128::from(self.plan.computes.planes_of(operand));
        for (mode, (coord, axis)) in coords.iter().zip(operand.all_axes()).enumerate() {
            let extent = &axis.mode;
            let of_planes = (operand.plane.iter()).any(|(_, plane)| plane.mode == *extent);
            let limit = match of_planes {
                true => Some(Poly::constant(planes)),
                false => known.param(extent),
            };
            let limit = limit.ok_or_else(|| format!("there is no parameter {extent}"))?;
            let one = Poly::constant(size);
            let taken = if along == mode { bytes } else { &one };
            let left = limit.plus(-1, coord).scaled(size).plus(-1, taken);
            natural(known, coord, &format!("the coordinate along {extent}"))?;
            let behind = format!("the bytes from there to the end of {extent}, less those moved,");
            natural(known, &left, &behind)?;
        }
        Ok(())
    }

    /// Loads are cut by the hardware at the tensor's end; stores at the next multiple of 16 bytes,
    /// so that either the end is one or the box ends before.
    fn boxes(
        &self,
        known: &mut Known<'_>,
        atom: &Atom,
        args: &[Arg],
        map: ParamId,
    ) -> Result<(), String> {
        let name = known.program.params.get(map.0 as usize);
        let name = name.map(|param| param.name.clone()).unwrap_or_default();
        let mut operands = self.plan.operands.iter();
        let operand = operands.find(|operand| map_name(&operand.name) == name);
        let operand = operand.ok_or_else(|| format!("{name} is a map of no operand"))?;
        if atom.copy.as_ref().is_none_or(|copy| copy.to != Space::Gmem) {
            return Ok(());
        }
        let boxes = self.plan.boxes(&operand.name, Hop::S2g);
        let boxes = boxes.ok_or_else(|| format!("{} is not stored by boxes", operand.name))?;
        let first = args.iter().find_map(|arg| match arg {
            Arg::Int(x) => Some(x),
            Arg::Ints(coords) => coords.first(),
            _ => None,
        });
        let first = known.int(first.ok_or("a box has no coordinates")?);
        let extent = &operand.axis(boxes.contiguous).mode;
        let limit = known.param(extent);
        let limit = limit.ok_or_else(|| format!("there is no parameter {extent}"))?;
        let width = i128::from(boxes.box_extents[boxes.contiguous]);
        let unit = (BOX_GRANULE / i128::from(operand.dtype.bytes())).max(1);
        let ends = known.remainder(&limit, &Poly::constant(unit)).scaled(-1);
        let inside = limit.plus(-1, &first).plus_constant(-width);
        match known.on_every_choice(&mut |known| {
            known.proves(&ends, ORDINARY) || known.proves(&inside, ORDINARY)
        }) {
            true => Ok(()),
            false => Err(format!(
                "{extent} need be no multiple of {BOX_GRANULE} bytes, and the box may end behind it"
            )),
        }
    }
}

impl Known<'_> {
    /// Whether it is shown whichever side of each choice on the path holds.
    fn on_every_choice(&mut self, shown: &mut dyn FnMut(&mut Self) -> bool) -> bool {
        let Some(choice) = self.choices.pop() else {
            return shown(self);
        };
        let held = choice.iter().all(|cond: &std::rc::Rc<Cond>| {
            let scope = self.enter();
            self.assume(cond);
            let held = self.on_every_choice(shown);
            self.leave(scope);
            held
        });
        self.choices.push(choice);
        held
    }
}

pub(super) fn natural(known: &mut Known<'_>, goal: &Poly, what: &str) -> Result<(), String> {
    shown(known, ORDINARY, goal, what)
}

fn shown(known: &mut Known<'_>, effort: Effort, goal: &Poly, what: &str) -> Result<(), String> {
    match known.proves(goal, effort) {
        true => Ok(()),
        false => Err(format!("{what} may be negative: {}", known.text(goal))),
    }
}

/// Most terms of an offset that are moved from one constant stride to the other at once.
const MOVED: usize = 3;

/// Coordinates of the element at that offset in bytes, the likeliest first: terms that both of the
/// two shortest constant strides divide may belong to either. Of elements that share bytes, named
/// strides are halved before they are multiplied.
fn coordinates(
    known: &mut Known<'_>,
    operand: &Operand,
    offset: &Poly,
    size: i128,
) -> Result<Vec<Vec<Poly>>, String> {
    let strides: Vec<&Stride> = operand.all_axes().map(|axis| &axis.stride).collect();
    let mut coords = vec![Poly::default(); strides.len()];
    let mut rest = offset.clone();
    let per_byte = i128::from(operand.dtype.per_byte());
    let torn = || format!("the address is no element of {}", operand.name);
    let mut constant = Vec::new();
    for (mode, stride) in strides.iter().enumerate() {
        if matches!(stride, Stride::Named(_)) && strides[..mode].contains(stride) {
            return Err(format!("two strides of {} are one", operand.name));
        }
        let name = match stride {
            Stride::Const(stride) => {
                constant.push((i128::from(*stride) * size, mode));
                continue;
            }
            Stride::Named(name) => name,
        };
        let stride = known.param(name);
        let stride = stride.ok_or_else(|| format!("there is no parameter {name}"))?;
        let stride = known.quotient(&stride, &Poly::constant(per_byte));
        let stride = stride.as_term().ok_or_else(torn)?;
        let mut steps = Poly::default();
        for (mono, bytes) in offset.0.iter() {
            if let Some(part) = mono.over(&Mono::of(stride)) {
                steps.add_term(part, *bytes);
                rest.add_term(*mono, -bytes);
            }
        }
        coords[mode] = steps.divided(size).ok_or_else(torn)?;
    }
    rest = rest.scaled(per_byte);
    // The longest stride first: what it does not divide belongs to the shorter ones.
    constant.sort_unstable_by(|a, b| b.cmp(a));
    constant.retain(|(bytes, _)| *bytes > 0);
    let either: Vec<Mono> = match constant.as_slice() {
        [.., (long, _), (short, _)] => (rest.0.iter())
            .filter(|(_, held)| held.div_euclid(*long) != 0 && *held % short == 0)
            .map(|(mono, _)| *mono)
            .collect(),
        _ => Vec::new(),
    };
    let split = |moved: &[Mono]| {
        let (mut coords, mut rest) = (coords.clone(), rest.clone());
        for (number, (bytes, mode)) in constant.iter().enumerate() {
            let is_last = number + 1 == constant.len();
            let stays = |mono: &Mono| is_last || !moved.contains(mono);
            let parts = rest.0.iter().filter(|(mono, _)| stays(mono));
            let parts = parts.map(|(mono, held)| (*mono, held.div_euclid(*bytes)));
            let parts: Vec<_> = parts.filter(|(_, steps)| *steps != 0).collect();
            for (mono, steps) in parts {
                coords[*mode].add_term(mono, steps);
                rest.add_term(mono, -steps * bytes);
            }
        }
        (rest == Poly::default()).then_some(coords)
    };
    let ways = subsets(&either, MOVED);
    let found: Vec<_> = ways.iter().filter_map(|moved| split(moved)).collect();
    match found.is_empty() {
        true => Err(torn()),
        false => Ok(found),
    }
}

impl Known<'_> {
    /// A polynomial for messages.
    pub(super) fn text(&self, poly: &Poly) -> String {
        let of_mono = |(mono, coefficient): (&Mono, &i128)| {
            let names = mono.terms().iter().map(|term| self.term_text(*term));
            let parts: Vec<String> = std::iter::once(coefficient.to_string())
                .filter(|text| text != "1" || mono.terms().is_empty())
                .chain(names)
                .collect();
            parts.join("*")
        };
        match poly.0.is_empty() {
            true => "0".to_string(),
            false => poly.0.iter().map(of_mono).collect::<Vec<_>>().join(" + "),
        }
    }

    fn term_text(&self, term: u32) -> String {
        match &self.terms[term as usize].term {
            Term::Param(index) => {
                let param = self.program.params.get(*index as usize);
                param.map_or("?".into(), |param| param.name.clone())
            }
            Term::Special(special) => format!("{special:?}").to_lowercase(),
            Term::Unknown(number) => format!("?{number}"),
            Term::Quotient(x, y) => format!("[({}) / ({})]", self.text(x), self.text(y)),
            Term::Remainder(x, y) => format!("[({}) % ({})]", self.text(x), self.text(y)),
            Term::Ceiling(x, y) => format!("[({}) / ({}), up]", self.text(x), self.text(y)),
            Term::Min(a, b) => format!("min({}, {})", self.text(a), self.text(b)),
            Term::Max(a, b) => format!("max({}, {})", self.text(a), self.text(b)),
            Term::Select(_, a, b) => format!("(? {} : {})", self.text(a), self.text(b)),
            Term::Bits(op, a, b) => format!("{op:?}({}, {})", self.text(a), self.text(b)),
        }
    }
}
