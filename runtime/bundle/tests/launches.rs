//! What a kernel may be beyond one launch of operands: several launches over scratch memory,
//! scalars, modes of constant extent, promises, machine code alone, outputs over inputs.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use tilewright_bundle::*;
use tilewright_fixture::{expr, layout, open};

const PTX: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
    .visible .entry first()\n{ ret; }\n.visible .entry second()\n{ ret; }\n";

/// `d[m,p] = alpha * s[m,p] + d`, in two launches.
fn kernel() -> Kernel {
    let operand = |name, role| Operand::new(name, role, DType::F32, layout("(m,p):(p,1)"));
    let alpha = Scalar {
        name: "alpha".to_owned(),
        dtype: DType::F32,
    };
    let launch = |entry: &str, params: [(&str, ParamValue); 3]| LaunchAbi {
        entry: entry.to_owned(),
        params: Param::pack(params),
        grid: [expr("m * p"), expr("1"), expr("1")],
        ..LaunchAbi::default()
    };
    let given = || ("alpha", ParamValue::Given(alpha.clone()));
    let workspace = || ("w", ParamValue::Workspace);
    Kernel {
        semantics: Semantics {
            operands: vec![
                operand("s", Role::In),
                Operand {
                    over: Some("s".to_owned()),
                    ..operand("d", Role::Out)
                },
            ],
            scalars: vec![alpha.clone()],
            modes: BTreeMap::from([("p".to_owned(), 2)]),
            compute: "d[m,p] = alpha * s[m,p]".to_owned(),
            ..Semantics::default()
        },
        launches: vec![
            launch(
                "first",
                [("s", ParamValue::pointer("s")), given(), workspace()],
            ),
            launch(
                "second",
                [("d", ParamValue::pointer("d")), workspace(), given()],
            ),
        ],
        workspace: Workspace {
            bytes: expr("m * p * 4"),
            zero_bytes: 0,
        },
        assumptions: vec![Assumption::Promise {
            promise: "alpha is not 0".to_owned(),
            reason: "it is divided by".to_owned(),
        }],
        ..Kernel::new("scaled@two-1", "scaled")
    }
}

fn written(kernel: Kernel) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let mut writer = BundleWriter::new(Provenance::new("test"));
    let cubin = Some(("sm_90a", b"machine code".as_slice()));
    writer.add(kernel, PTX, cubin)?;
    writer.to_files()
}

#[test]
fn a_kernel_of_two_launches_is_read_back() {
    let bundle = open(&written(kernel()).unwrap()).unwrap();
    let read = &bundle.kernels()[0];
    assert_eq!(read.launches, bundle.manifest().kernels[0].launches);
    let entries: Vec<&str> = read.launches.iter().map(|l| l.entry.as_str()).collect();
    assert_eq!(entries, ["first", "second"]);
    // A pointer, then the scalar, then the next multiple of 8.
    let offsets = |at: usize| read.launches[at].params.iter().map(|p| p.offset);
    assert_eq!(offsets(0).collect::<Vec<_>>(), [0, 8, 16]);
    assert_eq!(offsets(1).collect::<Vec<_>>(), [0, 8, 16]);
    assert_eq!(read.launches[1].param_bytes(), 20);
    let free: Vec<&str> = read.free_extents().map(|(_, text)| text).collect();
    assert_eq!(free, ["m"]);
    let formula = read.formula().unwrap();
    assert_eq!(formula.signature.scalars[0].name, "alpha");
    assert_eq!(read.form().unwrap().name(), "rows");
    assert_eq!(read.route, Route::Ptx);
}

#[test]
fn functions_tell_scalars_modes_and_places_apart() {
    let function = |edit: fn(&mut Kernel)| {
        let mut kernel = kernel();
        edit(&mut kernel);
        let bundle = open(&written(kernel).unwrap()).unwrap();
        bundle.kernels()[0].semantics.function.clone()
    };
    let own = function(|_| {});
    assert_eq!(own, function(|kernel| kernel.launches.truncate(1)));
    assert_eq!(
        own,
        function(|kernel| kernel.semantics.operands[0].layout = layout("(m,p):(1,m)"))
    );
    assert_ne!(
        own,
        function(|kernel| kernel.semantics.operands[1].over = None)
    );
    let extent = function(|kernel| {
        kernel.semantics.modes.insert("p".to_owned(), 4);
    });
    assert_ne!(own, extent);
    let dtype = function(|kernel| {
        kernel.semantics.scalars[0].dtype = DType::F64;
        kernel.launches.clear();
        kernel.launches.push(LaunchAbi {
            entry: "first".to_owned(),
            ..LaunchAbi::default()
        });
    });
    assert_ne!(own, dtype);
}

/// All launches have one count of clusters, by which they find what lies in the scratch memory.
#[test]
fn one_launch_at_most_counts_clusters() {
    let mut kernel = kernel();
    kernel.workspace.bytes = expr("max_clusters * 4");
    assert_eq!(kernel.counted_launch(), 0);
    kernel.launches[1].grid[0] = expr("min(m, max_clusters)");
    let one = open(&written(kernel.clone()).unwrap()).unwrap();
    assert_eq!(one.kernels()[0].counted_launch(), 1);
    kernel.launches[0].grid[0] = expr("min(p, max_clusters)");
    let text = written(kernel).unwrap_err().to_string();
    let told = "the grids of 2 launches name `max_clusters`, which counts the clusters of one";
    assert!(text.contains(told), "{text}");
}

#[test]
fn what_is_wrong_is_refused_by_name() {
    let refused = |edit: &dyn Fn(&mut Kernel), part: &str| {
        let mut kernel = kernel();
        edit(&mut kernel);
        let text = written(kernel).unwrap_err().to_string();
        assert!(text.contains(part), "{part}: {text}");
    };
    refused(
        &|kernel| kernel.launches.clear(),
        "0 launches; 1 to 64 are allowed",
    );
    refused(
        &|kernel| kernel.launches[1].entry = "third".to_owned(),
        "declares no .entry third",
    );
    refused(
        &|kernel| kernel.launches[1].grid[0] = expr("q"),
        "launches.1.grid.x: unknown name `q`",
    );
    refused(
        &|kernel| kernel.launches[1].params[2].offset = 20,
        "parameter \"alpha\" is at offset 20; expected 16",
    );
    refused(
        &|kernel| kernel.semantics.scalars[0].dtype = DType::F64,
        "parameter \"alpha\" is `alpha: f32`, which is no scalar",
    );
    refused(
        &|kernel| kernel.semantics.operands[1].over = Some("q".to_owned()),
        "q",
    );
    refused(
        &|kernel| kernel.semantics.operands[0].role = Role::Out,
        "the role of `s` is out; compute says in",
    );
    refused(
        &|kernel| kernel.semantics.compute = "d[m,p] = beta * s[m,p]".to_owned(),
        "beta",
    );
    refused(
        &|kernel| kernel.semantics.function = Sha256Hex::of(b"another"),
        "that of compute is",
    );
    refused(
        &|kernel| {
            kernel.assumptions = vec![Assumption::Promise {
                promise: "\u{1b}[31m".to_owned(),
                reason: String::new(),
            }];
        },
        "a promise is no line",
    );
    let mut writer = BundleWriter::new(Provenance::new("test"));
    let alone = Kernel {
        route: Route::CubinOnly,
        ..kernel()
    };
    let text = writer.add(alone, PTX, None).unwrap_err().to_string();
    assert!(
        text.contains("cubin_only, and the kernel has no cubin"),
        "{text}"
    );
}

#[test]
fn scalars_are_rounded_as_their_type_rounds() {
    let scalar = |dtype| Scalar {
        name: "x".to_owned(),
        dtype,
    };
    for (dtype, value, bytes) in [
        (DType::F32, 0.1, Some(0.1f32.to_le_bytes().to_vec())),
        (DType::F64, 0.1, Some(0.1f64.to_le_bytes().to_vec())),
        (DType::F16, 1.0, Some(vec![0x00, 0x3c])),
        (DType::BF16, -2.0, Some(vec![0x00, 0xc0])),
        (DType::S32, -3.0, Some((-3i32).to_le_bytes().to_vec())),
        (DType::U8, 255.0, Some(vec![255])),
        (DType::U8, 256.0, None),
        (DType::S32, 0.5, None),
        (DType::S32, f64::NAN, None),
    ] {
        assert_eq!(scalar(dtype).encode(value), bytes, "{dtype} {value}");
    }
}
