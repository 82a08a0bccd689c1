//! Which wake-ups get a timeline: the worst within a period.

use std::str::FromStr;

use howlate_model::{MonotonicTime, Span};

/// Maximum timelines per period: `10/h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineQuota {
    pub count: usize,
    /// Length of a period.
    pub each: Span,
}

impl FromStr for TimelineQuota {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let each = |unit: &str| match unit {
            "m" | "min" => Some(Span::from_secs(60)),
            "h" => Some(Span::from_secs(3_600)),
            "d" => Some(Span::from_secs(86_400)),
            _ => None,
        };
        let parsed = text.split_once('/').and_then(|(count, unit)| Some((count.parse().ok()?, each(unit)?)));
        let (count, each) = parsed.ok_or_else(|| {
            format!("`{text}` is not how many in a while; write `10/h`, `2/min`, `50/d`, or `0/h` for none")
        })?;
        Ok(Self { count, each })
    }
}

/// The timelines of the last period.
#[derive(Debug)]
pub struct WorstTimelines {
    quota: TimelineQuota,
    timelines: Vec<(MonotonicTime, Span, String)>,
}

impl WorstTimelines {
    pub const fn new(quota: TimelineQuota) -> Self {
        Self { quota, timelines: Vec::new() }
    }

    /// Whether a wait of this latency is one of the worst.
    pub fn is_among_worst(&mut self, latency: Span, now: MonotonicTime) -> bool {
        let each = self.quota.each;
        self.timelines.retain(|(at, ..)| now.since(*at) < each);
        let least = self.timelines.iter().map(|(_, length, _)| *length).min();
        self.timelines.len() < self.quota.count
            || (self.quota.count > 0 && least.is_some_and(|least| latency > least))
    }

    /// Latency of the shortest, if the quota is used up.
    pub fn least(&self) -> Option<Span> {
        let is_full = self.timelines.len() >= self.quota.count;
        self.timelines.iter().map(|(_, length, _)| *length).min().filter(|_| is_full)
    }

    /// Registers a timeline file; returns the file that it displaces.
    pub fn add(&mut self, latency: Span, now: MonotonicTime, file: String) -> Option<String> {
        let shortest = (0..self.timelines.len()).min_by_key(|place| self.timelines[*place].1);
        let displaced = shortest
            .filter(|_| self.timelines.len() >= self.quota.count)
            .map(|place| self.timelines.remove(place).2);
        self.timelines.push((now, latency, file));
        displaced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_a_while_are_kept() {
        let at = |minute: i64| MonotonicTime::from_nanos(minute * 60_000_000_000);
        let ms = Span::from_millis;
        let mut worst = WorstTimelines::new("2/h".parse().unwrap());
        for (minute, latency, expected) in [(1, 5, None), (2, 9, None), (3, 7, Some("5")), (4, 20, Some("7"))]
        {
            assert!(worst.is_among_worst(ms(latency), at(minute)));
            let displaced = worst.add(ms(latency), at(minute), latency.to_string());
            assert_eq!(displaced.as_deref(), expected);
        }
        assert!(!worst.is_among_worst(ms(9), at(5)), "it is no longer than the shortest");
        assert_eq!(worst.least(), Some(ms(9)));
        assert!(worst.is_among_worst(ms(1), at(63)), "the first hour is over");
        assert_eq!(worst.add(ms(1), at(63), "1".into()), None);
        assert!(!WorstTimelines::new("0/h".parse().unwrap()).is_among_worst(ms(9), at(1)));
        assert!("many".parse::<TimelineQuota>().is_err() && "5/s".parse::<TimelineQuota>().is_err());
    }
}
