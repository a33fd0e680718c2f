//! How products are added: stated of contractions alone, with a rule for every device.
#![allow(clippy::unwrap_used)]

use tilewright_bundle::*;
use tilewright_fixture::{empty_ptx, gemm_semantics, layout, open};

#[test]
fn sums_are_of_contractions_and_have_a_rule_for_every_device() {
    let gemm = |edit: fn(&mut Kernel)| {
        let mut kernel = Kernel {
            semantics: gemm_semantics(DType::F32, ["(lds,1)"; 3]),
            launches: vec![LaunchAbi {
                entry: "one".to_owned(),
                ..LaunchAbi::default()
            }],
            ..Kernel::new("gemm_a@x-1", "gemm")
        };
        edit(&mut kernel);
        let mut writer = BundleWriter::new(Provenance::new("test"));
        writer.add(kernel, &empty_ptx("one"), None).map(|()| writer)
    };
    let whole = gemm(|_| {}).unwrap().to_files().unwrap();
    let read = open(&whole).unwrap();
    assert_eq!(read.kernels()[0].semantics.sums, Some(Sums::fma(23)));
    let refused = |edit| gemm(edit).err().unwrap().to_string();
    let of_copy = refused(|kernel| {
        kernel.semantics.operands.remove(1);
        kernel.semantics.operands[0].layout = layout("(m,n):(lds,1)");
        kernel.semantics.compute = "d[m,n] = a[m,n]".to_owned();
    });
    assert!(of_copy.contains("computes no sum of products"), "{of_copy}");
    let none = refused(|kernel| kernel.capability.min_sm = 40);
    assert!(none.contains("no rule is for sm 40"), "{none}");
    let many = refused(|kernel| kernel.semantics.sums.as_mut().unwrap().k = 0);
    assert!(many.contains("0 products"), "{many}");
}
