//! `howlate plan-length`: prints how long a measurement must take.

use howlate_analyse::sequential::run_lengths;
use howlate_model::StopRule;
use howlate_session::{GoalError, SessionError};

use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::terminal;
use howlate_cli::PlanLengthArgs;

pub(crate) fn run(args: &PlanLengthArgs) -> Result<ExitStatus, Error> {
    let lengths = run_lengths(args.figure, args.period)
        .map_err(|reason| SessionError::from(GoalError::unreachable(args.figure, reason)))?;
    let options = match args.figure {
        StopRule::Compared => " --policy other,fifo:80",
        _ => "",
    };
    let command = format!("howlate cyclic{options} --until '{}'", args.figure);
    let text = match args.json {
        true => howlate_render::lengths_json(&lengths, args.period, &command)?,
        false => format!(
            "{}To measure until then: {command}\n",
            howlate_render::lengths(&lengths, terminal::width())
        ),
    };
    terminal::print_or_json(&text, args.json)?;
    Ok(ExitStatus::Done)
}
