//! The graph as straight-line code over registers.

use std::collections::HashMap;
use std::sync::Arc;

use super::graph::{Graph, Held, Node, NodeId, dtype_of};
use super::{Call, Code, Packing, Slot};
use crate::atoms::arithmetic::NumberType;
use crate::atoms::model::{Atom, OperandKind, RegType};
use crate::dtype::DType;

type Result<T> = std::result::Result<T, String>;

/// How registers of so many bits hold elements: so many in so many registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Form {
    bits: u32,
    elements: u32,
    registers: u32,
}

impl Form {
    fn of(packing: Packing) -> Form {
        Form {
            bits: packing.ty.bits(),
            elements: packing.elements(),
            registers: packing.registers(),
        }
    }

    fn number(ty: NumberType) -> Form {
        Form {
            bits: register(ty).bits(),
            elements: 1,
            registers: 1,
        }
    }
}

/// The registers of a node.
#[derive(Clone, Debug)]
struct Value {
    form: Form,
    slots: Vec<Slot>,
}

struct Emitter<'g, 'c> {
    graph: &'g Graph<'c>,
    lanes: u32,
    /// The result, and how it is held.
    root: (NodeId, Form),
    /// Of each node, whether it is the same in all lanes.
    uniform: Vec<bool>,
    values: HashMap<NodeId, Value>,
    calls: Vec<Call>,
}

/// The code that computes a node for so many lanes.
pub(super) fn code(graph: &Graph<'_>, root: NodeId, output: Packing, lanes: u32) -> Result<Code> {
    let mut emitter = Emitter {
        graph,
        lanes,
        root: (root, Form::of(output)),
        uniform: uniform(graph, root),
        values: HashMap::new(),
        calls: Vec::new(),
    };
    let value = emitter.value(root)?;
    let value = emitter.reformed(value, output.dtype, Form::of(output))?;
    let registers = (lanes / output.elements() * output.registers()) as usize;
    let results = value.slots.iter().cycle().take(registers).copied();
    Ok(Code {
        lanes,
        results: results.collect(),
        calls: emitter.calls,
    })
}

/// Of each node up to the root, whether it depends on nothing that lanes have of their own.
fn uniform(graph: &Graph<'_>, root: NodeId) -> Vec<bool> {
    let mut uniform: Vec<bool> = Vec::with_capacity(root + 1);
    for id in 0..=root {
        uniform.push(match graph.node(id) {
            Node::Input(_) | Node::Coordinate(_) => false,
            Node::Constant(_) | Node::Scalar(_) | Node::Size(_) => true,
            Node::Convert(_, _, of) => uniform[*of],
            Node::Apply(_, _, of) => of.iter().all(|&one| uniform[one]),
        });
    }
    uniform
}

/// The register of a number.
fn register(ty: NumberType) -> RegType {
    match ty {
        NumberType::S32 => RegType::B32,
        NumberType::F32 => RegType::F32,
        NumberType::F64 => RegType::F64,
        NumberType::Bool => RegType::Pred,
    }
}

/// A constant's bits, in the register of its type.
pub(super) fn bits(value: f64, ty: NumberType) -> u64 {
    match ty {
        NumberType::S32 => u64::from((value as i32).cast_unsigned()),
        NumberType::F32 => u64::from((value as f32).to_bits()),
        NumberType::F64 => value.to_bits(),
        NumberType::Bool => u64::from(value != 0.0),
    }
}

impl Emitter<'_, '_> {
    fn value(&mut self, id: NodeId) -> Result<Value> {
        if let Some(value) = self.values.get(&id) {
            return Ok(value.clone());
        }
        let value = self.made(id)?;
        self.values.insert(id, value.clone());
        Ok(value)
    }

    fn made(&mut self, id: NodeId) -> Result<Value> {
        let graph = self.graph;
        let held = graph.held(id);
        let form = |held| match held {
            Held::Number(ty) => Form::number(ty),
            Held::Stored(dtype) => Form {
                bits: dtype.bits(),
                elements: 1,
                registers: 1,
            },
        };
        let one = |slot| Value {
            form: form(held),
            slots: vec![slot],
        };
        Ok(match graph.node(id) {
            Node::Constant(value) => {
                let Held::Number(ty) = held else {
                    return Err("a constant is no number".to_owned());
                };
                one(Slot::Bits(bits(f64::from_bits(*value), ty), register(ty)))
            }
            Node::Scalar(at) => one(Slot::Scalar(*at)),
            Node::Size(mode) => one(Slot::Size(*mode)),
            Node::Coordinate(mode) => Value {
                form: form(held),
                slots: (0..self.lanes)
                    .map(|lane| Slot::Coordinate(*mode, lane))
                    .collect(),
            },
            Node::Input(at) => self.input(*at, held)?,
            Node::Convert(from, to, of) => {
                let source = self.value(*of)?;
                let stored = matches!(held, Held::Stored(_)) && self.root.0 == id;
                let wanted = stored.then_some(self.root.1);
                let lanes = if self.uniform[id] && wanted.is_none() {
                    1
                } else {
                    self.lanes
                };
                self.converted(*from, *to, &source, wanted, lanes)?
            }
            Node::Apply(does, ty, of) => {
                let atom = graph.arithmetic(*does, *ty);
                let atom = atom.ok_or_else(|| format!("no atom does {does} of {}", ty.name()))?;
                let mut sources = Vec::new();
                for &one in of {
                    sources.push(self.value(one)?.slots);
                }
                let lanes = if self.uniform[id] { 1 } else { self.lanes };
                let lane = |lane: u32| -> Vec<Slot> {
                    let at = |slots: &Vec<Slot>| slots[lane as usize % slots.len()];
                    sources.iter().map(at).collect()
                };
                let slots = (0..lanes).flat_map(|at| self.call(atom, &lane(at)));
                Value {
                    form: form(held),
                    slots: slots.collect(),
                }
            }
        })
    }

    /// An input's registers; numbers stand in a register each.
    fn input(&mut self, at: usize, held: Held) -> Result<Value> {
        let packing = self.graph.packing(at);
        let packing = packing.ok_or_else(|| format!("there is no input {at}"))?;
        let registers = self.lanes / packing.elements() * packing.registers();
        let value = Value {
            form: Form::of(packing),
            slots: (0..registers)
                .map(|register| Slot::Input(at, register))
                .collect(),
        };
        match held {
            Held::Number(ty) => self.reformed(value, dtype_of(ty), Form::number(ty)),
            Held::Stored(_) => Ok(value),
        }
    }

    /// The same elements, held otherwise.
    fn reformed(&mut self, value: Value, dtype: DType, form: Form) -> Result<Value> {
        if value.form == form {
            return Ok(value);
        }
        let lanes = self.lanes;
        self.converted(dtype, dtype, &value, Some(form), lanes)
    }

    /// Elements of another type: as many at a time as an atom converts, held as is wanted.
    fn converted(
        &mut self,
        from: DType,
        to: DType,
        source: &Value,
        wanted: Option<Form>,
        lanes: u32,
    ) -> Result<Value> {
        let fits = |atom: &&&Arc<Atom>| {
            let values = values(atom);
            let holds = |form: Form, (ty, count): (RegType, u32)| {
                ty.bits() == form.bits && values * form.registers == count * form.elements
            };
            let (reads, writes) = (operands(atom, false), operands(atom, true));
            let ([read], [written]) = (&reads[..], &writes[..]) else {
                return false;
            };
            lanes.is_multiple_of(values)
                && holds(source.form, *read)
                && wanted.is_none_or(|form| holds(form, *written))
        };
        let atoms: Vec<_> = self.graph.converts(from, to).collect();
        let most = atoms.iter().filter(fits).map(|atom| values(atom)).max();
        let atom = atoms
            .iter()
            .filter(fits)
            .find(|atom| Some(values(atom)) == most);
        let Some(atom) = atom else {
            let arch = self.graph.arch();
            let held = wanted.map_or(String::new(), |form| {
                let Form { bits, elements, .. } = form;
                format!(", {elements} in registers of {bits} bits,")
            });
            return Err(format!("{to}{held} of {from} is not generated for {arch}"));
        };
        let (read, (ty, count)) = (operands(atom, false)[0].1, operands(atom, true)[0]);
        let mut slots = Vec::new();
        for step in 0..lanes / values(atom) {
            let at = |register: u32| {
                let register = (step * read + register) as usize;
                source.slots[register % source.slots.len()]
            };
            let inputs: Vec<Slot> = (0..read).map(at).collect();
            slots.extend(self.call(atom, &inputs));
        }
        let form = Form {
            bits: ty.bits(),
            elements: (values(atom) / count).max(1),
            registers: (count / values(atom)).max(1),
        };
        Ok(Value { form, slots })
    }

    /// Runs an atom, on its registers in the order of its operands.
    fn call(&mut self, atom: &Arc<Atom>, slots: &[Slot]) -> Vec<Slot> {
        let mut rest = slots;
        let mut inputs = Vec::new();
        for (_, count) in operands(atom, false) {
            let (own, others) = rest.split_at(rest.len().min(count as usize));
            inputs.push(own.to_vec());
            rest = others;
        }
        let outputs = operands(atom, true);
        let outputs = outputs.into_iter();
        let outputs: Vec<RegType> = outputs
            .flat_map(|(ty, count)| std::iter::repeat_n(ty, count as usize))
            .collect();
        let number = self.calls.len();
        let slots = (0..outputs.len()).map(|at| Slot::Call(number, at as u32));
        let slots = slots.collect();
        self.calls.push(Call {
            atom: Arc::clone(atom),
            inputs,
            outputs,
        });
        slots
    }
}

/// Type and number of the registers of each operand that an atom writes, or reads.
pub(super) fn operands(atom: &Atom, written: bool) -> Vec<(RegType, u32)> {
    let operands = atom.operands.iter();
    let registers = operands.filter_map(|operand| match operand.kind {
        OperandKind::RegsOut { ty, count } if written => Some((ty, count)),
        OperandKind::RegsIn { ty, count } if !written => Some((ty, count)),
        _ => None,
    });
    registers.collect()
}

/// Values that one run of a conversion converts.
fn values(atom: &Atom) -> u32 {
    atom.convert.map_or(1, |facts| facts.values)
}
