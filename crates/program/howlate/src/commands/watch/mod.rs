//! `howlate watch`

mod display;

use std::path::Path;

use std::fs::File;
use std::io;
use std::sync::Arc;

use howlate_analyse::Analysis;
use howlate_linux::termination::with_immediate_termination;
use howlate_live::LiveRun;
use howlate_model::Span;
use howlate_render::{legible, watched_until};
use howlate_session::{Environment, Goal, NotUntil, Recorder, Timelines, header};
use howlate_system::for_running;
use howlate_watch_session::{Attachment, Visibility, WatchDisplay, WatchOutcome, WatchRequest, WatchSession};
use howlate_watched_program::{WatchError, WatchTarget};

use self::display::{Beside, Threads, Whole};
use super::{print_result, say_kept};
use crate::error::Error;
use crate::exit_status::{self, Status};
use crate::startup;
use crate::terminal::{is_watched, say_all, tell, width};
use howlate_cli::{OutputArgs, WatchArgs, expand_shorthand};
use howlate_recording::HistoryEntry;

pub(crate) fn run(asked: &WatchArgs) -> Result<Status, Error> {
    let environment = startup::begin()?;
    let goal = asked.until.goal().map(|goal| Ok((goal, goal.of_watched()?))).transpose().map_err(refused)?;
    let output = output_kept(asked)?;
    let mut subject = subject(asked, output.as_ref())?;
    let kept = HistoryEntry::begin("watch", asked.out.as_deref(), asked.no_save);
    let watching = begin(asked, &environment, &mut subject, kept.path().as_deref())?;
    subject.release()?;
    // What cannot be started is not said to be watched.
    let seen = watching.visibility();
    let display = (!asked.printing.quiet).then(|| announce(asked, &environment, &subject, seen)).flatten();
    if let Some((Goal { figure, at_most }, (least, wakeups))) = goal.filter(|_| !asked.printing.quiet) {
        tell(&watched_until(figure, (least, wakeups), at_most, width()));
    }
    let watching = watching.with_display(display);
    let WatchOutcome { analysis, no_data_reason: nothing } =
        watching.run(&mut subject, &environment.interrupted);
    let failure = subject.end(&environment.interrupted);
    output.into_iter().for_each(say_all);
    if let Some(nothing) = nothing {
        kept.forget();
        return Err(failure.map_or(nothing.into(), Error::from));
    }
    print(asked, &analysis)?;
    say_kept(kept, asked.printing.quiet);
    // Without a length it goes on until somebody ends it.
    let status = match asked.max_duration() {
        Some(_) => exit_status::of_whole_run(&analysis, &asked.fail_above),
        None => exit_status::overall(&analysis, &asked.fail_above),
    };
    failure.map_or(Ok(status), |failure| Err(failure.into()))
}

/// What is to be watched. Who follows children means, of several processes of one name, the one that has started the others.
fn subject(asked: &WatchArgs, output: Option<&File>) -> Result<WatchTarget, WatchError> {
    let new = |process: Option<&str>| WatchTarget::new(process, asked.program(), asked.printing.json, output);
    match new(asked.process().as_deref()) {
        Err(WatchError::Several { first: Some(first), .. }) if asked.follow => new(Some(&first.to_string())),
        subject => subject,
    }
}

/// Begins to watch. A program that was started for it does not run yet.
pub(super) fn begin(
    asked: &WatchArgs,
    environment: &Environment,
    subject: &mut WatchTarget,
    kept: Option<&Path>,
) -> Result<WatchSession, Error> {
    let request = WatchRequest {
        tracer: asked.tracer,
        follow: asked.follow,
        loop_above: asked.loop_above,
        threads: &asked.thread,
        duration: asked.max_duration(),
    };
    // A program that does not run yet ends with this process.
    let attached =
        with_immediate_termination(|| Attachment::new(&request, &environment.system.kernel, subject))?;
    let mut header = header("watch", 0, environment, Vec::new());
    header.node = asked.identity.apply(header.node);
    // With `--` where the program begins, as `howlate show` reads it.
    header.arguments = words_as_understood();
    (header.late_above, header.until) = (asked.late_above, asked.until.until);
    if !subject.is_held() {
        header.findings.iter_mut().for_each(|one| for_running(one, subject.pid()));
    }
    let recorder = Recorder::somewhere(header, asked.out.as_deref(), kept, &environment.interrupted)?;
    let watching = WatchSession::new(attached, recorder, &environment.refused);
    let Some(keep) = asked.keep else { return Ok(watching) };
    let asked_for = startup::on_timeline_asked(&environment.timeline_asked)?;
    Ok(watching.with_timelines(Timelines::begin(
        keep,
        asked.late_above,
        asked.out.as_deref().or(kept),
        &asked_for,
    )))
}

/// What was typed, with `--` before a program that has options of its own.
fn words_as_understood() -> Vec<String> {
    let words = expand_shorthand(std::env::args_os()).into_iter().skip(1);
    words.map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Why it cannot be watched until that.
fn refused(reason: NotUntil) -> Error {
    reason.into()
}

/// Says what is not seen of it, and shows the rest if somebody watches.
fn announce(
    asked: &WatchArgs,
    environment: &Environment,
    subject: &WatchTarget,
    seen: Visibility,
) -> Option<Box<dyn WatchDisplay>> {
    seen.limitation().into_iter().for_each(tell);
    is_watched().then(|| display(asked, environment, subject))
}

/// The whole screen where the terminal is ours, or where that is wanted; where that will not do, some lines of it.
fn display(asked: &WatchArgs, environment: &Environment, subject: &WatchTarget) -> Box<dyn WatchDisplay> {
    let is_ours = subject.has_own_terminal();
    if is_ours || asked.live {
        match LiveRun::begin(&environment.interrupted) {
            Ok(live) => {
                let timeline = asked.keep.map(|_| Arc::clone(&environment.timeline_asked));
                return Whole::display(live.with_timelines(timeline), asked.max_duration());
            }
            Err(why) if asked.live => tell(&format!("No live view: {why}.\n")),
            Err(_) => {}
        }
    }
    tell(&what_is_watched(subject, asked.max_duration()));
    if is_ours { Threads::display() } else { Beside::display() }
}

/// Where the output of a program goes whose terminal has the live view: it is shown when that is over.
fn output_kept(asked: &WatchArgs) -> io::Result<Option<File>> {
    let is_started = asked.process().is_none();
    (asked.live && is_started && is_watched() && !asked.printing.quiet).then(tempfile::tempfile).transpose()
}

/// `WatchSession python3 (pid 4711) until it ends; Ctrl-C ends watching.`
fn what_is_watched(subject: &WatchTarget, duration: Option<Span>) -> String {
    let until = duration.map_or_else(|| "until it ends".to_owned(), |duration| format!("for {duration}"));
    let name = legible(subject.name());
    format!("Watching {name} (pid {}) {until}; Ctrl-C ends it earlier.\n", subject.pid())
}

fn print(asked: &WatchArgs, analysis: &Analysis) -> Result<(), Error> {
    let output = OutputArgs { out: asked.out.clone(), printing: asked.printing, ..OutputArgs::default() };
    print_result(analysis, &output, None, &asked.fail_above)
}
