//! The device with its weights: products of many requests at once. What it takes for them is
//! counted in a room of its own before it is taken.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use tilewright_runtime::bundle::Kernel;
use tilewright_runtime::emulator::{self, Sanitize};
use tilewright_runtime::{
    Arg, Buffer, Device, EmulatorSettings, Error, Options, Problem as Sizes, Query, Runtime,
};

use tracing::info;

use crate::matrix::{Shape, Types};
use crate::needs::Needs;
use crate::problem::{For, Problem};
use crate::room::{Part, Room};
use crate::scratch::{self, Operand, Scratch};

/// What an engine is made of.
#[derive(Debug, Clone)]
pub struct Config {
    /// The bundle: a folder or a zip file.
    pub bundle: PathBuf,
    /// Words, specs or hashes of products in it.
    pub functions: Vec<String>,
    /// The GPU; none is the emulator.
    pub gpu: Option<usize>,
    /// How kernels are loaded.
    pub options: Options,
    /// Bytes that weights and products take together at most.
    pub memory_bytes: usize,
}

/// Why the engine does not do what it is asked.
#[derive(Debug)]
pub enum Failure {
    /// There is no memory for it.
    NoMemory(Problem),
    /// Something else failed.
    Failed(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error.is_memory() {
            true => Failure::NoMemory(error.into()),
            false => Failure::Failed(error),
        }
    }
}

/// A function as requests name it.
#[derive(Debug, Clone)]
pub struct Offered {
    /// Its first kernel's spec.
    pub name: String,
    /// The specs of all its kernels.
    pub names: Vec<String>,
    /// The types of the product.
    pub types: Types,
}

impl Offered {
    /// Whether it has a name.
    pub fn is(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name)
    }
}

/// A weight on the device.
#[derive(Debug)]
struct Weight {
    shape: Shape,
    b: Buffer,
    _part: Part,
}

/// A device that multiplies.
#[derive(Debug)]
pub struct Engine {
    runtime: Arc<Runtime>,
    needs: Needs,
    memory: Room,
    scratch: Scratch,
    queries: Vec<Query>,
    functions: Arc<[Offered]>,
    weights: HashMap<(usize, String), Arc<Weight>>,
}

fn open(config: &Config) -> Result<Runtime, Error> {
    let device = match config.gpu {
        Some(ordinal) => Device::cuda(ordinal)?,
        // As a GPU, so that what is tested here is what will be: faults stay, and a product may be
        // as long as the limits let it be. What a GPU does not look for is not looked for: it would
        // take memory for every word that a kernel touches.
        None => Device::emulator_with(EmulatorSettings {
            sticky_faults: true,
            options: emulator::Options {
                sanitize: Sanitize::Off,
                counters: false,
                instructions_per_warp: u64::MAX,
                instructions_total: u64::MAX,
                ..emulator::Options::default()
            },
            ..EmulatorSettings::default()
        }),
    };
    let runtime = Runtime::open(&config.bundle, device)?.with_options(&config.options)?;
    // A bundle for other GPUs ends the service here, and is no fault of its first request.
    runtime.check()?;
    Ok(runtime)
}

/// The types of a kernel, which must be one of plain products.
fn types(kernel: &Kernel) -> Result<Types, Error> {
    let operands = &kernel.semantics.operands;
    let is_plain = |name: &str| {
        let operand = kernel.semantics.operand(name)?;
        let is_matrix = operand.packed.is_none() && operand.layout.rank() == 2;
        is_matrix.then_some(operand.dtype)
    };
    let is_product = kernel.default_of() == Some("gemm");
    match (is_plain("a"), is_plain("b"), is_plain("d")) {
        (Some(a), Some(b), Some(d)) if operands.len() == 3 && is_product => Ok(Types { a, b, d }),
        _ => {
            let all = operands.iter().map(|o| format!("{}: {}", o.name, o.layout));
            let (id, all) = (&kernel.id, all.collect::<Vec<_>>().join(", "));
            let formula = &kernel.semantics.compute;
            let needs = "d[m,n] = sum[k] a[m,k] * b[n,k] of plain matrices";
            Err(Error::Request(format!(
                "{id} computes {formula} ({all}); this service needs {needs}: name another \
                 function"
            )))
        }
    }
}

/// The first kernel of each plain product that words mean: at least one of each word.
fn products<'r>(runtime: &'r Runtime, words: &[String]) -> Result<Vec<&'r Kernel>, Error> {
    let mut found: Vec<&Kernel> = Vec::new();
    for word in words {
        let meant = runtime.meant(word)?;
        let (plain, others): (Vec<&Kernel>, Vec<&Kernel>) =
            meant.into_iter().partition(|kernel| types(kernel).is_ok());
        if let ([], [first, ..]) = (plain.as_slice(), others.as_slice()) {
            types(first)?;
        }
        for kernel in others {
            info!(
                kernel = kernel.id,
                "is not offered: {}", kernel.semantics.compute
            );
        }
        let is_new = |kernel: &&Kernel| {
            let same = |other: &&Kernel| other.semantics.function == kernel.semantics.function;
            !found.iter().any(same)
        };
        let plain: Vec<&Kernel> = plain.into_iter().filter(is_new).collect();
        found.extend(plain);
    }
    Ok(found)
}

/// The kernel that computes a product, with its code loaded.
fn kernel<'r>(
    runtime: &'r Runtime,
    query: &Query,
    sizes: &Sizes,
    args: &[Arg<'_>],
) -> Result<&'r Kernel, Error> {
    let mut kernel = runtime.select(query, sizes, args)?.kernel;
    loop {
        let Err(error) = runtime.load(kernel) else {
            return Ok(kernel);
        };
        // What is refused is known from now on, and not selected again.
        let next = runtime.select(query, sizes, args)?.kernel;
        if next.id == kernel.id {
            return Err(error);
        }
        kernel = next;
    }
}

impl Engine {
    /// Opens the bundle on its device.
    ///
    /// # Errors
    /// When either cannot be opened, or a word means no product that the service offers.
    pub fn open(config: Config) -> Result<Engine, Error> {
        let runtime = Arc::new(open(&config)?);
        let (mut queries, mut functions) = (Vec::new(), Vec::<Offered>::new());
        for kernel in products(&runtime, &config.functions)? {
            let of_function = |k: &&Kernel| k.semantics.function == kernel.semantics.function;
            let alike = runtime.kernels().iter().filter(of_function);
            let mut names: Vec<String> = alike.map(|kernel| kernel.spec.clone()).collect();
            names.dedup();
            queries.push(Query::like(kernel));
            functions.push(Offered {
                name: kernel.spec.clone(),
                names,
                types: types(kernel)?,
            });
        }
        Ok(Engine {
            queries,
            functions: functions.into(),
            weights: HashMap::new(),
            needs: Needs {
                is_emulated: config.gpu.is_none(),
            },
            memory: Room::new(config.memory_bytes),
            scratch: Scratch::default(),
            runtime,
        })
    }

    /// The functions, in their order.
    pub fn functions(&self) -> Arc<[Offered]> {
        self.functions.clone()
    }

    /// The types of a function.
    pub fn types(&self, function: usize) -> Types {
        self.functions[function].types
    }

    /// The runtime, for whoever reads its counters.
    pub fn runtime(&self) -> Arc<Runtime> {
        self.runtime.clone()
    }

    /// Whether a kernel has taken the device with it.
    pub fn is_lost(&self) -> bool {
        self.runtime.device().is_lost()
    }

    /// How many weights it has.
    pub fn weights(&self) -> usize {
        self.weights.len()
    }

    /// The shape of a weight.
    pub fn shape(&self, (function, name): (usize, &str)) -> Option<Shape> {
        let weight = self.weights.get(&(function, name.to_owned()));
        weight.map(|weight| weight.shape)
    }

    /// The memory that weights and products are counted in.
    pub fn memory(&self) -> Room {
        self.memory.clone()
    }

    /// What a weight and the products with it take.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// Keeps a weight, in place of an earlier one of that name, which is there until then. One that
    /// leaves no memory for a row to be multiplied with it, or with another one, is not kept.
    ///
    /// # Errors
    /// When there is no memory for it, or the device failed.
    pub fn put(
        &mut self,
        (function, name): (usize, &str),
        shape: Shape,
        content: &[u8],
    ) -> Result<(), Failure> {
        let key = (function, name.to_owned());
        let device = self.runtime.device();
        if let Some(weight) = self.weights.get(&key).filter(|has| has.shape == shape) {
            return Ok(device.upload(&weight.b, 0, content)?);
        }
        let row = |(function, shape)| self.needs.product(self.types(function), shape, 1);
        let kept = self.weights.iter().filter(|(has, _)| **has != key);
        let kept = kept.map(|((function, _), weight)| row((*function, weight.shape)));
        let row = kept.fold(row((function, shape)), usize::max);
        let mut part = self.memory.part();
        let has_room = part.grow(content.len()) && self.memory.part().grow(row);
        if !has_room {
            drop(part);
            return Err(self.no_memory(For::Weight, content.len().saturating_add(row)));
        }
        let b = device.alloc_with(content)?;
        let weight = Weight {
            shape,
            b,
            _part: part,
        };
        self.weights.insert(key, Arc::new(weight));
        Ok(())
    }

    /// The products of rows that lie one behind the other with a weight: `rows` times its rows. The
    /// memory for it is taken for as long, and as much of it as the rows need.
    ///
    /// # Errors
    /// When there is no memory for it, no kernel takes the sizes, or the device failed.
    pub fn multiply(
        &mut self,
        (function, name): (usize, &str),
        rows: usize,
        contents: &[&[u8]],
    ) -> Result<Vec<u8>, Failure> {
        let missing = || Error::Request(format!("there is no weight {name:?}"));
        let weight = self.weights.get(&(function, name.to_owned()));
        let weight = weight.ok_or_else(missing)?.clone();
        let (types, shape) = (self.types(function), weight.shape);
        let needs = self.needs.product(types, shape, rows);
        let mut part = self.memory.part();
        if !part.grow(needs) {
            return Err(self.no_memory(For::Product, needs));
        }
        let of = |rows, columns| Shape { rows, columns };
        let (a_shape, d_shape) = (of(rows, shape.columns), of(rows, shape.rows));
        let device = self.runtime.device();
        let a = match contents {
            [one] => device.alloc_with(one)?,
            all => device.alloc_with(&all.concat())?,
        };
        let d_bytes = d_shape.bytes(types.d);
        let d = device.alloc(d_bytes.map_or(u64::MAX, |bytes| bytes as u64))?;
        let operands = [
            Operand::new("a", &a, types.a, a_shape),
            Operand::new("b", &weight.b, types.b, shape),
            Operand::new("d", &d, types.d, d_shape),
        ];
        self.launch(function, &operands, (&mut part, needs))?;
        // No byte of it is another's: the memory is as large as the rows' product.
        Ok(self.runtime.device().download(&d)?)
    }

    /// Launches a product of operands that are there, for which `needs` bytes have been taken; more
    /// is taken where the kernel needs scratch memory.
    fn launch(
        &mut self,
        function: usize,
        operands: &[Operand<'_>; 3],
        (part, needs): (&mut Part, usize),
    ) -> Result<(), Failure> {
        let [a, b, _] = operands.map(|operand| operand.shape);
        let (m, n, k) = (a.rows as i64, b.rows as i64, b.columns as i64);
        let sizes = Sizes::new(m, n, k)
            .row_major("a", k)
            .row_major("b", k)
            .row_major("d", n);
        let args = operands.map(|operand| operand.arg());
        let kernel = kernel(&self.runtime, &self.queries[function], &sizes, &args)?;
        let scratch = scratch::bytes(&self.runtime, kernel, &sizes, operands)?;
        let scratch = self.needs.scratch(scratch);
        let needs = needs.saturating_add(scratch);
        let has_room = match self.needs.is_emulated {
            true => part.grow(needs),
            false => self.scratch.grow(&kernel.id, scratch, &self.memory),
        };
        if !has_room {
            *part = self.memory.part();
            return Err(self.no_memory(For::Product, needs));
        }
        self.runtime.launch(kernel, &sizes, &args)?;
        Ok(())
    }

    fn no_memory(&self, what: For, needs: usize) -> Failure {
        Failure::NoMemory(Problem::NoMemory {
            what,
            needs,
            held: self.memory.held_bytes(),
            most: self.memory.most_bytes(),
        })
    }
}
