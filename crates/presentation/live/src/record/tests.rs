//! Screens of invented incidents whose names are hostile.

use howlate_model::{
    Cause, CauseKind, Incident, IncidentCause, IncidentKind, LateThread, LateThreshold, MonotonicTime, Part,
    Segment, Span,
};
use howlate_render::is_legible;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::content::IncidentLog;
use crate::choices::Choices;
use crate::paint_thread::Content;
use crate::panels::paint;
use crate::screenful::{Query, Screenful};
use crate::theme::LiveTheme;

const HOSTILE: &str = "\u{1b}[2J\r\n\u{202e}日本語\u{301}-and-on-and-on";

fn at(ms: i64) -> MonotonicTime {
    MonotonicTime::from_nanos(ms * 1_000_000)
}

fn incident(process: &str, ms: i64, latency: u64) -> Incident {
    let latency = Span::from_millis(latency);
    let cause = Cause::new(Part::Waiting, CauseKind::Thread, HOSTILE.to_owned());
    let name = process.to_owned();
    Incident {
        at: "2026-11-25T03:12:07.123456Z".to_owned(),
        at_ns: at(ms),
        latency,
        thread: LateThread {
            command: None,
            name: name.clone(),
            process: name,
            pid: 7,
            tid: 8,
            uid: 0,
            group: None,
            policy: None,
        },
        kind: IncidentKind::Woken,
        cpu: 1,
        parts: vec![Segment::new(cause, Some(9), at(ms).minus(latency), latency)],
        causes: vec![IncidentCause {
            process_id: None,
            command: None,
            is_recorder: false,
            kind: CauseKind::Thread,
            name: Some(HOSTILE.to_owned()),
            pid: Some(9),
            process: Some(HOSTILE.to_owned()),
            policy: None,
            group: None,
            took: latency,
            share: 1.0,
        }],
        idle_cpu: None,
        late_above: None,
        timeline: None,
        turn: None,
        server: None,
    }
}

fn screen() -> Screenful {
    let mut log = IncidentLog::new(
        "a machine".to_owned(),
        LateThreshold::Length(Span::from_millis(5)),
        format!("/{HOSTILE}"),
        at(0),
    );
    log.add(&[incident(HOSTILE, 1_000, 9), incident("server", 1_500, 70)], 0, at(2_000));
    log.add(&[incident("server", 5_000, 20)], 3, at(9_000));
    log.add_marks(1);
    log.screenful(&Query::default())
}

#[test]
fn whole_screens() {
    for [columns, rows] in [[80, 24], [200, 60]] {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        let screen = screen();
        terminal
            .draw(|frame| paint(&screen, &mut Choices::new(), LiveTheme::new(true, true), frame.buffer_mut()))
            .unwrap();
        insta::assert_snapshot!(format!("record_{columns}x{rows}"), terminal.backend());
    }
}

#[test]
fn the_latest_process_comes_first_with_its_causes_and_history() {
    let screen = screen();
    let rows: Vec<[&str; 3]> =
        screen.table.rows.iter().map(|row| [0, 1, 3].map(|cell| row.cells[cell].text.as_str())).collect();
    assert_eq!(rows[0], ["server", "2", "70.0 ms"]);
    let intervals = screen.history.unwrap().intervals;
    let worst: Vec<Option<u64>> =
        intervals.iter().map(|interval| interval.values.map(|[_, worst]| worst / 1_000_000)).collect();
    assert_eq!(worst, [Some(70), None, Some(20), None, None], "a moment is two seconds");
    let late = screen.late.unwrap();
    assert_eq!(late.rows[0].cells[1].text, "20.0 ms", "the newest first");
    assert_eq!(screen.doubts.len(), 1, "three were lost");
}

#[test]
fn every_text_is_legible() {
    let screen = screen();
    let grids = [Some(&screen.table), screen.causes.as_ref(), screen.late.as_ref()].into_iter().flatten();
    let grids = grids.chain(screen.parts.iter().map(|(_, parts)| parts));
    let cells =
        grids.flat_map(|grid| grid.rows.iter().flat_map(|row| row.cells.iter().map(|cell| &cell.text)));
    for text in cells.chain(&screen.fixed).chain([&screen.detail_of]) {
        assert!(text.chars().all(is_legible), "{text:?}");
    }
}
