//! Latencies above the `--spike` trigger.

use howlate_model::MonotonicTime;

/// The first spikes, and the number of all.
#[derive(Clone, Debug)]
pub(crate) struct Spikes {
    threshold: i64,
    /// In the order of time, at most `capacity`.
    spikes: Vec<Spike>,
    capacity: usize,
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
    pub(crate) const fn new(threshold: i64, capacity: usize) -> Self {
        Self { threshold, spikes: Vec::new(), capacity, count: 0 }
    }

    pub(crate) fn add(&mut self, thread: usize, value: i64, at: MonotonicTime) {
        if value <= self.threshold {
            return;
        }
        self.count += 1;
        // Wake-ups arrive thread by thread, so they are not in the order of time.
        let index = self.spikes.partition_point(|spike| spike.at <= at);
        if index < self.capacity {
            self.spikes.insert(index, Spike { at, thread, value });
            self.spikes.truncate(self.capacity);
        }
    }

    /// One line per spike, and their number. `clock_offset_ns`: offset of the printed clock from `CLOCK_MONOTONIC`.
    pub(crate) fn text(&self, clock_offset_ns: i64) -> String {
        let line = |spike: &Spike| {
            let micros = (spike.at.as_nanos() + clock_offset_ns) / 1_000;
            format!("T:{:2} Spike:{:8}: TS: {micros:12}\n", spike.thread, spike.value)
        };
        let lines: String = self.spikes.iter().map(line).collect();
        format!("\n{lines}spikes = {}\n\n", self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_spikes_are_listed_in_the_order_of_time() {
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
