//! Mechanisms after several gaps, a row for each: what fits a screen.

use howlate_analyse::Outcome;
use howlate_model::Span;

use crate::numbers::{length, micros};
use crate::result_columns::{ColumnSpec, MAX, MEDIAN, P99, RowNumbers};
use crate::table::Columns;

/// Conditions that still have a table for each mechanism.
const FEW: usize = 8;

/// Whether tables of each mechanism would not fit a screen.
pub(crate) fn is_long(group: &[&Outcome]) -> bool {
    group.len() > FEW && gaps(group).len() > 1 && by_mechanism(group).len() > 1
}

/// The median after each gap, and the worst of all.
pub(crate) fn overview(group: &[&Outcome], width: usize) -> String {
    let mechanisms = by_mechanism(group);
    let mut table = Columns::without_columns(1);
    let name = |all: &Vec<&Outcome>| all[0].condition.work.mechanism().to_string();
    table.column("median after", mechanisms.iter().map(name));
    for gap in gaps(group) {
        let of_gap = |all: &Vec<&Outcome>| {
            let of_gap = all.iter().filter(|one| one.condition.work.length() == gap);
            worst(of_gap, &MEDIAN)
        };
        table.column(&length(gap), mechanisms.iter().map(of_gap));
    }
    for column in [P99, MAX] {
        let heading = format!("{}, any gap", column.heading);
        table.column(&heading, mechanisms.iter().map(|all| worst(all.iter(), &column)));
    }
    table.text(width)
}

fn worst<'a>(all: impl Iterator<Item = &'a &'a Outcome>, column: &ColumnSpec) -> String {
    let numbers = all.filter_map(|one| RowNumbers::supported_by(one.latency()).nanos(column));
    numbers.max().map_or_else(|| "–".to_owned(), micros)
}

fn gaps(group: &[&Outcome]) -> Vec<Span> {
    let mut all: Vec<Span> = group.iter().map(|one| one.condition.work.length()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Those of each mechanism; the fastest after the longest gap first.
fn by_mechanism<'a>(group: &[&'a Outcome]) -> Vec<Vec<&'a Outcome>> {
    let mut all: Vec<Vec<&Outcome>> = Vec::new();
    for one in group {
        let mechanism = one.condition.work.mechanism();
        match all.iter_mut().find(|known| known[0].condition.work.mechanism() == mechanism) {
            Some(known) => known.push(one),
            None => all.push(vec![one]),
        }
    }
    let last = |of: &Vec<&Outcome>| {
        let last = of.iter().max_by_key(|one| one.condition.work.length());
        last.and_then(|one| one.latency().quantile(0.5))
    };
    all.sort_by_key(last);
    all
}

#[cfg(test)]
mod tests {
    use howlate_analyse::Analysis;
    use howlate_model::{
        Block, Condition, Header, Line, MonotonicTime, Notifier, Peers, ReceiverCpu, Wakeup, Work,
    };

    use super::*;

    const MECHANISMS: [Notifier; 3] = [Notifier::Pipe, Notifier::Futex, Notifier::Signal];

    /// Each mechanism after five gaps; the later it is named, the later it is.
    fn measured() -> Analysis {
        let gaps = (1..6).map(Span::from_millis);
        let of = |mechanism: &Notifier, after_ns| Work::Notify {
            mechanism: *mechanism,
            after_ns,
            between: Peers::Processes,
            sender_cpu: None,
            placement: None,
            receiver: ReceiverCpu::AsLeft,
            round_trip: false,
        };
        let conditions = gaps.flat_map(|gap| {
            MECHANISMS.iter().map(move |mechanism| Condition::new(of(mechanism, gap), "6.1.0"))
        });
        let conditions: Vec<Condition> = conditions.collect();
        let many = conditions.len();
        let mut analysis =
            Analysis::new(Header { command: "notify".into(), ..Header::for_conditions(conditions) });
        for (number, place) in (0..many).zip((0_i64..3).cycle()) {
            let at = MonotonicTime::from_nanos;
            let mut block = Block { condition: u32::try_from(number).unwrap(), ..Block::default() };
            let late = at(10_000 * (place + 1));
            (0..200).for_each(|_| block.record(Wakeup { expected: at(0), ran: late }, None));
            analysis.add(&Line::Block(Box::new(block)));
        }
        analysis
    }

    #[test]
    fn many_gaps_are_a_row_for_each_mechanism() {
        let analysis = measured();
        let shown = |detail| {
            let text = crate::report(&analysis, detail, 80);
            anstream::adapter::strip_str(&text).to_string()
        };
        let brief = shown(crate::Detail::Brief);
        let rows: Vec<&str> = brief.lines().filter(|line| line.trim_start().starts_with("futex ")).collect();
        assert_eq!(rows.len(), 1, "{brief}");
        assert_eq!(rows[0].split_whitespace().filter(|word| *word == "20.0").count(), 7, "{brief}");
        let at = |name: &str| brief.find(&format!("  {name}")).unwrap();
        assert!(at("pipe") < at("futex") && at("futex") < at("signal"), "the fastest first: {brief}");
        assert!(brief.contains("`howlate show --details`") && brief.lines().count() <= 40, "{brief}");
        assert!(brief.lines().all(|line| crate::prose::text_width(line) <= 80), "{brief}");
        assert!(shown(crate::Detail::Full).matches("after 3 ms").count() > 1, "a table each");
    }
}
