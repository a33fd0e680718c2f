//! The record files, embedded. A test compares this table with the folder.

/// File name and text of every file in `specs/atoms`, in the order of their names.
pub(super) const SOURCES: &[(&str, &str)] = &[
    (
        "arithmetic.yaml",
        include_str!("../../../specs/atoms/arithmetic.yaml"),
    ),
    (
        "barrier.yaml",
        include_str!("../../../specs/atoms/barrier.yaml"),
    ),
    ("bulk.yaml", include_str!("../../../specs/atoms/bulk.yaml")),
    (
        "combine.yaml",
        include_str!("../../../specs/atoms/combine.yaml"),
    ),
    (
        "cp_async.yaml",
        include_str!("../../../specs/atoms/cp_async.yaml"),
    ),
    ("cvt.yaml", include_str!("../../../specs/atoms/cvt.yaml")),
    ("fma.yaml", include_str!("../../../specs/atoms/fma.yaml")),
    (
        "ld_st.yaml",
        include_str!("../../../specs/atoms/ld_st.yaml"),
    ),
    (
        "ld_st_hinted.yaml",
        include_str!("../../../specs/atoms/ld_st_hinted.yaml"),
    ),
    (
        "ldmatrix.yaml",
        include_str!("../../../specs/atoms/ldmatrix.yaml"),
    ),
    (
        "mbarrier.yaml",
        include_str!("../../../specs/atoms/mbarrier.yaml"),
    ),
    (
        "mma_sync.yaml",
        include_str!("../../../specs/atoms/mma_sync.yaml"),
    ),
    (
        "partials.yaml",
        include_str!("../../../specs/atoms/partials.yaml"),
    ),
    (
        "stmatrix.yaml",
        include_str!("../../../specs/atoms/stmatrix.yaml"),
    ),
    ("tma.yaml", include_str!("../../../specs/atoms/tma.yaml")),
    (
        "wgmma.yaml",
        include_str!("../../../specs/atoms/wgmma.yaml"),
    ),
];
