//! The ways cuBLASLt proposes for a product.
//!
//! One request of its heuristic gives few answers however many are asked for (eight for bf16 on an
//! H200). Other answers come out under other preferences: less scratch memory, no reduction
//! through it, less alignment, and each of the library's algorithms by itself. Every one is the
//! library's own proposal and fits the scratch memory it is given.

use std::mem::MaybeUninit;

use cudarc::cublaslt::result::{self, CublasError};
use cudarc::cublaslt::sys;

use super::blas::{Algorithm, BlasLt, Product, WORKSPACE_BYTES, failed};
use crate::error::Error;

use sys::cublasLtMatmulPreferenceAttributes_t as Attribute;

/// Most algorithm numbers asked for.
const MOST_IDS: usize = 256;
/// Most ways kept of one product.
const MOST_WAYS: usize = 512;

/// What a request allows.
#[derive(Debug, Clone, Copy)]
struct Wish {
    workspace_bytes: usize,
    /// Allowed reductions of split k, as `cublasLtReductionScheme_t`; `None` is the library's own.
    reductions: Option<u32>,
    /// Alignment of every matrix; `None` is the library's own, 256.
    alignment_bytes: Option<u32>,
    /// The only algorithm to consider.
    only: Option<sys::cublasLtMatmulAlgo_t>,
}

impl Wish {
    /// Everything the library may do.
    const ALL: Wish = Wish {
        workspace_bytes: WORKSPACE_BYTES,
        reductions: None,
        alignment_bytes: None,
        only: None,
    };
}

/// A preference handle, destroyed when dropped.
struct Preference(sys::cublasLtMatmulPreference_t);

impl Drop for Preference {
    fn drop(&mut self) {
        // SAFETY: made by `create_matmul_pref`, destroyed once, here.
        let _ = unsafe { result::destroy_matmul_pref(self.0) };
    }
}

impl Preference {
    fn of(wish: &Wish) -> Result<Preference, Error> {
        let made = result::create_matmul_pref().map_err(failed("cublasLtPreference"))?;
        let preference = Preference(made);
        preference.set(
            Attribute::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
            &wish.workspace_bytes,
        )?;
        if let Some(mask) = wish.reductions {
            preference.set(Attribute::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &mask)?;
        }
        if let Some(bytes) = wish.alignment_bytes {
            for attribute in [
                Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
            ] {
                preference.set(attribute, &bytes)?;
            }
        }
        if wish.only.is_some() {
            let mode = sys::cublasLtMatmulSearch_t::CUBLASLT_SEARCH_LIMITED_BY_ALGO_ID as u32;
            preference.set(Attribute::CUBLASLT_MATMUL_PREF_SEARCH_MODE, &mode)?;
        }
        Ok(preference)
    }

    /// Sets an attribute whose type in the manual has the size of `T`.
    fn set<T>(&self, attribute: Attribute, value: &T) -> Result<(), Error> {
        let from = std::ptr::from_ref(value).cast();
        // SAFETY: the preference is alive, and `size_of::<T>()` bytes are read in the call.
        unsafe { result::set_matmul_pref_attribute(self.0, attribute, from, size_of::<T>()) }
            .map_err(failed("cublasLtMatmulPreferenceSetAttribute"))
    }
}

impl BlasLt {
    /// The library's proposals for a product, its own favourite first.
    ///
    /// # Errors
    /// When it has none.
    pub fn algorithms(&self, product: &Product, most: usize) -> Result<Vec<Algorithm>, Error> {
        self.device.bind()?;
        self.ask(product, &Wish::ALL, most)
    }

    /// The same, then what it proposes under other preferences, each way once; `each` is how many
    /// are asked for at a time.
    ///
    /// # Errors
    /// When it has none with everything allowed.
    pub fn all_algorithms(&self, product: &Product, each: usize) -> Result<Vec<Algorithm>, Error> {
        let mut found = self.algorithms(product, each)?;
        let mut wishes = Vec::new();
        for workspace_bytes in [WORKSPACE_BYTES, 32 << 20, 4 << 20, 0] {
            for reductions in [None, Some(0)] {
                for alignment_bytes in [None, Some(16)] {
                    wishes.push(Wish {
                        workspace_bytes,
                        reductions,
                        alignment_bytes,
                        only: None,
                    });
                }
            }
        }
        for algorithm in self.ids(product) {
            let only = Some(algorithm);
            wishes.push(Wish { only, ..Wish::ALL });
        }
        for wish in &wishes {
            // A preference that leaves nothing over is answered with an error.
            let more = self.ask(product, wish, each).unwrap_or_default();
            for one in more {
                let is_new = !found.iter().any(|f| f.0.algo == one.0.algo);
                if is_new && found.len() < MOST_WAYS {
                    found.push(one);
                }
            }
        }
        Ok(found)
    }

    /// Asks the heuristic once.
    fn ask(&self, product: &Product, wish: &Wish, most: usize) -> Result<Vec<Algorithm>, Error> {
        let preference = Preference::of(wish)?;
        let mut found: Vec<MaybeUninit<sys::cublasLtMatmulHeuristicResult_t>> =
            vec![MaybeUninit::zeroed(); most.max(1)];
        if let (Some(algo), Some(first)) = (wish.only, found.first_mut()) {
            // The algorithm a search is limited to is read from the first result.
            // SAFETY: the result was zeroed, and zero is a value of each of its fields.
            unsafe { first.assume_init_mut() }.algo = algo;
        }
        let mut count = 0;
        let [left, right, out] = product.layouts;
        // SAFETY: all descriptors are alive; the array has room for as many results as are asked.
        let status = unsafe {
            sys::cublasLtMatmulAlgoGetHeuristic(
                self.handle.0,
                product.desc,
                left,
                right,
                out,
                out,
                preference.0,
                i32::try_from(found.len()).unwrap_or(i32::MAX),
                found.as_mut_ptr().cast(),
                &mut count,
            )
        };
        status
            .result()
            .map_err(failed("cublasLtMatmulAlgoGetHeuristic"))?;
        let count = usize::try_from(count).unwrap_or(0);
        // SAFETY: every result was zeroed or written by the library, the first `count` by it.
        let results = found.iter().take(count).map(|r| unsafe { r.assume_init() });
        let usable = results.filter(|r| {
            r.state == sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS
                && r.workspaceSize <= WORKSPACE_BYTES
        });
        Ok(usable.map(Algorithm).collect())
    }

    /// The algorithms the library has for a product's types; none when it does not tell.
    fn ids(&self, product: &Product) -> Vec<sys::cublasLtMatmulAlgo_t> {
        let kinds = product.kinds;
        let [left, right, out] = kinds.data;
        let mut ids = [0i32; MOST_IDS];
        let mut count = 0;
        // SAFETY: the handle is alive, and the library writes at most `MOST_IDS` numbers.
        let status = unsafe {
            sys::cublasLtMatmulAlgoGetIds(
                self.handle.0,
                kinds.compute,
                kinds.scale,
                left,
                right,
                out,
                out,
                MOST_IDS as i32,
                ids.as_mut_ptr(),
                &mut count,
            )
        };
        if status.result().is_err() {
            return Vec::new();
        }
        let count = usize::try_from(count).unwrap_or(0);
        let init = |id: &i32| -> Result<sys::cublasLtMatmulAlgo_t, CublasError> {
            let mut algo = sys::cublasLtMatmulAlgo_t { data: [0; 8] };
            // SAFETY: the handle is alive, and the library writes one algorithm.
            unsafe {
                sys::cublasLtMatmulAlgoInit(
                    self.handle.0,
                    kinds.compute,
                    kinds.scale,
                    left,
                    right,
                    out,
                    out,
                    *id,
                    &mut algo,
                )
            }
            .result()?;
            Ok(algo)
        };
        ids.iter()
            .take(count)
            .filter_map(|id| init(id).ok())
            .collect()
    }
}
