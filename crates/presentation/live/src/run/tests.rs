//! Screens and panels of an invented run whose names are hostile.

use howlate_analyse::Analysis;
use howlate_model::{
    Block, Cause, CauseBlock, CauseKind, Caveat, Condition, Header, Latency, Ledger, Line, MonotonicTime,
    Part, Policy, Segment, Span, System, Wait, Wakeup, WakeupBreakdown, WakeupGrid as Periods, Work,
};
use howlate_render::{RunState, is_legible};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::recent::RecentWakeups;
use super::summary::{Baseline, screenful};
use crate::choices::Choices;
use crate::panels::paint;
use crate::screenful::{Panel, Query, Screenful};
use crate::theme::LiveTheme;

/// Clears the screen, ends the line, reverses the writing direction; wide and long.
const HOSTILE: &str = "\u{1b}[2J\r\n\u{202e}日本語\u{301}\u{200b}-a-name-that-goes-on-and-on";

const PERIOD: Span = Span::from_millis(1);

fn at(millis: i64, nanos: i64) -> MonotonicTime {
    MonotonicTime::from_nanos(millis * 1_000_000 + nanos)
}

fn conditions(name: &str) -> Vec<Condition> {
    let work = Work::Cyclic { mechanism: Wait::ClockNanosleep, period_ns: PERIOD };
    let other = Condition { name: Some(name.to_owned()), cpu: Some(0), ..Condition::new(work, "6.1.0") };
    let policy = "fifo:80".parse::<Policy>().unwrap();
    vec![other.clone(), Condition { cpu: Some(1), ..other.clone() }, Condition { policy, ..other }]
}

fn empty_analysis(name: &str) -> Analysis {
    let mut header = Header {
        howlate: "0.1.0".into(),
        command: "cyclic".into(),
        system: System { processor: name.to_owned(), kernel: "6.1.0".into(), ..System::default() },
        ..Header::for_conditions(conditions(name))
    };
    header.node.name = Some(name.to_owned());
    Analysis::new(header)
}

/// One second of wake-ups, most of them with latency `usual`; the last has `latest`, and misses periods where that is above one.
fn block(condition: u32, second: i64, typical: i64, latest: i64) -> Line {
    let (from, until) = (at(second * 1_000, 0), at(second * 1_000 + 1_000, 0));
    let mut block = Block { condition, from, until, ..Block::default() };
    for number in 0..200 {
        let latency = if number == 199 { latest } else { typical + number * 37 };
        let expected = at(second * 1_000 + number, 0);
        let ran = MonotonicTime::from_nanos(expected.as_nanos() + latency);
        block.record(Wakeup { expected, ran }, Some(Periods::endless(PERIOD)));
    }
    Line::Block(Box::new(block))
}

fn why(name: &str) -> Line {
    let mut ledger = Ledger::default();
    for number in 0..200_i64 {
        let late = 50_000 + number * number * 100;
        let cause = |part, kind, name: &str| Cause::new(part, kind, name.to_owned());
        let ran = at(900 + number, late);
        let from = at(900 + number, 0);
        let half = Span::from_nanos(late.unsigned_abs() / 2);
        let parts = vec![
            Segment::new(cause(Part::Waiting, CauseKind::Thread, name), Some(4_711), from, half),
            Segment::new(cause(Part::Return, CauseKind::Kernel, ""), None, from.plus(half), half),
        ];
        ledger.add(&WakeupBreakdown { at: ran, latency: Latency::from_nanos(late), cpu: Some(1), parts });
    }
    let (from, until) = (at(900, 0), at(1_900, 0));
    let tracer = "bpf".to_owned();
    Line::Why(Box::new(CauseBlock { condition: 0, round: 1, beside: 0, from, until, tracer, ledger }))
}

/// 24 seconds of a run; the first condition misses periods in the second one.
fn analysis(name: &str) -> Analysis {
    let mut analysis = empty_analysis(name);
    for second in 0..24 {
        let latest = if second == 1 { 4_900_000 } else { 700_000 + second * 30_000 };
        analysis.add(&block(0, second, 60_000 + second * 1_000, latest));
        analysis.add(&block(1, second, 61_000, 90_000));
        analysis.add(&block(2, second, 9_000, 40_000));
    }
    analysis.add(&Line::Caveat(Caveat::SamplesLost { count: 7 }));
    analysis.add(&why(name));
    analysis
}

fn screenful_of(analysis: &Analysis, query: &Query, baseline: Option<&Baseline>) -> Screenful {
    let mut recent = RecentWakeups::default();
    recent.update(analysis);
    let run = RunState {
        analysis,
        threads: &[],
        now: analysis.header.conditions.get(2),
        stage: None,
        turns: Some([3, 12]),
        lasts: Span::ZERO,
        time: Some([Span::from_secs(34), Span::from_secs(60)]),
        away: None,
    };
    screenful(&run, query, baseline, &recent)
}

fn paint_to_backend(
    screen: &Screenful,
    choices: &mut Choices,
    theme: LiveTheme,
    [columns, rows]: [u16; 2],
) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| paint(screen, choices, theme, frame.buffer_mut())).unwrap();
    terminal.backend().clone()
}

const SIZES: [[u16; 2]; 2] = [[80, 24], [200, 60]];

fn check(name: &str, screen: &Screenful, choices: &Choices, theme: LiveTheme) {
    for [columns, rows] in SIZES {
        let painted = paint_to_backend(screen, &mut choices.clone(), theme, [columns, rows]);
        insta::assert_snapshot!(format!("{name}_{columns}x{rows}"), painted);
    }
}

#[test]
fn whole_screens() {
    let screen = screenful_of(&analysis(HOSTILE), &Query::default(), None);
    check("all", &screen, &Choices::new(), LiveTheme::new(true, true));
    check("ascii", &screen, &Choices::new(), LiveTheme::new(false, false));
    check("help", &screen, &Choices { help: true, ..Choices::new() }, LiveTheme::new(true, true));
    let filter = Choices { filter: "fifo".to_owned(), is_typing: true, ..Choices::new() };
    check("filter", &screen, &filter, LiveTheme::new(true, true));
}

#[test]
fn single_panels() {
    let screen = screenful_of(&analysis(HOSTILE), &Query { each_cpu: true, ..Query::default() }, None);
    for panel in Panel::ALL {
        let choices = Choices { focus: panel, expanded: Some(panel), ..Choices::new() };
        check(&format!("panel_{panel:?}").to_lowercase(), &screen, &choices, LiveTheme::new(true, true));
    }
}

#[test]
fn before_anything_has_woken() {
    let screen = screenful_of(&empty_analysis("cpu"), &Query::default(), None);
    check("nothing", &screen, &Choices::new(), LiveTheme::new(true, true));
}

#[test]
fn without_colours_there_are_none() {
    let screen = screenful_of(&analysis(HOSTILE), &Query::default(), None);
    let has_colours = |theme| {
        let painted = paint_to_backend(&screen, &mut Choices::new(), theme, [200, 60]);
        let reset = ratatui::style::Color::Reset;
        painted.buffer().content.iter().any(|cell| cell.fg != reset || cell.bg != reset)
    };
    assert!(has_colours(LiveTheme::new(true, true)));
    assert!(!has_colours(LiveTheme::new(false, true)));
}

#[test]
fn nothing_but_ascii_is_in_pictures_where_nothing_else_can_be_shown() {
    let screen = screenful_of(&analysis("plain"), &Query::default(), None);
    let panels = [Panel::History, Panel::Histogram, Panel::HeatMap];
    for panel in panels {
        let mut choices = Choices { expanded: Some(panel), ..Choices::new() };
        let painted = paint_to_backend(&screen, &mut choices, LiveTheme::new(true, false), [100, 30]);
        let all = &painted.buffer().content;
        let strange: Vec<&str> =
            all.iter().map(|cell| cell.symbol()).filter(|symbol| !symbol.is_ascii()).collect();
        assert!(strange.is_empty(), "{panel:?}: {strange:?}");
    }
}

#[test]
fn maxima_begin_anew_and_nothing_is_forgotten() {
    let mut analysis = analysis("plain");
    let baseline = Baseline::of(&analysis);
    let cells = |analysis: &Analysis| {
        let screen = screenful_of(analysis, &Query::default(), Some(&baseline));
        let place =
            |heading: &str| screen.table.columns.iter().position(|column| column.heading == heading).unwrap();
        let row = &screen.table.rows[0];
        [place("max"), place("max since R")].map(|column| row.cells[column].text.clone())
    };
    assert_eq!(cells(&analysis), ["4 900", "–"], "nothing has woken since");
    analysis.add(&block(0, 30, 60_000, 800_000));
    let [all, since] = cells(&analysis);
    let since: f64 = since.parse().unwrap();
    assert_eq!(all, "4 900");
    assert!((since - 800.0).abs() < 8.0, "to the width of a bucket: {since}");
    analysis.add(&block(0, 31, 60_000, 6_000_000));
    assert_eq!(cells(&analysis), ["6 000", "6 000"]);
}

#[test]
fn late_wake_ups_come_once_and_the_newest_first() {
    let mut analysis = empty_analysis("plain");
    let mut recent = RecentWakeups::default();
    let mut update = |analysis: &Analysis| {
        recent.update(analysis);
        let (late, _) = recent.tables(&[], &[], analysis);
        late.rows.iter().map(|row| row.cells[1].text.clone()).collect::<Vec<_>>()
    };
    assert!(update(&analysis).is_empty());
    analysis.add(&block(0, 0, 60_000, 800_000));
    let first = update(&analysis);
    assert_eq!(first[0], "800 µs");
    assert_eq!(update(&analysis), first, "none comes twice");
    analysis.add(&block(0, 1, 60_000, 900_000));
    assert_eq!(update(&analysis)[0], "900 µs");
}

/// All texts that may contain names.
fn texts(screen: &Screenful) -> Vec<&String> {
    let grids = [Some(&screen.table), screen.causes.as_ref(), screen.late.as_ref()].into_iter().flatten();
    let grids = grids.chain(screen.parts.iter().map(|(_, parts)| parts));
    let cells =
        grids.flat_map(|grid| grid.rows.iter().flat_map(|row| row.cells.iter().map(|cell| &cell.text)));
    cells.chain(&screen.fixed).chain(&screen.doubts).chain([&screen.machine, &screen.detail_of]).collect()
}

proptest! {
    #[test]
    fn no_name_and_no_size_breaks_a_screen(
        name in "[\u{1b}\u{202e}\u{200b}\u{7}a日\u{301}\n]{0,40}",
        columns in 0_u16..220,
        rows in 0_u16..70,
        panel in 0_usize..8,
        narrowed in 0_u32..12,
    ) {
        let screen = screenful_of(&analysis(&name), &Query::default(), None);
        let expanded = Panel::ALL.get(panel).copied();
        let mut choices = Choices { expanded, narrowed, filter: String::new(), ..Choices::new() };
        drop(paint_to_backend(&screen, &mut choices, LiveTheme::new(true, true), [columns, rows]));
        for text in texts(&screen) {
            prop_assert!(text.chars().all(is_legible), "{text:?}");
        }
    }
}
