//! `check` on specs that write their formula: the form that it has, and why it has no other.

use std::fs;

use crate::session::tilewright;

#[test]
fn the_form_of_a_formula_is_told_and_why_it_is_no_other() {
    let text = r#"kernel: linear
name: linear_plain
arch: sm_80
operands:
  x: { dtype: bf16, layout: "(row,c):(ldx,1)" }
  w: { dtype: bf16, layout: "(out,c):(ldw,1)" }
  y: { dtype: bf16, layout: "(row,out):(ldy,1)" }
compute: |
  # Rows by columns.
  y[row,out] = sum[c] w[out,c] * x[row,c]
cta_tile: { row: 128, out: 128, c: 64 }
"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("linear/plain.yaml");
    fs::create_dir(path.parent().unwrap()).unwrap();
    for (text, verdict, code) in [
        (text.to_owned(), "good", 0),
        (text.replace("w[out,c] *", "(2 * w[out,c]) *"), "bad ", 1),
    ] {
        fs::write(&path, text).unwrap();
        let run = tilewright(["check", path.to_str().unwrap(), "--choices"]).expect(code);
        let brief = tilewright(["check", path.to_str().unwrap()]).expect(code);
        assert_eq!(
            brief.stdout.contains("     not "),
            code == 1,
            "{}",
            brief.stdout
        );
        let mut lines = run.stdout.lines();
        let head = lines.next().unwrap();
        assert!(head.starts_with(verdict), "{head}");
        assert!(head.contains(", form contraction"), "{head}");
        let others: Vec<&str> = lines.collect();
        let column = 16;
        let rows = "not rows: this sum is of products of two factors with modes of their own";
        let wanted = [
            format!("     {rows}, line 10 column {column}"),
            format!("     not chain: this is the only sum of products, line 10 column {column}"),
        ];
        assert_eq!(others, wanted);
        let report = tilewright(["check", "--json", path.to_str().unwrap()])
            .expect(code)
            .json();
        let form = &report[0]["form"];
        assert_eq!(form["form"], "contraction");
        assert_eq!(form["others"][0]["form"], "rows");
        assert_eq!(form["others"][0]["span"]["line"], 10);
    }
}
