//! What gets a timeline: so many in a while, the worst.

use std::str::FromStr;

use howlate_model::{MonotonicTime, Span};

/// How many timelines are kept of a while: `10/h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtMost {
    /// Timelines kept in each stretch of time.
    pub count: usize,
    /// Of so long.
    pub each: Span,
}

impl FromStr for AtMost {
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

/// Those of the last while.
#[derive(Debug)]
pub struct Worst {
    most: AtMost,
    kept: Vec<(MonotonicTime, Span, String)>,
}

impl Worst {
    /// None so far.
    pub const fn new(most: AtMost) -> Self {
        Self { most, kept: Vec::new() }
    }

    /// Whether one of this length is one of the worst.
    pub fn is_one(&mut self, latency: Span, now: MonotonicTime) -> bool {
        let each = self.most.each;
        self.kept.retain(|(at, ..)| now.since(*at) < each);
        let least = self.kept.iter().map(|(_, length, _)| *length).min();
        self.kept.len() < self.most.count
            || (self.most.count > 0 && least.is_some_and(|least| latency > least))
    }

    /// The shortest that is kept, where no more fit beside it.
    pub fn least(&self) -> Option<Span> {
        let is_full = self.kept.len() >= self.most.count;
        self.kept.iter().map(|(_, length, _)| *length).min().filter(|_| is_full)
    }

    /// Its timeline is kept as this file; returns that of another one that is to go for it.
    pub fn keep(&mut self, latency: Span, now: MonotonicTime, file: String) -> Option<String> {
        let shortest = (0..self.kept.len()).min_by_key(|place| self.kept[*place].1);
        let gone =
            shortest.filter(|_| self.kept.len() >= self.most.count).map(|place| self.kept.remove(place).2);
        self.kept.push((now, latency, file));
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_a_while_are_kept() {
        let at = |minute: i64| MonotonicTime::from_nanos(minute * 60_000_000_000);
        let ms = Span::from_millis;
        let mut worst = Worst::new("2/h".parse().unwrap());
        for (minute, latency, expected) in [(1, 5, None), (2, 9, None), (3, 7, Some("5")), (4, 20, Some("7"))]
        {
            assert!(worst.is_one(ms(latency), at(minute)));
            let gone = worst.keep(ms(latency), at(minute), latency.to_string());
            assert_eq!(gone.as_deref(), expected);
        }
        assert!(!worst.is_one(ms(9), at(5)), "it is no longer than the shortest");
        assert_eq!(worst.least(), Some(ms(9)));
        assert!(worst.is_one(ms(1), at(63)), "the first hour is over");
        assert_eq!(worst.keep(ms(1), at(63), "1".into()), None);
        assert!(!Worst::new("0/h".parse().unwrap()).is_one(ms(9), at(1)));
        assert!("many".parse::<AtMost>().is_err() && "5/s".parse::<AtMost>().is_err());
    }
}
