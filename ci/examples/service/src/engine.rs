//! The device with its weights: products of many requests at once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use tilewright_runtime::bundle::{DType, Kernel};
use tilewright_runtime::{
    Arg, Buffer, Device, EmulatorSettings, Error, Options, Problem, Query, Runtime,
};

use crate::matrix::Shape;

/// What an engine is made of.
#[derive(Debug, Clone)]
pub struct Config {
    /// The bundle: a folder or a zip file.
    pub bundle: PathBuf,
    /// The word, spec or hash of the product in it.
    pub function: String,
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
    query: Query,
    types: Types,
    weights: HashMap<String, Weight>,
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

impl Engine {
    /// Opens the bundle on its device.
    ///
    /// # Errors
    /// When either cannot be opened, or the function is not the product that the service offers.
    pub fn open(config: Config) -> Result<Engine, Error> {
        let runtime = Arc::new(open(&config)?);
        let meant = runtime.meant(&config.function)?;
        let kernel = match meant.as_slice() {
            [one] => *one,
            many => {
                let word = config.function.clone();
                let functions = many.iter().map(|kernel| kernel.spec.clone()).collect();
                return Err(Error::ManyFunctions { word, functions });
            }
        };
        Ok(Engine {
            query: Query::like(kernel),
            types: types(kernel)?,
            weights: HashMap::new(),
            runtime,
            config,
        })
    }

    /// The types of the product.
    pub fn types(&self) -> Types {
        self.types
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
    pub fn shape(&self, name: &str) -> Option<Shape> {
        self.weights.get(name).map(|weight| weight.shape)
    }

    /// Keeps a weight, in place of an earlier one of that name.
    ///
    /// # Errors
    /// When the device has no room, or failed.
    pub fn put(&mut self, name: &str, shape: Shape, content: &[u8]) -> Result<(), Error> {
        let (device, most_rows) = (self.runtime.device(), self.config.most_rows as u64);
        let bytes =
            |columns: usize, dtype: DType| most_rows * columns as u64 * u64::from(dtype.bytes());
        let weight = Weight {
            shape,
            b: device.alloc_with(content)?,
            a: device.alloc(bytes(shape.columns, self.types.a))?,
            d: device.alloc(bytes(shape.rows, self.types.d))?,
        };
        self.weights.insert(name.to_owned(), weight);
        Ok(())
    }

    /// The products of rows that lie one behind the other with a weight: `rows` times its rows.
    ///
    /// # Errors
    /// When no kernel takes the sizes, or the device failed.
    pub fn multiply(&self, name: &str, rows: usize, a: &[u8]) -> Result<Vec<u8>, Error> {
        let missing = || Error::Request(format!("there is no weight {name:?}"));
        let weight = self.weights.get(name).ok_or_else(missing)?;
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
        self.runtime.launch_best(&self.query, &problem, &args)?;
        let mut d = device.download(&on.d)?;
        d.truncate(rows * weight.shape.rows * self.types.d.bytes() as usize);
        Ok(d)
    }
}
