//! What stands above and below every result.

use howlate_analyse::{Analysis, exceeded_at_most};
use howlate_model::{Caveat, HowEnded, System, Work};

use crate::caveats::caveat;
use crate::numbers::{count, length};
use crate::style::{BOLD, DIM, WARN, paint};
use crate::{cyclic, guests, loads, notify, quick, sleep};

/// One line on the machine: `Intel … , 2 CPUs · Linux 6.18.44 PREEMPT_DYNAMIC · KVM guest`.
pub fn machine(system: &System) -> String {
    let cpus = match system.online.len() {
        1 => "1 CPU".to_owned(),
        n => format!("{n} CPUs"),
    };
    let mut parts =
        vec![if system.processor.is_empty() { cpus } else { format!("{}, {cpus}", system.processor) }];
    let preemption = system.preemption.as_deref().unwrap_or_default();
    parts.push(format!("Linux {} {preemption}", system.kernel).trim_end().to_owned());
    parts.extend(system.hypervisor.as_ref().map(|name| format!("{name} guest")));
    parts.extend(system.container.as_ref().map(|name| format!("{name} container")));
    parts.join(" · ")
}

/// The whole result of a recording, for a terminal.
pub fn report(analysis: &Analysis, width: usize) -> String {
    if analysis.header.command == "quick" {
        return quick::quick(analysis, width);
    }
    let loads = loads::loads(analysis, width);
    let below =
        if analysis.boots.is_empty() { instrument(analysis, width) } else { guests::tables(analysis, width) };
    format!("{}\n{}{loads}{below}{}", top(analysis), bodies(analysis, width), notes(analysis, width))
}

/// The tables of each kind of work that was measured.
fn bodies(analysis: &Analysis, width: usize) -> String {
    let kinds: [Kind; 3] = [
        (
            |analysis, width| guests::sections(analysis, |part| sleep::tables(part, width)),
            |work| matches!(work, Work::Sleep { .. }),
        ),
        (cyclic::tables, |work| matches!(work, Work::Cyclic { .. })),
        (
            |analysis, width| guests::sections(analysis, |part| notify::tables(part, width)),
            |work| matches!(work, Work::Notify { .. }),
        ),
    ];
    let of_kind = |(tables, is_one): Kind| {
        let part = analysis.only(|condition| is_one(condition.work));
        (!part.outcomes().is_empty()).then(|| tables(&part, width))
    };
    kinds.into_iter().filter_map(of_kind).collect()
}

/// What writes the tables of one kind of work for a terminal of some width, and what tells the kind.
type Kind = (fn(&Analysis, usize) -> String, fn(Work) -> bool);

fn top(analysis: &Analysis) -> String {
    let header = &analysis.header;
    let how = match analysis.end.as_ref().map(|end| end.how) {
        Some(HowEnded::Done) => "",
        Some(HowEnded::Interrupted) => " · interrupted",
        Some(HowEnded::StoppedAbove) => " · stopped at the threshold",
        None => " · did not end in order",
    };
    let title = paint(BOLD, format!("howlate {}", header.command));
    let host = if analysis.boots.is_empty() { "" } else { "host: " };
    format!(
        "{title} · {}{how}\n{}\n",
        header.started,
        paint(DIM, format!("{host}{}", machine(&header.system)))
    )
}

/// What measuring costs, in one line.
fn instrument(analysis: &Analysis, width: usize) -> String {
    let instrument = analysis.header.instrument;
    let text = format!(
        "Clock: {} per reading, steps of {}. One turn of the loop without the wait: {}. Included in the numbers.",
        length(instrument.clock_read_ns),
        length(instrument.clock_precision_ns),
        length(instrument.loop_ns)
    );
    format!("{}\n", paint(DIM, wrapped(&text, width, 0)))
}

/// What the maximum of a result is worth.
pub fn what_the_maximum_supports(n: u64) -> Option<String> {
    let one_in = exceeded_at_most(n).filter(|_| n >= 20)?;
    Some(format!(
        "no later than the max but for at most 1 wake-up in {} (95 %, if they are independent)",
        count(one_in)
    ))
}

/// Caveats, each once, with the conditions that they are about.
pub(crate) fn notes(analysis: &Analysis, width: usize) -> String {
    let mut notes: Vec<(Caveat, usize)> = analysis.caveats.iter().map(|one| (one.clone(), 0)).collect();
    for outcome in analysis.outcomes() {
        for one in outcome.caveats() {
            match notes.iter_mut().find(|(known, _)| caveat(known) == caveat(&one)) {
                Some((_, conditions)) => *conditions += 1,
                None => notes.push((one, 1)),
            }
        }
    }
    let several = analysis.outcomes().len() > 1;
    let line = |(one, conditions): &(Caveat, usize)| {
        let about = match conditions {
            0 => String::new(),
            n if several && *n < analysis.outcomes().len() => {
                format!(" ({n} of {} conditions)", analysis.outcomes().len())
            }
            _ => String::new(),
        };
        let text = format!("{}{about}", caveat(one));
        format!("{} {}\n", paint(WARN, "!"), wrapped(&text, width, 2))
    };
    notes.iter().map(line).collect()
}

/// `text` broken at `width`, further lines indented by `indent`.
pub fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let room = width.saturating_sub(indent).max(40);
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().map_or(0, |line| line.chars().count());
        match lines.last_mut() {
            Some(line) if last == 0 => line.push_str(word),
            Some(line) if last + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join(&format!("\n{:indent$}", ""))
}
