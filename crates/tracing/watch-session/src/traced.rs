//! Which tracer watches, and what is left where none sees what wakes threads.

use std::os::unix::fs::MetadataExt;

use howlate_model::Caveat;
use howlate_procfs::Root;
use howlate_trace::{Choice, Opened, Tier, Tracer, TracerMissing, open};
use howlate_watched_program::{Subject, WatchError};

use crate::accounts::Accounts;
use crate::error::NotWatched;

/// The tracer, if there is one.
pub struct ChosenTracer {
    /// The best that can be had.
    pub tracer: Option<Box<dyn Tracer>>,
    /// Where no tracer sees what wakes threads.
    pub(crate) accounts: Option<Accounts>,
    /// Why there is no tracer.
    pub untraced: Option<NotWatched>,
    /// Better ones that cannot be had, with the reason, and what this one does not see here.
    pub caveats: Vec<Caveat>,
}

/// Whose process it is, if that is neither this user nor looked at by root.
fn of_another(subject: &Subject) -> Option<u32> {
    let us = rustix::process::geteuid();
    let owner = std::fs::metadata(format!("/proc/{}", subject.pid())).ok()?.uid();
    Some(owner).filter(|owner| !us.is_root() && *owner != us.as_raw())
}

impl ChosenTracer {
    /// The best tracer that can be had, and what is to be said of better ones. Where none sees what wakes threads, there
    /// are the kernel's accounts of them; and a program that is started may have marked loops, which need none.
    ///
    /// # Errors
    ///
    /// When nothing can be seen of it.
    pub fn choose(choice: Choice, subject: &Subject) -> Result<Self, NotWatched> {
        let opened = open(choice, &[subject.pid()]);
        let caveats = opened.caveats();
        let Opened { tracer, refused } = opened;
        let is_seen = tracer.as_ref().is_some_and(|tracer| tracer.tier().sees_wakers());
        if let (false, Some(owner)) = (is_seen, of_another(subject)) {
            return Err(WatchError::OfAnother { pid: subject.pid(), owner }.into());
        }
        let is_enough = choice == Choice::Auto || tracer.is_some();
        let accounts = match choice {
            Choice::Auto | Choice::Only(Tier::Switches) if is_enough && !is_seen => {
                Accounts::new(Root::live(), subject.pid())
            }
            _ => None,
        };
        // Switches alone would be shown as if nobody had waited.
        let tracer = tracer.filter(|_| is_seen || accounts.is_some());
        let untraced = match refused.first() {
            _ if tracer.is_some() => None,
            Some((tier, refusal)) => Some(TracerMissing { tier: *tier, refusal: refusal.clone() }.into()),
            None => Some(NotWatched::SeesNothing(choice)),
        };
        let may_mark =
            matches!(subject, Subject::Started(..)) && matches!(choice, Choice::Auto | Choice::None);
        match untraced {
            Some(error) if !may_mark && accounts.is_none() => Err(error),
            untraced => Ok(Self { tracer, accounts, untraced, caveats }),
        }
    }
}
