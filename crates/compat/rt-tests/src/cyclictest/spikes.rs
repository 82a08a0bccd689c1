//! Latencies above `--spike`.

use howlate_model::MonotonicTime;

/// The first spikes, and how many there were.
#[derive(Clone, Debug)]
pub(crate) struct Spikes {
    above: i64,
    kept: Vec<Spike>,
    most: usize,
    count: u64,
}

/// One latency above the trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spike {
    at: MonotonicTime,
    thread: usize,
    value: i64,
}

impl Spikes {
    pub(crate) const fn new(above: i64, most: usize) -> Self {
        Self { above, kept: Vec::new(), most, count: 0 }
    }

    pub(crate) fn add(&mut self, thread: usize, value: i64, at: MonotonicTime) {
        if value <= self.above {
            return;
        }
        self.count += 1;
        // Threads are looked at one after another, so the first ones are not always the first seen.
        let place = self.kept.partition_point(|spike| spike.at <= at);
        if place < self.most {
            self.kept.insert(place, Spike { at, thread, value });
            self.kept.truncate(self.most);
        }
    }

    /// All lines; `ahead`: nanoseconds that the clock printed is ahead of the one measured with.
    pub(crate) fn text(&self, ahead: i64) -> String {
        let line = |spike: &Spike| {
            let micros = (spike.at.as_nanos() + ahead) / 1_000;
            format!("T:{:2} Spike:{:8}: TS: {micros:12}\n", spike.thread, spike.value)
        };
        let lines: String = self.kept.iter().map(line).collect();
        format!("\n{lines}spikes = {}\n\n", self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ones_are_kept_in_the_order_of_time() {
        let mut spikes = Spikes::new(5, 2);
        for (thread, value, at) in [(0, 6, 3_000), (0, 5, 4_000), (0, 9, 5_000), (1, 7, 1_000)] {
            spikes.add(thread, value, MonotonicTime::from_nanos(at));
        }
        assert_eq!(
            spikes.text(0),
            "\nT: 1 Spike:       7: TS:            1\nT: 0 Spike:       6: TS:            3\nspikes = 3\n\n"
        );
    }
}
