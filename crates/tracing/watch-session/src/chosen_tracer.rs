//! Chooses the tracer, and falls back to schedstat where none sees wake-ups.

use std::os::unix::fs::MetadataExt;

use howlate_model::Caveat;
use howlate_procfs::Root;
use howlate_trace::{Choice, Opened, Tier, Tracer, TracerMissing, open};
use howlate_watched_program::{WatchError, WatchTarget};

use crate::schedstats::SchedstatReader;

/// Why a program is not watched. The messages are worded where the command line options are known.
#[derive(Debug)]
pub enum AttachError {
    /// The program cannot be watched, for example because it belongs to another user.
    Program(WatchError),
    /// The tracer is not available.
    Tracer(TracerMissing),
    /// The chosen tracer does not see wake-ups.
    NothingVisible(Choice),
    /// Requests are to be measured, which only BPF sees, and that is not available.
    NoRequests(TracerMissing),
}

impl From<WatchError> for AttachError {
    fn from(error: WatchError) -> Self {
        Self::Program(error)
    }
}

impl From<TracerMissing> for AttachError {
    fn from(missing: TracerMissing) -> Self {
        Self::Tracer(missing)
    }
}

/// A tracer, and what it does not see here.
pub struct ChosenTracer {
    /// The best available one.
    pub tracer: Option<Box<dyn Tracer>>,
    /// Fallback where no tracer sees wake-ups.
    pub(crate) schedstats: Option<SchedstatReader>,
    /// Why there is no tracer.
    pub no_tracer_reason: Option<AttachError>,
    /// Better tracers that are not available and why, and what this one does not see here.
    pub caveats: Vec<Caveat>,
}

/// The owner of the process, if howlate does not run as that user or as root.
fn foreign_owner(target: &WatchTarget) -> Option<u32> {
    let own_user = rustix::process::geteuid();
    let owner = std::fs::metadata(format!("/proc/{}", target.pid())).ok()?.uid();
    Some(owner).filter(|owner| !own_user.is_root() && *owner != own_user.as_raw())
}

impl ChosenTracer {
    /// Opens the best available tracer. Where none sees wake-ups, the kernel's schedstat is read instead; a started program may also
    /// have marked loops, which need no tracer.
    ///
    /// # Errors
    ///
    /// When nothing of the program can be seen.
    pub fn choose(choice: Choice, target: &WatchTarget) -> Result<Self, AttachError> {
        let opened = open(choice, &[target.pid()]);
        let caveats = opened.caveats();
        let Opened { tracer, refused } = opened;
        let sees_wakers = tracer.as_ref().is_some_and(|tracer| tracer.tier().sees_wakers());
        if let (false, Some(owner)) = (sees_wakers, foreign_owner(target)) {
            return Err(WatchError::OfAnother { pid: target.pid(), owner }.into());
        }
        let is_enough = choice == Choice::Auto || tracer.is_some();
        let schedstats = match choice {
            Choice::Auto | Choice::Only(Tier::Switches) if is_enough && !sees_wakers => {
                SchedstatReader::new(Root::live(), target.pid())
            }
            _ => None,
        };
        // Context switches without schedstat would look as if no thread had ever waited.
        let tracer = tracer.filter(|_| sees_wakers || schedstats.is_some());
        let no_tracer_reason = match refused.first() {
            _ if tracer.is_some() => None,
            Some((tier, refusal)) => Some(TracerMissing { tier: *tier, refusal: refusal.clone() }.into()),
            None => Some(AttachError::NothingVisible(choice)),
        };
        let may_mark =
            matches!(target, WatchTarget::Started(..)) && matches!(choice, Choice::Auto | Choice::None);
        match no_tracer_reason {
            Some(error) if !may_mark && schedstats.is_none() => Err(error),
            no_tracer_reason => Ok(Self { tracer, schedstats, no_tracer_reason, caveats }),
        }
    }
}
