//! Templates of machine instructions: embedded tera files, rendered to inline assembly.
//!
//! Comes in: a file name below `templates/ptx` and the values by name. Goes out: the text. A
//! variable that has no value is an error. No other template, filter or function than tera's
//! built-in ones is reachable, and no text of a spec ever becomes template source.

use std::sync::OnceLock;

use tera::{Context, Tera};

type Result<T> = std::result::Result<T, String>;

/// Pairs of name and text.
macro_rules! templates {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../templates/ptx/", $name)))),*]
    };
}

/// Path below `templates/ptx` and text of every template. A test compares this table with the
/// folder.
pub(super) const SOURCES: &[(&str, &str)] = templates![
    "arithmetic/join.tera",
    "arithmetic/join_bytes.tera",
    "arithmetic/narrow_bytes.tera",
    "arithmetic/narrow_e2m1.tera",
    "arithmetic/narrow_halves.tera",
    "arithmetic/narrow_nibbles.tera",
    "arithmetic/narrow_one.tera",
    "arithmetic/narrow_pair.tera",
    "arithmetic/narrow_pairs.tera",
    "arithmetic/narrow_ue8m0.tera",
    "arithmetic/number_or_zero.tera",
    "arithmetic/odd.tera",
    "arithmetic/operation.tera",
    "arithmetic/pack_bytes.tera",
    "arithmetic/select.tera",
    "arithmetic/split.tera",
    "arithmetic/split_bytes.tera",
    "arithmetic/tf32.tera",
    "arithmetic/unpack_bf16.tera",
    "arithmetic/unpack_bytes.tera",
    "arithmetic/unpack_f16.tera",
    "arithmetic/unpack_halves.tera",
    "arithmetic/unpack_nibbles.tera",
    "arithmetic/widen_e2m1.tera",
    "arithmetic/widen_pair.tera",
    "arithmetic/widen_pairs.tera",
    "arithmetic/widen_ue8m0.tera",
    "arithmetic/with_sign.tera",
    "copy/bulk_load_multicast.tera",
    "copy/bulk_prefetch.tera",
    "copy/bulk_to_cluster.tera",
    "copy/bulk_to_gmem.tera",
    "copy/bulk_to_smem.tera",
    "copy/combine.tera",
    "copy/combine_number.tera",
    "copy/cp_async_cg_16.tera",
    "copy/ld_v4_b32.tera",
    "copy/ld_v4_b32_policy.tera",
    "copy/st_v4_b32.tera",
    "copy/st_v4_b32_policy.tera",
    "copy/stmatrix.tera",
    "copy/tma_load.tera",
    "copy/tma_load_2d.tera",
    "copy/tma_load_2d_multicast.tera",
    "copy/tma_load_2d_multicast_policy.tera",
    "copy/tma_load_2d_policy.tera",
    "copy/tma_load_multicast.tera",
    "copy/tma_prefetch.tera",
    "copy/tma_store.tera",
    "copy/tma_store_2d.tera",
    "mma/wgmma_ss.tera",
    "mma/wgmma_ss_k.tera",
    "mma/wgmma_wait.tera",
    "sync/bar.tera",
    "sync/flag_clear.tera",
    "sync/flag_raise.tera",
    "sync/flag_wait.tera",
    "sync/griddepcontrol.tera",
    "sync/mapa.tera",
    "sync/mbarrier.tera",
    "sync/mbarrier_arrive.tera",
    "sync/mbarrier_arrive_remote.tera",
    "sync/mbarrier_wait.tera",
    "sync/partial_add.tera",
    "sync/partial_store.tera",
    "sync/prefetch_tensormap.tera",
    "sync/store_remote.tera",
    "sync/term_load.tera",
    "sync/term_store.tera",
    "sync/ticket_take.tera",
];

fn templates() -> Result<&'static Tera> {
    static TEMPLATES: OnceLock<Result<Tera>> = OnceLock::new();
    let built = TEMPLATES.get_or_init(|| {
        let mut tera = Tera::new();
        tera.autoescape_on(Vec::<&str>::new());
        tera.add_raw_templates(SOURCES.iter().copied())
            .map_err(|error| error.to_string())?;
        Ok(tera)
    });
    built.as_ref().map_err(Clone::clone)
}

/// The rendered template.
pub(super) fn render(file: &str, values: &Context) -> Result<String> {
    let text = templates()?
        .render(file, values)
        .map_err(|error| format!("template {file}: {error}"))?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_table_lists_the_folder() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../templates/ptx");
        let mut names = Vec::new();
        for folder in std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap()) {
            for file in std::fs::read_dir(folder.path())
                .unwrap()
                .map(|entry| entry.unwrap())
            {
                let (folder, file) = (folder.file_name(), file.file_name());
                names.push(format!(
                    "{}/{}",
                    folder.to_str().unwrap(),
                    file.to_str().unwrap()
                ));
            }
        }
        names.sort();
        assert_eq!(
            names,
            SOURCES.iter().map(|(name, _)| *name).collect::<Vec<_>>()
        );
    }

    #[test]
    fn an_undefined_variable_is_an_error() {
        let mut values = Context::new();
        values.insert("op", "ld.global");
        values.insert("dst", &["$0", "$1"]);
        let error = render("copy/ld_v4_b32.tera", &values).unwrap_err();
        assert!(error.contains("src"), "{error}");
        values.insert("src", "$2+16");
        assert_eq!(
            render("copy/ld_v4_b32.tera", &values).unwrap(),
            "ld.global.v4.b32 {$0, $1}, [$2+16];"
        );
        assert!(render("copy/none.tera", &values).is_err());
    }
}
