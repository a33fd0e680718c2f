//! What the kernels are to give, in f64.

/// Numbers between -1 and 1, the same at each call.
pub fn drawn(count: usize) -> Vec<f32> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Rows in s8, each with its scale.
pub struct Quantized {
    scale: Vec<f64>,
    /// The rows before they are rounded.
    scaled: Vec<f64>,
}

/// The norm of rows of so many elements that lie so far apart, each divided by its largest element.
pub fn rmsnorm_s8(rows: &[f32], gain: &[f32], (n, apart): (usize, usize), eps: f32) -> Quantized {
    let (mut scale, mut scaled) = (Vec::new(), Vec::new());
    for row in rows.chunks(apart) {
        let row = row[..n].iter().map(|x| f64::from(*x));
        let squares: f64 = row.clone().map(|x| x * x).sum();
        let norm = (squares / n as f64 + f64::from(eps)).sqrt().recip();
        let products: Vec<f64> = row.zip(gain).map(|(x, g)| x * f64::from(*g)).collect();
        let top = products.iter().fold(0.0, |top: f64, x| top.max(x.abs()));
        scale.push(top * norm / 127.0);
        scaled.extend(products.iter().map(|x| x * 127.0 / top));
    }
    Quantized { scale, scaled }
}

impl Quantized {
    /// Scales that are off by more than f32 rounds, and elements that are no neighbour.
    pub fn wrong(&self, scale: &[f32], quantized: &[i8]) -> usize {
        let off = |(got, wanted): &(&f32, &f64)| (f64::from(**got) / **wanted - 1.0).abs() > 1e-5;
        let far = |(got, wanted): &(&i8, &f64)| (f64::from(**got) - **wanted).abs() > 0.5001;
        let scales = scale.iter().zip(&self.scale).filter(off).count();
        scales + quantized.iter().zip(&self.scaled).filter(far).count()
    }
}

/// Outputs of a layer, and what roundings of f32 may add up to.
pub struct Layer {
    outputs: Vec<f64>,
    allowed: Vec<f64>,
}

/// `silu(x · wᵀ + bias)`.
pub fn linear(inputs: &[f32], weights: &[f32], bias: &[f32]) -> Layer {
    let k = weights.len() / bias.len();
    let (mut outputs, mut allowed) = (Vec::new(), Vec::new());
    for row in inputs.chunks(k) {
        for (feature, bias) in weights.chunks(k).zip(bias) {
            let terms = row.iter().zip(feature);
            let terms = terms.map(|(x, w)| f64::from(*x) * f64::from(*w));
            let size: f64 = terms.clone().map(f64::abs).sum();
            let sum = terms.sum::<f64>() + f64::from(*bias);
            outputs.push(sum / (1.0 + (-sum).exp()));
            allowed.push((size + sum.abs() + 1.0) * k as f64 * f64::from(f32::EPSILON));
        }
    }
    Layer { outputs, allowed }
}

impl Layer {
    /// Elements that are farther off than roundings allow.
    pub fn wrong(&self, outputs: &[f32]) -> usize {
        let wanted = self.outputs.iter().zip(&self.allowed);
        let pairs = outputs.iter().zip(wanted);
        pairs
            .filter(|(got, (wanted, allowed))| (f64::from(**got) - **wanted).abs() > **allowed)
            .count()
    }
}
