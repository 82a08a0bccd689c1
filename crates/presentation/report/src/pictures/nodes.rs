//! Latency of each node of a fleet: rows by conspicuousness, columns by condition.

use std::collections::HashMap;

use howlate_analyse::nodes::{NodeNumber, NodeSpread, NodeStatistic, RankedNode, rank_nodes};
use howlate_render::nodes_in_short;
use howlate_render::numbers::{count, micros_of};

use super::{Chart, ChartPanel, Picture, PictureSource, formats};
use crate::chart::{Drawing, Matrix, MatrixCell, MatrixRow, ThinRow, shade};
use crate::fleet::FleetNodes;
use crate::table::ReportTable;

const MAX_CONDITIONS: usize = 20;
/// Named rows without outliers, and at most.
const ROWS: usize = 24;
const MOST_ROWS: usize = 48;
/// Maximum thin rows; with more nodes, each stands for several.
const STRIPS: usize = 276;
/// Maximum rows of the table, and lines of the CSV.
const TABLE: usize = 100;
const DATA: usize = 2_000;
/// Limits between shades, in margins above the centre of the nodes.
const STEPS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];
const SHADES: [&str; 5] = ["≤ 1", "≤ 2", "≤ 4", "≤ 8", "> 8"];

/// `None` for a single machine.
pub(crate) fn picture(source: PictureSource<'_>) -> Option<Picture> {
    let first = source.fleets.first()?;
    let conditions: usize = source.fleets.iter().map(|fleet| columns(fleet, NodeStatistic::P50).len()).sum();
    let drawn_count: usize =
        source.fleets.iter().map(|fleet| columns(fleet, NodeStatistic::P50).len().min(MAX_CONDITIONS)).sum();
    Some(Picture {
        kind: Chart::Nodes,
        title: title(source.fleets),
        about: about(first),
        left_out: left_out(conditions - drawn_count, first),
        panels: source.fleets.iter().flat_map(|fleet| panels(fleet, source.fleets.len() > 1)).collect(),
        numbers: Some(numbers(first)),
    })
}

/// What is neither drawn_count nor in the CSV.
fn left_out(conditions: usize, fleet: &FleetNodes<'_>) -> Option<String> {
    let fields = columns(fleet, NodeStatistic::P50)
        .iter()
        .take(MAX_CONDITIONS)
        .map(|column| column.spread.nodes.len())
        .sum::<usize>();
    let cut = (fields > DATA).then(|| {
        format!("The data has the first {DATA} of {} fields; `--format json` has all.", count(fields as u64))
    });
    let sentences: Vec<String> = super::series::left_out(conditions).into_iter().chain(cut).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn title(fleets: &[FleetNodes<'_>]) -> String {
    let fleet_title = |fleet: &FleetNodes<'_>| {
        let summary = nodes_in_short(&fleet.spreads)?;
        Some(if fleets.len() > 1 { format!("{}: {summary}", fleet.recording.name) } else { summary })
    };
    fleets.iter().filter_map(fleet_title).collect::<Vec<_>>().join(" ").trim_end_matches('.').to_owned()
}

fn about(fleet: &FleetNodes<'_>) -> String {
    let nodes = &rank_nodes(&fleet.spreads);
    let margin = fleet.recording.analysis.margin;
    let margin = margin.map_or_else(|| "a tenth of the middle".to_owned(), |margin| margin.to_string());
    let strips = match (unnamed(nodes).len(), unnamed(nodes).chunks(nodes_per_line(nodes)).len()) {
        (0, _) => String::new(),
        (all, lines) if all == lines => {
            format!(" The {} others are thin lines, in the same order.", count(all as u64))
        }
        (all, lines) => format!(
            " The {} others are {lines} thin lines, in the same order: the worst of {} nodes each.",
            count(all as u64),
            nodes_per_line(nodes)
        ),
    };
    format!(
        "In µs. The shade is how far above the middle of the nodes, in margins of {margin}. ▲ and a frame: the node stands out, by more \
         than the margin and more than chance. The most conspicuous come first.{strips}"
    )
}

/// Number of nodes with a named row.
fn named_count(nodes: &[RankedNode<'_>]) -> usize {
    let out = nodes.iter().filter(|node| node.stands_out > 0).count();
    out.clamp(ROWS, MOST_ROWS).min(nodes.len())
}

fn unnamed<'a, 'b>(nodes: &'b [RankedNode<'a>]) -> &'b [RankedNode<'a>] {
    &nodes[named_count(nodes)..]
}

/// Nodes per thin row.
fn nodes_per_line(nodes: &[RankedNode<'_>]) -> usize {
    unnamed(nodes).len().div_ceil(STRIPS).max(1)
}

/// A condition and a statistic.
struct NodeColumn<'a> {
    name: String,
    spread: &'a NodeSpread,
    nodes: HashMap<&'a str, &'a NodeNumber>,
}

fn columns<'a>(fleet: &'a FleetNodes<'_>, statistic: NodeStatistic) -> Vec<NodeColumn<'a>> {
    let spreads_by_name = fleet.spreads.iter().zip(fleet.names());
    let of = spreads_by_name.filter(|(spread, _)| spread.statistic == statistic);
    let nodes = |spread: &'a NodeSpread| {
        spread.nodes.iter().map(|node_value| (node_value.node.as_str(), node_value)).collect()
    };
    of.map(|(spread, name)| NodeColumn { name, spread, nodes: nodes(spread) }).collect()
}

/// One panel per statistic, with the nodes in equal order.
fn panels(fleet: &FleetNodes<'_>, is_named: bool) -> Vec<ChartPanel> {
    let nodes = rank_nodes(&fleet.spreads);
    let panel = |statistic: NodeStatistic| {
        let mut columns = columns(fleet, statistic);
        columns.truncate(MAX_CONDITIONS);
        let heading = statistic.name().to_owned();
        let heading = if is_named { format!("{}: {heading}", fleet.recording.name) } else { heading };
        let data = csv(&columns, &nodes);
        let drawing = Drawing::Matrix(matrix(&columns, &nodes));
        (!columns.is_empty()).then_some(ChartPanel { heading, drawing, legend: Vec::new(), data })
    };
    NodeStatistic::ALL.into_iter().filter_map(panel).collect()
}

fn matrix(columns: &[NodeColumn<'_>], nodes: &[RankedNode<'_>]) -> Matrix {
    // Short names stand above the columns; long ones are numbered in the key.
    let is_short = columns.len() <= 3 && columns.iter().all(|column| column.name.chars().count() <= 12);
    let is_single = columns.len() == 1;
    let numbered = |(number, column): (usize, &NodeColumn<'_>)| format!("{} · {}", number + 1, column.name);
    let row = |node: &RankedNode<'_>| MatrixRow {
        name: if node.stands_out > 0 { format!("▲ {}", node.node) } else { node.node.to_owned() },
        cells: columns.iter().map(|column| cell(column, node.node)).collect(),
    };
    let heading = |(number, column): (usize, &NodeColumn<'_>)| match (is_single, is_short) {
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
        rows: nodes[..named_count(nodes)].iter().map(row).collect(),
        thin_rows: unnamed(nodes).chunks(nodes_per_line(nodes)).map(|nodes| strip(columns, nodes)).collect(),
        shades: SHADES.to_vec(),
        is_dense: true,
    }
}

fn cell(column: &NodeColumn<'_>, node: &str) -> Option<MatrixCell> {
    let node_value = column.nodes.get(node)?;
    let value = micros_of(node_value.value_ns);
    let middle = micros_of(column.spread.centre_ns);
    let name = if column.name.is_empty() { String::new() } else { format!(", {}", column.name) };
    Some(MatrixCell {
        shade: shade_of(column, node)?,
        label: if node_value.stands_out { format!("▲ {value}") } else { value.clone() },
        tooltip: format!("{node}{name}: {value} µs; the middle of the nodes is {middle} µs"),
        is_marked: node_value.stands_out,
    })
}

fn shade_of(column: &NodeColumn<'_>, node: &str) -> Option<&'static str> {
    let margins = column.spread.margins(column.nodes.get(node)?);
    Some(shade(STEPS.iter().filter(|step| margins > **step).count()))
}

/// The worst shade of these nodes in each column.
fn strip(columns: &[NodeColumn<'_>], nodes: &[RankedNode<'_>]) -> ThinRow {
    let worst = |column: &NodeColumn<'_>| nodes.iter().filter_map(|node| shade_of(column, node.node)).max();
    columns.iter().map(worst).collect()
}

fn csv(columns: &[NodeColumn<'_>], nodes: &[RankedNode<'_>]) -> String {
    let headings = ["node", "condition", "value_ns", "middle_ns", "stands_out"].map(str::to_owned);
    let cells = nodes.iter().flat_map(|node| columns.iter().map(move |column| (node.node, column)));
    let rows = cells.filter_map(|(node, column)| {
        let node_value = column.nodes.get(node)?;
        let numbers = [node_value.value_ns, column.spread.centre_ns].map(|value| format!("{value:.0}"));
        let [value, middle] = numbers;
        Some(vec![node.to_owned(), column.name.clone(), value, middle, node_value.stands_out.to_string()])
    });
    formats::csv(&headings, rows.take(DATA))
}

/// Table of the first nodes with all statistics.
fn numbers(fleet: &FleetNodes<'_>) -> ReportTable {
    let columns: Vec<NodeColumn<'_>> = NodeStatistic::ALL
        .into_iter()
        .flat_map(|statistic| columns(fleet, statistic).into_iter().take(MAX_CONDITIONS))
        .collect();
    let heading = |column: &NodeColumn<'_>| match column.name.as_str() {
        "" => column.spread.statistic.name().to_owned(),
        name => format!("{} · {name}", column.spread.statistic.name()),
    };
    let headings: Vec<String> =
        ["node".to_owned(), "stands out".to_owned()].into_iter().chain(columns.iter().map(heading)).collect();
    let value = |node: &str, column: &NodeColumn<'_>| {
        column.nodes.get(node).map_or_else(|| "–".to_owned(), |own| micros_of(own.value_ns))
    };
    let nodes = rank_nodes(&fleet.spreads);
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
    ReportTable::plain(&caption, &headings, 1, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Room;
    use crate::{NamedRecording, ReportInput, page, testing};

    /// The picture, and the page, of a fleet.
    fn picture_and_page(nodes: u32, late: &[u32]) -> (Picture, String) {
        let analysis = testing::fleet(nodes, late);
        let recordings = [NamedRecording::new("all.jsonl", &analysis)];
        let fleets = FleetNodes::all(&recordings);
        let entries = crate::entry::Entry::all(&recordings);
        let picture =
            picture(PictureSource { entries: &entries, comparison: None, fleets: &fleets }).unwrap();
        (picture, page(&ReportInput { recordings: &recordings, comparison: None }))
    }

    fn svg(picture: &Picture) -> String {
        picture.panels[0].drawing.svg(Room::Narrow, &picture.title).into_string()
    }

    #[test]
    fn a_late_node_is_marked_and_named() {
        let (picture, page) = picture_and_page(9, &[4]);
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
        let fleets = FleetNodes::all(&[NamedRecording::new("all.jsonl", &analysis)]);
        let mut columns = columns(&fleets[0], NodeStatistic::ALL[0]);
        columns[1].name.push_str(" · load stress-ng");
        let matrix = matrix(&columns, &rank_nodes(&fleets[0].spreads));
        assert_eq!(matrix.columns, ["1", "2"]);
        assert_eq!(matrix.key, ["1 · other", "2 · fifo:80 · load stress-ng"]);
    }

    #[test]
    fn two_nodes_are_no_choice_and_one_is_no_fleet() {
        let (picture, page) = picture_and_page(2, &[1]);
        assert_eq!(picture.title, "At least three nodes are needed to identify an outlier");
        assert!(!svg(&picture).contains("▲") && page.matches("At least three nodes").count() > 0);
        let analysis = testing::fleet(1, &[]);
        assert!(FleetNodes::all(&[NamedRecording::new("one.jsonl", &analysis)]).is_empty());
    }

    #[test]
    fn hundreds_of_nodes_are_thin_lines_below_those_that_stand_out() {
        let late: Vec<u32> = (0..30).map(|number| number * 10).collect();
        let (picture, page) = picture_and_page(300, &late);
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
        let (many, _) = picture_and_page(700, &[3]);
        assert!(
            many.about.contains("226 thin lines, in the same order: the worst of 3 nodes each"),
            "{}",
            many.about
        );
    }
}
