//! How late each machine of a fleet is: a row for each, the most conspicuous first, a column for each condition.

use std::collections::HashMap;

use howlate_analyse::nodes::{NodeNumber, NodeStatistic, RankedNode, Spread, ranked};
use howlate_render::nodes_in_short;
use howlate_render::numbers::{count, micros_of};

use super::{Chart, Panel, Picture, Source, data};
use crate::chart::{Drawing, Field, Fields, Matrix, Strip, shade};
use crate::fleet::Fleet;
use crate::table::Table;

/// Conditions side by side.
const COLUMNS: usize = 20;
/// Rows with names, where none stands out; and at most.
const ROWS: usize = 24;
const MOST_ROWS: usize = 48;
/// Thin rows; where there are more nodes, each is several of them.
const STRIPS: usize = 276;
/// Rows of the table, and lines of the data.
const TABLE: usize = 100;
const DATA: usize = 2_000;
/// From shade to shade, so many margins above the middle of the nodes.
const STEPS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
const SHADES: [&str; 5] = ["≤ 1", "≤ 2", "≤ 4", "≤ 8", "> 8"];

/// The picture; nothing to draw where one machine has measured.
pub(crate) fn picture(source: Source<'_>) -> Option<Picture> {
    let first = source.fleets.first()?;
    let conditions: usize = source.fleets.iter().map(|fleet| columns(fleet, NodeStatistic::P50).len()).sum();
    let drawn: usize =
        source.fleets.iter().map(|fleet| columns(fleet, NodeStatistic::P50).len().min(COLUMNS)).sum();
    Some(Picture {
        kind: Chart::Nodes,
        title: title(source.fleets),
        about: about(first),
        left_out: left_out(conditions - drawn, first),
        panels: source.fleets.iter().flat_map(|fleet| panels(fleet, source.fleets.len() > 1)).collect(),
        numbers: Some(numbers(first)),
    })
}

/// What is neither drawn nor in the data.
fn left_out(conditions: usize, fleet: &Fleet<'_>) -> Option<String> {
    let fields = columns(fleet, NodeStatistic::P50)
        .iter()
        .take(COLUMNS)
        .map(|one| one.spread.nodes.len())
        .sum::<usize>();
    let cut = (fields > DATA).then(|| {
        format!("The data has the first {DATA} of {} fields; `--format json` has all.", count(fields as u64))
    });
    let sentences: Vec<String> = super::series::left_out(conditions).into_iter().chain(cut).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn title(fleets: &[Fleet<'_>]) -> String {
    let of = |fleet: &Fleet<'_>| {
        let said = nodes_in_short(&fleet.spreads)?;
        Some(if fleets.len() > 1 { format!("{}: {said}", fleet.recording.name) } else { said })
    };
    fleets.iter().filter_map(of).collect::<Vec<_>>().join(" ").trim_end_matches('.').to_owned()
}

fn about(fleet: &Fleet<'_>) -> String {
    let nodes = &ranked(&fleet.spreads);
    let margin = fleet.recording.analysis.margin;
    let margin = margin.map_or_else(|| "a tenth of the middle".to_owned(), |margin| margin.to_string());
    let strips = match (others(nodes).len(), others(nodes).chunks(each(nodes)).len()) {
        (0, _) => String::new(),
        (all, lines) if all == lines => {
            format!(" The {} others are thin lines, in the same order.", count(all as u64))
        }
        (all, lines) => format!(
            " The {} others are {lines} thin lines, in the same order: the worst of {} nodes each.",
            count(all as u64),
            each(nodes)
        ),
    };
    format!(
        "In µs. The shade is how far above the middle of the nodes, in margins of {margin}. ▲ and a frame: the node stands out, by more \
         than the margin and more than chance. The most conspicuous come first.{strips}"
    )
}

/// How many of the first nodes have rows of their own.
fn with_names(nodes: &[RankedNode<'_>]) -> usize {
    let out = nodes.iter().filter(|node| node.stands_out > 0).count();
    out.clamp(ROWS, MOST_ROWS).min(nodes.len())
}

fn others<'a, 'b>(nodes: &'b [RankedNode<'a>]) -> &'b [RankedNode<'a>] {
    &nodes[with_names(nodes)..]
}

/// How many of the other nodes a thin row is.
fn each(nodes: &[RankedNode<'_>]) -> usize {
    others(nodes).len().div_ceil(STRIPS).max(1)
}

/// A condition under one statistic.
struct Column<'a> {
    name: String,
    spread: &'a Spread,
    nodes: HashMap<&'a str, &'a NodeNumber>,
}

fn columns<'a>(fleet: &'a Fleet<'_>, statistic: NodeStatistic) -> Vec<Column<'a>> {
    let named = fleet.spreads.iter().zip(fleet.names());
    let of = named.filter(|(spread, _)| spread.statistic == statistic);
    let nodes = |spread: &'a Spread| spread.nodes.iter().map(|one| (one.node.as_str(), one)).collect();
    of.map(|(spread, name)| Column { name, spread, nodes: nodes(spread) }).collect()
}

/// One for each statistic, the nodes in the same order.
fn panels(fleet: &Fleet<'_>, is_named: bool) -> Vec<Panel> {
    let nodes = ranked(&fleet.spreads);
    let panel = |statistic: NodeStatistic| {
        let mut columns = columns(fleet, statistic);
        columns.truncate(COLUMNS);
        let heading = statistic.name().to_owned();
        let heading = if is_named { format!("{}: {heading}", fleet.recording.name) } else { heading };
        let data = csv(&columns, &nodes);
        let drawing = Drawing::Matrix(matrix(&columns, &nodes));
        (!columns.is_empty()).then_some(Panel { heading, drawing, legend: Vec::new(), data })
    };
    NodeStatistic::ALL.into_iter().filter_map(panel).collect()
}

fn matrix(columns: &[Column<'_>], nodes: &[RankedNode<'_>]) -> Matrix {
    // What is short enough needs no number to stand for it.
    let is_short = columns.len() <= 3 && columns.iter().all(|column| column.name.chars().count() <= 12);
    let is_single = columns.len() == 1;
    let numbered = |(number, column): (usize, &Column<'_>)| format!("{} · {}", number + 1, column.name);
    let row = |node: &RankedNode<'_>| Fields {
        name: if node.stands_out > 0 { format!("▲ {}", node.node) } else { node.node.to_owned() },
        fields: columns.iter().map(|column| field(column, node.node)).collect(),
    };
    let heading = |(number, column): (usize, &Column<'_>)| match (is_single, is_short) {
        (true, _) => String::new(),
        (_, true) => column.name.clone(),
        _ => (number + 1).to_string(),
    };
    Matrix {
        across: if is_single { String::new() } else { "condition".to_owned() },
        down: "node".to_owned(),
        key: if is_single || is_short {
            Vec::new()
        } else {
            columns.iter().enumerate().map(numbered).collect()
        },
        columns: columns.iter().enumerate().map(heading).collect(),
        rows: nodes[..with_names(nodes)].iter().map(row).collect(),
        strips: others(nodes).chunks(each(nodes)).map(|nodes| strip(columns, nodes)).collect(),
        shades: SHADES.to_vec(),
        is_dense: true,
    }
}

fn field(column: &Column<'_>, node: &str) -> Option<Field> {
    let own = column.nodes.get(node)?;
    let value = micros_of(own.value_ns);
    let middle = micros_of(column.spread.centre_ns);
    let name = if column.name.is_empty() { String::new() } else { format!(", {}", column.name) };
    Some(Field {
        shade: shade_of(column, node)?,
        label: if own.stands_out { format!("▲ {value}") } else { value.clone() },
        words: format!("{node}{name}: {value} µs; the middle of the nodes is {middle} µs"),
        is_marked: own.stands_out,
    })
}

fn shade_of(column: &Column<'_>, node: &str) -> Option<&'static str> {
    let margins = column.spread.margins(column.nodes.get(node)?);
    Some(shade(STEPS.iter().filter(|step| margins > **step).count()))
}

/// The worst of these nodes in each column.
fn strip(columns: &[Column<'_>], nodes: &[RankedNode<'_>]) -> Strip {
    let worst = |column: &Column<'_>| nodes.iter().filter_map(|node| shade_of(column, node.node)).max();
    columns.iter().map(worst).collect()
}

fn csv(columns: &[Column<'_>], nodes: &[RankedNode<'_>]) -> String {
    let headings = ["node", "condition", "value_ns", "middle_ns", "stands_out"].map(str::to_owned);
    let cells = nodes.iter().flat_map(|node| columns.iter().map(move |column| (node.node, column)));
    let rows = cells.filter_map(|(node, column)| {
        let own = column.nodes.get(node)?;
        let numbers = [own.value_ns, column.spread.centre_ns].map(|value| format!("{value:.0}"));
        let [value, middle] = numbers;
        Some(vec![node.to_owned(), column.name.clone(), value, middle, own.stands_out.to_string()])
    });
    data::csv(&headings, rows.take(DATA))
}

/// The first nodes with all their numbers.
fn numbers(fleet: &Fleet<'_>) -> Table {
    let columns: Vec<Column<'_>> = NodeStatistic::ALL
        .into_iter()
        .flat_map(|one| columns(fleet, one).into_iter().take(COLUMNS))
        .collect();
    let heading = |column: &Column<'_>| match column.name.as_str() {
        "" => column.spread.statistic.name().to_owned(),
        name => format!("{} · {name}", column.spread.statistic.name()),
    };
    let headings: Vec<String> =
        ["node".to_owned(), "stands out".to_owned()].into_iter().chain(columns.iter().map(heading)).collect();
    let value = |node: &str, column: &Column<'_>| {
        column.nodes.get(node).map_or_else(|| "–".to_owned(), |own| micros_of(own.value_ns))
    };
    let nodes = ranked(&fleet.spreads);
    let row = |node: &RankedNode<'_>| {
        let first = [node.node.to_owned(), format!("{} of {}", node.stands_out, fleet.spreads.len())];
        first.into_iter().chain(columns.iter().map(|column| value(node.node, column))).collect()
    };
    let rows = nodes.iter().take(TABLE).map(row).collect();
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let caption = match nodes.len() {
        all if all > TABLE => format!("How late, in µs: the first {TABLE} of {} nodes", count(all as u64)),
        _ => "How late, in µs".to_owned(),
    };
    Table::plain(&caption, &headings, 1, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Room;
    use crate::{Recording, Subject, page, testing};

    /// The picture, and the page, of a fleet.
    fn drawn(nodes: u32, late: &[u32]) -> (Picture, String) {
        let analysis = testing::fleet(nodes, late);
        let recordings = [Recording::new("all.jsonl", &analysis)];
        let fleets = Fleet::all(&recordings);
        let entries = crate::entry::Entry::all(&recordings);
        let picture = picture(Source { entries: &entries, comparison: None, fleets: &fleets }).unwrap();
        (picture, page(&Subject { recordings: &recordings, comparison: None }))
    }

    fn svg(picture: &Picture) -> String {
        picture.panels[0].drawing.svg(Room::Narrow, &picture.title).into_string()
    }

    #[test]
    fn a_late_node_is_marked_and_named() {
        let (picture, page) = drawn(9, &[4]);
        assert_eq!(picture.title, "Of 9 nodes, 1 stands out: n4");
        assert_eq!(
            picture.panels.iter().map(|panel| panel.heading.as_str()).collect::<Vec<_>>(),
            ["median", "usual p99"]
        );
        let svg = svg(&picture);
        assert!(svg.contains("aria-label=\"Of 9 nodes, 1 stands out: n4\""), "{svg}");
        assert_eq!((svg.matches("field h0").count(), svg.matches(" marked\"").count()), (8 * 2, 2), "{svg}");
        let first = svg.find(">▲ n4<").unwrap();
        assert!(
            (0..9).filter(|node| *node != 4).all(|node| svg.find(&format!(">n{node}<")).unwrap() > first)
        );
        assert!(svg.contains(">other<") && svg.contains(">fifo:80<") && svg.contains("▲ 8"), "{svg}");
        assert!(
            picture.panels[0].data.lines().nth(1).unwrap().starts_with("n4,other,"),
            "{}",
            picture.panels[0].data
        );
        assert!(page.contains("other: n4 is later than the other nodes: its median by"), "{page}");
    }

    #[test]
    fn what_is_too_long_for_a_column_has_a_number() {
        let analysis = testing::fleet(3, &[]);
        let fleets = Fleet::all(&[Recording::new("all.jsonl", &analysis)]);
        let mut columns = columns(&fleets[0], NodeStatistic::ALL[0]);
        columns[1].name.push_str(" · load stress-ng");
        let drawn = matrix(&columns, &ranked(&fleets[0].spreads));
        assert_eq!(drawn.columns, ["1", "2"]);
        assert_eq!(drawn.key, ["1 · other", "2 · fifo:80 · load stress-ng"]);
    }

    #[test]
    fn two_nodes_are_no_choice_and_one_is_no_fleet() {
        let (picture, page) = drawn(2, &[1]);
        assert_eq!(picture.title, "At least three nodes are needed to identify an outlier");
        assert!(!svg(&picture).contains("▲") && page.matches("At least three nodes").count() > 0);
        let analysis = testing::fleet(1, &[]);
        assert!(Fleet::all(&[Recording::new("one.jsonl", &analysis)]).is_empty());
    }

    #[test]
    fn hundreds_of_nodes_are_thin_lines_below_those_that_stand_out() {
        let late: Vec<u32> = (0..30).map(|one| one * 10).collect();
        let (picture, page) = drawn(300, &late);
        assert!(
            picture.title.starts_with("Of 300 nodes, 30 stand out: n")
                && picture.title.ends_with(" and 20 more")
        );
        let svg = svg(&picture);
        assert_eq!(svg.matches(">▲ n").count(), 30, "each that stands out has its name");
        assert!(
            svg.contains(">others<") && picture.about.contains("The 270 others are thin lines"),
            "{}",
            picture.about
        );
        assert!(page.len() < 3_000_000, "{}", page.len());
        let (many, _) = drawn(700, &[3]);
        assert!(
            many.about.contains("226 thin lines, in the same order: the worst of 3 nodes each"),
            "{}",
            many.about
        );
    }
}
