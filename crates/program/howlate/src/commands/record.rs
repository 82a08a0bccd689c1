//! `howlate record`: records late wake-ups of the whole machine.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use howlate_blackbox::{
    DiskEvent, InstalledFiles, ListenError, RecorderDisplay, RecorderOptions, RecordingSummary, ServerEvent,
    SignalFlags, SystemdUnit, at_start_priority,
};
use howlate_linux::clock;
use howlate_live::LiveRecord;
use howlate_model::{Caveat, Header, Incident, MissingProbes, MonotonicTime, WaitClock, shell_path};
use howlate_recording::new_id;
use howlate_render::{
    RecordEnd, caveat, disk_refuses, disk_takes_again, folder_is_gone, late_above, legible,
    lines_not_written, machine,
};
use howlate_session::{date_and_time, header};

use super::start;
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::startup;
use crate::terminal::{self, eprint, eprint_wrapped};
use howlate_cli::RecordArgs;

pub(crate) fn run(args: &RecordArgs) -> Result<ExitStatus, Error> {
    if args.install {
        return install(args);
    }
    // `howlate doctor` reports findings; here each file would repeat them.
    let environment = at_start_priority(startup::begin_without_findings)?;
    let options = RecorderOptions {
        late_above: args.late_above,
        loop_above: args.loop_above,
        filter: args.filter(),
        folder: args.out.clone(),
        bounds: args.bounds(),
        keep: args.keep,
        timelines: args.timelines,
        on_late: args.on_late.clone(),
        duration: args.duration,
        servers: args.requests.clone(),
    };
    let first_header = Header {
        late_above: Some(args.late_above.least()),
        late_above_percentile: args.late_above.percent(),
        ..header("record", 0, &environment, Vec::new())
    };
    let new_header = move || Header {
        id: Some(new_id()),
        started: date_and_time(),
        at: clock::now(),
        ..first_header.clone()
    };
    let above = late_above(args.late_above);
    let requests = SignalFlags { end: Arc::clone(&environment.interrupted), snap: Arc::default() };
    let machine_name = machine(&environment.system);
    let display = |folder: &Path, unseen: &MissingProbes| {
        if args.live {
            let threshold_and_folder = (args.late_above, folder.display().to_string());
            match LiveRecord::begin(&requests.end, &requests.snap, machine_name, threshold_and_folder) {
                Ok(live) => return Box::new(LiveRecordDisplay(live)) as Box<dyn RecorderDisplay>,
                Err(error) => eprint_wrapped(&format!("No live view: {error}.\n")),
            }
        }
        if !args.quiet {
            if let Some(reason) = &unseen.loops {
                eprint(&format!(
                    "Event loops that do not come back are not seen here: {reason}. `howlate watch PID` sees those of one program.\n"
                ));
            }
            if let Some(reason) = &unseen.timers {
                eprint(&format!("By when timers were due is not seen here: {reason}.\n"));
            }
            let folder = printable_path(folder);
            eprint(&format!(
                "Recording since {} what is late above {above} into {folder}. Ctrl-C ends it. To see them:\n  howlate show {folder} --since 10m\n",
                start::time_of_day(clock::now_on(WaitClock::Realtime))
            ));
        }
        Box::new(TextDisplay { folder: printable_path(folder) })
    };
    startup::on_timeline_request(&requests.snap)?;
    start::wait_for(args.start_at, &requests.end, args.quiet)?;
    let finished = howlate_blackbox::record(&options, &requests, new_header, display)?;
    if !args.quiet {
        // Below the `^C` that the terminal echoes, the text starts on a line of its own.
        let follows_echo = requests.end.load(Ordering::Relaxed) && terminal::stderr_is_terminal();
        let end = record_end(&finished).text(&printable_path(&args.out));
        eprint(&if follows_echo { format!("\n{end}") } else { end });
    }
    if finished.lacks_requests && !args.quiet {
        eprint_wrapped(&format!("{}\n", caveat(&Caveat::NoRequests)));
    }
    if finished.snaps_left_out > 0 {
        let count = finished.snaps_left_out;
        eprint_wrapped(&format!(
            "{count} requests of programs to keep what all CPUs had done were too many.\n"
        ));
    }
    if finished.folder_removed {
        eprint_wrapped(&format!("{}\n", folder_is_gone(&printable_path(&args.out))));
        return Ok(ExitStatus::NotTrustworthy);
    }
    if let RecordingSummary { not_written: lost @ 1.., why_not_written: error, .. } = &finished {
        let folder = printable_path(&args.out);
        eprint_wrapped(&format!("{}\n", lines_not_written(&folder, *lost, error.as_ref())));
        return Ok(ExitStatus::NotTrustworthy);
    }
    if finished.snaps_not_written > 0 {
        eprint_wrapped(&format!(
            "{} of what `howlate snap` asked for found no room.\n",
            finished.snaps_not_written
        ));
        return Ok(ExitStatus::NotTrustworthy);
    }
    Ok(if finished.stopped { ExitStatus::Exceeded } else { ExitStatus::Done })
}

/// Installs a service that records with the same options, or prints its unit file without `--yes`.
fn install(args: &RecordArgs) -> Result<ExitStatus, Error> {
    let is_recorded_option =
        |argument: &String| !matches!(argument.as_str(), "record" | "--install" | "--yes" | "--quiet" | "-q");
    // Only the folder can be other than Unicode, and `install` refuses that.
    let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    let arguments = arguments.filter(is_recorded_option).collect();
    let unit = SystemdUnit { program: std::env::current_exe()?, arguments, out: args.out.clone() };
    if !args.yes {
        terminal::print_as_is(&unit.text()?)?;
        return Ok(ExitStatus::Done);
    }
    let InstalledFiles { unit, user } = unit.install(Path::new("/"))?;
    let (unit, user) = (unit.display(), user.display());
    eprint(&format!(
        "Written to {unit} and {user}. To start it:\n  systemd-sysusers && systemctl daemon-reload && systemctl enable --now howlate-recording\n"
    ));
    Ok(ExitStatus::Done)
}

fn printable_path(folder: &Path) -> String {
    legible(&shell_path(folder)).into_owned()
}

/// Prints only what the user must know at once.
struct TextDisplay {
    folder: String,
}

impl RecorderDisplay for TextDisplay {
    fn show(&mut self, _: &[Incident], _: &RecordingSummary) {}

    fn marks(&mut self) -> Vec<MonotonicTime> {
        Vec::new()
    }

    fn disk_event(&mut self, event: &DiskEvent) {
        let message = match event {
            DiskEvent::WriteFailed(loss) => disk_refuses(&self.folder, &loss.reason),
            DiskEvent::Recovered { lost } => disk_takes_again(&self.folder, *lost),
        };
        eprint_wrapped(&format!("{message}\n"));
    }

    fn requests_unavailable(&mut self, reason: &ListenError) {
        eprint_wrapped(&format!("Programs cannot ask this recorder for anything: {reason}.\n"));
    }

    fn server_event(&mut self, event: ServerEvent) {
        let text = match event {
            ServerEvent::Awaited { server } => {
                let server = legible(&server);
                format!(
                    "No process is called `{server}` now: its requests are measured as soon as there is one."
                )
            }
            ServerEvent::Lost { server, reason } => {
                format!("Requests of {} are no longer measured: {}.", legible(&server), Error::from(reason))
            }
        };
        eprint_wrapped(&format!("{text}\n"));
    }
}

struct LiveRecordDisplay(LiveRecord);

impl RecorderDisplay for LiveRecordDisplay {
    fn show(&mut self, new: &[Incident], so_far: &RecordingSummary) {
        self.0.show(new, so_far.lost + so_far.left_out + so_far.not_written);
    }

    // The screen counts lost incidents; the reason follows when it is left.
    fn disk_event(&mut self, _: &DiskEvent) {}

    fn requests_unavailable(&mut self, _: &ListenError) {}

    fn server_event(&mut self, _: ServerEvent) {}

    fn marks(&mut self) -> Vec<MonotonicTime> {
        self.0.marks()
    }
}

const fn record_end(finished: &RecordingSummary) -> RecordEnd {
    let RecordingSummary {
        incidents, left_out, lost, not_written, commands_left_out, folder_removed, ..
    } = *finished;
    RecordEnd { incidents, left_out, lost, not_written, commands_left_out, is_gone: folder_removed }
}
