//! A parsed module: its entries for the host, its decoded code for the executor.

use crate::finding::Space;
use crate::inst::Inst;
pub(crate) use crate::inst::PREDICATE;
use crate::source::SourceLines;

/// Generic address windows of 2^40 bytes each; anything else is global memory.
pub(crate) const WINDOW_SHIFT: u32 = 40;
/// Window of shared memory.
pub(crate) const SHARED_WINDOW: u64 = 0x7f00_f000_0000;
/// Window of a thread's local memory.
pub(crate) const LOCAL_WINDOW: u64 = 0x7e00_e000_0000;
/// Window of the kernel parameters.
pub(crate) const PARAM_WINDOW: u64 = 0x7d00_d000_0000;
/// Window of the constant bank.
pub(crate) const CONST_WINDOW: u64 = 0x7c00_c000_0000;
/// Where functions have their addresses, 16 bytes apart.
pub(crate) const FUNCTION_WINDOW: u64 = 0x7b00_b000_0000;
/// Where a module's `.global` variables lie.
pub(crate) const GLOBAL_VARIABLES: u64 = 0x0001_0000_0000;
/// Where they lie when addresses have 32 bits: behind the buffers, before the windows.
pub(crate) const NARROW_VARIABLES: u64 = crate::memory::NARROW_END;
/// The end of that place.
pub(crate) const NARROW_VARIABLES_END: u64 = FUNCTION_WINDOW & 0xffff_ffff;
/// Where variables lie that were declared `.extern`, so far apart that each may have any size.
pub(crate) const EXTERN_VARIABLES: u64 = 0x0100_0000_0000;
/// The distance between them.
pub(crate) const EXTERN_STRIDE: u64 = 1 << 30;

/// The address that a 32-bit one stands for: a window keeps the low half of its own.
#[inline]
pub(crate) fn widen(address: u64) -> u64 {
    let low = address & 0xffff_ffff;
    let windows = [
        SHARED_WINDOW,
        LOCAL_WINDOW,
        PARAM_WINDOW,
        CONST_WINDOW,
        FUNCTION_WINDOW,
    ];
    let window = windows
        .into_iter()
        .find(|window| low >> 28 == window >> 28 & 0xf);
    window.map_or(low, |window| window | low & 0x0fff_ffff)
}

/// The window a generic address of `space` lies in.
pub(crate) fn window(space: Space) -> u64 {
    match space {
        Space::Global => 0,
        Space::Shared => SHARED_WINDOW,
        Space::Local => LOCAL_WINDOW,
        Space::Param => PARAM_WINDOW,
        Space::Const => CONST_WINDOW,
    }
}

/// One kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name in the PTX text.
    pub name: String,
    /// Its place in the parameter block.
    pub offset_bytes: u32,
    /// Its size.
    pub bytes: u32,
    /// Its alignment.
    pub align: u32,
}

/// A kernel of the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The name to launch it by.
    pub name: String,
    /// The parameters in order.
    pub params: Vec<Param>,
    /// The size of the parameter block.
    pub param_bytes: u32,
    /// `.reqntid`.
    pub reqntid: Option<[u32; 3]>,
    /// `.maxntid`.
    pub maxntid: Option<[u32; 3]>,
    /// `.reqnctapercluster`.
    pub reqnctapercluster: Option<[u32; 3]>,
    /// `.minnctapersm`.
    pub minnctapersm: Option<u32>,
    /// `.maxnreg`.
    pub maxnreg: Option<u32>,
    /// Bytes of the shared variables the kernel and its callees use.
    pub static_shared_bytes: u32,
    /// Line and column of its name.
    pub(crate) place: (u32, u32),
    pub(crate) function: u32,
    /// Offset of each shared variable of the module from the start of the CTA's memory.
    pub(crate) shared_offsets: Vec<u32>,
    /// Where the dynamic part starts.
    pub(crate) dynamic_offset: u32,
    /// Whether CTAs may run in any order or at once.
    pub(crate) independent: bool,
}

/// A formal parameter or result of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Formal {
    /// Bytes of the frame's local memory.
    Local { offset: u32, bytes: u32 },
    /// A register.
    Reg(crate::inst::Reg),
    /// A predicate register.
    Pred(u32),
}

/// The names of consecutive registers: `%r<5>`, or one register or vector register.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RegisterNames {
    pub(crate) name: String,
    /// The first slot, with [`PREDICATE`] for predicates.
    pub(crate) first: u32,
    /// Whether the name is followed by a number.
    pub(crate) family: bool,
    /// Slots of one register: more than 1 for vectors.
    pub(crate) len: u32,
}

/// A function or the body of an entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// First instruction, when the function is defined.
    pub(crate) start: Option<u32>,
    pub(crate) registers: u32,
    pub(crate) predicates: u32,
    /// Names of its registers, in the order of the text.
    pub(crate) names: Vec<RegisterNames>,
    /// Bytes of local and `.param` variables of a frame, a multiple of 16.
    pub(crate) local_bytes: u32,
    pub(crate) results: Vec<Formal>,
    pub(crate) params: Vec<Formal>,
    /// Shared variables it names.
    pub(crate) shared: Vec<u32>,
    /// Functions it names.
    pub(crate) callees: Vec<u32>,
    /// Whether it holds atomics on global memory or strong global accesses.
    pub(crate) communicates: bool,
}

/// A shared variable; the layout depends on the entry.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SharedVariable {
    pub(crate) name: String,
    pub(crate) bytes: u32,
    pub(crate) align: u32,
    /// `.extern .shared x[]`: the dynamic part.
    pub(crate) dynamic: bool,
}

/// A `.global` variable, at a fixed address.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GlobalVariable {
    pub(crate) name: String,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) init: Option<Vec<u8>>,
}

/// A parsed and decoded PTX module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    pub(crate) version: (u32, u32),
    pub(crate) target: String,
    /// `.address_size 32`.
    pub(crate) narrow: bool,
    pub(crate) entries: Vec<Entry>,
    pub(crate) functions: Vec<Function>,
    pub(crate) code: Vec<Inst>,
    /// The registers that instructions name, see [`Inst::operands`].
    pub(crate) operand_slots: Vec<u32>,
    /// Whether registers may be in flight: some instruction is a wgmma.
    pub(crate) uses_wgmma: bool,
    pub(crate) shared: Vec<SharedVariable>,
    pub(crate) globals: Vec<GlobalVariable>,
    /// The constant bank.
    pub(crate) constants: Vec<u8>,
    /// Functions whose addresses stand in initialisers.
    pub(crate) addressed: Vec<u32>,
    pub(crate) sources: SourceLines,
}

impl Function {
    /// The name of a register, by its slot.
    pub(crate) fn register_name(&self, slot: u32) -> String {
        let kind = slot & PREDICATE;
        let before = self
            .names
            .iter()
            .filter(|names| names.first & PREDICATE == kind && names.first <= slot);
        let Some(names) = before.max_by_key(|names| names.first) else {
            return String::new();
        };
        let (index, part) = (slot - names.first, names.len.max(1));
        let mut name = names.name.clone();
        if names.family {
            name.push_str(&(index / part).to_string());
        }
        if part > 1 {
            name.push('.');
            name.push_str(["x", "y", "z", "w"][(index % part % 4) as usize]);
        }
        name
    }
}

impl Module {
    /// The kernel of that name.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// All kernels in the order of the text.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The `.version` of the text.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// The architecture of `.target`.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Whether some instruction is a `wgmma`.
    pub fn has_wgmma(&self) -> bool {
        self.uses_wgmma
    }

    /// Where its lines come from, by `.file` and `.loc`.
    pub fn sources(&self) -> &SourceLines {
        &self.sources
    }

    /// The lines that instructions stand in, each once, ascending.
    pub fn instruction_lines(&self) -> Vec<u32> {
        let mut lines: Vec<u32> = self.code.iter().map(|inst| inst.line).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// Bits of an address: 64, or the 32 of `.address_size 32`, which needs a
    /// [`Memory::narrow`](crate::Memory::narrow).
    pub fn address_bits(&self) -> u32 {
        if self.narrow { 32 } else { 64 }
    }

    /// The function that holds an instruction.
    pub(crate) fn function_at(&self, pc: u32) -> Option<&Function> {
        let before = self
            .functions
            .iter()
            .filter(|f| f.start.is_some_and(|start| start <= pc));
        before.max_by_key(|f| f.start)
    }
}
