//! What the kernel of one file is made of: its operands with their roles and modes, and the modes
//! that its tiles cut. Of a default formula that is the family's; else it follows from `compute`.

use super::families::{Family, FamilyFacts, Role, TypeRule};

/// What one kernel is made of.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// Value of the key `kernel`, folder of its specs and first part of their names.
    pub kernel: String,
    /// The form that computes it.
    pub family: Family,
    /// Operands in parameter order.
    pub operands: Vec<OperandShape>,
    /// Modes that `cta_tile` cuts: those of the output, then those that are summed.
    pub tile: Vec<String>,
    /// How it is written where it is written.
    pub computed: Option<Computed>,
}

/// One operand of a kernel.
#[derive(Clone, Debug)]
pub(super) struct OperandShape {
    /// Its name.
    pub name: String,
    /// What it is to the kernel.
    pub role: Role,
    /// Its modes in the order of its layout.
    pub modes: Vec<String>,
    /// Whether the kernel has its two modes the other way round.
    pub turned: bool,
}

/// What is known of a formula that is written.
#[derive(Clone, Debug)]
pub(super) struct Computed {
    /// Whether it is one that is generated; else its problem is listed.
    pub generated: bool,
    /// Name of the type that sums are held in, where there is a sum.
    pub accumulator: Option<&'static str>,
}

impl FamilyFacts {
    /// The shape of the default formula.
    pub(super) fn shape(&self) -> Shape {
        let operands = self.operands.iter().map(|operand| OperandShape {
            name: operand.name.to_owned(),
            role: operand.role,
            modes: operand.extents.map(str::to_owned).to_vec(),
            turned: false,
        });
        Shape {
            kernel: self.name.to_owned(),
            family: self.family,
            operands: operands.collect(),
            tile: self.tile.iter().map(|mode| (*mode).to_owned()).collect(),
            computed: None,
        }
    }
}

impl Shape {
    /// The element types that are generated together; none where one type is copied.
    pub fn types(&self) -> &'static [TypeRule] {
        self.family.facts().types
    }

    /// Whether the formula is left out, or is one that is generated.
    pub fn is_generated(&self) -> bool {
        self.computed
            .as_ref()
            .is_none_or(|computed| computed.generated)
    }

    /// The operand of that role.
    fn role(&self, role: Role) -> Option<&OperandShape> {
        self.operands.iter().find(|operand| operand.role == role)
    }

    /// Whether names, modes and order are those of the default formula of this kernel.
    fn is_default(&self) -> bool {
        let facts = self.family.facts();
        let operands = self
            .operands
            .iter()
            .map(|one| (one.name.as_str(), one.role));
        let defaults = facts.operands.iter().map(|one| (one.name, one.role));
        self.kernel == facts.name && self.tile == facts.tile && operands.eq(defaults)
    }

    /// The formula in the one spelling that specs are printed with; none of a default formula.
    pub fn compute(&self) -> Option<String> {
        if self.computed.is_none() || self.is_default() {
            return None;
        }
        let name = |role| self.role(role).map(|operand| operand.name.as_str());
        let output = name(Role::Output)?;
        Some(match (self.tile.as_slice(), self.family) {
            ([m, n], Family::Copy) => {
                format!("{output}[{m},{n}] = {}[{m},{n}]", name(Role::Source)?)
            }
            ([m, n, k], Family::Gemm) => {
                let (a, b) = (name(Role::A)?, name(Role::B)?);
                format!("{output}[{m},{n}] = sum[{k}] {a}[{m},{k}] * {b}[{n},{k}]")
            }
            _ => return None,
        })
    }
}

impl OperandShape {
    /// Whether the kernel writes it.
    pub fn is_written(&self) -> bool {
        self.role == Role::Output
    }

    /// A layout as one may be written: `(m,k):(lda,1)`.
    pub fn example(&self) -> String {
        let strides: Vec<String> = match self.modes.len() {
            0 => vec![],
            1 => vec!["1".into()],
            2 => vec![format!("ld{}", self.name), "1".into()],
            rank => (1..rank)
                .map(|mode| format!("s{mode}{}", self.name))
                .chain(["1".to_owned()])
                .collect(),
        };
        format!("({}):({})", self.modes.join(","), strides.join(","))
    }
}
