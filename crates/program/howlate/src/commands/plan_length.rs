//! `howlate plan-length`

use howlate_analyse::sequential::run_lengths;
use howlate_model::StopRule;
use howlate_session::{NotUntil, SessionError};

use crate::error::Error;
use crate::exit_status::Status;
use crate::terminal;
use howlate_cli::PlanLengthArgs;

pub(crate) fn run(asked: &PlanLengthArgs) -> Result<Status, Error> {
    let lengths = run_lengths(asked.figure, asked.period)
        .map_err(|reason| SessionError::from(NotUntil::unreachable(asked.figure, reason)))?;
    let options = match asked.figure {
        StopRule::Compared => " --policy other,fifo:80",
        _ => "",
    };
    let to_type = format!("howlate cyclic{options} --until '{}'", asked.figure);
    let text = match asked.json {
        true => howlate_render::lengths_json(&lengths, asked.period, &to_type)?,
        false => format!(
            "{}To measure until then: {to_type}\n",
            howlate_render::lengths(&lengths, terminal::width())
        ),
    };
    terminal::print_or_json(&text, asked.json)?;
    Ok(Status::Done)
}
