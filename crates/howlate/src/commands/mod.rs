//! One file per command.

pub(crate) mod compare;
pub(crate) mod cyclic;
pub(crate) mod cyclictest;
pub(crate) mod doctor;
mod formats;
pub(crate) mod guest;
pub(crate) mod load;
pub(crate) mod notify;
pub(crate) mod pages;
pub(crate) mod quick;
mod reading;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod sleep;
pub(crate) mod why;

use howlate_analyse::{Analysis, Judgement, Outcome, is_as_asked, judged};
use howlate_model::{Latency, Limit, Statistic};
use howlate_render as render;

use crate::cli::{Measuring, Output, Reasons};
use crate::error::Error;
use crate::session::{Environment, Request, Resume, measure};
use crate::status::Status;
use crate::terminal::{self, ERROR, paint};
use formats::{Shown, is_json};

/// Measures a plan, prints the result, judges it.
fn measure_and_print(
    command: &str,
    args: &Measuring,
    environment: &Environment,
    mut plan: howlate_plan::Plan,
    seed: u64,
    reasons: Option<Reasons>,
) -> Result<Status, Error> {
    let traced = reasons.map(|reasons| reasons.add_to(&mut plan, seed)).transpose()?.flatten();
    let request = Request { traced, ..Request::of(command, seed, &args.run, &args.output) };
    let analysis = measure(&request, environment, &plan, Resume::No)?;
    print_result(&analysis, &args.output, &args.run.fail_above)?;
    Ok(judge(&analysis, &args.run.fail_above))
}

fn print_result(analysis: &Analysis, output: &Output, limits: &[Limit]) -> Result<(), Error> {
    let shown = Shown { analyses: std::slice::from_ref(analysis), names: &[output.name()], limits };
    let format = output.printed();
    Ok(terminal::print_or_json(&shown.as_text(format)?, is_json(format))?)
}

/// The exit status, and a line for every limit that was exceeded or cannot be judged.
fn judge(analysis: &Analysis, limits: &[Limit]) -> Status {
    let mut status = if is_as_asked(analysis) { Status::Done } else { Status::NotTrustworthy };
    for outcome in analysis.outcomes() {
        for limit in limits {
            match judged(outcome, *limit) {
                Judgement::Kept => {}
                Judgement::Exceeded(value) => {
                    let found = format!("{limit}: {}", shown(limit.statistic, value));
                    say_of_limit("limit exceeded:", &found, outcome);
                    status = Status::Exceeded;
                }
                Judgement::TooFew { needed, count } => {
                    let why = format!("{limit}: it takes {needed} wake-ups, and there are {count}");
                    say_of_limit("cannot be judged:", &why, outcome);
                    if status == Status::Done {
                        status = Status::NotTrustworthy;
                    }
                }
            }
        }
    }
    status
}

fn shown(statistic: Statistic, value: u64) -> String {
    match statistic {
        Statistic::Missed => value.to_string(),
        _ => Latency::from_nanos(i64::try_from(value).unwrap_or(i64::MAX)).to_string(),
    }
}

fn say_of_limit(what: &str, limit: &str, outcome: &Outcome) {
    terminal::say(&format!("{} {limit} ({})\n", paint(ERROR, what), render::condition(outcome)));
}
