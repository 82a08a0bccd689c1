//! `howlate` without a command: the quick look.

use howlate_model::{Condition, EndReason, Finding, Load, Policy, Span};
use howlate_plan::{CommonChoices, CyclicChoices, RequestedExtent};
use howlate_render::{Detail, quick};
use howlate_trace::{Choice, Tier, open};

use super::{print_result, request, saved_as};
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::startup;
use crate::terminal;
use howlate_cli::{OutputArgs, QuickArgs, WholeRunArgs};
use howlate_recording::HistoryEntry;
use howlate_session as session;
use howlate_session::{Request, Resume, TraceOptions, measure};

/// Total time of measuring and tracing. Loads need some 0.2 s to reach their pace each time; so it takes 15 to 18 s.
const MEASURED: Span = Span::from_secs(12);
const ROUNDS: u32 = 8;

pub(crate) fn run(args: &QuickArgs) -> Result<ExitStatus, Error> {
    let environment = startup::begin()?;
    let realtime = realtime_policy();
    let may_trace = may_trace();
    let choices = choices(realtime, may_trace);
    let mut plan = choices.plan(&environment.machine())?;
    let seed = choices.circumstances.seed;
    let traced = may_trace.then(|| plan.add_traced_for(seed, is_default)).flatten().map(traced_from);
    let output = OutputArgs {
        out: args.out.clone(),
        identity: args.identity.clone(),
        printing: args.printing,
        display: args.display,
        ..OutputArgs::default()
    };
    let history = HistoryEntry::begin("quick", args.out.as_deref(), args.no_save);
    let history_path = history.path();
    let request = Request {
        kept: history_path.as_deref(),
        ..request("quick", seed, &environment, &WholeRunArgs::default(), &output, traced)
    };
    let mut analysis = measure(request, &environment, &plan, Resume::No)?;
    analysis.saved_as = saved_as(&history, args.out.as_deref());
    let is_whole = analysis.end.as_ref().is_some_and(|end| end.how == EndReason::Done);
    let status = if is_whole { ExitStatus::Done } else { ExitStatus::NotTrustworthy };
    if args.printing.json {
        history.end();
        print_result(&analysis, &output, None, &[])?;
        return Ok(status);
    }
    let mut text = quick(&analysis, Detail::Brief, terminal::width());
    if realtime.is_none() {
        let hint = without_realtime(&environment.findings);
        text.push_str(&format!("{}\n", howlate_render::wrapped(&hint, terminal::width(), 0)));
    }
    history.end();
    terminal::print(&text)?;
    Ok(status)
}

/// Why real-time priority was not tried, and how to allow it: `sudo` for users, the finding's remedy for root.
fn without_realtime(findings: &[Finding]) -> String {
    if !rustix::process::geteuid().is_root() {
        return "`sudo howlate` also tries real-time priority, and says who took the time.".to_owned();
    }
    let remedy = session::for_policy(REALTIME, findings);
    format!("Real-time priority could not be tried. {}", howlate_render::policy_remedy(&remedy))
}

/// Whether a tracer can name causes; one that sees switches alone is not worth the time here.
fn may_trace() -> bool {
    open(Choice::Auto, &[std::process::id()]).tracer.is_some_and(|tracer| tracer.tier() != Tier::Switches)
}

/// The usual first choice of a real-time policy.
const REALTIME: Policy = Policy::Fifo { priority: howlate_model::Priority::USUAL };

/// The real-time policy, if this process may use it.
pub(super) fn realtime_policy() -> Option<Policy> {
    let thread = std::thread::Builder::new()
        .spawn(|| howlate_linux::sched::set_policy(howlate_linux::sched::THIS_THREAD, REALTIME).is_ok());
    thread.is_ok_and(|thread| thread.join().unwrap_or(false)).then_some(REALTIME)
}

/// The default policy and timer slack: only these conditions are traced.
fn is_default(condition: &Condition) -> bool {
    condition.policy == Policy::OTHER && condition.slack_ns.is_none()
}

const fn traced_from(from_round: u32) -> TraceOptions {
    TraceOptions { tracer: Choice::Auto, from_round, late_above: None, keep: None, unasked: false }
}

/// Default settings, minimal timer slack, and real-time priority; idle and under load.
fn choices(realtime: Option<Policy>, may_trace: bool) -> CyclicChoices {
    let variants = 2 + u64::from(realtime.is_some()) + u64::from(may_trace);
    let circumstances = CommonChoices {
        policies: [Some(Policy::OTHER), realtime].into_iter().flatten().collect(),
        slacks: vec![None, Some(Span::from_nanos(1))],
        loads: vec![Load::IDLE, Load::cpu()],
        cpus: None,
        seed: fastrand::u64(..1_000_000),
    };
    let duration = Some(Span::from_nanos(MEASURED.as_nanos() / (2 * variants)));
    CyclicChoices {
        extent: RequestedExtent { duration, rounds: Some(ROUNDS), ..RequestedExtent::default() },
        ..CyclicChoices::single_thread(circumstances)
    }
}
