//! Text output of results: the parts above and below the tables.

use howlate_analyse::Analysis;
use howlate_analyse::nodes::nodes;
use howlate_model::{Command, Work};

use crate::answer::{MOST_REMEDIES, SCREENFUL, answer, is_on_one_screen};
use crate::code_to_copy::to_copy;
use crate::detail::{Brevity, Detail};
use crate::ending::{ending_after_title, marked};
use crate::kept_timelines::kept_timelines;
use crate::machine::machine;
use crate::notes::{MOST_LINES, doubtful, doubts, notes};
use crate::numbers::{count, length};
use crate::prose::wrapped;
use crate::style::{BOLD, DIM, HEADING, WARN, paint};
use crate::until::until;
use crate::{
    cyclic, foreign, guests, insights, loads, nodes, notify, quick, sleep, steps, watch, watched_screen, why,
};

/// The result of a recording as text.
pub fn report(analysis: &Analysis, detail: Detail, width: usize) -> String {
    report_titled(analysis, &title(analysis), detail, width)
}

/// Like `report`, with a given title.
pub fn report_titled(analysis: &Analysis, title: &str, detail: Detail, width: usize) -> String {
    within(analysis, title, detail, (SCREENFUL, width))
}

/// Like `report`, in at most `room` lines.
pub(crate) fn report_within(analysis: &Analysis, room: usize, width: usize) -> String {
    within(analysis, &title(analysis), Detail::Brief, (room, width))
}

fn within(analysis: &Analysis, title: &str, detail: Detail, (room, width): (usize, usize)) -> String {
    let (result, timelines) =
        (without_timelines(analysis, title, detail, (room, width)), kept_timelines(analysis, detail, width));
    let is_apart = timelines.is_empty() || result.ends_with("\n\n");
    format!("{result}{}{timelines}", if is_apart { "" } else { "\n" })
}

fn without_timelines(
    analysis: &Analysis,
    title: &str,
    detail: Detail,
    (room, width): (usize, usize),
) -> String {
    if analysis.header.command == Command::Quick {
        return quick::quick(analysis, detail, width);
    }
    if detail != Detail::Full && is_on_one_screen(analysis) {
        let bottom = format!("{}{}", instrument(analysis, width), decision_text(analysis, width));
        return answer(analysis, detail, [&top(analysis, title, width), &bottom], width);
    }
    if detail != Detail::Full && watch::is_of_one_program(analysis) {
        return watched_screen::screen(analysis, &top(analysis, title, width), detail, width);
    }
    if detail != Detail::Full {
        let (top, doubts) = (top(analysis, title, width), few_doubts(analysis, width));
        if let Some(steps) = steps::answer(analysis, top.lines().count() + doubts.lines().count(), width) {
            return format!("{top}\n{steps}{doubts}{}", decision_text(analysis, width));
        }
    }
    let numbers_and_below = |brevity: Brevity| {
        let (numbers, below) = match analysis.members.len() {
            0 | 1 => {
                let numbers = bodies(analysis, (detail, brevity), width);
                (format!("\n{numbers}"), below(analysis, brevity, width))
            }
            _ => (node_tables(analysis, detail, width), String::new()),
        };
        (numbers, below + &decision_text(analysis, width))
    };
    let top = top(analysis, title, width);
    match detail {
        Detail::Brief | Detail::PerCpu => {
            let doubts = doubts(analysis, MOST_LINES, width);
            let doubts = if doubts.is_empty() { doubts } else { format!("\n{doubts}") };
            let text = |brevity, remedies| {
                let (numbers, below) = numbers_and_below(brevity);
                let why = why::in_brief(analysis, None, detail, remedies, width);
                format!("{top}{doubts}{numbers}{why}{below}")
            };
            fitting(analysis, text, room)
        }
        Detail::Full => {
            let (numbers, below) = numbers_and_below(Brevity::Whole);
            let why = why::why(analysis, None, detail, width);
            let (spans, copy) = (watch::spans(analysis, width), to_copy(analysis));
            let notes = notes(analysis, width);
            let notes = if notes.is_empty() { notes } else { format!("\n{notes}") };
            format!("{top}{notes}{numbers}{spans}{copy}{why}{below}")
        }
    }
}

/// The longest form that fits `room` lines, or the shortest. Watched programs have only one form.
fn fitting(analysis: &Analysis, text: impl Fn(Brevity, usize) -> String, room: usize) -> String {
    let is_watched = analysis.header.command == Command::Watch;
    let levels = if is_watched { &Brevity::ALL[..1] } else { &Brevity::ALL[..] };
    let mut shortest = String::new();
    for (brevity, remedies) in
        levels.iter().flat_map(|brevity| (1..=MOST_REMEDIES).rev().map(move |most| (*brevity, most)))
    {
        shortest = text(brevity, remedies);
        if shortest.lines().count() <= room {
            break;
        }
    }
    shortest
}

/// The first doubt, where the rest has to fit a screen.
fn few_doubts(analysis: &Analysis, width: usize) -> String {
    let doubt = doubtful(analysis).into_iter().next();
    doubt.map_or_else(String::new, |doubt| format!("\n{} {}\n", paint(WARN, "!"), wrapped(&doubt, width, 2)))
}

/// Background loads, and the cost of measuring.
fn below(analysis: &Analysis, brevity: Brevity, width: usize) -> String {
    let loads = loads::loads(analysis, width);
    let instrument = match analysis.boots.is_empty() {
        true if brevity.is(Brevity::WithoutAsides) => String::new(),
        true => instrument(analysis, width),
        false => guests::tables(analysis, brevity, width),
    };
    loads + &instrument
}

/// Most conditions of a merged recording that are also shown one by one.
const MOST_ONE_BY_ONE: usize = 16;

/// Comparison of several machines.
fn node_tables(analysis: &Analysis, detail: Detail, width: usize) -> String {
    let nodes = nodes::nodes(&nodes(analysis), width);
    let is_few = analysis.outcomes().len() <= MOST_ONE_BY_ONE;
    let one_by_one = if is_few { bodies(analysis, (detail, Brevity::Whole), width) } else { String::new() };
    let recordings: u64 = analysis.members.values().map(|member| member.recordings).sum();
    let scope =
        format!("{} recordings of {} machines", count(recordings), count(analysis.members.len() as u64));
    format!("{}\n\n{nodes}{one_by_one}", paint(DIM, scope))
}

const NO_WAKEUPS: &str = "No wake-up of a thread that was to be watched was seen.\n\n";

/// The tables of each kind of work.
fn bodies(analysis: &Analysis, extent: (Detail, Brevity), width: usize) -> String {
    let kinds: [WorkTables; 5] = [
        (
            |analysis, (_, brevity), width| {
                guests::sections(analysis, width, |part| sleep::tables(part, brevity, width))
            },
            |work| matches!(work, Work::Sleep { .. }),
        ),
        (
            |analysis, (_, brevity), width| cyclic::tables(analysis, brevity, width),
            |work| matches!(work, Work::Cyclic { .. }),
        ),
        (
            |analysis, extent, width| {
                guests::sections(analysis, width, |part| notify::tables(part, extent, width))
            },
            |work| matches!(work, Work::Notify { .. }),
        ),
        (
            |analysis, (detail, _), width| watch::tables(analysis, detail, width),
            |work| matches!(work, Work::Watch { .. }),
        ),
        (|analysis, _, width| foreign::tables(analysis, width), |work| matches!(work, Work::Foreign { .. })),
    ];
    let tables_of_kind = |(tables, is_kind): WorkTables| {
        let part = analysis.only(|condition| is_kind(condition.work));
        (!part.outcomes().is_empty()).then(|| tables(&part, extent, width))
    };
    let text: String = kinds.into_iter().filter_map(tables_of_kind).collect();
    if text.is_empty() && analysis.header.command == Command::Watch {
        return NO_WAKEUPS.to_owned();
    }
    text
}

/// Writes the tables of one kind of work, and selects the conditions of that kind.
type WorkTables = (fn(&Analysis, (Detail, Brevity), usize) -> String, fn(Work) -> bool);

fn top(analysis: &Analysis, title: &str, width: usize) -> String {
    let header = &analysis.header;
    let how = ending_after_title(analysis);
    let title = paint(HEADING, title);
    let host = if analysis.boots.is_empty() { "" } else { "host: " };
    let started = if header.started.is_empty() { String::new() } else { format!(" · {}", header.started) };
    let machine = match machine(&header.system) {
        machine if machine.is_empty() => String::new(),
        machine => format!("{}\n", paint(DIM, wrapped(&format!("{host}{machine}"), width, 0))),
    };
    let marked = marked(analysis).map_or_else(String::new, |text| format!("{}\n", wrapped(&text, width, 0)));
    format!("{}\n{machine}{marked}", wrapped(&format!("{title}{started}{how}"), width, 0))
}

/// The decision of a run with `--until`, at the end of the output.
fn decision_text(analysis: &Analysis, width: usize) -> String {
    until(analysis)
        .map_or_else(String::new, |decision| format!("\n{}\n", paint(BOLD, wrapped(&decision, width, 0))))
}

/// The command, or the program that measured.
fn title(analysis: &Analysis) -> String {
    let header = &analysis.header;
    if is_foreign(analysis) { header.command.to_string() } else { format!("howlate {}", header.command) }
}

/// Whether another program measured.
pub fn is_foreign(analysis: &Analysis) -> bool {
    analysis.header.howlate.is_empty()
}

/// The cost of measuring, in one line.
fn instrument(analysis: &Analysis, width: usize) -> String {
    // Threads of other programs do not read howlate's clock.
    if is_foreign(analysis) || analysis.header.command == Command::Watch {
        return String::new();
    }
    let instrument = analysis.header.instrument;
    let text = format!(
        "Included: {} per clock reading (resolution {}), {} of loop overhead.",
        length(instrument.clock_read),
        length(instrument.clock_precision),
        length(instrument.loop_cost)
    );
    format!("{}\n", paint(DIM, wrapped(&text, width, 0)))
}

/// Sentences on what the numbers mean.
pub fn meaning(analysis: &Analysis) -> Vec<String> {
    let first = analysis.outcomes().first().map(|outcome| &outcome.condition.work);
    match (&analysis.header.command, first) {
        (Command::Quick, _) => quick::sentences(analysis),
        (_, Some(Work::Notify { .. })) => notify::sentences(analysis),
        _ => insights::sentences(analysis),
    }
}
