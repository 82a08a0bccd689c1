//! `howlate plan-length`

use howlate_analyse::sequential::lengths;
use howlate_model::Until;
use howlate_session::{NotUntil, SessionError};

use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal;
use howlate_cli::PlanLength;

pub(crate) fn run(asked: &PlanLength) -> Result<Status, Error> {
    let lengths = lengths(asked.figure, asked.period)
        .map_err(|reason| SessionError::from(NotUntil::unreachable(asked.figure, reason)))?;
    let options = match asked.figure {
        Until::Compared => " --policy other,fifo:80",
        _ => "",
    };
    let to_type = format!("To measure until then: howlate cyclic{options} --until '{}'\n", asked.figure);
    terminal::print(&format!("{}{to_type}", howlate_render::lengths(&lengths)))?;
    Ok(Status::Done)
}
