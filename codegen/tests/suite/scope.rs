//! The table of README that says what is computed how: each cell is what the generator answers to
//! specs of that form, those types and orders on that architecture.
//!
//! `BLESS=1 cargo nextest run -p tilewright-codegen --test suite scope` writes it.

use std::fmt::Write as _;
use std::fs;

use crate::made;
use tilewright_codegen::dtype::{DTYPES, DType};
use tilewright_codegen::plan;
use tilewright_codegen::spec;

/// Where the table stands in the page.
const BEGIN: &str = "<!-- made by: codegen/tests/suite/scope.rs -->\n";
const END: &str = "<!-- end -->";

/// The columns.
const ARCHES: [&str; 4] = ["sm_70", "sm_80", "sm_89", "sm_90a"];

/// Orders of a product's factors: how BLAS calls them, and which of m and k, of n and k, neighbours
/// in memory lie along.
const ORDERS: [(&str, [&str; 2]); 4] = [
    ("TN", ["(m,k):(lda,1)", "(n,k):(ldb,1)"]),
    ("NN", ["(m,k):(1,lda)", "(n,k):(ldb,1)"]),
    ("NT", ["(m,k):(1,lda)", "(n,k):(1,ldb)"]),
    ("TT", ["(m,k):(lda,1)", "(n,k):(1,ldb)"]),
];

/// Products: types of a, b, the sums and d.
const PRODUCTS: [[&str; 4]; 15] = [
    ["bf16", "bf16", "f32", "bf16"],
    ["f16", "f16", "f32", "f16"],
    ["tf32", "tf32", "f32", "f32"],
    ["e4m3", "e4m3", "f32", "bf16"],
    ["e5m2", "e5m2", "f32", "bf16"],
    ["e4m3", "e5m2", "f32", "bf16"],
    ["s8", "s8", "s32", "s32"],
    ["u8", "u8", "s32", "s32"],
    ["bf16", "e4m3", "f32", "bf16"],
    ["bf16", "s8", "f32", "bf16"],
    ["bf16", "s4", "f32", "bf16"],
    ["f32", "f32", "f32", "f32"],
    ["f32", "s8", "f32", "f32"],
    ["f64", "f64", "f64", "f64"],
    ["e2m1", "e2m1", "f32", "bf16"],
];

/// What a row is called; the operands with how they lie; a formula; a tile.
type Computed = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
    &'static str,
);

/// What has no product of two operands. Types of x and d are drawn from all that there are, that of
/// tables is s32.
const ROWS: [Computed; 8] = [
    (
        "maps: arithmetic, comparisons, choices",
        &[("x", "(m,n)"), ("d", "(m,n)")],
        "d[m,n] = where(x[m,n] > 1, x[m,n] * x[m,n], x[m,n] + 2)",
        "{ m: 4, n: 512 }",
    ),
    (
        "maps: functions (exp, tanh, erf, silu, …)",
        &[("x", "(m,n)"), ("d", "(m,n)")],
        "d[m,n] = silu(x[m,n])",
        "{ m: 4, n: 512 }",
    ),
    (
        "transposes and permutations",
        &[("x", "(m,p,q)"), ("d", "(q,m,p)")],
        "d[q,m,p] = x[m,p,q]",
        "{ m: 64, q: 64 }",
    ),
    (
        "folds of rows, several at once",
        &[("x", "(m,n)"), ("d", "(m)")],
        "d[m] = sum[n] x[m,n]",
        "{ m: 4, n: 512 }",
    ),
    (
        "norms, softmax: folds of folds",
        &[("x", "(m,n)"), ("d", "(m,n)")],
        "q[m] = sum[n] (x[m,n] * x[m,n])\n  d[m,n] = x[m,n] / sqrt(q[m] + 1)",
        "{ m: 4, n: 512 }",
    ),
    (
        "folds over two modes (group norm, batch statistics)",
        &[("x", "(b,c,n)"), ("d", "(c)")],
        "d[c] = mean[b,n] x[b,c,n]",
        "{ b: 4, n: 128 }",
    ),
    (
        "gathers by a table",
        &[("x", "(m,n)"), ("t", "(r)"), ("d", "(r,n)")],
        "d[r,n] = x[t[r],n]",
        "{ r: 4, n: 512 }",
    ),
    (
        "quantization by blocks",
        &[("x", "(m,g,i)"), ("s", "(m,g)"), ("d", "(m,g,i)")],
        "q[m,g] = max[i] abs(x[m,g,i])\n  s[m,g] = max(q[m,g], 1e-10)\n  \
         d[m,g,i] = x[m,g,i] / s[m,g]",
        "{ g: 8, i: 32 }",
    ),
];

/// Types that what no kernel does is tried with.
const REFUSED_TYPES: [&str; 2] = ["bf16", "e4m3"];

/// What no kernel does, by the same, its tile, and the code of the limit that says so.
type Refused = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
    &'static str,
    &'static str,
);
const REFUSED: [Refused; 4] = [
    (
        "grouped products (experts)",
        &[
            ("a", "(m,k)"),
            ("b", "(g,n,k)"),
            ("t", "(g+1)"),
            ("d", "(m,n)"),
        ],
        "d[m,n] = sum[k] a[m,k] * b[g,n,k]",
        "{ m: 64, n: 64, k: 64 }\nmodes: { m: { in: g, starts: t } }",
        "groups",
    ),
    (
        "attention",
        &[
            ("a", "(m,k)"),
            ("b", "(n,k)"),
            ("w", "(n,o)"),
            ("d", "(m,o)"),
        ],
        "s[m,n] = sum[k] a[m,k] * b[n,k]\n  d[m,o] = sum[n] s[m,n] * w[n,o]",
        "{ m: 64, n: 64, k: 64, o: 64 }",
        "two-products",
    ),
    (
        "convolutions",
        &[("a", "(h,c)"), ("b", "(o,r,c)"), ("d", "(h,o)")],
        "d[h,o] = sum[r,c] where(h+r < size(h), a[h+r,c], 0) * b[o,r,c]",
        "{ h: 64, o: 64, c: 64 }",
        "form-index",
    ),
    (
        "gathered products",
        &[("a", "(m,k)"), ("b", "(n,k)"), ("t", "(m)"), ("d", "(m,n)")],
        "d[m,n] = sum[k] a[t[m],k] * b[n,k]",
        "{ m: 64, n: 64, k: 64 }",
        "read-place",
    ),
];

/// Batches of products: a name, and which of the factors differ from one to the next.
const BATCHES: [(&str, [bool; 2]); 2] = [
    ("batched products", [true, true]),
    ("products of a batch with one matrix", [true, false]),
];

/// Products that are asked for in batches too, by their number.
const BATCHED: [usize; 4] = [0, 3, 6, 11];

/// Products that are asked for with scaled parts too, by their number.
const PARTED: [usize; 2] = [0, 3];

/// Tiles of products of which one does, where there is a kernel at all.
const TILES: [&str; 4] = [
    "{ m: 128, n: 128, k: 64 }",
    "{ m: 128, n: 128, k: 128 }",
    "{ m: 64, n: 64, k: 32 }",
    "{ m: 64, n: 64, k: 16 }",
];

#[test]
fn the_table_is_what_the_generator_answers() {
    let page = fs::read_to_string(made::repository().join("README.md")).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("README.md has the mark");
    let (_, after) = rest.split_once(END).expect("README.md has the end mark");
    let table = table();
    made::assert_kept("README.md", &format!("{before}{BEGIN}{table}{END}{after}"));
}

fn table() -> String {
    let names = ARCHES.map(|arch| format!("`{arch}`")).join(" | ");
    let mut table = format!("\n| what | types | {names} |\n|---|---|---|---|---|---|\n");
    // Types that are computed alike everywhere share a row.
    let mut alike: Vec<(String, Vec<String>)> = Vec::new();
    for types in PRODUCTS {
        let cells = ARCHES
            .map(|arch| product_cell(types, arch, |text| text.to_owned()))
            .join(" | ");
        let [a, b, sums, d] = types;
        let factors = if a == b {
            a.to_owned()
        } else {
            format!("{a} × {b}")
        };
        let sums = match is_cut_short([a, b], sums) {
            true => " (`accumulation: fast`)",
            false => "",
        };
        let types = format!("{factors} → {d}{sums}");
        match alike.iter_mut().find(|(known, _)| *known == cells) {
            Some((_, all)) => all.push(types),
            None => alike.push((cells, vec![types])),
        }
    }
    for (cells, types) in alike {
        writeln!(table, "| products | {} | {cells} |", types.join(", ")).unwrap();
    }
    table.push_str(&batches());
    table.push_str(&in_parts());
    for (name, operands, formula, tile) in ROWS {
        let cells = ARCHES
            .map(|arch| rows_cell(operands, &format!("{formula}\ncta_tile: {tile}"), arch))
            .join(" | ");
        writeln!(table, "| {name} | all {} | {cells} |", DTYPES.len()).unwrap();
    }
    for (name, operands, formula, tile, code) in REFUSED {
        let all = ARCHES.map(|arch| REFUSED_TYPES.map(|dtype| (arch, dtype)));
        for (arch, dtype) in all.into_iter().flatten() {
            let types = |name: &str| if name == "t" { "s32" } else { dtype };
            let text = rows(operands, types, formula, arch);
            let refused = answer(&format!("{text}cta_tile: {tile}\n")).unwrap_err();
            assert!(refused.contains(&format!("[{code}]")), "{name}: {refused}");
        }
        let types = REFUSED_TYPES.join(", ");
        writeln!(
            table,
            "| {name} | {types} | `{code}` | `{code}` | `{code}` | `{code}` |"
        )
        .unwrap();
    }
    let all: Vec<&str> = DTYPES.iter().map(|dtype| dtype.text()).collect();
    writeln!(table, "\nThe {} types: {}.\n", all.len(), all.join(", ")).unwrap();
    table
}

/// The rows of batched products.
fn batches() -> String {
    let mut rows = String::new();
    for (name, has) in BATCHES {
        // Each has a kernel where the product alone has one, by the same way.
        for (types, arch) in BATCHED
            .iter()
            .flat_map(|at| ARCHES.map(|arch| (PRODUCTS[*at], arch)))
        {
            for (order, layouts) in ORDERS {
                let mut ways = TILES.iter().map(|tile| {
                    let alone = product(types, layouts, tile, arch);
                    let each = batched(&alone, has);
                    [alone, each]
                        .map(|text| answer(&text).map_err(|report| code(&report).to_owned()))
                });
                let asked = ways.clone().find(|[alone, _]| alone.is_ok());
                let [alone, each] = asked.or_else(|| ways.next_back()).unwrap();
                assert_eq!(alone, each, "{name} of {types:?} {order} {arch}");
            }
        }
        let cells = ARCHES.map(|_| "as products").join(" | ");
        let types = BATCHED.map(|at| PRODUCTS[at][0]).join(", ");
        writeln!(rows, "| {name} | {types} | {cells} |").unwrap();
    }
    rows
}

/// The rows of products whose sums are made of scaled parts.
fn in_parts() -> String {
    let part = |text: &str| {
        let (_, k) = text.split_once("k: ").unwrap();
        let (k, _) = k.split_once(' ').unwrap();
        let text = text
            .replace("(m,k):(lda,1)", &format!("(m,g,k):(lda,{k},1)"))
            .replace("(n,k):(ldb,1)", &format!("(n,g,k):(ldb,{k},1)"))
            .replace("(m,k):(1,lda)", "(m,g,k):(1,pa,lda)")
            .replace("(n,k):(1,ldb)", "(n,g,k):(1,pb,ldb)")
            .replace(
                "d[m,n] = sum[k] a[m,k] * b[n,k]",
                "p[m,n,g] = sum[k] a[m,g,k] * b[n,g,k]; d[m,n] = sum[g] p[m,n,g] * u[m,g] * v[n,g]",
            )
            .replace(
                "  d: {",
                "  u: { dtype: f32, layout: \"(m,g):(pu,qu)\" }\n  \
                 v: { dtype: f32, layout: \"(n,g):(pv,qv)\" }\n  d: {",
            );
        format!("{text}modes: {{ k: {k} }}\n")
    };
    let row = |at: usize| {
        let cells = ARCHES.map(|arch| product_cell(PRODUCTS[at], arch, part));
        let (dtype, cells) = (PRODUCTS[at][0], cells.join(" | "));
        format!("| products with scales by blocks of k | {dtype} | {cells} |\n")
    };
    PARTED.map(row).concat()
}

/// How an architecture computes a product, or what is made of its spec: of each way the orders that
/// it takes, where it is not all of them.
fn product_cell(types: [&str; 4], arch: &str, made: impl Fn(&str) -> String) -> String {
    let mut ways: Vec<(String, Vec<&str>)> = Vec::new();
    for (order, layouts) in ORDERS {
        let mut texts = TILES
            .iter()
            .map(|tile| made(&product(types, layouts, tile, arch)));
        let copies = transposed(layouts);
        let mut of_copies = texts.clone().map(|text| answer(&format!("{text}{copies}")));
        let copied = match copies.is_empty() {
            true => None,
            false => of_copies.find_map(Result::ok),
        };
        let first = answer(&texts.next().unwrap());
        let way = match first.or_else(|why| texts.find_map(|text| answer(&text).ok()).ok_or(why)) {
            Ok(way) => match copied.filter(|other| *other != way) {
                Some(other) => format!("{way} or {other} of copies"),
                None => way.to_owned(),
            },
            Err(report) => match copied {
                Some(way) => format!("{way} of copies"),
                None => format!("`{}`", code(&report)),
            },
        };
        match ways.iter_mut().find(|(known, _)| *known == way) {
            Some((_, orders)) => orders.push(order),
            None => ways.push((way, vec![order])),
        }
    }
    let all = ways.len() == 1;
    let cells = ways.into_iter().map(|(way, orders)| match all {
        true => way,
        false => format!("{}: {way}", orders.join(" ")),
    });
    cells.collect::<Vec<_>>().join(", ")
}

/// The key by which factors that are not contiguous along k are copied so; none where all are.
fn transposed(layouts: [&str; 2]) -> String {
    let across = ["a", "b"].into_iter().zip(layouts);
    let across = across.filter(|(_, layout)| layout.contains(":(1,"));
    let copies: Vec<String> = across
        .map(|(name, _)| format!("{name}: {{ realign: transposed }}"))
        .collect();
    match copies.is_empty() {
        true => String::new(),
        false => format!("copy: {{ {} }}\n", copies.join(", ")),
    }
}

/// Whether tensor cores keep fewer bits of the sums than f32 has, as of 8-bit floats, which a spec
/// has to allow.
fn is_cut_short(factors: [&str; 2], sums: &str) -> bool {
    sums == "f32" && factors.iter().all(|one| one.starts_with('e'))
}

fn product([a, b, sums, d]: [&str; 4], [of_a, of_b]: [&str; 2], tile: &str, arch: &str) -> String {
    let accumulation = match is_cut_short([a, b], sums) {
        true => "accumulation: fast\n",
        false => "",
    };
    format!(
        "kernel: scope\nname: scope\narch: {arch}\noperands:\n  \
         a: {{ dtype: {a}, layout: \"{of_a}\" }}\n  b: {{ dtype: {b}, layout: \"{of_b}\" }}\n  \
         d: {{ dtype: {d}, layout: \"(m,n):(ldd,1)\" }}\n\
         compute: \"d[m,n] = sum[k] a[m,k] * b[n,k]\"\ncta_tile: {tile}\n{accumulation}"
    )
}

/// A product once for each coordinate of a further mode, which its output has and those factors.
fn batched(product: &str, has: [bool; 2]) -> String {
    let mut text = product.to_owned();
    for (name, has) in [("a", has[0]), ("b", has[1]), ("d", true)] {
        if has {
            let layout = format!("  {name}: {{ dtype: ");
            let (before, rest) = text.split_once(&layout).unwrap();
            let (dtype, rest) = rest.split_once("layout: \"(").unwrap();
            let rest = rest.replacen(":(", &format!(":(batch_{name},"), 1);
            text = format!("{before}{layout}{dtype}layout: \"(z,{rest}");
            let (before, formula) = text.split_once("compute: ").unwrap();
            let formula = formula.replacen(&format!("{name}["), &format!("{name}[z,"), 1);
            text = format!("{before}compute: {formula}");
        }
    }
    text
}

/// Which types an architecture computes: those that it lacks, where it is not all of them.
fn rows_cell(operands: &[(&str, &str)], formula: &str, arch: &str) -> String {
    let lacks = |dtype: &&DType| {
        let types = |name: &str| match name {
            "t" => "s32",
            "s" => "f32",
            _ => dtype.text(),
        };
        answer(&rows(operands, types, formula, arch)).is_err()
    };
    let lacking: Vec<&str> = DTYPES.iter().filter(lacks).map(|one| one.text()).collect();
    match lacking.len() {
        0 => "yes".to_owned(),
        count if count == DTYPES.len() => "—".to_owned(),
        _ => format!("not {}", lacking.join(", ")),
    }
}

fn rows<'t>(
    operands: &[(&str, &str)],
    types: impl Fn(&str) -> &'t str,
    formula: &str,
    arch: &str,
) -> String {
    let mut text = format!("kernel: scope\nname: scope\narch: {arch}\noperands:\n");
    for (name, layout) in operands {
        let dtype = types(name);
        writeln!(text, "  {name}: {{ dtype: {dtype}, layout: \"{layout}\" }}").unwrap();
    }
    writeln!(text, "compute: |\n  {formula}").unwrap();
    text
}

/// The code of the first error of a report.
fn code(report: &str) -> &str {
    let behind = report.split_once("error[").map_or("", |(_, behind)| behind);
    behind.split(']').next().unwrap_or_default()
}

/// What computes a spec, or the report of what refuses it.
fn answer(text: &str) -> Result<&'static str, String> {
    let report = |error: tilewright_codegen::error::Error| error.report(false);
    let file = spec::parse("scope.yaml", text).map_err(report)?;
    let plan = plan::plan(&file.points[0]).map_err(|error| file.place(error).report(false))?;
    let Some(facts) = plan.mma.as_ref().and_then(|mma| mma.atom.mma.as_ref()) else {
        return Ok("yes");
    };
    Ok(match facts.thr_id.size().unwrap() {
        _ if facts.smem[1] => "`wgmma`",
        1 => "FMA",
        _ => "`mma.sync`",
    })
}
