//! `howlate serve`: serves results over HTTP.

mod program;
mod recorder;
mod saved;

use std::sync::Arc;

use howlate_render::{legible_lines, openmetrics};
use howlate_serve::{Admission, ContentRequest, ContentSource, HostNames, ServedContent, Server, Token};

use serde_json::json;

use self::saved::SavedRecordings;
use super::record_folder;
use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::startup::on_interrupt;
use crate::terminal;
use howlate_cli::{ServeArgs, TimeRangeArgs};

/// Paths of the page and of the metrics.
const PAGE: &str = "/";
const METRICS: &str = "/metrics";

pub(crate) fn run(args: &ServeArgs) -> Result<ExitStatus, Error> {
    let server = server(args)?;
    match &args.process {
        Some(process) => program::serve(process, &server, args.json),
        None => match record_folder::folder(&args.recordings, &TimeRangeArgs::default())? {
            Some(folder) => recorder::serve(folder, &server, args.json),
            None => serve_recordings(args, &server),
        },
    }
}

/// The server with its address and access rules.
fn server(args: &ServeArgs) -> Result<Server, Error> {
    let address = args.listen.address()?;
    let token = args.token_file.as_deref().map(Token::read).transpose()?;
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let names = HostNames::new([machine, args.listen.host().to_owned()]);
    Ok(Server::listen(address, Admission::at(address, token, args.no_auth, names)?)?)
}

fn serve_recordings(args: &ServeArgs, server: &Server) -> Result<ExitStatus, Error> {
    // Before signal handlers are installed, so that a signal ends the first reading at once.
    let recordings = SavedRecordings::open(&args.recordings)?;
    let end = on_interrupt()?;
    print_addresses(server, args.json)?;
    let contents: Arc<ContentSource> = Arc::new(move |request: &ContentRequest<'_>| match request.path {
        PAGE => recordings.page().map_or_else(unavailable, ServedContent::Page),
        METRICS if request.as_openmetrics2 => {
            recordings.openmetrics2().map_or_else(unavailable, ServedContent::OpenMetrics2)
        }
        METRICS => recordings.metrics().map_or_else(unavailable, |text| metrics(text, request)),
        _ => ServedContent::NotFound,
    });
    server.serve_until(&end, &contents);
    Ok(ExitStatus::Done)
}

/// Metrics in the requested format.
fn metrics(text: Arc<str>, request: &ContentRequest<'_>) -> ServedContent {
    match request.as_openmetrics {
        true => ServedContent::OpenMetrics(openmetrics(&text).into()),
        false => ServedContent::Metrics(text),
    }
}

/// The answer to an error, which may be temporary.
fn unavailable(error: Error) -> ServedContent {
    ServedContent::Unavailable(legible_lines(&error.to_string()).into_owned())
}

fn print_addresses(server: &Server, is_json: bool) -> Result<(), Error> {
    let [page, metrics] = [PAGE, METRICS].map(|path| format!("http://{}{path}", server.address()));
    let text = match is_json {
        true => addresses_json(&page, &metrics)?,
        false => format!("page     {page}\nmetrics  {metrics}\n"),
    };
    Ok(terminal::print_or_json(&text, is_json)?)
}

fn addresses_json(page: &str, metrics: &str) -> Result<String, serde_json::Error> {
    let version = env!("CARGO_PKG_VERSION");
    let document =
        json!({"format": 1, "howlate": version, "command": "serve", "page": page, "metrics": metrics});
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
