//! Comparison of two programs by pairs of runs in random order.

use howlate_analyse::quantile_ranks;

/// One number per program and pair.
#[derive(Default)]
pub struct Pairs {
    ours: Vec<f64>,
    reference: Vec<f64>,
}

impl Pairs {
    pub fn add(&mut self, ours: f64, reference: f64) {
        self.ours.push(ours);
        self.reference.push(reference);
    }

    /// `median of howlate, median of the rival, median difference [95 % interval]`, in the numbers' unit.
    pub fn line(&self, name: &str, rival: &str) -> String {
        let mut differences: Vec<f64> = self.ours.iter().zip(&self.reference).map(|(a, b)| a - b).collect();
        differences.sort_by(f64::total_cmp);
        let interval = quantile_ranks(differences.len() as u64, 0.5).map_or_else(
            || "too few pairs for an interval".to_owned(),
            |(low, high)| {
                format!("{:+.0} to {:+.0}", differences[low as usize - 1], differences[high as usize - 1])
            },
        );
        format!(
            "{name:6} howlate {:8.0}   {rival} {:8.0}   difference {:+8.0}  [{interval}]  n={}",
            median(&self.ours),
            median(&self.reference),
            median(&differences),
            differences.len()
        )
    }
}

pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}
