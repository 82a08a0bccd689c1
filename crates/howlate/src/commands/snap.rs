//! `howlate snap`

use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal;
use howlate_cli::Snap;

pub(crate) fn run(asked: &Snap) -> Result<Status, Error> {
    let file = howlate_blackbox::snap(&asked.folder)?;
    terminal::print(&format!("{}\n", file.display()))?;
    Ok(Status::Done)
}
