//! `howlate gaps`: looks for gaps in the time of busy CPUs.

use howlate_gaps::{GapProgress, GapWatcher, measure};
use howlate_linux::clock;
use howlate_model::{Caveat, Span};
use howlate_procfs::{Root, hypervisor};
use howlate_render::{Screen, gaps_progress, machine};
use howlate_session::busy;
use howlate_system::describe;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::detail;
use super::formats::answer;
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::startup::{clean_up, on_interrupt};
use crate::terminal;
use howlate_cli::GapsArgs;

pub(crate) fn run(args: &GapsArgs) -> Result<ExitStatus, Error> {
    let interrupted = on_interrupt()?;
    for caveat in clean_up() {
        terminal::eprint_wrapped(&format!("{}\n", howlate_render::caveat(&caveat)));
    }
    let request = args.request();
    let mut display = GapDisplay { screen: terminal::screen(args.printing.quiet), duration: args.duration };
    // Measured before the spinning threads start, which are busy themselves.
    let busy = busy(describe(&Root::live()).cpus.len());
    let run = measure(&request, &interrupted, &mut display)?;
    let elapsed = clock::now().since(run.began).as_nanos();
    let start = Timestamp::now() - SignedDuration::from_nanos(i64::try_from(elapsed).unwrap_or(i64::MAX));
    display.screen.iter_mut().for_each(|screen| screen.clear());
    let status = if run.interrupted || !run.moved().is_empty() {
        ExitStatus::NotTrustworthy
    } else {
        ExitStatus::Done
    };
    let (root, zone) = (Root::live(), TimeZone::system());
    let result = howlate_render::GapsReport {
        run,
        machine: machine(&describe(&root)),
        is_guest: hypervisor(&root).is_some(),
        began: start,
        zone,
        traces: request.use_tracing,
        busy,
    };
    let is_json = args.printing.json;
    let detail = detail(args.details, None);
    let text = if is_json { answer(result.json()?, detail)? } else { result.text(detail, terminal::width()) };
    terminal::print_or_json(&text, is_json)?;
    Ok(status)
}

/// Shows progress where standard error is a terminal.
struct GapDisplay {
    screen: Option<Box<dyn Screen>>,
    duration: Span,
}

impl GapWatcher for GapDisplay {
    fn caveat(&mut self, caveat: &Caveat) {
        terminal::eprint_wrapped(&format!("{}\n", howlate_render::caveat(caveat)));
    }

    fn progress(&mut self, progress: &GapProgress) -> bool {
        let worst = progress.worst.map(|gap| (gap.cpu, gap.length));
        if let Some(screen) = &mut self.screen {
            screen.show(&gaps_progress(progress.passed, Some(self.duration), progress.gaps, worst));
        }
        false
    }
}
