//! `howlate gaps`

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
use crate::error::Error;
use crate::exit_status::Status;
use crate::startup::{clear_up, on_interrupt};
use crate::terminal;
use howlate_cli::GapsArgs;

pub(crate) fn run(asked: &GapsArgs) -> Result<Status, Error> {
    let interrupted = on_interrupt()?;
    for caveat in clear_up() {
        terminal::tell(&format!("{}\n", howlate_render::caveat(&caveat)));
    }
    let request = asked.request();
    let mut shown = Shown { screen: terminal::screen(asked.printing.quiet), of: asked.duration };
    // Later, the spinning threads are part of it.
    let busy = busy(describe(&Root::live()).cpus.len());
    let run = measure(&request, &interrupted, &mut shown)?;
    let ago = clock::now().since(run.began).as_nanos();
    let began = Timestamp::now() - SignedDuration::from_nanos(i64::try_from(ago).unwrap_or(i64::MAX));
    shown.screen.iter_mut().for_each(|screen| screen.clear());
    let status =
        if run.interrupted || !run.moved().is_empty() { Status::NotTrustworthy } else { Status::Done };
    let (root, zone) = (Root::live(), TimeZone::system());
    let result = howlate_render::Gaps {
        run,
        machine: machine(&describe(&root)),
        is_guest: hypervisor(&root).is_some(),
        began,
        zone,
        traces: request.traces,
        busy,
    };
    let is_json = asked.printing.json;
    let text =
        if is_json { result.json()? } else { result.text(detail(asked.details, None), terminal::width()) };
    terminal::print_or_json(&text, is_json)?;
    Ok(status)
}

/// How far it is, where somebody watches.
struct Shown {
    screen: Option<Box<dyn Screen>>,
    of: Span,
}

impl GapWatcher for Shown {
    fn told(&mut self, caveat: &Caveat) {
        terminal::tell(&format!("{}\n", howlate_render::caveat(caveat)));
    }

    fn progress(&mut self, progress: &GapProgress) -> bool {
        let worst = progress.worst.map(|gap| (gap.cpu, gap.length));
        if let Some(screen) = &mut self.screen {
            screen.show(&gaps_progress(progress.passed, Some(self.of), progress.gaps, worst));
        }
        false
    }
}
