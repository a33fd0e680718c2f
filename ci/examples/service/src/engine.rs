//! The device with its weights: products of many requests at once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use tilewright_runtime::bundle::{DType, Kernel};
use tilewright_runtime::{
    Arg, Buffer, Device, EmulatorSettings, Error, Options, Problem, Query, Runtime,
};

use tracing::info;

use crate::matrix::Shape;

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
    /// Rows that go through the device together at most.
    pub most_rows: usize,
}

/// The types of the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Types {
    /// Of the rows that are posted.
    pub a: DType,
    /// Of the weights.
    pub b: DType,
    /// Of the results.
    pub d: DType,
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

/// A weight on the device, with room for a batch.
#[derive(Debug)]
struct Weight {
    shape: Shape,
    b: Buffer,
    a: Buffer,
    d: Buffer,
}

/// A device that multiplies.
#[derive(Debug)]
pub struct Engine {
    config: Config,
    runtime: Arc<Runtime>,
    queries: Vec<Query>,
    functions: Arc<[Offered]>,
    weights: HashMap<(usize, String), Weight>,
}

fn open(config: &Config) -> Result<Runtime, Error> {
    let device = match config.gpu {
        Some(ordinal) => Device::cuda(ordinal)?,
        None => Device::emulator_with(EmulatorSettings {
            // As a GPU, so that what is tested here is what will be.
            sticky_faults: true,
            ..EmulatorSettings::default()
        }),
    };
    Runtime::open(&config.bundle, device)?.with_options(&config.options)
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
            runtime,
            config,
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

    /// Keeps a weight, in place of an earlier one of that name.
    ///
    /// # Errors
    /// When the device has no room, or failed.
    pub fn put(
        &mut self,
        (function, name): (usize, &str),
        shape: Shape,
        content: &[u8],
    ) -> Result<(), Error> {
        let types = self.types(function);
        let (device, most_rows) = (self.runtime.device(), self.config.most_rows as u64);
        let bytes =
            |columns: usize, dtype: DType| most_rows * columns as u64 * u64::from(dtype.bytes());
        let weight = Weight {
            shape,
            b: device.alloc_with(content)?,
            a: device.alloc(bytes(shape.columns, types.a))?,
            d: device.alloc(bytes(shape.rows, types.d))?,
        };
        self.weights.insert((function, name.to_owned()), weight);
        Ok(())
    }

    /// The products of rows that lie one behind the other with a weight: `rows` times its rows.
    ///
    /// # Errors
    /// When no kernel takes the sizes, or the device failed.
    pub fn multiply(
        &self,
        (function, name): (usize, &str),
        rows: usize,
        a: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let missing = || Error::Request(format!("there is no weight {name:?}"));
        let weight = self.weights.get(&(function, name.to_owned()));
        let weight = weight.ok_or_else(missing)?;
        let (n, k) = (weight.shape.rows as i64, weight.shape.columns as i64);
        let problem = Problem::new(rows as i64, n, k)
            .row_major("a", k)
            .row_major("b", k)
            .row_major("d", n);
        let (device, on) = (self.runtime.device(), weight);
        device.upload(&on.a, 0, a)?;
        let args = [
            Arg::new("a", &on.a),
            Arg::new("b", &on.b),
            Arg::new("d", &on.d),
        ];
        let query = &self.queries[function];
        self.runtime.launch_best(query, &problem, &args)?;
        let mut d = device.download(&on.d)?;
        d.truncate(rows * weight.shape.rows * self.types(function).d.bytes() as usize);
        Ok(d)
    }
}
