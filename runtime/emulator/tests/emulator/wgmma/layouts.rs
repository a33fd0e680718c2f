//! Operands in shared memory, by the canonical layouts of the ISA.

/// What is contiguous in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Major {
    K,
    MN,
}

/// An operand of `rows` by `k` elements at a place of shared memory.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    pub major: Major,
    /// Bytes of a row of the swizzle pattern; 0 for none.
    pub swizzle: u32,
    pub element_bytes: u32,
    /// Offset from the start of shared memory.
    pub start: u32,
    pub leading: u32,
    pub stride: u32,
    /// Distance of the parts of swizzled K-major rows, each an operand of its own.
    pub part: u32,
    /// Where the pattern starts, when not at a multiple of its size.
    pub pattern: u32,
}

/// Where the emulator places shared memory, a multiple of 1024.
const BASE: u32 = 1024;

impl Operand {
    /// An operand with room between its parts; gives the bytes it spans too.
    pub fn new(
        (major, swizzle, element_bytes): (Major, u32, u32),
        start: u32,
        (rows, k): (u32, u32),
    ) -> (Operand, u32) {
        let mut operand = Operand {
            major,
            swizzle,
            element_bytes,
            start,
            leading: 0,
            stride: 0,
            part: 0,
            pattern: 0,
        };
        // Groups of eight rows of 16 bytes, or of a swizzle row.
        let (across, along) = match major {
            Major::K => (rows, k * element_bytes),
            Major::MN => (k, rows * element_bytes),
        };
        let groups = across.div_ceil(8);
        if swizzle == 0 {
            // Chunks of 16 bytes lie apart, so do the groups of eight: both with gaps.
            let chunks = along.div_ceil(16);
            let near = 128 + 16;
            let far = chunks * near + 32;
            (operand.leading, operand.stride) = match major {
                Major::K => (near, far),
                Major::MN => (far, near),
            };
            return (operand, groups * far);
        }
        let group = 8 * swizzle;
        let far = group + 128;
        operand.stride = far;
        let part = groups * far + 1024;
        (operand.leading, operand.part) = match major {
            Major::K => (16, part),
            Major::MN => (part, 0),
        };
        (operand, along.div_ceil(swizzle) * part)
    }

    /// The offset of the byte that holds element (row, k).
    pub fn at(&self, row: u32, k: u32) -> u32 {
        let e = self.element_bytes;
        let t = 16 / e;
        let plain = match (self.major, self.swizzle) {
            // ((8,m),(T,2k)) : ((1T,SBO),(1,LBO))
            (Major::K, 0) => {
                row % 8 * 16 + row / 8 * self.stride + k % t * e + k / t * self.leading
            }
            // ((8,m),(T,2k)) : ((span,SBO),(1,T))
            (Major::K, span) => {
                row % 8 * span + row / 8 * self.stride + k * e % span + k * e / span * self.part
            }
            // ((T,1,m),(8,k)) : ((1,T,SBO),(1T,LBO))
            (Major::MN, 0) => {
                row % t * e + row / t * self.stride + k % 8 * 16 + k / 8 * self.leading
            }
            // ((T,span/16,m),(8,k)) : ((1,T,LBO),(span,SBO))
            (Major::MN, span) => {
                let each = span / e;
                row % each * e + row / each * self.leading + k % 8 * span + k / 8 * self.stride
            }
        };
        let address = BASE + self.start + plain;
        let bits = match self.swizzle {
            32 => 1,
            64 => 3,
            128 => 7,
            _ => 0,
        };
        let line = (address - self.pattern) >> 7;
        (address ^ (line & bits) << 4) - BASE
    }

    /// The descriptor of the part that starts `advance` bytes further.
    pub fn descriptor(&self, advance: u32) -> u64 {
        let field = |bytes: u32| u64::from(bytes >> 4 & 0x3fff);
        let mode = match self.swizzle {
            128 => 1,
            64 => 2,
            32 => 3,
            _ => 0,
        };
        field(BASE + self.start + advance)
            | field(self.leading) << 16
            | field(self.stride) << 32
            | u64::from(self.pattern >> 7 & 7) << 49
            | mode << 62
    }

    /// Bytes from the first k-step of `k` elements to another.
    pub fn advance(&self, step: u32, k: u32) -> u32 {
        match (self.major, self.swizzle) {
            (Major::K, 0) => step * 2 * self.leading,
            (Major::K, span) => 32 * step % span + 32 * step / span * self.part,
            (Major::MN, 0) => step * k / 8 * self.leading,
            (Major::MN, _) => step * k / 8 * self.stride,
        }
    }
}
