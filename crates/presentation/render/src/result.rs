//! What stands above and below every result.

use howlate_analyse::Analysis;
use howlate_analyse::nodes::nodes;
use howlate_model::{Command, Work};

use crate::answer::{MOST_REMEDIES, SCREENFUL, answer, is_on_one_screen};
use crate::brevity::Brevity;
use crate::code_to_copy::to_copy;
use crate::detail::Detail;
use crate::ending::{ending_after_title, marked};
use crate::kept_timelines::kept_timelines;
use crate::machine::machine;
use crate::notes::{MOST_LINES, doubtful, doubts, notes};
use crate::numbers::{count, length};
use crate::prose::wrapped;
use crate::style::{BOLD, DIM, HEADING, WARN, paint};
use crate::until::until;
use crate::{cyclic, foreign, guests, loads, nodes, notify, quick, sleep, steps, watch, watched_screen, why};

/// The result of a recording, for a terminal.
pub fn report(analysis: &Analysis, detail: Detail, width: usize) -> String {
    report_titled(analysis, &title(analysis), detail, width)
}

/// The same under another title than the command that measured: of a folder, what was typed.
pub fn report_titled(analysis: &Analysis, title: &str, detail: Detail, width: usize) -> String {
    within(analysis, title, detail, (SCREENFUL, width))
}

/// The same in so many lines, where it is not to be in full; and columns.
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
        let bottom = format!("{}{}", instrument(analysis, width), decided(analysis, width));
        return answer(analysis, detail, [&top(analysis, title, width), &bottom], width);
    }
    if detail != Detail::Full && watch::is_of_one_program(analysis) {
        return watched_screen::screen(analysis, &top(analysis, title, width), detail, width);
    }
    if detail != Detail::Full {
        let (top, doubts) = (top(analysis, title, width), few_doubts(analysis, width));
        if let Some(steps) = steps::answer(analysis, top.lines().count() + doubts.lines().count(), width) {
            return format!("{top}\n{steps}{doubts}{}", decided(analysis, width));
        }
    }
    let numbers_and_below = |brevity: Brevity| {
        let (numbers, below) = match analysis.members.len() {
            0 | 1 => {
                let numbers = bodies(analysis, (detail, brevity), width);
                (format!("\n{numbers}"), below(analysis, brevity, width))
            }
            _ => (of_nodes(analysis, detail, width), String::new()),
        };
        (numbers, below + &decided(analysis, width))
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

/// The longest that has so many lines, or else the shortest; what is watched has one form here.
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

/// The first thing that makes the result doubtful, where the rest is to fit on a screen.
fn few_doubts(analysis: &Analysis, width: usize) -> String {
    let doubt = doubtful(analysis).into_iter().next();
    doubt.map_or_else(String::new, |doubt| format!("\n{} {}\n", paint(WARN, "!"), wrapped(&doubt, width, 2)))
}

/// What else ran, and what it was measured with.
fn below(analysis: &Analysis, brevity: Brevity, width: usize) -> String {
    let loads = loads::loads(analysis, width);
    let instrument = match analysis.boots.is_empty() {
        true if brevity.is(Brevity::WithoutAsides) => String::new(),
        true => instrument(analysis, width),
        false => guests::tables(analysis, brevity, width),
    };
    loads + &instrument
}

/// Conditions of a merged recording that are shown one by one as well.
const MOST_ONE_BY_ONE: usize = 16;

/// The same conditions on several machines.
fn of_nodes(analysis: &Analysis, detail: Detail, width: usize) -> String {
    let nodes = nodes::nodes(&nodes(analysis), width);
    let is_few = analysis.outcomes().len() <= MOST_ONE_BY_ONE;
    let one_by_one = if is_few { bodies(analysis, (detail, Brevity::Whole), width) } else { String::new() };
    let recordings: u64 = analysis.members.values().map(|member| member.recordings).sum();
    let of = format!("{} recordings of {} machines", count(recordings), count(analysis.members.len() as u64));
    format!("{}\n\n{nodes}{one_by_one}", paint(DIM, of))
}

const NOBODY_WOKE: &str = "No wake-up of a thread that was to be watched was seen.\n\n";

/// The tables of each kind of work that was measured.
fn bodies(analysis: &Analysis, extent: (Detail, Brevity), width: usize) -> String {
    let kinds: [Column; 5] = [
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
    let of_kind = |(tables, is_one): Column| {
        let part = analysis.only(|condition| is_one(condition.work));
        (!part.outcomes().is_empty()).then(|| tables(&part, extent, width))
    };
    let text: String = kinds.into_iter().filter_map(of_kind).collect();
    if text.is_empty() && analysis.header.command == Command::Watch {
        return NOBODY_WOKE.to_owned();
    }
    text
}

/// What writes the tables of one kind of work for a terminal of some width, and what tells the kind.
type Column = (fn(&Analysis, (Detail, Brevity), usize) -> String, fn(Work) -> bool);

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

/// What a run came to that went on until a question was decided: the answer, at the end of the screen.
fn decided(analysis: &Analysis, width: usize) -> String {
    until(analysis)
        .map_or_else(String::new, |known| format!("\n{}\n", paint(BOLD, wrapped(&known, width, 0))))
}

/// The command, or the other program that measured.
fn title(analysis: &Analysis) -> String {
    let header = &analysis.header;
    if is_foreign(analysis) { header.command.to_string() } else { format!("howlate {}", header.command) }
}

/// Whether another program measured it.
pub fn is_foreign(analysis: &Analysis) -> bool {
    analysis.header.howlate.is_empty()
}

/// What measuring costs, in one line.
fn instrument(analysis: &Analysis, width: usize) -> String {
    // Threads of others do not read howlate's clock.
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
