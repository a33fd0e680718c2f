//! Tensor maps in a launch ABI: where they are packed, how they read, which are refused.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use tilewright_bundle::*;
use tilewright_fixture::{expr, open};

const PTX: &str = ".version 8.0\n.target sm_90a\n.visible .entry one()\n{ ret; }\n";

fn map() -> TensorMapAbi {
    TensorMapAbi {
        swizzle: TensorSwizzle::Bytes128,
        l2_promotion: L2Promotion::Bytes256,
        ..TensorMapAbi::new(
            "a",
            DType::BF16,
            [expr("k"), expr("m")],
            [expr("lda")],
            [64, 128],
        )
    }
}

fn kernel(map: TensorMapAbi) -> Kernel {
    let operand =
        |name, role, layout: &str| Operand::new(name, role, DType::BF16, layout.parse().unwrap());
    let tiles = "min(ceil_div(m,128)*ceil_div(n,256), max_clusters) * 2";
    Kernel {
        launches: vec![LaunchAbi {
            entry: "one".to_owned(),
            params: Param::pack([
                ("d", ParamValue::pointer("d")),
                ("a_map", ParamValue::TensorMap(map)),
                ("m", ParamValue::scalar(ScalarType::I32, expr("m"))),
            ]),
            grid: [expr(tiles), expr("1"), expr("1")],
            cluster: Some([2, 1, 1]),
            ..LaunchAbi::default()
        }],
        semantics: Semantics {
            operands: vec![
                operand("a", Role::In, "(m,k):(lda,1)"),
                operand("d", Role::Out, "(m,n):(ldd,1)"),
            ],
            compute: "d[m,n] = sum[k] a[m,k]".to_owned(),
            ..Semantics::default()
        },
        ..Kernel::new("gemm_a@x-1", "gemm")
    }
}

fn written(kernel: Kernel) -> Result<Bundle, Error> {
    let mut writer = BundleWriter::new(Provenance::new("test"));
    writer.add(kernel, PTX, None)?;
    open(&writer.to_files()?)
}

#[test]
fn maps_are_packed_at_multiples_of_64() {
    let kernel = kernel(map());
    let places: Vec<_> = kernel.launches[0]
        .params
        .iter()
        .map(|p| (p.offset, p.size))
        .collect();
    assert_eq!(places, [(0, 8), (64, 128), (192, 4)]);
    assert_eq!(kernel.launches[0].param_bytes(), 196);
    let keys: Vec<_> = kernel
        .exprs()
        .map(|(key, e)| format!("{key}={e}"))
        .collect();
    let maps: Vec<&str> = keys
        .iter()
        .map(String::as_str)
        .filter(|k| k.contains("a_map"))
        .collect();
    assert_eq!(
        maps,
        [
            "params.a_map.dims.0=k",
            "params.a_map.dims.1=m",
            "params.a_map.strides.0=lda"
        ]
    );
    let mut shifted = kernel.clone();
    shifted.launches[0].params[1].offset = 16;
    let error = written(shifted).unwrap_err().to_string();
    assert!(error.contains("at offset 16; expected 64"), "{error}");
}

/// `BLESS=1` rewrites the golden.
#[test]
fn the_manifest_says_all_of_a_map() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tensor_map.json");
    let bundle = written(kernel(map())).unwrap();
    let abi = &bundle.kernels()[0].launches[0];
    let text = format!("{}\n", serde_json::to_string_pretty(abi).unwrap());
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(golden.parent().unwrap()).unwrap();
        std::fs::write(&golden, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(&golden).unwrap());
    assert_eq!(serde_json::from_str::<LaunchAbi>(&text).unwrap(), *abi);
    assert_eq!(abi, &kernel(map()).launches[0]);
}

#[test]
fn every_broken_rule_of_a_map_is_named_at_once() {
    let wrong = TensorMapAbi {
        operand: "q".to_owned(),
        dtype: DType::S8,
        box_dims: vec![257, 0, 8],
        element_strides: vec![1, 9],
        oob_fill: OobFill::Nan,
        strides: Vec::new(),
        ..map()
    };
    let all = written(kernel(wrong)).unwrap_err().to_string();
    for part in [
        "tensor map \"a_map\" of `q`: there is no such operand",
        "a fill of nan goes with f16, bf16, tf32, f32 and f64, not s8",
        "0 strides for 2 dims; one for each dimension after the first",
        "box_dims has 3 extents for 2 dims",
        "box_dims 0 is 257; 1 to 256 is allowed",
        "box_dims 1 is 0; 1 to 256 is allowed",
        "element_strides 1 is 9; 1 to 8 is allowed",
        "the box has 257 bytes along dim 0; a multiple of 16 is needed",
        "the box has 257 bytes along dim 0; swizzle 128B allows 128",
    ] {
        assert!(all.contains(part), "{part} missing in {all}");
    }
}

#[test]
fn maps_the_driver_would_refuse_are_refused() {
    let refused = |map: TensorMapAbi, part: &str| {
        let error = written(kernel(map)).unwrap_err().to_string();
        assert!(error.contains(part), "{part} missing in {error}");
    };
    let with = |edit: &dyn Fn(&mut TensorMapAbi)| {
        let mut map = map();
        edit(&mut map);
        map
    };
    refused(with(&|m| m.dims.clear()), "0 dims; 1 to 5 are allowed");
    refused(
        with(&|m| m.dims = vec![expr("k"); 6]),
        "6 dims; 1 to 5 are allowed",
    );
    refused(
        with(&|m| m.dtype = DType::F32),
        "elements of f32 have 32 bits; the operand's, bf16, have 16",
    );
    refused(
        with(&|m| m.dtype = DType::B128),
        "no tensor map has elements of b128",
    );
    refused(
        with(&|m| m.element_strides = vec![1]),
        "element_strides has 1 entries for 2 dims",
    );
    refused(
        with(&|m| m.box_dims[0] = 4),
        "has 8 bytes along dim 0; a multiple of 16",
    );
    for (swizzle, span) in [
        (TensorSwizzle::Bytes32, 32),
        (TensorSwizzle::Bytes64, 64),
        (TensorSwizzle::Bytes128, 128),
    ] {
        let most = with(&|m| {
            m.swizzle = swizzle;
            m.box_dims[0] = span / 2;
        });
        assert!(written(kernel(most.clone())).is_ok());
        let over = TensorMapAbi {
            box_dims: vec![span / 2 + 8, 8],
            ..most
        };
        refused(over, &format!("swizzle {} allows {span}", swizzle.text()));
    }
    let mut full = kernel(map());
    full.launches[0].params = Param::pack((0..33).map(|_| ("map", ParamValue::TensorMap(map()))));
    let error = written(full).unwrap_err().to_string();
    assert!(
        error.contains("the parameters have 4224 bytes; at most 4096 are allowed"),
        "{error}"
    );
}

#[test]
fn a_grid_may_be_persistent() {
    let mut kernel = kernel(map());
    kernel.resolve().unwrap();
    let (grid, names) = (&kernel.launches[0].grid[0], &kernel.names);
    let [m, n] = ["m", "n"].map(|text| names.find(text).unwrap());
    let env = |rows, cols| Env::new().with(m, rows).with(n, cols);
    let ctas = |m, n| grid.eval(&env(m, n).with(Name::MAX_CLUSTERS, 66)).unwrap();
    assert_eq!((ctas(129, 257), ctas(8192, 8192)), (8, 132));
    assert!(matches!(
        grid.eval(&env(1, 1)),
        Err(EvalError::Unbound { name, .. }) if name == "max_clusters"
    ));
}
