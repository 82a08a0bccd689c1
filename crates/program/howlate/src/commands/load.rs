//! `howlate load`: applies a background load.

use howlate_load::{RunningLoad, check};
use howlate_model::Load;
use howlate_render::LoadResult;
use howlate_session::apply_load;

use crate::error::Error;
use crate::exit_status::ExitStatus;
use crate::startup::{clean_up, on_interrupt};
use crate::terminal;

pub(crate) fn run(args: &howlate_cli::LoadArgs) -> Result<ExitStatus, Error> {
    let interrupted = on_interrupt()?;
    for caveat in clean_up() {
        terminal::eprint_wrapped(&format!("{}\n", howlate_render::caveat(&caveat)));
    }
    let load = load(args);
    check(&load)?;
    let running = RunningLoad::start(&load)?;
    let notes = running.caveats().iter().map(howlate_render::caveat).collect();
    let result = LoadResult::new(&load, notes);
    let screen = terminal::screen(args.printing.quiet);
    let result = apply_load(running, result, screen, args.duration, &interrupted);
    let text = if args.printing.json { result.json()? } else { result.text(terminal::width()) };
    terminal::print_or_json(&text, args.printing.json)?;
    Ok(if result.has_failed() { ExitStatus::NotTrustworthy } else { ExitStatus::Done })
}

/// All loads of the options combined.
fn load(args: &howlate_cli::LoadArgs) -> Load {
    let load = Load::from_parts(args.loads.iter().flat_map(|load| load.parts().to_vec()).collect());
    match &args.load_cpus {
        Some(cpus) => load.bound_to(cpus),
        None => load,
    }
}
