//! Names of operands that are names of folds and functions too.
#![allow(clippy::unwrap_used)]

use tilewright_formula::print::print;
use tilewright_formula::{DType, Operand, Problem, Signature, check};

fn told(text: &str) -> Result<String, Vec<Problem>> {
    let operand = |name, modes| Operand::new(name, DType::F32, modes);
    let signature = Signature {
        operands: vec![
            operand("x", &["m", "n"]),
            operand("mean", &["m"]),
            operand("max", &["m"]),
            operand("exp", &["n"]),
            operand("d", &["m", "n"]),
        ],
        ..Signature::default()
    };
    check(text, &signature).map(|formula| print(&formula.tree))
}

#[test]
fn an_operand_may_have_the_name_of_a_fold() {
    for text in [
        "d[m,n] = (x[m,n] - mean[m]) * max[m] + exp[n]\n",
        "d[m,n] = mean[m] - x[m,n] + max[m] / exp[n]\n",
        "d[m,n] = exp(x[m,n] - max[m]) + max(mean[m], exp[n])\n",
        "d[m,n] = where(x[m,n] > max[m], mean[m], exp[n])\n",
        "d[m,n] = x[m,n] - (max[n] x[m,n]) + mean[m] * max[m] * exp[n]\n",
    ] {
        assert_eq!(told(text).unwrap(), text);
    }
}

#[test]
fn a_statement_may_write_what_has_the_name_of_a_fold() {
    let operand = |name, modes| Operand::new(name, DType::F32, modes);
    let signature = Signature {
        operands: vec![operand("x", &["m", "n"]), operand("d", &["m", "n"])],
        ..Signature::default()
    };
    let text = "max[m] = max[n] x[m,n]\nd[m,n] = x[m,n] - max[m]\n";
    let formula = check(text, &signature).unwrap();
    assert_eq!(print(&formula.tree), text);
}

#[test]
fn an_intermediate_is_no_index_and_that_is_said() {
    let operand = |name, dtype, modes| Operand::new(name, dtype, modes);
    let signature = Signature {
        operands: vec![
            operand("x", DType::F32, &["m", "n"]),
            operand("d", DType::F32, &["m"]),
        ],
        ..Signature::default()
    };
    let text = "best[m] = argmax[n] x[m,n]\nd[m] = x[m,best[m]]";
    let problems = check(text, &signature).unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].message, "`best` is computed here");
}

#[test]
fn types_of_other_languages_are_understood() {
    for (word, dtype) in [
        ("fp16", DType::F16),
        ("bfloat16", DType::BF16),
        ("int8", DType::S8),
        ("i32", DType::S32),
        ("Half", DType::F16),
        ("float8_e4m3fn", DType::E4M3),
    ] {
        assert_eq!(DType::meant(word), Some(dtype));
        let problems = told(&format!("d[m,n] = {word}(x[m,n]) + mean[m]*max[m]*exp[n]"));
        let help = problems.unwrap_err()[0].help.clone().unwrap();
        assert_eq!(help, format!("`{dtype}` is one"), "{word}");
    }
    assert_eq!(DType::meant("quux"), None);
}
