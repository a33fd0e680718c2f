//! Strides of operands: numbers, names, products of extents.
//!
//! Comes in: an entry of a layout, or that a layout has extents alone. Goes out: a stride. A name
//! is what a launch gives; a product of extents follows from the problem, and is a value of the
//! kernel like one that is given. No such value has the name of anything else.

use tilewright_bundle::{Expr, Names};
use tilewright_formula::signature::{RESERVED, is_name};
use tilewright_formula::{Axis, ModeExtent};
use tilewright_layout::Int;

use super::read::{Field, Reader};
use crate::error::shown;
use crate::spec::kernel::operand::Stride;
use crate::spec::kernel::shape::OperandShape;
use crate::spec::words::notation::{self, Entry, Strides};
use crate::spec::yaml::node::Value;

/// The name of scratch memory among a kernel's parameters.
pub(crate) const WORKSPACE: &str = "workspace";

/// Largest constant stride.
const MAX_STRIDE: i64 = 1 << 31;

impl Reader<'_> {
    /// The stride that an entry says, of the mode of that number.
    pub(in crate::spec) fn stride(
        &mut self,
        field: &Field<'_>,
        facts: &OperandShape,
        entry: &Entry,
        mode: usize,
    ) -> Option<Stride> {
        let least = i64::from(facts.is_written());
        let text = entry.value.to_string();
        let written = self
            .scalar(field, "")
            .and_then(|text| text.get(entry.at.clone()));
        let written = written.unwrap_or(&text).trim().to_owned();
        let (what, help) = match (entry.value.as_i64(), Product::read(&written)) {
            (Some(value), _) if (least..=MAX_STRIDE).contains(&value) => {
                return Some(Stride::Const(value));
            }
            (Some(value), _) => {
                let is_last = mode + 1 == facts.modes.len();
                let help = match (value < 0, value < 1 && !is_last) {
                    (true, _) => "give launches a copy in the other order: no kernel goes back \
                                  through memory"
                        .to_owned(),
                    // What is not packed along another mode has a stride that launches say.
                    (false, true) => format!("name it, as in \"{}\"", self.example(facts)),
                    (false, false) => format!("use {}", value.clamp(1, MAX_STRIDE)),
                };
                (
                    format!("allowed are numbers from {least} to {MAX_STRIDE}"),
                    help,
                )
            }
            (None, Some(product)) => match self.product_or_name(facts, &written, &product, mode) {
                Ok(stride) => return Some(stride),
                Err(why) => why,
            },
            (None, None) => (
                "a stride is a number, a name or a product of extents".to_owned(),
                format!(
                    "name it, as in \"{}\"; \"({})\" alone is without gaps",
                    self.example(facts),
                    facts.modes.join(",")
                ),
            ),
        };
        let span = self.part(field.node, entry.at.clone());
        let message = format!(
            "stride of {} in `{}` is `{}`; {what}",
            facts.modes[mode],
            field.path,
            shown(&written),
        );
        self.problems.add("wrong-stride", &span, message, help);
        None
    }

    /// A name, or a product of extents; else why it is neither, and the way out.
    fn product_or_name(
        &self,
        facts: &OperandShape,
        written: &str,
        product: &Product,
        mode: usize,
    ) -> Result<Stride, (String, String)> {
        let modes = self.modes();
        let unknown = |factor: &&Axis| {
            let known = factor
                .mode()
                .is_none_or(|mode| modes.iter().any(|one| one == mode));
            !known
        };
        let Some(stranger) = product.0.iter().find(unknown) else {
            return match self.product(product) {
                Some(of) => Ok(self.named(facts, mode, of)),
                None => {
                    let what = format!("it is more than {MAX_STRIDE}");
                    Err((what, "use a smaller product, or a name".to_owned()))
                }
            };
        };
        if product.0.len() > 1 || !is_name(written) {
            let what = format!(
                "`{stranger}` is no extent; the extents are {}",
                modes.join(", ")
            );
            let help = "multiply extents alone, or write a name of its own".to_owned();
            return Err((what, help));
        }
        match self.other_use(written) {
            None => Ok(Stride::Named(written.to_owned())),
            Some(other) => {
                let free = self.value_name(format!("ld{}", facts.name));
                let help = format!("use another name, such as `{free}`");
                Err((format!("that is {other}"), help))
            }
        }
    }

    /// The strides of elements one behind the other, those along the last mode first.
    pub(in crate::spec) fn contiguous(&self, shape: &OperandShape) -> Vec<Stride> {
        let axis = |text: &String| Axis::parse(text);
        let axes: Vec<Option<Axis>> = shape.modes.iter().map(axis).collect();
        let stride = |mode: usize| {
            let inner = axes.iter().skip(mode + 1).flatten();
            let product = Product(inner.cloned().collect());
            let of = self.product(&product).unwrap_or(Of::Constant(1));
            self.named(shape, mode, of)
        };
        (0..shape.modes.len()).map(stride).collect()
    }

    /// The stride of the mode of that number, by what it is.
    fn named(&self, shape: &OperandShape, mode: usize, of: Of) -> Stride {
        match of {
            Of::Constant(value) => Stride::Const(value),
            Of::Extents(value) => Stride::Product {
                name: self.value_name(format!("s{}{}", mode + 1, shape.name)),
                value,
            },
        }
    }

    /// The name in the kernel of a stride that the file does not name.
    pub(in crate::spec) fn value_name(&self, like: String) -> String {
        self.free_name(like, &self.written_strides(|_| true))
    }

    /// A layout as an operand may have it, with strides that nothing else has the names of.
    pub(in crate::spec) fn example(&self, shape: &OperandShape) -> String {
        let others = self.written_strides(|operand| operand != shape.name);
        shape.example(|like| self.free_name(like, &others))
    }

    /// A name like that one, which is none of these strides and nothing else.
    fn free_name(&self, like: String, strides: &[String]) -> String {
        let mut name = like;
        while strides.contains(&name) || self.other_use(&name).is_some() {
            name.push('_');
        }
        name
    }

    /// Constants of a product multiplied, and its extents as a launch computes them; none of what
    /// is no stride.
    fn product(&self, product: &Product) -> Option<Of> {
        let (mut times, mut words) = (1i64, Vec::new());
        for factor in &product.0 {
            let constant = match factor {
                Axis::Constant(extent) => Some(*extent),
                Axis::Mode(mode) => self.constant(mode),
                Axis::Quotient(..) | Axis::After(_) => None,
            };
            match (constant, factor) {
                (Some(extent), _) => times = times.checked_mul(extent)?,
                (None, Axis::Quotient(mode, by)) => words.push(format!("ceil_div({mode},{by})")),
                (None, Axis::After(mode)) => words.push(format!("({mode}+1)")),
                (None, other) => words.push(other.to_string()),
            }
        }
        if !(1..=MAX_STRIDE).contains(&times) {
            return None;
        }
        if words.is_empty() {
            return Some(Of::Constant(times));
        }
        if times > 1 {
            words.insert(0, times.to_string());
        }
        words.join("*").parse().ok().map(Of::Extents)
    }

    /// The extent of a mode that is the same in every launch.
    fn constant(&self, mode: &str) -> Option<i64> {
        let formula = self.shape.formula.as_ref()?;
        let mut modes = formula.0.signature.modes.iter();
        match modes.find(|one| one.name == mode)?.extent {
            ModeExtent::Constant(extent) => Some(extent),
            ModeExtent::Ragged(_) => None,
        }
    }

    /// The modes of all operands.
    fn modes(&self) -> Vec<String> {
        let axes = self.shape.operands.iter().flat_map(|one| &one.modes);
        let mut modes: Vec<String> = Vec::new();
        for axis in axes.filter_map(|text| Axis::parse(text)) {
            if let Some(mode) = axis
                .mode()
                .filter(|mode| modes.iter().all(|one| one != mode))
            {
                modes.push(mode.to_owned());
            }
        }
        modes
    }

    /// What else than a stride has that name.
    fn other_use(&self, name: &str) -> Option<&'static str> {
        let is_map = |name: &str| {
            name.strip_suffix("_map")
                .is_some_and(|one| self.is_operand(one))
        };
        let scalars = self.tree.find("scalars").map(|node| &node.value);
        let is_scalar = match scalars {
            Some(Value::Map(entries)) => entries.iter().any(|entry| entry.key == name),
            _ => false,
        };
        let is_runtime = Names::default().find(name).is_some() || name == WORKSPACE;
        let uses = [
            (self.modes().iter().any(|mode| mode == name), "an extent"),
            (self.is_operand(name), "an operand"),
            (is_scalar, "a scalar"),
            (RESERVED.contains(&name), "a word of the notation"),
            (
                is_runtime || is_map(name),
                "a name that kernels have for something else",
            ),
        ];
        uses.into_iter().find_map(|(is, what)| is.then_some(what))
    }

    fn is_operand(&self, name: &str) -> bool {
        self.shape.operands.iter().any(|one| one.name == name)
    }

    /// The texts of all strides of those operands of the file.
    fn written_strides(&self, of: impl Fn(&str) -> bool) -> Vec<String> {
        let Some(Value::Map(operands)) = self.tree.find("operands").map(|node| &node.value) else {
            return Vec::new();
        };
        let layout = |text: &str| match notation::layout(text) {
            Ok((_, Strides::Written(strides))) => strides,
            _ => Vec::new(),
        };
        let operands = operands.iter().filter(|entry| of(&entry.key));
        let strides =
            operands.flat_map(
                |entry| match entry.value.find("layout").map(|node| &node.value) {
                    Some(Value::Scalar { text, .. }) => layout(text),
                    _ => Vec::new(),
                },
            );
        strides.map(|entry| entry.value.to_string()).collect()
    }
}

/// What a product of extents is.
enum Of {
    /// A number.
    Constant(i64),
    /// What a launch computes, written as layouts write it.
    Extents(Expr),
}

/// Factors of a product: numbers and extents, or what may be a name of something else.
struct Product(Vec<Axis>);

impl Product {
    /// The product of that spelling: `p*n`, `2*n`.
    fn read(text: &str) -> Option<Product> {
        let factors = text.split('*').map(Axis::parse);
        Some(Product(factors.collect::<Option<_>>()?))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use crate::error::Error;
    use crate::spec::parse;

    /// A spec of two operands with these layouts.
    fn text(x: &str, d: &str) -> String {
        format!(
            "kernel: scaled\nname: scaled\narch: sm_80\noperands:\n  \
             x: {{ dtype: f32, layout: \"{x}\" }}\n  d: {{ dtype: f32, layout: \"{d}\" }}\n\
             scalars: {{ alpha: f32 }}\nmodes: {{ p: 4 }}\n\
             compute: d[m,p,n] = alpha * x[m,p,n]\ncta_tile: {{ p: 4, n: 128 }}\n"
        )
    }

    fn layouts(x: &str, d: &str) -> Vec<String> {
        let file = parse("scaled.yaml", &text(x, d)).unwrap();
        let again = parse("scaled.yaml", &file.spec.to_yaml().unwrap()).unwrap();
        assert_eq!(again.points[0].id, file.points[0].id, "{x} {d}");
        file.spec
            .problem
            .operands
            .iter()
            .map(|one| one.layout())
            .collect()
    }

    #[test]
    fn strides_are_numbers_names_and_products_of_extents() {
        for (x, d, wanted) in [
            ("(m,p,n)", "(m,p,n)", ["(m,p,n):(4*n,n,1)"; 2]),
            (
                "(m,p,n):(p*n,n,1)",
                "(m,p,n):(n*4,n,1)",
                ["(m,p,n):(4*n,n,1)"; 2],
            ),
            (
                "(m,p,n):(row,plane,1)",
                "(m,p,n):(row,plane,1)",
                ["(m,p,n):(row,plane,1)"; 2],
            ),
            (
                "(m,p,n):(1,m,p*m)",
                "(m,p,n):(2*n,8,ldx)",
                ["(m,p,n):(1,m,4*m)", "(m,p,n):(2*n,8,ldx)"],
            ),
        ] {
            assert_eq!(layouts(x, d), wanted);
        }
    }

    #[test]
    fn values_of_strides_have_names_of_their_own() {
        let file = parse("scaled.yaml", &text("(m,p,n)", "(m,p,n):(s1x,s2x,1)")).unwrap();
        let names = file.spec.problem.operands.iter().flat_map(|one| &one.axes);
        let names: Vec<&str> = names.filter_map(|axis| axis.stride.name()).collect();
        assert_eq!(names, ["s1x_", "s2x_", "s1x", "s2x"]);
    }

    #[test]
    fn names_of_other_things_are_no_strides() {
        for (stride, part) in [
            ("d", "that is an operand"),
            ("alpha", "that is a scalar"),
            ("sms", "for something else"),
            ("workspace", "for something else"),
            ("x_map", "for something else"),
            ("size", "a word of the notation"),
            ("q*n", "`q` is no extent; the extents are m, p, n"),
            ("n+4", "a number, a name or a product"),
            ("2147483649*n", "it is more than"),
        ] {
            let layout = format!("(m,p,n):({stride},n,1)");
            let Err(Error::Spec { problems, .. }) = parse("scaled.yaml", &text(&layout, "(m,p,n)"))
            else {
                panic!("{stride} is taken");
            };
            let message = &problems[0].message;
            assert!(message.contains(part), "{stride}: {message}");
        }
    }

    #[test]
    fn axes_stay_in_the_order_that_is_written() {
        let text = "kernel: mul\nname: mul\narch: sm_80\noperands:\n  \
                    a: { dtype: bf16, layout: \"(k,m)\" }\n  \
                    b: { dtype: bf16, layout: \"(k,n):(ldb,1)\" }\n  \
                    d: { dtype: f32, layout: \"(m,n)\" }\n\
                    compute: \"d[m,n] = sum[k] a[k,m] * b[k,n]\"\ncta_tile: \"(64,64,32)\"\n";
        let file = parse("mul.yaml", text).unwrap();
        let layouts: Vec<String> = file
            .spec
            .problem
            .operands
            .iter()
            .map(|one| one.layout())
            .collect();
        assert_eq!(layouts, ["(k,m):(m,1)", "(k,n):(ldb,1)", "(m,n):(n,1)"]);
        assert_eq!(
            file.spec.problem.compute.text,
            "d[m,n] = sum[k] a[k,m] * b[k,n]"
        );
        // The kernel itself has them as products do: rows, then what is summed.
        let modes = |at: usize| {
            file.spec.problem.operands[at]
                .axes
                .iter()
                .map(|one| one.mode.as_str())
        };
        assert_eq!(modes(1).collect::<Vec<_>>(), ["n", "k"]);
    }
}
