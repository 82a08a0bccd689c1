//! `howlate load`

use howlate_load::{Running, check};
use howlate_model::Load;
use howlate_render::LoadResult;
use howlate_session::apply_load;

use crate::error::Error;
use crate::exit_status::Status;
use crate::startup::{clear_up, on_interrupt};
use crate::terminal;

pub(crate) fn run(args: &howlate_cli::LoadArgs) -> Result<Status, Error> {
    let interrupted = on_interrupt()?;
    for caveat in clear_up() {
        terminal::tell(&format!("{}\n", howlate_render::caveat(&caveat)));
    }
    let load = load(args);
    check(&load)?;
    let running = Running::start(&load)?;
    let notes = running.caveats().iter().map(howlate_render::caveat).collect();
    let result = LoadResult::new(&load, notes);
    let screen = terminal::screen(args.printing.quiet);
    let result = apply_load(running, result, screen, args.duration, &interrupted);
    let text = if args.printing.json { result.json()? } else { result.text(terminal::width()) };
    terminal::print_or_json(&text, args.printing.json)?;
    Ok(if result.has_failed() { Status::NotTrustworthy } else { Status::Done })
}

/// All loads args for, as one.
fn load(args: &howlate_cli::LoadArgs) -> Load {
    let load = Load::from_parts(args.loads.iter().flat_map(|load| load.parts().to_vec()).collect());
    match &args.load_cpus {
        Some(cpus) => load.bound_to(cpus),
        None => load,
    }
}
