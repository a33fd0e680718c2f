//! Whether a device can run what a bundle is for, which a service asks at its start.

use tilewright_bundle::Sha256Hex;

use crate::error::Error;
use crate::open::runtime::Runtime;
use crate::select::functions::function_text;
use crate::select::pick::not_for;

impl Runtime {
    /// Checks that the device can run a kernel of each function of the bundle at least: a kernel
    /// for its compute capability, its driver and its shared memory, whose code was not refused
    /// when it was loaded. A service calls it at its start, so that a bundle for other GPUs fails
    /// there and not at the first request. Kernels for other devices beside are no error, as a
    /// bundle for several architectures has them. The source of a build step has a `check` of its
    /// own, for the functions alone that the program has launchers for.
    ///
    /// Nothing is loaded for it: behind [`Load::Eager`](crate::Load::Eager) it knows all code.
    ///
    /// ```no_run
    /// use tilewright_runtime::{Device, Runtime};
    /// let runtime = Runtime::open("kernels.bundle".as_ref(), Device::cuda(0)?)?;
    /// runtime.check()?;
    /// # Ok::<(), tilewright_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotForDevice`] with every function that has no such kernel, and why.
    pub fn check(&self) -> Result<(), Error> {
        let functions = self.functions().into_iter();
        let functions = functions.map(|k| (k.spec.as_str(), &k.semantics.function));
        self.check_functions(functions)
    }

    /// The same of some functions, each with a spec that it is of; one that the bundle lacks is
    /// told elsewhere.
    pub(crate) fn check_functions<'f>(
        &self,
        functions: impl Iterator<Item = (&'f str, &'f Sha256Hex)>,
    ) -> Result<(), Error> {
        let (mut without, mut refused) = (Vec::new(), Vec::new());
        for (spec, hash) in functions {
            let kernels = self.kernels().iter();
            let kernels = kernels.filter(|kernel| kernel.semantics.function == *hash);
            if let Some(all) = self.all_refused(kernels) {
                without.push(function_text(spec, hash));
                refused.extend(all);
            }
        }
        match without.is_empty() {
            true => Ok(()),
            false => Err(not_for(self.device().info(), without, refused)),
        }
    }
}
