//! `howlate` alone: the quick look.

use howlate_model::{Condition, EndReason, Finding, Load, Policy, Span};
use howlate_plan::{CommonChoices, CyclicChoices};
use howlate_render::{Detail, quick};
use howlate_trace::{Choice, Tier, open};

use super::{print_result, request};
use crate::error::Error;
use crate::exit_status::Status;
use crate::startup;
use crate::terminal;
use howlate_cli::{OutputArgs, QuickArgs, WholeRunArgs};
use howlate_recording::HistoryEntry;
use howlate_session as session;
use howlate_session::{Request, Resume, TraceOptions, measure};

/// Time for what is measured and traced, all of it. Loads that come to their pace, some 0.2 s each time, make it 15 to 18 s.
const MEASURED: Span = Span::from_secs(12);
/// Turns of each condition.
const ROUNDS: u32 = 8;

pub(crate) fn run(asked: &QuickArgs) -> Result<Status, Error> {
    let environment = startup::begin()?;
    let realtime = realtime_policy();
    let may_trace = may_trace();
    let choices = choices(realtime, may_trace);
    let mut plan = choices.plan(&environment.machine())?;
    let seed = choices.circumstances.seed;
    let traced = may_trace.then(|| plan.add_traced_for(seed, is_as_programs_are)).flatten().map(traced_from);
    let output = OutputArgs {
        out: asked.out.clone(),
        identity: asked.identity.clone(),
        printing: asked.printing,
        display: asked.display,
        ..OutputArgs::default()
    };
    let kept = HistoryEntry::begin("quick", asked.out.as_deref(), asked.no_save);
    let place = kept.path();
    let request = Request {
        kept: place.as_deref(),
        ..request("quick", seed, &environment, &WholeRunArgs::default(), &output, traced)
    };
    let analysis = measure(request, &environment, &plan, Resume::No)?;
    let is_whole = analysis.end.as_ref().is_some_and(|end| end.how == EndReason::Done);
    let status = if is_whole { Status::Done } else { Status::NotTrustworthy };
    if asked.printing.json {
        kept.end();
        print_result(&analysis, &output, None, &[])?;
        return Ok(status);
    }
    let mut text = quick(&analysis, Detail::Brief, terminal::width());
    if realtime.is_none() {
        let said = without_realtime(&environment.findings);
        text.push_str(&format!("{}\n", howlate_render::wrapped(&said, terminal::width(), 0)));
    }
    kept.end();
    terminal::print(&text)?;
    Ok(status)
}

/// What was not tried. An ordinary user reads what root adds; `howlate doctor` has what would allow it.
fn without_realtime(findings: &[Finding]) -> String {
    if !rustix::process::geteuid().is_root() {
        return "`sudo howlate` also tries real-time priority, and says who took the time.".to_owned();
    }
    let remedy = session::for_policy(WITH_PRIORITY, findings);
    format!("Real-time priority could not be tried. {}", howlate_render::policy_remedy(&remedy))
}

/// Whether there is a tracer that names who it was; what others tell is not worth the time here.
fn may_trace() -> bool {
    open(Choice::Auto, &[std::process::id()]).tracer.is_some_and(|tracer| tracer.tier() != Tier::Switches)
}

/// What a user of real-time priority would begin with.
const WITH_PRIORITY: Policy = Policy::Fifo { priority: howlate_model::Priority::USUAL };

/// Real-time priority, if this process may have it.
pub(super) fn realtime_policy() -> Option<Policy> {
    let tried = std::thread::Builder::new()
        .spawn(|| howlate_linux::sched::set_policy(howlate_linux::sched::THIS_THREAD, WITH_PRIORITY).is_ok());
    tried.is_ok_and(|tried| tried.join().unwrap_or(false)).then_some(WITH_PRIORITY)
}

/// As a program is that asked for nothing: of these alone it is told who took the time.
fn is_as_programs_are(condition: &Condition) -> bool {
    condition.policy == Policy::OTHER && condition.slack_ns.is_none()
}

const fn traced_from(from_round: u32) -> TraceOptions {
    TraceOptions { tracer: Choice::Auto, from_round, late_above: None, keep: None, unasked: false }
}

/// As a program is, without timer slack, and with real-time priority; idle and busy.
fn choices(realtime: Option<Policy>, may_trace: bool) -> CyclicChoices {
    let ways = 2 + u64::from(realtime.is_some()) + u64::from(may_trace);
    let circumstances = CommonChoices {
        policies: [Some(Policy::OTHER), realtime].into_iter().flatten().collect(),
        slacks: vec![None, Some(Span::from_nanos(1))],
        loads: vec![Load::IDLE, Load::cpu()],
        cpus: None,
        seed: fastrand::u64(..1_000_000),
    };
    CyclicChoices {
        duration: Some(Span::from_nanos(MEASURED.as_nanos() / (2 * ways))),
        rounds: Some(ROUNDS),
        ..CyclicChoices::single_thread(circumstances)
    }
}
