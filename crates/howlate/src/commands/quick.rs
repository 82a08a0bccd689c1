//! `howlate` alone: the quick look.

use std::path::PathBuf;

use howlate_model::{Load, Policy, Span, shell_path};
use howlate_plan::{Circumstances, CyclicChoices};
use howlate_render::quick;
use howlate_trace::{Choice, Tier, open};

use crate::cli::{Output, Reasons, WholeRun};
use crate::environment::Environment;
use crate::error::Error;
use crate::recorder::date_and_time;
use crate::remedy;
use crate::session::{Request, Resume, measure};
use crate::status::Status;
use crate::terminal;

/// Time for each of six conditions: about 18 s in all.
const PER_CONDITION: Span = Span::from_secs(3);
/// The same where as long again is traced: about 20 s in all.
const PER_CONDITION_AND_TRACED: Span = Span::from_millis(1_700);
/// Turns of each condition.
const ROUNDS: u32 = 8;

pub(crate) fn run() -> Result<Status, Error> {
    let environment = Environment::begin()?;
    let realtime = realtime_policy();
    let may_trace = may_trace();
    let choices = choices(realtime, if may_trace { PER_CONDITION_AND_TRACED } else { PER_CONDITION });
    let mut plan = choices.plan(&environment.machine())?;
    let seed = choices.circumstances.seed;
    let traced = Reasons { why: may_trace, ..Reasons::default() }.add_to(&mut plan, seed)?;
    let out = recording_path();
    let output = Output { out: out.clone(), ..Output::default() };
    let request = Request { traced, ..Request::of("quick", seed, &WholeRun::default(), &output) };
    let analysis = measure(&request, &environment, &plan, Resume::No)?;
    let mut text = quick(&analysis, terminal::width());
    if realtime.is_none() {
        let remedy = remedy::for_policy(WITH_PRIORITY, &environment.findings);
        let hint = howlate_render::policy_remedy(&remedy);
        text.push_str(&format!("\nReal-time priority could not be tried. {hint}\n"));
    }
    if let Some(path) = out {
        text.push_str(&format!("\nSaved; show it again with: howlate show {}\n", shell_path(&path)));
    }
    terminal::print(&text)?;
    Ok(Status::Done)
}

/// Whether there is a tracer that names who it was; what others tell is not worth the time here.
fn may_trace() -> bool {
    open(Choice::Auto, &[std::process::id()]).tracer.is_some_and(|tracer| tracer.tier() != Tier::Switches)
}

/// What a user of real-time priority would begin with.
const WITH_PRIORITY: Policy = Policy::Fifo { priority: howlate_model::Priority::USUAL };

/// Real-time priority, if this process may have it.
pub(super) fn realtime_policy() -> Option<Policy> {
    let tried = std::thread::spawn(|| {
        howlate_linux::sched::set_policy(howlate_linux::sched::THIS_THREAD, WITH_PRIORITY).is_ok()
    });
    tried.join().unwrap_or(false).then_some(WITH_PRIORITY)
}

/// As a program is, without timer slack, and with real-time priority; idle and busy.
fn choices(realtime: Option<Policy>, per_condition: Span) -> CyclicChoices {
    let circumstances = Circumstances {
        policies: [Some(Policy::OTHER), realtime].into_iter().flatten().collect(),
        slacks: vec![None, Some(Span::from_nanos(1))],
        loads: vec![Load::IDLE, Load::cpu()],
        cpus: None,
        seed: fastrand::u64(..1_000_000),
    };
    CyclicChoices {
        duration: Some(per_condition),
        rounds: Some(ROUNDS),
        ..CyclicChoices::of_one_thread(circumstances)
    }
}

/// `$XDG_DATA_HOME/howlate/quick-TIME.jsonl`; `None` where there is no such place.
fn recording_path() -> Option<PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/share"));
    let data =
        std::env::var_os("XDG_DATA_HOME").filter(|path| !path.is_empty()).map(PathBuf::from).or_else(home)?;
    let folder = data.join("howlate");
    std::fs::create_dir_all(&folder).ok()?;
    let path = folder.join(format!("quick-{}.jsonl", date_and_time().replace(':', "-")));
    // Only a place that can be written to is a place; the session makes the file itself.
    std::fs::File::create_new(&path).and_then(|_| std::fs::remove_file(&path)).ok()?;
    Some(path)
}
