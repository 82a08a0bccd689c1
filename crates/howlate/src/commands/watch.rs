//! `howlate watch`

mod accounts;
mod background_priority;
mod followed;
pub(super) mod traced;
mod watching;

use howlate_analyse::Analysis;
use howlate_watch::Subject;

pub(super) use self::watching::{Ended, Look, Watching};
use super::{print_result, say_kept};
use crate::cli::{Output, Watch};
use crate::environment;
use crate::error::Error;
use crate::exit_status::{self, Status};
use crate::history::HistoryEntry;

pub(crate) fn run(asked: &Watch) -> Result<Status, Error> {
    let environment = environment::begin()?;
    let mut subject = Subject::new(asked.process.as_deref(), &asked.program, asked.printing.json)?;
    let kept = HistoryEntry::begin("watch", asked.out.as_deref(), asked.no_save);
    let watching = Watching::begin(asked, &environment, &mut subject, kept.path().as_deref())?;
    subject.begin()?;
    let Ended { analysis, nothing } = watching.until_the_end(&mut subject, &environment.interrupted);
    let failure = subject.end(&environment.interrupted);
    if let Some(nothing) = nothing {
        kept.forget();
        return Err(failure.map_or(nothing, Error::from));
    }
    print(asked, &analysis)?;
    say_kept(kept, asked.printing.quiet);
    let status = exit_status::overall(&analysis, &asked.fail_above);
    failure.map_or(Ok(status), |failure| Err(failure.into()))
}

fn print(asked: &Watch, analysis: &Analysis) -> Result<(), Error> {
    let output = Output { out: asked.out.clone(), printing: asked.printing, ..Output::default() };
    print_result(analysis, &output, &asked.fail_above)
}
