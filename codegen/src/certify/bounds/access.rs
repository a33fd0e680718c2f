//! Accesses to global memory: that they are of the elements that they say, and the limits which
//! the coordinates of those must keep.
//!
//! An access carries the coordinates of its element. They are shown to give its address: the bytes
//! behind the operand's pointer are the sum of coordinates times strides. Then each of them is
//! shown to be inside by itself, on the path to the access.

use super::launch::{access_bytes, in_scratch};
use super::poly::{Mono, Poly};
use super::prove::{ORDINARY, PATIENT};
use super::terms::{Cond, Known, Term};
use crate::atoms::model::{Atom, Space};
use crate::ir::thread::program::{Address, Arg, Base, ParamId};
use crate::plan::data::model::Plan;
use crate::plan::data::moves::Hop;
use crate::spec::WORKSPACE;
use crate::spec::keys::model::{Operand, Stride};

/// Bytes at whose multiples the hardware cuts boxes of stores (measured on an H200).
const BOX_GRANULE: i128 = 16;

/// How an access is kept inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// By tests on its path.
    Tests,
    /// By its count of valid bytes.
    Size,
    /// By a tensor map, whose boxes the hardware cuts.
    Map,
    /// In scratch memory, by the size of that.
    Scratch,
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
    ) -> Result<Vec<Proof>, String> {
        let mut ways = Vec::new();
        for arg in args {
            match arg {
                Arg::Address(address) if address.space == Space::Gmem => {
                    ways.push(self.address(known, atom, args, address)?);
                }
                Arg::TensorMap(map) if atom.copy.is_some() => {
                    self.boxes(known, atom, args, *map)?;
                    ways.push(Proof::Map);
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
    ) -> Result<Proof, String> {
        let Base::Param(param) = address.base else {
            return Err("a global address has no pointer".into());
        };
        let param = known.program.params.get(param.0 as usize);
        let name = param.map_or("", |param| &param.name);
        let offset = known.int(&address.offset);
        let offset = offset.plus_constant(i128::from(address.imm));
        if name == WORKSPACE {
            let all = self.scratch.clone().ok_or("there is no scratch memory")?;
            for (distance, bytes) in in_scratch(atom, args) {
                let first = offset.plus_constant(distance);
                let left = all.plus(-1, &first).plus_constant(-bytes);
                let first_byte = "its first byte in scratch memory";
                natural(known, &first, first_byte)?;
                // Most lies in front of regions whose size is a product, which is no help then.
                let near = known.without_products(&left);
                if !known.proves(&near, ORDINARY) {
                    let behind = "what scratch memory has behind it";
                    natural(known, &left, behind)?;
                }
            }
            return Ok(Proof::Scratch);
        }
        let operand = param.and_then(|param| param.operand);
        let operand = operand.ok_or_else(|| format!("there is no operand {name}"))?;
        let operand = self.plan.operand(operand);
        if let Some(copy) = self.plan.bulk(operand.id) {
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
            let all = Poly::constant(most);
            let one = (operand, address);
            return (self.element(known, one, &offset, (&all, most))).map(|()| Proof::Tests);
        };
        let over = valid.scaled(-1).plus_constant(most);
        natural(known, &valid, "its count of valid bytes")?;
        let rest = "what a whole access has more than its valid bytes";
        natural(known, &over, rest)?;
        // A copy of no bytes touches nothing.
        let scope = known.enter();
        known.pass(&Cond::Natural(valid.plus_constant(-1)));
        let valid = known.settled(&valid);
        let inside = self.element(known, (operand, address), &offset, (&valid, most));
        known.leave(scope);
        inside.map(|()| Proof::Size)
    }

    /// Shows that so many bytes at that place, of at most so many, are elements of the operand: the
    /// coordinates which the access carries give the place, and are inside.
    fn element(
        &self,
        known: &mut Known<'_>,
        (operand, address): (&Operand, &Address),
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
        let axes = operand.all_axes().count();
        if address.coords.len() != axes {
            return Err(format!(
                "the access carries {} coordinates, and {} has {axes} axes",
                address.coords.len(),
                operand.name
            ));
        }
        let coords = address.coords.iter().map(|coord| known.int(coord));
        let coords: Vec<Poly> = coords.collect();
        let said = place_of(known, operand, &coords)?;
        let apart = offset.plus(-1, &said);
        let mut is_none = |apart: &Poly| known.proves(apart, ORDINARY);
        if apart != Poly::default() && !(is_none(&apart) && is_none(&apart.scaled(-1))) {
            return Err(format!(
                "the address is {} bytes from the element of {} whose coordinates it carries",
                known.text(&apart),
                operand.name
            ));
        }
        self.inside(known, operand, &coords, (bytes, along))
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
        for (mode, (coord, axis)) in coords.iter().zip(operand.all_axes()).enumerate() {
            let extent = &axis.mode;
            let limit = match self.plan.is_of_planes(axis) {
                true => Some(Poly::constant(i128::from(self.plan.planes()))),
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
        let param = known.program.params.get(map.0 as usize);
        let operand = param.and_then(|param| param.operand);
        let operand = self.plan.operand(operand.ok_or("a map of no operand")?);
        if atom.copy.as_ref().is_none_or(|copy| copy.to != Space::Gmem) {
            return Ok(());
        }
        let boxes = self.plan.boxes(operand.id, Hop::S2g);
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

/// Shows that something is not negative; what does not show at once is looked at for longer.
pub(super) fn natural(known: &mut Known<'_>, goal: &Poly, what: &str) -> Result<(), String> {
    match [ORDINARY, PATIENT]
        .into_iter()
        .any(|effort| known.proves(goal, effort))
    {
        true => Ok(()),
        false => Err(format!("{what} may be negative: {}", known.text(goal))),
    }
}

/// Bytes from the operand's pointer to the element at those coordinates. Of elements that share
/// bytes, what rows are apart is halved before it is multiplied, and so are places in a row.
fn place_of(known: &mut Known<'_>, operand: &Operand, coords: &[Poly]) -> Result<Poly, String> {
    let size = i128::from(operand.dtype.bytes());
    let per_byte = Poly::constant(i128::from(operand.dtype.per_byte()));
    let mut place = Poly::default();
    for (coord, axis) in coords.iter().zip(operand.all_axes()) {
        let stride = match &axis.stride {
            Stride::Const(1) => {
                let steps = known.quotient(coord, &per_byte);
                place = place.plus(size, &steps);
                continue;
            }
            Stride::Const(stride) => Poly::constant(i128::from(*stride)),
            Stride::Named(name) | Stride::Product { name, .. } => {
                let stride = known.param(name);
                stride.ok_or_else(|| format!("there is no parameter {name}"))?
            }
        };
        let stride = known.quotient(&stride, &per_byte);
        let steps = coord.times(&stride);
        let steps = steps.ok_or_else(|| format!("{} has too many strides", operand.name))?;
        place = place.plus(size, &steps);
    }
    Ok(place)
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
