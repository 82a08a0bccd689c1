//! `howlate record`

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use howlate_blackbox::{
    DiskEvent, InstalledFiles, ListenError, RecorderDisplay, RecorderOptions, RecordingSummary, SignalFlags,
    SystemdUnit,
};
use howlate_linux::clock;
use howlate_live::LiveRecord;
use howlate_model::{Header, Incident, MissingProbes, MonotonicTime, shell_path};
use howlate_recording::new_id;
use howlate_render::{
    RecordEnd, disk_refuses, disk_takes_again, folder_is_gone, late_above, legible, lines_not_written,
    machine,
};
use howlate_session::{date_and_time, header};

use super::start;
use crate::error::Error;
use crate::exit_status::Status;
use crate::startup;
use crate::terminal::{self, say, tell};
use howlate_cli::RecordArgs;

pub(crate) fn run(asked: &RecordArgs) -> Result<Status, Error> {
    if asked.install {
        return install(asked);
    }
    let environment = startup::begin()?;
    let wanted = RecorderOptions {
        late_above: asked.late_above,
        loop_above: asked.loop_above,
        filter: asked.filter(),
        out: asked.out.clone(),
        bounds: asked.bounds(),
        keep: asked.keep,
        timelines: asked.at_most,
        on_late: asked.on_late.clone(),
        duration: asked.duration,
    };
    // Findings are `howlate doctor`'s to tell; each file would repeat them.
    let first = Header { findings: Vec::new(), ..header("record", 0, &environment, Vec::new()) };
    let first = Header {
        late_above: Some(asked.late_above.least()),
        late_above_percentile: asked.late_above.percent(),
        ..first
    };
    let begin =
        move || Header { id: Some(new_id()), started: date_and_time(), at: clock::now(), ..first.clone() };
    let above = late_above(asked.late_above);
    let requests = SignalFlags { end: Arc::clone(&environment.interrupted), snap: Arc::default() };
    let place = machine(&environment.system);
    let started = |folder: &std::path::Path, unseen: &MissingProbes| {
        if asked.live {
            let what = (asked.late_above, folder.display().to_string());
            match LiveRecord::begin(&requests.end, &requests.snap, place, what) {
                Ok(live) => return Box::new(Whole(live)) as Box<dyn RecorderDisplay>,
                Err(why) => tell(&format!("No live view: {why}.\n")),
            }
        }
        if !asked.quiet {
            if let Some(reason) = &unseen.loops {
                say(&format!(
                    "Event loops that do not come back are not seen here: {reason}. `howlate watch PID` sees those of one program.\n"
                ));
            }
            if let Some(reason) = &unseen.timers {
                say(&format!("By when timers were due is not seen here: {reason}.\n"));
            }
            let folder = place_of(folder);
            say(&format!(
                "Recording what is late above {above} into {folder}. Ctrl-C ends it. To see them:\n  howlate show {folder} --since 10m\n"
            ));
        }
        Box::new(Words { folder: place_of(folder) })
    };
    startup::on_timeline_asked(&requests.snap)?;
    start::wait_for(asked.start_at, &requests.end, asked.quiet)?;
    let finished = howlate_blackbox::record(&wanted, &requests, begin, started)?;
    if !asked.quiet {
        // Behind the `^C` that a terminal shows, nobody reads on.
        let is_behind_key = requests.end.load(Ordering::Relaxed) && terminal::is_watched();
        let end = end_of(&finished).text(&place_of(&asked.out));
        say(&if is_behind_key { format!("\n{end}") } else { end });
    }
    if finished.snaps_left_out > 0 {
        let count = finished.snaps_left_out;
        tell(&format!("{count} requests of programs to keep what all CPUs had done were too many.\n"));
    }
    if finished.folder_removed {
        tell(&format!("{}\n", folder_is_gone(&place_of(&asked.out))));
        return Ok(Status::NotTrustworthy);
    }
    if let RecordingSummary { not_written: lost @ 1.., why_not_written: reason, .. } = &finished {
        let folder = place_of(&asked.out);
        tell(&format!("{}\n", lines_not_written(&folder, *lost, reason.as_ref())));
        return Ok(Status::NotTrustworthy);
    }
    if finished.snaps_not_written > 0 {
        tell(&format!("{} of what `howlate snap` asked for found no room.\n", finished.snaps_not_written));
        return Ok(Status::NotTrustworthy);
    }
    Ok(if finished.stopped { Status::Exceeded } else { Status::Done })
}

/// A service that records with the same options.
fn install(asked: &RecordArgs) -> Result<Status, Error> {
    let is_ours =
        |word: &String| !matches!(word.as_str(), "record" | "--install" | "--yes" | "--quiet" | "-q");
    // Of these only the folder may be other than Unicode, and such a one is refused below.
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words = words.filter(is_ours).collect();
    let unit = SystemdUnit { program: std::env::current_exe()?, arguments: words, out: asked.out.clone() };
    if !asked.yes {
        terminal::print_as_is(&unit.text()?)?;
        return Ok(Status::Done);
    }
    let InstalledFiles { unit, user } = unit.install(Path::new("/"))?;
    let (unit, user) = (unit.display(), user.display());
    say(&format!(
        "Written to {unit} and {user}. To start it:\n  systemd-sysusers && systemctl daemon-reload && systemctl enable --now howlate-recording\n"
    ));
    Ok(Status::Done)
}

fn place_of(folder: &Path) -> String {
    legible(&shell_path(folder)).into_owned()
}

/// Nothing is shown but what somebody should know at once.
struct Words {
    folder: String,
}

impl RecorderDisplay for Words {
    fn show(&mut self, _: &[Incident], _: &RecordingSummary) {}

    fn marks(&mut self) -> Vec<MonotonicTime> {
        Vec::new()
    }

    fn disk_event(&mut self, event: &DiskEvent) {
        let words = match event {
            DiskEvent::WriteFailed(loss) => disk_refuses(&self.folder, &loss.reason),
            DiskEvent::Recovered { lost } => disk_takes_again(&self.folder, *lost),
        };
        tell(&format!("{words}\n"));
    }

    fn requests_unavailable(&mut self, why: &ListenError) {
        tell(&format!("Programs cannot ask this recorder for anything: {why}.\n"));
    }
}

/// The whole screen.
struct Whole(LiveRecord);

impl RecorderDisplay for Whole {
    fn show(&mut self, new: &[Incident], so_far: &RecordingSummary) {
        self.0.show(new, so_far.lost + so_far.left_out + so_far.not_written);
    }

    // Its count of what was lost goes up; the words come when the screen is left.
    fn disk_event(&mut self, _: &DiskEvent) {}

    fn requests_unavailable(&mut self, _: &ListenError) {}

    fn marks(&mut self) -> Vec<MonotonicTime> {
        self.0.marks()
    }
}

const fn end_of(finished: &RecordingSummary) -> RecordEnd {
    let RecordingSummary {
        incidents, left_out, lost, not_written, commands_left_out, folder_removed, ..
    } = *finished;
    RecordEnd { incidents, left_out, lost, not_written, commands_left_out, is_gone: folder_removed }
}
