//! Screens of an invented machine whose names are hostile.

use std::collections::HashMap;

use howlate_analyse::waits::{
    CpuHolderTime, WaitKind, WaitReason, WaitSum, WaitTable, WaitTotal, WaiterTotals,
};
use howlate_model::{Span, TracerRefusal};
use howlate_render::{TopBy, TopReport, TopView, is_legible};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::content::{SampledWait, TopContent, column_of};
use crate::choices::Choices;
use crate::paint_thread::Content;
use crate::panels::paint;
use crate::screenful::{Panel, Query, Screenful};
use crate::theme::LiveTheme;

const HOSTILE: &str = "\u{1b}[2J\r\n\u{202e}日本語\u{301}-and-on-and-on";

fn wait(kind: WaitKind, at: &str, count: u64, ms: u64) -> WaitTotal {
    let time = Span::from_millis(ms);
    let sum = WaitSum { time, count, whole: time, longest: time, looked_at: 1, ongoing: 0 };
    let functions = if at.is_empty() { Vec::new() } else { vec!["schedule".into(), HOSTILE.into()] };
    WaitTotal {
        reason: WaitReason { kind, at: at.into() },
        sum,
        share: ms as f64 / 5_000.0,
        behind: Vec::new(),
        functions,
    }
}

fn waiter(pid: u32, name: &str, waits: Vec<WaitTotal>) -> WaiterTotals {
    let (tid, of_kernel, threads, ended) = (None, false, 1, 0);
    WaiterTotals {
        pid: Some(pid),
        tid,
        name: name.into(),
        of_kernel,
        threads,
        ended,
        seen: Span::from_secs(5),
        waits,
    }
}

fn content(name: &str) -> TopContent {
    let mut cpu = wait(WaitKind::Cpu, "", 600, 2_500);
    let behind = |name: &str, pid, ms| CpuHolderTime { name: name.into(), pid, time: Span::from_millis(ms) };
    cpu.behind = vec![behind(name, Some(12), 2_450), behind("", None, 50)];
    let mut processes = vec![
        waiter(11, name, vec![cpu, wait(WaitKind::Timer, "sleeping", 3, 1_000)]),
        waiter(13, "dd", vec![wait(WaitKind::Disk, "reading a file", 9, 100)]),
        waiter(14, "sleep", vec![wait(WaitKind::Timer, "sleeping", 1, 4_999)]),
        waiter(15, "burner", vec![]),
    ];
    processes
        .extend((20..60).map(|pid| waiter(pid, "many", vec![wait(WaitKind::Pipe, "reading a pipe", 1, 9)])));
    let threads =
        processes.iter().map(|process| WaiterTotals { tid: process.pid, ..process.clone() }).collect();
    let table = WaitTable { processes, threads, ..WaitTable::default() };
    let refused = Some(TracerRefusal::NotPermitted);
    let groups = [(11, format!("/{name}")), (13, "/disk".to_owned())].into();
    let top = TopReport { source: "proc", refused, lasted: Span::from_secs(5), cpus: 2, table, groups };
    let sampled = |sample: u64| SampledWait {
        sample,
        mean: Span::from_millis(sample),
        longest: Span::from_millis(9 * sample),
    };
    let first = top.rows(&TopView::default(), true)[0].key;
    let histories = HashMap::from([(first, [1, 2, 4, 5].map(sampled).to_vec())]);
    let machine = "a machine".to_owned();
    TopContent { top, view: TopView::default(), every: Span::from_secs(2), machine, samples: 5, histories }
}

fn paint_to_backend(shown: &Screenful, choices: &mut Choices, [columns, rows]: [u16; 2]) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| paint(shown, choices, LiveTheme::new(true, true), frame.buffer_mut())).unwrap();
    terminal.backend().clone()
}

#[test]
fn tables_of_all_kinds() {
    for (place, by) in TopBy::ALL.into_iter().enumerate() {
        let shown = content(HOSTILE).screenful(&Query { group_by: place, ..Query::default() });
        for [columns, rows] in [[80, 24], [200, 60]] {
            let name = format!("{}_{columns}x{rows}", by.name());
            insta::assert_snapshot!(name, paint_to_backend(&shown, &mut Choices::new(), [columns, rows]));
        }
    }
}

#[test]
fn columns_stay_where_they_are_whatever_is_in_them() {
    let headings = |name: &str, idle| {
        let shown = content(name).screenful(&Query { idle, ..Query::default() });
        let screen = paint_to_backend(&shown, &mut Choices::new(), [80, 24]).to_string();
        screen.lines().find(|line| line.contains("waits for  ")).map(str::to_owned).unwrap()
    };
    assert_eq!(headings("a", false), headings(HOSTILE, true));
}

#[test]
fn idle_waits_are_hidden_until_asked_for() {
    let rows = |idle| content("hog").screenful(&Query { idle, ..Query::default() }).table.rows.len();
    assert_eq!(rows(true), rows(false) + 2, "two that sleep as they asked to");
}

#[test]
fn a_wait_has_its_history_with_gaps() {
    let shown = content("hog").screenful(&Query::default());
    let intervals = shown.history.unwrap().intervals;
    let values: Vec<Option<u64>> =
        intervals.iter().map(|interval| interval.values.map(|[mean, _]| mean / 1_000_000)).collect();
    assert_eq!(values, [Some(1), Some(2), None, Some(4), Some(5)]);
}

#[test]
fn orders_are_columns() {
    use howlate_analyse::waits::WaitOrder;
    let shown = content("hog").screenful(&Query::default());
    let heading = |order| column_of(order).map(|place| shown.table.columns[place].heading.clone());
    assert_eq!(heading(WaitOrder::HeldUp), None, "rows come in that order");
    assert_eq!(heading(WaitOrder::Longest).as_deref(), Some("max"));
    assert_eq!(heading(WaitOrder::Mean).as_deref(), Some("mean"));
    assert_eq!(heading(WaitOrder::Count).as_deref(), Some("waits"));
    assert_eq!(heading(WaitOrder::Time).as_deref(), Some("time"));
}

proptest! {
    #[test]
    fn no_name_and_no_size_breaks_a_screen(
        name in "[\u{1b}\u{202e}\u{200b}\u{7}a日\u{301}\n]{0,40}",
        columns in 0_u16..220,
        rows in 0_u16..70,
        panel in 0_usize..8,
        by in 0_usize..4,
    ) {
        let shown = content(&name).screenful(&Query { group_by: by, idle: true, ..Query::default() });
        let mut choices = Choices { expanded: Panel::ALL.get(panel).copied(), ..Choices::new() };
        drop(paint_to_backend(&shown, &mut choices, [columns, rows]));
        let grids = [Some(&shown.table), shown.causes.as_ref()].into_iter().flatten();
        let grids = grids.chain(shown.parts.iter().map(|(_, parts)| parts));
        for cell in grids.flat_map(|grid| grid.rows.iter().flat_map(|row| &row.cells)) {
            prop_assert!(cell.text.chars().all(is_legible), "{:?}", cell.text);
        }
        prop_assert!(shown.detail_of.chars().all(is_legible));
    }
}
