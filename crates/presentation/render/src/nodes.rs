//! Comparison of many machines under the same conditions.

use howlate_analyse::nodes::{GroupShift, NodeNumber, NodeSpread, NodeStatistic, RankedNode, rank_nodes};

use howlate_model::Span;

use crate::condition::condition;
use crate::numbers::{count, length, micros, micros_of};
use crate::prose::wrapped;
use crate::style::{BOLD, DIM, HEADING, WARN, paint};
use crate::table::TextTable;

/// Most rows of a table; there may be thousands of nodes.
const MOST_ROWS: usize = 20;
/// Most nodes named in a sentence.
const MOST_NAMED: usize = 10;

/// Most nodes named for a single late moment.
const MOST_LATE_ONCE: usize = 3;

/// Most conditions side by side.
const MOST_COLUMNS: usize = 8;

/// A summary of all conditions, then each with its nodes and sentences.
pub(crate) fn nodes(spreads: &[NodeSpread], width: usize) -> String {
    let conditions: Vec<&[NodeSpread]> = by_condition(spreads).collect();
    let is_too_few = rank_nodes(spreads).len() < 3;
    let one_by_one: String = conditions.iter().map(|spreads| section(spreads, is_too_few, width)).collect();
    let short =
        nodes_in_short(spreads).map_or_else(String::new, |text| format!("{}\n\n", wrapped(&text, width, 0)));
    let overview = if conditions.len() > 1 { overview(spreads, &conditions, width) } else { String::new() };
    format!("{short}{overview}{one_by_one}")
}

/// The spreads grouped by condition.
fn by_condition(spreads: &[NodeSpread]) -> impl Iterator<Item = &[NodeSpread]> {
    spreads.chunk_by(|spread, other| spread.condition == other.condition && spread.ran_as == other.ran_as)
}

/// `Of 300 nodes, 2 stand out: n17, n203.` `None` without nodes.
pub fn nodes_in_short(spreads: &[NodeSpread]) -> Option<String> {
    let rank_nodes = rank_nodes(spreads);
    let outliers: Vec<&RankedNode<'_>> = rank_nodes.iter().filter(|node| node.stands_out > 0).collect();
    let names: Vec<&str> = outliers.iter().take(MOST_NAMED).map(|node| node.node).collect();
    let names = names.join(", ");
    let sentence = match (rank_nodes.len(), outliers.len()) {
        (0, _) => return None,
        (1 | 2, _) => OF_TWO.to_owned(),
        (all, 0) => format!("None of {} nodes stands out.", count(all as u64)),
        (all, 1) => format!("Of {} nodes, 1 stands out: {names}.", count(all as u64)),
        (all, number) if number > MOST_NAMED => {
            let (all, number, more) =
                (count(all as u64), count(number as u64), count((number - MOST_NAMED) as u64));
            format!("Of {all} nodes, {number} stand out: {names} and {more} more.")
        }
        (all, number) => format!("Of {} nodes, {number} stand out: {names}.", count(all as u64)),
    };
    Some([Some(sentence), late_once(spreads)].into_iter().flatten().collect::<Vec<_>>().join(" "))
}

/// Nodes whose maximum was far above that of the others, each in its worst condition.
fn late_once(spreads: &[NodeSpread]) -> Option<String> {
    let mut late_nodes: Vec<(&NodeNumber, f64)> = Vec::new();
    for spread in spreads {
        for node in spread.once_late() {
            match late_nodes.iter_mut().find(|(existing, _)| existing.node == node.node) {
                Some((existing, _)) if existing.max_ns >= node.max_ns => {}
                Some(existing) => *existing = (node, spread.usual_max()),
                None => late_nodes.push((node, spread.usual_max())),
            }
        }
    }
    late_nodes.sort_by_key(|(node, _)| std::cmp::Reverse(node.max_ns));
    let shown: Vec<String> =
        late_nodes.iter().take(MOST_LATE_ONCE).map(|(node, usual)| once(node, *usual)).collect();
    let more = late_nodes.len() - shown.len();
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    (!shown.is_empty()).then(|| format!("Far above all others at least once: {}{more}.", shown.join(", ")))
}

/// `n7 (by 90 ms; the maximum of the others is usually 3 ms)`
fn once(node: &NodeNumber, usual: f64) -> String {
    let span = |nanos: i64| length(Span::from_nanos(nanos.unsigned_abs()));
    #[allow(clippy::cast_possible_truncation, reason = "nanoseconds")]
    let usual = span(usual as i64);
    format!("{} (by {}; the usual maximum of a node is {usual})", node.node, span(node.max_ns))
}

/// Difference of each node's median from the middle, the conditions side by side.
fn overview(spreads: &[NodeSpread], conditions: &[&[NodeSpread]], width: usize) -> String {
    let shown = &conditions[..conditions.len().min(MOST_COLUMNS)];
    let mut table = TextTable::new(&headings(shown.len()), 1);
    let rank_nodes = rank_nodes(spreads);
    for node in rank_nodes.iter().take(MOST_ROWS) {
        let cell = |spreads: &&[NodeSpread]| above(node.node, &spreads[0]);
        table.row(std::iter::once(node.node.to_owned()).chain(shown.iter().map(cell)).collect());
    }
    let key = |(number, spreads): (usize, &&[NodeSpread])| {
        format!("  {}  {}\n", number + 1, condition(&spreads[0]))
    };
    let key: String = shown.iter().enumerate().map(key).collect();
    let more = conditions.len() - shown.len();
    let more = if more > 0 { format!("  … and {more} more conditions below\n") } else { String::new() };
    let title = paint(HEADING, "How far the median of each node is from the middle");
    format!(
        "{}\n\n{}{}\n",
        wrapped(&format!("{title} · in µs, * stands out"), width, 0),
        table.text(width),
        paint(DIM, format!("{}{key}{more}", rest(rank_nodes.len())))
    )
}

fn headings(conditions: usize) -> Vec<String> {
    std::iter::once("node".to_owned()).chain((1..=conditions).map(|number| number.to_string())).collect()
}

/// Difference of a node from the middle, marked if it stands out: `+31.2 *`.
fn above(node: &str, spread: &NodeSpread) -> String {
    let Some(own) = spread.nodes.iter().find(|number| number.node == node) else { return "–".to_owned() };
    let text = signed(own.value_ns - spread.centre_ns);
    if own.stands_out { paint(WARN, format!("{text} *")) } else { text }
}

/// How many nodes have no row.
fn rest(nodes: usize) -> String {
    match nodes.saturating_sub(MOST_ROWS) {
        0 => String::new(),
        more => format!("  … and {} nodes that are earlier\n", count(more as u64)),
    }
}

/// One condition, with a line per statistic. With `is_too_few` the summary has said that there are too few nodes.
fn section(spreads: &[NodeSpread], is_too_few: bool, width: usize) -> String {
    let title = format!("{}: {} nodes", condition(&spreads[0]), spreads[0].nodes.len());
    let heading = wrapped(&format!("{} · latency in µs", paint(HEADING, title)), width, 0);
    let mut text = format!("{heading}\n\n{}\n", table(spreads, width));
    for spread in spreads {
        text.push_str(&format!("{}\n", paint(DIM, wrapped(&apart(spread), width, 2))));
        let sentences = if is_too_few { Vec::new() } else { sentences(spread, |node| paint(BOLD, node)) };
        for sentence in sentences {
            text.push_str(&format!("{}\n", wrapped(&format!("  {sentence}"), width, 2)));
        }
    }
    text.push('\n');
    text
}

/// The worst nodes first, by the first statistic.
fn table(spreads: &[NodeSpread], width: usize) -> String {
    let mut headings: Vec<String> = vec!["node".into(), "wake-ups".into()];
    for spread in spreads {
        headings.extend([spread.statistic.name().to_owned(), "± in blocks".into(), "from middle".into()]);
    }
    headings.push("max".into());
    let mut table = TextTable::new(&headings, 1);
    let order = &spreads[0].nodes;
    for node in order.iter().take(MOST_ROWS) {
        table.row(row(node, spreads));
    }
    format!("{}{}", table.text(width), paint(DIM, rest(order.len())))
}

fn row(node: &NodeNumber, spreads: &[NodeSpread]) -> Vec<String> {
    let absent = || "–".to_owned();
    let mut cells = vec![node.node.clone(), count(node.count)];
    for spread in spreads {
        let Some(own) = spread.nodes.iter().find(|number| number.node == node.node) else {
            cells.extend([absent(), absent(), absent()]);
            continue;
        };
        let marked = |text: String| if own.stands_out { paint(WARN, text) } else { text };
        cells.push(marked(micros_of(own.value_ns)));
        cells.push(micros_of(own.within_ns));
        cells.push(marked(signed(own.value_ns - spread.centre_ns)));
    }
    cells.push(micros(node.max_ns));
    cells
}

/// A difference in µs with its sign: `+31.2`, `-0.40`.
fn signed(nanos: f64) -> String {
    if nanos > 0.0 { format!("+{}", micros_of(nanos)) } else { micros_of(nanos) }
}

/// Spread between nodes, and variation within a node.
fn apart(spread: &NodeSpread) -> String {
    format!(
        "  {}: median of the nodes {} µs, spread between nodes {} µs, within a node {} µs. Differences below {} µs are ignored.",
        spread.statistic.name(),
        micros_of(spread.centre_ns),
        micros_of(spread.between_ns),
        micros_of(spread.within_ns),
        micros_of(spread.margin_ns)
    )
}

/// With two nodes neither can be called the outlier.
const OF_TWO: &str = "At least three nodes are needed to identify an outlier.";

/// The nodes that stand out, and what they have in common.
pub fn node_sentences(spread: &NodeSpread) -> Vec<String> {
    sentences(spread, str::to_owned)
}

fn sentences(spread: &NodeSpread, name: fn(&str) -> String) -> Vec<String> {
    if spread.nodes.len() < 3 {
        return vec![OF_TWO.to_owned()];
    }
    let outliers: Vec<&NodeNumber> = spread.nodes.iter().filter(|node| node.stands_out).collect();
    let mut sentences: Vec<String> =
        outliers.iter().take(MOST_NAMED).map(|node| stands_out(node, spread.statistic, name)).collect();
    if outliers.len() > MOST_NAMED {
        sentences.push(format!("{} more stand out as well.", count((outliers.len() - MOST_NAMED) as u64)));
    }
    if outliers.is_empty() {
        sentences.push(format!(
            "By {}, no node stands out: none is later than the others by more than {} µs and by more than chance.",
            match spread.statistic {
                NodeStatistic::P50 => "the median",
                NodeStatistic::P99 => "the usual p99 (the median of the p99s of its stretches of time)",
            },
            micros_of(spread.margin_ns)
        ));
    }
    sentences.extend(spread.groups.iter().take(MOST_NAMED).map(|group| in_common(group, spread.statistic)));
    sentences
}

/// `n3 is later than the other nodes: its median by 31 µs [27, 36].`
fn stands_out(node: &NodeNumber, statistic: NodeStatistic, name: fn(&str) -> String) -> String {
    let interval = node.interval_ns.map_or_else(String::new, |(low, high)| interval(low, high));
    format!(
        "{} is later than the other nodes: its {} by {} µs{interval}.",
        name(&node.node),
        statistic.name(),
        micros_of(node.difference_ns.unwrap_or(0.0)),
    )
}

fn interval(low: f64, high: f64) -> String {
    format!(" [{}, {}]", micros_of(low), micros_of(high))
}

/// `The 14 nodes with kernel 6.1 are 31 µs later [27, 36] than the 20 others, by the median.`
fn in_common(group: &GroupShift, statistic: NodeStatistic) -> String {
    let (low, high) = group.interval_ns;
    let (direction, sign) = if group.difference_ns > 0.0 { ("later", 1.0) } else { ("earlier", -1.0) };
    let (low, high) = if sign > 0.0 { (low, high) } else { (-high, -low) };
    format!(
        "The {} nodes with {} {} are {} µs {direction}{} than the {} others, by the {}.",
        group.nodes,
        group.property,
        group.value,
        micros_of(group.difference_ns.abs()),
        interval(low, high),
        group.others,
        statistic.name()
    )
}
