//! The PTX templates, one instruction or idiom each, as data: a package of their own, so that they
//! travel with the generator wherever it is installed from.

/// Pairs of name and text.
macro_rules! templates {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../ptx/", $name)))),*]
    };
}

/// Path below `ptx` and text of every template, in the order of their paths.
pub const TEMPLATES: &[(&str, &str)] = templates![
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
    "mma/wgmma_rs.tera",
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
    "sync/partial_add_cluster.tera",
    "sync/partial_add_two.tera",
    "sync/partial_keep.tera",
    "sync/partial_store.tera",
    "sync/partial_sum_cluster.tera",
    "sync/partial_take.tera",
    "sync/prefetch_tensormap.tera",
    "sync/store_remote.tera",
    "sync/term_load.tera",
    "sync/term_store.tera",
    "sync/ticket_take.tera",
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_table_lists_the_folder() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/ptx");
        let mut names = Vec::new();
        for folder in std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap()) {
            let files = std::fs::read_dir(folder.path()).unwrap();
            for file in files.map(|entry| entry.unwrap()) {
                let [folder, file] = [folder.file_name(), file.file_name()];
                names.push(format!("{}/{}", folder.display(), file.display()));
            }
        }
        names.sort();
        let listed: Vec<&str> = TEMPLATES.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, listed);
    }
}
