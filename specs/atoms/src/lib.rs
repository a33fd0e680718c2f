//! The instruction facts as data: a package of their own, so that they travel with the generator
//! wherever it is installed from.

/// Pairs of name and text.
macro_rules! records {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../", $name)))),*]
    };
}

/// File name and text of every file of records, in the order of their names.
pub const RECORDS: &[(&str, &str)] = records![
    "arithmetic.yaml",
    "barrier.yaml",
    "bulk.yaml",
    "combine.yaml",
    "cp_async.yaml",
    "cvt.yaml",
    "fma.yaml",
    "ld_st.yaml",
    "ld_st_hinted.yaml",
    "ldmatrix.yaml",
    "mbarrier.yaml",
    "mma_sync.yaml",
    "partials.yaml",
    "stmatrix.yaml",
    "tma.yaml",
    "wgmma.yaml",
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_table_lists_the_folder() {
        let folder = std::fs::read_dir(env!("CARGO_MANIFEST_DIR")).unwrap();
        let names = folder.map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| name.to_str().unwrap().to_owned());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".yaml")).collect();
        names.sort();
        let listed: Vec<&str> = RECORDS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, listed);
    }
}
