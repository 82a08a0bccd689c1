//! `howlate serve`

mod program;
mod recorder;
mod saved;

use std::sync::Arc;

use howlate_render::{legible_lines, openmetrics};
use howlate_serve::{Admission, Answer, Contents, Names, Server, Token, Wanted};

use serde_json::json;

use self::saved::Saved;
use super::recorded;
use crate::error::Error;
use crate::exit_status::Status;
use crate::startup::on_interrupt;
use crate::terminal;
use howlate_cli::{ServeArgs, TimeRangeArgs};

/// Where the page and the metrics are.
const PAGE: &str = "/";
const METRICS: &str = "/metrics";

pub(crate) fn run(asked: &ServeArgs) -> Result<Status, Error> {
    let server = server(asked)?;
    match &asked.process {
        Some(process) => program::serve(process, &server, asked.json),
        None => match recorded::folder(&asked.recordings, &TimeRangeArgs::default())? {
            Some(folder) => recorder::serve(folder, &server, asked.json),
            None => recordings(asked, &server),
        },
    }
}

/// The port, and who is answered there.
fn server(asked: &ServeArgs) -> Result<Server, Error> {
    let address = asked.listen.address()?;
    let token = asked.token_file.as_deref().map(Token::read).transpose()?;
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let names = Names::new([machine, asked.listen.host().to_owned()]);
    Ok(Server::listen(address, Admission::at(address, token, asked.no_auth, names)?)?)
}

fn recordings(asked: &ServeArgs, server: &Server) -> Result<Status, Error> {
    // A signal ends it at once while it reads for the first time: there is nothing to put in order.
    let saved = Saved::open(&asked.recordings)?;
    let end = on_interrupt()?;
    say_where(server, asked.json)?;
    let contents: Arc<Contents> = Arc::new(move |wanted: &Wanted<'_>| match wanted.path {
        PAGE => saved.page().map_or_else(not_now, Answer::Page),
        METRICS if wanted.as_openmetrics2 => saved.openmetrics2().map_or_else(not_now, Answer::OpenMetrics2),
        METRICS => saved.metrics().map_or_else(not_now, |text| metrics(text, wanted)),
        _ => Answer::Nothing,
    });
    server.answer_until(&end, &contents);
    Ok(Status::Done)
}

/// Metrics in the form that is wanted.
fn metrics(text: Arc<str>, wanted: &Wanted<'_>) -> Answer {
    match wanted.as_openmetrics {
        true => Answer::OpenMetrics(openmetrics(&text).into()),
        false => Answer::Metrics(text),
    }
}

/// Why something cannot be shown; it may come back.
fn not_now(error: Error) -> Answer {
    Answer::NotNow(legible_lines(&error.to_string()).into_owned())
}

fn say_where(server: &Server, is_json: bool) -> Result<(), Error> {
    let [page, metrics] = [PAGE, METRICS].map(|path| format!("http://{}{path}", server.address()));
    let text = match is_json {
        true => where_json(&page, &metrics)?,
        false => format!("page     {page}\nmetrics  {metrics}\n"),
    };
    Ok(terminal::print_or_json(&text, is_json)?)
}

fn where_json(page: &str, metrics: &str) -> Result<String, serde_json::Error> {
    let version = env!("CARGO_PKG_VERSION");
    let document =
        json!({"format": 1, "howlate": version, "command": "serve", "page": page, "metrics": metrics});
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
