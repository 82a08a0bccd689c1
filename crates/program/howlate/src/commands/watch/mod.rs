//! `howlate watch`: measures how late the threads of a program run.

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
use howlate_session::{Environment, Goal, GoalError, LateActions, Recorder, SessionError, Timelines, header};
use howlate_system::for_running;
use howlate_trace::{Choice, Tier};
use howlate_watch_session::{Attachment, Visibility, WatchDisplay, WatchOutcome, WatchRequest, WatchSession};
use howlate_watched_program::{WatchError, WatchTarget};

use self::display::{LiveWatchDisplay, ThreadLines, ThreadList};
use super::{end_history, print_result, saved_as};
use crate::error::Error;
use crate::exit_status::{self, ExitStatus};
use crate::startup;
use crate::terminal::{eprint_file, eprint_wrapped, stderr_is_terminal, width};
use howlate_cli::{OutputArgs, WatchArgs, expand_shorthand};
use howlate_recording::HistoryEntry;

pub(crate) fn run(args: &WatchArgs) -> Result<ExitStatus, Error> {
    let environment = startup::begin()?;
    let goal =
        args.until.goal().map(|goal| Ok((goal, goal.of_watched()?))).transpose().map_err(from_not_until)?;
    let output = program_output(args)?;
    let mut subject = subject(args, output.as_ref())?;
    let history = HistoryEntry::begin("watch", args.out.as_deref(), args.no_save);
    let watching = begin(args, &environment, &mut subject, history.path().as_deref())?;
    subject.release()?;
    // Announced only once the program has started.
    let visibility = watching.visibility();
    let display =
        (!args.printing.common.quiet).then(|| announce(args, &environment, &subject, visibility)).flatten();
    if let Some((Goal { figure, at_most }, (least, wakeups))) = goal.filter(|_| !args.printing.common.quiet) {
        eprint_wrapped(&watched_until(figure, (least, wakeups), at_most, width()));
    }
    let watching = watching.with_display(display);
    let outcome = watching.run(&mut subject, &environment.interrupted);
    let WatchOutcome { mut analysis, no_data_reason } = outcome;
    let failure = subject.end(&environment.interrupted);
    output.into_iter().for_each(eprint_file);
    if let Some(reason) = no_data_reason {
        history.forget();
        return Err(failure.map_or(reason.into(), Error::from));
    }
    analysis.saved_as = saved_as(&history, args.out.as_deref());
    print(args, &analysis)?;
    end_history(history, args.printing.common.quiet);
    // Without a duration the user ends it, which is no interruption.
    let status = match args.max_duration() {
        Some(_) => exit_status::of_whole_run(&analysis, &args.fail_above),
        None => exit_status::overall(&analysis, &args.fail_above),
    };
    failure.map_or(Ok(status), |failure| Err(failure.into()))
}

/// The program to watch. With `--follow`, several processes of one name mean the one that started the others.
fn subject(args: &WatchArgs, output: Option<&File>) -> Result<WatchTarget, WatchError> {
    match args.process() {
        Some(process) if args.follows() => WatchTarget::running(&process),
        process => WatchTarget::new(process.as_deref(), args.program(), args.printing.common.json, output),
    }
}

/// Attaches to the program. A program that howlate starts does not run yet.
pub(super) fn begin(
    args: &WatchArgs,
    environment: &Environment,
    subject: &mut WatchTarget,
    history_path: Option<&Path>,
) -> Result<WatchSession, Error> {
    if args.requests && !matches!(args.tracer, Choice::Auto | Choice::Only(Tier::Bpf)) {
        return Err(Error::TracerWithoutRequests(args.tracer));
    }
    let request = WatchRequest {
        tracer: args.tracer,
        follow: args.follows(),
        loop_above: args.loop_above,
        requests: args.requests,
        threads: &args.thread,
        duration: args.max_duration(),
    };
    // A program that does not run yet is killed together with this process.
    let attachment =
        with_immediate_termination(|| Attachment::new(&request, &environment.system.kernel, subject))?;
    let mut header = header("watch", 0, environment, Vec::new());
    header.node = args.identity.apply(header.node);
    // In the form that `howlate show` reads, with `--` before the program.
    header.arguments = normal_arguments();
    (header.late_above, header.until) = (args.late_above, args.until.until);
    if !subject.is_held() {
        header.findings.iter_mut().for_each(|finding| for_running(finding, subject.pid()));
    }
    let recorder = Recorder::somewhere(header, args.out.as_deref(), history_path, &environment.interrupted)?;
    let watching = WatchSession::new(attachment, recorder, &environment.refused);
    if !args.on_late.is_empty() && watching.visibility() != Visibility::Wakers {
        return Err(SessionError::OnLateNotSeen.into());
    }
    let late_actions = args.late_above.filter(|_| !args.on_late.is_empty());
    let late_actions = late_actions.map(|above| LateActions::new(above, args.on_late.clone()));
    let watching = watching.with_late_actions(late_actions);
    let Some(keep) = args.keep else { return Ok(watching) };
    let timeline_request = startup::on_timeline_request(&environment.timeline_asked)?;
    Ok(watching.with_timelines(Timelines::begin(
        keep,
        args.late_above,
        args.out.as_deref().or(history_path),
        &timeline_request,
    )))
}

/// The arguments, with `--` before a program that has options of its own.
fn normal_arguments() -> Vec<String> {
    let arguments = expand_shorthand(std::env::args_os()).into_iter().skip(1);
    arguments.map(|argument| argument.to_string_lossy().into_owned()).collect()
}

fn from_not_until(reason: GoalError) -> Error {
    reason.into()
}

/// Prints what cannot be seen of the program; returns the display where standard error is a terminal.
fn announce(
    args: &WatchArgs,
    environment: &Environment,
    subject: &WatchTarget,
    visibility: Visibility,
) -> Option<Box<dyn WatchDisplay>> {
    visibility.limitation().into_iter().for_each(eprint_wrapped);
    stderr_is_terminal().then(|| display(args, environment, subject))
}

/// The live view, if the program leaves the terminal alone or on request; otherwise a list or lines.
fn display(args: &WatchArgs, environment: &Environment, subject: &WatchTarget) -> Box<dyn WatchDisplay> {
    let terminal_is_free = subject.has_own_terminal();
    if terminal_is_free || args.live {
        match LiveRun::begin(&environment.interrupted) {
            Ok(live) => {
                let timeline = args.keep.map(|_| Arc::clone(&environment.timeline_asked));
                return LiveWatchDisplay::display(live.with_timelines(timeline), args.max_duration());
            }
            Err(error) if args.live => eprint_wrapped(&format!("No live view: {error}.\n")),
            Err(_) => {}
        }
    }
    eprint_wrapped(&watch_announcement(subject, args.max_duration()));
    if terminal_is_free { ThreadList::display() } else { ThreadLines::display() }
}

/// File for the output of a program that shares its terminal with the live view; printed after the view ends.
fn program_output(args: &WatchArgs) -> io::Result<Option<File>> {
    let is_started = args.process().is_none();
    (args.live && is_started && stderr_is_terminal() && !args.printing.common.quiet)
        .then(tempfile::tempfile)
        .transpose()
}

/// `Watching python3 (pid 4711) until it ends; Ctrl-C ends watching.`
fn watch_announcement(subject: &WatchTarget, duration: Option<Span>) -> String {
    let until = duration.map_or_else(|| "until it ends".to_owned(), |duration| format!("for {duration}"));
    let name = legible(subject.name());
    format!("Watching {name} (pid {}) {until}; Ctrl-C ends it earlier.\n", subject.pid())
}

fn print(args: &WatchArgs, analysis: &Analysis) -> Result<(), Error> {
    let (out, details) = (args.out.clone(), args.printing.details);
    let output = OutputArgs { out, details, printing: args.printing.common, ..OutputArgs::default() };
    print_result(analysis, &output, None, &args.fail_above)
}
